"""The message where nothing can be matched: why, and what would leave a pair."""

from __future__ import annotations

import math

from transect.designs.matching import Matching
from transect.designs.matching.sample import CALIPER
from transect.designs.matching.subsets import NO_BIN, without_common_bin
from transect.jobs.match.options import Request
from transect.jobs.match.sample import Prepared


def nothing_matched(empty: Matching, request: Request, prepared: Prepared) -> str:
    """What refused every pair, and what would leave one."""
    reasons = ", ".join(f"{name} {count}" for name, count in empty.refusals.items()) or "there is no treated image"
    apart = f"; {prepared.apart}" if prepared.apart else ""
    if CALIPER in empty.refusals and math.isfinite(empty.least_caliper):
        return (
            f"no pair is within the caliper; the smallest that would leave one is {_least_caliper(empty, request)}: "
            f"give it as --caliper (refused: {reasons}){apart}"
        )
    if NO_BIN in empty.refusals:
        never = without_common_bin(prepared.sample, prepared.covariates, request.options.bins)
        where = f"no bin of {' or of '.join(never)}" if never else "no combination of the covariates' bins"
        return (
            f"{where} holds images of both groups (refused: {reasons}); give fewer --bins, or name other covariates "
            f"with --covariate{apart}"
        )
    return f"no pair keeps the constraints (refused: {reasons}); relax one of them{apart}"


def _least_caliper(empty: Matching, request: Request) -> str:
    """The smallest caliper that leaves a pair, in the unit of --caliper, so that it can be given as it stands."""
    least = empty.least_caliper
    if request.method == "propensity":  # its caliper is in standard deviations, converted with a margin for rounding
        least *= empty.facts["caliper_sd"] / empty.facts["caliper"] * (1 + 1e-12)
    return rounded_up(least)


def rounded_up(least: float) -> str:
    """Six digits, never below the number itself.

    >>> rounded_up(0.12345649), rounded_up(2.0)
    ('0.123457', '2')
    """
    digits = 6 - math.ceil(math.log10(least)) if least > 0 else 0
    rounded = f"{least:.6g}"
    return rounded if float(rounded) >= least else f"{least + 10.0**-digits / 2:.6g}"
