"""Leakage of a mitigated model's answers, and their performance, by new attackers, cross-fitted.

No attacker saw the model's training or the critic that trained it. Each attacks three times, on the same rows: the
model's scores; the same scores permuted among items with the same label (random errors in the same format: the
like-for-like λ_D); and labels with bits flipped until their macro F1 is the model's (λ_D(F1) as published, so that part
of Δ is due to the format).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from transect.attacks import Estimate, LabelledData, chance_errors, labelled, model_outputs, perturb, solve_rate
from transect.attacks import Settings as AttackSettings
from transect.attacks.attackers import load
from transect.attacks.estimation import Plan, attack, estimate
from transect.attacks.performance import performance
from transect.attacks.perturbation import expected_f1
from transect.attacks.scoring import difference
from transect.errors import BadInput
from transect.mitigation.numbers import AttackFigures, Figure, SeedFigures
from transect.mitigation.testbed import Bench

PLACES: Final = 6
"""Decimals of every stored figure."""


def test_items(bench: Bench) -> LabelledData:
    """The bench's test rows as leakage reads them; an item's random draws depend on its row."""
    data, rows = bench.data, bench.test
    return labelled(
        data.labels[rows],
        data.protected[rows],
        ids=rows,
        subjects=None if bench.subjects is None else bench.subjects[rows],
        label_names=data.names,
        attribute=bench.protected,
    )


def measured(
    bench: Bench, scores: Float[np.ndarray, "t k"], attackers: Sequence[str], rounds: int, seed: int
) -> SeedFigures:
    """Performance and, attacker by attacker, λ_M, λ_D and Δ of scores on the test rows, in percent and points.

    Raises BadInput where a score is not finite.
    """
    figures = performance(scores, bench.data.labels[bench.test])
    data = test_items(bench)
    if not np.isfinite(scores).all():
        raise BadInput("scores: expected finite numbers, got NaN or infinity: the training diverged; lower its rate")
    return SeedFigures(
        seed=seed,
        mean_average_precision=number(figures.mean_average_precision),
        f1=number(figures.macro_f1),
        label_f1=tuple(number(value) for value in figures.f1),
        attackers={name: _attacked(data, scores, name, rounds, seed) for name in attackers},
        effects=None,
        notes={},
    )


def labels_leak(bench: Bench, attackers: Sequence[str], seed: int = 0) -> dict[str, Figure]:
    """λ_D, how well each attacker infers the protected class from the true labels of the test rows."""
    data = test_items(bench)
    figures = {}
    for name in attackers:
        plan = Plan.of(data, load(name), AttackSettings(rounds=1, permutations=0, seed=seed))
        figures[name] = _figure(estimate(plan, attack(plan.attacker, [plan.evidence(data.labels)])[0]))
    return figures


def _attacked(data: LabelledData, scores: Float[np.ndarray, "t k"], name: str, rounds: int, seed: int) -> AttackFigures:
    outputs = model_outputs(data, scores, threshold=0.0)
    seen = outputs.scores if outputs.scores is not None else outputs.hard
    plan = Plan.of(data, load(name), AttackSettings(rounds=1, permutations=0, seed=seed))
    seeds = range(seed, seed + rounds)
    rate = _rate(data, outputs.f1(data, plan.scored))
    requests = [
        plan.evidence(seen),
        plan.copies([chance_errors(data, seen, copy) for copy in seeds]),
        plan.copies([perturb(data, "flips", rate, copy) for copy in seeds]),
    ]
    model, dealt, flipped = attack(plan.attacker, requests)
    by = data.protected, len(plan.folds), data.subjects
    return AttackFigures(
        model_leakage=_figure(estimate(plan, model)),
        dataset_leakage=_figure(estimate(plan, dealt)),
        amplification=_figure(difference(model, dealt, *by)),
        published_dataset_leakage=_figure(estimate(plan, flipped)),
        published_amplification=_figure(difference(model, flipped, *by)),
    )


def _rate(data: LabelledData, f1: float) -> float:
    """The rate of flips that leaves this F1; one half where a model is worse than any flips."""
    rows = np.arange(len(data))
    lowest = expected_f1("flips", 0.5, data.labels, rows)
    return 0.5 if f1 <= lowest else solve_rate("flips", f1, data.labels, rows)


def over_seeds(values: Sequence[float | None]) -> Figure:
    """Mean and 95 % interval over seeds by Student's t; an interval takes two seeds at least."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known):
        return Figure(None, None, None, 0, "no seed has a figure")
    center = float(known.mean())
    if len(known) < 2:
        return Figure(number(center), None, None, 1, "one seed has no interval")
    half = float(stdtrit(len(known) - 1, 0.975) * known.std(ddof=1) / np.sqrt(len(known)))
    return Figure(number(center), number(center - half), number(center + half), len(known))


def _figure(leak: Estimate) -> Figure:
    return Figure(number(leak.estimate), number(leak.low), number(leak.high), leak.n, leak.reason)


def number(value: float) -> float | None:
    """Rounded, None for NaN."""
    return round(float(value), PLACES) if np.isfinite(value) else None
