"""The images on which targets are wrong: the same as the predictions say, with the pictures of the run."""

import io
import math

import numpy as np
import pytest
from canonical import audit_result
from PIL import Image

import transect
from transect.errors import UnknownName
from transect.runs.folder import FinishedRun


@pytest.fixture(scope="module")
def result(canonical):
    """Two targets, truth `face`: an image with the answer no is a miss."""
    return audit_result(canonical("two_targets"))


@pytest.mark.integration
def test_a_row_for_each_image_that_a_target_misses(result):
    table = result.failures()
    predictions = transect.open_run(result.folder).predictions.to_pylist()
    missed = [(row["target"], row["id"]) for row in predictions if row["scores"][0] < 0.5]
    assert missed
    assert list(zip(table["target"].to_pylist(), table["id"].to_pylist(), strict=True)) == missed
    assert set(table["outcome"].to_pylist()) == {"miss"}
    assert max(table["score"].to_pylist()) < 0.5
    first = result.failures(missed[0][0])
    assert set(first["target"].to_pylist()) == {missed[0][0]}
    assert result.failures(outcome="failed").num_rows == 0
    assert result.failures(outcome="failed").schema == table.schema


@pytest.mark.integration
def test_the_picture_of_each_row_is_that_of_its_image(result):
    table = result.failures()
    run = FinishedRun(result.folder)
    stored = run.read_table("images", run.spec.parts).to_pylist()
    pictures = {row["id"]: row["image"] for row in stored}
    tones = {row["id"]: row["true.skin_tone"] for row in stored}
    for row in table.to_pylist()[:5]:
        assert row["image"] == pictures[row["id"]]
        assert np.asarray(Image.open(io.BytesIO(row["image"]))).shape == (32, 32, 3)
        assert math.isclose(row["skin_tone"], tones[row["id"]])


@pytest.mark.parametrize("asked", [{"target": "nobody"}, {"outcome": "mis"}])
def test_what_no_row_can_have_is_refused(result, asked):
    with pytest.raises(UnknownName):
        result.failures(**asked)


def test_verdicts_are_records_and_the_gravest_is_the_runs(result):
    rows = result.results["verdicts"]
    assert [row.model_dump() for row in result.verdicts] == rows
    assert {row["verdict"] for row in rows if not row["check"]} >= {"found"}
    assert result.verdict == "found"
