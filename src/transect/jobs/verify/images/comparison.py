"""How far from the truth is each method, at each number of images? Many draws from the pools, and their summary."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.jobs.verify.cache import Cache, Settings
from transect.jobs.verify.figures import MethodFigures, MethodOverall, TrueEffect
from transect.jobs.verify.images.methods import METHODS, TRANSECTS, Columns, by_transects
from transect.jobs.verify.images.sizes import AUDITED, HIDDEN, Sizes
from transect.runs.progress import Progress

_OBSERVATION, _EXPERIMENT = 0, 1
KINDS: Final = {**{method.name: method.kind for method in METHODS}, TRANSECTS: "experiment"}


def wrong(score: pa.ChunkedArray) -> Float[np.ndarray, " n"]:
    """1 where the model sees a smile on a subject that does not smile, else 0."""
    return np.asarray(score.to_numpy() > 0, dtype=np.float64)


def true_effects(truth: pa.Table) -> list[TrueEffect]:
    """The average effect of each audited attribute on the rate of errors and on the score, with standard errors.

    truth: the table of `asking.intervened`. rate: of errors with the lower value.
    """
    rows = []
    for name, (origin, to) in AUDITED.items():
        low, high = wrong(truth[f"low.{name}"]), wrong(truth[f"high.{name}"])
        score = truth[f"high.{name}"].to_numpy() - truth[f"low.{name}"].to_numpy()
        rate = float(low.mean())
        rows.append(TrueEffect(name, origin, to, *_mean(high - low), *_mean(score), rate, len(low), len(low)))
    return rows


def _mean(d: Float[np.ndarray, " n"]) -> tuple[float, float]:
    return float(d.mean()), float(d.std(ddof=1) / np.sqrt(len(d)))


def estimates(
    cache: Cache, key: Settings, pools: tuple[pa.Table, pa.Table], sizes: Sizes, progress: Progress | None = None
) -> pa.Table:
    """The estimate of every method on every draw: columns method, attribute, images, repeat, estimate, low, high.

    pools: the tables of `asking.observed` and `asking.intervened`. The rows of a budget are stored as soon as they are
    computed. A draw depends on the seed, the budget and its number alone.
    """
    observation, experiment = pools
    parts = []
    for images in sizes.budgets:
        settings = {**key, "images": images, "repeats": sizes.repeats, "seed": sizes.seed}
        observe = functools.partial(_observed, observation, sizes, images)
        parts.append(cache.table(f"observations-{images}", settings, observe))
        try_out = functools.partial(_experimented, experiment, sizes, images)
        parts.append(cache.table(f"experiments-{images}", settings, try_out))
        if progress is not None:
            progress.advance(1)
    return pa.concat_tables(parts)


def _rng(sizes: Sizes, images: int, repeat: int, which: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([sizes.seed, images, repeat, which])))


def _observed(pool: pa.Table, sizes: Sizes, images: int) -> pa.Table:
    columns = {name: pool[name].to_numpy() for name in (*AUDITED, "smile")} | {"wrong": wrong(pool["score"])}
    rows = []
    for repeat in range(sizes.repeats):
        chosen = _rng(sizes, images, repeat, _OBSERVATION).choice(len(pool), images, replace=False)
        sample = {name: column[chosen] for name, column in columns.items()}
        rows += [(method, name, images, repeat, *answer) for method, name, answer in _all_methods(sample)]
    return _table(rows)


def _all_methods(sample: Columns) -> Iterator[tuple[str, str, tuple[float, float, float]]]:
    for method in METHODS:
        for name in AUDITED:
            if method.applies(name):
                yield method.name, name, method.answer(name, sample, method.covariates(name))


def _experimented(pool: pa.Table, sizes: Sizes, images: int) -> pa.Table:
    rows, pairs = [], sizes.pairs(images)
    for place, name in enumerate(AUDITED):
        low, high = wrong(pool[f"low.{name}"]), wrong(pool[f"high.{name}"])
        # Each attribute has separate subjects, as in an audit of each.
        chosen = np.stack([_subjects(sizes, images, r, place, len(pool), pairs) for r in range(sizes.repeats)], axis=1)
        answers = by_transects(name, low[chosen], high[chosen], sizes.seed)
        rows += [(TRANSECTS, name, images, repeat, *answer) for repeat, answer in enumerate(answers.tolist())]
    return _table(rows)


def _subjects(sizes: Sizes, images: int, repeat: int, place: int, pool: int, pairs: int) -> Int[np.ndarray, " n"]:
    return _rng(sizes, images, repeat, _EXPERIMENT + place).choice(pool, pairs, replace=False)


def _table(rows: Sequence[tuple[str | int | float, ...]]) -> pa.Table:
    names = ("method", "attribute", "images", "repeat", "estimate", "low", "high")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def summary(table: pa.Table, truth: Mapping[str, float]) -> list[MethodFigures]:
    """One row per method, attribute and budget. truth: attribute -> true effect.

    mean: of the estimates; bias: mean minus truth; rmse: root mean squared error; coverage: share of intervals that
    hold the truth; half_width: mean half width of the intervals; low, high: between which 95 % of the estimates lie.
    not_estimable: draws without an estimate, which the other figures leave out; None where no draw has one.
    no_interval: draws with an estimate and no interval, which count as not holding the truth.
    """
    columns = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    rows = []
    for method in KINDS:
        for name, effect in truth.items():
            for images in sorted(set(columns["images"].tolist())):
                of = (columns["method"] == method) & (columns["attribute"] == name) & (columns["images"] == images)
                if of.any():
                    estimate, low, high = (columns[key][of] for key in ("estimate", "low", "high"))
                    rows.append(_row((method, KINDS[method], name, images), estimate, low, high, effect))
    return rows


def _row(
    labels: tuple[str, str, str, int],
    estimate: Float[np.ndarray, " r"],
    low: Float[np.ndarray, " r"],
    high: Float[np.ndarray, " r"],
    effect: float,
) -> MethodFigures:
    known = np.isfinite(estimate)
    bounded = known & np.isfinite(low)
    counts = (len(known), int((~known).sum()), int((known & ~bounded).sum()))
    if not known.any():
        return MethodFigures(*labels, *(None,) * 7, *counts)
    error = estimate[known] - effect
    covers = (low <= effect) & (effect <= high)
    least, most = np.quantile(estimate[known], (0.025, 0.975)).tolist()
    return MethodFigures(
        *labels,
        float(estimate[known].mean()),
        float(error.mean()),
        float(np.sqrt((error**2).mean())),
        float(covers[known].mean()),
        float((high - low)[bounded].mean() / 2) if bounded.any() else None,
        least,
        most,
        *counts,
    )


def overall(rows: Sequence[MethodFigures]) -> list[MethodOverall]:
    """Root mean squared error and coverage per method and budget, over the attributes that every method has.

    A method without an estimate of one of them has no row at that budget.

    >>> from dataclasses import replace
    >>> row = MethodFigures("AIPW", "adjustment", "age", 100, 0.2, 0.0, 0.1, 1.0, 0.1, 0.1, 0.3, 9, 0, 0)
    >>> overall([row, replace(row, attribute="lipstick", rmse=9.0)])[0].rmse
    0.1
    """
    shared = [row for row in rows if row.attribute != HIDDEN]
    totals = []
    for method in KINDS:
        for images in sorted({row.images for row in rows}):
            of = [row for row in shared if row.method == method and row.images == images]
            pairs = [(row.rmse, row.coverage) for row in of if row.rmse is not None and row.coverage is not None]
            if of and len(pairs) == len(of):
                rmse = float(np.sqrt(np.mean([error**2 for error, _ in pairs])))
                coverage = float(np.mean([share for _, share in pairs]))
                totals.append(MethodOverall(method, KINDS[method], images, rmse, coverage, len(of)))
    return totals
