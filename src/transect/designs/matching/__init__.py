"""Pairs of real images that differ in a protected attribute and are similar in the rest (Singh et al. 2021).

Every method takes a `Sample`, the images with the constraints on a pair, and returns a `Matching`: pairs that keep
them, and a reason for each treated image without one.
"""

from transect.designs.matching.assignment import optimal
from transect.designs.matching.groups import match_groups
from transect.designs.matching.nearest import greedy
from transect.designs.matching.references import choose_references, usable_references, without_reference
from transect.designs.matching.sample import Matching, Sample, in_metric, layered, make_sample, weighted
from transect.designs.matching.weighting import overlap_weights

__all__ = [
    "Matching",
    "Sample",
    "choose_references",
    "greedy",
    "in_metric",
    "layered",
    "make_sample",
    "match_groups",
    "optimal",
    "overlap_weights",
    "usable_references",
    "weighted",
    "without_reference",
]
