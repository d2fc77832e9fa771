"""The sensitivity of Denton et al. 2019 on the page: panels, absolute changes, flips, whether the label stayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from transect.analysis.sections.answers import Answers
from transect.analysis.sections.sensitivity import labels
from transect.analysis.sections.sensitivity.figures import figures
from transect.analysis.sections.sensitivity.measures import Measured
from transect.analysis.sections.sensitivity.tables import tables
from transect.effects.bands import SOURCES as BANDS
from transect.effects.sensitivity import SOURCE
from transect.effects.validity import SOURCE as EQUIVALENCE
from transect.reports.records import Section

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


def section(answer_sets: Sequence[Answers]) -> Section:
    """The section of one target: `found` holds one study per attribute."""
    measured = [Measured(answers) for answers in answer_sets]
    checked = labels.check(measured)
    unit = _DIRECTIONS if measured[0].by_direction else _HALF_RANGES
    text = [_DENTON.format(near=_near_text(measured), unit=unit), *([_ONE_WAY] if answer_sets[0].binary else [])]
    return Section(
        key="sensitivity",
        target=answer_sets[0].target,
        title=f"Sensitivity of {answer_sets[0].target}",
        text=[*text, *([_LABEL] if checked else []), *_pruned(answer_sets)],
        warnings=[*_warnings(measured), *labels.warnings(checked)],
        figures=[*figures(measured), *labels.figures(checked)],
        tables=[*tables(measured), *labels.tables(checked)],
        sources=[SOURCE, *([EQUIVALENCE] if checked else []), *BANDS],
    )


def _pruned(answer_sets: Sequence[Answers]) -> list[str]:
    n = sum(answers.pruned for answers in answer_sets)
    return [_LEFT_OUT.format(n=n)] if n else []


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
