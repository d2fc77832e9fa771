"""Sensitivity of answers to steps λ from each subject's own value (Denton et al. 2019): scores, classes, flips,
labels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis.sections.answers import Answers, drawn, point, table, with_ends, words
from transect.analysis.sections.places import placed
from transect.designs.steps import DIRECTION
from transect.effects import sensitivity
from transect.effects.curves import SOURCES as BANDS
from transect.effects.equal_quality import LABEL_MARGIN, Validity, validity
from transect.effects.intervals import SCHUIRMANN as EQUIVALENCE
from transect.effects.sensitivity import ClassificationSensitivity, Curve, ScoreSensitivity
from transect.reports.records import Figure, Panel, Point, Section, Series, Table, Unit

ALL: Final = "all subjects"
BOUNDARY: Final = "near the boundary"


class Measured:
    """One target's sensitivities along one attribute; `score` and `classes` by whether subjects are near the boundary.

    scored: there are scores (a detector without confidences has none; its answers are then all there is). bounded:
    the boundary can be told: by default from probabilities cut within the band, with a band of the user's from any
    scores of a target that says yes or no.
    """

    def __init__(self, answers: Answers) -> None:
        self.own = answers
        self.attribute = next(iter(answers.design.levels))
        self.name = words(self.attribute)
        self.steps = np.array(answers.design.levels[self.attribute])
        self.band = answers.boundary or sensitivity.NEAR
        self.scored = bool(np.isfinite(answers.scores).any())
        cut = answers.cut and self.band[0] < answers.threshold < self.band[1]
        self.bounded = self.scored and answers.binary and (answers.boundary is not None or cut)
        self.places = (False, True) if self.bounded else (False,)
        self.score = {near: self._score(near) for near in self.places}
        self.classes = {near: self.kept(self.near if near else None) for near in self.places} if answers.binary else {}

    @property
    def by_direction(self) -> bool:
        """Whether λ is in units of the direction, and not of half-ranges."""
        return self.own.steps is not None and self.own.steps.by == DIRECTION

    @property
    def axis(self) -> str:
        """What λ is, below an axis."""
        return f"λ, {'units of the direction' if self.by_direction else 'half-ranges'} from the subject's own value"

    @property
    def moved(self) -> list[int]:
        """Places of the steps other than λ = 0."""
        return np.flatnonzero(self.steps != 0).tolist()

    @property
    def near(self) -> Bool[np.ndarray, " subjects"]:
        """Which subjects are near the boundary at λ = 0."""
        base = self.own.grid(self.own.scores)[:, self.steps == 0][:, 0]
        return np.asarray((base > self.band[0]) & (base < self.band[1]))

    def _score(self, near: bool) -> ScoreSensitivity:
        answers, band = self.own, self.band if near else None
        scores = answers.grid(answers.scores if self.scored else answers.answers)
        return sensitivity.score_sensitivity(scores, self.steps, near=band, seed=answers.design.seed)

    def kept(self, keep: Bool[np.ndarray, " n"] | Bool[np.ndarray, "n k"] | None) -> ClassificationSensitivity:
        """Of the answers, over the subjects (or images) to keep."""
        grid = self.own.grid(self.own.answers)
        return sensitivity.classification_sensitivity(grid, self.steps, keep=keep, seed=self.own.design.seed)


def where(near: bool) -> str:
    """Of which subjects, in words."""
    return BOUNDARY if near else ALL


def left_out(curve: Curve, place: int) -> str:
    """Why subjects do not count at a step, with counts; those that are kept on request are those near the boundary."""
    counts = curve.excluded[place].items()
    return (
        "; ".join(f"{sensitivity.NOT_NEAR if why == sensitivity.LEFT_OUT else why}: {n}" for why, n in counts) or "none"
    )


RATED: Final = "as rated"
TRUE: Final = "by the world's causal model"


@final
@dataclass(frozen=True, slots=True)
class Checked:
    """One attribute's walk, and where along it the label moved, by one source of labels."""

    measured: Measured
    found: Validity

    @property
    def labelled(self) -> bool:
        """Whether any subject has a label at λ = 0 and at another step."""
        return bool(self.found.subjects[self.measured.moved].any())

    def score(self) -> tuple[Curve, Curve]:
        """Score sensitivity of all images, and of those whose label is known to have stayed."""
        m = self.measured
        grid = m.own.grid(m.own.scores)
        stayed = sensitivity.score_sensitivity(grid, m.steps, keep=self.found.unmoved, seed=m.own.design.seed)
        return m.score[False].signed, stayed.signed

    def classes(self) -> tuple[Curve, Curve]:
        """Classification sensitivity, the same two."""
        return self.measured.classes[False].signed, self.measured.kept(self.found.unmoved).signed


def check(measured: Sequence[Measured]) -> dict[str, list[Checked]]:
    """By source of labels the walks that can be checked: not those along the label's own attribute."""
    checks: dict[str, list[Checked]] = {}
    for source in (RATED, TRUE):
        able = [m for m in measured if _can_check(m, source)]
        rows = [Checked(m, validity(m.own.grid(_labels(m.own, source)), m.steps)) for m in able]
        if rows := [checked for checked in rows if checked.labelled]:
            checks[source] = rows
    return checks


def _labels(answers: Answers, source: str) -> Float[np.ndarray, " n"]:
    return answers.rated_truth if source == RATED else answers.truth


def _can_check(m: Measured, source: str) -> bool:
    answers, labels = m.own, _labels(m.own, source)
    known = labels[np.isfinite(labels)]
    yes_or_no = len(known) > 0 and bool(np.isin(known, (0.0, 1.0)).all())
    return answers.binary and answers.truth_attribute not in ("", m.attribute) and yes_or_no


def label_figures(checks: dict[str, list[Checked]]) -> list[Figure]:
    """Shares that moved by attribute and step, and sensitivities with and without those images, of each source."""
    figures = []
    for source, rows in checks.items():
        if source == RATED or any(checked.found.moved.any() for checked in rows):
            figures += [_moved(source, rows), _beside(source, rows)]
    return figures


def _label(rows: Sequence[Checked]) -> str:
    return words(rows[0].measured.own.truth_attribute)


def _moved(source: str, rows: Sequence[Checked]) -> Figure:
    lines = {}
    for checked in rows:
        found = checked.found
        columns = zip(found.steps, found.share, found.low, found.high, found.subjects, strict=True)
        lines[checked.measured.name] = [
            point(share, low=low, high=high, x=float(step), n=int(n))
            if step
            else point(share, x=0.0, n=int(n), reason="the subject's own image")
            for step, share, low, high, n in columns
        ]
    title, panels = f"Did the label stay, {source}?", {f"{_label(rows).capitalize()}, {source}": lines}
    caption = "(shares of the subjects with a label at this step and at λ = 0; the numbers are those subjects)"
    axis = rows[0].measured.axis
    return drawn("curves", title, caption, panels, "share whose label moved", "proportion", x_words=axis)


def _beside(source: str, rows: Sequence[Checked]) -> Figure:
    """A panel per attribute: the classification sensitivity of all, and where the label stayed."""
    panels = {}
    for checked in rows:
        every, stayed = checked.classes()
        panels[checked.measured.name.capitalize()] = {"all": line(every), "label stayed": line(stayed)}
    title = f"Classification sensitivity with and without the images whose label moved, {source}"
    caption, axis = "(the numbers are subjects)", rows[0].measured.axis
    return drawn("curves", title, caption, panels, "change of the rate of yes", "points", x_words=axis)


def label_tables(checks: dict[str, list[Checked]]) -> list[Table]:
    """The same in numbers, with the tests of equivalence."""
    tables = []
    for source, rows in checks.items():
        tables += [_shares(source, rows), _with_and_without(source, rows, "score"), _with_and_without(source, rows)]
    return [table for table in tables if table.rows]


def _shares(source: str, rows: Sequence[Checked]) -> Table:
    columns = [("attribute", "text"), ("λ", "number")]
    columns += [("label moved", "proportion"), ("low", "proportion"), ("high", "proportion")]
    columns += [("subjects", "count"), ("without a label", "count"), ("change of the rate", "points")]
    columns += [("90 %: low", "points"), ("90 %: high", "points")]
    columns += [("p of equivalence", "p"), ("within the margin", "text")]
    cells = []
    for checked in rows:
        found = checked.found
        for place in checked.measured.moved:
            test = found.equivalence[place]
            verdict = "shown" if test.equivalent else test.reason or "not shown"
            ends = found.share[place], found.low[place], found.high[place]
            counts = int(found.subjects[place]), int(found.missing[place])
            tested = test.estimate, test.low, test.high, test.p, verdict
            cells.append([checked.measured.name, checked.measured.steps[place], *ends, *counts, *tested])
    return table(f"Did the label ({_label(rows)}) stay, {source}? Margin {100 * LABEL_MARGIN:g} points", columns, cells)


def _with_and_without(source: str, rows: Sequence[Checked], measure: str = "class") -> Table:
    unit, sign = ("number", "S score") if measure == "score" else ("points", "S class, points")
    columns = [("attribute", "text"), ("λ", "number")]
    for which in ("all", "label stayed"):
        columns += [(f"{sign}: {which}", unit), (f"{which}: low", unit), (f"{which}: high", unit)]
    columns += [("subjects", "count"), ("label stayed: subjects", "count")]
    cells = []
    for checked in rows if measure == "class" else [checked for checked in rows if checked.measured.scored]:
        both = checked.score() if measure == "score" else checked.classes()
        for place in checked.measured.moved:
            ends = [value for curve in both for value in (curve.values[place], curve.low[place], curve.high[place])]
            counts = [int(curve.subjects[place]) for curve in both]
            cells.append([checked.measured.name, checked.measured.steps[place], *ends, *counts])
    of = "Score" if measure == "score" else "Classification"
    return table(f"{of} sensitivity with and without the images whose label moved, {source}", columns, cells)


def warnings(checks: dict[str, list[Checked]]) -> list[str]:
    """A line per source where the label moved in more subjects than does not matter."""
    lines = []
    for source, rows in checks.items():
        moved = [
            checked.measured.name
            for checked in rows
            if (checked.found.share[checked.measured.moved] > LABEL_MARGIN).any()
        ]
        if moved:
            lines.append(
                f"Moving {', '.join(moved)} also moved {_label(rows)}, {source}, in more than {100 * LABEL_MARGIN:g} % "
                "of the subjects: part of the change may be right."
            )
    return lines


_HEADS: Final = [("attribute", "text"), ("λ", "number"), ("over", "text")]
_TAIL: Final = [("subjects", "count"), ("not counted", "text"), ("note", "text")]


def measure_tables(measured: Sequence[Measured]) -> list[Table]:
    """The tables of one target; those without a row are left out."""
    tables = [_together(measured), _scores(measured), _answers(measured), _one_way(measured)]
    return [table for table in tables if table.rows]


def _places(measured: Sequence[Measured]) -> Iterator[tuple[Measured, int, bool, list[object]]]:
    """Every attribute, step and group of subjects, with the cells that begin its row."""
    for m in measured:
        for place in m.moved:
            for near in m.places:
                yield m, place, near, [m.name, m.steps[place], where(near)]


def _with_band(name: str, unit: str) -> list[tuple[str, str]]:
    return [*with_ends(name, unit), (f"{name}: band low", unit), (f"{name}: band high", unit)]


def _cells(curve: Curve, place: int) -> list[object]:
    return [curve.values[place], curve.low[place], curve.high[place]]


def _banded(curve: Curve, place: int) -> list[object]:
    return [*_cells(curve, place), curve.band.low[place], curve.band.high[place]]


def _at_step(found: ScoreSensitivity | ClassificationSensitivity, place: int) -> list[object]:
    """Both curves at a step, how many subjects it is of, why others are not counted, and a note."""
    signed = found.signed
    note = signed.reasons[place] or signed.band.reason
    end = [int(signed.subjects[place]), left_out(signed, place), note]
    return [*_banded(signed, place), *_banded(found.absolute, place), *end]


def _together(measured: Sequence[Measured]) -> Table:
    """Every measure of every attribute at every step in one table; flips one way are frequencies."""
    names = [("S of the score", "number"), ("S of the answer, points", "points"), ("flips", "proportion")]
    names += [("S 0→1", "proportion"), ("S 1→0", "proportion")]
    columns = [*_HEADS, *(column for name, unit in names for column in with_ends(name, unit)), ("subjects", "count")]
    rows = []
    for m, place, near, head in _places([m for m in measured if m.classes]):
        flips = m.classes[near]
        scores = _cells(m.score[near].signed, place) if m.scored else [None] * 3
        curves = (flips.signed, flips.absolute, flips.up, flips.down)
        cells = [cell for curve in curves for cell in _cells(curve, place)]
        rows.append([*head, *scores, *cells, int(flips.signed.subjects[place])])
    return table("Sensitivities of all attributes", columns, rows)


def _scores(measured: Sequence[Measured]) -> Table:
    columns = [*_HEADS, *_with_band("S", "number"), *_with_band("E|Δ|", "number"), *_TAIL]
    places = _places([m for m in measured if m.scored])
    rows = [[*head, *_at_step(m.score[near], place)] for m, place, near, head in places]
    return table("Changes of the score at every step", columns, rows)


def _answers(measured: Sequence[Measured]) -> Table:
    columns = [*_HEADS, *_with_band("S, points", "points"), *_with_band("flips", "proportion"), *_TAIL]
    places = _places([m for m in measured if m.classes])
    rows = [[*head, *_at_step(m.classes[near], place)] for m, place, near, head in places]
    return table("Changes of the answer at every step", columns, rows)


def _one_way(measured: Sequence[Measured]) -> Table:
    columns = [*_HEADS, ("flip", "text"), *with_ends("signed, points", "points")]
    columns += [*with_ends("frequency", "proportion"), ("subjects", "count"), ("note", "text")]
    rows = []
    for m, place, near, head in _places([m for m in measured if m.classes]):
        flips = m.classes[near]
        for name, signed, frequency in (("0→1", flips.up_signed, flips.up), ("1→0", flips.down_signed, flips.down)):
            end = [int(signed.subjects[place]), frequency.reasons[place]]
            rows.append([*head, name, *_cells(signed, place), *_cells(frequency, place), *end])
    return table("Flips one way at every step", columns, rows)


_AGAINST: Final = "(mean change against the subject's own image; the numbers are subjects)"
_ABSOLUTE: Final = (
    "(mean size of the change in either direction, and share of answers that flip either way: moves that cancel in the "
    "mean show here; the numbers are subjects)"
)
_FLIPS: Final = "(share of the subjects that answer no, or yes, at λ = 0; the numbers are those subjects)"


def measure_figures(measured: Sequence[Measured]) -> list[Figure]:
    """The figures of one target, an attribute per line."""
    binary = measured[0].own.binary
    title = "Score and classification sensitivity" if binary else "Score sensitivity"
    absolute = "Absolute changes, E|Δ|" + (", and answers that flip" if binary else "")
    figures = [_curves(title, _AGAINST, measured, signed=True), _curves(absolute, _ABSOLUTE, measured, signed=False)]
    return [*figures, _flips(measured)] if binary else figures


def _curves(title: str, caption: str, measured: Sequence[Measured], *, signed: bool) -> Figure:
    """Scores above, answers below; all subjects left, those near the boundary right."""
    kinds: list[tuple[str, str, Unit]] = []
    if all(m.scored for m in measured):
        kinds.append(("Score", "mean change of the score" if signed else "mean size of the score's change", "number"))
    if measured[0].own.binary:
        shown: tuple[str, Unit] = (
            ("change of the rate of yes", "points") if signed else ("share that flips", "proportion")
        )
        kinds.append(("Classification", *shown))
    panels = []
    for kind, y_words, unit in kinds:
        for near in (near for near in (False, True) if all(near in m.places for m in measured)):
            lines = []
            for m in measured:
                found = m.score[near] if kind == "Score" else m.classes[near]
                lines.append(Series(m.name, line(found.signed if signed else found.absolute)))
            heading, axis = f"{kind}, {where(near)}", measured[0].axis
            panels.append(Panel(heading=heading, x_words=axis, y_words=y_words, unit=unit, series=lines))
    return Figure(kind="curves", title=title, caption=caption, same_axis=False, panels=panels)


def line(curve: Curve) -> list[Point]:
    """One line of a figure, with the band of the whole curve."""
    rows = zip(curve.steps, curve.values, curve.band.low, curve.band.high, curve.subjects, curve.reasons, strict=True)
    without = curve.band.reason
    return [point(v, low=lo, high=hi, x=float(x), n=int(n), reason=why or without) for x, v, lo, hi, n, why in rows]


def _flips(measured: Sequence[Measured]) -> Figure:
    """Flips at either end of λ; an end where an attribute was not moved does not show it."""
    ends = ((0, -1.0, "attribute removed"), (-1, 1.0, "attribute added"))
    panels = []
    for end, sign, what in ends:
        moved = [m for m in measured if m.steps[end] * sign > 0]
        places = [near for near in (False, True) if moved and all(near in m.places for m in measured)]
        panels += [_flip_panel(moved, end, what, near, several=len(places) > 1) for near in places]
    return Figure(kind="bars", title="Answers that flip", caption=_FLIPS, panels=panels)


def _flip_panel(moved: Sequence[Measured], end: int, what: str, near: bool, *, several: bool) -> Panel:
    """Both one-way flips of every attribute at its first step or its last."""
    different = len({float(m.steps[end]) for m in moved}) > 1
    series = []
    for label, name in (("S 0→1", "up"), ("S 1→0", "down")):
        points = []
        for m in moved:
            curve: Curve = getattr(m.classes[near], name)
            called = f"{m.name}, {_at(m.steps[end])}" if different else m.name
            ends, n = {"low": curve.low[end], "high": curve.high[end]}, int(curve.subjects[end])
            points.append(point(curve.values[end], **ends, label=called, n=n, reason=curve.reasons[end]))
        series.append(Series(name=label, points=points))
    at = "Farthest step" if different else _at(moved[0].steps[end])
    heading = f"{at}: {what}" + (f", {where(near)}" if several else "")
    return Panel(heading=heading, y_words="share that flips", unit="proportion", series=series)


def _at(step: float) -> str:
    return f"λ = {step:+zg}".replace("-", "−")


_DENTON: Final = (
    "Each subject is shown at steps λ of one attribute, {unit}. {near} A band contains the whole true curve with 95 % "
    "confidence; a curve with a step of fewer than 20 subjects has none. Intervals in the tables are of each step "
    "alone, 95 %. Both are by subject."
)
_HALF_RANGES: Final = (
    "in units of half its range from the subject's own value; steps beyond the attribute's ends stop there"
)
_DIRECTIONS: Final = (
    "in units of its direction d, G(z + λ d) as published; no range stops the steps, and attributes whose directions "
    "are not at right angles to d move along"
)
_BOTH: Final = (
    "The left panels are all subjects, the right ones those near the decision boundary ({low:g} < score < {high:g} at "
    "λ = 0{chosen})."
)
_ALL: Final = (
    "All subjects are shown: the default band around the decision boundary is a probability between {low:g} "
    "and {high:g}, and this target does not answer with probabilities; set a band with --boundary LOW HIGH."
)
_NO_SCORES: Final = "All subjects are shown: without scores it is unknown who is near the decision boundary."
_NUMBERS: Final = "The target answers with numbers, so there is no classification to flip and no decision boundary."
_ONE_WAY: Final = (
    "S 0→1 and S 1→0 are over the subjects that answer no and yes at λ = 0. As the paper's Eq. 6 defines them they "
    "are signed (S 1→0 is never above 0); its Fig. 6 plots them as frequencies, as the bars here do. The table has "
    "both. E|Δ| is the mean size of the change (the paper's footnote 1): a target that moves some subjects up and as "
    "many down has S = 0, and E|Δ| above 0."
)
_LABEL: Final = (
    "A change of the answer is right where the task's own label changed too. A subject's label is compared with that "
    "at λ = 0; two one-sided tests show where its rate stayed within the margin."
)
_LEFT_OUT: Final = (
    "Rules leave out {n:,} images (see the ratings of each study): they count as images without a valid answer "
    "here, and a subject whose own image is left out counts as one without an answer at λ = 0."
)
_UNSTATED: Final = (
    "There are ratings, but --truth does not say which of them is the task's own label: whether it stayed is not "
    "checked."
)
_OUTSIDE: Final = (
    "The band {low:g} to {high:g} does not contain the target's threshold, {threshold:g}: its subjects are not "
    "those near the decision boundary."
)


@placed(10, "walks")
def section(answer_sets: Sequence[Answers]) -> Section:
    """The section of one target: `found` holds one study per attribute."""
    measured = [Measured(answers) for answers in answer_sets]
    checked, pruned = check(measured), sum(answers.pruned for answers in answer_sets)
    unit = _DIRECTIONS if measured[0].by_direction else _HALF_RANGES
    text = [_DENTON.format(near=_near_text(measured), unit=unit), *([_ONE_WAY] if answer_sets[0].binary else [])]
    return Section(
        key="sensitivity",
        target=answer_sets[0].target,
        title=f"Sensitivity of {answer_sets[0].target}",
        text=[*text, *([_LABEL] if checked else []), *([_LEFT_OUT.format(n=pruned)] if pruned else [])],
        warnings=[*_warnings(measured), *warnings(checked)],
        figures=[*measure_figures(measured), *label_figures(checked)],
        tables=[*measure_tables(measured), *label_tables(checked)],
        sources=[sensitivity.SOURCE, *([EQUIVALENCE] if checked else []), *BANDS],
    )


def _near_text(measured: Sequence[Measured]) -> str:
    first = measured[0]
    if not first.own.binary:
        return _NUMBERS
    if not all(m.scored for m in measured):
        return _NO_SCORES
    chosen = ", as asked for" if first.own.boundary else ""
    text = _BOTH if all(m.bounded for m in measured) else _ALL
    return text.format(low=first.band[0], high=first.band[1], chosen=chosen)


def _warnings(measured: Sequence[Measured]) -> list[str]:
    first = measured[0]
    lines = []
    if first.bounded and first.own.cut and not first.band[0] < first.own.threshold < first.band[1]:
        lines.append(_OUTSIDE.format(low=first.band[0], high=first.band[1], threshold=first.own.threshold))
    if any(m.own.perceived for m in measured) and not first.own.truth_attribute and first.own.binary:
        lines.append(_UNSTATED)
    return lines
