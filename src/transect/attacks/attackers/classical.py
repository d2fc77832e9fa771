"""Attackers that are no networks: the closed form for categories, logistic regression, boosted trees, and the best of
them.

Bayes: with equal classes, P(class | category) is largest where P(category | class) is; bit flips of a category are
solved too. Logistic: multinomial, with equal class weights and an L2 penalty, by the minorise-maximise step of
Böhning 1992 (doi:10.1007/BF00048682); one factorisation serves every attack on the same rows. Trees: scikit-learn's
histogram boosting, with its weighted quantile bins found in one pass. Auto: chosen by cross-fitting inside the
training rows.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Float, Int, UInt8
from scipy.linalg import cho_factor, cho_solve
from scipy.special import softmax

from transect.attacks.records import Evidence, Problem
from transect.attacks.scoring import balanced_accuracy, credit, subject_folds
from transect.errors import BadInput
from transect.runs.parts import Progress

if TYPE_CHECKING:
    from sklearn.ensemble import HistGradientBoostingClassifier


@runtime_checkable
class Attacker(Protocol):
    """Learns the protected class from evidence; is asked about many problems at a time.

    is_slow: a permutation costs seconds rather than milliseconds. is_random: rounds with other seeds differ.
    knows_noise: learns from the clean categories where labels are noisy copies of them.
    """

    name: str
    is_slow: bool
    is_random: bool
    knows_noise: bool

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """For each problem a float array [tested rows, classes]: the class with the largest score is the guess.

        A problem's answer depends on that problem alone. stage: the label of the progress on standard error; "" is
        silent.
        """


def watched(name: str, stage: str, problems: Sequence[Problem]) -> Iterator[Problem]:
    """The problems one by one; each counts as done when the next is asked for. Silent without a stage."""
    with Progress(f"{stage}: {name}", len(problems), quiet=not stage) as progress:
        for problem in problems:
            yield problem
            progress.advance(1)


def distinct_rows(
    evidence: Evidence, rows: Int[np.ndarray, " a"]
) -> tuple[Int[np.ndarray, " m"], Int[np.ndarray, " a"]]:
    """One row for each distinct one among `rows`, and which of them each is. Rows of scores all count as distinct.

    >>> evidence = Evidence(("a", "b"), category=np.array([1, 0, 1]))
    >>> distinct_rows(evidence, np.arange(3))
    (array([1, 0]), array([1, 0, 1]))
    """
    if evidence.format == "scores":
        return rows, np.arange(len(rows))
    if evidence.category is not None:
        values = evidence.category[rows]
    else:
        packed = np.packbits(evidence.matrix[rows], axis=1)
        values = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, merged = np.unique(values, return_index=True, return_inverse=True)
    return rows[first], merged.ravel()


@final
class Bayes:
    """The closed form; frequencies are those of the training rows. A category never seen in training is a tie."""

    name = "bayes"
    is_slow = False
    is_random = False
    knows_noise = True

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        return [self._scores(problem) for problem in watched(self.name, stage, problems)]

    def _scores(self, problem: Problem) -> Float[np.ndarray, "t c"]:
        evidence = problem.evidence
        known = evidence.category if evidence.noisy_from is None else evidence.noisy_from
        if known is None:
            raise BadInput(
                "attacker bayes: expected one category for each item, got several label columns or scores; use "
                "--attacker logistic, mlp or auto"
            )
        frequencies = conditional_frequencies(known, problem)
        if evidence.category is not None:
            return np.asarray(frequencies[evidence.category[problem.test]])
        return np.asarray(evidence.dense(problem.test) @ frequencies)


def conditional_frequencies(category: Int[np.ndarray, " n"], problem: Problem) -> Float[np.ndarray, "k c"]:
    """P(category | class) among the training rows, float64; columns sum to 1."""
    k, c = len(problem.evidence.names), problem.n_classes
    cells = category[problem.train] * c + problem.protected[problem.train]
    counts = np.bincount(cells, minlength=k * c).reshape(k, c)
    return np.asarray(counts / np.maximum(counts.sum(axis=0), 1))


PENALTY: Final = 1.0
_STEPS: Final = 2000
_TOLERANCE: Final = 1e-4
_INTERCEPT_PENALTY: Final = 1e-6
_NUMBERS_AT_ONCE: Final = 1 << 25


@final
class Logistic:
    """Linear in the evidence; scores are standardized first."""

    name = "logistic"
    is_slow = False
    is_random = False
    knows_noise = False

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        answers: list[Float[np.ndarray, "_ _"]] = [np.empty((0, 0))] * len(problems)
        with Progress(f"{stage}: {self.name}", len(problems), quiet=not stage) as progress:
            for group in _sharing_rows(problems):
                together = _together([problems[i] for i in group], progress.advance)
                for number, answer in zip(group, together, strict=True):
                    answers[number] = answer
        return answers


def fit(
    x: Float[np.ndarray, "m k"], targets: Float[np.ndarray, "m p c"], penalty: float = PENALTY
) -> Float[np.ndarray, "k p c"]:
    """Coefficients of p regressions on the same x; targets hold the weight of each row under each class.

    The last column of x is the intercept, which is not penalised. Stops when the largest move of a coefficient in a
    step is below 1e-4, or after 2,000 steps.

    >>> x = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> targets = np.array([[[30.0, 10.0]], [[10.0, 30.0]]])  # odds of 3 against 1, either way
    >>> b = fit(x, targets, penalty=0.0)[:, 0, 1] - fit(x, targets, penalty=0.0)[:, 0, 0]
    >>> np.exp(x @ b).round(2)
    array([0.33, 3.  ])
    """
    (m, k), (p, c) = x.shape, targets.shape[1:]
    weights = targets.sum(axis=2)
    ridge = np.full(k, penalty)
    ridge[-1] = _INTERCEPT_PENALTY
    bound = 0.5 * (x.T * weights.max(axis=1)) @ x + np.diag(ridge + _INTERCEPT_PENALTY)
    factor = cho_factor(bound)
    at = leading = np.zeros((k, p, c))
    momentum = np.ones(p)
    for _ in range(_STEPS):
        residual = weights[:, :, None] * softmax((x @ leading.reshape(k, -1)).reshape(m, p, c), axis=2) - targets
        gradient = (x.T @ residual.reshape(m, -1)).reshape(k, p, c) + ridge[:, None, None] * leading
        moved = leading - cho_solve(factor, gradient.reshape(k, -1)).reshape(k, p, c)
        step = moved - at
        uphill = (gradient * step).sum(axis=(0, 2)) > 0
        grown = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        pace = np.where(uphill, 0.0, (momentum - 1) / grown)
        momentum = np.where(uphill, 1.0, grown)
        at, leading = moved, moved + pace[:, None] * step
        if np.abs(step).max() < _TOLERANCE:
            break
    return at


def _sharing_rows(problems: Sequence[Problem]) -> list[list[int]]:
    """Positions of problems that have their evidence and training rows in common."""
    groups: dict[tuple[int, bytes], list[int]] = {}
    for number, problem in enumerate(problems):
        groups.setdefault((id(problem.evidence), problem.train.tobytes()), []).append(number)
    return list(groups.values())


def _together(problems: Sequence[Problem], advance: Callable[[int], None]) -> list[Float[np.ndarray, "_ _"]]:
    first = problems[0]
    rows, merged = distinct_rows(first.evidence, first.train)
    x = _design(first, rows, first.train)
    size = max(1, _NUMBERS_AT_ONCE // (len(rows) * first.n_classes))
    answers = []
    for start in range(0, len(problems), size):
        some = problems[start : start + size]
        targets = np.stack([_targets(problem, merged, len(rows)) for problem in some], axis=1)
        coefficients = fit(x, targets)
        answers += _scores(some, coefficients)
        advance(len(some))
    return answers


def _scores(problems: Sequence[Problem], coefficients: Float[np.ndarray, "k p c"]) -> list[Float[np.ndarray, "_ _"]]:
    """What each problem's coefficients say of its tested rows; problems that test the same rows share one product."""
    k, _, c = coefficients.shape
    sharing: dict[bytes, list[int]] = {}
    for number, problem in enumerate(problems):
        sharing.setdefault(problem.test.tobytes(), []).append(number)
    scores: list[Float[np.ndarray, "_ _"]] = [np.empty((0, 0))] * len(problems)
    for numbers in sharing.values():
        first = problems[numbers[0]]
        product = _design(first, first.test, first.train) @ coefficients[:, numbers].reshape(k, -1)
        for place, number in enumerate(numbers):
            scores[number] = product[:, place * c : (place + 1) * c]
    return scores


def _design(problem: Problem, rows: Int[np.ndarray, " m"], train: Int[np.ndarray, " a"]) -> Float[np.ndarray, "m k"]:
    """The evidence with a column of ones; scores standardized by the training rows."""
    x = problem.evidence.dense(rows).astype(np.float64)
    if problem.evidence.format == "scores":
        known = problem.evidence.dense(train).astype(np.float64)
        spread = known.std(axis=0)
        x = (x - known.mean(axis=0)) / np.where(spread > 0, spread, 1)
    return np.concatenate([x, np.ones((len(x), 1))], axis=1)


def _targets(problem: Problem, merged: Int[np.ndarray, " a"], m: int) -> Float[np.ndarray, "m c"]:
    """Weight of each distinct row under each class; classes weigh the same in all."""
    groups, c = problem.protected[problem.train], problem.n_classes
    counts = np.bincount(merged * c + groups, minlength=m * c).reshape(m, c)
    return np.asarray(counts * (len(groups) / c / np.maximum(counts.sum(axis=0), 1)))


BINS: Final = 255
MOST_ROWS: Final = 200_000
"""With more training rows scikit-learn takes quantiles of a random sample of them: these columns are left to it."""


def binned(
    train: Float[np.ndarray, "a k"], test: Float[np.ndarray, "t k"], weights: Float[np.ndarray, " a"]
) -> tuple[UInt8[np.ndarray, "a k"], UInt8[np.ndarray, "t k"]]:
    """Training and tested values as numbers of bins that hold training rows, at most 255 of equal weight a column."""
    train_bins, test_bins = np.empty(train.shape, dtype=np.uint8), np.empty(test.shape, dtype=np.uint8)
    for place in range(train.shape[1]):
        column = train[:, place].astype(np.float64)
        ends = _ends(column, weights)
        occupied = np.unique(np.searchsorted(ends, column))
        ends = ends[occupied[:-1]]  # a split next to an empty bin lies below it
        train_bins[:, place] = np.searchsorted(ends, column)
        test_bins[:, place] = np.searchsorted(ends, test[:, place].astype(np.float64))
    return train_bins, test_bins


def _ends(column: Float[np.ndarray, " a"], weights: Float[np.ndarray, " a"]) -> Float[np.ndarray, " e"]:
    """The largest value of each bin but the last: midpoints of few values, otherwise weighted quantiles."""
    order = np.argsort(column)
    values, cumulated = column[order], np.cumsum(weights[order])
    distinct = np.unique(values)
    if len(distinct) <= BINS:
        return np.asarray((distinct[1:] + distinct[:-1]) / 2)
    ranks = np.linspace(0, 100, BINS + 1)[1:-1] / 100 * cumulated[-1]
    at = np.minimum(np.searchsorted(cumulated, ranks), len(values) - 1)
    after = np.minimum(at + 1, len(values) - 1)
    between = cumulated[at] - ranks <= np.finfo(np.float64).eps
    return np.unique(np.where(between, (values[at] + values[after]) / 2, values[at]))


TREES: Final = 100
_SEEDS: Final = 1 << 32


@final
class Trees:
    """scikit-learn's histogram gradient boosting: 100 trees of at most 31 leaves, equal class weights."""

    name = "trees"
    is_slow = True
    is_random = False
    knows_noise = False

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`. Equal training rows share their trees."""
        alike: dict[bytes, list[int]] = {}
        for number, problem in enumerate(problems):
            alike.setdefault(_training(problem), []).append(number)
        order = [number for group in alike.values() for number in group]
        answers: dict[int, Float[np.ndarray, "_ _"]] = {}
        known, model = b"", None
        for number, problem in zip(order, watched(self.name, stage, [problems[i] for i in order]), strict=True):
            train, test = _inputs(problem)
            if model is None or _training(problem) != known:
                known, model = _training(problem), self._fitted(problem, train)
            answers[number] = _trees_scores(model, problem, test)
        return [answers[number] for number in range(len(problems))]

    def _fitted(self, problem: Problem, train: np.ndarray) -> HistGradientBoostingClassifier:
        from sklearn.ensemble import HistGradientBoostingClassifier
        from threadpoolctl import threadpool_limits

        model = HistGradientBoostingClassifier(
            max_iter=TREES, early_stopping=False, class_weight="balanced", random_state=problem.seed % _SEEDS
        )
        # Its threads wait in busy loops: on a machine with other work, more than one takes many times longer.
        with threadpool_limits(1, user_api="openmp"):
            return model.fit(train, problem.protected[problem.train])


def _trees_scores(
    model: HistGradientBoostingClassifier, problem: Problem, test: np.ndarray
) -> Float[np.ndarray, "t c"]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="openmp"):
        probabilities = model.predict_proba(test)
    scores = np.zeros((len(problem.test), problem.n_classes))
    scores[:, model.classes_] = probabilities
    return scores


def _training(problem: Problem) -> bytes:
    """A digest of what the trees are learned from; the seed chooses rows for bins where there are many."""
    rows = np.ascontiguousarray(problem.evidence.dense(problem.train))
    seed = problem.seed % _SEEDS if len(rows) > MOST_ROWS else 0
    content = hashlib.sha256(f"{rows.shape} {rows.dtype} {problem.evidence.format} {seed} ".encode())
    content.update(rows.tobytes())
    content.update(np.ascontiguousarray(problem.protected[problem.train]).tobytes())
    return content.digest()


def _inputs(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Training and tested rows; scores as bins, which give the same trees in a fraction of the time."""
    from sklearn.utils.class_weight import compute_sample_weight

    train, test = problem.evidence.dense(problem.train), problem.evidence.dense(problem.test)
    if problem.evidence.format != "scores" or len(train) > MOST_ROWS:
        return train, test
    return binned(train, test, compute_sample_weight("balanced", problem.protected[problem.train]))


INNER_FOLDS: Final = 3


def candidates(evidence: Evidence) -> tuple[Attacker, ...]:
    """Who competes: the closed form and logistic for one category, logistic and trees for everything else."""
    if evidence.category is not None:
        return Bayes(), Logistic()
    return (Bayes(), Logistic()) if evidence.noisy_from is not None else (Logistic(), Trees())


@final
class Auto:
    """For each problem the candidate with the best balanced accuracy over three folds of its training rows.

    Of equals the first. `chosen` counts the choices of the last attack.
    """

    name = "auto"
    is_slow = True
    is_random = False
    knows_noise = False

    def __init__(self) -> None:
        self.chosen: Counter[str] = Counter()

    def attack(self, problems: Sequence[Problem], stage: str = "") -> list[Float[np.ndarray, "_ _"]]:
        """A score for each tested item and class; see `Attacker`."""
        fields = [candidates(problem.evidence) for problem in problems]
        best = [[-np.inf] * len(field) for field in fields]
        for place in range(max((len(field) for field in fields), default=0)):
            for number, score in _inner(problems, fields, place, stage and f"{stage}, choice of attacker"):
                best[number][place] = score
        chosen = [int(np.argmax(scores)) for scores in best]
        self.chosen = Counter(field[pick].name for field, pick in zip(fields, chosen, strict=True))
        answers: list[Float[np.ndarray, "_ _"]] = [np.empty((0, 0))] * len(problems)
        for name in self.chosen:
            numbers = [i for i, pick in enumerate(chosen) if fields[i][pick].name == name]
            attacker = fields[numbers[0]][chosen[numbers[0]]]
            for number, answer in zip(numbers, attacker.attack([problems[i] for i in numbers], stage), strict=True):
                answers[number] = answer
        return answers


def _inner(
    problems: Sequence[Problem], fields: Sequence[tuple[Attacker, ...]], place: int, stage: str
) -> list[tuple[int, float]]:
    """Balanced accuracy, over the folds of its training rows, of each problem's candidate at a place."""
    accuracies = []
    for name in sorted({field[place].name for field in fields if len(field) > place}):
        numbers = [i for i, field in enumerate(fields) if len(field) > place and field[place].name == name]
        inner = [fold for i in numbers for fold in _folds(problems[i])]
        answers = fields[numbers[0]][place].attack(inner, stage)
        for number, start in zip(numbers, range(0, len(inner), INNER_FOLDS), strict=True):
            folds = slice(start, start + INNER_FOLDS)
            accuracies.append((number, _score(list(zip(inner[folds], answers[folds], strict=True)))))
    return accuracies


def _folds(problem: Problem) -> list[Problem]:
    """Inner problems: rows of each class, or whole subjects, are dealt out in turn, so that folds have all classes."""
    fold = np.empty(len(problem.train), dtype=np.int64)
    groups = problem.protected[problem.train]
    for group in range(problem.n_classes):
        rows = np.flatnonzero(groups == group)
        fold[rows] = np.arange(len(rows)) % INNER_FOLDS
    if problem.subjects is not None:
        fold = subject_folds(problem.subjects[problem.train], groups, INNER_FOLDS)
    return [replace(problem, train=problem.train[fold != f], test=problem.train[fold == f]) for f in range(INNER_FOLDS)]


def _score(folds: Sequence[tuple[Problem, Float[np.ndarray, "_ _"]]]) -> float:
    truth: Int[np.ndarray, " m"] = np.concatenate([problem.protected[problem.test] for problem, _ in folds])
    credits = [credit(scores, problem.protected[problem.test]) for problem, scores in folds]
    return balanced_accuracy(np.concatenate(credits), truth)
