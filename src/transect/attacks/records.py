"""What an attacker sees, what it has to guess, and what it reaches; and draws by item that no order of rows changes.

Axes: n items (images), k labels, c classes of the protected attribute. Leakages are in percent, 0 to 100.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int, UInt64
from numpy.typing import ArrayLike

from transect.errors import BadInput
from transect.records import Estimate

_GOLDEN: Final = np.uint64(0x9E3779B97F4A7C15)
_FIRST: Final = np.uint64(0xBF58476D1CE4E5B9)
_SECOND: Final = np.uint64(0x94D049BB133111EB)


def item_keys(ids: Iterable[object]) -> UInt64[np.ndarray, " n"]:
    """A key per identifier: the first eight bytes of BLAKE2b of its text."""
    digests = b"".join(hashlib.blake2b(str(item).encode(), digest_size=8).digest() for item in ids)
    return np.frombuffer(digests, dtype=np.uint64)


def mixed(
    keys: UInt64[np.ndarray, " *shape"], *salts: int | UInt64[np.ndarray, " *salted"]
) -> UInt64[np.ndarray, " *out"]:
    """Keys mixed with one salt after the other (whole numbers from 0, or arrays that broadcast against the keys)."""
    for salt in salts:
        # An array wraps around without a warning, where a scalar would give one.
        salted = np.atleast_1d(np.asarray(salt, dtype=np.uint64)) + np.uint64(1)
        z = keys + _GOLDEN * salted
        z = (z ^ (z >> np.uint64(30))) * _FIRST
        z = (z ^ (z >> np.uint64(27))) * _SECOND
        keys = z ^ (z >> np.uint64(31))
    return keys


def uniforms(
    keys: UInt64[np.ndarray, " *shape"], *salts: int | UInt64[np.ndarray, " *salted"]
) -> Float[np.ndarray, " *out"]:
    """Uniform draws in [0, 1), float64, one for each mixed key."""
    return (mixed(keys, *salts) >> np.uint64(11)) * 2.0**-53


Format = Literal["category", "bits", "scores"]
"""category: one label of several; bits: any number of labels; scores: a real number for each label."""


@final
@dataclass(frozen=True)
class Evidence:
    """What an attacker sees of each item.

    category int64 [n] (values 0 .. k-1) or values [n, k], exactly one of the two. noisy_from: the categories of which
    this is a noisy copy, where we made it so: the closed-form attacker learns from these, since it knows the channel.
    """

    names: tuple[str, ...]
    category: Int[np.ndarray, " n"] | None = None
    values: np.ndarray | None = None
    noisy_from: Int[np.ndarray, " n"] | None = None

    def __len__(self) -> int:
        return len(self.category if self.category is not None else self.matrix)

    @property
    def matrix(self) -> np.ndarray:
        """Values [n, k], where the evidence has them."""
        if self.values is None:
            raise TypeError("evidence of categories has no matrix of values; use dense(rows)")
        return np.asarray(self.values)

    @cached_property
    def format(self) -> Format:
        """How the evidence is written."""
        if self.category is not None:
            return "category"
        return "bits" if self.matrix.dtype == np.bool_ else "scores"

    def dense(self, rows: Int[np.ndarray, " m"]) -> Float[np.ndarray, "m k"]:
        """The chosen rows as float32 [m, k]; a category becomes 1 in its column and 0 elsewhere.

        >>> Evidence(("cooking", "driving"), category=np.array([0, 1])).dense(np.array([1]))
        array([[0., 1.]], dtype=float32)
        """
        if self.category is None:
            return np.asarray(self.matrix[rows], dtype=np.float32)
        wide = np.zeros((len(rows), len(self.names)), dtype=np.float32)
        wide[np.arange(len(rows)), self.category[rows]] = 1
        return wide

    def take(self, rows: Int[np.ndarray, " m"]) -> Evidence:
        """The chosen rows, in the chosen order."""
        arrays = {
            name: None if getattr(self, name) is None else getattr(self, name)[rows]
            for name in ("category", "values", "noisy_from")
        }
        return Evidence(self.names, **arrays)


@final
@dataclass(frozen=True)
class LabelledData:
    """Labels of a data set, its protected attribute and, where it has them, its splits.

    labels: category or bits. protected int64 [n], 0 .. c-1, named in `classes`. split: "train", "development" or "test"
    for each item, None where the data are to be cross-fitted. keys: what an item's random draws depend on. id_column:
    the name of the column that `ids` come from, where they come from one. subjects: a key of the person, or whatever
    else repeats, on each item; None where every item is independent of the others.

    Raises BadInput where the protected attribute has fewer than two classes with items, or a subject is in two splits.
    """

    labels: Evidence
    protected: Int[np.ndarray, " n"]
    classes: tuple[str, ...]
    keys: UInt64[np.ndarray, " n"]
    split: np.ndarray | None = None
    ids: tuple[str, ...] | None = None
    attribute: str = "protected"
    id_column: str | None = None
    subjects: UInt64[np.ndarray, " n"] | None = None

    def __post_init__(self) -> None:
        self._check_splits()
        counts = np.bincount(self.protected, minlength=len(self.classes))
        present = [name for name, count in zip(self.classes, counts, strict=True) if count]
        if len(present) < 2:
            shown = f"only {present[0]!r} in {len(self.protected)} rows" if present else "no rows"
            raise BadInput(
                f"protected attribute {self.attribute}: expected at least two classes, got {shown}; check "
                "--protected and --where"
            )

    def _check_splits(self) -> None:
        if self.subjects is None or self.split is None:
            return
        _, subjects = np.unique(self.subjects, return_inverse=True)
        codes = np.unique(np.stack([subjects, np.unique(self.split, return_inverse=True)[1]]), axis=1)
        if shared := int((np.bincount(codes[0]) > 1).sum()):
            raise BadInput(
                f"subjects: expected each in one split, {shared} of {int(subjects.max()) + 1} are in several: "
                "an attacker would be tested on people it learned from; leave out --split to cross-fit by "
                "subject"
            )

    def __len__(self) -> int:
        return len(self.protected)

    @property
    def n_subjects(self) -> int:
        """Number of subjects; of items, where none repeats."""
        return len(self) if self.subjects is None else len(np.unique(self.subjects))

    @property
    def n_mixed(self) -> int:
        """Subjects on whose items the protected attribute has more than one class."""
        if self.subjects is None:
            return 0
        _, subjects = np.unique(self.subjects, return_inverse=True)
        pairs = np.unique(np.stack([subjects, self.protected]), axis=1)
        return int((np.bincount(pairs[0]) > 1).sum())

    @property
    def n_classes(self) -> int:
        """Number of classes of the protected attribute."""
        return len(self.classes)

    @property
    def chance(self) -> float:
        """Balanced accuracy of guessing, in percent."""
        return 100.0 / len(self.classes)

    def take(self, rows: Int[np.ndarray, " m"]) -> LabelledData:
        """The chosen rows, in the chosen order."""
        return replace(
            self,
            labels=self.labels.take(rows),
            protected=self.protected[rows],
            keys=self.keys[rows],
            split=None if self.split is None else self.split[rows],
            ids=None if self.ids is None else tuple(self.ids[row] for row in rows),
            subjects=None if self.subjects is None else self.subjects[rows],
        )

    def own_order(self) -> Int[np.ndarray, " n"]:
        """Rows sorted by identifier, numbers by value and before texts; unchanged without identifiers."""
        if self.ids is None:
            return np.arange(len(self))
        return np.array(sorted(range(len(self)), key=lambda row: _natural((self.ids or ())[row])), dtype=np.int64)

    def rows_of(self, split: str) -> Int[np.ndarray, " m"]:
        """Positions of the items of one split; none where the data have no splits."""
        return np.array([], dtype=np.int64) if self.split is None else np.flatnonzero(self.split == split)


def _natural(identifier: str) -> tuple[bool, int, str]:
    number = identifier.isascii() and identifier.isdigit()
    return not number, int(identifier) if number else 0, identifier


def labelled(
    labels: ArrayLike,
    protected: ArrayLike,
    *,
    split: ArrayLike | None = None,
    ids: ArrayLike | None = None,
    subjects: ArrayLike | None = None,
    label_names: tuple[str, ...] = (),
    attribute: str = "protected",
) -> LabelledData:
    """Data from arrays: labels [n] of any type (one category each) or 0/1 [n, k]; protected [n] of any type.

    Without ids an item is its row. subjects [n]: who is on each item, of any type; None: nobody twice. Names of
    categories and classes are their values, sorted.

    Raises BadInput where lengths differ, labels [n, k] are not 0 and 1, or the protected attribute has one class.

    >>> data = labelled(["cooking", "driving", "cooking"], ["woman", "man", "man"])
    >>> data.classes, data.labels.category.tolist()
    (('man', 'woman'), [0, 1, 0])
    """
    table, groups = np.asarray(labels), np.asarray(protected)
    if len(table) != len(groups):
        raise BadInput(f"expected as many labels as protected values, got {len(table)} and {len(groups)}")
    classes, codes = np.unique(groups, return_inverse=True)
    names = tuple(str(i) for i in (np.arange(len(groups)) if ids is None else np.asarray(ids)))
    return LabelledData(
        _evidence(table, label_names),
        codes.astype(np.int64),
        tuple(str(name) for name in classes),
        item_keys(names),
        None if split is None else np.asarray(split).astype(str),
        names,
        attribute,
        subjects=None if subjects is None else item_keys(np.asarray(subjects).tolist()),
    )


def _evidence(table: np.ndarray, names: tuple[str, ...]) -> Evidence:
    if table.ndim == 1:
        categories, codes = np.unique(table, return_inverse=True)
        return Evidence(names or tuple(str(name) for name in categories), category=codes.astype(np.int64))
    if not np.isin(table, (0, 1)).all():
        raise BadInput("labels in several columns: expected 0 and 1 only; give one column of categories instead")
    return Evidence(names or tuple(str(i) for i in range(table.shape[1])), values=table.astype(np.bool_))


@final
@dataclass(frozen=True, slots=True)
class Problem:
    """One attack: learn the protected class from the evidence of `train`, guess it for `test`.

    development: rows on which a snapshot may be chosen, where the published protocol asks for it. seed: of this
    attack's own randomness, so that no other attack changes its result. subjects: as `LabelledData.subjects`.
    """

    evidence: Evidence
    protected: Int[np.ndarray, " n"]
    n_classes: int
    train: Int[np.ndarray, " a"]
    test: Int[np.ndarray, " t"]
    development: Int[np.ndarray, " d"] = field(default_factory=lambda: np.array([], dtype=np.int64))
    seed: int = 0
    subjects: UInt64[np.ndarray, " n"] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakageEstimate(Estimate):
    """A leakage or an amplification in percentage points with its 95 % interval.

    n: items scored. rounds: trained attackers behind it. sd: between rounds, NaN with one.
    """

    n: int = 0
    rounds: int = 1
    sd: float = math.nan
    method: str = ""


@final
@dataclass(frozen=True, slots=True)
class Attack:
    """The outcome of an attack: `credit` [t] of each tested item, 1 right, 0 wrong, 1/m in a tie of m classes.

    own: balanced accuracy of each fold's attacker on its own training rows, in percent minus that of guessing; () where
    it was not looked at.
    """

    rows: Int[np.ndarray, " t"]
    credit: Float[np.ndarray, " t"]
    own: tuple[float, ...] = ()
