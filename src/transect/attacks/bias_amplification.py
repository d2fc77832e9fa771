"""Older and newer measures of amplification, from hard answers alone: no attacker enters.

BiasAmp (Zhao et al. 2017) asks whether a label that leans to a class in training leans there more in predictions.
Directional BiasAmp (Wang and Russakovsky 2021) has a sign that is right for labels that lean away, too, takes base
rates into account and tells apart what is predicted from what. Multi-attribute amplification (Zhao, Andrews and Xiang
2023) asks the first question of combinations of labels. All take the protected attribute of predictions as annotated.

Axes: n items, k labels, c classes of the protected attribute. Everything is in percentage points.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

SOURCES: Final = {
    "bias_amp": "Zhao et al. 2017, Men also like shopping, arXiv:1707.09457",
    "directional": "Wang and Russakovsky 2021, Directional bias amplification, arXiv:2102.12594",
    "multi_attribute": "Zhao, Andrews and Xiang 2023, Men also do laundry: multi-attribute bias amplification, "
    "arXiv:2210.11924",
}

Bits = Bool[np.ndarray, "n k"]


@final
@dataclass(frozen=True)
class Amplification:
    """A measure and what each label and class adds to it (their sum over the number counted is the value).

    value in percentage points, NaN where nothing could be counted. contributions float64 [k, c], 0 where a pair does
    not count. counted: labels or pairs behind the mean.
    """

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
