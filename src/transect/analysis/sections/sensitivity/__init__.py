"""The sensitivity of Denton et al. 2019 on the page: panels, absolute changes, flips, whether the label stayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from transect.analysis.sections.answers import Answers
from transect.analysis.sections.sensitivity import labels
from transect.analysis.sections.sensitivity.figures import figures
from transect.analysis.sections.sensitivity.measures import Measured
from transect.analysis.sections.sensitivity.tables import tables
from transect.effects.sensitivity import SOURCE
from transect.effects.validity import SOURCE as EQUIVALENCE
from transect.report.records import Section

_DENTON: Final = (
    "Each subject is shown at steps λ of one attribute, counted in half its range from the subject's own value; what "
    "would pass the attribute's ends stops there. {near} Bands and intervals are pointwise 95 %, by subject."
)
_BOTH: Final = (
    "The left panels are all subjects, the right ones those near the decision boundary ({low:g} < score < {high:g} at "
    "λ = 0{chosen})."
)
_ALL: Final = (
    "All subjects are shown: those near the decision boundary are identified by a probability cut between {low:g} and "
    "{high:g}, which is not how this target answers; set your own band with --boundary LOW HIGH."
)
_NO_SCORES: Final = "All subjects are shown: without scores it is unknown who is near the decision boundary."
_NUMBERS: Final = "The target gives numbers, so that there is no classification to flip, and no boundary."
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
    "Rules leave out {n:,} images (see the ratings of each study): here they count as without a valid answer, and a "
    "subject whose own image is left out as without one at λ = 0."
)
_UNSTATED: Final = (
    "There are ratings, but --truth does not say which of them is the task's own label: whether it stayed is not "
    "checked."
)
_OUTSIDE: Final = (
    "The band {low:g} to {high:g} does not hold the target's threshold, {threshold:g}: its subjects are near another "
    "place than the decision boundary."
)


def section(found: Sequence[Answers]) -> Section:
    """The section of one target: `found` holds one study per attribute."""
    made = [Measured(one) for one in found]
    checked = labels.check(made)
    text = [_DENTON.format(near=_near_text(made)), *([_ONE_WAY] if found[0].binary else [])]
    return Section(
        key="sensitivity",
        target=found[0].target,
        title=f"Sensitivity of {found[0].target}",
        text=[*text, *([_LABEL] if checked else []), *_pruned(found)],
        warnings=[*_warnings(made), *labels.warnings(checked)],
        figures=[*figures(made), *labels.figures(checked)],
        tables=[*tables(made), *labels.tables(checked)],
        sources=[SOURCE, EQUIVALENCE] if checked else [SOURCE],
    )


def _pruned(found: Sequence[Answers]) -> list[str]:
    n = sum(one.pruned for one in found)
    return [_LEFT_OUT.format(n=n)] if n else []


def _near_text(made: Sequence[Measured]) -> str:
    one = made[0]
    if not one.own.binary:
        return _NUMBERS
    if not all(m.scored for m in made):
        return _NO_SCORES
    chosen = ", as asked for" if one.own.boundary else ""
    text = _BOTH if all(m.bounded for m in made) else _ALL
    return text.format(low=one.band[0], high=one.band[1], chosen=chosen)


def _warnings(made: Sequence[Measured]) -> list[str]:
    one = made[0]
    lines = []
    if one.bounded and one.own.cut and not one.band[0] < one.own.threshold < one.band[1]:
        lines.append(_OUTSIDE.format(low=one.band[0], high=one.band[1], threshold=one.own.threshold))
    if any(m.own.perceived for m in made) and not one.own.truth_attribute and one.own.binary:
        lines.append(_UNSTATED)
    return lines
