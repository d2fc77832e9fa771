"""A model's predictions on the same items: hard labels, scores, and copies of them with random errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.attacks.attackers.protocol import Attacker
from transect.attacks.chance import uniforms
from transect.attacks.performance import average_precision
from transect.attacks.perturbation import bits, macro_f1
from transect.attacks.records import Evidence, LabelledData
from transect.errors import BadInput
from transect.texts import words_of

_PERMUTE = 31


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """How predictions were matched to the labels.

    by: "identifiers" or "row order". items: with a prediction. unused: predictions of items that are not among the
    labels. unknown: items whose predicted category is not a label. columns: how many were read. columns_by_name:
    otherwise they are in the order of the labels. id_column: what identifiers were compared by. cross_fitted: no
    training row has a prediction, so attackers are cross-fitted.
    """

    by: str
    items: int
    unused: int = 0
    unknown: int = 0
    columns_by_name: bool = False
    cross_fitted: bool = False
    columns: int = 1
    id_column: str = ""


@final
@dataclass(frozen=True)
class Outputs:
    """A model's answers, item by item as the data they belong to. scores: None where only hard labels are known."""

    hard: Evidence
    scores: Evidence | None = None
    matched: Matched | None = None

    def seen(self, attacker: Attacker) -> Evidence:
        """What the attacker learns from: scores, where there are any and it takes them."""
        return self.hard if self.scores is None or attacker.knows_noise else self.scores

    def f1(self, data: LabelledData, rows: Int[np.ndarray, " m"]) -> float:
        """Macro F1 of the hard answers on some rows, in percent."""
        return macro_f1(bits(data.labels, rows), self.predicted(data, rows))

    def mean_average_precision(self, data: LabelledData, rows: Int[np.ndarray, " m"]) -> float:
        """Of the scores on some rows, in percent: the mean over the labels that occur; NaN without scores.

        Each label's items are ranked by its column, as `performance.average_precision` does it.
        """
        if self.scores is None:
            return float("nan")
        truth, scores = bits(data.labels, rows), self.scores.matrix[rows]
        present = np.flatnonzero(truth.any(axis=0))
        if not len(present):
            return float("nan")
        return float(np.mean([average_precision(scores[:, label], truth[:, label]) for label in present]))

    def predicted(self, data: LabelledData, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m k"]:
        """The hard answers as one bit for each label of the data; an answer that no label is has none."""
        return bits(self.hard, rows)[:, : len(data.labels.names)]

    def take(self, rows: Int[np.ndarray, " m"]) -> Outputs:
        """The chosen rows, in the chosen order."""
        scores = None if self.scores is None else self.scores.take(rows)
        return Outputs(self.hard.take(rows), scores, self.matched)


@final
@dataclass(frozen=True)
class Model:
    """A model's outputs with its name. answered: the items that they belong to, where these are not all."""

    outputs: Outputs
    answered: LabelledData | None = None
    name: str = "model"


def model_outputs(data: LabelledData, answers: ArrayLike, threshold: float | None = None) -> Outputs:
    """Outputs from an array: hard categories [n], hard bits [n, k], or scores [n, k] with one column per label.

    Scores are logits or probabilities; of a label of 0 and 1 those of 1 alone [n] are enough. The hard answer is the
    largest score where the label is one category; otherwise every label whose score is at least `threshold`: by default
    0.5 where all scores lie in [0, 1], and 0 elsewhere.
    A predicted category that is not a label keeps its name, after those of the labels.

    Raises BadInput where the shape does not fit the labels, no predicted category is known or a score is not finite.

    >>> from transect.attacks.records import labelled
    >>> data = labelled(["cooking", "driving"], ["woman", "man"])
    >>> model_outputs(data, [[2.0, -1.0], [0.5, 0.1]]).hard.category.tolist()
    [0, 0]
    """
    table, names = np.asarray(answers), data.labels.names
    if len(table) != len(data):
        raise BadInput(
            f"expected one prediction for each of {len(data)} items, got {len(table)}; give ids to align them"
        )
    if table.ndim == 1 and _is_score_of_yes(table, data):
        table = _of_no_and_yes(table, threshold)
    if table.ndim == 1:
        return Outputs(_categories(table, data))
    if table.shape[1] != len(names):
        raise BadInput(f"expected one score for each of {len(names)} labels, got {table.shape[1]} columns; name them")
    _check_finite(table)
    if data.labels.category is None and np.isin(table, (0, 1)).all():
        return Outputs(Evidence(names, values=table.astype(np.bool_)))
    scores = Evidence(names, values=table.astype(np.float32))
    return Outputs(_hard(table, data, threshold), scores)


def chance_errors(data: LabelledData, answers: Evidence, seed: int = 0) -> Evidence:
    """The model's answers permuted among items with the same label: the same errors, at random.

    An answer then carries no more information on the protected attribute than the label does. Where the label is one
    category whole rows are dealt out within category and split, so that the confusion matrix stays exactly; otherwise
    each column is, among the items whose bit is equal, so that every label's own accuracy stays.
    """
    splits = np.zeros(len(data), dtype=np.int64)
    if data.split is not None:
        splits = np.unique(data.split, return_inverse=True)[1]
    if data.labels.category is not None:
        order = _dealt(splits * len(data.labels.names) + data.labels.category, uniforms(data.keys, _PERMUTE, seed))
        return answers.take(order)
    truth, values = data.labels.matrix, answers.matrix
    dealt = np.empty_like(values)
    for column in range(truth.shape[1]):
        draws = uniforms(data.keys, _PERMUTE, seed, column)
        dealt[:, column] = values[_dealt(splits * 2 + truth[:, column], draws), column]
    return Evidence(answers.names, values=dealt)


def _dealt(group: Int[np.ndarray, " n"], draws: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """For each item the item of its group whose answer it gets."""
    order = np.empty(len(group), dtype=np.int64)
    order[np.argsort(group, kind="stable")] = np.lexsort((draws, group))
    return order


def _categories(table: np.ndarray, data: LabelledData) -> Evidence:
    if data.labels.category is None:
        raise BadInput(
            f"expected {len(data.labels.names)} columns of predictions, got one; name them as the labels are"
        )
    predicted = _as_named(table, data.labels.names)
    others = sorted(set(predicted) - set(data.labels.names))
    if len(others) == len(set(predicted)):
        raise BadInput(
            f"predictions: expected labels such as {data.labels.names[0]!r}, got {others[0]!r} and none that is one; "
            f"of scores or probabilities give a column for each of {len(data.labels.names)} labels"
        )
    names = (*data.labels.names, *others)
    position = {name: code for code, name in enumerate(names)}
    return Evidence(names, category=np.array([position[value] for value in predicted], dtype=np.int64))


def _is_score_of_yes(table: np.ndarray, data: LabelledData) -> bool:
    """Whether these are logits or probabilities of a label whose categories are 0 and 1."""
    numbers = {_number(name) for name in data.labels.names}
    is_yes_or_no = data.labels.category is not None and len(data.labels.names) == 2 and numbers == {0.0, 1.0}
    return is_yes_or_no and table.dtype.kind == "f" and not np.isin(table, (0, 1)).all()


def _of_no_and_yes(table: Float[np.ndarray, " n"], threshold: float | None) -> Float[np.ndarray, "n 2"]:
    """How far each score lies below and above the threshold."""
    _check_finite(table[:, None])
    if threshold is None:
        threshold = _usual_threshold(table)
    return np.stack([threshold - table, table - threshold], axis=1)


def _usual_threshold(table: np.ndarray) -> float:
    """0.5 of probabilities, 0 of logits."""
    return 0.5 if table.min() >= 0 and table.max() <= 1 else 0.0


def _as_named(table: np.ndarray, names: tuple[str, ...]) -> list[str]:
    """Predicted categories as the labels write them: 1.0 and True are the label '1' where all labels are numbers."""
    known = {_number(name): name for name in names}
    if table.dtype.kind not in "biuf" or None in known:
        return [str(value) for value in table.tolist()]
    return [known.get(float(value), str(value)) for value in table.tolist()]


def _number(name: str) -> float | None:
    if name in ("False", "True"):
        return float(name == "True")
    try:
        return float(name)
    except ValueError:
        return None


def _check_finite(table: np.ndarray) -> None:
    try:
        with np.errstate(over="ignore"):  # attackers read float32, whose largest number is 3.4e38
            faulty = ~np.isfinite(table.astype(np.float32)).all(axis=1)
    except ValueError as error:
        raise BadInput(f"predictions: expected numbers in several columns, got a text: {words_of(error)}") from None
    if faulty.any():
        raise BadInput(
            f"predictions: expected finite numbers, got NaN, infinity or more than 3e38 in {faulty.sum()} of "
            f"{len(table)} rows, the first in row {int(np.argmax(faulty))}; drop or fix these rows"
        )


def _hard(table: np.ndarray, data: LabelledData, threshold: float | None) -> Evidence:
    if data.labels.category is not None:
        return Evidence(data.labels.names, category=table.argmax(axis=1).astype(np.int64))
    if threshold is None:
        threshold = _usual_threshold(table)
    return Evidence(data.labels.names, values=table >= threshold)
