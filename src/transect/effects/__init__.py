"""From predictions to effects: outcomes, rates, contrasts, intervals and tests, as pure functions over arrays.

A transect design's outcomes are float64 [n_subjects, *design.shape], NaN where there is no valid answer; a population
design's are [n]. The unit is the subject.
"""

from __future__ import annotations

import importlib
from typing import Any

from transect.effects.analysis import Analysis, adjust, analyse_population, analyse_transects
from transect.effects.bootstrap import bca
from transect.effects.contrasts import Contrast, contrasts
from transect.effects.intervals import (
    Intervals,
    mean_difference_interval,
    newcombe,
    paired_score_interval,
    wilson,
    wilson_clustered,
)
from transect.effects.multiplicity import benjamini_hochberg, holm, max_t
from transect.effects.observational import associations, cut
from transect.effects.outcomes import Outcome, compute, offered
from transect.effects.overlap import found, intersection_over_union
from transect.effects.randomization import permutation, sign_flip
from transect.effects.rates import Rate, transect_rates
from transect.effects.samples import Measure
from transect.effects.truth import Truth

_LAZY = {
    "EValue": "confounding",
    "Factorial": "factorial",
    "Labels": "samples",
    "PopulationShares": "shares",
    "PredictionPowered": "prediction_powered",
    "adjusted_for_hidden": "confounding",
    "aipw": "doubly_robust",
    "angles": "perception",
    "at_thresholds": "thresholds",
    "balakrishnan": "adjustment",
    "classification_sensitivity": "sensitivity",
    "control_function": "residual_inclusion",
    "correlations": "perception",
    "difference_in_means": "linear",
    "e_value": "confounding",
    "e_value_of_slope": "confounding",
    "equivalence": "validity",
    "factorial_effects": "interactions",
    "factorial_of_table": "factorial",
    "fractional_errors": "perception",
    "g_computation": "doubly_robust",
    "gee_logit": "generalized",
    "instrumental": "instruments",
    "interpolation_consistency": "sensitivity",
    "linear_robustness": "confounding",
    "logistic_bootstrap": "logistic",
    "logit": "generalized",
    "mean_ratings": "perception",
    "most_common_ratings": "perception",
    "ols": "linear",
    "one_hot": "encoding",
    "perception_sensitivity": "perception",
    "plan": "planning",
    "plan_from_pilot": "planning",
    "poisson": "generalized",
    "ppi_difference": "prediction_powered",
    "ppi_mean": "prediction_powered",
    "project": "projection",
    "prune": "pruning",
    "read_shares": "shares",
    "robustness": "confounding",
    "rosenbaum_bounds": "confounding",
    "score_sensitivity": "sensitivity",
    "share_of_yes": "perception",
    "shares_of": "shares",
    "sobol": "sobol_indices",
    "threshold_curves": "thresholds",
}
"""Names of modules that most audits do not need: loaded when they are first used."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'transect.effects' has no attribute {name!r}")
    member = getattr(importlib.import_module(f"transect.effects.{_LAZY[name]}"), name)
    globals()[name] = member
    return member


__all__ = [
    "Analysis",
    "Contrast",
    "Intervals",
    "Measure",
    "Outcome",
    "Rate",
    "Truth",
    "adjust",
    "analyse_population",
    "analyse_transects",
    "associations",
    "bca",
    "benjamini_hochberg",
    "compute",
    "contrasts",
    "cut",
    "found",
    "holm",
    "intersection_over_union",
    "max_t",
    "mean_difference_interval",
    "newcombe",
    "offered",
    "paired_score_interval",
    "permutation",
    "sign_flip",
    "transect_rates",
    "wilson",
    "wilson_clustered",
]
