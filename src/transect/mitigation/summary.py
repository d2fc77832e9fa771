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
    "Leakage is a lower bound: a stronger attacker may find more. The attacker shown for each mitigation is the "
    "one that "
    "finds most over the seeds, on the same items, so its figure is biased upwards. Intervals over seeds cover another "
    "training on these pictures, not other pictures."
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
        classes=bench.classes,
        pictures=Pictures(len(bench.train), len(bench.check), len(bench.test)),
        left_out=dict(bench.left_out),
        labels=_labels(bench),
        dataset_leakage=dict(leak),
        mitigations=tuple(_compared(row, rows) for row in rows),
        protocol=None if protocol is None else dict(protocol),
        leakage_and_effect=_correlations(rows),
        caveat=CAVEAT,
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
    """Against the plain model: F1 lost, the share of Δ that is gone; and against noise of the same F1."""
    plain = rows[0]
    lost = _difference(plain.f1.estimate, row.f1.estimate)
    delta, before = row.amplification.estimate, plain.amplification.estimate
    lowered = number(1 - delta / before) if delta is not None and before is not None and before > 0 else None
    curve = noise_curve(rows, row.f1.estimate)
    return replace(
        row,
        f1_lost=lost,
        amplification_lowered=lowered,
        noise_amplification=curve,
        beats_noise=None if curve is None or delta is None or row.kind == "noise" else bool(delta < curve),
        good_trade=lost is not None and lowered is not None and lost <= POINTS and lowered >= HALF,
    )


def noise_curve(rows: Sequence[MitigationFigures], f1: float | None) -> float | None:
    """Δ that noise leaves at this F1, interpolated between the plain model and its noisy copies; None outside."""
    points = sorted(
        (row.f1.estimate, row.amplification.estimate)
        for row in rows
        if row.kind in ("plain", "noise") and row.f1.estimate is not None and row.amplification.estimate is not None
    )
    if f1 is None or len(points) < 2 or not points[0][0] <= f1 <= points[-1][0]:
        return None
    return number(float(np.interp(f1, [x for x, _ in points], [y for _, y in points])))


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
