import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects import classification_sensitivity, score_sensitivity, wilson
from transect.effects.sensitivity import NEAR
from transect.errors import BadInput

NAN = np.nan
STEPS = [-1.0, 0.0, 1.0]
SCORES = np.array(
    [
        [0.1, 0.2, 0.6],
        [0.4, 0.5, 0.5],
        [0.6, 0.9, 0.4],
        [0.3, 0.4, 0.7],
    ]
)


def test_score_sensitivity_by_hand():
    made = score_sensitivity(SCORES, STEPS)
    # Changes at -1: -.1 -.1 -.3 -.1; at +1: .4 0 -.5 .3.
    np.testing.assert_allclose(made.signed.values, [-0.15, 0, 0.05])
    np.testing.assert_allclose(made.absolute.values, [0.15, 0, 0.3])
    np.testing.assert_array_equal(made.signed.subjects, [4, 4, 4])
    assert made.signed.reasons == ("", "the subject's own image", "")


def test_classification_sensitivity_by_hand():
    made = classification_sensitivity(SCORES, STEPS)
    # Answers: 0 0 1 / 0 1 1 / 1 1 0 / 0 0 1. At -1 one of four turns off; at +1 two turn on, one off.
    np.testing.assert_allclose(made.signed.values, [-0.25, 0, 0.25])
    np.testing.assert_allclose(made.absolute.values, [0.25, 0, 0.75])
    # Among the two that answer 0 both flip at +1; among the two that answer 1, one flips at -1 and one at +1.
    np.testing.assert_allclose(made.up_signed.values, [0, 0, 1])
    np.testing.assert_allclose(made.down_signed.values, [-0.5, 0, -0.5])
    np.testing.assert_allclose(made.up.values, [0, 0, 1])
    np.testing.assert_allclose(made.down.values, [0.5, 0, 0.5])
    np.testing.assert_array_equal(made.down.subjects, [2, 2, 2])


def test_a_score_at_the_threshold_answers_yes():
    made = classification_sensitivity([[0.5, 0.6]], [0.0, 1.0], threshold=0.6)
    assert made.up_signed.values[1] == 1


def test_near_the_boundary_both_ends_are_left_out():
    made = score_sensitivity([[0.3, 0.5], [0.31, 0.5], [0.69, 0.5], [0.7, 0.5]], [0.0, 1.0], near=NEAR)
    np.testing.assert_allclose(made.absolute.values[1], 0.19)  # .5 - .31 and .69 - .5
    assert made.signed.subjects[1] == 2
    assert made.signed.excluded[1] == {"not near the boundary": 2}


def test_the_classification_near_the_boundary_looks_at_the_score():
    made = classification_sensitivity(SCORES, STEPS, near=NEAR)
    np.testing.assert_array_equal(made.signed.subjects, [2, 2, 2])  # scores .5 and .4 at 0
    np.testing.assert_allclose(made.signed.values, [-0.5, 0, 0.5])


def test_what_is_missing_is_counted_by_reason():
    scores = np.array([[0.1, NAN, 0.2], [NAN, 0.5, 0.7], [0.2, 0.3, 0.4]])
    made = score_sensitivity(scores, STEPS, keep=[True, True, False])
    assert made.signed.excluded == (
        {"left out on request": 1, "no valid answer": 1, "no valid answer at λ = 0": 1},
        {"left out on request": 1, "no valid answer at λ = 0": 1},
        {"left out on request": 1, "no valid answer at λ = 0": 1},
    )
    np.testing.assert_allclose(made.signed.values, [NAN, 0, 0.2])
    assert made.signed.reasons[0] == "no subject counts"


def test_no_subject_that_answers_yes_is_nan_not_0():
    made = classification_sensitivity([[0.1, 0.9], [0.2, 0.1]], [0.0, 1.0])
    assert np.isnan(made.down.values).all()
    assert np.isnan(made.down_signed.low).all()
    assert made.down.reasons == ("no subject counts", "no subject counts")


def test_flips_have_wilson_s_interval_upside_down_where_signed():
    made = classification_sensitivity(SCORES, STEPS)
    low, high = wilson(1, 2)
    assert (made.down.low[2], made.down.high[2]) == (low, high)
    assert (made.down_signed.low[2], made.down_signed.high[2]) == (-high, -low)


def test_a_table_of_images_is_the_same_as_the_grid():
    subject, step = np.repeat([5, 6, 7, 8], 3), np.tile(STEPS, 4)
    order = np.random.default_rng(0).permutation(12)
    table = pa.table({"subject": subject[order], "step": step[order], "score": SCORES.ravel()[order]})
    np.testing.assert_array_equal(
        score_sensitivity(table).signed.values, score_sensitivity(SCORES, STEPS).signed.values
    )
    fewer = score_sensitivity(table.slice(1))
    assert fewer.signed.subjects.sum() in (9, 11)  # a lost base loses the subject


def test_a_base_may_be_given_apart():
    made = score_sensitivity(SCORES[:, [0, 2]], [-1.0, 1.0], base=SCORES[:, 1])
    np.testing.assert_allclose(made.signed.values, [-0.15, 0.05])


def test_effects_carry_step_and_band():
    made = score_sensitivity(np.random.default_rng(0).random((50, 3)), STEPS)
    effects = made.signed.effects("beard")
    assert [(e.to, e.estimate, e.low, e.high) for e in effects] == [
        (step, made.signed.values[k], made.signed.low[k], made.signed.high[k]) for k, step in ((0, -1.0), (2, 1.0))
    ]
    assert effects[0].name == "beard: S at λ = -1"
    assert effects[0].basis == "experimental"


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.05, 0.95))
def test_the_signed_flips_average_to_the_whole(seed, threshold):
    """Eq. 6 over all subjects is its average over those that answer 0 and those that answer 1."""
    scores = np.random.default_rng(seed).random((25, 3))
    made = classification_sensitivity(scores, STEPS, threshold=threshold, resamples=20)
    share = (scores[:, 1] >= threshold).mean()
    parts = (1 - share) * np.nan_to_num(made.up_signed.values) + share * np.nan_to_num(made.down_signed.values)
    np.testing.assert_allclose(made.signed.values, parts, atol=1e-12)
    np.testing.assert_allclose(
        made.absolute.values,
        (1 - share) * np.nan_to_num(made.up.values) + share * np.nan_to_num(made.down.values),
        atol=1e-12,
    )


@pytest.mark.parametrize(
    ("scores", "steps", "options", "message"),
    [
        (SCORES, [-1.0, 1.0], {}, "expected 3 different finite steps, got 2"),
        (SCORES, [-1.0, 0.0, 0.0], {}, "expected 3 different finite steps"),
        (SCORES, [-1.0, 0.5, 1.0], {}, "expected λ = 0"),
        (SCORES, STEPS, {"base": [0.5]}, "base: expected one score per subject, 4, got 1"),
        (SCORES, STEPS, {"keep": [True]}, "keep: expected shape"),
        ({"subject": [1, 1], "step": [0, 0], "score": [0.1, 0.2]}, None, {}, "some twice"),
        ({"subject": [1, NAN], "step": [0, 1], "score": [0.1, 0.2]}, None, {}, "expected a subject and a step"),
        ({"subject": [1, 2], "score": [0.1, 0.2]}, None, {}, "got no step"),
    ],
)
def test_score_sensitivity_refuses_bad_input(scores, steps, options, message):
    with pytest.raises(BadInput, match=message):
        score_sensitivity(scores, steps, **options)
