"""The sensitivity of Denton et al. 2019 on the page: four panels, flip bars, and whether the task's label stayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from transect.effects.sensitivity import (
    NEAR,
    SOURCE,
    ClassificationSensitivity,
    Curve,
    ScoreSensitivity,
    classification_sensitivity,
    score_sensitivity,
)
from transect.effects.validity import MARGIN, Validity, validity
from transect.effects.validity import SOURCE as EQUIVALENCE
from transect.sections.answers import Answers, point, table, words

STEPS_AXIS: Final = "λ, half-ranges from the subject's own value"
_DENTON: Final = (
    "Each subject is shown at steps λ of one attribute, counted in half its range from the subject's own value; what "
    "would pass the attribute's ends stops there. {near} Bands are pointwise 95 % intervals by subject."
)
_BOTH: Final = (
    "The left panels are all subjects, the right ones those near the decision boundary ({low:g} < score < {high:g} at "
    "λ = 0)."
)
_ALL: Final = (
    "All subjects are shown: those near the decision boundary are told by a probability cut between {low:g} and "
    "{high:g}, which is not how this target answers."
)


def section(found: Sequence[Answers]) -> dict[str, Any]:
    """The section of one target: `found` holds one study per attribute."""
    made = [_Measured(one) for one in found]
    figures = [_four_panels(made), _flips(made)] if found[0].binary else [_scores_only(made)]
    tables = [_absolute(made)]
    warnings: list[str] = []
    if checked := [one for one in made if one.validity is not None]:
        tables += [_validity_table(checked), _with_and_without(checked)]
        warnings = _warnings(checked)
    return {
        "key": "sensitivity",
        "title": f"Sensitivity of {found[0].target}",
        "text": [_DENTON.format(near=_near_text(made)), _answer_text(found[0])],
        "warnings": warnings,
        "figures": figures,
        "tables": tables,
        "sources": [SOURCE, EQUIVALENCE] if checked else [SOURCE],
    }


def _near_text(made: Sequence[_Measured]) -> str:
    text = _BOTH if all(m.bounded for m in made) else _ALL
    return text.format(low=NEAR[0], high=NEAR[1])


def _answer_text(one: Answers) -> str:
    if not one.binary:
        return "The target gives numbers, so that there is no classification to flip."
    return (
        "S 0→1 and S 1→0 are over the subjects that answer no and yes at λ = 0. As the paper's Eq. 6 defines them they "
        "are signed (S 1→0 is never above 0); its Fig. 6 plots them as frequencies, as the bars here do. The table has "
        "the signed ones."
    )


class _Measured:
    """All measures of one attribute."""

    def __init__(self, one: Answers) -> None:
        self.name = next(iter(one.design.levels))
        self.own = one
        self.steps = np.array(one.design.levels[self.name])
        # A detector without confidences has no scores; its answers are then all there is.
        self.scored = bool(np.isfinite(one.scores).any())
        self.bounded = self.scored and one.cut and NEAR[0] < one.threshold < NEAR[1]
        scores = one.grid(one.scores if self.scored else one.answers)
        answers = one.grid(one.answers)
        near_base = scores[:, self.steps == 0][:, 0]
        near = (near_base > NEAR[0]) & (near_base < NEAR[1])
        self.score: dict[bool, ScoreSensitivity] = {
            False: score_sensitivity(scores, self.steps, seed=one.design.seed),
            True: score_sensitivity(scores, self.steps, near=NEAR, seed=one.design.seed),
        }
        self.classes: dict[bool, ClassificationSensitivity] = {}
        if one.binary:
            self.classes = {
                False: classification_sensitivity(answers, self.steps, seed=one.design.seed),
                True: classification_sensitivity(answers, self.steps, keep=near, seed=one.design.seed),
            }
        self.validity = self._validity()

    def _validity(self) -> Validity | None:
        one = self.own
        if not one.binary or one.truth_attribute in ("", self.name) or not np.isfinite(one.truth).any():
            return None
        return validity(one.grid(one.truth), self.steps)

    def kept(self) -> ClassificationSensitivity:
        """Without the images on which the task's label moved."""
        assert self.validity is not None  # noqa: S101  (asked only where there is one)
        one = self.own
        return classification_sensitivity(
            one.grid(one.answers), self.steps, keep=self.validity.kept, seed=one.design.seed
        )


def _line(name: str, curve: Curve) -> dict[str, Any]:
    rows = zip(curve.steps, curve.values, curve.low, curve.high, curve.subjects, curve.reasons, strict=True)
    points = [point(v, low=lo, high=hi, x=float(x), n=int(n), reason=why) for x, v, lo, hi, n, why in rows]
    return {"name": name, "points": points}


def _panel(heading: str, y_words: str, unit: str, lines: list[dict[str, Any]]) -> dict[str, Any]:
    return {"heading": heading, "x_words": STEPS_AXIS, "y_words": y_words, "unit": unit, "series": lines}


def _four_panels(made: Sequence[_Measured]) -> dict[str, Any]:
    """Their Fig. 5: score above, classification below; all subjects left, those near the boundary right."""
    places = ((False, "all subjects"), (True, "near the boundary"))
    panels = [
        _panel(
            f"Score, {where}",
            "mean change of the score",
            "number",
            [_line(words(m.name), m.score[near].signed) for m in made],
        )
        for near, where in places
        if all(m.bounded if near else m.scored for m in made)
    ]
    panels += [
        _panel(
            f"Classification, {where}",
            "change of the rate of yes",
            "points",
            [_line(words(m.name), m.classes[near].signed) for m in made],
        )
        for near, where in places
        if not near or all(m.bounded for m in made)
    ]
    caption = "(mean change against the subject's own image; the numbers are subjects)"
    title = "Score and classification sensitivity"
    return {"kind": "curves", "title": title, "caption": caption, "same_axis": False, "panels": panels}


def _scores_only(made: Sequence[_Measured]) -> dict[str, Any]:
    lines = [_line(words(m.name), m.score[False].signed) for m in made]
    panel = _panel("All subjects", "mean change of the score", "number", lines)
    return {"kind": "curves", "title": "Score sensitivity", "panels": [panel]}


def _flips(made: Sequence[_Measured]) -> dict[str, Any]:
    """Their Fig. 6, at either end of λ; an end where an attribute was not moved does not show it."""
    ends = ((0, -1.0, "attribute removed"), (-1, 1.0, "attribute added"))
    panels = []
    for end, sign, where in ends:
        moved = [m for m in made if m.steps[end] * sign > 0]
        if moved:
            panels.append(_flip_panel(moved, end, where))
    caption = "(share of the subjects that answer no, or yes, at λ = 0; the numbers are those subjects)"
    return {"kind": "bars", "title": "Answers that flip", "caption": caption, "panels": panels}


def _flip_panel(moved: Sequence[_Measured], end: int, where: str) -> dict[str, Any]:
    """Both one-way flips of every attribute at its first step or its last."""
    different = len({float(m.steps[end]) for m in moved}) > 1
    series = []
    for label, name in (("S 0→1", "up"), ("S 1→0", "down")):
        points = []
        for m in moved:
            curve: Curve = getattr(m.classes[False], name)
            called = f"{words(m.name)}, {_at(m.steps[end])}" if different else words(m.name)
            more = {"label": called, "n": int(curve.subjects[end]), "reason": curve.reasons[end]}
            points.append(point(curve.values[end], low=curve.low[end], high=curve.high[end], **more))
        series.append({"name": label, "points": points})
    at = "Farthest step" if different else _at(moved[0].steps[end])
    return {"heading": f"{at}: {where}", "y_words": "share that flips", "unit": "proportion", "series": series}


def _at(step: float) -> str:
    return f"λ = {step:+g}".replace("-", "−")


def _absolute(made: Sequence[_Measured]) -> dict[str, Any]:
    columns = [("attribute", "text"), ("λ", "number"), ("S score", "number"), ("E|Δ score|", "number")]
    columns += [
        ("S class, points", "points"),
        ("flips", "proportion"),
        ("S 0→1 signed, points", "points"),
        ("S 1→0 signed, points", "points"),
    ]
    columns += [("subjects", "count"), ("not counted", "text")]
    rows = []
    for m in made:
        for place in np.flatnonzero(m.steps != 0).tolist():
            curve = m.score[False].signed
            cells: list[Any] = [words(m.name), m.steps[place]]
            cells += [curve.values[place], m.score[False].absolute.values[place]] if m.scored else [None, None]
            one = m.classes.get(False)
            parts = (one.signed, one.absolute, one.up_signed, one.down_signed) if one else ()
            cells += [part.values[place] for part in parts] or [None] * 4
            out = "; ".join(f"{why}: {n}" for why, n in curve.excluded[place].items()) or "none"
            rows.append([*cells, int(curve.subjects[place]), out])
    return table("Every measure at every step", columns, rows)


def _validity_table(made: Sequence[_Measured]) -> dict[str, Any]:
    columns = [
        ("attribute", "text"),
        ("λ", "number"),
        ("label moved", "proportion"),
        ("low", "proportion"),
        ("high", "proportion"),
    ]
    columns += [("subjects", "count"), ("p of equivalence", "p"), ("within the margin", "text")]
    rows = []
    for m in made:
        checked = m.validity
        if checked is None:
            continue
        for place in np.flatnonzero(m.steps != 0).tolist():
            test = checked.equivalence[place]
            verdict = "shown" if test.equivalent else test.reason or "not shown"
            ends = checked.share[place], checked.low[place], checked.high[place]
            rows.append([words(m.name), m.steps[place], *ends, int(checked.subjects[place]), test.p, verdict])
    label = words(made[0].own.truth_attribute)
    return table(f"Did the label ({label}) stay? Shares that moved, margin {MARGIN:g}", columns, rows)


def _with_and_without(made: Sequence[_Measured]) -> dict[str, Any]:
    columns = [
        ("attribute", "text"),
        ("λ", "number"),
        ("S class, all, points", "points"),
        ("S class, label kept, points", "points"),
        ("subjects kept", "count"),
    ]
    rows = []
    for m in made:
        kept = m.kept().signed
        for place in np.flatnonzero(m.steps != 0).tolist():
            both = m.classes[False].signed.values[place], kept.values[place]
            rows.append([words(m.name), m.steps[place], *both, int(kept.subjects[place])])
    return table("Sensitivity with and without the subjects whose label moved", columns, rows)


def _warnings(made: Sequence[_Measured]) -> list[str]:
    moved = [words(m.name) for m in made if m.validity is not None and (m.validity.share[m.steps != 0] > MARGIN).any()]
    if not moved:
        return []
    label = words(made[0].own.truth_attribute)
    return [
        f"Moving {', '.join(moved)} also moved {label} in more than {MARGIN:.0%} of the subjects: part of the change "
        "may be right."
    ]
