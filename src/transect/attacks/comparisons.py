"""Comparisons of a model's leakage with that of labels: which an attacker can make, and what they give.

Δ as published compares what is learned from a model's logits with what is learned from hard labels with flipped bits,
so part of it is due to the format. Here hard predictions are compared with hard labels, and scores with scores.

The headline's labels are the model's own predictions, dealt out among items with the same label. They keep which labels
are mistaken for which, so that a model that sees nothing but the label has Δ = 0. Labels with noise keep the F1 alone:
there such a model has a Δ above 0 wherever it mistakes labels for others of the same class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.attacks import scoring
from transect.attacks.estimation import Plan, Request, estimate
from transect.attacks.outputs import Outputs, chance_errors
from transect.attacks.perturbation import NOTHING_OCCURS, expected_f1, solve_rate
from transect.attacks.records import Attack, Estimate, Evidence

DEALT: Final = "dealt out within labels"


@final
@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison to make: attacks on the model and on labels, or the reason why it cannot be made."""

    name: str
    noise: str
    requests: tuple[Request, Request] | None
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Δ = λ_M − λ_D(a) in one pair of formats; both attackers are scored on the same items.

    name: "published" (scores against flipped bits), "hard" or "scores". noise: how the labels err in λ_D(a).
    """

    name: str
    noise: str
    model_leakage: Estimate
    dataset_leakage: Estimate
    amplification: Estimate


def comparable(plan: Plan, outputs: Outputs, noise: str, f1: float) -> list[Pair]:
    """The comparisons that the attacker can make."""
    pairs = []
    if outputs.scores is not None and not plan.attacker.knows_noise:  # the closed form takes no scores
        model = plan.evidence(outputs.scores)
        pairs += [_pair(plan, "published", "flips", model, outputs.scores, f1)]
        pairs += [_pair(plan, "scores", DEALT, model, outputs.scores, f1)]
    if not plan.attacker.knows_noise or outputs.hard.category is not None:
        model = plan.evidence(outputs.hard)
        pairs += [_pair(plan, "hard", kind, model, outputs.hard, f1) for kind in (DEALT, noise)]
    return pairs


def dealt(plan: Plan, evidence: Evidence) -> Request:
    """Attacks on the same evidence, dealt out among items with the same label: it says what the label says."""
    rounds = range(plan.n_rounds(noisy=True))
    return plan.copies([chance_errors(plan.data, evidence, plan.settings.seed + r) for r in rounds])


def _pair(plan: Plan, name: str, noise: str, model: Request, evidence: Evidence, f1: float) -> Pair:
    if noise == DEALT:
        return Pair(name, noise, (model, dealt(plan, evidence)))
    if reason := unreachable((plan,), noise, f1):
        return Pair(name, noise, None, reason)
    rate = solve_rate(noise, f1, plan.data.labels, plan.scored)
    return Pair(name, noise, (model, plan.noisy(noise, rate)))


def compared(plan: Plan, pairs: Sequence[Pair], attacks: Mapping[object, list[Attack]]) -> tuple[Comparison, ...]:
    """Each pair's figures. A comparison that cannot be made has λ_M of the same predictions, and the reason."""
    measured = {
        i: Comparison(pair.name, pair.noise, *difference(plan, attacks[i, 0], plan, attacks[i, 1]))
        for i, pair in enumerate(pairs)
        if pair.requests is not None
    }
    models = {comparison.name: comparison.model_leakage for comparison in measured.values()}
    comparisons = []
    for i, pair in enumerate(pairs):
        model, none = models["scores" if pair.name == "published" else pair.name], unmeasured(pair.reason)
        comparisons.append(measured.get(i) or Comparison(pair.name, pair.noise, model, none, none))
    return tuple(comparisons)


def difference(
    plan: Plan, minuend: Sequence[Attack], other: Plan, subtrahend: Sequence[Attack], confidence: float = 0.95
) -> tuple[Estimate, Estimate, Estimate]:
    """Two leakages and the first minus the second, paired over the items that both score.

    confidence: of the interval of the difference; the published protocol has none, its ends are the spread of rounds.
    """
    data = plan.data
    if plan.settings.published:
        apart = scoring.published_difference(minuend, subtrahend, data.protected, data.n_classes)
    else:
        folds = max(len(plan.folds), len(other.folds))
        apart = scoring.difference(minuend, subtrahend, data.protected, folds, data.subjects, confidence)
    return estimate(plan, minuend), estimate(other, subtrahend), apart


def contributed(
    plan: Plan, pairs: Sequence[Pair], attacks: Mapping[object, list[Attack]]
) -> Float[np.ndarray, "k c"] | None:
    """What each category and class adds to Δ in the first like-for-like comparison."""
    labels = plan.data.labels
    numbers = [i for i, pair in enumerate(pairs) if pair.requests is not None and pair.name != "published"]
    if labels.category is None or not numbers:
        return None
    model, dataset = attacks[numbers[0], 0], attacks[numbers[0], 1]
    return scoring.contributions(model, dataset, plan.data.protected, labels.category, len(labels.names))


def lowest_f1(plan: Plan, noise: str) -> float:
    """The least macro F1 that the noise leaves."""
    return expected_f1(noise, 0.5 if noise == "flips" else 1.0, plan.data.labels, plan.scored)


def unreachable(plans: Sequence[Plan], noise: str, f1: float) -> str:
    """Why no rate of the noise leaves this F1 in one of the plans; "" where one does in all."""
    if np.isnan(f1):
        return NOTHING_OCCURS
    for plan in plans:
        if f1 < (lowest := lowest_f1(plan, noise)):
            return f"the model's F1, {f1:.2f} %, is below {lowest:.2f} %, the least that noise ({noise}) leaves"
    return ""


def unmeasured(reason: str) -> Estimate:
    """No figure, and why."""
    return Estimate(np.nan, np.nan, np.nan, 0, reason=reason)
