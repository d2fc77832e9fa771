"""An analysis as JSON values: what `transect leakage --json` prints and the report reads."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from transect.leakage.analysis import Analysis, Comparison, Level
from transect.leakage.overview import Cost
from transect.leakage.records import Estimate

CAVEAT: Final = "Leakage is what this attacker found: a lower bound on what could be inferred."
CURVE_SAYS: Final = " The learning curve shows whether more data would find more."
CURVE_LACKS: Final = " Whether more data would find more was not measured; --curve shows it."
COUNTED: Final = {
    "bias_amp": "BiasAmp",
    "directional": "BiasAmp→, label from class",
    "multi_attribute": "multi-attribute",
}


def as_json(analysis: Analysis) -> dict[str, Any]:
    """Leakages in percent, amplification in percentage points; null where there is no figure, with its reason.

    The keys of the contract for scripts come first: dataset_leakage, null, at_accuracy, model_leakage, amplification,
    attacker, noise, n.
    """
    headline = analysis.headline
    low, high = analysis.null
    data = analysis.data
    return {
        "dataset_leakage": estimate_json(analysis.dataset),
        "null": {"low": number(low), "high": number(high)},
        "at_accuracy": [_level(level) for level in analysis.levels],
        "model_leakage": None if headline is None else estimate_json(headline.model),
        "amplification": None if headline is None else _amplification(headline),
        "attacker": analysis.attacker,
        "noise": analysis.noise,
        "n": analysis.dataset.n,
        "n_train": analysis.n_train,
        "chance": data.chance,
        "classes": list(data.classes),
        "protected": data.attribute,
        "labels": len(data.labels.names),
        "label_format": data.labels.format,
        "splits": data.split is not None,
        "published_protocol": analysis.settings.published,
        "rounds": analysis.dataset.rounds,
        "seed": analysis.settings.seed,
        "chosen": list(analysis.chosen),
        "model_f1": number(analysis.f1),
        "comparisons": [_comparison(comparison) for comparison in analysis.comparisons],
        "learning_curve": [{"share": 100 * share, **estimate_json(found)} for share, found in analysis.curve],
        "counted": {name: number(value) for name, value in analysis.counted.items()},
        "answers": None if analysis.matched is None else asdict(analysis.matched),
        "notes": notes(analysis),
        "caveat": caveat(analysis),
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """One estimate; NaN becomes null and the reason is there.

    >>> estimate_json(Estimate(math.nan, math.nan, math.nan, 0, reason="no items"))["estimate"] is None
    True
    """
    found: dict[str, Any] = {name: number(getattr(estimate, name)) for name in ("estimate", "low", "high")}
    found |= {"n": estimate.n, "rounds": estimate.rounds, "sd": number(estimate.sd), "method": estimate.method}
    return found | ({"reason": estimate.reason} if estimate.reason else {})


def number(value: float) -> float | None:
    """The number, or None where it is not finite."""
    return float(value) if math.isfinite(value) else None


def caveat(analysis: Analysis) -> str:
    """That leakage is a lower bound, and whether more data would raise it is shown."""
    return CAVEAT + (CURVE_SAYS if analysis.curve else CURVE_LACKS)


def notes(analysis: Analysis) -> list[str]:
    """What a reader has to know of how answers were put beside labels, and of what was not asked for."""
    said, matched = [], analysis.matched
    if not analysis.levels:
        said.append("λ_D of labels with errors was not measured; --f1 names the F1 that they shall have.")
    if matched is not None:
        if matched.by == "row order":
            said.append("Answers and labels were matched by row order: not both have identifiers.")
        if matched.columns > 1 and not matched.columns_by_name:
            said.append(
                f"The {matched.columns} columns of answers were taken to stand in the labels' order ("
                f"{', '.join(analysis.data.labels.names[:3])} …), since their names do not tell."
            )
        if matched.unused:
            said.append(f"{matched.unused} answers of items that are not among the labels were left out.")
        if matched.unknown:
            said.append(f"{matched.unknown} answers are none of the labels, and count as wrong.")
        if matched.cross_fitted and analysis.data.split is not None:
            said.append("The training rows have no answers: attackers on answers were cross-fitted within the others.")
    return said


def rows(analysis: Analysis) -> list[list[str]]:
    """The figures as rows of a short table: what, estimate, 95 % interval, how."""
    low, high = analysis.null
    null = f"{low:.2f} to {high:.2f}" if math.isfinite(low) else ""
    found = [["dataset leakage λ_D", *_texts(analysis.dataset), f"{analysis.attacker}, n = {analysis.dataset.n}"]]
    found.append(["λ_D if labels said nothing", f"{analysis.data.chance:.2f}", null, "permutations"])
    for level in analysis.levels:
        how = f"{level.noise} at {level.rate:.4g}" if math.isfinite(level.rate) else level.noise
        at = f"{level.f1:.2f}" if math.isfinite(level.f1) else "of the model"
        found.append([f"λ_D at F1 {at}", *_texts(level.leakage), how])
    for comparison in analysis.comparisons:
        how = f"{comparison.name}; labels: {comparison.noise}"
        at = f" at F1 {analysis.f1:.2f}" if math.isfinite(analysis.f1) else ""
        found.append([f"model leakage λ_M{at}", *_texts(comparison.model), how])
        found.append([f"λ_D of labels as wrong{at}", *_texts(comparison.dataset), how])
        found.append(["amplification Δ", *_texts(comparison.amplification), how])
    for name, value in analysis.counted.items():
        said = f"{value:.2f}" if math.isfinite(value) else "not estimable"
        found.append([COUNTED[name], said, "", "counted, without an attacker"])
    return found


def curve_rows(curve: Sequence[tuple[float, Estimate]]) -> list[list[str]]:
    """The learning curve as rows: share of the training rows, estimate, interval."""
    return [[f"{100 * share:.0f} %", *_texts(found)] for share, found in curve]


def cost_texts(cost: Cost) -> list[str]:
    """What balancing keeps, as texts; the heuristic's share is empty where the answer is exact."""
    return [str(cost.kept), str(cost.of), str(cost.bound), "" if cost.heuristic is None else str(cost.heuristic)]


def _texts(estimate: Estimate) -> list[str]:
    if not math.isfinite(estimate.estimate):
        return ["not estimable", estimate.reason]
    return [f"{estimate.estimate:.2f}", f"{estimate.low:.2f} to {estimate.high:.2f}"]


def _level(level: Level) -> dict[str, Any]:
    stated = {
        "f1": number(level.f1),
        "f1_found": number(level.f1_found),
        "noise": level.noise,
        "rate": number(level.rate),
    }
    return stated | estimate_json(level.leakage)


def _amplification(comparison: Comparison) -> dict[str, Any]:
    return estimate_json(comparison.amplification) | {"format": comparison.name, "noise": comparison.noise}


def _comparison(comparison: Comparison) -> dict[str, Any]:
    return {
        "name": comparison.name,
        "noise": comparison.noise,
        "model_leakage": estimate_json(comparison.model),
        "dataset_leakage": estimate_json(comparison.dataset),
        "amplification": estimate_json(comparison.amplification),
    }
