"""Matched effects: outcomes within pairs, adjusted, bounded, and beside the experiment that they should confirm."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float, Int

from transect.effects.disagreement import disagreement
from transect.effects.matched_pairs import PairOutcome, adjusted_pair_outcome, pair_outcome
from transect.errors import BadInput
from transect.runs.plain_json import plain

ENDS: Final = ("estimate", "low", "high")
_READ: Final = ("name", "target", *ENDS, "n_subjects", "unit")
Columns = Mapping[str, Float[np.ndarray, " n"]]
Rows = tuple[Int[np.ndarray, " m"], Int[np.ndarray, " m"]]


def matched_effects(
    outcomes: Columns, covariates: Columns, pairs: Rows, experiment: Sequence[Mapping[str, Any]] = (), seed: int = 0
) -> list[dict[str, Any]]:
    """One entry per outcome: the difference within pairs, adjusted for the covariates, its bounds, the experiment's.

    experiment: the effects of `read_experiment`; those of the same outcome stand beside it.
    """
    entries = []
    for name, values in outcomes.items():
        made = pair_outcome(values, *pairs, seed=seed)
        entry = _bounded(name, made)
        adjusted = asdict(adjusted_pair_outcome(values, covariates, *pairs))
        entry["adjusted"] = adjusted
        entry["experiment"] = [_beside(one, made, adjusted) for one in experiment if one["outcome"] == name]
        entries.append(plain(entry))
    return entries


def read_experiment(folder: Path, attribute: str, outcomes: Sequence[str]) -> list[dict[str, Any]]:
    """The contrasts of an attribute in a finished audit, of the outcomes asked for.

    Raises BadInput where the folder has no results, or no such contrast.
    """
    path = folder / "results.json"
    try:
        effects = json.loads(path.read_text(encoding="utf-8"))["effects"]
        contrasts = [one for one in effects if one["kind"] == "contrast" and one["basis"] == "experimental"]
        found = [one for one in contrasts if one["attribute"] == attribute and one["outcome"] in outcomes]
        if lacking := [key for one in found for key in _READ if key not in one]:
            raise KeyError(lacking[0])
    except (OSError, ValueError, KeyError, TypeError):
        raise BadInput(f"--experiment {folder}: expected a finished audit's results.json, found none to read") from None
    if not found:
        there = ", ".join(dict.fromkeys(f"{one['outcome']} by {one['attribute']}" for one in contrasts)) or "nothing"
        raise BadInput(
            f"--experiment {folder}: expected {' or '.join(outcomes)} by {attribute}, found {there}; name the "
            "experiment's attribute with --experiment-attribute, and columns of --outcome as its outcomes"
        )
    return found


def _bounded(name: str, made: PairOutcome) -> dict[str, Any]:
    """The difference within pairs and, by gamma, the largest p that hidden bias allows."""
    entry = {"outcome": name, **{key: value for key, value in asdict(made).items() if key != "bounds"}}
    bounds = made.bounds
    if bounds is not None:
        entry |= {"gammas": bounds.gammas.tolist(), "largest_p": bounds.largest_p.tolist()}
        entry |= {"tolerated": bounds.tolerated, "discordant": bounds.n_pairs, "bounds_method": bounds.method}
    return entry


def _beside(effect: Mapping[str, Any], made: PairOutcome, adjusted: Mapping[str, Any]) -> dict[str, Any]:
    """An experiment's effect, and how far the pairs' is from it, as it is and adjusted."""
    own = _interval({key: math.nan if effect[key] is None else effect[key] for key in ENDS})
    entry = {key: effect[key] for key in _READ}
    if (effect["unit"] == "proportion") != made.is_binary:
        reason = f"the experiment counts {effect['unit']}, the pairs {'shares' if made.is_binary else 'numbers'}"
        return {**entry, "reason": reason, "matched": None, "adjusted": None}
    sides = {"matched": asdict(made), "adjusted": adjusted}
    tests = {name: asdict(disagreement(_interval(side), own)) for name, side in sides.items()}
    return {**entry, "reason": "", **tests}


def _interval(made: Mapping[str, Any]) -> tuple[float, float, float]:
    estimate, low, high = (float(made[key]) for key in ENDS)
    return estimate, low, high


def lines(one: Mapping[str, Any]) -> list[str]:
    """The adjusted difference and the experiment beside it, in words."""
    scale, unit = (100, " points") if one["is_binary"] else (1, "")
    made = one["adjusted"]
    said = [f"  adjusted for {made['covariates']} covariates: {_words(made, scale, unit)}"]
    for effect in one["experiment"]:
        said.append(f"  experiment ({effect['name']}, {effect['target']}): {_words(effect, scale, unit)}")
        for name in ("matched", "adjusted"):
            test = effect[name]
            if test is None or test["p"] is None:
                said.append(f"    {name} minus experiment: {effect['reason'] or test['reason']}")
                continue
            ends = f"{scale * test['low']:+.3g} to {scale * test['high']:+.3g}"
            said.append(
                f"    {name} minus experiment: {scale * test['difference']:+.3g}{unit} ({ends}), p = {test['p']:.2g}; "
                f"a difference below {scale * test['smallest_found']:.2g}{unit} is easily missed"
            )
    return said


def _words(made: Mapping[str, Any], scale: float, unit: str) -> str:
    if made["estimate"] is None:
        return f"not estimable: {made['reason']}"
    if made["low"] is None:
        return f"{scale * made['estimate']:+.3g}{unit}, {made['reason']}"
    return f"{scale * made['estimate']:+.3g}{unit} ({scale * made['low']:+.3g} to {scale * made['high']:+.3g})"
