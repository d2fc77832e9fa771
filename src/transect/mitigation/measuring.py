"""What mitigated models leak, how well they do, how they change along transects, and the means and verdicts over
seeds.

No attacker saw the model's training or the critic that trained it. Each attacks three times, on the same rows: the
model's scores; the same scores permuted among items with the same label (random errors in the same format: the
like-for-like λ_D); and labels with bits flipped until their macro F1 is the model's (λ_D(F1) as published, so that
part of Δ is due to the format).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from pydantic import JsonValue
from scipy.special import stdtrit
from scipy.stats import spearmanr

from transect import __version__
from transect.attacks import LabelledData, LeakageEstimate, chance_errors, labelled, model_outputs, perturb, solve_rate
from transect.attacks import Settings as AttackSettings
from transect.attacks.attackers import load
from transect.attacks.estimation import Plan, attack, estimate
from transect.attacks.outputs import performance
from transect.attacks.perturbation import expected_f1
from transect.attacks.scoring import difference
from transect.effects import Measure, analyse_transects
from transect.errors import BadInput, UnknownName
from transect.mitigation.data import WorldRegions
from transect.mitigation.numbers import (
    AttackFigures,
    EffectFigures,
    Figure,
    LabelEffect,
    LabelFrequency,
    MitigateNumbers,
    MitigationFigures,
    Pictures,
    RankCorrelations,
    SeedFigures,
)
from transect.mitigation.settings import Audit, Config, Mitigation
from transect.mitigation.testbed import Bench, in_words
from transect.records import Attribute, Design
from transect.runs import array_files
from transect.runs.folder import spec_hash

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
    """Performance and, attacker by attacker, λ_M, λ_D and Δ of scores on the test rows, in percent and points."""
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


def _figure(leak: LeakageEstimate) -> Figure:
    return Figure(number(leak.estimate), number(leak.low), number(leak.high), leak.n, leak.reason)


def number(value: float) -> float | None:
    """Rounded, None for NaN."""
    return round(float(value), PLACES) if np.isfinite(value) else None


FIRST_ROW: Final = 10_000_000
"""The first row of the protocol's pictures, and the first subject's seed: beyond every training picture."""


@final
@dataclass(frozen=True)
class Protocol:
    """Pictures of subjects at two levels, the low one first; subject i's rows are FIRST_ROW + 2 i and the next."""

    spec: dict[str, JsonValue]
    pictures: UInt8[np.ndarray, "r h w 3"]
    regions: WorldRegions
    design: Design
    attributes: dict[str, Attribute]

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Pictures of those rows."""
        return np.asarray(self.pictures[rows - FIRST_ROW])

    @property
    def rows(self) -> Int[np.ndarray, " r"]:
        """Every row."""
        return FIRST_ROW + np.arange(len(self.pictures))


def open_protocol(audit: Audit, size: int, folder: Path) -> Protocol:
    """The protocol's pictures, from the folder where it has them."""
    from transect.generators.faceworld.world import FaceWorld

    world = FaceWorld(image_size=size, population=audit.population)
    known = {attribute.name: attribute for attribute in world.attributes}
    if audit.attribute not in known:
        raise UnknownName("attribute", audit.attribute, known, "in audit")
    if audit.low == audit.high:
        raise BadInput(
            f"audit: expected two different levels of {audit.attribute}, got {audit.low:g} twice; change one"
        )
    design = Design({audit.attribute: (audit.low, audit.high)}, audit.subjects, FIRST_ROW, audit.population)
    latents = world.sample(FIRST_ROW + np.arange(audit.subjects)).repeat(2)
    latents = world.set(latents, {audit.attribute: np.tile([audit.low, audit.high], audit.subjects)})
    spec = {**audit.model_dump(), "first_subject": FIRST_ROW, "world": world.describe()}
    file = folder / f"transects-{spec_hash(spec)[:12]}.npy"
    pixels = array_files.pixels_of(file, (2 * audit.subjects, size, size, 3))
    if pixels is None:
        pixels = world.render(latents).pixels
        array_files.write(file, pixels)
    attributes = {audit.attribute: known[audit.attribute]}
    return Protocol(spec, pixels, WorldRegions(world, latents, FIRST_ROW), design, attributes)


def effects(protocol: Protocol, scores: Float[np.ndarray, "r k"], names: tuple[str, ...], model: str) -> EffectFigures:
    """The effect on each label's answer in points with its interval, and the share of answers that change.

    mean_size: the mean over labels of the absolute effect, which chance alone keeps above 0. changed: the share of
    answers, over subjects and labels, that differ between the levels, in percent.
    """
    answers: Bool[np.ndarray, "s 2 k"] = (scores >= 0).reshape(-1, 2, len(names))
    none = np.full(answers.shape[:2], "", dtype=object)
    rows, sizes = [], []
    for label, name in enumerate(names):
        table = analyse_transects(
            answers[:, :, label].astype(np.float64),
            none,
            protocol.design,
            protocol.attributes,
            Measure(model, name),
        )
        effect = table.effects[0]
        estimate, low, high = (number(100 * value) for value in (effect.estimate, effect.low, effect.high))
        rows.append(LabelEffect(name, estimate, low, high, number(effect.p)))
        if effect.estimable:
            sizes.append(abs(100 * effect.estimate))
    return EffectFigures(
        tuple(rows),
        mean_size=number(float(np.mean(sizes))) if sizes else None,
        changed=number(float(100 * (answers[:, 0] != answers[:, 1]).mean())) if len(answers) else None,
        subjects=len(answers),
    )


WORKS: Final = {
    "plain": "Wang et al. 2019, Balanced datasets are not enough, arXiv:1811.08489",
    "reweighed": "Kamiran and Calders 2012, Data preprocessing techniques, doi:10.1007/s10115-011-0463-8",
    "group_dro": "Sagawa et al. 2020, Distributionally robust neural networks for group shifts, arXiv:1911.08731",
    "thresholds": "Hardt et al. 2016, Equality of opportunity in supervised learning, arXiv:1610.02413",
    "erasure": "Belrose et al. 2023, LEACE: Perfect linear concept erasure in closed form, arXiv:2306.03819",
    "crf": "Zhao et al. 2017, Men also like shopping, arXiv:1707.09457",
    "rba": "Zhao et al. 2017, Men also like shopping, arXiv:1707.09457",
}
HALF: Final = 0.5
POINTS: Final = 3.0
"""The most that a mitigation may cost in F1, and the least share by which it lowers Δ, to be a good trade."""

CAVEAT: Final = (
    "The best possible attacker may find more than those that were tried, so leakage may be larger than shown, and Δ, "
    "a difference, larger or smaller."
)
PICKED: Final = (
    "Of the attackers that were tried, each mitigation is shown by the one that finds most over the seeds on these "
    "items: picking it makes its figure a little too large."
)
SEEDS: Final = (
    "Intervals over seeds are for the mean over trainings on these pictures: a single training varies more, and other "
    "pictures are not covered."
)


def summary(
    config: Config,
    bench: Bench,
    leak: Mapping[str, Figure],
    figures: Mapping[str, Sequence[SeedFigures]],
    protocol: Mapping[str, JsonValue] | None,
) -> MitigateNumbers:
    """The results of the mitigations that are finished, in the order of the file; the first is the plain model."""
    methods = {method.name: method for method in config.mitigations}
    rows = [_row(methods[name], seeds) for name, seeds in figures.items()]
    return MitigateNumbers(
        title="Mitigation",
        transect_version=__version__,
        config=config.model_dump(mode="json"),
        finished=len(rows) == len(methods),
        confidence=95,
        protected=bench.protected,
        protected_words=in_words(bench.protected),
        classes=bench.classes,
        pictures=Pictures(len(bench.train), len(bench.check), len(bench.test)),
        left_out=dict(bench.left_out),
        split=bench.split,
        labels=_labels(bench),
        dataset_leakage=dict(leak),
        mitigations=tuple(_compared(row, rows) for row in rows),
        protocol=None if protocol is None else dict(protocol),
        leakage_and_effect=_correlations(rows),
        caveat=" ".join([CAVEAT, *([PICKED] if len(config.attackers) > 1 else []), SEEDS]),
        works=tuple(sorted({WORKS[method.kind] for method in config.mitigations if method.kind in WORKS})),
    )


def _row(method: Mitigation, seeds: Sequence[SeedFigures]) -> MitigationFigures:
    attackers = {name: _over_seeds([seed.attackers[name] for seed in seeds]) for name in seeds[0].attackers}
    strongest = max(attackers, key=lambda name: attackers[name].model_leakage.estimate or 0.0)
    leakages = attackers[strongest]
    effects = [seed.effects for seed in seeds if seed.effects is not None]
    audited = len(effects) == len(seeds)
    return MitigationFigures(
        *(getattr(leakages, entry.name) for entry in fields(AttackFigures)),
        name=method.name,
        kind=method.kind,
        start=method.start,
        settings=method.model_dump(mode="json", exclude={"name", "kind", "start"}),
        mean_average_precision=over_seeds([seed.mean_average_precision for seed in seeds]),
        f1=over_seeds([seed.f1 for seed in seeds]),
        label_f1=tuple(over_seeds(values) for values in zip(*(seed.label_f1 for seed in seeds), strict=True)),
        attacker=strongest,
        attackers=attackers,
        effect=over_seeds([effect.mean_size for effect in effects]) if audited else None,
        changed=over_seeds([effect.changed for effect in effects]) if audited else None,
        seeds=tuple(seeds),
    )


def _over_seeds(seeds: Sequence[AttackFigures]) -> AttackFigures:
    names = [entry.name for entry in fields(AttackFigures)]
    return AttackFigures(*(over_seeds([getattr(seed, name).estimate for seed in seeds]) for name in names))


def _compared(row: MitigationFigures, rows: Sequence[MitigationFigures]) -> MitigationFigures:
    """Against the plain model of the same seed: F1 and Δ lost; and against noise of the same F1."""
    plain = rows[0]
    pairs = list(zip(plain.seeds, row.seeds, strict=True))
    lost = over_seeds([_difference(before.f1, after.f1) for before, after in pairs])
    fallen = over_seeds([_difference(_delta(plain, i), _delta(row, i)) for i in range(len(row.seeds))])
    delta, before = row.amplification.estimate, plain.amplification.estimate
    lowered = number(1 - delta / before) if delta is not None and before is not None and before > 0 else None
    curves = [noise_curve(rows, place) for place in range(len(row.seeds))]
    beyond = over_seeds(
        [_difference(_delta(row, i), noise_at(curve, row.seeds[i].f1)) for i, curve in enumerate(curves)]
    )
    return replace(
        row,
        f1_lost=lost,
        amplification_lost=fallen,
        amplification_lowered=lowered,
        noise_amplification=noise_at(noise_curve(rows), row.f1.estimate),
        beats_noise=None if row.kind in ("plain", "noise") else _below(beyond, 0.0),
        good_trade=_good_trade(row, plain, lost),
    )


def _good_trade(row: MitigationFigures, plain: MitigationFigures, lost: Figure) -> bool | None:
    """Whether Δ is lowered by half or more at an accepted loss of F1: None where the intervals hold both answers."""
    halved = over_seeds(
        [
            _difference(_delta(row, i), None if (all_of := _delta(plain, i)) is None else HALF * all_of)
            for i in range(len(row.seeds))
        ]
    )
    verdicts = _below(halved, 0.0), _below(lost, POINTS)
    if False in verdicts or row is plain:
        return False
    return None if None in verdicts else True


def by_direction(rows: Sequence[MitigationFigures]) -> dict[int, list[int]]:
    """Places of the mitigations whose whole interval of `amplification_lost` says that they lower Δ (1) or raise it
    (-1), and of the rest (0); in each list the largest fall first, and noise, which only costs F1, after all others.
    """
    places: dict[int, list[int]] = {1: [], -1: [], 0: []}
    for place in sorted(range(1, len(rows)), key=lambda place: _order(rows[place])):
        places[_direction(rows[place].amplification_lost)].append(place)
    return places


def _order(row: MitigationFigures) -> tuple[bool, float]:
    fall = None if row.amplification_lost is None else row.amplification_lost.estimate
    return row.kind == "noise", np.inf if fall is None else -fall


def _direction(fall: Figure | None) -> int:
    if fall is None or fall.low is None or fall.high is None:
        return 0
    return int(fall.low > 0) - int(fall.high < 0)


def _delta(row: MitigationFigures, place: int) -> float | None:
    """Δ of one seed, by the attacker that is shown for the mitigation."""
    return row.seeds[place].attackers[row.attacker].amplification.estimate


def _below(figure: Figure, most: float) -> bool | None:
    """Whether the whole interval lies at or below a number (True) or above it (False); None where it holds both."""
    if figure.low is None or figure.high is None:
        return None
    return True if figure.high <= most else False if figure.low > most else None


def noise_curve(rows: Sequence[MitigationFigures], place: int | None = None) -> list[tuple[float, float]]:
    """F1 and Δ of the plain model and its noisy copies, by F1: means over seeds, or those of the seed at a place."""
    points = []
    for row in rows:
        f1 = row.f1.estimate if place is None else row.seeds[place].f1
        delta = row.amplification.estimate if place is None else _delta(row, place)
        if row.kind in ("plain", "noise") and f1 is not None and delta is not None:
            points.append((f1, delta))
    return sorted(points)


def noise_at(curve: Sequence[tuple[float, float]], f1: float | None) -> float | None:
    """Δ that noise leaves at this F1, interpolated; None outside the curve."""
    if f1 is None or len(curve) < 2 or not curve[0][0] <= f1 <= curve[-1][0]:
        return None
    return number(float(np.interp(f1, [x for x, _ in curve], [y for _, y in curve])))


def _correlations(rows: Sequence[MitigationFigures]) -> RankCorrelations | None:
    """Does less leakage mean less effect? Spearman's correlation of Δ with both measures, over the mitigations."""
    known = [row for row in rows if row.effect is not None and row.effect.estimate is not None]
    if len(known) < 3:
        return None
    deltas = [row.amplification.estimate for row in known]
    effect = _spearman(deltas, [row.effect.estimate for row in known if row.effect is not None])
    return RankCorrelations(
        len(known), effect, _spearman(deltas, [row.changed.estimate for row in known if row.changed is not None])
    )


def _spearman(deltas: Sequence[float | None], values: Sequence[float | None]) -> float | None:
    varied = len(set(values)) > 1 and len(set(deltas)) > 1
    return number(float(spearmanr(deltas, values).statistic)) if varied else None


def _labels(bench: Bench) -> tuple[LabelFrequency, ...]:
    """Over all rows."""
    data = bench.data
    shares = [100 * data.labels[data.protected == group].mean(axis=0) for group in range(data.classes)]
    return tuple(
        LabelFrequency(name, tuple(number(float(share[place])) for share in shares))
        for place, name in enumerate(data.names)
    )


def _difference(minuend: float | None, subtrahend: float | None) -> float | None:
    return None if minuend is None or subtrahend is None else number(minuend - subtrahend)
