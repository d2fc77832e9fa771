"""Labels of subjects: whose they are, how several rows become one, and what is refused."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transect import generators
from transect.errors import BadInput
from transect.experiment.direction_labels import from_table, from_target, from_truth
from transect.targets import as_target


@pytest.fixture(scope="module")
def view():
    return generators.load("faceworld-latent", image_size=32)


def write(path, text):
    path.write_text(text)
    return path


def test_truth_is_the_causal_models(view):
    latents = view.sample(range(30))
    made = from_truth(view, latents, ["age", "smile>0.5", "glasses", "hat==cap"])
    exact = view.world.read(view.world.sample(range(30)))
    np.testing.assert_allclose(made.columns["age"], exact["age"].to_numpy(), atol=1e-9)
    np.testing.assert_array_equal(made.columns["smile"], exact["smile"].to_numpy() > 0.5)
    np.testing.assert_array_equal(made.columns["hat"], exact["hat"].to_numpy() == 1)
    assert dict(made.kinds) == {"age": "continuous", "smile": "binary", "glasses": "binary", "hat": "binary"}
    assert made.source == "truth"
    assert made.facts["labels"]["smile"] == "smile>0.5"


def test_rows_of_one_subject_are_averaged_and_ties_left_out(tmp_path):
    """Subject 5: smile 1, 1, 0 is a majority of yes, age (20 + 30 + 40) / 3; subject 9: a tie, and no age."""
    rows = "seed,rater,smile,age\n5,a,1,20\n5,b,1,30\n5,c,0,40\n9,a,1,\n9,b,0,\n2,a,0,50\n"
    made = from_table(write(tmp_path / "labels.csv", rows))
    assert made.seeds.tolist() == [2, 5, 9]
    np.testing.assert_array_equal(made.columns["smile"], [0, 1, np.nan])
    np.testing.assert_array_equal(made.columns["age"], [50, 30, np.nan])
    assert dict(made.kinds) == {"smile": "binary", "age": "continuous"}
    assert made.notes == (
        "6 rows of 3 subjects averaged by subject",
        "smile: 1 subject without a majority left out",
        "smile: 1 of 3 subjects have no label",
        "age: 1 of 3 subjects have no label",
    )
    assert made.source == "table labels.csv"


def test_a_comparison_is_of_the_mean(tmp_path):
    """Subject 1's mean is 0.4, subject 2's 0.7."""
    rows = "subject,smile\n1,0.3\n1,0.5\n2,0.7\n"
    made = from_table(write(tmp_path / "labels.csv", rows), ["smile>=0.5"], labelled_by="model:smiles")
    np.testing.assert_array_equal(made.columns["smile"], [0, 1])
    assert made.source == "model:smiles"


def test_ids_are_those_of_images_as_they_come(tmp_path):
    pq.write_table(pa.table({"id": ["17-0000", "4294967296-0000"], "age": [20.0, 40.0]}), tmp_path / "labels.parquet")
    assert from_table(tmp_path / "labels.parquet").seeds.tolist() == [17, 4294967296]


@pytest.mark.parametrize(
    ("text", "wanted", "message"),
    [
        ("age\n20\n", [], "expected a column seed, subject or id with a subject in every row, got age"),
        ("seed,age\n1.5,20\n", [], "expected whole numbers in column seed"),
        ("id,age\n17-0003,20\n", [], "expected ids of unedited images, SEED-0000, got '17-0003'"),
        ("seed,age,age\n1,20,30\n", [], "labels.csv: expected unique column names, got age twice"),
    ],
)
def test_tables_that_do_not_do(text, wanted, message, tmp_path):
    with pytest.raises(BadInput, match=message):
        from_table(write(tmp_path / "labels.csv", text), wanted)


def test_a_targets_answers_are_labels_and_failures_are_counted(view):
    """The target fails on every image that is brighter than the median; of the others a quarter exceed its threshold."""
    latents = view.sample(range(40))
    means = view.render(latents).pixels.mean(axis=(1, 2, 3))
    cut, yes = np.median(means), np.quantile(means, 0.25)

    def says(pixels):
        found = pixels.mean(axis=(1, 2, 3))
        return np.where(found > cut, np.nan, (found > yes).astype(float))

    made = from_target(view, latents, as_target(says, name="says", task="binary"), "bright", quiet=True)
    np.testing.assert_array_equal(np.isnan(made.columns["bright"]), means > cut)
    np.testing.assert_array_equal(made.columns["bright"][means <= cut], means[means <= cut] > yes)
    assert made.source == "target:says"
    assert made.notes == ("20 of 40 images have no valid answer of says",)


def test_of_levels_that_begin_with_none_all_others_are_yes(view):
    made = from_truth(view, view.sample(range(30)), ["hat"])
    worn = view.world.read(view.world.sample(range(30)))["hat"].to_numpy() > 0
    np.testing.assert_array_equal(made.columns["hat"], worn)
    assert dict(made.kinds) == {"hat": "binary"}
