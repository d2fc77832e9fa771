"""A model's predictions on the same items: matched from a table or found in captions, copies with random errors, mAP
and F1.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeGuard, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike

from transect.attacks.attackers.classical import Attacker
from transect.attacks.perturbation import bits, macro_f1
from transect.attacks.records import Evidence, LabelledData, uniforms
from transect.attacks.tables import expand, id_column, identifiers, matrix
from transect.datasets.features import as_named
from transect.errors import BadInput
from transect.runs.toml_files import parse, shipped_or_file
from transect.texts import words_of


@final
@dataclass(frozen=True)
class Performance:
    """Average precision and F1 of each label in percent, NaN for a label without a positive item; and the means."""

    precision: Float[np.ndarray, " k"]
    f1: Float[np.ndarray, " k"]

    @property
    def mean_average_precision(self) -> float:
        """Over the labels that have positive items; NaN where none has."""
        return _mean(self.precision)

    @property
    def macro_f1(self) -> float:
        """The same of F1."""
        return _mean(self.f1)


def performance(
    scores: Float[np.ndarray, "n k"], truth: Bool[np.ndarray, "n k"], threshold: float = 0.0
) -> Performance:
    """Of scores (logits) against the labels; the answer is yes from `threshold` on.

    Average precision is the sum over the ranks of the gain in recall times the precision there, ties taken together, as
    scikit-learn has it. F1 is 2 TP / (2 TP + FP + FN).

    >>> found = performance(np.array([[3.0], [1.0], [-1.0]]), np.array([[True], [False], [True]]))
    >>> round(found.mean_average_precision, 2), found.macro_f1  # (1 + 2/3) / 2, and 2 · 1 / (2 + 1 + 1)
    (83.33, 50.0)
    """
    k = scores.shape[1]
    predicted = scores >= threshold
    hits = (predicted & truth).sum(axis=0)
    wrong = (predicted != truth).sum(axis=0)
    positive = truth.any(axis=0)
    f1 = np.where(positive, 200 * hits / np.maximum(2 * hits + wrong, 1), np.nan)
    return Performance(np.array([average_precision(scores[:, column], truth[:, column]) for column in range(k)]), f1)


def average_precision(scores: Float[np.ndarray, " n"], truth: Bool[np.ndarray, " n"]) -> float:
    """Average precision of one label in percent, as in `performance`; NaN without a positive item.

    >>> round(average_precision(np.array([3.0, 1.0, -1.0]), np.array([False, True, True])), 6)  # (1/2 + 2/3) / 2
    58.333333
    """
    if not truth.any():
        return float("nan")
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(scores[order]) != 0, True))
    hits = np.cumsum(truth[order])[ends]
    gains = np.diff(hits, prepend=0) / truth.sum()
    return float(100 * (gains * hits / (ends + 1)).sum())


def _mean(values: Float[np.ndarray, " k"]) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


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
    numbers = {_number(name) for name in names}
    is_yes_or_no = data.labels.category is not None and len(names) == 2 and numbers == {0.0, 1.0}
    if table.ndim == 1 and is_yes_or_no and table.dtype.kind == "f" and not np.isin(table, (0, 1)).all():
        table = _of_no_and_yes(table, threshold)
    if table.ndim == 1:
        return Outputs(_categories(table, data))
    if table.shape[1] != len(names):
        raise BadInput(f"expected one score for each of {len(names)} labels, got {table.shape[1]} columns")
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
        raise BadInput(f"expected {len(data.labels.names)} columns of predictions, named like the labels, got one")
    predicted = _as_named(table, data.labels.names)
    others = sorted(set(predicted) - set(data.labels.names))
    if len(others) == len(set(predicted)):
        raise BadInput(
            f"predictions: expected labels such as {data.labels.names[0]!r}, got {others[0]!r}; for scores or "
            f"probabilities, give a column for each of {len(data.labels.names)} labels"
        )
    names = (*data.labels.names, *others)
    position = {name: code for code, name in enumerate(names)}
    return Evidence(names, category=np.array([position[value] for value in predicted], dtype=np.int64))


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


def predictions(
    table: pa.Table, data: LabelledData, columns: Sequence[str], ids: str | None = None
) -> tuple[LabelledData, Outputs]:
    """The data that the predictions cover, and the model's outputs in the same order.

    columns: names or patterns. Rows are matched by the labels' column of identifiers, by row order where one has
    none. Columns are matched by name where `by_name` finds the labels in them; otherwise they are taken in the order
    given. `Outputs.matched` says which. The predictions must cover whole splits; where they leave out the training
    split, attackers are cross-fitted within the others.

    Raises BadInput where identifiers do not match or are of another column, a split is covered in part, or a score is
    NaN.
    """
    rows, places, matched = _aligned(table, data, ids)
    covered = data.take(rows)
    if covered.split is not None and "train" not in covered.split:
        covered, matched = replace(covered, split=None), replace(matched, cross_fitted=True)
    chosen = expand(table, columns)
    named = by_name(chosen, covered.labels.names)
    values = matrix(table.take(places), named or chosen)
    width = values.shape[1] if values.ndim > 1 else 1
    outputs = model_outputs(covered, values)
    k = len(covered.labels.names)
    unknown = 0 if outputs.hard.category is None else int((outputs.hard.category >= k).sum())
    return covered, replace(
        outputs, matched=replace(matched, columns_by_name=named is not None, unknown=unknown, columns=width)
    )


def by_name(columns: Sequence[str], labels: Sequence[str]) -> list[str] | None:
    """The columns in the labels' order, where each is one label's name with the same words before and after it.

    Capitals and small letters are the same where this keeps all names distinct. Returns None where the names do not
    match.

    >>> by_name(["P_driving_1", "P_cooking_1"], ["Cooking", "Driving"])
    ['P_cooking_1', 'P_driving_1']
    >>> by_name(["first", "second"], ["cooking", "driving"]) is None
    True
    """
    apart = all(len({name.casefold() for name in names}) == len(names) for names in (columns, labels))
    fold = str.casefold if apart else str
    known, first = {fold(column): column for column in columns}, fold(labels[0])
    for column in known:
        start = column.find(first)
        while start >= 0:
            before, after = column[:start], column[start + len(first) :]
            names = [before + fold(label) + after for label in labels]
            if sorted(names) == sorted(known):
                return [known[name] for name in names]
            start = column.find(first, start + 1)
    return None


def _aligned(table: pa.Table, data: LabelledData, ids: str | None) -> tuple[np.ndarray, np.ndarray, Matched]:
    """Rows of the data that are covered, the row of the predictions of each, and how they were matched."""
    predicted = identifiers(table, _shared_column(table, data, ids))
    if data.ids is None or predicted is None:
        if table.num_rows != len(data):
            raise BadInput(
                f"predictions: expected {len(data)} rows, one for each label, got {table.num_rows}; give both files a "
                "column of identifiers (--id)"
            )
        return np.arange(len(data)), np.arange(len(data)), Matched("row order", len(data))
    named, note = as_named(data.ids, predicted)
    position = {item: row for row, item in enumerate(predicted)}
    if len(position) < len(predicted):
        raise BadInput(f"predictions: {len(predicted) - len(position)} identifiers occur twice; keep one row each")
    rows = np.array([row for row, item in enumerate(named) if item in position], dtype=np.int64)
    _check_covered(data, data.ids, rows)
    places = np.array([position[str(named[row])] for row in rows], dtype=np.int64)
    compared = "; ".join(filter(None, [data.id_column, note]))
    return rows, places, Matched("identifiers", len(rows), len(predicted) - len(rows), id_column=compared)


def _shared_column(table: pa.Table, data: LabelledData, ids: str | None) -> str | None:
    """The column of identifiers that both have; of pictures by name, that of the predictions, whatever it is called."""
    named, theirs = data.id_column, id_column(table, ids)
    if ids or named is None or theirs is None or named in table.column_names:
        return ids or (named if named in table.column_names else theirs)
    if data.ids is not None and not any(item.isdecimal() for item in data.ids):
        return theirs
    raise BadInput(
        f"predictions: expected the labels' column of identifiers, {named}, got {theirs}; give a shared one with --id"
    )


def _check_covered(data: LabelledData, ids: tuple[str, ...], rows: np.ndarray) -> None:
    covered = np.zeros(len(data), dtype=bool)
    covered[rows] = True
    if not len(rows):
        raise BadInput("predictions do not match the labels: no identifier is in both files; give the column with --id")
    for name in ("",) if data.split is None else np.unique(data.split).tolist():
        part = np.ones(len(data), dtype=bool) if data.split is None else data.split == name
        if covered[part].any() and not covered[part].all():
            lacking = ids[int(np.flatnonzero(part & ~covered)[0])]
            raise BadInput(
                f"predictions do not match the labels: {int((part & ~covered).sum())} of {int(part.sum())} "
                f"{name or 'rows'} have none, the first {lacking!r}; predict whole splits and compare identifiers"
            )


ENGLISH: Final = "english"
LEAST: Final = 5
"""Captions in which a word stands at least, to be learned from."""
MOST_WORDS: Final = 1000
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


@final
@dataclass(frozen=True)
class Lexicon:
    """Words of gender, and for each object's name the words and phrases for it."""

    gender: frozenset[str]
    objects: Mapping[str, tuple[str, ...]]
    source: str


def read_lexicon(name: str | Path = ENGLISH) -> Lexicon:
    """The lexicon that ships, or a TOML file with `gender`, a list of words, and `objects`, lists of words by name."""
    text, where = shipped_or_file(name, (ENGLISH,), "lexicon", "lexica", "transect.attacks")
    content = parse(text, where)
    gender, objects = content.get("gender"), content.get("objects")
    if not _is_words(gender) or not isinstance(objects, dict) or not all(map(_is_words, objects.values())):
        raise BadInput(f"{where}: expected gender, a list of words, and objects, lists of words by name")
    words = {str(label).lower(): tuple(str(word).lower() for word in synonyms) for label, synonyms in objects.items()}
    return Lexicon(frozenset(word.lower() for word in gender), words, where)


def words_of_caption(caption: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The words of a caption in small letters, without those of gender."""
    words = (match.removesuffix("'s") for match in _WORD.findall(caption.lower().replace("’", "'")))
    return tuple(word for word in words if word not in lexicon.gender)


def caption_outputs(data: LabelledData, captions: Sequence[str], lexicon: Lexicon) -> Outputs:
    """The objects that each caption names, as a model's hard answers."""
    if data.labels.category is not None:
        raise BadInput(
            "captions: expected several labels of 0 and 1, such as objects, got one category; leave them out"
        )
    finder = _Finder(data.labels.names, lexicon)
    hits = np.array([finder.objects(words_of_caption(text, lexicon)) for text in captions], dtype=np.bool_)
    return Outputs(Evidence(data.labels.names, values=hits.reshape(len(captions), len(data.labels.names))))


def remaining_words(names: Sequence[str], captions: Sequence[str], lexicon: Lexicon) -> Evidence:
    """The words of each caption beside gender and objects: those of at least five captions, at most 1,000."""
    finder = _Finder(names, lexicon)
    bags = [set(finder.others(words_of_caption(text, lexicon))) for text in captions]
    counts = Counter(word for bag in bags for word in bag)
    common = sorted((word for word, count in counts.items() if count >= LEAST), key=lambda word: (-counts[word], word))
    kept = {word: place for place, word in enumerate(common[:MOST_WORDS])}
    values = np.zeros((len(captions), len(kept)), dtype=np.bool_)
    for row, bag in enumerate(bags):
        values[row, [kept[word] for word in bag if word in kept]] = True
    return Evidence(tuple(kept), values=values)


@final
class _Finder:
    """Finds phrases for labels in a sequence of words, the longest first."""

    def __init__(self, names: Sequence[str], lexicon: Lexicon) -> None:
        self._label: dict[tuple[str, ...], int] = {}
        for place, name in enumerate(names):
            plain = name.lower().replace("_", " ")
            for phrase in (plain, *lexicon.objects.get(plain, ())):
                for form in _forms(phrase):
                    self._label.setdefault(form, place)
        # A phrase of an object that is no label still keeps its words together: a hot dog is no dog.
        self._others = {
            form
            for name, synonyms in lexicon.objects.items()
            for phrase in (name, *synonyms)
            for form in _forms(phrase)
        }
        self._longest = max(map(len, [*self._label, *self._others]), default=1)
        self._n = len(names)

    def objects(self, words: Sequence[str]) -> list[bool]:
        """Whether each label is named."""
        named = [False] * self._n
        for phrase in self._phrases(words):
            if phrase in self._label:
                named[self._label[phrase]] = True
        return named

    def others(self, words: Sequence[str]) -> list[str]:
        """The words that are part of no object's phrase."""
        return [
            phrase[0] for phrase in self._phrases(words) if phrase not in self._label and phrase not in self._others
        ]

    def _phrases(self, words: Sequence[str]) -> Iterable[tuple[str, ...]]:
        start = 0
        while start < len(words):
            for length in range(min(self._longest, len(words) - start), 0, -1):
                phrase = tuple(words[start : start + length])
                if length == 1 or phrase in self._label or phrase in self._others:
                    yield phrase
                    start += length
                    break


def _forms(phrase: str) -> set[tuple[str, ...]]:
    """A phrase and its regular plural.

    >>> sorted(_forms("bus")), sorted(_forms("wine glass"))[1], sorted(_forms("puppy"))[0]
    ([('bus',), ('buses',)], ('wine', 'glasses'), ('puppies',))
    """
    *before, last = phrase.split()
    plural = f"{last}s"
    if last.endswith(("s", "x", "z", "ch", "sh")):
        plural = f"{last}es"
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        plural = f"{last[:-1]}ies"
    return {(*before, last), (*before, plural)}


def _is_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
