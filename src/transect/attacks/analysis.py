"""The analysis of one data set: λ_D with its null, λ_D at lower accuracies, λ_M and Δ, and the learning curve.

Δ as published compares what is learned from a model's logits with what is learned from hard labels with flipped bits,
so part of it is due to the format. Here hard predictions are compared with hard labels, and scores with scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.attacks import scoring
from transect.attacks.attackers import Attacker
from transect.attacks.attackers.auto import Auto
from transect.attacks.bias_amplification import bias_amp, directional_label, multi_attribute
from transect.attacks.estimation import Plan, Request, Settings, attack, estimate, null
from transect.attacks.outputs import Matched, Outputs, chance_errors
from transect.attacks.perturbation import NOTHING_OCCURS, bits, expected_f1, macro_f1, noise_named, solve_rate
from transect.attacks.records import Attack, Estimate, Evidence, LabelledData

CURVE_F1: Final = (80.0, 60.0, 40.0, 20.0)
SHARES: Final = (0.25, 0.5, 0.75)
DEALT: Final = "dealt out within labels"


@final
@dataclass(frozen=True, slots=True)
class _Pair:
    """A comparison to make: attacks on the model and on labels, or the reason why it cannot be made."""

    name: str
    noise: str
    requests: tuple[Request, Request] | None
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Level:
    """λ_D(a): leakage of labels whose macro F1 (percent) against the truth is `f1`, by noise at a solved rate.

    f1_measured: what the noise left in the first round.
    """

    f1: float
    f1_measured: float
    noise: str
    rate: float
    leakage: Estimate


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Δ = λ_M − λ_D(a) in one pair of formats; both attackers are scored on the same items.

    name: "published" (scores against flipped bits), "hard" or "scores". noise: how the labels err in λ_D(a).
    """

    name: str
    noise: str
    model: Estimate
    dataset: Estimate
    amplification: Estimate


@final
@dataclass(frozen=True)
class Analysis:
    """The results. null: where λ_D lies in 95 % of cases if labels say nothing. f1: of the model, in percent.

    contributions [k, c]: what the items of each category and class add to the headline's Δ; None for several labels.
    counted: amplification by counting, without an attacker, in percentage points; see `bias_amplification`. counted_by
    [k, c]: what each label and class adds to those that are sums. matched: how predictions were matched to the labels.
    """

    data: LabelledData
    settings: Settings
    attacker: str
    chosen: tuple[str, ...]
    noise: str
    dataset: Estimate
    null: tuple[float, float]
    levels: tuple[Level, ...]
    curve: tuple[tuple[float, Estimate], ...]
    n_train: int
    f1: float = float("nan")
    comparisons: tuple[Comparison, ...] = ()
    contributions: np.ndarray | None = None
    counted: Mapping[str, float] = field(default_factory=dict)
    counted_by: Mapping[str, np.ndarray] = field(default_factory=dict)
    matched: Matched | None = None

    @property
    def headline(self) -> Comparison | None:
        """The comparison that gives λ_M and Δ: as published on request, else on scores if there are any, else hard."""
        first = "published" if self.settings.published else "scores"
        named = {comparison.name: comparison for comparison in reversed(self.comparisons)}
        return named.get(first) or named.get("hard") or next(iter(self.comparisons), None)

    def at(self, f1: float) -> Estimate:
        """λ_D at any F1 between the measured levels, by linear interpolation of the estimate and of both ends.

        F1 of 100 is λ_D itself. NaN with a reason outside the levels.
        """
        points = sorted([(100.0, self.dataset), *((level.f1, level.leakage) for level in self.levels)])
        levels = np.array([level for level, _ in points])
        if not levels[0] <= f1 <= 100:
            return Estimate(np.nan, np.nan, np.nan, 0, reason=f"F1 {f1:g} lies below every measured level")
        estimate, low, high = (
            float(np.interp(f1, levels, [getattr(leak, end) for _, leak in points]))
            for end in ("estimate", "low", "high")
        )
        return Estimate(estimate, low, high, self.dataset.n, method="linear interpolation between levels")


def analyse(
    data: LabelledData,
    attacker: Attacker,
    *,
    outputs: Outputs | None = None,
    answered: LabelledData | None = None,
    noise: str = "",
    f1: Sequence[float] | None = None,
    curve: bool | None = None,
    settings: Settings | None = None,
    stage: str = "",
) -> Analysis:
    """λ_D, its null, λ_D(a) and, with outputs, λ_M and Δ.

    answered: the items that the outputs belong to, where these are not all. noise: `frequency` by default, `flips` in
    the published protocol. f1: levels of λ_D(a) in percent; by default the model's own, or for fast attackers a curve
    at 80, 60, 40 and 20, as far as the noise reaches. curve: also train attackers on 25, 50 and 75 % of the training
    rows; by default all but networks. stage: the label of the progress on standard error; "" is silent.

    Raises BadInput where splits, noise or levels cannot be used.
    """
    settings = settings or Settings()
    plan = Plan.of(data, attacker, settings)
    shared = plan if answered is None else Plan.of(answered, attacker, settings)
    noise = noise_named(noise or ("flips" if settings.published else "frequency"))
    model_f1 = outputs.f1(shared.data, shared.scored) if outputs is not None else float("nan")
    reason = "" if outputs is None or f1 is not None else _unreachable((shared, plan), noise, model_f1)
    if f1 is None:
        f1 = () if reason else _default_levels(plan, noise, outputs, model_f1)
    rates = [solve_rate(noise, level, data.labels, plan.scored) for level in f1]
    shares = SHARES if (not attacker.is_random if curve is None else curve) else ()
    pairs = [] if outputs is None else _pairs(shared, outputs, noise, model_f1)
    requests = _requests(plan, noise, rates, shares, pairs)
    attacks = dict(zip(requests, attack(attacker, list(requests.values()), stage), strict=True))
    levels = [
        Level(level, _measured_f1(plan, requests["rate", rate]), noise, rate, estimate(plan, attacks["rate", rate]))
        for level, rate in zip(f1, rates, strict=True)
    ]
    if reason:
        levels = [Level(model_f1, np.nan, noise, np.nan, _none(reason))]
    dataset = estimate(plan, attacks["labels"])
    learned = [(share, estimate(plan, attacks["share", share])) for share in shares]
    counted, counted_by = ({}, {}) if outputs is None else _counted(plan, shared, outputs)
    return Analysis(
        data=data,
        settings=settings,
        attacker=attacker.name,
        chosen=tuple(name for name, _ in attacker.chosen.most_common()) if isinstance(attacker, Auto) else (),
        noise=noise,
        dataset=dataset,
        null=null(plan, requests["null"], attacks["null"]),
        levels=tuple(levels),
        curve=(*learned, (1.0, dataset)) if learned else (),
        n_train=sum(len(problem.train) for problem in requests["labels"].rounds[0]) // len(plan.folds),
        f1=model_f1,
        comparisons=_comparisons(shared, pairs, attacks),
        contributions=_contributions(shared, pairs, attacks),
        counted=counted,
        counted_by=counted_by,
        matched=None if outputs is None else outputs.matched,
    )


def _default_levels(plan: Plan, noise: str, outputs: Outputs | None, model_f1: float) -> tuple[float, ...]:
    """The model's F1; without a model the levels of the curve that the noise reaches, none for slow attackers."""
    if outputs is not None:
        return (model_f1,)
    if plan.attacker.is_slow:
        return ()
    lowest = _lowest_f1(plan, noise)
    return tuple(level for level in CURVE_F1 if level >= lowest)


def _requests(
    plan: Plan, noise: str, rates: Sequence[float], shares: Sequence[float], pairs: Sequence[_Pair]
) -> dict[object, Request]:
    """Every figure to be measured, by name, rate, share or the comparison's number and side."""
    labels = plan.data.labels
    requests: dict[object, Request] = {"labels": plan.evidence(labels), "null": plan.shuffled(labels)}
    requests |= {("rate", rate): plan.noisy(noise, rate) for rate in rates}
    requests |= {("share", share): plan.evidence(labels, share) for share in shares}
    for number, pair in enumerate(pairs):
        requests |= {(number, side): request for side, request in enumerate(pair.requests or ())}
    return requests


def _contributions(
    plan: Plan, pairs: Sequence[_Pair], attacks: Mapping[object, list[Attack]]
) -> Float[np.ndarray, "k c"] | None:
    """What each category and class adds to Δ in the first like-for-like comparison."""
    labels = plan.data.labels
    numbers = [i for i, pair in enumerate(pairs) if pair.requests is not None and pair.name != "published"]
    if labels.category is None or not numbers:
        return None
    model, dataset = attacks[numbers[0], 0], attacks[numbers[0], 1]
    return scoring.contributions(model, dataset, plan.data.protected, labels.category, len(labels.names))


def _counted(whole: Plan, plan: Plan, outputs: Outputs) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Amplification by counting: predictions on the scored rows against the labels of the training rows.

    Returns each measure, and for those that are sums what each label and class adds.
    """
    data, c, scored = plan.data, plan.data.n_classes, plan.scored
    source, train_rows = (data, scored) if whole.data.split is None else (whole.data, whole.data.rows_of("train"))
    train, train_groups = bits(source.labels, train_rows), source.protected[train_rows]
    labels = bits(data.labels, scored)
    predicted, groups = outputs.predicted(data, scored), data.protected[scored]
    sums = {
        "bias_amp": bias_amp(train, train_groups, predicted, groups, c),
        "directional": directional_label(labels, groups, predicted, c, train, train_groups),
    }
    mean, _, _ = multi_attribute(train, train_groups, labels, predicted, groups, c)
    values = {name: measure.value for name, measure in sums.items()}
    parts = {name: measure.contributions / max(measure.counted, 1) for name, measure in sums.items()}
    return values | {"multi_attribute": mean}, parts


def _lowest_f1(plan: Plan, noise: str) -> float:
    """The least macro F1 that the noise leaves."""
    return expected_f1(noise, 0.5 if noise == "flips" else 1.0, plan.data.labels, plan.scored)


def _unreachable(plans: Sequence[Plan], noise: str, f1: float) -> str:
    """Why no rate of the noise leaves this F1 in one of the plans; "" where one does in all."""
    if np.isnan(f1):
        return NOTHING_OCCURS
    for plan in plans:
        if f1 < (lowest := _lowest_f1(plan, noise)):
            return f"the model's F1, {f1:.2f} %, is below {lowest:.2f} %, the least that noise ({noise}) leaves"
    return ""


def _none(reason: str) -> Estimate:
    return Estimate(np.nan, np.nan, np.nan, 0, reason=reason)


def _pairs(plan: Plan, outputs: Outputs, noise: str, f1: float) -> list[_Pair]:
    """The comparisons that the attacker can make."""
    data, rounds = plan.data, range(plan.n_rounds(noisy=True))

    def pair(name: str, kind: str, seen: Evidence) -> _Pair:
        if kind == DEALT:
            copies = [chance_errors(data, seen, plan.settings.seed + r) for r in rounds]
            return _Pair(name, kind, (plan.evidence(seen), plan.copies(copies)))
        if reason := _unreachable((plan,), kind, f1):
            return _Pair(name, kind, None, reason)
        rate = solve_rate(kind, f1, data.labels, plan.scored)
        return _Pair(name, kind, (plan.evidence(seen), plan.noisy(kind, rate)))

    pairs = []
    if outputs.scores is not None and not plan.attacker.knows_noise:  # the closed form takes no scores
        pairs += [pair("published", "flips", outputs.scores), pair("scores", DEALT, outputs.scores)]
    if not plan.attacker.knows_noise or outputs.hard.category is not None:
        pairs += [pair("hard", DEALT, outputs.hard), pair("hard", noise, outputs.hard)]
    return pairs


def _comparisons(plan: Plan, pairs: Sequence[_Pair], attacks: Mapping[object, list[Attack]]) -> tuple[Comparison, ...]:
    """A comparison that cannot be made has λ_M of the same predictions, and the reason."""
    measured = {
        i: _compared(plan, pair, attacks[i, 0], attacks[i, 1])
        for i, pair in enumerate(pairs)
        if pair.requests is not None
    }
    models = {comparison.name: comparison.model for comparison in measured.values()}
    comparisons = []
    for i, pair in enumerate(pairs):
        model, none = models["scores" if pair.name == "published" else pair.name], _none(pair.reason)
        comparisons.append(measured.get(i) or Comparison(pair.name, pair.noise, model, none, none))
    return tuple(comparisons)


def _compared(plan: Plan, pair: _Pair, model: Sequence[Attack], dataset: Sequence[Attack]) -> Comparison:
    data = plan.data
    if plan.settings.published:
        amplification = scoring.published_difference(model, dataset, data.protected, data.n_classes)
    else:
        amplification = scoring.difference(model, dataset, data.protected, len(plan.folds), data.subjects)
    return Comparison(pair.name, pair.noise, estimate(plan, model), estimate(plan, dataset), amplification)


def _measured_f1(plan: Plan, request: Request) -> float:
    rows = plan.scored
    return macro_f1(bits(plan.data.labels, rows), bits(request.rounds[0][0].evidence, rows))
