"""Refusals of options that do not go together or lie out of range."""

from __future__ import annotations

import math
from collections.abc import Sequence

from transect.designs.matching.subsets import TOLERANCE
from transect.errors import BadInput
from transect.jobs.match.options import METHODS, WEIGHTING, Request
from transect.jobs.match.sample import Prepared


def check(request: Request, prepared: Prepared) -> None:
    """Raises BadInput for options that do not go together; none is ignored silently."""
    for name, (is_set, methods) in _settings(request).items():
        if is_set and request.method not in methods:
            raise BadInput(
                f"{name} has no part in --method {request.method}: leave it out, or use {' or '.join(methods)}"
            )
    if request.options.pairs is not None:
        _check_given(request)
    _check_difficulty(request)
    _check_numbers(request)
    _check_groups(request, prepared)
    if request.options.experiment is None and request.options.experiment_attribute is not None:
        raise BadInput("--experiment-attribute names an attribute of --experiment DIR: give both")
    if request.options.experiment is not None and not request.outcomes:
        raise BadInput("--experiment is compared with outcomes within pairs: name them with --outcome")


def _check_given(request: Request) -> None:
    """Pairs that are given are not searched: what steers a search has no part in them."""
    options = request.options
    searching = {
        f"--method {request.method}": request.method != "greedy",
        "--caliper": request.caliper is not None,
        "--exact": bool(request.exact),
        "--second": options.second is not None,
        "--references": options.references,
        "--dose-gap": bool(options.dose_gap),
        "--ratio": options.ratio != 1,
        "--approximate": options.approximate,
    }
    for name, is_set in searching.items():
        if is_set:
            raise BadInput(f"{name} has no part in pairs that are given with --pairs: leave it out")


def _check_difficulty(request: Request) -> None:
    options = request.options
    for name, value in (("--difficulty", options.difficulty), ("--difficulty-weights", options.difficulty_weights)):
        if value is not None and not options.references:
            raise BadInput(f"{name} is of reference images: give --references too")


def _check_numbers(request: Request) -> None:
    """Numbers out of range are refused under the names of their options."""
    options = request.options
    for name, value, least in (
        ("--caliper", request.caliper, 0.0),
        ("--tolerance", options.tolerance, 0.0),
        ("--gate", options.gate, 0.0),
        ("--bins", options.bins, 1),
    ):
        if value is not None and not least <= value < math.inf:
            raise BadInput(f"{name}: expected a number of {least:g} or more, got {value:g}")
    if options.second_threshold is not None and not options.second_threshold > 0:
        raise BadInput(f"--second-threshold: expected a distance above 0, got {options.second_threshold:g}")


def _check_groups(request: Request, prepared: Prepared) -> None:
    several = prepared.labels is not None
    if several and request.method not in ("greedy", "optimal", "mahalanobis", "propensity"):
        raise BadInput(f"{len(prepared.groups)} groups: expected --method greedy, optimal, mahalanobis or propensity")
    if request.options.base is not None and not several:
        raise BadInput(f"--base {request.options.base} chooses among more than two groups: leave it out")
    pairs_of_two = not several and request.method not in WEIGHTING
    if request.options.references and not pairs_of_two:
        raise BadInput("--references needs pairs of two groups")
    if request.outcomes and request.method in WEIGHTING:
        raise BadInput(f"--outcome: expected a method that makes pairs, got {request.method}, which weighs images")
    if request.options.experiment is not None and several:
        raise BadInput(f"--experiment: expected two groups of {request.treatment}, got {len(prepared.groups)}")


def _settings(request: Request) -> dict[str, tuple[bool, Sequence[str]]]:
    """Options that only some methods use: whether they are set, and those methods."""
    options = request.options
    pairing: list[str] = [name for name in METHODS if name not in WEIGHTING]
    by_distance: list[str] = [name for name in pairing if name != "cardinality"]
    return {
        "--caliper": (request.caliper is not None, by_distance),
        "--second": (options.second is not None, by_distance),
        "--exact": (bool(request.exact), pairing),
        "--identity": (request.identity is not None, pairing),
        "--ratio": (options.ratio != 1, ["optimal"]),
        "--approximate": (options.approximate, ["greedy", "mahalanobis"]),
        "--dose-gap": (bool(options.dose_gap), ["greedy", "mahalanobis"]),
        "--bins": (options.bins is not None, ["coarsened"]),
        "--tolerance": (options.tolerance != TOLERANCE, ["cardinality"]),
        "--metric": (request.metric != "euclidean", [name for name in METHODS if name != "mahalanobis"]),
    }
