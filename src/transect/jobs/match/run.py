"""Matches a data set: a sample, a method, pairs, balance, and the answer that `transect match` prints.

The only module that knows the order of these steps, as `study` does for audits.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.designs import matching as designs
from transect.designs.matching import Matching, Sample, propensity
from transect.designs.matching.cardinality import TOLERANCE
from transect.designs.matching.references import References
from transect.designs.matching.sample import MISSING, Facts
from transect.designs.matching.several import NoSet, Sets
from transect.effects import balance as balancing
from transect.effects.balance import Balance
from transect.errors import BadInput
from transect.jobs.match.outcomes import matched_effects, read_experiment
from transect.jobs.match.sample import METHODS, WEIGHTING, Options, Prepared, prepare
from transect.jobs.match.unmatched import nothing_matched, rounded_up
from transect.runs.plain_json import plain

_MOST_LISTED = 20


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """The answer: what --json prints, the rows of --out, and what the report draws.

    made: the pairs, or sets: the sets of more than two groups. weights: [n] where the method weighs, else None.
    log_odds: [n], of propensity methods.
    """

    summary: dict[str, Any]
    rows: pa.Table
    balance: list[Balance]
    prepared: Prepared
    made: Matching | None = None
    weights: Float[np.ndarray, " n"] | None = None
    log_odds: Float[np.ndarray, " n"] | None = None
    sets: Sets | None = None


def match(options: Options) -> Matched:
    """Reads, matches and measures balance.

    Raises BadInput for files, columns or options that cannot be used, and where nothing at all can be matched.
    """
    started = time.perf_counter()
    prepared = prepare(options)
    _check(options, prepared)
    if prepared.labels is not None:
        matched = _sets(options, prepared)
    elif options.method in WEIGHTING:
        matched = _weighted(options, prepared)
    else:
        matched = _paired(options, prepared)
    matched.summary["seconds"] = round(time.perf_counter() - started, 3)
    matched.summary["peak_mb"] = _peak_megabytes()
    return matched


def _check(options: Options, prepared: Prepared) -> None:
    """Options that do not go together are refused, never left out in silence."""
    for name, (given, kept_by) in _kept_by(options).items():
        if given and options.method not in kept_by:
            one_of = " or ".join(kept_by)
            raise BadInput(f"{name} has no part in --method {options.method}: leave it out, or use {one_of}")
    _check_numbers(options)
    _check_groups(options, prepared)
    _check_experiment(options)


def _check_numbers(options: Options) -> None:
    """Numbers out of range are refused as the user named them."""
    for name, value, least in (
        ("--caliper", options.caliper, 0.0),
        ("--tolerance", options.tolerance, 0.0),
        ("--gate", options.gate, 0.0),
        ("--bins", options.bins, 1),
    ):
        if value is not None and not least <= value < math.inf:
            raise BadInput(f"{name}: expected a number of {least:g} or more, got {value:g}")
    if options.second_threshold is not None and not options.second_threshold > 0:
        raise BadInput(f"--second-threshold: expected a distance above 0, got {options.second_threshold:g}")


def _check_groups(options: Options, prepared: Prepared) -> None:
    several = prepared.labels is not None
    if several and options.method not in ("greedy", "optimal", "mahalanobis", "propensity"):
        raise BadInput(f"{len(prepared.groups)} groups: expected --method greedy, optimal, mahalanobis or propensity")
    if options.base is not None and not several:
        raise BadInput(f"--base {options.base} chooses among more than two groups: leave it out")
    pairs_of_two = not several and options.method not in WEIGHTING
    if options.references and not pairs_of_two:
        raise BadInput("--references needs pairs of two groups")
    if options.outcomes and not pairs_of_two:
        raise BadInput("--outcome needs pairs of two groups: take a method that makes them")


def _check_experiment(options: Options) -> None:
    if options.experiment is None:
        if options.experiment_attribute is not None:
            raise BadInput("--experiment-attribute names an attribute of --experiment DIR: give both")
        return
    if not options.outcomes:
        raise BadInput("--experiment stands beside outcomes within pairs: name them with --outcome")
    _experiment(options)


def _kept_by(options: Options) -> dict[str, tuple[bool, Sequence[str]]]:
    """Options that some methods take no notice of: whether they are given, and the methods that keep them."""
    pairing: list[str] = [name for name in METHODS if name not in WEIGHTING]
    by_distance: list[str] = [name for name in pairing if name != "cardinality"]
    return {
        "--caliper": (options.caliper is not None, by_distance),
        "--second": (options.second is not None, by_distance),
        "--exact": (bool(options.exact), pairing),
        "--identity": (options.identity is not None, pairing),
        "--ratio": (options.ratio != 1, ["optimal"]),
        "--approximate": (options.approximate, ["greedy", "mahalanobis"]),
        "--dose-gap": (bool(options.dose_gap), ["greedy", "mahalanobis"]),
        "--bins": (options.bins is not None, ["coarsened"]),
        "--tolerance": (options.tolerance != TOLERANCE, ["cardinality"]),
        "--metric": (options.metric != "euclidean", [name for name in METHODS if name != "mahalanobis"]),
    }


def _method(
    options: Options, prepared: Prepared, scores: propensity.Scores | None = None
) -> Callable[[Sample], Matching]:
    """The chosen method as a function of a sample. scores: of that sample, where they are known."""
    caliper = math.inf if options.caliper is None else options.caliper
    if options.method in ("greedy", "mahalanobis"):
        return lambda sample: _greedy(sample, caliper, options.approximate)
    if options.method == "optimal":
        return lambda sample: designs.optimal(sample, caliper=caliper, ratio=options.ratio)
    if options.method == "propensity":
        sd = propensity.CALIPER_SD if options.caliper is None else options.caliper
        return lambda sample: propensity.recommended(sample, scores, caliper_sd=sd, seed=options.seed)
    if options.method == "propensity-published":
        near = propensity.PUBLISHED_CALIPER if options.caliper is None else options.caliper
        return lambda sample: propensity.published(sample, scores, caliper=near, seed=options.seed)
    if options.method == "coarsened":
        prepared.covariate_matrix  # noqa: B018  (refuses missing values)
        return lambda sample: designs.coarsened_exact(sample, prepared.covariates, bins=options.bins, caliper=caliper)[
            0
        ]
    matrix = prepared.covariate_matrix
    names = tuple(prepared.covariates)
    return lambda sample: designs.cardinality(
        sample, matrix, tolerance=options.tolerance, seed=options.seed, names=names
    )


def _greedy(sample: Sample, caliper: float, approximate: bool) -> Matching:
    if not approximate:
        return designs.greedy(sample, caliper=caliper)
    from transect.designs.matching.approximate import ApproximateSearch

    search = ApproximateSearch(sample, caliper=caliper)
    recall = search.recall()
    return replace(designs.greedy(sample, search=search), facts=Facts(recall=recall))


def _paired(options: Options, prepared: Prepared) -> Matched:
    sample, scores = prepared.sample, None
    if options.method.startswith("propensity"):
        scores = propensity.scores(sample, seed=options.seed, standardize=options.method == "propensity")
    made = _method(options, prepared, scores)(sample)
    if not len(made):
        raise BadInput(nothing_matched(made, options, prepared))
    references = None
    if prepared.references is not None:
        references = designs.choose_references(sample, made, prepared.references)
    found = _balance(prepared, (made.a, made.b))
    summary = _summary(options, prepared, found) | {
        "method": made.method,
        "pairs": len(made),
        "refused": made.refusals,
        "mean_distance": float(made.distance.mean()),
        "facts": plain(made.facts),
    }
    zero = int((made.distance == 0).sum())
    if zero and not options.method.startswith("propensity"):
        what = "1 pair has" if zero == 1 else f"{zero} pairs have"
        summary["notes"].append(f"{what} distance 0: the same image twice, or features that do not tell images apart")
    if prepared.outcomes:
        experiment = _experiment(options)
        pairs = made.a, made.b
        summary["outcomes"] = matched_effects(
            prepared.outcomes, prepared.covariates, pairs, experiment, seed=options.seed
        )
    if references is not None:
        summary["references"] = plain(references.difficulty)
    log_odds = None if scores is None else scores.log_odds
    return Matched(summary, _pair_rows(made, references), found, prepared, made, log_odds=log_odds)


def _experiment(options: Options) -> list[dict[str, Any]]:
    if options.experiment is None:
        return []
    return read_experiment(options.experiment, options.experiment_attribute or options.treatment, options.outcomes)


def _weighted(options: Options, prepared: Prepared) -> Matched:
    if options.method == "entropy":
        names = tuple(prepared.covariates)
        weights, facts = designs.entropy_weights(prepared.sample, prepared.covariate_matrix, names)
    else:
        weights, facts = designs.overlap_weights(prepared.sample, prepared.covariate_matrix)
    rows = np.flatnonzero(weights > 0)
    found = _balance(prepared, (prepared.sample.rows, prepared.sample.columns), weights)
    summary = _summary(options, prepared, found) | {
        "method": options.method,
        "pairs": 0,
        "weighted": len(rows),
        "refused": _missing_reasons(prepared.sample),
        "facts": plain(facts),
    }
    return Matched(summary, pa.table({"row": rows, "weight": weights[rows]}), found, prepared, weights=weights)


def _sets(options: Options, prepared: Prepared) -> Matched:
    made = _made_sets(options, prepared)
    if made is None:
        raise BadInput(_no_set(options, prepared))
    found = _set_balance(prepared, made)
    summary = _summary(options, prepared, found) | {
        "method": f"{options.method}, around {made.groups[0]}",
        "pairs": int(made.distance.size),
        "sets": len(made.rows),
        "groups": list(made.groups),
        "refused": dict(Counter(made.refused.values()).most_common()),
        "mean_distance": float(made.distance.mean()),
        "facts": {},
    }
    return Matched(summary, _set_rows(made), found, prepared, sets=made)


def _made_sets(options: Options, prepared: Prepared) -> Sets | None:
    """Sets of one image of each group; None where there is none."""
    labels = np.array(prepared.labels)
    try:
        made = designs.match_groups(prepared.sample, labels, _method(options, prepared), base=options.base)
    except NoSet:
        return None
    return made if len(made.rows) else None


def _no_set(options: Options, prepared: Prepared) -> str:
    """What would leave a set: a caliper that is tried before it is named (propensity's differs from group to group)."""
    nothing = f"no set has an image of each of {', '.join(prepared.groups)}"
    wide = _made_sets(replace(options, caliper=math.inf), prepared) if options.caliper is not None else None
    if wide is None or options.method == "propensity":
        return f"{nothing}; relax a constraint"
    near = rounded_up(float(wide.distance.max(axis=1).min()))
    if _made_sets(replace(options, caliper=float(near)), prepared) is None:
        return f"{nothing}; give a larger --caliper, or relax another constraint"
    return f"{nothing} within the caliper; {near} leaves one: give it as --caliper"


def _set_balance(prepared: Prepared, made: Sets) -> list[Balance]:
    """Balance of the base group against each other group; the covariate's name says which."""
    labels = np.array(prepared.labels)
    found = []
    for place, name in enumerate(made.groups[1:], start=1):
        named = {
            f"{covariate} ({made.groups[0]} - {name})": values for covariate, values in prepared.covariates.items()
        }
        before = [np.flatnonzero(labels == group) for group in (made.groups[0], name)]
        found += balancing.balance(named, before[0], before[1], (made.rows[:, 0], made.rows[:, place]))
    return found


def _balance(
    prepared: Prepared,
    matched: tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]],
    weights: Float[np.ndarray, " n"] | None = None,
) -> list[Balance]:
    treated, control = sides(prepared.sample)
    return balancing.balance(prepared.covariates, treated, control, matched, weights=weights, used=prepared.used)


def sides(sample: Sample) -> tuple[Int[np.ndarray, " a"], Int[np.ndarray, " b"]]:
    """All images of both groups, also those that enter no pair; of a dose, those above and below its median."""
    level = sample.treatment
    if not sample.dose_gap:
        return np.flatnonzero(level == 1), np.flatnonzero(level == 0)
    middle = np.nanmedian(level)
    return np.flatnonzero(level > middle), np.flatnonzero(level <= middle)


def _summary(options: Options, prepared: Prepared, found: list[Balance]) -> dict[str, Any]:
    sample = prepared.sample
    missing = sorted(row for row, why in sample.ineligible.items() if why == MISSING)
    known = sample.treatment[np.isfinite(sample.treatment)]
    return {
        "treatment": options.treatment,
        "groups": list(prepared.groups),
        "treated": len(known) if sample.dose_gap else int((known == 1).sum()),
        "control": len(known) if sample.dose_gap else int((known == 0).sum()),
        "missing_rows": missing[:_MOST_LISTED],
        "missing": len(missing),
        "notes": [*prepared.notes, *filter(None, [prepared.apart])],
        "verdict": balancing.verdict(found, options.gate),
        **({"dose_gap": sample.dose_gap} if sample.dose_gap else {}),
        "balance": [plain(_entry(one)) for one in found],
    }


def _entry(one: Balance) -> dict[str, Any]:
    """One row of `balance`: standardized mean differences before and after, then what else is known."""
    sides = {"before": asdict(one.before), "after": asdict(one.after)}
    entry: dict[str, Any] = {"covariate": one.covariate, "before": one.before.smd, "after": one.after.smd}
    entry["used"] = one.used
    for name, side in sides.items():
        entry |= {f"{key}_{name}": value for key, value in side.items() if key != "smd"}
    return entry


def _missing_reasons(sample: Sample) -> dict[str, int]:
    treated = [why for row, why in sample.ineligible.items() if sample.treatment[row] == 1]
    return dict(Counter(treated).most_common())


def _pair_rows(made: Matching, references: References | None) -> pa.Table:
    """Columns a, b, distance; with reference images also theirs and their difficulties."""
    columns: dict[str, Any] = {"a": made.a, "b": made.b, "distance": made.distance}
    if references is not None:
        columns |= {
            "a_reference": references.a,
            "b_reference": references.b,
            "a_difficulty": references.difficulty_a,
            "b_difficulty": references.difficulty_b,
        }
    return pa.table(columns)


def _set_rows(made: Sets) -> pa.Table:
    """One row per pair of the base and another group's image: a, b, distance, set, group of b."""
    others = len(made.groups) - 1
    return pa.table(
        {
            "a": np.repeat(made.rows[:, 0], others),
            "b": made.rows[:, 1:].ravel(),
            "distance": made.distance.ravel(),
            "set": np.repeat(np.arange(len(made.rows)), others),
            "group": list(made.groups[1:]) * len(made.rows),
        }
    )


def _peak_megabytes() -> float:
    """The process's largest resident memory so far, mapped files included; 0 where the system does not tell.

    Linux's own count comes first: getrusage also counts what the process was before, a copy of the one that started it.
    """
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        return round(int(status.split("VmHWM:")[1].split()[0]) / 1024, 1)
    except (OSError, IndexError, ValueError):  # no Linux
        pass
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (1 << 20 if sys.platform == "darwin" else 1 << 10), 1)
