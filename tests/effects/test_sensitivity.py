import numpy as np

from transect.effects import classification_sensitivity, score_sensitivity, wilson
from transect.effects.intervals import no_interval
from transect.effects.sensitivity import NEAR

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
    assert made.signed.reasons == (no_interval(4), "the subject's own image", no_interval(4))


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


def test_near_the_boundary_both_ends_are_left_out():
    made = score_sensitivity([[0.3, 0.5], [0.31, 0.5], [0.69, 0.5], [0.7, 0.5]], [0.0, 1.0], near=NEAR)
    np.testing.assert_allclose(made.absolute.values[1], 0.19)  # .5 - .31 and .69 - .5
    assert made.signed.subjects[1] == 2
    assert made.signed.excluded[1] == {"not near the boundary": 2}


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


def test_flips_have_wilson_s_interval_upside_down_where_signed():
    made = classification_sensitivity(SCORES, STEPS)
    low, high = wilson(1, 2)
    assert (made.down.low[2], made.down.high[2]) == (low, high)
    assert (made.down_signed.low[2], made.down_signed.high[2]) == (-high, -low)
