"""The analysis of one data set: λ_D with its null, λ_D at lower accuracies, λ_M and Δ of models, counted measures,
curves.

Counted measures take hard answers alone, and no attacker enters: BiasAmp (Zhao et al. 2017), directional BiasAmp
(Wang and Russakovsky 2021) and multi-attribute amplification (Zhao, Andrews and Xiang 2023), in percentage points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.attacks.attackers import Attacker
from transect.attacks.attackers.classical import Auto
from transect.attacks.estimation import (
    Comparison,
    Pair,
    Plan,
    Request,
    Settings,
    attack,
    comparable,
    compared,
    contributed,
    difference,
    estimate,
    lowest_f1,
    null,
    unmeasured,
    unreachable,
)
from transect.attacks.outputs import Matched, Model, Outputs
from transect.attacks.perturbation import bits, macro_f1, noise_named, solve_rate
from transect.attacks.records import Attack, LabelledData, LeakageEstimate

Bits = Bool[np.ndarray, "n k"]


@final
@dataclass(frozen=True)
class Amplification:
    """A measure in points, NaN without a count: the sum of what labels and classes add, over the number counted."""

    value: float
    contributions: Float[np.ndarray, "k c"]
    counted: int


def bias_amp(
    train: Bits, train_protected: Int[np.ndarray, " n"], predicted: Bool[np.ndarray, "m k"],
    predicted_protected: Int[np.ndarray, " m"], n_classes: int,
) -> Amplification:  # fmt: skip
    """Mean over labels of the rise in the share of each class that the label leans to in training.

    b(label, class) = share of the class among items with the label; a label leans to a class where b > 1 / classes. The
    rise is b among predictions minus b in training. Labels that training never has, or that are never predicted, do not
    count. Zhao et al. 2017; with the protected attribute as annotated, since the model does not predict it.
    """
    before, after = _shares(train, train_protected, n_classes), _shares(predicted, predicted_protected, n_classes)
    known = np.isfinite(before).all(axis=1) & np.isfinite(after).all(axis=1)
    rises = np.where(known[:, None] & (before > 1 / n_classes), after - before, 0.0)
    return _mean(100 * rises, int(known.sum()))


def directional_label(
    labels: Bits, protected: Int[np.ndarray, " n"], predicted: Bits, n_classes: int,
    train: Bool[np.ndarray, "m k"] | None = None, train_protected: Int[np.ndarray, " m"] | None = None,
) -> Amplification:  # fmt: skip
    """BiasAmp A→T: does knowing the class change the prediction of a label more than it changes the label?

    Mean over pairs of label t and class a of D where t and a are positively associated, and of -D elsewhere, with
    D = P(T̂=t | A=a) - P(T=t | A=a). They are where P(A=a, T=t) > P(A=a) P(T=t) in the training labels, or in
    these labels where none are given. Wang and Russakovsky 2021, equation 2.
    """
    true_rates, predicted_rates = _rates(labels, protected, n_classes), _rates(predicted, protected, n_classes)
    toward = _together(labels, protected, n_classes)
    if train is not None and train_protected is not None:
        toward = _together(train, train_protected, n_classes)
    return _mean(100 * np.where(toward, predicted_rates - true_rates, true_rates - predicted_rates), true_rates.size)


def multi_attribute(
    train: Bits, train_protected: Int[np.ndarray, " n"], labels: Bool[np.ndarray, "m k"],
    predicted: Bool[np.ndarray, "m k"], protected: Int[np.ndarray, " m"], n_classes: int, smallest: int = 1,
) -> tuple[float, float, int]:  # fmt: skip
    """Mean of absolute rises over combinations of labels, as the released code of Zhao, Andrews and Xiang has it.

    A combination is the whole label set of a training item with at least `smallest` labels that some item of `labels`
    holds, too; an item has the combination when it has all its labels. Rises are those of `bias_amp`, but absolute, so
    that labels that rise and labels that fall do not cancel.

    Returns the mean, the variance of the rises with sign, and the number of combinations; NaN where there is none.
    """
    sets = [row for row in np.unique(train, axis=0) if row.sum() >= max(smallest, 1)]
    held = [np.flatnonzero(row) for row in sets if labels[:, row].all(axis=1).any()]
    if not held:
        return float("nan"), float("nan"), 0
    before = _shares(_all_of(train, held), train_protected, n_classes)
    after = _shares(_all_of(predicted, held), protected, n_classes)
    rises = np.where(before > 1 / n_classes, 100 * (after - before), 0.0)
    return float(np.nansum(np.abs(rises)) / len(held)), float(np.nanvar(rises)), len(held)


def _all_of(bits: Bool[np.ndarray, "_ _"], combinations: list[np.ndarray]) -> Bool[np.ndarray, "_ _"]:
    """Whether each row has all the labels of each combination."""
    return np.stack([bits[:, chosen].all(axis=1) for chosen in combinations], axis=1)


def _together(bits: Bool[np.ndarray, "_ _"], protected: Int[np.ndarray, " _"], c: int) -> Bool[np.ndarray, "_ c"]:
    """Where a label and a class occur together more often than by chance."""
    return np.asarray(_rates(bits, protected, c) > bits.mean(axis=0)[:, None])


def _shares(bits: Bool[np.ndarray, "_ _"], protected: Int[np.ndarray, " _"], c: int) -> Float[np.ndarray, "_ c"]:
    """Share of each class among the items with each label, [k, c]; NaN for labels without items."""
    counts = bits.T.astype(np.float64) @ np.eye(c)[protected]
    total = counts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0))


def _rates(bits: Bool[np.ndarray, "_ _"], protected: Int[np.ndarray, " _"], c: int) -> Float[np.ndarray, "_ c"]:
    """Share of the items of each class that have each label, [k, c]."""
    counts = bits.T.astype(np.float64) @ np.eye(c)[protected]
    return np.asarray(counts / np.maximum(np.bincount(protected, minlength=c), 1))


def _mean(contributions: Float[np.ndarray, "k c"], counted: int) -> Amplification:
    value = float(contributions.sum() / counted) if counted else float("nan")
    return Amplification(value, contributions, counted)


CURVE_F1: Final = (80.0, 60.0, 40.0, 20.0)
SHARES: Final = (0.25, 0.5, 0.75)
_Measured: TypeAlias = tuple[Request, list[Attack]]


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Level(LeakageEstimate):
    """λ_D(a): leakage of labels whose macro F1 (percent) against the truth is `f1`, by noise at a solved rate.

    f1_measured: what the noise left in the first round.
    """

    f1: float
    f1_measured: float
    noise: str
    rate: float


@final
@dataclass(frozen=True)
class Analysis:
    """The results. null: where λ_D lies in 95 % of cases if labels say nothing, NaN where λ_D is not estimable.

    model: its name; "" without one. f1: its macro F1, and mean_average_precision: its mAP, in percent; NaN without
    scores. curve: λ_D, and model_curve: λ_M, by the share of the training rows that attackers learn from.

    contributions [k, c]: what the items of each category and class add to the headline's Δ; None for several labels.
    counted: amplification by counting, without an attacker, in percentage points; see `bias_amplification`. counted_by
    [k, c]: what each label and class adds to those that are sums. matched: how predictions were matched to the labels.
    """

    data: LabelledData
    settings: Settings
    attacker: str
    chosen: tuple[str, ...]
    noise: str
    dataset: LeakageEstimate
    null: tuple[float, float]
    levels: tuple[Level, ...]
    curve: tuple[tuple[float, LeakageEstimate], ...]
    n_train: int
    model: str = ""
    f1: float = float("nan")
    mean_average_precision: float = float("nan")
    comparisons: tuple[Comparison, ...] = ()
    model_curve: tuple[tuple[float, LeakageEstimate], ...] = ()
    contributions: np.ndarray | None = None
    counted: Mapping[str, float] = field(default_factory=dict)
    counted_by: Mapping[str, np.ndarray] = field(default_factory=dict)
    matched: Matched | None = None

    @property
    def headline(self) -> Comparison | None:
        """The comparison that gives λ_M and Δ: as published on request, else on scores if there are any, else hard."""
        return self.comparisons[0] if self.comparisons else None

    def at(self, f1: float) -> LeakageEstimate:
        """λ_D at an F1 between measured levels, by linear interpolation of estimate and ends; at 100 λ_D itself."""
        points = sorted([(100.0, self.dataset), *((level.f1, level) for level in self.levels)])
        levels = np.array([level for level, _ in points])
        if not levels[0] <= f1 <= 100:
            return LeakageEstimate(reason=f"F1 {f1:g} lies below every measured level")
        estimate, low, high = (
            float(np.interp(f1, levels, [getattr(leak, end) for _, leak in points]))
            for end in ("estimate", "low", "high")
        )
        reason = next((leak.reason for _, leak in points if leak.reason), "") if math.isnan(estimate) else ""
        method = "linear interpolation between levels"
        return LeakageEstimate(estimate, low, high, reason=reason, n=self.dataset.n, method=method)


@final
@dataclass(frozen=True, slots=True)
class ModelDifference:
    """λ_M of `model` minus λ_M of `reference` on the items that both predict, in percentage points.

    format: "scores" or "hard", the same for both; "" where they have none in common. confidence: of the interval, so
    high that those of all models hold together with 95 % (Bonferroni); NaN in the published protocol, whose ends are
    the spread between rounds.
    """

    model: str
    reference: str
    format: str
    difference: LeakageEstimate
    confidence: float = 0.95


@final
@dataclass(frozen=True)
class Several:
    """An analysis for each model, and each model's difference from the first."""

    analyses: tuple[Analysis, ...]
    differences: tuple[ModelDifference, ...] = ()


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
    """λ_D, its null, λ_D(a) and, with outputs, λ_M and Δ; see `analyse_models`.

    answered: the items that the outputs belong to, where these are not all.
    """
    models = [] if outputs is None else [Model(outputs, answered)]
    return analyse_models(
        data, attacker, models, noise=noise, f1=f1, curve=curve, settings=settings, stage=stage
    ).analyses[0]


def analyse_models(
    data: LabelledData,
    attacker: Attacker,
    models: Sequence[Model] = (),
    *,
    noise: str = "",
    f1: Sequence[float] | None = None,
    curve: bool | None = None,
    settings: Settings | None = None,
    stage: str = "",
) -> Several:
    """λ_D, its null and λ_D(a), and λ_M and Δ of each model; without models one analysis of the labels.

    noise: `frequency` by default, `flips` in the published protocol. f1: levels of λ_D(a) in percent; by default each
    model's own, and for fast attackers a curve at 80, 60, 40 and 20, as far as the noise reaches. curve: also train
    attackers on 25, 50 and 75 % of the training rows; by default all but networks. stage: the label of the progress on
    standard error; "" is silent.

    Raises BadInput where splits, noise or levels cannot be used.
    """
    settings = settings or Settings()
    plan = Plan.of(data, attacker, settings)
    noise = noise_named(noise or ("flips" if settings.published else "frequency"))
    hard = any(model.outputs.scores is None for model in models)
    drafts = [_draft(plan, model, noise, f1, hard) for model in models or (None,)]
    shares = SHARES if (not attacker.is_random if curve is None else curve) else ()
    requests = _requests(plan, noise, drafts, shares)
    once = {id(request): request for request in requests.values()}
    answers = dict(zip(once, attack(attacker, list(once.values()), stage), strict=True))
    measured = {name: (request, answers[id(request)]) for name, request in requests.items()}
    labels = _of_labels(plan, noise, shares, measured)
    return Several(
        tuple(_finished(plan, labels, draft, number, measured) for number, draft in enumerate(drafts)),
        tuple(_apart(drafts, number, measured) for number in range(1, len(models))),
    )


@final
@dataclass(frozen=True, slots=True)
class _Draft:
    """What is to be measured of a model (None: of the labels). reason: why λ_D at the model's own F1 cannot be had."""

    model: Model | None
    plan: Plan
    f1: float
    levels: tuple[float, ...]
    rates: tuple[float, ...]
    reason: str
    pairs: Sequence[Pair]


def _of_labels(plan: Plan, noise: str, shares: Sequence[float], measured: Mapping[object, _Measured]) -> Analysis:
    """What the analyses of all models have in common."""
    asked, attacks = measured["labels"]
    dataset, attacker = estimate(plan, attacks), plan.attacker
    learned = [(share, estimate(plan, measured["share", share][1])) for share in shares]
    return Analysis(
        data=plan.data,
        settings=plan.settings,
        attacker=attacker.name,
        chosen=tuple(name for name, _ in attacker.chosen.most_common()) if isinstance(attacker, Auto) else (),
        noise=noise,
        dataset=dataset,
        null=(math.nan, math.nan) if dataset.reason else null(plan, *measured["null"]),
        levels=(),
        curve=(*learned, (1.0, dataset)) if learned else (),
        n_train=sum(len(problem.train) for problem in asked.rounds[0]) // len(plan.folds),
    )


def _draft(plan: Plan, model: Model | None, noise: str, f1: Sequence[float] | None, hard: bool) -> _Draft:
    shared, model_f1, reason, pairs = plan, float("nan"), "", list[Pair]()
    if model is not None:
        shared = plan if model.answered is None else Plan.of(model.answered, plan.attacker, plan.settings)
        model_f1 = model.outputs.f1(shared.data, shared.scored)
        reason = "" if f1 is not None else unreachable((shared, plan), noise, model_f1)
        pairs = comparable(shared, model.outputs, noise, model_f1, hard=hard)
    levels = tuple(f1 or ())
    if f1 is None:
        own = () if model is None or reason else (model_f1,)
        lowest = math.inf if plan.attacker.is_slow else lowest_f1(plan, noise)  # no curve of slow attackers
        levels = (*own, *(level for level in CURVE_F1 if level >= lowest and level not in own))
    rates = tuple(solve_rate(noise, level, plan.data.labels, plan.scored) for level in levels)
    return _Draft(model, shared, model_f1, levels, rates, reason, pairs)


def _requests(plan: Plan, noise: str, drafts: Sequence[_Draft], shares: Sequence[float]) -> dict[object, Request]:
    """Every figure to be measured, by name, rate, share, or the numbers of the model, comparison and side."""
    labels = plan.data.labels
    requests: dict[object, Request] = {"labels": plan.evidence(labels), "null": plan.shuffled(labels)}
    rates = dict.fromkeys(rate for draft in drafts for rate in draft.rates)
    requests |= {("rate", rate): plan.noisy(noise, rate) for rate in rates}
    requests |= {("share", share): plan.evidence(labels, share) for share in shares}
    for model, draft in enumerate(drafts):
        for number, pair in enumerate(draft.pairs):
            requests |= {(model, number, side): request for side, request in enumerate(pair.requests or ())}
        if draft.pairs and draft.model is not None:
            evidence = draft.model.outputs.seen(plan.attacker)
            requests |= {(model, "share", share): draft.plan.evidence(evidence, share) for share in shares}
    return requests


def _finished(
    plan: Plan, labels: Analysis, draft: _Draft, number: int, measured: Mapping[object, _Measured]
) -> Analysis:
    """The analysis of one model, or of the labels."""
    outputs = None if draft.model is None else draft.model.outputs
    levels = []
    for f1, rate in zip(draft.levels, draft.rates, strict=True):
        asked, attacked = measured["rate", rate]
        found = macro_f1(bits(plan.data.labels, plan.scored), bits(asked.rounds[0][0].evidence, plan.scored))
        levels.append(_level(estimate(plan, attacked), f1, found, labels.noise, rate))
    if draft.reason:
        levels.insert(0, _level(unmeasured(draft.reason), draft.f1, np.nan, labels.noise, np.nan))
    attacks: dict[object, list[Attack]] = {
        name[1:]: attacks for name, (_, attacks) in measured.items() if isinstance(name, tuple) and name[0] == number
    }
    comparisons = compared(draft.plan, draft.pairs, attacks)
    shares = [share for share, _ in labels.curve[:-1]] if draft.pairs else []
    learned = [(share, estimate(draft.plan, attacks["share", share])) for share in shares]
    counted, counted_by = ({}, {}) if outputs is None else _counted(plan, draft.plan, outputs)
    return replace(
        labels,
        levels=tuple(levels),
        model="" if draft.model is None else draft.model.name,
        f1=draft.f1,
        mean_average_precision=(
            math.nan if outputs is None else outputs.mean_average_precision(draft.plan.data, draft.plan.scored)
        ),
        comparisons=comparisons,
        model_curve=(*learned, (1.0, comparisons[0].model_leakage)) if learned else (),
        contributions=contributed(draft.plan, draft.pairs, attacks),
        counted=counted,
        counted_by=counted_by,
        matched=None if outputs is None else outputs.matched,
    )


def _apart(drafts: Sequence[_Draft], number: int, measured: Mapping[object, _Measured]) -> ModelDifference:
    """λ_M of a model minus that of the first, in a format that both have."""
    first, other = drafts[0], drafts[number]
    places = [
        {pair.name: place for place, pair in reversed(list(enumerate(draft.pairs))) if pair.requests}
        for draft in (first, other)
    ]
    name = next((name for name in ("scores", "hard") if all(name in place for place in places)), "")
    other_name, first_name = (draft.model.name if draft.model is not None else "" for draft in (other, first))
    if not name:
        reason = "the two models have no format of predictions in common"
        return ModelDifference(other_name, first_name, "", unmeasured(reason))
    if not np.array_equal(first.plan.data.keys, other.plan.data.keys):  # rows of attacks are places in these data
        reason = "the two models have predictions for different items; give both predictions for the same items"
        return ModelDifference(other_name, first_name, "", unmeasured(reason))
    ours, theirs = (measured[model, place[name], 0][1] for model, place in zip((0, number), places, strict=True))
    level = math.nan if first.plan.settings.published else 1 - 0.05 / (len(drafts) - 1)
    _, _, apart = difference(other.plan, theirs, first.plan, ours, level)
    return ModelDifference(other_name, first_name, name, apart, level)


def _counted(whole: Plan, plan: Plan, outputs: Outputs) -> tuple[dict[str, float], dict[str, np.ndarray]]:
    """Amplification by counting: predictions on scored rows against labels of training rows; and what each adds."""
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


def _level(leakage: LeakageEstimate, f1: float, f1_measured: float, noise: str, rate: float) -> Level:
    return Level(**asdict(leakage), f1=f1, f1_measured=f1_measured, noise=noise, rate=rate)
