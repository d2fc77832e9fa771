"""From predictions to effects: outcomes, rates, contrasts, intervals and tests, as pure functions over arrays.

A transect design's outcomes are float64 [n_subjects, *design.shape], NaN where there is no valid answer; a population
design's are [n]. The unit is the subject.
"""

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
from transect.effects.multiplicity import benjamini_hochberg, holm
from transect.effects.observational import associations, cut
from transect.effects.outcomes import Outcome, compute, offered
from transect.effects.overlap import found, intersection_over_union
from transect.effects.randomization import permutation, sign_flip
from transect.effects.rates import Rate, transect_rates
from transect.effects.truth import Truth

__all__ = [
    "Analysis",
    "Contrast",
    "Intervals",
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
