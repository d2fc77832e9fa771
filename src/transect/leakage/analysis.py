"""The whole answer for one data set: λ_D with its null, λ_D at lower accuracies, λ_M and Δ, and the learning curve.

Δ as published compares what is learned from a model's logits with what is learned from hard labels with flipped bits,
so that part of it is format. Here like stands beside like: hard answers against hard labels, scores against scores.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from transect.leakage import scoring
from transect.leakage.attackers import Attacker
from transect.leakage.attackers.auto import Auto
from transect.leakage.bias_amplification import bias_amp, directional_label, multi_attribute
from transect.leakage.estimation import Plan, Request, Settings, attack, estimate, null
from transect.leakage.outputs import Matched, Outputs, chance_errors
from transect.leakage.perturbation import NOTHING_OCCURS, bits, expected_f1, macro_f1, noise_named, solve_rate
from transect.leakage.records import Attack, Estimate, Evidence, LabelledData

CURVE_F1: Final = (80.0, 60.0, 40.0, 20.0)
SHARES: Final = (0.25, 0.5, 0.75)
DEALT: Final = "dealt out within labels"

_Pair = tuple[str, str, tuple[Request, Request]]
_Wanted = tuple[str, str, tuple[Request, Request] | str]
"""A pair, or why there is none."""


@final
@dataclass(frozen=True, slots=True)
class Level:
    """λ_D(a): leakage of labels whose macro F1 (percent) against the truth is `f1`, by noise at a solved rate.

    f1_found: what the noise left in the first round, measured.
    """

    f1: float
    f1_found: float
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
    """What was found. null: where λ_D lies, 95 times of 100, when labels say nothing. f1: of the model, in percent.

    contributions [k, c]: what the items of each category and class add to the headline's Δ; None where labels are
    several. counted: amplification by counting, without an attacker, in percentage points; see `bias_amplification`.
    counted_by [k, c]: what each label and class adds to those that are sums. matched: where answers came from a file.
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
        """The comparison that stands for λ_M and Δ: as published where asked for, scores where there are, else hard."""
        wanted = "published" if self.settings.published else "scores"
        named = {comparison.name: comparison for comparison in reversed(self.comparisons)}
        return named.get(wanted) or named.get("hard") or next(iter(self.comparisons), None)

    def at(self, f1: float) -> Estimate:
        """λ_D at any F1 between the measured levels, by linear interpolation of the estimate and of both ends.

        F1 of 100 is λ_D itself. NaN with a reason outside the levels.
        """
        points = sorted([(100.0, self.dataset), *((level.f1, level.leakage) for level in self.levels)])
        at = np.array([point for point, _ in points])
        if not at[0] <= f1 <= 100:
            return Estimate(np.nan, np.nan, np.nan, 0, reason=f"F1 {f1:g} lies below every level measured")
        estimate, low, high = (
            float(np.interp(f1, at, [getattr(found, end) for _, found in points]))
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
) -> Analysis:
    """λ_D, its null, λ_D(a) and, where outputs are given, λ_M and Δ.

    answered: the items that the outputs belong to, where these are not all. noise: by default `frequency`, as published
    `flips`. f1: levels of λ_D(a) in percent; by default the model's own, or where attackers are fast a curve at 80, 60,
    40 and 20, as far as the noise reaches. curve: also let attackers learn from 25, 50 and 75 % of the training rows;
    by default all but networks.

    Raises BadInput where splits, noise or levels cannot be used.
    """
    settings = settings or Settings()
    plan = Plan.of(data, attacker, settings)
    shared = plan if answered is None else Plan.of(answered, attacker, settings)
    noise = noise_named(noise or ("flips" if settings.published else "frequency"))
    measured = outputs.f1(shared.data, shared.scored) if outputs is not None else float("nan")
    asked_of = () if outputs is None or f1 is not None else (shared, plan)
    far = next(filter(None, (_out_of_reach(one, noise, measured) for one in asked_of)), "")
    if f1 is None:
        f1 = (measured,) if outputs is not None else () if attacker.is_slow else _reached(plan, noise)
        f1 = () if far else f1
    rates = [solve_rate(noise, level, data.labels, plan.scored) for level in f1]
    shares = SHARES if (not attacker.is_random if curve is None else curve) else ()
    wanted = _pairs(shared, outputs, noise, measured) if outputs is not None else []
    pairs = [(name, kind, requests) for name, kind, requests in wanted if not isinstance(requests, str)]
    asked: dict[object, Request] = {"labels": plan.evidence(data.labels), "null": plan.shuffled(data.labels)}
    asked |= {("rate", rate): plan.noisy(noise, rate) for rate in rates}
    asked |= {("share", share): plan.evidence(data.labels, share) for share in shares}
    asked |= {(i, side): pair[2][side] for i, pair in enumerate(pairs) for side in (0, 1)}
    made = dict(zip(asked, attack(attacker, list(asked.values())), strict=True))
    levels = [
        Level(level, _found(plan, asked["rate", rate]), noise, rate, estimate(plan, made["rate", rate]))
        for level, rate in zip(f1, rates, strict=True)
    ]
    if far:
        levels = [Level(measured, np.nan, noise, np.nan, _none(far))]
    dataset = estimate(plan, made["labels"])
    learned = [(share, estimate(plan, made["share", share])) for share in shares]
    return Analysis(
        data=data,
        settings=settings,
        attacker=attacker.name,
        chosen=tuple(name for name, _ in attacker.chosen.most_common()) if isinstance(attacker, Auto) else (),
        noise=noise,
        dataset=dataset,
        null=null(plan, asked["null"], made["null"]),
        levels=tuple(levels),
        curve=(*learned, (1.0, dataset)) if learned else (),
        n_train=sum(len(problem.train) for problem in asked["labels"].rounds[0]) // len(plan.folds),
        f1=measured,
        comparisons=_in_order(
            wanted, [_compared(shared, pair, made[i, 0], made[i, 1]) for i, pair in enumerate(pairs)]
        ),
        contributions=_contributions(shared, pairs, made),
        matched=None if outputs is None else outputs.matched,
        **({} if outputs is None else _counted(plan, shared, outputs)),
    )


def _contributions(plan: Plan, pairs: Sequence[_Pair], made: Mapping[object, list[Attack]]) -> np.ndarray | None:
    """What each category and class adds to Δ in the first like-for-like comparison."""
    category = plan.data.labels.category
    alike = [i for i, (name, _, _) in enumerate(pairs) if name != "published"]
    if category is None or not alike:
        return None
    i = alike[0]
    return scoring.contributions(made[i, 0], made[i, 1], plan.data.protected, category, len(plan.data.labels.names))


def _counted(whole: Plan, plan: Plan, outputs: Outputs) -> dict[str, Any]:
    """Amplification by counting: predictions on the scored rows against the labels of the training rows."""
    data, c, scored = plan.data, plan.data.n_classes, plan.scored
    source, taught = (data, scored) if whole.data.split is None else (whole.data, whole.data.rows_of("train"))
    train, train_groups = bits(source.labels, taught), source.protected[taught]
    labels = bits(data.labels, scored)
    said, groups = outputs.said(data, scored), data.protected[scored]
    sums = {
        "bias_amp": bias_amp(train, train_groups, said, groups, c),
        "directional": directional_label(labels, groups, said, c, train, train_groups),
    }
    mean, _, _ = multi_attribute(train, train_groups, labels, said, groups, c)
    values = {name: found.value for name, found in sums.items()}
    by = {name: found.contributions / max(found.counted, 1) for name, found in sums.items()}
    return {"counted": values | {"multi_attribute": mean}, "counted_by": by}


def _reached(plan: Plan, noise: str) -> tuple[float, ...]:
    """The levels of the default curve that the noise can bring about on these labels."""
    lowest = expected_f1(noise, 0.5 if noise == "flips" else 1.0, plan.data.labels, plan.scored)
    return tuple(level for level in CURVE_F1 if level >= lowest)


def _out_of_reach(plan: Plan, noise: str, f1: float) -> str:
    """Why no rate of the noise leaves this F1; nothing where one does."""
    if np.isnan(f1):
        return NOTHING_OCCURS
    lowest = expected_f1(noise, 0.5 if noise == "flips" else 1.0, plan.data.labels, plan.scored)
    return (
        ""
        if f1 >= lowest
        else f"the model's F1, {f1:.2f} %, lies below {lowest:.2f} %, the least that noise ({noise}) leaves"
    )


def _none(reason: str) -> Estimate:
    return Estimate(np.nan, np.nan, np.nan, 0, reason=reason)


def _in_order(wanted: Sequence[_Wanted], found: Sequence[Comparison]) -> tuple[Comparison, ...]:
    """The comparisons, and in their places those that cannot be made, with λ_M of the same answers and the reason."""
    made, rest = [], list(found)
    models = {comparison.name: comparison.model for comparison in found}
    for name, kind, requests in wanted:
        if isinstance(requests, str):
            model = models["scores" if name == "published" else name]
            made.append(Comparison(name, kind, model, _none(requests), _none(requests)))
        else:
            made.append(rest.pop(0))
    return tuple(made)


def _pairs(plan: Plan, outputs: Outputs, noise: str, f1: float) -> list[_Wanted]:
    """Name, noise, attacks on the model and on the data, for each comparison that the attacker can make."""
    data, rounds = plan.data, range(plan.n_rounds(noisy=True))

    def pair(name: str, kind: str, seen: Evidence) -> _Wanted:
        if kind == DEALT:
            copies = [chance_errors(data, seen, plan.settings.seed + r) for r in rounds]
            return name, kind, (plan.evidence(seen), plan.copies(copies))
        if far := _out_of_reach(plan, kind, f1):
            return name, kind, far
        rate = solve_rate(kind, f1, data.labels, plan.scored)
        return name, kind, (plan.evidence(seen), plan.noisy(kind, rate))

    found = []
    if outputs.scores is not None and not plan.attacker.knows_noise:  # the closed form takes no scores
        found += [pair("published", "flips", outputs.scores), pair("scores", DEALT, outputs.scores)]
    if not plan.attacker.knows_noise or outputs.hard.category is not None:
        found += [pair("hard", DEALT, outputs.hard), pair("hard", noise, outputs.hard)]
    return found


def _compared(plan: Plan, pair: _Pair, model: Sequence[Attack], dataset: Sequence[Attack]) -> Comparison:
    name, noise, _ = pair
    data = plan.data
    if plan.settings.published:
        amplification = scoring.published_difference(model, dataset, data.protected, data.n_classes)
    else:
        amplification = scoring.difference(model, dataset, data.protected, len(plan.folds))
    return Comparison(name, noise, estimate(plan, model), estimate(plan, dataset), amplification)


def _found(plan: Plan, request: Request) -> float:
    rows = plan.scored
    return macro_f1(bits(plan.data.labels, rows), bits(request.rounds[0][0].evidence, rows))
