"""Labels with random errors at a stated accuracy: r(Y, a) of Wang et al. 2019.

The accuracy is macro F1: the mean over labels of 2 TP / (2 TP + FP + FN). Its expected value at a rate has a closed
form for each kind of noise, so that the rate which gives a model's F1 is solved for. The kind of noise changes leakage
by points, so it is part of every result:

flips        each bit is flipped with the rate as probability (the released attack)
replacement  with that probability a label becomes another one, drawn evenly (the released measure of F1)
frequency    with that probability a label is drawn again with its frequency in the data
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, get_args

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import brentq

from transect.attacks.records import Evidence, LabelledData, uniforms
from transect.errors import BadInput, UnknownName

NoiseName = Literal["flips", "replacement", "frequency"]
NOISES: Final[tuple[str, ...]] = get_args(NoiseName)
NOTHING_OCCURS: Final = "no label occurs in the scored rows, so that there is no F1"
_WHETHER: Final = 21
_WHAT: Final = 22


def macro_f1(truth: Bool[np.ndarray, "n k"], predicted: Bool[np.ndarray, "n k"]) -> float:
    """Mean F1 over the labels that occur in the truth, in percent; NaN where none does.

    >>> macro_f1(np.array([[True], [True], [False]]), np.array([[True], [False], [True]]))  # 2 / (2 + 1 + 1)
    50.0
    """
    hits = (truth & predicted).sum(axis=0)
    return _mean_f1(truth.sum(axis=0), predicted.sum(axis=0), hits)


def expected_f1(noise: str, rate: float, evidence: Evidence, rows: Int[np.ndarray, " m"]) -> float:
    """Macro F1, in percent, that the noise leaves at this rate (ratio of expected counts; exact for many items)."""
    return _EXPECTED[noise_named(noise)](rate, evidence, rows)


def solve_rate(noise: str, f1: float, evidence: Evidence, rows: Int[np.ndarray, " m"]) -> float:
    """The rate at which the noise leaves this macro F1 (percent). Raises BadInput for one that it does not reach."""
    most = 0.5 if noise_named(noise) == "flips" else 1.0
    lowest = expected_f1(noise, most, evidence, rows)
    if np.isnan(lowest):
        raise BadInput(f"F1: {NOTHING_OCCURS}; choose labels that occur")
    if not lowest <= f1 <= 100:
        raise BadInput(
            f"F1 of {f1:g} %: expected {lowest:.2f} to 100, the range of {noise} noise; choose another noise or F1"
        )
    if f1 == 100:
        return 0.0
    return float(brentq(lambda rate: expected_f1(noise, rate, evidence, rows) - f1, 0.0, most, xtol=1e-10))


def perturb(
    data: LabelledData, noise: str, rate: float, seed: int = 0, rows: Int[np.ndarray, " m"] | None = None
) -> Evidence:
    """The labels with noise at a rate; what happens to an item depends on its key, the rate and the seed alone.

    rows: where given, only these are sure to be perturbed, which saves time. Returns bits for flips, otherwise the
    format that came in.
    """
    if noise_named(noise) == "flips":
        return _flipped(data, rate, seed, np.arange(len(data)) if rows is None else rows)
    if data.labels.category is not None:
        return _redrawn(data, data.labels.category, noise, rate, seed)
    return _moved(data, rate, seed) if noise == "replacement" else _resampled(data, rate, seed)


def noise_named(noise: str) -> str:
    """The name itself. Raises UnknownName where there is no such noise."""
    if noise not in NOISES:
        raise UnknownName("noise", noise, NOISES)
    return noise


def bits(evidence: Evidence, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m k"]:
    """Labels as booleans [m, k]."""
    return np.asarray(evidence.dense(rows) > 0.5)


def _flipped(data: LabelledData, rate: float, seed: int, waiting: Int[np.ndarray, " m"]) -> Evidence:
    """Bits that differ from the labels where flipped: the gaps between flips of a row are geometric."""
    out = bits(data.labels, np.arange(len(data)))
    at, block = np.full(len(data), -1, dtype=np.int64), 0
    k = out.shape[1]
    draws = int(k * rate + 4 * np.sqrt(k * rate) + 4)
    while rate > 0 and len(waiting):
        salts = np.arange(block * draws, (block + 1) * draws, dtype=np.uint64)
        u = uniforms(data.keys[waiting, None], _WHETHER, seed, salts)
        gaps = np.floor(np.log1p(-u) / np.log1p(-rate)).clip(0, k).astype(np.int64) + 1
        flips = at[waiting, None] + np.cumsum(gaps, axis=1)
        row, which = np.nonzero(flips < k)
        out[waiting[row], flips[row, which]] ^= True
        at[waiting] = flips[:, -1]
        waiting = waiting[flips[:, -1] < k]
        block += 1
    return Evidence(data.labels.names, values=out, noisy_from=data.labels.category)


def _redrawn(data: LabelledData, category: Int[np.ndarray, " n"], noise: str, rate: float, seed: int) -> Evidence:
    k = len(data.labels.names)
    changed = uniforms(data.keys, _WHETHER, seed) < rate
    draw = uniforms(data.keys, _WHAT, seed)
    if noise == "replacement":
        other = (draw * k).astype(np.int64)
    else:
        cumulated = np.cumsum(np.bincount(category, minlength=k)) / len(category)
        other = np.minimum(np.searchsorted(cumulated, draw, side="right"), k - 1)
    return Evidence(data.labels.names, category=np.where(changed, other, category), noisy_from=category)


def _moved(data: LabelledData, rate: float, seed: int) -> Evidence:
    """Each label that is there goes to an evenly drawn column with the rate as probability."""
    truth = data.labels.matrix
    rows, columns = np.nonzero(truth)
    keys, salt = data.keys[rows], columns.astype(np.uint64)
    moves = uniforms(keys, _WHETHER, seed, salt) < rate
    to = (uniforms(keys, _WHAT, seed, salt) * truth.shape[1]).astype(np.int64)
    out = np.zeros_like(truth)
    out[rows, np.where(moves, to, columns)] = True
    return Evidence(data.labels.names, values=out)


def _resampled(data: LabelledData, rate: float, seed: int) -> Evidence:
    """With the rate as probability a bit is drawn again from its column's frequency."""
    truth = data.labels.matrix
    columns = np.arange(truth.shape[1], dtype=np.uint64)
    changed = uniforms(data.keys[:, None], _WHETHER, seed, columns) < rate
    drawn = uniforms(data.keys[:, None], _WHAT, seed, columns) < truth.mean(axis=0)
    return Evidence(data.labels.names, values=np.where(changed, drawn, truth))


def _mean_f1(positive: np.ndarray, predicted: np.ndarray, hits: np.ndarray) -> float:
    occurs = positive > 0
    if not occurs.any():
        return float("nan")
    return float(100 * np.mean(2 * hits[occurs] / (positive[occurs] + predicted[occurs])))


def _flips_f1(rate: float, evidence: Evidence, rows: Int[np.ndarray, " m"]) -> float:
    positive, n = _positives(evidence, rows), len(rows)
    hits = positive * (1 - rate)
    return _mean_f1(positive, hits + (n - positive) * rate, hits)


def _replacement_f1(rate: float, evidence: Evidence, rows: Int[np.ndarray, " m"]) -> float:
    """A label in a row with m of them stays, or is drawn again, or another of the row lands on it."""
    k = len(evidence.names)
    if evidence.category is not None:
        positive = _positives(evidence, rows)
        hits = positive * (1 - rate + rate / k)
        return _mean_f1(positive, hits + (len(rows) - positive) * rate / k, hits)
    truth = evidence.matrix[rows]
    in_row = truth.sum(axis=1)
    missed = (1 - rate / k) ** np.arange(
        int(in_row.max(initial=0)) + 1
    )  # that none of m labels lands in a given column
    positive = truth.sum(axis=0)
    stays = 1 - rate * (1 - 1 / k) * missed[np.maximum(in_row - 1, 0)]
    hits = stays @ truth
    strays = (1 - missed[in_row]) @ ~truth
    return _mean_f1(positive, hits + strays, hits)


def _frequency_f1(rate: float, evidence: Evidence, rows: Int[np.ndarray, " m"]) -> float:
    positive, n = _positives(evidence, rows), max(len(rows), 1)
    hits = positive * (1 - rate + rate * positive / n)
    return _mean_f1(positive, positive.astype(np.float64), hits)


def _positives(evidence: Evidence, rows: Int[np.ndarray, " m"]) -> Float[np.ndarray, " k"]:
    if evidence.category is not None:
        return np.bincount(evidence.category[rows], minlength=len(evidence.names)).astype(np.float64)
    return np.asarray(evidence.matrix[rows].sum(axis=0), dtype=np.float64)


_EXPECTED: Final[dict[str, Callable[[float, Evidence, Int[np.ndarray, " m"]], float]]] = {
    "flips": _flips_f1,
    "replacement": _replacement_f1,
    "frequency": _frequency_f1,
}
