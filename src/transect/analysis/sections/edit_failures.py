"""How often edits of photographs fail, by level and by group of photographs, and what effects could be without that.

An image that fails a gate may show something else than was set, or more. What the model would have answered to a valid
edit is not known: it is bounded as a missing answer is.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis.sections.answers import Answers, compared, point, table, words
from transect.effects.contrasts import level_differences
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.intervals import WILSON_CLUSTERED, wilson_clustered
from transect.effects.missing_answers import SOURCES, Bounds, paired_bounds
from transect.records import Attribute, Design
from transect.reports.records import Figure, Panel, Section, Series, Table
from transect.reports.wording import short_name

KEY: Final = "edit-failures"
MOST_GROUPS: Final = 6
_TEXT: Final = (
    "An image fails here if it fails any gate of the section before. It is in every other figure of this report. If "
    "edits fail more often at one level than at another, or in one group of photographs, a difference in the answers "
    "can be the failures' and not the attribute's.",
    "Bounds: what the model would have answered to an edit that does what was set is not known of an image that fails. "
    "Each such answer is set to the one that makes the effect smallest, and largest (Manski 1990). This needs no "
    "assumption on why edits fail. The interval covers the whole range between the bounds.",
)
_NO_RANGE: Final = "a number without a range has no worst case"


class Group(NamedTuple):
    """Some of the images: what they have in common, in words, and which they are."""

    label: str
    inside: Bool[np.ndarray, " n"]


def groups_of(
    labels: Mapping[str, Float[np.ndarray, " n"]], names: Mapping[str, Sequence[str]]
) -> dict[str, list[Group]]:
    """By label of the photographs: its groups, where it has two to six values. names: of each label's levels.

    >>> smile = groups_of({"smile": np.array([0.0, 1.0, 1.0]), "id": np.arange(3.0) * 7}, {"smile": ["no", "yes"]})
    >>> [(group.label, group.inside.tolist()) for group in smile["smile"]]
    [('smile: no', [True, False, False]), ('smile: yes', [False, True, True])]
    >>> len(smile["id"])
    3
    """
    found = {}
    for name, values in labels.items():
        levels = np.unique(values[np.isfinite(values)])
        if 2 <= len(levels) <= MOST_GROUPS:
            known = names.get(name, ())
            found[name] = [
                Group(f"{words(name)}: {known[int(at)] if at < len(known) else format(at, 'g')}", values == at)
                for at in levels
            ]
    return found


def section(
    study: str,
    design: Design,
    attributes: Mapping[str, Attribute],
    failed: Bool[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
    groups: Mapping[str, Sequence[Group]],
    answer_sets: Sequence[Answers],
) -> Section | None:
    """The section of one study; None where no image fails. Rows of all arrays are the images, subject by subject."""
    if not failed.any():
        return None
    levels = list(_levels(design, attributes, len(failed)))
    sorts = [("level", levels), *((f"photographs by {words(name)}", list(each)) for name, each in groups.items())]
    counted = [_Counted(what, group, *_rate(failed, group.inside, people)) for what, each in sorts for group in each]
    bounds = [_bounds_table(each, failed, groups) for each in answer_sets if each.steps is None]
    return Section(
        key=KEY,
        study=study,
        title="How often do edits fail, and what could the effects be without that?",
        text=list(_TEXT),
        warnings=_warnings(counted),
        figures=[_figure(counted)],
        tables=[_counts(counted), *(each for each in bounds if each is not None)],
        sources=[INTERVALS[WILSON_CLUSTERED], SOURCES[0]],
    )


class _Counted(NamedTuple):
    """Failures of a group: share with its interval, images that fail, images."""

    what: str
    group: Group
    share: float
    low: float
    high: float
    fail: int
    images: int


def _levels(design: Design, attributes: Mapping[str, Attribute], images: int) -> Iterator[Group]:
    """The images of each level of each varied attribute."""
    cells = design.cells()
    for name, values in design.levels.items():
        for value in values:
            here = np.array([cell[name] == value for cell in cells], dtype=np.bool_)
            yield Group(f"{words(name)}: {attributes[name].label(value)}", np.resize(here, images))


def _rate(
    failed: Bool[np.ndarray, " n"], inside: Bool[np.ndarray, " n"], people: Int[np.ndarray, " n"]
) -> tuple[float, float, float, int, int]:
    _, who = np.unique(people[inside], return_inverse=True)
    counts = np.bincount(who).astype(np.float64)
    hits = np.bincount(who, weights=failed[inside].astype(np.float64))
    if not len(counts):
        return np.nan, np.nan, np.nan, 0, 0
    low, high = wilson_clustered(hits[:, None], counts[:, None])
    return float(hits.sum() / counts.sum()), float(low[0]), float(high[0]), int(hits.sum()), int(counts.sum())


def _warnings(counted: Sequence[_Counted]) -> list[str]:
    """Sorts of which two groups' intervals do not meet."""
    warnings = []
    for what in dict.fromkeys(each.what for each in counted):
        those = [each for each in counted if each.what == what and each.images]
        first, last = min(those, key=lambda each: each.high), max(those, key=lambda each: each.low)
        if first.high < last.low:
            warnings.append(
                f"Edits fail more often for {last.group.label} ({100 * last.share:.0f} %) than for {first.group.label} "
                f"({100 * first.share:.0f} %): read the bounds, and not the effects alone."
            )
    return warnings


def _counts(counted: Sequence[_Counted]) -> Table:
    heads = [("images", "text"), ("by", "text"), ("number", "count"), ("fail", "count")]
    heads += [("share", "proportion"), ("low", "proportion"), ("high", "proportion")]
    rows = [[each.group.label, each.what, each.images, each.fail, *each[2:5]] for each in counted]
    return table("Failures by level and by group", heads, rows)


def _figure(counted: Sequence[_Counted]) -> Figure:
    """A panel for the levels and one for each label, a dot per group."""
    panels = []
    for what in dict.fromkeys(each.what for each in counted):
        points = [
            point(each.share, low=each.low, high=each.high, label=each.group.label, n=each.images)
            for each in counted
            if each.what == what
        ]
        series = [Series(name="share of images", points=points)]
        panels.append(Panel(heading=what, y_words="images that fail", unit="proportion", series=series))
    caption = "(share of the images, %, with 95 % intervals by person)"
    return Figure(kind="rows", title="Where do edits fail?", caption=caption, panels=panels)


def _bounds_table(
    answers: Answers, failed: Bool[np.ndarray, " n"], groups: Mapping[str, Sequence[Group]]
) -> Table | None:
    """A row per contrast in which an image fails, of all photographs and of each group; None without one."""
    outcome, values = compared(answers)
    unit = "points" if answers.binary else "number"
    everyone = Group("all", np.ones(len(values), dtype=np.bool_))
    sorts = [everyone, *(group for each in groups.values() for group in each)]
    rows = [
        row for name in answers.design.levels for group in sorts for row in _rows(answers, name, values, failed, group)
    ]
    if not rows:
        return None
    heads = [("effect", "text"), ("photographs", "text"), ("fail, first", "proportion"), ("fail, second", "proportion")]
    heads += [("effect of all images", unit), ("effect where both pass", unit)]
    heads += [(f"bounds: {end}", unit) for end in ("smallest", "largest", "interval low", "interval high")]
    title = f"What the effects on the {outcome} of {short_name(answers.target)} could be, had no edit failed"
    return table(title, [*heads, ("note", "text")], rows)


def _rows(
    answers: Answers, name: str, values: Float[np.ndarray, " n"], failed: Bool[np.ndarray, " n"], group: Group
) -> Iterator[list[object]]:
    """From the first level of an attribute to each other one, or of a number to the last."""
    levels, attribute = answers.design.levels[name], answers.attributes[name]
    people = answers.subjects[:: answers.design.n_cells].astype(np.int64)
    shape = (answers.design.subjects, *answers.design.shape)
    axis = list(answers.design.levels).index(name) + 1

    def cells_of(column: np.ndarray, level: int) -> Float[np.ndarray, "n cells"]:
        grid = column.reshape(shape).astype(np.float64)
        return np.asarray(np.moveaxis(grid, axis, 1)[:, level].reshape(len(grid), -1))

    for level in range(1, len(levels)) if attribute.discrete else [len(levels) - 1][: len(levels) - 1]:
        pairs = [(cells_of(values, at), cells_of(failed, at), cells_of(group.inside, at)) for at in (0, level)]
        (first, lost_first, here), (second, lost_second, _) = pairs
        sent = np.isfinite(first) & np.isfinite(second) & (here == 1)
        if not (sent & ((lost_first == 1) | (lost_second == 1))).any():
            continue
        text = f"{words(name)}: {attribute.label(levels[0])} to {attribute.label(levels[level])}"
        valid_first, valid_second = np.where(lost_first == 1, np.nan, first), np.where(lost_second == 1, np.nan, second)
        shares = [float(lost[sent].mean()) for lost in (lost_first, lost_second)]
        effects = [_mean(first, second, sent), _mean(valid_first, valid_second, sent)]
        bounds = Bounds(np.nan, np.nan, np.nan, np.nan, _NO_RANGE)
        if answers.binary:
            bounds = paired_bounds(valid_first, valid_second, sent, people=people, seed=answers.design.seed)
        yield [text, group.label, *shares, *effects, *_cells(bounds), bounds.reason]


def _mean(
    first: Float[np.ndarray, "n cells"], second: Float[np.ndarray, "n cells"], sent: Bool[np.ndarray, "n cells"]
) -> float:
    both = level_differences(np.where(sent, first, np.nan), np.where(sent, second, np.nan))
    return float(both[np.isfinite(both)].mean()) if np.isfinite(both).any() else np.nan


def _cells(bounds: Bounds) -> list[object]:
    return [bounds.smallest, bounds.largest, bounds.low, bounds.high]
