"""Verdicts of whole audits of planted targets: what is found, what is none, what cannot be told, and what must be checked."""

import math
from dataclasses import replace

import auditing
import numpy as np
import pytest

import transect
from transect.analysis import finished_run
from transect.analysis.findings import analyse
from transect.analysis.verdicts import conclude
from transect.runs import report_options
from transect.runs.report_options import ReportSettings


def bright(pixels):
    """The mean of the pixels, which skin tone changes in every subject."""
    return pixels.mean(axis=(1, 2, 3)) / 255


def coin(pixels):
    """Yes to half of the pictures, by a hash of their pixels."""
    return np.mod(pixels.reshape(len(pixels), -1).astype(np.int64).sum(axis=1) * 0.6180339887, 1.0)


def always(pixels):
    return np.full(len(pixels), 0.9)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    out = tmp_path_factory.mktemp("verdicts") / "run"
    settings = {"vary": {"skin_tone": (1, 10), "glasses": (0, 1)}, "subjects": 40, "image_size": 32, "control": False}
    auditing.audit([bright, coin], **settings, out=out)
    return out


def verdicts(result):
    return {(row["target"].split(":")[-1], row["outcome"], row["attribute"]): row for row in result.results["verdicts"]}


def test_a_planted_difference_is_found_and_leads(run):
    result = transect.open_run(run)
    found = verdicts(result)["bright", "score", "skin_tone"]
    assert found["verdict"] == "found"
    effect = result.results["effects"][found["effect"]]
    assert effect["p_adjusted"] <= 0.05
    assert (effect["attribute"], effect["outcome"]) == ("skin_tone", "score")
    assert [row["verdict"] for row in result.results["verdicts"]] == sorted(
        [row["verdict"] for row in result.results["verdicts"]],
        key=["found", "not judged", "cannot tell", "no difference", "not estimable"].index,
    )


def test_what_a_coin_says_cannot_be_told_from_two_points_with_forty_subjects(run):
    row = verdicts(transect.open_run(run))["coin", "answer", "skin_tone"]
    assert (row["verdict"], row["margin"]) == ("cannot tell", 0.02)
    # a subject's difference averages two pairs of fair coins: variance 1/4; (3.29 * 0.5 / 0.02)² = 6,765 or more
    assert 6_700 <= row["subjects_needed"] <= 30_000


@pytest.mark.parametrize(
    ("low", "high", "corrected", "found"),
    [
        (0.01, 0.2, (0.005, 0.3), True),
        (-0.2, -0.01, (-0.3, -0.005), True),
        (-0.01, 0.2, None, False),
        (0.0, 0.2, None, False),
        (math.nan, math.nan, (math.nan, math.nan), True),  # no interval: the test alone
        (0.01, 0.2, (-0.02, 0.3), False),  # the interval that is corrected for selection is printed too
    ],
)
def test_a_difference_whose_printed_interval_holds_zero_is_not_found(run, low, high, corrected, found):
    study = analyse(finished_run.read(run))
    changed = {"estimate": 0.1, "low": low, "high": high, "p_adjusted": 0.01}
    effects = [replace(effect, p_adjusted=1.0) for effect in study.effects]
    place = next(i for i, e in enumerate(effects) if (e.outcome, e.attribute) == ("answer", "glasses"))
    effects[place] = replace(effects[place], **changed)

    def again(study, effect, confidence):
        return replace(effect, low=corrected[0], high=corrected[1])

    judged, picked = conclude([study], effects, {}, again)
    assert [verdict.effect for verdict in judged if verdict.verdict == "found"] == [place] * found
    assert [row.effect for row in picked.effects] == [place] * found


@pytest.fixture(scope="module")
def three_levels(tmp_path_factory):
    """Its slope on skin tone repeats the test of the contrast, and misses mirror answers."""
    out = tmp_path_factory.mktemp("levels") / "run"
    settings = {"subjects": 12, "image_size": 32, "control": False, "truth": "face", "outcomes": ["answer", "miss"]}
    auditing.audit(bright, vary=["skin_tone=1:10:3", "glasses=0,1"], out=out, **settings)
    study = analyse(finished_run.read(out))
    found = [effect.attribute == "skin_tone" for effect in study.effects]
    assert [(each.outcome, each.same_test_as) for each, own in zip(study.effects, found, strict=True) if own] == [
        ("answer", ""), ("answer", "skin_tone: 1 to 10"), ("miss", "skin_tone: 1 to 10, outcome answer"),
        ("miss", "skin_tone: slope, outcome answer"),
    ]  # fmt: skip
    return study, [
        replace(each, estimate=0.1, low=0.05 if own else -0.05, high=0.2, p_adjusted=0.01 if own else 1.0)
        for each, own in zip(study.effects, found, strict=True)
    ]


def test_a_slope_that_repeats_a_contrast_is_not_found_in_its_place(three_levels):
    """Corrected for selection, the contrast's interval holds 0: the same test is no finding under another name."""
    study, effects = three_levels

    def again(study, effect, confidence):
        return replace(effect, low=-0.02 if effect.kind == "contrast" else 0.01, high=0.3)

    judged, picked = conclude([study], effects, {}, again)
    assert {verdict.attribute: verdict.verdict for verdict in judged} == dict.fromkeys(
        ("skin_tone", "glasses"), "cannot tell"
    )
    assert not picked.effects


def test_an_outcome_that_mirrors_another_is_judged_by_a_margin_of_its_own(three_levels):
    study, effects = three_levels
    judged, picked = conclude(
        [study], effects, {"answer": 0.02, "miss": 0.05}, lambda study, effect, confidence: effect
    )
    found = [verdict for verdict in judged if verdict.verdict == "found"]
    assert [(verdict.outcome, verdict.attribute, verdict.margin) for verdict in found] == [
        ("answer", "skin_tone", 0.02), ("miss", "skin_tone", 0.05),
    ]  # fmt: skip
    assert [row.effect for row in picked.effects] == [verdict.effect for verdict in found]


def test_a_wide_margin_shows_none_and_is_stored_with_the_run(run):
    result = transect.report(run, settings=ReportSettings(margin=["answer=0.4"]), quiet=True)
    row = verdicts(result)["coin", "answer", "skin_tone"]
    assert row["verdict"] == "no difference"
    assert -0.4 < row["low"] < row["high"] < 0.4
    assert row["subjects_needed"] is None
    assert report_options.read(run).margin == ["answer=0.4"]
    again = transect.report(run, quiet=True)
    assert verdicts(again)["coin", "answer", "skin_tone"]["margin"] == 0.4
    score = verdicts(again)["coin", "score", "skin_tone"]
    assert (score["verdict"], score["margin"]) == ("cannot tell", None)
    report_options.write(run, ReportSettings())


def test_observed_groups_are_judged_by_their_own_intervals(tmp_path):
    result = auditing.audit(
        coin, images=200, compare=["earrings"], image_size=32, margin="0.3", seed=1, out=tmp_path / "run"
    )
    row = verdicts(result)["coin", "answer", "earrings"]
    effect = result.results["effects"][row["effect"]]
    assert row["verdict"] == "no difference"
    assert effect["low"] < row["low"] < row["high"] < effect["high"]  # 90 % inside 95 %
    narrow = transect.report(tmp_path / "run", settings=ReportSettings(margin="0.02"), quiet=True)
    assert verdicts(narrow)["coin", "answer", "earrings"]["subjects_needed"] > 200


@pytest.mark.integration
def test_what_must_be_checked_is_said(tmp_path, run):
    assert transect.open_run(run).results["warnings"] == []
    result = auditing.audit(
        [always, coin], vary={"earrings": (0, 1)}, truth="earrings", subjects=150, image_size=32, out=tmp_path / "run"
    )
    lines = result.results["warnings"]
    for target, words in (
        ("always", "the answer is yes for 300 of 300 images; check --preprocess, --output, --threshold and --task."),
        ("always", "no score changes within any of 150 subjects"),
        ("coin", "answers barely track the truth"),
        ("always", "no effect of earrings on the answer was found, although that is what it should react to"),
    ):
        assert [line for line in lines if f"{target}: {words}" in line], (words, lines)
    tested = [row for row in result.results["effects"] if row["p"] is not None and not row["same_test_as"]]
    assert {row["target"].rpartition(":")[2] for row in tested} >= {"coin"}  # not judged, and it could be found
    assert result.results["family"]["size"] == len(tested)
    checks = [row for row in result.results["verdicts"] if row["check"]]
    assert {(row["attribute"], row["outcome"]) for row in checks} == {("earrings", "answer")}
    assert [row["verdict"] for row in checks] == ["not judged", "not judged"]
    assert not [row for row in result.results["verdicts"] if row["verdict"] in ("no difference", "cannot tell")]


@pytest.mark.integration
def test_a_bare_answer_that_stays_is_judged_where_it_is_right_or_the_same_for_all(tmp_path):
    """A face is on every picture. Of the background, some answers are yes and some no, and nothing moves them."""

    def here(pixels):
        return np.ones(len(pixels))

    def light(pixels):
        return (pixels[:, :4, 0].mean(axis=(1, 2)) > 128).astype(float)

    results = auditing.audit(
        [here, light], vary={"earrings": None}, subjects=200, image_size=32, out=tmp_path / "run"
    ).results
    told = {(row["target"].split(":")[-1], row["verdict"]) for row in results["verdicts"] if row["outcome"] == "answer"}
    assert told == {("here", "no difference"), ("light", "not judged")}
