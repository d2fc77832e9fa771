"""How much do a mitigated model's answers still give away, and how good are they? By fresh attackers, cross-fitted.

No attacker saw the model's training, nor the critic that trained it. Each is asked three times, on the same rows: about
the model's scores, about the same scores dealt out anew among items whose label is equal (errors by chance alone, in
the same format: the like-for-like λ_D), and about labels with bits flipped until their macro F1 is the model's (λ_D(F1)
as published, against which part of Δ is format).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from transect.attacks import Estimate, LabelledData, chance_errors, labelled, model_outputs, perturb, solve_rate
from transect.attacks import Settings as AttackSettings
from transect.attacks.attackers import load
from transect.attacks.estimation import Plan, attack, estimate
from transect.attacks.perturbation import expected_f1
from transect.attacks.scoring import difference
from transect.errors import BadInput
from transect.mitigation.performance import performance
from transect.mitigation.testbed import Bench

PLACES: Final = 6
"""Decimals that figures are kept with."""


def test_items(bench: Bench) -> LabelledData:
    """The bench's test rows as leakage knows them; an item's chance hangs on its row."""
    data, rows = bench.data, bench.test
    return labelled(
        data.labels[rows], data.protected[rows], ids=rows, label_names=data.names, attribute=bench.protected
    )


def measured(
    bench: Bench, scores: Float[np.ndarray, "t k"], attackers: Sequence[str], rounds: int, seed: int
) -> dict[str, Any]:
    """Performance and, attacker by attacker, λ_M, λ_D and Δ of scores on the test rows, in percent and points.

    Raises BadInput where a score is not finite.
    """
    truth = bench.data.labels[bench.test]
    found = performance(scores, truth)
    data = test_items(bench)
    if not np.isfinite(scores).all():
        raise BadInput("scores: expected finite numbers, got NaN or infinity: the training diverged; lower its rate")
    return {
        "mean_average_precision": number(found.mean_average_precision),
        "f1": number(found.macro_f1),
        "label_f1": [number(value) for value in found.f1],
        "attackers": {name: _attacked(data, scores, name, rounds, seed) for name in attackers},
    }


def labels_leak(bench: Bench, attackers: Sequence[str], seed: int = 0) -> dict[str, Any]:
    """λ_D, how well each attacker infers the protected class from the true labels of the test rows."""
    data = test_items(bench)
    made = {}
    for name in attackers:
        plan = Plan.of(data, load(name), AttackSettings(rounds=1, permutations=0, seed=seed))
        made[name] = as_json(estimate(plan, attack(plan.attacker, [plan.evidence(data.labels)])[0]))
    return made


def _attacked(
    data: LabelledData, scores: Float[np.ndarray, "t k"], name: str, rounds: int, seed: int
) -> dict[str, Any]:
    outputs = model_outputs(data, scores, threshold=0.0)
    seen = outputs.scores if outputs.scores is not None else outputs.hard
    plan = Plan.of(data, load(name), AttackSettings(rounds=1, permutations=0, seed=seed))
    seeds = [seed + number for number in range(rounds)]
    rate = _rate(data, outputs.f1(data, plan.scored))
    requests = [
        plan.evidence(seen),
        plan.copies([chance_errors(data, seen, one) for one in seeds]),
        plan.copies([perturb(data, "flips", rate, one) for one in seeds]),
    ]
    model, dealt, flipped = attack(plan.attacker, requests)
    folds = len(plan.folds)
    return {
        "model_leakage": as_json(estimate(plan, model)),
        "dataset_leakage": as_json(estimate(plan, dealt)),
        "amplification": as_json(difference(model, dealt, data.protected, folds)),
        "published_dataset_leakage": as_json(estimate(plan, flipped)),
        "published_amplification": as_json(difference(model, flipped, data.protected, folds)),
    }


def _rate(data: LabelledData, f1: float) -> float:
    """The rate of flips that leaves this F1; where a model is worse than any flips, bits by the coin."""
    rows = np.arange(len(data))
    lowest = expected_f1("flips", 0.5, data.labels, rows)
    return 0.5 if f1 <= lowest else solve_rate("flips", f1, data.labels, rows)


def over_seeds(values: Sequence[float | None]) -> dict[str, Any]:
    """Mean and 95 % interval over seeds by Student's t; an interval takes two seeds at least.

    >>> over_seeds([1.0, 2.0, 3.0])  # 2 ± 4.303 / sqrt(3)
    {'estimate': 2.0, 'low': -0.484138, 'high': 4.484138, 'n': 3, 'reason': ''}
    """
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known):
        return {"estimate": None, "low": None, "high": None, "n": 0, "reason": "no seed has a figure"}
    center = float(known.mean())
    if len(known) < 2:
        reason = "one seed has no interval"
        return {"estimate": number(center), "low": None, "high": None, "n": 1, "reason": reason}
    half = float(stdtrit(len(known) - 1, 0.975) * known.std(ddof=1) / np.sqrt(len(known)))
    low, high = number(center - half), number(center + half)
    return {"estimate": number(center), "low": low, "high": high, "n": len(known), "reason": ""}


def as_json(found: Estimate) -> dict[str, Any]:
    """An estimate in plain numbers; None where it is not estimable."""
    ends = {name: number(getattr(found, name)) for name in ("estimate", "low", "high")}
    return {**ends, "n": found.n, "reason": found.reason}


def number(value: float) -> float | None:
    """Rounded, None for NaN."""
    return round(float(value), PLACES) if np.isfinite(value) else None
