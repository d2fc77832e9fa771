"""From the figures of each model to the content of `mitigate.json`: means over seeds, and each against the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from pydantic import JsonValue
from scipy.stats import spearmanr

from transect import __version__
from transect.mitigation.measuring import number, over_seeds
from transect.mitigation.numbers import (
    AttackFigures,
    Figure,
    LabelFrequency,
    MitigateNumbers,
    MitigationFigures,
    Pictures,
    RankCorrelations,
    SeedFigures,
)
from transect.mitigation.questions import in_words
from transect.mitigation.settings import Config, Mitigation
from transect.mitigation.testbed import Bench

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
    "Intervals over seeds are of the mean over trainings on these pictures: a single training lies further away, and "
    "other pictures are not covered."
)


def _caveat(attackers: int) -> str:
    """What the figures cannot say. attackers: how many were tried."""
    return " ".join([CAVEAT, *([PICKED] if attackers > 1 else []), SEEDS])


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
        caveat=_caveat(len(config.attackers)),
        works=tuple(sorted({WORKS[method.kind] for method in config.mitigations if method.kind in WORKS})),
    )


def _row(method: Mitigation, seeds: Sequence[SeedFigures]) -> MitigationFigures:
    attackers = {name: _over_seeds([seed.attackers[name] for seed in seeds]) for name in seeds[0].attackers}
    strongest = max(attackers, key=lambda name: attackers[name].model_leakage.estimate or 0.0)
    leakages = attackers[strongest]
    effects = [seed.effects for seed in seeds if seed.effects is not None]
    audited = len(effects) == len(seeds)
    return MitigationFigures(
        leakages.model_leakage,
        leakages.dataset_leakage,
        leakages.amplification,
        leakages.published_dataset_leakage,
        leakages.published_amplification,
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
    return AttackFigures(
        over_seeds([seed.model_leakage.estimate for seed in seeds]),
        over_seeds([seed.dataset_leakage.estimate for seed in seeds]),
        over_seeds([seed.amplification.estimate for seed in seeds]),
        over_seeds([seed.published_dataset_leakage.estimate for seed in seeds]),
        over_seeds([seed.published_amplification.estimate for seed in seeds]),
    )


def _compared(row: MitigationFigures, rows: Sequence[MitigationFigures]) -> MitigationFigures:
    """Against the plain model: F1 and Δ lost, the share of Δ that is gone; and against noise of the same F1.

    Verdicts are those of intervals over the seeds, each with the plain model of the same seed.
    """
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
    """Places of the mitigations that are shown to lower Δ (1), to raise it (-1), and of which neither is shown (0).

    rows: the plain model first. Shown is what the whole interval of `amplification_lost` says, over seeds. In each
    list the largest fall of Δ comes first, and noise, which only costs F1, after all others.
    """
    places: dict[int, list[int]] = {1: [], -1: [], 0: []}
    for place in sorted(range(1, len(rows)), key=lambda place: _order(rows[place])):
        places[_direction(rows[place].amplification_lost)].append(place)
    return places


def costs_only(row: MitigationFigures) -> bool:
    """Whether a mitigation is shown to cost F1, by its interval over seeds, and not shown to lower Δ."""
    lost = row.f1_lost
    return bool(lost is not None and lost.low is not None and lost.low > 0) and _direction(row.amplification_lost) < 1


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
