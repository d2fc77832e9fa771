"""Did the task's own label stay while the attribute moved? As rated, and by the world's causal model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.sensitivity.figures import line
from transect.analysis.sections.sensitivity.measures import Measured
from transect.effects.sensitivity import Curve, score_sensitivity
from transect.effects.validity import MARGIN, Validity, validity
from transect.reports.records import Figure, Panel, Series, Table

RATED: Final = "as rated"
TRUE: Final = "by the world's causal model"


@final
@dataclass(frozen=True, slots=True)
class Checked:
    """One attribute's walk, and where along it the label moved, by one source of labels."""

    measured: Measured
    source: str
    found: Validity

    @property
    def labelled(self) -> bool:
        """Whether any subject has a label at λ = 0 and at another step."""
        return bool(self.found.subjects[self.measured.moved].any())

    def score(self) -> tuple[Curve, Curve]:
        """Score sensitivity of all images, and of those whose label is known to have stayed."""
        m = self.measured
        stayed = score_sensitivity(
            m.own.grid(m.own.scores), m.steps, keep=self.found.unmoved, seed=m.own.design.seed
        ).signed
        return m.score[False].signed, stayed

    def classes(self) -> tuple[Curve, Curve]:
        """Classification sensitivity, the same two."""
        return self.measured.classes[False].signed, self.measured.kept(self.found.unmoved).signed


def check(measured: Sequence[Measured]) -> dict[str, list[Checked]]:
    """By source of labels the walks that can be checked: not those along the label's own attribute."""
    checks: dict[str, list[Checked]] = {}
    for source in (RATED, TRUE):
        rows = [Checked(m, source, _validity(m, source)) for m in measured if _can_check(m, source)]
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


def _validity(m: Measured, source: str) -> Validity:
    return validity(m.own.grid(_labels(m.own, source)), m.steps)


def figures(checks: dict[str, list[Checked]]) -> list[Figure]:
    """Shares that moved by attribute and step, and sensitivities with and without those images, of each source."""
    drawn = []
    for source, rows in checks.items():
        if source == RATED or any(checked.found.moved.any() for checked in rows):
            drawn += [_moved(source, rows), _beside(source, rows)]
    return drawn


def _label(rows: Sequence[Checked]) -> str:
    return words(rows[0].measured.own.truth_attribute)


def _moved(source: str, rows: Sequence[Checked]) -> Figure:
    lines = []
    for checked in rows:
        columns = zip(
            checked.found.steps,
            checked.found.share,
            checked.found.low,
            checked.found.high,
            checked.found.subjects,
            strict=True,
        )
        points = [
            point(share, low=low, high=high, x=float(step), n=int(n))
            if step
            else point(share, x=0.0, n=int(n), reason="the subject's own image")
            for step, share, low, high, n in columns
        ]
        lines.append(Series(name=checked.measured.name, points=points))
    panel = Panel(
        heading=f"{_label(rows).capitalize()}, {source}",
        x_words=rows[0].measured.axis,
        y_words="share whose label moved",
        unit="proportion",
        series=lines,
    )
    caption = "(shares of the subjects with a label at this step and at λ = 0; the numbers are those subjects)"
    return Figure(kind="curves", title=f"Did the label stay, {source}?", caption=caption, panels=[panel])


def _beside(source: str, rows: Sequence[Checked]) -> Figure:
    """A panel per attribute: the classification sensitivity of all, and where the label stayed."""
    panels = []
    for checked in rows:
        every, stayed = checked.classes()
        series = [line("all", every), line("label stayed", stayed)]
        panels.append(
            Panel(
                heading=checked.measured.name.capitalize(),
                x_words=checked.measured.axis,
                y_words="change of the rate of yes",
                unit="points",
                series=series,
            )
        )
    title = f"Classification sensitivity with and without the images whose label moved, {source}"
    return Figure(kind="curves", title=title, caption="(the numbers are subjects)", panels=panels)


def tables(checks: dict[str, list[Checked]]) -> list[Table]:
    """The same in numbers, with the tests of equivalence."""
    drawn = []
    for source, rows in checks.items():
        drawn += [_shares(source, rows), _with_and_without(source, rows, "score"), _with_and_without(source, rows)]
    return [table for table in drawn if table.rows]


def _shares(source: str, rows: Sequence[Checked]) -> Table:
    columns = [("attribute", "text"), ("λ", "number")]
    columns += [("label moved", "proportion"), ("low", "proportion"), ("high", "proportion")]
    columns += [("subjects", "count"), ("without a label", "count"), ("change of the rate", "points")]
    columns += [("90 %: low", "points"), ("90 %: high", "points")]
    columns += [("p of equivalence", "p"), ("within the margin", "text")]
    cells = []
    for checked in rows:
        equivalence = checked.found
        for place in checked.measured.moved:
            test = equivalence.equivalence[place]
            verdict = "shown" if test.equivalent else test.reason or "not shown"
            ends = equivalence.share[place], equivalence.low[place], equivalence.high[place]
            counts = int(equivalence.subjects[place]), int(equivalence.missing[place])
            tested = test.estimate, test.low, test.high, test.p, verdict
            cells.append([checked.measured.name, checked.measured.steps[place], *ends, *counts, *tested])
    return table(f"Did the label ({_label(rows)}) stay, {source}? Margin {100 * MARGIN:g} points", columns, cells)


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
            checked.measured.name for checked in rows if (checked.found.share[checked.measured.moved] > MARGIN).any()
        ]
        if moved:
            lines.append(
                f"Moving {', '.join(moved)} also moved {_label(rows)}, {source}, in more than {100 * MARGIN:g}% of the "
                "subjects: part of the change may be right."
            )
    return lines
