"""One effect has one estimate on a page: every section's equals the table's, where people are on one to six photographs.

The planted model moves only on photographs of people who are on several, and does not answer on some: means over people,
and means over photographs, are far apart.
"""

from __future__ import annotations

import auditing
import numpy as np
import photograph_folders
import pytest

import transect
from transect import Requirement
from transect.targets import as_target

SHOTS = [6, 1, 4, 1, 1, 5, 1, 1, 1, 3, 1, 1, 2, 1]
MANY = np.repeat(np.array(SHOTS) > 2, SHOTS)
LEVELS = "exposure: -1 to 1"


def light(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255


def marked(folder):
    """Photographs of people who are on more than two have a red stripe, others a blue one; every tenth has a green foot."""
    pixels = photograph_folders.pictures(len(MANY), 40)
    pixels[MANY, :8] = [200, 0, 0]
    pixels[~MANY, :8] = [0, 0, 200]
    pixels[::10, -8:] = [0, 200, 0]
    photograph_folders.save(folder, pixels)
    who = np.repeat(np.arange(len(SHOTS)), SHOTS)
    rows = [f"p{row:03d}.png,person{name},{row % 2}" for row, name in enumerate(who.tolist())]
    return photograph_folders.label(folder, rows)


def red(pixels):
    return pixels[:, :8, :, 0].mean(axis=(1, 2)) > pixels[:, :8, :, 2].mean(axis=(1, 2))


def brightened(pixels):
    """Yes to brightened photographs of people who are on several, to no other; no answer to brightened green feet."""
    bright = pixels[:, :8].max(axis=3).mean(axis=(1, 2)) > 210
    foot = pixels[:, -8:].mean(axis=(1, 2))
    green = foot[:, 1] > foot[:, [0, 2]].max(axis=1) + 100
    return np.where(bright & green, np.nan, red(pixels) & bright)


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    pytest.importorskip("cv2", reason="the extra `opencv` is not installed")
    place = tmp_path_factory.mktemp("people")
    folder = marked(place / "faces")
    meter = as_target(
        lambda pixels: np.where(red(pixels), 1, -1) * 255 * light(pixels), name="meter", task="regression"
    )
    tint = as_target(lambda pixels: pixels[..., 1].mean(axis=(1, 2)) / 9, name="tint", task="regression")
    return auditing.audit(
        [as_target(brightened, name="model", task="binary", threshold=0.5)], generator=f"photographs:folder:{folder}",
        vary={"exposure": [-1.0, 0.0, 1.0]}, subjects=len(MANY), truth="smile",
        attributes={"exposure": meter, "tint": tint}, out=place / "run", quiet=True, control=False,
    )  # fmt: skip


def effect(audited, outcome):
    rows = [each for each in audited.effects if (each.outcome, each.name) == (outcome, LEVELS)]
    (found,) = rows
    return found


def tables(audited, key, title):
    """The rows of the tables of a section whose title has these words, by heading, with the table's title."""
    for section in audited.results["sections"]:
        for table in section["tables"] if section["key"] == key else ():
            if title in table["title"]:
                for row in table["rows"]:
                    yield table["title"], dict(zip(table["columns"], row, strict=True))


def test_the_planted_means_differ(audited):
    differences = effect(audited, "answer")
    by_person = np.mean(np.array(SHOTS) > 2)
    assert by_person < 0.3
    assert differences.estimate > by_person + 0.2
    assert differences.n_images < 2 * len(MANY)


@pytest.mark.parametrize("outcome", ["answer", "error"])
def test_changes_in_each_direction_add_up_to_the_effect(audited, outcome):
    ((_, row),) = tables(audited, "changes", f": {outcome} of")
    found = effect(audited, outcome)
    assert row["net, points"] == pytest.approx(found.estimate)
    assert row["no to yes"] - row["yes to no"] == pytest.approx(found.estimate)
    assert (row["all subjects"], 2 * row["all pairs"]) == (found.n_subjects, found.n_images)


def test_curves_end_at_the_effect(audited):
    (section,) = [one for one in audited.results["sections"] if one["key"] == "curves"]
    for figure, outcome in zip(section["figures"], ("answer", "error"), strict=True):
        (panel,) = [one for one in figure["panels"] if one["heading"].endswith("change")]
        assert panel["series"][0]["points"][-1]["value"] == pytest.approx(effect(audited, outcome).estimate)


def test_the_effect_of_all_images_of_failed_edits_is_the_effect(audited):
    every = {row["photographs"]: row for _, row in tables(audited, "edit-failures", "had no edit failed")}
    found = effect(audited, "error").estimate
    assert every["all"]["effect of all images"] == pytest.approx(found)
    assert every["all"]["effect where both pass"] != pytest.approx(found)
    assert every["all"]["bounds: smallest"] < found < every["all"]["bounds: largest"]


def test_the_effect_of_what_was_answered_is_the_effect(audited):
    ((_, row),) = tables(audited, "unanswered", "with the missing answers")
    found = effect(audited, "error")
    assert row["effect of answered, points"] == pytest.approx(found.estimate)
    missing = len(MANY) - found.n_images // 2  # pairs of photographs, each of which can be 0 or 1
    assert row["worst case: largest"] - row["worst case: smallest"] == pytest.approx(missing / len(MANY))


@pytest.mark.parametrize("outcome", ["answer", "error"])
def test_the_raw_effect_beside_the_adjusted_is_the_effect_with_its_interval(audited, outcome):
    found = effect(audited, outcome)
    rows = [row for _, row in tables(audited, "edit-validity", "equal readings") if row["outcome"] == outcome]
    ((raw, low, high),) = [(row["raw"], row["raw: low"], row["raw: high"]) for row in rows]
    assert (raw, low, high) == (found.estimate, found.low, found.high)
    assert np.isfinite([low, high]).all()


def test_a_requirement_is_of_the_effect(audited):
    about = Requirement(attribute="exposure", outcome="answer", margin=0.05)
    (checked,) = transect.check(audited.folder, about).numbers.requirements
    assert checked.estimate == pytest.approx(effect(audited, "answer").estimate)
    assert checked.n_subjects == effect(audited, "answer").n_subjects
