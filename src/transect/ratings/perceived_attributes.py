"""Attributes as raters saw them: what counts as correct where no physical truth exists, and groups to cut by.

DIR/reference.json   {"truth": TEXT}, in a run's folder; changes no image, no answer and no rating

A rating of `gender` is the attribute `perceived_gender`. `--by gender` means it too, where the run has no attribute
of that name.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.outcomes import Truth
from transect.errors import BadInput
from transect.ratings.rating_tables import ID, PEOPLE, PERCEIVED, RATER, STUDY, Ratings, read_table
from transect.records import Annotations, Attribute, Task
from transect.runs.folder import write_json
from transect.runs.human_answers import RatedQuestion, questions_of
from transect.runs.json_records import loads
from transect.runs.table_inputs import TableLike
from transect.runs.wording import spaced

FILE: Final = "reference.json"


def store(folder: Path, truth: Truth) -> None:
    """Store the reference in a run's folder, so that a later report uses it too."""
    write_json(folder / FILE, {"truth": truth.text}, indent=None)


def stored(folder: Path, known: Mapping[str, Attribute]) -> Truth | None:
    """The reference in a run's folder; None where there is none. Raises BadInput for a file that holds none."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        text = str(loads(path.read_text(encoding="utf-8"))["truth"])
    except (ValueError, TypeError, KeyError):
        raise BadInput(f"{path}: expected a reference; delete it, or give --reference again") from None
    return parse(text, known)


def parse(text: str, known: Mapping[str, Attribute]) -> Truth:
    """The reference that a text states, as `--truth` is written; of an attribute of the run, or of any rating.

    >>> parse("gender >= 0.5", {}).attribute
    'gender'
    """
    match = re.match(r"\s*([A-Za-z_]\w*)", text)  # the value behind it may be a level's name
    name = match[1] if match else Truth.parse(text).attribute
    return Truth.parse(text, {name: known[name]} if name in known else None)


def labels(
    truth: Truth, seen: Float[np.ndarray, " n"], task: Task, attribute: Attribute | None
) -> Float[np.ndarray, " n"]:
    """The reference answer of each image: raters' mean for a number, else the side of it or their majority, 0 or 1.

    NaN: no answer, or a tie, and the image has no reference.

    >>> labels(Truth.parse("gender>=0.5"), np.array([0.2, 0.7, np.nan]), Task.BINARY, None)
    array([ 0.,  1., nan])
    """
    if task is Task.REGRESSION and not truth.comparison:
        return seen
    answers = truth.as_rated(seen, attribute)
    if len(answers) != len(seen):
        raise BadInput(
            f"--reference {truth.text}: expected a yes or no for a {task} target, got a number; compare it with a "
            f"value, for example '{truth.attribute}>=0.5'"
        )
    return answers


PREFIX: Final = "perceived_"
OF_THE_PICTURE: Final = ("fakeness", "quality", "looks_edited", "edited_where", "seam", "plausible")
"""Ratings of the picture, not of the face: models hold them equal only where the user asks for it."""
FEW_VALUES: Final = 6
"""Without cut points and named levels, so many different values are a group each; more are cut at their terciles."""


@final
@dataclass(frozen=True, slots=True)
class PerceivedAttribute:
    """One attribute as raters saw it. about: the run's attribute that the ratings are of, else their own name.

    values [n]: mean ratings, of levels in no order the most common one; NaN: not rated. answers: single answers behind
    the values, None of a file by image. levels: value and name of each answer, rising, where they have an order and
    names.
    """

    attribute: Attribute
    about: str
    values: Float[np.ndarray, " n"]
    answers: Annotations | None = None
    levels: tuple[tuple[float, str], ...] = ()

    def only(self, images: Bool[np.ndarray, " n"]) -> PerceivedAttribute:
        """The same without values and answers of other images."""
        values = np.where(images, self.values, np.nan)
        if self.answers is None:
            return replace(self, values=values)
        kept = images[self.answers.image]
        raters = tuple(rater for rater, chosen in zip(self.answers.rater, kept.tolist(), strict=True) if chosen)
        answers = replace(self.answers, image=self.answers.image[kept], rater=raters, value=self.answers.value[kept])
        return replace(self, values=values, answers=answers)

    def cuts(self, stated: Sequence[float] | None = None) -> PerceivedGroups:
        """The groups of its values: between stated cut points, else by the named answer that is nearest to a value.

        Without either up to six different values are a group each, and more are cut at their terciles.
        """
        if self.attribute.nominal:
            return PerceivedGroups(self.attribute.levels)
        if stated is not None and len(stated):
            return PerceivedGroups(self._ranges(stated), tuple(stated))
        if self.levels:
            places = [value for value, _ in self.levels]
            return PerceivedGroups(tuple(name for _, name in self.levels), _middles(places))
        known = np.unique(self.values[np.isfinite(self.values)])
        if len(known) <= FEW_VALUES:
            return PerceivedGroups(tuple(f"{value:.4g}" for value in known), _middles(known.tolist()))
        terciles = np.quantile(self.values[np.isfinite(self.values)], [1 / 3, 2 / 3])
        edges = tuple(np.unique(np.maximum(terciles, known[1])).tolist())
        return PerceivedGroups(self._ranges(edges), edges)

    def _ranges(self, edges: Sequence[float]) -> tuple[str, ...]:
        low, high = (f"{end:.4g}" for end in self.attribute.bounds)
        ends = [low, *(f"{edge:.4g}" for edge in edges), high]
        last = len(ends) - 2
        return tuple(f"[{ends[k]}, {ends[k + 1]}{']' if k == last else ')'}" for k in range(last + 1))

    def columns(self) -> list[Annotations]:
        """The questions whose mean answers decide the group, as `deciding` has them; none without single answers."""
        return [] if self.answers is None else deciding(self.answers, self.attribute)


@final
@dataclass(frozen=True, slots=True)
class PerceivedGroups:
    """Names of groups in order, and the cut points between them; no cut points of levels in no order."""

    names: tuple[str, ...]
    edges: tuple[float, ...] | None = None

    def codes(self, means: Float[np.ndarray, "n p"]) -> Int[np.ndarray, " n"]:
        """Each image's group from the means of `columns`, -1 for none; a mean on a cut point is of the group above."""
        if self.edges is None:
            return most_common(means)
        values = means[:, 0]
        return np.where(np.isfinite(values), np.searchsorted(self.edges, values, side="right"), -1).astype(np.int64)

    def of_values(self, values: Float[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
        """Each image's group from its value as `PerceivedAttribute` has it, -1 for none."""
        if self.edges is not None:
            return self.codes(values[:, None])
        whole = np.isin(values, range(len(self.names)))
        return np.where(whole, np.where(whole, values, 0.0), -1).astype(np.int64)


def deciding(answers: Annotations, attribute: Attribute | None) -> list[Annotations]:
    """The questions whose mean answers decide a value: itself, or "is it this level?" for levels in no order."""
    if attribute is None or not attribute.nominal:
        return [answers]
    value = answers.value
    known = np.isfinite(value)
    return [
        replace(answers, value=np.where(known, (value == k).astype(np.float64), np.nan))
        for k in range(len(attribute.levels))
    ]


def most_common(shares: Float[np.ndarray, "n l"]) -> Int[np.ndarray, " n"]:
    """The level with the largest share of each image's answers; -1 at a tie, and without answers.

    >>> most_common(np.array([[0.2, 0.6, 0.2], [0.4, 0.4, 0.2], [np.nan, np.nan, np.nan]])).tolist()
    [1, -1, -1]
    """
    known = np.isfinite(shares).all(axis=1)
    filled = np.where(known[:, None], shares, 0.0)
    most = filled.max(axis=1, keepdims=True)
    alone = (filled > most - 1e-9).sum(axis=1) == 1
    return np.where(known & alone, filled.argmax(axis=1), -1).astype(np.int64)


def _middles(values: Sequence[float]) -> tuple[float, ...]:
    return tuple((low + high) / 2 for low, high in itertools.pairwise(values))


def perceived_attributes(ratings: Ratings, known: Mapping[str, Attribute]) -> dict[str, PerceivedAttribute]:
    """What raters saw, by name with `PREFIX`; people's answers first, else the file with a value per image."""
    attributes = {}
    for name in dict.fromkeys([*ratings.people, *ratings.columns]):
        by_people = name in ratings.people
        values = (ratings.people if by_people else ratings.columns)[name]
        question = (ratings.asked_people if by_people else ratings.asked).get(name)
        about = ratings.called(name, known)
        attribute = _attribute(name, question, known.get(about), values)
        if attribute is None or not np.isfinite(values).any():
            continue
        answers = ratings.answers.get(name) if by_people else None
        levels = () if question is None or attribute.discrete else _levels(question)
        attributes[PREFIX + name] = PerceivedAttribute(attribute, about, values, answers, levels)
    return attributes


def _levels(question: RatedQuestion) -> tuple[tuple[float, str], ...]:
    """Values that can be answered, rising, and their names; levels of one value are one answer."""
    names: dict[float, list[str]] = {}
    for value, name in sorted(zip(question.values, question.levels, strict=True), key=lambda pair: pair[0]):
        names.setdefault(float(value), []).append(name)
    return tuple((value, " or ".join(called)) for value, called in names.items())


def _attribute(
    name: str, question: RatedQuestion | None, about: Attribute | None, values: Float[np.ndarray, " n"]
) -> Attribute | None:
    """The attribute that the values are of; None for numbers of names that are no indices."""
    called, meaning = PREFIX + name, f"{spaced(name)} as raters saw it"
    if question is not None and question.unordered:
        return question.as_attribute(called)
    if question is None and about is not None and about.nominal:
        return replace(about, name=called, meaning=meaning, role="attribute")
    ends = about.bounds if question is None and about is not None else () if question is None else question.values
    every = [*ends, *values[np.isfinite(values)].tolist()]
    low, high = (min(every), max(every)) if every else (0.0, 1.0)
    unit = about.unit if about is not None and not about.discrete else ""
    return Attribute(called, "continuous", meaning, unit=unit, low=low, high=high if high > low else low + 1.0)


def names_in(perceived: TableLike | None, people: TableLike | None) -> frozenset[str]:
    """How a user may name what these ratings are of, before there is a run. Raises BadInput as `read_table`."""
    names: set[str] = set()
    for source, role, kept_as in ((perceived, "perceived", PERCEIVED), (people, "ratings", PEOPLE)):
        if source is not None:
            table, _ = read_table(source, role, kept_as)
            names |= set(table.column_names) - {ID, STUDY, RATER}
            names |= {question.attribute for question in questions_of(table).values() if question.attribute}
    return frozenset([*names, *(PREFIX + name for name in names)])


def resolved(name: str, own: Collection[str], perceived: Mapping[str, PerceivedAttribute]) -> str:
    """The attribute that a user's name means: the run's own first, else what raters saw; else the name itself."""
    if name in own:
        return name
    bare = name.removeprefix(PREFIX)
    if PREFIX + bare in perceived:
        return PREFIX + bare
    return next((key for key, attribute in perceived.items() if attribute.about == bare), name)
