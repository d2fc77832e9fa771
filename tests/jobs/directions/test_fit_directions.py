"""`transect.fit_directions`: tables, truth and targets in, frozen figures out, the same as the command's."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from published import fits

import transect
from transect import generators
from transect.controls.learned import read_directions
from transect.errors import UnknownName
from transect.experiment.direction_labels import from_truth
from transect.targets import as_target


@pytest.fixture(scope="module")
def view():
    return generators.load("faceworld-latent", image_size=32)


@pytest.fixture(scope="module")
def ages(view):
    return view.truths(view.sample(range(300)))["age"].to_numpy()


@pytest.fixture(scope="module")
def result(view, ages):
    return transect.fit_directions(view, pd.DataFrame({"seed": range(300), "age": ages}))


def test_a_data_frame_columns_and_a_file_fit_the_same_direction(view, ages, result, tmp_path):
    pd.DataFrame({"seed": range(300), "age": ages}).to_parquet(tmp_path / "labels.parquet")
    for labels in ({"seed": np.arange(300), "age": ages}, tmp_path / "labels.parquet"):
        other = transect.fit_directions(view, labels)
        np.testing.assert_array_equal(
            other.numbers.fitted.directions[0].normal, result.numbers.fitted.directions[0].normal
        )
    assert len(result.numbers.origin["table_sha256"]) == 64
    assert result.numbers.origin["table"] == ""


def test_numbers_are_records_and_fit_their_schema(result):
    age = result.numbers.attributes[0]
    assert (age.name, age.kind, age.quality_measure, age.labels, age.held_out) == ("age", "continuous", "R2", 300, 60)
    assert age.quality == result.numbers.fitted.directions[0].quality
    assert result.numbers.condition_number == pytest.approx(1)
    fits(result)
    assert result.table.column("name").to_pylist() == ["age"]


def test_a_written_file_reads_back_and_names_its_digest(view, ages, result, tmp_path):
    path = tmp_path / "age.safetensors"
    written = transect.fit_directions(view, {"seed": np.arange(300), "age": ages}, out=path)
    assert written.numbers.out == str(path)
    assert written.numbers.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    np.testing.assert_array_equal(
        read_directions(path).directions[0].normal, result.numbers.fitted.directions[0].normal
    )


def test_signed_decision_values_are_distances_from_the_hyperplane(view, ages, result, tmp_path):
    """The same hyperplane: 0 at the mean age, one unit along the unit normal is 1, whatever a year is worth."""
    options = transect.DirectionsOptions(values="decision")
    labels = {"seed": np.arange(300), "age": ages}
    made = transect.fit_directions(view, labels, options=options, out=tmp_path / "d.safetensors")
    fitted, years = read_directions(tmp_path / "d.safetensors"), result.numbers.fitted.directions[0]
    some = view.sample(range(5))
    distance = np.asarray(some.values) @ years.normal + years.offset
    inside = (distance > fitted.directions[0].low) & (distance < fitted.directions[0].high)
    np.testing.assert_allclose(fitted.controls().read(some)["age"].to_numpy()[inside], distance[inside])
    (age,) = fitted.controls().attributes
    assert age.unit == "distance from the hyperplane"
    assert age.low < 0 < age.high
    # the ends are the same places: (years - mean) / years a unit
    assert age.high == pytest.approx((years.high - years.mean) / years.slope)
    moved = fitted.controls().set(some, {"age": np.full(5, 0.5)})
    np.testing.assert_allclose(np.asarray(moved.values) @ years.normal + years.offset, 0.5)
    assert made.numbers.attributes[0].origin["values"] == "decision"
    with pytest.raises(UnknownName, match="values"):
        transect.fit_directions(view, labels, options=transect.DirectionsOptions(values="signed"))


def test_a_target_object_and_labels_that_are_read_already(view):
    """The target answers each image's brightness; labels of the same subjects, read before, give the same fit."""
    target = as_target(lambda pixels: pixels.mean(axis=(1, 2, 3)) / 255, name="brightness", task="regression")
    result = transect.fit_directions(view, target, ["bright"], subjects=80, quiet=True)
    assert result.numbers.attributes[0].of_a_model
    assert result.numbers.origin["source"] == "target:brightness"
    rows = view.sample(range(80))
    truth = from_truth(view, rows, ["age"])
    ready = transect.fit_directions(view, truth)
    np.testing.assert_array_equal(
        ready.numbers.fitted.directions[0].normal,
        transect.fit_directions(view, "truth", ["age"], subjects=80).numbers.fitted.directions[0].normal,
    )
