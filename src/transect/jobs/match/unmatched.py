"""Why can nothing be matched, and what would leave a pair? The one line that says so."""

from __future__ import annotations

import math

from transect.designs.matching import Matching
from transect.designs.matching.coarsened import NO_BIN, without_common_bin
from transect.designs.matching.sample import CALIPER
from transect.jobs.match.sample import Options, Prepared


def nothing_matched(made: Matching, options: Options, prepared: Prepared) -> str:
    """What refused every pair, and what would leave one."""
    reasons = ", ".join(f"{name} {count}" for name, count in made.refusals.items()) or "there is no treated image"
    apart = f"; {prepared.apart}" if prepared.apart else ""
    if CALIPER in made.refusals and math.isfinite(made.least_caliper):
        return (
            f"no pair is within the caliper; the smallest that would leave one is {_least_caliper(made, options)}: "
            f"give it as --caliper (refused: {reasons}){apart}"
        )
    if NO_BIN in made.refusals:
        never = without_common_bin(prepared.sample, prepared.covariates, options.bins)
        where = f"no bin of {' or of '.join(never)}" if never else "no combination of the covariates' bins"
        return (
            f"{where} holds images of both groups (refused: {reasons}); give fewer --bins, or name other covariates "
            f"with --covariate{apart}"
        )
    return f"no pair keeps the constraints (refused: {reasons}); relax one of them{apart}"


def _least_caliper(made: Matching, options: Options) -> str:
    """The smallest caliper that leaves a pair, in the unit of --caliper, so that it can be given as it stands."""
    least = made.least_caliper
    if (
        options.method == "propensity"
    ):  # its caliper is in standard deviations; rounding of the conversion is allowed for
        least *= made.facts["caliper_sd"] / made.facts["caliper"] * (1 + 1e-12)
    return rounded_up(least)


def rounded_up(least: float) -> str:
    """Six digits, never below the number itself.

    >>> rounded_up(0.12345649), rounded_up(2.0)
    ('0.123457', '2')
    """
    digits = 6 - math.ceil(math.log10(least)) if least > 0 else 0
    rounded = f"{least:.6g}"
    return rounded if float(rounded) >= least else f"{least + 10.0**-digits / 2:.6g}"
