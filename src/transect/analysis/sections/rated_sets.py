"""What raters saw in several sets of images, side by side."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from transect.analysis.sections.answers import BALAKRISHNAN, table, words
from transect.analysis.sections.associations import figures, panel
from transect.analysis.sections.raters import Rated
from transect.annotation.agreement.numbers import notice
from transect.effects.identity_pairs import DISTRIBUTIONS_SOURCE, UNBALANCED, distributions, smd
from transect.errors import BadInput, UnknownName
from transect.reports.records import Panel, Section, Table

_TEXT: Final = (
    "Mean answers of raters about each image, a shape for each set of images (Balakrishnan et al. 2020, Fig. 11). The "
    "mean of few answers is noisy, which widens its distribution: of two sets, compare shapes that rest on about as "
    "many answers per image."
)
_BY: Final = (
    "The images of each set are in two halves: below the middle of the scale of {by}, and at or above it. A "
    "standardized difference is the upper half's mean minus the lower's, over their standard deviation; beyond "
    "{limit:g} it is commonly called unbalanced, and an audit of these images mixes the attribute with {by}."
)

Sets = Mapping[str, Sequence[Rated]]
"""The questions that were asked about each set of images, by its name."""


def section(sets: Sets, by: str = "") -> Section:
    """A panel per question whose answers have an order, a shape per set. by: the question whose halves have panels.

    Raises UnknownName where a set was not asked it, BadInput where its answers have no order.
    """
    groups = {name: _groups(name, rated, by) for name, rated in sets.items()}
    asked = [question for rated in sets.values() for question in rated if question.name != by]
    ordered = list(dict.fromkeys(question.name for question in asked if question.scale != "nominal"))
    panels = [each for name in ordered for each in _panels(sets, groups, name)]
    return Section(
        key="side by side",
        title="Raters on sets of images",
        text=[_TEXT, *([_BY.format(by=words(by), limit=UNBALANCED)] if by else [])],
        warnings=[*_left_out(sets, ordered, by), *_units(sets, ordered), *_simulated(sets)],
        figures=figures(f"Distributions{f' by {words(by)}' if by else ''}", panels),
        tables=[_differences(sets, groups, ordered, by)] if by else [],
        sources=[BALAKRISHNAN, DISTRIBUTIONS_SOURCE],
    )


def _groups(name: str, rated: Sequence[Rated], by: str) -> dict[str, np.ndarray]:
    """By what a group is called, which images of a set are in it; one group of all without `by`."""
    if not by:
        return {"": np.ones(len(rated[0].ratings), dtype=bool)}
    question = _asked(rated, by)
    if question is None:
        raise UnknownName(
            "question", by, [each.name for each in rated], hint=f"--by names a question that was asked about {name}"
        )
    if question.scale == "nominal":
        raise BadInput(f"--by {by}: expected ordered answers, got names; choose another question")
    middle = question.low + question.width / 2
    return {
        f"{words(by)} in the lower half": question.mean < middle,
        f"{words(by)} in the upper half": question.mean >= middle,
    }


def _asked(rated: Sequence[Rated], name: str) -> Rated | None:
    return next((question for question in rated if question.name == name), None)


def _panels(sets: Sets, groups: Mapping[str, Mapping[str, np.ndarray]], name: str) -> Iterator[Panel]:
    """A panel, or one for each half, on the same axis, with a shape per set."""
    places = [(half, key) for half in next(iter(groups.values())) for key in sets]
    seen = [
        [] if (question := _asked(sets[key], name)) is None else question.mean[groups[key][half]].tolist()
        for half, key in places
    ]
    values = [value for means in seen for value in (*means, np.nan)]  # a group without an image keeps its place
    numbers = [str(number) for number, means in enumerate(seen) for _ in range(len(means) + 1)]
    shapes = {shape.group: shape for shape in distributions({name: np.array(values)}, numbers)}
    for half in dict.fromkeys(half for half, _ in places):
        chosen = [replace(shapes[str(k)], group=key) for k, (of, key) in enumerate(places) if of == half]
        yield replace(panel(name, chosen, list(sets)), heading=", ".join(filter(None, (words(name), half))))


def _differences(sets: Sets, groups: Mapping[str, Mapping[str, np.ndarray]], names: Sequence[str], by: str) -> Table:
    """Second group less the first, a column per set; nothing where a group has fewer than two rated images."""
    heads, columns = [("question", "text")], []
    for key, rated in sets.items():
        first, second = groups[key].values()
        heads.append((f"{key} ({first.sum():,} and {second.sum():,} images)", "number"))
        asked = [_asked(rated, name) for name in names]
        columns.append([np.nan if each is None else smd(each.mean[first], each.mean[second]) for each in asked])
    rows = [[words(name), *values] for name, *values in zip(names, *columns, strict=True)]
    return table(f"Standardized differences by {words(by)}", heads, rows)


def _left_out(sets: Sets, ordered: Sequence[str], by: str) -> list[str]:
    """The questions that a set lacks, and how many images have no group of --by."""
    lines = [
        f"{words(name)} was not asked about {key}"
        for name in ordered
        for key, rated in sets.items()
        if _asked(rated, name) is None
    ]
    names = dict.fromkeys(each.name for rated in sets.values() for each in rated if each.scale == "nominal")
    lines += [f"Answers to {words(name)} are names in no order, and have no distribution" for name in names]
    for key, rated in sets.items():
        unknown = int(np.isnan(question.mean).sum()) if (question := _asked(rated, by)) else 0
        lines += [f"{unknown:,} images of {key} have no answer to {words(by)} and are in neither group"] * bool(unknown)
    return lines


def _units(sets: Sets, names: Sequence[str]) -> list[str]:
    """Questions whose answers have other ends in one set than in another."""
    lines = []
    for name in names:
        asked = {key: question for key, rated in sets.items() if (question := _asked(rated, name))}
        ends = {key: f"{each.values[0]:g} to {each.values[-1]:g} in {key}" for key, each in asked.items()}
        if len({(each.values[0], each.values[-1]) for each in asked.values()}) > 1:
            lines.append(f"{words(name)}: answers lie from {', '.join(ends.values())}; --scale unit compares them")
    return lines


def _simulated(sets: Sets) -> list[str]:
    """Sets whose answers are, in part, of no people."""
    counts = {
        key: (sum(each.simulated for each in rated), sum(int(np.isfinite(each.ratings).sum()) for each in rated))
        for key, rated in sets.items()
    }
    return [f"{key}: {notice(*count)}" for key, count in counts.items() if count[0]]
