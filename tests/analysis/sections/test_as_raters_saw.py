"""Errors counted by, cut at, adjusted for and set beside what raters saw, on tables that can be worked out by hand."""

from dataclasses import replace

import numpy as np
import pytest
from small_answers import answers as answers_of
from small_answers import checked, points, rows

from transect.analysis.sections import adjustment, answers, associations, error_rates, rater_uncertainty
from transect.effects.logistic import balakrishnan
from transect.effects.outcomes import Truth
from transect.effects.regression import difference_in_means
from transect.ratings.perceived_attributes import PerceivedAttribute, PerceivedGroups
from transect.records import Annotations, Attribute, Design, Question

NAN = np.nan
DESIGN = Design({"glasses": (0.0, 1.0)}, subjects=8)
GENDER = "perceived_gender"


def said(table):
    """Answers [images, raters], NaN for none, of raters with names."""
    table = np.array(table, dtype=float)
    image, rater = np.nonzero(np.isfinite(table))
    return Annotations(Question("q", "?"), image, tuple(f"r{k}" for k in rater), table[image, rater])


def perceived(name, table, **more):
    values = np.array(table, dtype=float)
    attribute = Attribute(f"perceived_{name}", "continuous", name)
    return PerceivedAttribute(attribute, name, values.mean(axis=1), said(table), **more)


def rated(seen=None, **more):
    """16 images, the even ones seen as female by all three raters, the odd ones as male; the odd ones are wrong."""
    table = np.tile([[0.0], [1.0]], (8, 3)) if seen is None else np.array(seen, dtype=float)
    attribute = perceived("gender", table)
    options = {"scores": np.tile([0.1, 0.2], 8), "truth": np.tile([0, 1], 8), "bins": {GENDER: (0.5,)}} | more
    by = options.pop("by", (GENDER,))
    return answers_of(DESIGN, seen={GENDER: attribute, **options.pop("more_seen", {})}, by=by, **options)


def test_errors_are_counted_in_the_groups_that_raters_see():
    made = {row["images"]: row for row in rows(checked(error_rates.condition_section(rated())), "Errors: attribute")}
    female, male = made["perceived gender: [0, 0.5)"], made["perceived gender: [0.5, 1]"]
    assert (female["errors"], female["images that count"], male["errors"], male["images that count"]) == (0, 8, 8, 8)
    assert made["perceived gender: all, weighted equally"]["error rate"] == pytest.approx(1 / 2)


def test_raters_who_disagree_widen_the_intervals_of_their_groups_alone():
    """Rater c leans so far to male that the group hangs on who was asked; glasses, which were set, do not."""
    rng = np.random.default_rng(0)
    look = np.linspace(0.1, 0.9, 16)[rng.permutation(16), None] + np.array([-0.25, -0.1, 0.35])
    one = rated(np.clip(np.round(4 * look) / 4, 0, 1), truth=rng.integers(0, 2, 16))
    sure, _ = error_rates._with_raters(one, error_rates._interrogation_rates(one))
    plain = error_rates._interrogation_rates(one)
    wider = {(a.by, a.group): (b.high - b.low) - (a.high - a.low) for a, b in zip(plain, sure, strict=True)}
    assert wider[GENDER, "[0, 0.5)"] > 0.01
    assert {gap for (by, _), gap in wider.items() if by != GENDER} == {0.0}


def test_named_levels_group_by_the_nearest_answer_and_levels_in_no_order_by_the_most_common_one():
    levels = ((0.0, "female"), (0.5, "cannot tell"), (1.0, "male"))
    groups = perceived("gender", [[0.2], [0.25], [0.8]], levels=levels).cuts()
    assert groups.names == ("female", "cannot tell", "male")
    assert groups.codes(np.array([[0.2], [0.25], [0.8], [NAN]])).tolist() == [0, 1, 2, -1]
    hair = PerceivedGroups(("bald", "bun", "long"))
    assert hair.codes(np.array([[0.2, 0.6, 0.2], [0.4, 0.4, 0.2], [NAN] * 3])).tolist() == [1, -1, -1]
    assert hair.of_values(np.array([2.0, NAN, 1.5])).tolist() == [2, -1, -1]


def test_right_answers_follow_the_raters():
    """Means .4 and .6 with a truth from .5 on: other raters turn both, and the errors with them."""
    one = rated(
        judge="gender", said={"gender": said(np.tile([[0.4], [0.6]], (8, 3)))}, stated=Truth.parse("gender>=0.5")
    )
    turned = rater_uncertainty.rejudged(one, np.tile([0.6, 0.4], 8)[:, None])
    assert turned.truth.tolist() == [1.0, 0.0] * 8
    assert turned.errors.tolist() == [1.0, 0.0] * 8  # both are answered no
    assert rater_uncertainty.rejudged(rated(), np.zeros((16, 1))).truth.tolist() == rated().truth.tolist(), (
        "no rater decides"
    )


HAIR = Attribute("hair", "categorical", "hair style", levels=("bald", "bun", "long"))


def seen_hair(table):
    """Whether the hair is a bun is what raters saw; the target says no to every image."""
    hair = np.array(table, dtype=float)
    truth = [{0: 0.0, 1: 1.0, 2: 0.0}[np.bincount(row.astype(int)).argmax()] for row in hair]
    more = {"others": {"hair": HAIR}, "judge": "hair", "said": {"hair": said(hair)}, "truth_attribute": "hair"}
    return rated(scores=np.tile(0.1, 16), truth=truth, stated=Truth.parse("hair==bun", {"hair": HAIR}), **more)


def test_right_answers_of_levels_in_no_order_are_the_most_common_ones():
    """Bald, bald and long have a mean of .67, which is no bun; at a tie there is no right answer."""
    one = seen_hair(np.tile([[0, 0, 2], [1, 1, 0]], (8, 1)))
    bald, bun, long = rater_uncertainty.judging(one)
    assert [question.value[:6].tolist() for question in (bald, bun, long)] == [
        [1, 1, 0, 0, 0, 1], [0, 0, 0, 1, 1, 0], [0, 0, 1, 0, 0, 0],
    ]  # fmt: skip
    turned = rater_uncertainty.rejudged(one, np.tile([[0.3, 0.5, 0.2], [0.4, 0.2, 0.4]], (8, 1)))
    np.testing.assert_array_equal(turned.truth, [1.0, NAN] * 8)
    np.testing.assert_array_equal(turned.errors, [1.0, NAN] * 8)
    (row,) = rater_uncertainty._errors(one).rows
    assert row[1] == 1.0  # without glasses bald, no bun and right; with glasses a bun, and wrong


def test_crossed_groups_have_rates_at_two_thresholds_and_curves_by_the_last_attribute():
    """Fig. 16 for any attributes. Female and with glasses do not occur together: even images have none."""
    one = rated(by=(GENDER, "glasses"), scores=np.tile([0.1, 0.4, 0.6, 0.9], 4), truth=np.tile([0, 1, 0, 1], 4))
    section = checked(error_rates.threshold_section(one))
    both, curves = section["figures"][:2]
    # at .5 images .4 (male) and .6 (female) are wrong; the best threshold, .4, errs on .6 alone
    assert points(both, "Error", "threshold 0.5") == {
        "all images": 0.5, "perceived gender [0, 0.5), glasses off": 0.5, "perceived gender [0.5, 1], glasses on": 0.5,
    }  # fmt: skip
    assert both["title"].endswith("at 2 thresholds")
    assert points(both, "Error", "threshold 0.4")["perceived gender [0.5, 1], glasses on"] == 0
    assert [panel["heading"] for panel in curves["panels"]] == [
        "perceived gender [0, 0.5)",
        "perceived gender [0.5, 1]",
    ]
    assert [line["name"] for line in curves["panels"][1]["series"]] == ["all", "on"]


def test_weights_repeat_images():
    """Two-fold weights are two-fold rows."""
    rng = np.random.default_rng(0)
    values, codes = rng.normal(size=(12, 2)), np.arange(12) % 2
    weights = rng.integers(0, 3, 12).astype(float)
    twice = np.repeat(np.arange(12), weights.astype(int))
    for compare in (associations.standardized(1), associations.correlated):
        np.testing.assert_allclose(
            compare(values, codes, weights), compare(values[twice], codes[twice], np.ones(len(twice)))
        )


def coefficients(**more):
    rng = np.random.default_rng(1)
    gender, fake = rng.random((16, 3)), rng.random((16, 3))
    seen = {"perceived_fakeness": perceived("fakeness", fake)}
    columns = {"gender": gender.mean(axis=1), "fakeness": fake.mean(axis=1)}
    one = rated(gender, more_seen=seen, perceived=columns, truth=rng.integers(0, 2, 16), **more)
    return one, checked(adjustment.section(one))


def test_errors_are_adjusted_in_stated_bins_and_not_for_fakeness():
    one, made = coefficients()
    assert {row["level"] for row in rows(made, "Coefficients")} == {"gender: < 0.5", "gender: >= 0.5"}
    fit = balakrishnan(one.errors, {"gender": one.perceived["gender"]}, one.subjects, edges={"gender": (0.5,)})
    (row,) = [row for row in rows(made, "Coefficients") if row["level"] == fit.names[0]]
    assert row["log odds"] == pytest.approx(fit.coefficients[0])
    assert row["SD by subject and rater"] >= row["SD by subject"]


def test_adjusted_differences_hold_for_other_raters(monkeypatch):
    """Raters far apart widen the interval; raters who say the same leave that by subject."""
    monkeypatch.setattr(rater_uncertainty, "ADJUSTED_RATERS_RESAMPLES", 40)
    one, _ = coefficients()
    mean = one.perceived["gender"]
    alike = replace(one, seen={**one.seen, GENDER: perceived("gender", np.tile(mean[:, None], 3))})
    at = answers.splits(one, {"gender": mean}, {})["gender"]
    alone = difference_in_means(one.errors, {"gender": at.chosen}, clusters=one.subjects)
    (apart,), (same,) = (rows(checked(adjustment.section(study)), "Differences") for study in (one, alike))
    assert same["unadjusted: 95 %"] == f"{100 * alone.low:+.1f} to {100 * alone.high:+.1f}".replace("-", "−")
    added = rater_uncertainty.differences(one, {"gender": at}, rater_uncertainty.raters_of(one, {"gender": mean}))[
        "gender"
    ]
    half = 4.30265 * np.sqrt(added.variance[0])  # Student's with 2 degrees of freedom, of three raters
    ends = (
        alone.estimate - np.hypot(alone.estimate - alone.low, half),
        alone.estimate + np.hypot(alone.high - alone.estimate, half),
    )
    low, high = np.clip(ends, -1, 1)
    assert apart["unadjusted: 95 %"] == f"{100 * low:+.1f} to {100 * high:+.1f}".replace("-", "−")
