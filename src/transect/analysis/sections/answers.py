"""One target's answers in one study as arrays, and what sections share: groups, attributes in parts, points, tables."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, SupportsFloat, final

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from transect.analysis.asked_answers import Asked
from transect.effects.interrogation import Bounds, Condition
from transect.effects.intervals import wilson_clustered
from transect.effects.observational import cut
from transect.effects.outcomes import Truth
from transect.effects.samples import MOST_LEVELS, one_hot
from transect.effects.verification import Verified
from transect.ratings.perceived_attributes import OF_THE_PICTURE, PerceivedAttribute
from transect.records import Annotations, Attribute, Design, Task
from transect.reports.records import Figure, FigureKind, Panel, Point, Section, Series, Table, Unit, column_unit
from transect.runs.spec import StepSize
from transect.runs.wording import spaced

BALAKRISHNAN: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """One target's answers in one study, image by image (float64 [n], NaN where there is none).

    scores: of yes; answers: 0 or 1; truth: 0 or 1, or a number for a regression; errors: 0 or 1, or absolute errors.
    threshold: from which a score is a yes. values: each attribute's value, as the world or the labels have it;
    perceived: as raters saw it, in the units of `values` (empty without ratings). rated: the truth as raters saw it, 0
    or 1 (empty where nobody said); others: further attributes that raters may have seen, whose levels have no order,
    and those of `held`: values of attributes that observed images are not compared by, but adjusted for.
    steps: the size of a step of a study in steps λ, else None. boundary: the scores between which a
    subject is near it, where the user says so; None for the published ones. by: attributes whose combinations errors
    are counted by, where the user says so. bins: cut points of observed attributes that the user states.
    at_thresholds: further thresholds that the user states.
    cells: index of each image's cell;
    subjects: the subject of each image. pruned: images that rules leave out, which have no answers here. people: mean
    answers of people, by attribute, NaN for images that nobody rated; by_machine: whether `perceived` is of something
    else that rated them. people_truth: 0 or 1, the truth as people alone saw it (empty
    where they were not asked about it). failures: why the target has no valid answer, "" where it has one (empty
    where that is not known). said: people's single answers by attribute; stated: the truth, as it was asked about.
    verified: of an embedding target, which images verify; None without a threshold. seen: attributes as raters saw
    them, by name with `perceived_`, without pruned images. judge: the question in `said` whose raters decide what is
    right; "" where the truth is none of theirs. covariates: what errors are adjusted for, where the user says so.
    asked: of a target that answers in words, the question and what was said; None for another target. drawn_by: the
    generator from which subjects are drawn by their numbers, "" where they are people on photographs.
    """

    study: str
    target: str
    task: Task
    design: Design
    attributes: Mapping[str, Attribute]
    subjects: Int[np.ndarray, " n"]
    cells: Int[np.ndarray, " n"]
    scores: Float[np.ndarray, " n"]
    answers: Float[np.ndarray, " n"]
    truth: Float[np.ndarray, " n"]
    errors: Float[np.ndarray, " n"]
    threshold: float
    truth_attribute: str
    values: Mapping[str, Float[np.ndarray, " n"]]
    perceived: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    held: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    steps: StepSize | None = None
    boundary: tuple[float, float] | None = None
    by: tuple[str, ...] = ()
    bins: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    rated: Float[np.ndarray, " _"] = field(default_factory=lambda: np.empty(0))
    others: Mapping[str, Attribute] = field(default_factory=dict)
    pruned: int = 0
    people: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    at_thresholds: tuple[float, ...] = ()
    by_machine: bool = False
    people_truth: Float[np.ndarray, " _"] = field(default_factory=lambda: np.empty(0))
    failures: tuple[str, ...] = ()
    said: Mapping[str, Annotations] = field(default_factory=dict)
    stated: Truth | None = None
    verified: Verified | None = None
    seen: Mapping[str, PerceivedAttribute] = field(default_factory=dict)
    judge: str = ""
    covariates: tuple[str, ...] = ()
    asked: Asked | None = None
    drawn_by: str = ""

    def cut_points(self, name: str) -> tuple[float, ...]:
        """Stated cut points of a column of `perceived`, or of `values` where nothing was rated; () for none."""
        rated = [key for key, seen in self.seen.items() if seen.about == name] if self.perceived else []
        return next((self.bins[key] for key in rated if key in self.bins), self.bins.get(name, ()))

    @property
    def adjusted(self) -> Mapping[str, Float[np.ndarray, " n"]]:
        """What errors are adjusted for: perceived values, or the images' own; those that the user names, else all."""
        columns = self.perceived or {**self.values, **self.held}
        if self.covariates:
            return {name: values for name, values in columns.items() if name in self.covariates}
        return {name: values for name, values in columns.items() if name not in OF_THE_PICTURE or not self.perceived}

    @property
    def known(self) -> Mapping[str, Attribute]:
        """Attributes that perceived values may be of."""
        return {**self.others, **self.attributes}

    @property
    def rated_truth(self) -> Float[np.ndarray, " n"]:
        """The truth as raters saw it, 0 or 1; NaN where nobody did."""
        return self.rated if len(self.rated) else np.full(len(self.scores), np.nan)

    @property
    def binary(self) -> bool:
        """Whether the target says yes or no."""
        return self.task not in (Task.REGRESSION, Task.EMBEDDING)

    @property
    def judged(self) -> bool:
        """Whether there are right and wrong answers, both yes and no."""
        return self.binary and bool(np.isfinite(self.errors).any())

    @property
    def cut(self) -> bool:
        """Whether a yes is a score of at least `threshold`; detectors and multiclass targets decide otherwise."""
        return self.task in (Task.BINARY, Task.MULTILABEL)

    def grid(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, "subjects cells"]:
        """One row per subject of a transect design."""
        return np.asarray(values.reshape(self.design.subjects, self.design.n_cells))

    def by_level(
        self, values: Shaped[np.ndarray, "n ..."], name: str
    ) -> Shaped[np.ndarray, "subjects levels cells ..."]:
        """Values of images as [subject, level of the attribute, cells of the other attributes, ...]."""
        design, rest = self.design, values.shape[1:]
        axis = list(design.levels).index(name) + 1
        grid = np.moveaxis(values.reshape(design.subjects, *design.shape, *rest), axis, 1)
        return np.asarray(grid.reshape(design.subjects, len(design.levels[name]), -1, *rest))

    @property
    def who(self) -> Int[np.ndarray, " subjects"]:
        """Who is on each subject of a transect; several photographs may show one person."""
        return np.asarray(self.subjects[:: self.design.n_cells]).astype(np.int64)

    @property
    def settings(self) -> dict[str, Float[np.ndarray, " n"]]:
        """The value of each varied attribute that was set on each image."""
        cells = np.array([list(cell.values()) for cell in self.design.cells()])[self.cells]
        return {name: cells[:, place] for place, name in enumerate(self.design.levels)}

    @property
    def counted(self) -> tuple[Float[np.ndarray, " n"], str]:
        """What is explained by what people saw, and what it is called: errors, else answers or scores."""
        if self.judged:
            return self.errors, "error"
        return self.answers if self.binary else self.scores, "answer"


def number(value: float) -> float | None:
    """The number, or None where it is not finite."""
    return float(value) if np.isfinite(value) else None


Column = tuple[str, str]
"""Heading of a column, and its unit as `Table` knows it."""


def point(
    value: float,
    *,
    low: float = np.nan,
    high: float = np.nan,
    x: float | None = None,
    label: str = "",
    n: int | None = None,
    reason: str = "",
    counts: Sequence[int] = (),
) -> Point:
    """A point of a figure, NaN as None."""
    ends = {"low": number(low), "high": number(high)}
    return Point(x=x, label=label, value=number(value), **ends, n=n, reason=reason, counts=counts)


def dot(found: Any, label: str, n: int | None = None) -> Point:
    """The point of a record with estimate, low, high and reason."""
    return point(found.estimate, low=found.low, high=found.high, label=label, n=n, reason=found.reason)


def ends(found: object) -> list[object]:
    """Estimate, low and high of a record, as cells of a table."""
    return [getattr(found, name) for name in ("estimate", "low", "high")]


def bounds_cells(bounds: Bounds) -> list[object]:
    """Both bounds of an effect, and the interval of the range between them, as cells of a table."""
    return [bounds.smallest, bounds.largest, bounds.low, bounds.high]


def with_ends(name: str, unit: str) -> list[Column]:
    """The columns of an estimate and of the ends of its interval."""
    return [(name, unit), (f"{name}: low", unit), (f"{name}: high", unit)]


def drawn(
    kind: FigureKind,
    title: str,
    caption: str,
    panels: Mapping[str, Mapping[str, Sequence[Point]]],
    y_words: str,
    unit: Unit = "number",
    *,
    x_words: str = "",
    same_axis: bool = True,
    folded: bool = False,
) -> Figure:
    """A figure of panels that share their axes. panels: by heading, the points of each series by its name."""
    made = [
        Panel(
            heading=heading, x_words=x_words, y_words=y_words, unit=unit,
            series=[Series(name, points) for name, points in series.items()],
        )
        for heading, series in panels.items()
    ]  # fmt: skip
    return Figure(kind=kind, title=title, caption=caption, same_axis=same_axis, folded=folded, panels=made)


class Share(NamedTuple):
    """A share with its 95 % interval by subject, how many have it, and of how many; NaN of none."""

    value: float
    low: float
    high: float
    hits: int
    n: int

    def dot(self, label: str) -> Point:
        """The share as a point of a figure."""
        return point(self.value, low=self.low, high=self.high, label=label, n=self.n)


def by_subject(
    values: Float[np.ndarray, " n"], subjects: Int[np.ndarray, " n"]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """The sum of each subject's known values, and their number; one subject with none where nothing is known."""
    known = np.isfinite(values)
    _, who = np.unique(subjects[known], return_inverse=True)
    sums = np.bincount(who, values[known], minlength=1).astype(np.float64)
    return sums, np.bincount(who, minlength=1).astype(np.float64)


def share(values: Float[np.ndarray, " n"], subjects: Int[np.ndarray, " n"]) -> Share:
    """The share of ones among zeros and ones; NaN does not count."""
    hits, counts = by_subject(values, subjects)
    if not counts.sum():
        return Share(np.nan, np.nan, np.nan, 0, 0)
    low, high = wilson_clustered(hits[:, None], counts[:, None])
    return Share(float(hits.sum() / counts.sum()), float(low[0]), float(high[0]), int(hits.sum()), int(counts.sum()))


class Group(NamedTuple):
    """Some of the images: what they have in common, in words, and which they are."""

    label: str
    inside: Bool[np.ndarray, " n"]


def image_groups(answers: Answers) -> list[Group]:
    """All images, then those of each group of each attribute."""
    groups = [Group("all images", np.ones(len(answers.subjects), dtype=np.bool_))]
    for name in answers.values:
        found = condition(answers, name)
        groups += [
            Group(f"{words(name)}: {group}", np.asarray(found.codes == code)) for code, group in enumerate(found.groups)
        ]
    return groups


def dots(groups: Sequence[Group], shares: Sequence[Share]) -> list[Point]:
    """The share of each group as a point."""
    return [each.dot(group.label) for group, each in zip(groups, shares, strict=True)]


def table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[object]]) -> Table:
    """A table from (heading, unit) pairs; NaN as None."""
    cells = [[_cell(value) for value in row] for row in rows]
    return Table(title, [name for name, _ in columns], [column_unit(unit) for _, unit in columns], cells)


def _cell(value: object) -> str | float | None:
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, SupportsFloat):
        raise TypeError(f"expected a text, a number or None in a table, got {type(value).__name__}")
    return number(float(value))


words = spaced


def compared(answers: Answers) -> tuple[str, Float[np.ndarray, " n"]]:
    """What is counted on one target, in words, and its values: errors where the truth is known, else answers."""
    if answers.binary:
        return ("error rate", answers.errors) if answers.judged else ("rate of yes", answers.answers)
    return ("mean error", answers.errors) if np.isfinite(answers.errors).any() else ("mean answer", answers.scores)


def nominal(attribute: Attribute | None) -> bool:
    """Whether values are names in no order, so that their numbers mean nothing: more than two levels."""
    return attribute is not None and attribute.nominal


def covariates(
    attributes: Mapping[str, Attribute], columns: Mapping[str, Float[np.ndarray, " _"]]
) -> dict[str, Float[np.ndarray, " _"]]:
    """Columns to adjust for: an indicator per level of a nominal attribute but the first that occurs, others as given.

    A column that does not vary tells nothing and is left out. Mean ratings between the levels of a nominal attribute
    are cut as `one_hot` cuts numbers.

    >>> hair = Attribute("hair", "categorical", "hair style", levels=("bald", "bun", "long"))
    >>> {name: column.tolist() for name, column in covariates({"hair": hair}, {"hair": np.array([1.0, 2.0])}).items()}
    {'hair: long': [0.0, 1.0]}
    """
    covariates_of: dict[str, Float[np.ndarray, " _"]] = {}
    for name, values in columns.items():
        known = values[np.isfinite(values)]
        if len(np.unique(known)) < 2:
            continue
        covariates_of |= (
            _indicators(attributes[name], name, values) if nominal(attributes.get(name)) else {name: values}
        )
    return covariates_of


def _indicators(attribute: Attribute, name: str, values: Float[np.ndarray, " n"]) -> dict[str, Float[np.ndarray, " n"]]:
    known = values[np.isfinite(values)]
    whole = bool(np.isin(known, range(len(attribute.levels))).all())
    indicators = one_hot({name: values}, levels={name: attribute.levels} if whole else None)
    present = [place for place in range(len(indicators.names)) if np.nansum(indicators.x[:, place]) > 0]
    return {indicators.names[place]: indicators.x[:, place] for place in present[1:]}


def condition(answers: Answers, name: str) -> Condition:
    """Each image's group of an attribute, in order.

    A level that was set is a group. So is each value of an attribute that was observed and has at most six; a range is
    cut at the user's cut points (`bins`), else at its terciles. Ranges are closed at their low end: "[30, 50)". What
    raters saw is grouped by `PerceivedAttribute.cuts`. Groups that no image has are left out.
    """
    if name in answers.design.levels:
        return _set(answers, name)
    if name in answers.seen:
        return _perceived(answers.seen[name], answers.bins.get(name))
    attribute, values = answers.known[name], {**answers.held, **answers.values}[name]
    known = np.isfinite(values)
    if not attribute.discrete and name not in answers.bins and len(np.unique(values[known])) <= MOST_LEVELS:
        levels, codes = np.unique(values[known], return_inverse=True)
        every = np.full(len(values), -1, dtype=np.int64)
        every[known] = codes
        return Condition(tuple(attribute.label(level) for level in levels), every)
    groups = cut(attribute, values, answers.bins.get(name))
    present = [place for place in range(len(groups.centers)) if (groups.index == place).any()]
    codes = np.full(len(values), -1, dtype=np.int64)
    for code, place in enumerate(present):
        codes[groups.index == place] = code
    return Condition(tuple(groups.label(place) for place in present), codes)


def _perceived(seen: PerceivedAttribute, stated: Sequence[float] | None) -> Condition:
    groups = seen.cuts(stated)
    codes = groups.of_values(seen.values)
    present = np.unique(codes[codes >= 0]).tolist()
    return Condition(tuple(groups.names[place] for place in present), renumbered(codes, present, len(groups.names)))


def renumbered(codes: Int[np.ndarray, " n"], present: Sequence[int], groups: int) -> Int[np.ndarray, " n"]:
    """Codes as places among the groups that are present; -1 for the others."""
    places = np.full(groups + 1, -1, dtype=np.int64)
    places[list(present)] = np.arange(len(present))
    return np.asarray(places[codes])


def texts(groups: Condition) -> np.ndarray:
    """Each image's group as a text, "" for none: object [n]."""
    return np.asarray(np.array([*groups.groups, ""], dtype=object)[groups.codes])


def _set(answers: Answers, name: str) -> Condition:
    attribute, levels = answers.attributes[name], answers.design.levels[name]
    place = np.array([levels.index(cell[name]) for cell in answers.design.cells()], dtype=np.int64)
    return Condition(tuple(attribute.label(level) for level in levels), place[answers.cells])


@final
@dataclass(frozen=True, slots=True)
class Split:
    """told: the two sides in words; at: the first value of the second side; chosen: 1 or 0 [n], NaN without a value;
    others: columns to hold equal.
    """

    told: str
    at: float
    chosen: Float[np.ndarray, " n"]
    others: Mapping[str, Float[np.ndarray, " _"]]


def splits(
    answers: Answers, columns: Mapping[str, Float[np.ndarray, " _"]], held: Mapping[str, Float[np.ndarray, " _"]]
) -> dict[str, Split]:
    """Every attribute that varies and has no more than two names, parted at a stated cut, its median, or off and on."""
    parts, everything = {}, {**columns, **held}
    for name, values in columns.items():
        known = values[np.isfinite(values)]
        if len(np.unique(known)) < 2 or nominal(answers.known.get(name)) or _unparted(answers, name, known):
            continue
        attribute = answers.known[name] if named(answers.known, name, values) else None
        others = covariates(answers.known, {other: column for other, column in everything.items() if other != name})
        at = _middle(known, answers.cut_points(name))
        parts[name] = Split(_told(attribute, at), at, half(values, at), others)
    return parts


def whole(
    answers: Answers, columns: Mapping[str, Float[np.ndarray, " _"]], parted: Mapping[str, Split]
) -> dict[str, str]:
    """Why the attributes that `splits` left out have no two sides, in words."""
    reasons = {}
    for name, values in columns.items():
        if name not in parted:
            known = values[np.isfinite(values)]
            levels = answers.known[name].levels if nominal(answers.known.get(name)) else ()
            varies = f"{len(levels)} levels" if levels else "no image on one side of the cut that --bins states"
            reasons[name] = varies if len(np.unique(known)) > 1 else "does not vary"
    return reasons


def _unparted(answers: Answers, name: str, known: Float[np.ndarray, " n"]) -> bool:
    """Whether cut points are stated and none has images on both sides."""
    stated = answers.cut_points(name)
    return bool(stated) and not any(known.min() < point <= known.max() for point in stated)


def named(attributes: Mapping[str, Attribute], name: str, values: Float[np.ndarray, " n"]) -> bool:
    """Whether every value is a level of the attribute."""
    attribute = attributes.get(name)
    return (
        attribute is not None
        and attribute.discrete
        and bool(np.isin(values[np.isfinite(values)], range(len(attribute.levels))).all())
    )


def half(values: Float[np.ndarray, " n"], at: float) -> Float[np.ndarray, " n"]:
    """0 below a value and 1 from it on; NaN without a value.

    >>> half(np.array([0.0, 0.0, 1.0, np.nan]), 1.0)
    array([ 0.,  0.,  1., nan])
    """
    return np.where(np.isfinite(values), (values >= at).astype(np.float64), np.nan)


def _middle(known: Float[np.ndarray, " n"], stated: Sequence[float] = ()) -> float:
    """The stated cut point nearest to the median, else the median, or the next value where that is the smallest.

    known: finite values, not all the same. Stated points that leave a side empty are passed over.

    >>> _middle(np.array([20.0, 30.0, 40.0, 70.0]), (25.0, 50.0, 90.0)), _middle(np.array([0.0, 0.0, 1.0]))
    (25.0, 1.0)
    """
    middle = float(np.median(known))
    parting = [point for point in stated if known.min() < point <= known.max()]
    if parting:
        return min(parting, key=lambda point: abs(point - middle))
    return middle if middle > known.min() else float(known[known > known.min()].min())


def _told(attribute: Attribute | None, at: float) -> str:
    if attribute is not None:
        return f"{attribute.levels[1]} vs {attribute.levels[0]}"
    return f"{at:.3g} or above vs below"


def without_empty(section: Section) -> Section:
    """The section without points, series, panels and figures that have no value; a last paragraph names them."""
    figures = [(figure, _drawn(figure)) for figure in section.figures]
    left_out = [name for figure, drawn in figures for name in _missing(figure, drawn)]
    kept = [drawn for _, drawn in figures if drawn.panels]
    note = [f"Not drawn, since no image has the answers that it needs: {'; '.join(left_out)}."] if left_out else []
    return replace(section, figures=kept, text=[*section.text, *note])


def _drawn(figure: Figure) -> Figure:
    panels = []
    for panel in figure.panels:
        known = [[p for p in one.points if p.value is not None and math.isfinite(p.value)] for one in panel.series]
        series = [replace(one, points=points) for one, points in zip(panel.series, known, strict=True)]
        if shown := [one for one in series if one.points]:
            panels.append(replace(panel, series=shown))
    return replace(figure, panels=panels)


def _missing(figure: Figure, drawn: Figure) -> Iterator[str]:
    """The names of what was left out: the whole figure, a panel of it, or labels within."""
    if not drawn.panels:
        yield figure.title
        return
    kept = {panel.heading: _labels(panel) for panel in drawn.panels}
    for panel in figure.panels:
        if panel.heading not in kept:
            yield f"{figure.title}, {panel.heading}"
        elif labels := [label for label in _labels(panel) if label not in kept[panel.heading]]:
            yield f"{figure.title}, {', '.join(labels)}"


def _labels(panel: Panel) -> list[str]:
    return list(dict.fromkeys(point.label for series in panel.series for point in series.points if point.label))
