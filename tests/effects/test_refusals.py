"""What estimators refuse, one row per kind of refusal."""

import numpy as np
import pytest

from transect import effects
from transect.annotation.agreement.image_validation import Gates, Rule
from transect.effects import verification
from transect.effects.equal_quality import equivalence, quality_differences
from transect.effects.interrogation import Condition, error_rates
from transect.effects.logistic import logistic_bootstrap
from transect.effects.observational import cut
from transect.effects.option_shares import chosen_shares, place_bias
from transect.effects.outcomes import compute
from transect.effects.pair_perception import pair_ranking
from transect.effects.preferences import preference
from transect.effects.projection import PopulationShares
from transect.effects.samples import complete, one_hot
from transect.errors import BadInput
from transect.records import Attribute, Design, Predictions, Task

NAN = np.nan
STEPS, SCORES = [-1.0, 0.0, 1.0], np.full((4, 3), 0.5)
KNOWN = {"age": Attribute("age", "continuous", "apparent age", unit="year", low=18, high=80)}
YES = Predictions(Task.BINARY, np.array([[0.5]]), ("",))
CLASSES = Predictions(Task.MULTICLASS, np.array([[0.2, 0.8]]), ("",), labels=("cat", "dog"))
SHARES = PopulationShares("p", ("age",), np.array([[20.0]]), np.array([0.5]))
LEVELS = {"age": (20.0, 40.0, 60.0)}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: effects.aipw([0.0, 1.0], [0.0, 1.0], [0.0, 1.0], folds=1), "at least 2 folds"),
        (lambda: effects.agreements([], [0.02]), "a margin for each of 0 effects, got 1"),
        (
            lambda: effects.contrasts(np.zeros((2, 2)), np.full((2, 2), ""), Design(LEVELS, subjects=2), KNOWN),
            r"expected values and reasons of shape \(2, 3\), got \(2, 2\)",
        ),
        (lambda: cut(KNOWN["age"], np.zeros(2), [40.0, 30.0]), "expected edges that increase, got 40, 30"),
        (lambda: effects.difference_in_means([0.0, 1.0], {"beard": [0.0, 2.0]}), "a treatment of 0 and 1, got 2"),
        (lambda: effects.e_value(2.0, 3.0, 4.0), "an interval that contains the estimate"),
        (lambda: effects.e_value(2.0, scale="hazard ratio"), "scale: expected"),
        (lambda: equivalence([0.0, 1.0], 0.0), "margin"),
        (lambda: effects.instrumental([0.0, 1.0], np.eye(2), [0.0, 1.0]), "at least as many instruments as"),
        (lambda: logistic_bootstrap([0.0, 0.5], [0.0, 1.0]), "expected outcomes 0 or 1"),
        (lambda: one_hot({"age": [0.0, 2.0]}, edges={"hair": [1.0]}), "unknown column 'hair'"),
        (lambda: effects.plan(0.95, 0.1), "within 0 and 1, got"),
        (lambda: effects.plan(1e-5, 0.1), "more than 10,000,000 subjects"),
        (lambda: effects.plan_from_pilot(0.1, 0.0, images_per_subject=2, unpaired_deviation=0.1), "positive standard"),
        (lambda: effects.ppi_mean([1.0, 2.0], [1.0], [1.0, 2.0]), "lists of equal length"),
        (lambda: effects.project(np.zeros((3, 3)), LEVELS, SHARES, KNOWN), "sum to 1, got a sum of 0.5"),
        (lambda: effects.robustness(0.1, 0.0, 10), "positive standard error"),
        (lambda: effects.rosenbaum_bounds([1.0], (0.5,)), "one list of differences and gammas of at least 1"),
        (lambda: effects.score_sensitivity(SCORES, [-1.0, 0.5, 1.0]), "expected λ = 0"),
        (lambda: effects.score_sensitivity(SCORES, STEPS, keep=[True]), "keep: expected shape"),
        (lambda: effects.transported([0.1, 0.2], [0.1], [0.3]), "one rendered effect per photographed one"),
        (lambda: chosen_shares(np.array([[[0.0], [2.0]]]), 2), "expected numbers from 0 to 1, got 0 to 2"),
        (lambda: complete([0.0, 1.0], ["long", "short"]), "expected numbers, got text"),
        (lambda: complete([0.0, 1.0], [1.0]), "columns: expected one row per outcome, 2, got 1"),
        (lambda: compute("mis", YES, truth=np.ones(1)), "unknown outcome 'mis': did you mean miss"),
        (lambda: compute("miss", YES), "outcome miss needs a truth; give one, for example --truth"),
        (lambda: compute("error", YES, truth=np.array([34.0])), "must be 0 or 1, got 34; compare the attribute"),
        (lambda: compute("answer", CLASSES), "needs the positive class: one of cat, dog"),
        (
            lambda: error_rates(np.array([0, 0.5]), None, {"a": Condition.of(["b", "c"])}),
            "expected 1 for an error, 0 for none, or NaN",
        ),
        (lambda: Gates(images=0), "gate images: expected at least 1, got 0"),
        (lambda: pair_ranking([0], [2], [1], [0], ["a"], levels=2), "numbers from 0 to 1, got 2"),
        (lambda: place_bias(np.zeros((5, 1, 2)), 1), "at least two places"),
        (lambda: preference(np.full((2, 1, 1), 2.0), np.zeros((2, 1, 1))), "from 0 to 1, got 0 to 2"),
        (
            lambda: quality_differences(np.array([6.0, 1.0]), {"a": np.arange(2.0)}, np.arange(2)),
            "ratings from 0 to 5",
        ),
        (lambda: Rule("age", 0.6, 0.4), "a range to leave out"),
        (lambda: verification.Rule(threshold=0.3, false_match_rate=0.1), "expected --threshold or --false-match-rate"),
    ],
)
def test_what_cannot_be_is_refused(call, message):
    with pytest.raises(BadInput, match=message):
        call()
