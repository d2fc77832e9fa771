import numpy as np
import pytest
from places import SHARED

from transect.annotation.agreement.image_validation import AS_PUBLISHED, Rule, prune

NAN = np.nan
ANNOTATIONS = SHARED / "stylegan2_human_annotations.npz"


def test_steps_are_counted_in_order():
    table = {
        "fakeness": [0.75, 0.74, 0.0, 0.0, 0.0, 0.0],
        "skin_color": [0.5, 0.6, 0.39, 0.0, 1.0, 1.0],
        "gender": [0.0, 0.0, 0.61, 0.4, 1.0, 1.0],
        "hair_length": [0.4, 0.0, 0.51, 0.29, 0.3, 0.6],
        "age": [0.1, 0.1, 0.4, 0.39, 0.1, 0.39],
    }
    made = prune(table)
    # By hand: 0 fake, 1 skin, 3 gender, 4 hair; of 2 and 5 the last is below .4 in age.
    np.testing.assert_array_equal(made.remaining, [False, False, True, False, False, False])
    assert made.counts() == [6, 2, 1]
    assert [(step.name, step.removed) for step in made.steps] == [
        ("fake or ambiguous", 4),
        ("children and teenagers", 1),
    ]
    assert made.steps[0].matched == {
        "fakeness >= 0.75": 1,
        "0.4 <= skin_color <= 0.6": 2,
        "0.4 <= gender <= 0.6": 1,
        "0.3 <= hair_length <= 0.5": 2,
    }
    assert made.steps[1].matched == {"age < 0.4": 5}


def test_a_missing_rating_is_kept_and_counted():
    made = prune({"age": [NAN, 0.2, 0.9]}, [Rule("age", high=0.4)])
    np.testing.assert_array_equal(made.remaining, [True, False, True])
    assert made.missing == {"age": 1}


@pytest.mark.skipif(not ANNOTATIONS.exists(), reason="the released annotations of Balakrishnan et al. are not here")
def test_the_published_rules_on_the_released_annotations():
    """The release has the 5,000 random faces, not the 8,000 of the transects, and no fakeness: those counts cannot come."""
    released = np.load(ANNOTATIONS)
    levels = {"hair_length": 4, "skin_color": 5, "gender": 4, "age": 5}
    table = {name: released[name].mean(axis=1) / top for name, top in levels.items()}
    made = prune(table, [rule for rule in AS_PUBLISHED if rule.attribute in table])
    kept = adults = 0
    for hair, skin, gender, age in zip(
        *(table[n].tolist() for n in ("hair_length", "skin_color", "gender", "age")), strict=True
    ):
        if not (0.3 <= hair <= 0.5 or 0.4 <= skin <= 0.6 or 0.4 <= gender <= 0.6):
            kept += 1
            adults += age >= 0.4
    assert made.counts() == [5000, kept, adults]
