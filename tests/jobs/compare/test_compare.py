"""Planted models compared on the same images: who is better, on what, and on which images they differ."""

import auditing
import numpy as np
import pytest
from canonical import SUBJECTS, always, bright
from commands import refused_here
from scipy.stats import binomtest

import transect

VARIED = {"skin_tone": (1, 10), "glasses": (0, 1)}


def audited(out, *targets, subjects=SUBJECTS, **settings):
    settings = {"vary": VARIED, "truth": "face", "outcomes": ["miss"], **settings}
    auditing.audit(list(targets), subjects=subjects, image_size=32, out=out, control=False, **settings)
    return out


@pytest.fixture(scope="module")
def runs(canonical):
    return canonical("one_target"), canonical("never_wrong")


@pytest.fixture(scope="module")
def result(runs):
    return transect.compare(runs)


def by_attribute(result):
    return {each.attribute: each for each in result.numbers.conclusions}


def misses(run):
    return np.array(transect.open_run(run).predictions["scores"].to_pylist())[:, 0] < 0.5


@pytest.mark.integration
def test_the_better_model_is_told_with_its_numbers(result, runs):
    """The second model misses nothing: its rate and its gap are those of the first, taken away."""
    missed = misses(runs[0]).reshape(SUBJECTS, 2, 2)
    rate, gap = by_attribute(result)[""], by_attribute(result)["skin_tone"]
    rows = result.numbers.rows
    assert rows[rate.row].estimate == pytest.approx(-missed.mean())
    assert rows[gap.row].first == pytest.approx(abs(missed[:, 1].mean() - missed[:, 0].mean()))
    assert (rows[gap.row].second, rows[gap.row].estimate) == (0.0, pytest.approx(-rows[gap.row].first))
    assert (rate.verdict, gap.verdict) == ("better", "better")
    assert by_attribute(result)["glasses"].verdict in ("better", "no difference", "cannot tell")


def test_the_family_of_corrected_tests_is_all_rates_and_gaps(result):
    judged = [row for row in result.numbers.rows if row.kind in ("rate", "gap")]
    assert [row.attribute for row in judged] == ["", "skin_tone", "glasses"]
    smallest = min(judged, key=lambda row: row.p)
    assert smallest.p_adjusted == pytest.approx(3 * smallest.p)
    details = [row for row in result.numbers.rows if row.kind not in ("rate", "gap")]
    assert len(details) == 4 + 2
    least = min(details, key=lambda row: row.p)
    assert least.p_adjusted == pytest.approx(min(1, 6 * least.p))


def test_listed_intervals_allow_for_being_picked(result):
    listed = [each for each in result.numbers.conclusions if each.verdict in ("better", "worse", "differs")]
    others = [each for each in result.numbers.conclusions if each not in listed]
    assert [each.confidence for each in listed] == pytest.approx([1 - 0.05 * len(listed) / 3] * len(listed))
    assert all(each.confidence == 0.95 for each in others)


def test_the_order_of_runs_flips_the_signs(result, runs):
    back = transect.compare(runs[::-1])
    for one, other in zip(result.numbers.rows, back.numbers.rows, strict=True):
        assert (other.first, other.second, other.estimate) == (one.second, one.first, -one.estimate)
        assert (other.low, other.high, other.p_adjusted) == (-one.high, -one.low, one.p_adjusted)
    assert {each.verdict for each in back.numbers.conclusions} >= {"worse"}


def test_a_run_against_itself_shows_no_difference(runs):
    again = transect.compare([runs[0], runs[0]], margin=0.5)
    assert {each.verdict for each in again.numbers.conclusions} == {"no difference"}
    assert all(row.estimate == 0 and row.p == 1 for row in again.numbers.rows)
    assert again.numbers.images == ()


def test_images_on_which_they_differ_are_counted_and_shown(result, runs):
    missed = misses(runs[0])
    (row,) = result.numbers.disagreements
    assert (row.images, row.only_reference, row.only_model) == (4 * SUBJECTS, missed.sum(), 0)
    assert len(result.numbers.images) == 4
    table = transect.open_run(runs[0]).images
    for image, picture in zip(result.numbers.images, result.numbers.pictures, strict=True):
        assert missed[image.row]
        assert table["id"][image.row].as_py() == image.id
        assert picture.startswith(b"\x89PNG")
    assert len({image.row // 4 for image in result.numbers.images}) == 4  # of different people


def test_targets_of_one_run_are_compared_with_the_first(tmp_path):
    run = audited(tmp_path / "run", bright, always, bright_too := lambda pixels: bright(pixels), subjects=12)  # noqa: F841
    several = transect.compare(run)
    assert several.numbers.models[:2] == ("bright", "always")
    assert {each.reference for each in several.numbers.conclusions} == {"bright"}
    assert len(several.numbers.answer) == 2
    chosen = transect.compare(run, targets=["always", "bright"])
    assert chosen.numbers.models == ("bright", "always")


@pytest.mark.integration
def test_observed_images_are_compared_by_groups(tmp_path):
    settings = {"images": 150, "compare": ["skin_tone"], "truth": "face", "outcomes": ["miss"], "image_size": 32}
    for name, target in (("a", bright), ("b", always)):
        auditing.audit(target, out=tmp_path / name, control=False, **settings)
    result = transect.compare([tmp_path / "a", tmp_path / "b"])
    gap = by_attribute(result)["skin_tone"]
    effects = transect.open_run(tmp_path / "a").effects.to_pylist()
    own = next(row for row in effects if row["attribute"] == "skin_tone" and row["kind"] == "contrast")
    row = result.numbers.rows[gap.row]
    assert row.first == pytest.approx(abs(own["estimate"]))
    assert row.estimate == pytest.approx(-abs(own["estimate"]))


def test_the_page_says_where_the_better_model_still_fails(runs, tmp_path):
    """The other way round `bright` is compared: its worst combination is that with the most misses."""
    back = transect.compare(runs[::-1])
    cells = misses(runs[0]).reshape(SUBJECTS, 4)
    (left,) = back.numbers.left
    assert left.rate == pytest.approx(cells.mean(axis=0).max())
    assert (left.images, left.combinations, dict(left.settings)["skin_tone"]) == (SUBJECTS, 4, "10")
    # It was picked of four combinations: Wilson's interval at 1 - .05 / 4.
    wanted = binomtest(round(left.rate * SUBJECTS), SUBJECTS).proportion_ci(1 - 0.05 / 4, method="wilson")
    assert (left.low, left.high) == (pytest.approx(wanted.low), pytest.approx(wanted.high))
    assert transect.compare(runs).numbers.left == ()  # `always` misses nothing


def test_what_cannot_be_compared_is_refused_in_one_line(runs, tmp_path):
    other = audited(tmp_path / "other", bright, subjects=12)
    message = refused_here("compare", str(runs[0]), str(other))
    assert "expected a run on the images of" in message
    assert "give a second run" in refused_here("compare", str(runs[0]))
    without = audited(tmp_path / "without", always, truth=(), outcomes=["answer"])
    assert "no outcome that two models share" in refused_here("compare", str(runs[0]), str(without))


def test_every_column_has_its_unit_and_a_strip_says_of_how_many_it_is(result, runs, tmp_path):
    """29 images at most of the baseline's misses are shown as four; rates are in percent, gaps and differences in points."""
    verdicts = next(each for each in result.content.terminal if not isinstance(each, str))
    headings, rows = verdicts.texts()
    by_name = [dict(zip(headings, row, strict=True)) for row in rows]
    assert all(row["baseline"].endswith(" points" if "gap" in row["compared"] else " %") for row in by_name)
    assert all(row["difference"].endswith(" points") and row["95 % interval"].endswith(" points") for row in by_name)
    missed = int(misses(runs[0]).sum())
    assert missed > 4
    assert f"(4 of {missed} images shown)" in result.report(tmp_path).read_text()
