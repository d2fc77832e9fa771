"""Which rows an attacker learns from and is scored on, and leakage from what it guessed, with its interval.

Where a subject is on several items, folds and permutations move whole subjects. Balanced accuracy is the mean over
classes of the share of that class that the attacker guesses correctly: the expected accuracy on a draw with equal
classes, estimated from all items instead of from one such draw. Chance is 100 / classes, and nothing is folded
about it: an attacker below chance stays below chance.

Intervals hold for the attacker as trained: they cover the sampling of test items and the spread between rounds, not
what another training set or a better attacker would find. Leakage is a lower bound on what could be inferred. Folds
of a cross-fit share training items, so that their errors are correlated: there the variance is multiplied by 1 +
folds / (folds - 1), the correction of Nadeau and Bengio 2003 (doi:10.1023/A:1024068626366).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int, UInt64
from scipy.special import stdtrit

from transect.attacks.records import Attack, LabelledData, LeakageEstimate, uniforms
from transect.effects.intervals import wilson, wilson_clustered
from transect.errors import BadInput

FOLDS: Final = 5
_FOLD_SALT: Final = 11
_DRAW_SALT: Final = 12

Rows = Int[np.ndarray, " _"]


@final
@dataclass(frozen=True, slots=True)
class Fold:
    """Training rows, rows on which a snapshot may be chosen, and scored rows."""

    train: Rows
    development: Rows
    test: Rows


def folds(data: LabelledData, seed: int = 0, n_folds: int = FOLDS) -> list[Fold]:
    """One fold where there are splits, else `n_folds`: classes in equal shares, items of a subject in the same one."""
    if data.split is not None:
        parts = [Fold(data.rows_of("train"), data.rows_of("development"), data.rows_of("test"))]
    else:
        if data.subjects is not None:
            number = subject_folds(data.subjects, data.protected, n_folds, seed)
        else:
            number = _dealt(data.protected, uniforms(data.keys, _FOLD_SALT, seed), n_folds)
        everything, none = np.arange(len(data)), np.array([], dtype=np.int64)
        parts = [Fold(everything[number != fold], none, everything[number == fold]) for fold in range(n_folds)]
    _check_parts(data)
    for fold in parts:
        _check_classes(data, fold)
    return parts


def balanced_draw(
    rows: Rows, protected: Int[np.ndarray, " n"], keys: UInt64[np.ndarray, " n"], seed: int, per_class: int = 0
) -> Rows:
    """As many rows of each class, drawn without replacement: `per_class`, or as many as the smallest class has."""
    classes, counts = np.unique(protected[rows], return_counts=True)
    size = per_class or int(counts.min(initial=len(rows)))
    if len(counts) and counts.min() < size:
        raise BadInput(f"expected at least {size} items of each class, got {counts.min()} of one; use fewer")
    order = rows[np.argsort(uniforms(keys[rows], _DRAW_SALT, seed), kind="stable")]
    chosen = [order[protected[order] == group][:size] for group in classes]
    return np.sort(np.concatenate(chosen)) if chosen else rows


def stratified_draw(
    rows: Rows,
    protected: Int[np.ndarray, " n"],
    keys: UInt64[np.ndarray, " n"],
    seed: int,
    share: float,
    subjects: UInt64[np.ndarray, " n"] | None = None,
) -> Rows:
    """The same share of the rows of each class, drawn without replacement; at least one of each.

    With subjects, the share of the subjects of each class, each with all its rows: more rows of the same people teach
    an attacker less than those of others. A subject with several classes counts as one of its most frequent class.

    >>> from transect.attacks.records import item_keys
    >>> groups = np.array([0] * 8 + [1] * 2)
    >>> np.bincount(groups[stratified_draw(np.arange(10), groups, item_keys(range(10)), seed=0, share=0.5)]).tolist()
    [4, 1]
    >>> people = item_keys("aaaabbbbcc")
    >>> stratified_draw(np.arange(10), groups, item_keys(range(10)), 0, 0.5, people).tolist()[-2:]  # a or b, and c
    [8, 9]
    """
    if not len(rows):
        return rows
    if subjects is None:
        units, where, groups = keys[rows], np.arange(len(rows)), protected[rows]
    else:
        units, where = np.unique(subjects[rows], return_inverse=True)
        groups = _most_frequent(where, protected[rows], len(units))
    order = np.argsort(uniforms(units, _DRAW_SALT, seed), kind="stable")
    members = [order[groups[order] == group] for group in np.unique(groups)]
    chosen = np.concatenate([part[: max(1, round(share * len(part)))] for part in members])
    return np.sort(rows[np.isin(where, chosen)])


def subject_folds(
    subjects: UInt64[np.ndarray, " n"], protected: Int[np.ndarray, " n"], n_folds: int, seed: int = 0
) -> Int[np.ndarray, " n"]:
    """A fold for each item: subjects of a class in random order are dealt out in turn.

    A subject with several classes counts as one of its most frequent class.

    >>> from transect.attacks.records import item_keys
    >>> number = subject_folds(item_keys("aabb"), np.array([0, 0, 1, 1]), 2)
    >>> bool(number[0] == number[1] and number[2] == number[3])
    True
    """
    units, where = np.unique(subjects, return_inverse=True)
    groups = _most_frequent(where, protected, len(units))
    return _dealt(groups, uniforms(units, _FOLD_SALT, seed), n_folds)[where]


def _most_frequent(
    where: Int[np.ndarray, " n"], protected: Int[np.ndarray, " n"], n_units: int
) -> Int[np.ndarray, " u"]:
    """The most frequent class of each unit's items; where: the unit of each."""
    n_classes = int(protected.max(initial=0)) + 1
    counts = np.bincount(where * n_classes + protected, minlength=n_units * n_classes)
    return np.asarray(counts.reshape(n_units, n_classes).argmax(axis=1))


def exchanged(
    protected: Int[np.ndarray, " n"], subjects: UInt64[np.ndarray, " n"], rng: np.random.Generator
) -> Int[np.ndarray, " n"]:
    """The protected attribute after a permutation of the subjects: each gets another's class for all its items.

    A subject whose items have several classes passes them on in the same proportions, as far as the number of items
    of the other subject allows.

    >>> from transect.attacks.records import item_keys
    >>> out = exchanged(np.array([0, 0, 1, 1, 1]), item_keys("aabbb"), np.random.default_rng(1))
    >>> len(set(out[:2].tolist())), len(set(out[2:].tolist()))
    (1, 1)
    """
    _, where, sizes = np.unique(subjects, return_inverse=True, return_counts=True)
    order = np.lexsort((rng.random(len(protected)), where))  # by subject, and in random order within each
    starts, donor = np.cumsum(sizes) - sizes, rng.permutation(len(sizes))
    subject = where[order]
    place = np.arange(len(protected)) - starts[subject]
    out = np.empty_like(protected)
    out[order] = protected[order][starts[donor][subject] + place * sizes[donor][subject] // sizes[subject]]
    return out


def _dealt(groups: Int[np.ndarray, " n"], draws: Float[np.ndarray, " n"], n_folds: int) -> Int[np.ndarray, " n"]:
    """A fold for each: those of a class are dealt out in turn in the order of their draws."""
    number = np.empty(len(groups), dtype=np.int64)
    for group in np.unique(groups):
        rows = np.flatnonzero(groups == group)
        number[rows[np.argsort(draws[rows], kind="stable")]] = np.arange(len(rows)) % n_folds
    return number


def _check_parts(data: LabelledData) -> None:
    """Raise BadInput where the column of splits names no training or no test rows."""
    if data.split is None:
        return
    counts = {str(name): int((data.split == name).sum()) for name in np.unique(data.split)}
    for name in ("train", "test"):
        if name not in counts:
            got = ", ".join(f"{count} {part}" for part, count in counts.items()) or "no rows"
            raise BadInput(
                f"splits: expected train and test rows, got no {name} rows ({got}); leave out --split to cross-fit, or "
                "read all parts of the data set"
            )


def _check_classes(data: LabelledData, fold: Fold) -> None:
    for name, rows in (("train", fold.train), ("test", fold.test)):
        counts = np.bincount(data.protected[rows], minlength=data.n_classes)
        if (counts == 0).any():
            lacking = data.classes[int(np.argmin(counts))]
            raise BadInput(
                f"{name} rows: expected items of every class of {data.attribute}, got none of {lacking!r} in "
                f"{len(rows)}; check --split and --where, or give more data"
            )


METHOD: Final = "Wilson intervals of the classes' recalls, combined by the method of variance estimates recovery"
METHOD_CLUSTERED: Final = (
    "Wilson intervals of the classes' recalls, clustered by subject, combined by variance estimates recovery"
)
METHOD_DIFFERENCE: Final = "paired differences within classes, Student's t, variance with Agresti and Min's two more"
LEAST_SUBJECTS: Final = 5
"""A difference has no interval where a class has fewer items, or people where these repeat."""
METHOD_PUBLISHED: Final = "mean over rounds ± 1.96 SD of a round, as published"
Z: Final = 1.959963984540054
_ROUNDING: Final = 1e-9


def credit(scores: Float[np.ndarray, "t c"], truth: Int[np.ndarray, " t"]) -> Float[np.ndarray, " t"]:
    """1 where the largest score is the true class's alone, 1/m where m classes share it, 0 otherwise."""
    top = scores == scores.max(axis=1, keepdims=True)
    return np.asarray(top[np.arange(len(truth)), truth] / top.sum(axis=1))


def balanced_accuracy(credits: Float[np.ndarray, " t"], truth: Int[np.ndarray, " t"]) -> float:
    """Mean over the classes present of the mean credit, in percent; NaN without items."""
    counts = np.bincount(truth)
    sums = np.bincount(truth, weights=credits)
    present = counts > 0
    return float(100 * (sums[present] / counts[present]).mean()) if present.any() else float("nan")


def unlearned(rounds: Sequence[Attack]) -> str:
    """Why rounds say nothing of leakage: on their own training rows the attackers are no better than guessing, by more
    than the spread of rounds (95 %, Student's t); "" where they are. Folds of a round share rows, and are averaged.

    >>> unlearned([Attack(np.arange(1), np.ones(1), (-5.0,)), Attack(np.arange(1), np.ones(1), (7.0,))])[:26]
    'the attacker did not learn'
    """
    own = np.array([np.mean(attack.own) for attack in rounds if attack.own])
    spread = stdtrit(len(own) - 1, 0.975) * own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
    if not len(own) or own.mean() > spread + _ROUNDING:
        return ""
    return (
        "the attacker did not learn: on its own training rows it is no better than guessing "
        f"({own.mean():+z.1f} points, within the spread of rounds); take more rows or another attacker"
    )


def leakage(
    rounds: Sequence[Attack],
    protected: Int[np.ndarray, " n"],
    n_folds: int = 1,
    subjects: UInt64[np.ndarray, " n"] | None = None,
) -> LeakageEstimate:
    """Balanced accuracy over rounds (each scores the same items once, in `n_folds` folds), with its interval.

    subjects: who is on each item, where people repeat: recalls then have Wilson's clustered interval.

    Returns NaN with a reason where nothing was scored.
    """
    if not rounds or not len(rounds[0].rows):
        return LeakageEstimate(reason="no items to score")
    mean = mean_credit(rounds)
    truth = protected[mean.rows]
    people = None if subjects is None else subjects[mean.rows]
    between, variance = _between(rounds, protected)
    recalls, lows, highs = [], [], []
    for group in np.unique(truth):
        in_class = truth == group
        if people is None:
            recall, low, high = _recall(mean.credit[in_class])
        else:
            recall, low, high = _clustered_recall(mean.credit[in_class], people[in_class])
        recalls.append(recall)
        lows.append(low)
        highs.append(high)
    center = np.array(recalls)
    n_groups = len(center)
    extra, wider = (Z / 100) ** 2 * variance, _inflation(n_folds)
    if people is not None:
        wider *= max(1.0, _shared_variance(mean.credit, truth, people))
    down = np.sqrt(wider * ((center - lows) ** 2).sum() / n_groups**2 + extra)
    up = np.sqrt(wider * ((np.array(highs) - center) ** 2).sum() / n_groups**2 + extra)
    estimate = float(center.mean())
    low, high = max(0.0, estimate - float(down)), min(1.0, estimate + float(up))
    method = METHOD if people is None else METHOD_CLUSTERED
    return LeakageEstimate(
        100 * estimate, 100 * low, 100 * high, n=len(truth), rounds=len(rounds), sd=between, method=method
    )


def difference(
    minuend: Sequence[Attack],
    subtrahend: Sequence[Attack],
    protected: Int[np.ndarray, " n"],
    n_folds: int = 1,
    subjects: UInt64[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
) -> LeakageEstimate:
    """Leakage of `minuend` minus that of `subtrahend` over the same items: credits are paired item by item.

    subjects: who is on each item, where people repeat: pairs are then clustered by person. With fewer than
    `LEAST_SUBJECTS` people (or items, where none repeats) in a class there is no interval.

    Returns the difference in percentage points; NaN with a reason where they share no items.
    """
    first, second = mean_credit(minuend), mean_credit(subtrahend)
    shared, at_first, at_second = np.intersect1d(first.rows, second.rows, return_indices=True)
    if not len(shared):
        return LeakageEstimate(reason="no items that both attackers scored")
    gained = first.credit[at_first] - second.credit[at_second]
    truth = protected[shared]
    people = np.arange(len(shared)) if subjects is None else np.unique(subjects[shared], return_inverse=True)[1]
    n_rounds = max(len(minuend), len(subtrahend))
    estimate = float(np.mean([gained[truth == group].mean() for group in np.unique(truth)]))
    least = min(len(np.unique(people[truth == group])) for group in np.unique(truth))
    if least < LEAST_SUBJECTS:
        unit = "items" if subjects is None else "subjects"
        reason = f"no interval: {least} {unit} in a class, fewer than {LEAST_SUBJECTS}"
        return LeakageEstimate(100 * estimate, reason=reason, n=len(shared), rounds=n_rounds)
    variance, df = _paired(gained, truth, people)
    variance *= _inflation(n_folds)
    variance += (_between(minuend, protected)[1] + _between(subtrahend, protected)[1]) / 1e4
    half = float(stdtrit(df, (1 + confidence) / 2) * np.sqrt(variance))
    low, high = 100 * max(-1.0, estimate - half), 100 * min(1.0, estimate + half)
    return LeakageEstimate(100 * estimate, low, high, n=len(shared), rounds=n_rounds, method=METHOD_DIFFERENCE)


def _paired(
    gained: Float[np.ndarray, " t"], truth: Int[np.ndarray, " t"], people: Int[np.ndarray, " t"]
) -> tuple[float, float]:
    """Variance and degrees of freedom of the mean over classes of the mean gain, clustered by person.

    Degrees of freedom count people by their shares of the items (Kish 1965), and people of several classes once. Each
    class has two people more than there are, of average size, as in Agresti and Min 2005: half of one gains
    everything and half of one loses everything. So it is above 0 where all gains are equal.
    """
    groups = np.unique(truth)
    sums, squares, shares = np.zeros(int(people.max()) + 1), 0.0, []
    for group in groups:
        in_class = truth == group
        count = np.bincount(people[in_class], minlength=len(sums)).astype(np.float64)
        total = np.bincount(people[in_class], weights=gained[in_class], minlength=len(sums))
        n_people = int((count > 0).sum())
        size = count.sum() / n_people
        n = count.sum() + 2 * size
        center = total.sum() / n
        sums += (total - center * count) / n
        squares += (size / n) ** 2 * (1 + 2 * center**2)
        shares.append(count / count.sum())
    in_several = (np.array(shares) > 0).sum(axis=0).max() > 1
    counted = [np.sum(shares, axis=0)] if in_several else shares
    df = sum(share.sum() ** 2 / (share**2).sum() - 1 for share in counted)  # people of equal shares who weigh as much
    return float((sums**2).sum() + squares) / len(groups) ** 2, max(df, 1.0)


def contributions(
    minuend: Sequence[Attack],
    subtrahend: Sequence[Attack],
    protected: Int[np.ndarray, " n"],
    category: Int[np.ndarray, " n"],
    k: int,
) -> Float[np.ndarray, "k c"]:
    """What the items of each category and class add to `difference`, in percentage points; all sum to it.

    >>> gained, truth = Attack(np.arange(2), np.array([1.0, 1.0])), np.array([0, 1])
    >>> contributions([gained], [Attack(np.arange(2), np.array([0.0, 1.0]))], truth, np.array([0, 1]), 2)
    array([[50.,  0.],
           [ 0.,  0.]])
    """
    first, second = mean_credit(minuend), mean_credit(subtrahend)
    shared, at_first, at_second = np.intersect1d(first.rows, second.rows, return_indices=True)
    truth = protected[shared]
    sizes = np.bincount(truth)
    weight = 100 / (np.count_nonzero(sizes) * sizes[truth])
    gained = weight * (first.credit[at_first] - second.credit[at_second])
    c = len(sizes)
    return np.bincount(category[shared] * c + truth, weights=gained, minlength=k * c).reshape(k, c)


def published(rounds: Sequence[Attack], protected: Int[np.ndarray, " n"], n_classes: int) -> LeakageEstimate:
    """The released code's figure: the mean over rounds of each round's accuracy on its own draw, folded about 50.

    A round below 50 is counted as far above it (two classes only), so that noise adds up instead of cancelling.
    """
    return _over_rounds(_folded(rounds, protected, n_classes), len(rounds[0].rows))


def published_difference(
    minuend: Sequence[Attack], subtrahend: Sequence[Attack], protected: Int[np.ndarray, " n"], n_classes: int
) -> LeakageEstimate:
    """The published figure of `minuend` minus that of `subtrahend`, round by round; both have as many rounds.

    >>> right, wrong = Attack(np.arange(2), np.ones(2)), Attack(np.arange(2), np.zeros(2))
    >>> published_difference([right], [wrong], np.array([0, 1]), 2).estimate  # 0 % folds to 100 %
    0.0
    """
    gained = _folded(minuend, protected, n_classes) - _folded(subtrahend, protected, n_classes)
    return _over_rounds(gained, len(minuend[0].rows))


def _folded(rounds: Sequence[Attack], protected: Int[np.ndarray, " n"], n_classes: int) -> Float[np.ndarray, " r"]:
    scores = np.array([balanced_accuracy(attack.credit, protected[attack.rows]) for attack in rounds])
    return 50 + np.abs(scores - 50) if n_classes == 2 else scores


def _over_rounds(figures: Float[np.ndarray, " r"], n: int) -> LeakageEstimate:
    sd = float(figures.std()) if len(figures) > 1 else float("nan")
    half, center = Z * float(figures.std()), float(figures.mean())
    return LeakageEstimate(
        center, center - half, center + half, n=n, rounds=len(figures), sd=sd, method=METHOD_PUBLISHED
    )


def null_interval(scores: Float[np.ndarray, " b"]) -> tuple[float, float]:
    """Student's prediction interval of the permutations' scores: where 95 % lie if labels say nothing."""
    b = len(scores)
    if b < 2:
        return float("nan"), float("nan")
    half = float(stdtrit(b - 1, 0.975) * scores.std(ddof=1) * np.sqrt(1 + 1 / b))
    center = float(scores.mean())
    return center - half, center + half


def mean_credit(rounds: Sequence[Attack]) -> Attack:
    """The credit of each item, averaged over the rounds that scored it; rows in order."""
    rows = np.concatenate([attack.rows for attack in rounds])
    credits = np.concatenate([attack.credit for attack in rounds])
    scored, where = np.unique(rows, return_inverse=True)
    return Attack(scored, np.bincount(where, weights=credits) / np.bincount(where))


def _inflation(n_folds: int) -> float:
    return 1 + n_folds / (n_folds - 1) if n_folds > 1 else 1.0


def _between(rounds: Sequence[Attack], protected: Int[np.ndarray, " n"]) -> tuple[float, float]:
    """SD between rounds, and the variance that it leaves in their mean (percent, percent squared)."""
    if len(rounds) < 2:
        return float("nan"), 0.0
    scores = [balanced_accuracy(attack.credit, protected[attack.rows]) for attack in rounds]
    sd = float(np.std(scores, ddof=1))
    return sd, sd**2 / len(rounds)


def _recall(credits: Float[np.ndarray, " m"]) -> tuple[float, float, float]:
    """Mean and Wilson's interval on as many yes-or-no items as have the same variance; never fewer than there are."""
    n, mean = len(credits), float(credits.mean())
    variance = float(credits.var(ddof=1)) / n if n > 1 else 0.0
    effective = max(float(n), mean * (1 - mean) / variance) if variance > 0 else float(n)
    low, high = wilson(mean * effective, effective)
    return mean, float(low), float(high)


def _clustered_recall(credits: Float[np.ndarray, " m"], people: UInt64[np.ndarray, " m"]) -> tuple[float, float, float]:
    """Mean and Wilson's interval by subject."""
    _, where = np.unique(people, return_inverse=True)
    counts = np.bincount(where).astype(np.float64)[:, None]
    low, high = wilson_clustered(np.bincount(where, weights=credits)[:, None], counts)
    return float(credits.mean()), float(low[0]), float(high[0])


def _shared_variance(
    credits: Float[np.ndarray, " t"], truth: Int[np.ndarray, " t"], people: UInt64[np.ndarray, " t"]
) -> float:
    """Variance of the mean recall over that if classes had no subject in common; 1 where they have none."""
    _, where = np.unique(people, return_inverse=True)
    n = int(where.max()) + 1
    residuals = []
    for group in np.unique(truth):
        in_class = truth == group
        off = credits[in_class] - credits[in_class].mean()
        residuals.append(np.bincount(where[in_class], weights=off, minlength=n) / in_class.sum())
    apart = float(sum((residual**2).sum() for residual in residuals))
    return float((np.sum(residuals, axis=0) ** 2).sum()) / apart if apart > 0 else 1.0
