"""Effects with and without images that are left out, and the gates that a validation by raters had to pass."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from transect.analysis import findings
from transect.analysis.finished_run import TargetOutcomes
from transect.analysis.sections.answers import table, with_ends, words
from transect.analysis.sections.places import RunFindings, placed
from transect.annotation.agreement.image_validation import SOURCE
from transect.ratings.gates import RatedStudy, entries_of, stored
from transect.records import Effect
from transect.reports.records import Section, Table
from transect.runs.wording import counted

_TEXT: Final = (
    "Gates of raters' validation and rules on ratings leave images out of every other estimate on this page. Here "
    "each effect is estimated from all images and from the remaining images. Where the two differ much, the result "
    "depends on the exclusions. In an experiment, excluding images by something that the manipulation changes selects "
    "on its consequence."
)


def exclusion_section(study: str, left_out: int, all_images: Sequence[Effect], remaining: Sequence[Effect]) -> Section:
    """The section of one study. all_images, remaining: its effects, in one order."""
    pairs = list(zip(all_images, remaining, strict=True))
    points = [pair for pair in pairs if pair[0].unit == "proportion"]
    numbers = [pair for pair in pairs if pair[0].unit != "proportion"]
    return Section(
        key="beside",
        study=study,
        title=f"Effects with and without the images left out: {words(study)}",
        text=[f"{counted(left_out, 'image')} {'is' if left_out == 1 else 'are'} left out. {_TEXT}"],
        tables=[_table(rows, unit) for rows, unit in ((points, "points"), (numbers, "number")) if rows],
    )


def _table(pairs: Sequence[tuple[Effect, Effect]], unit: str) -> Table:
    heads = [("effect", "text")]
    for which in ("all images", "remaining"):
        heads += [*with_ends(which, unit), (f"{which}: images", "count")]
    heads += [("change of the estimate", unit), ("note", "text")]
    rows: list[list[object]] = []
    for pair in pairs:
        cells: list[object] = []
        for effect in pair:
            cells += [effect.estimate, effect.low, effect.high, effect.n_images]
        title = f"{words(pair[0].name)}, {pair[0].outcome} of {pair[0].target}"
        rows.append([title, *cells, pair[1].estimate - pair[0].estimate, pair[1].reason or pair[0].reason])
    return table(f"Effects, {'percentage points' if unit == 'points' else 'in their units'}", heads, rows)


@placed(441, "run", page="numbers")
def left_out_section(about: RunFindings) -> Section | None:
    """The effects with and without the images that are left out; None where none is."""
    reasons = about.run.seen.reasons
    left_out = int((reasons != "").sum())
    if not left_out:
        return None
    every = effects_without(about, np.full(len(reasons), "", dtype=object))
    return exclusion_section(about.run.spec.name, left_out, every, about.findings.effects)


def effects_without(about: RunFindings, reasons: np.ndarray) -> list[Effect]:
    """Effects of the images that have no reason to be left out."""
    run = replace(about.run, seen=replace(about.run.seen, reasons=reasons))
    effects: list[Effect] = []
    for target in run.spec.targets:
        outcomes = TargetOutcomes(run, target)
        for name in run.outcomes(target):
            effects += findings.estimate(run, target.name, outcomes.outcome(name), about.bins).effects
    return effects


@placed(440, "run")
def run_gate_section(about: RunFindings) -> Section | None:
    """The section on the gates that a finished run requires; None where it requires none."""
    run, spec, required = about.run, about.run.spec, stored(about.run.folder.path)
    if required is None:
        return None
    entries, reasons = entries_of(required, spec.generator), [str(reason) for reason in run.seen.gated if reason]
    return gate_section(spec.name, entries, spec.design.levels, required.sha256, reasons)


_GATES: Final = {
    "images": ("images judged, at least", "images"),
    "differing": ("seen as a different condition, at most", "conditions"),
    "quality": ("mean quality, at least", "quality"),
    "unidentifiable": ("no face identifiable, at most", "identifiable"),
    "quality_margin": ("difference of mean quality between levels, less than", "equal quality"),
}


def gate_section(
    study: str,
    entries: Sequence[RatedStudy],
    levels: Mapping[str, Sequence[float]],
    sha256: str,
    left_out: Sequence[str],
) -> Section:
    """The section of one study."""
    counts = Counter(left_out)
    judged = sum(entry.groups[0].judged for entry in entries)
    text = [
        f"Raters judged {counted(judged, 'image')} of this generator before (validation {sha256[:12]}), and it met "
        "every gate over all images. Each level that is set must also meet the gates separately; a value between two "
        "rated levels relies on both."
    ]
    if levels:
        n = f"{len(left_out):,}"
        text.append(f"Images of a level that fails are counted and excluded from every estimate: {n} here.")
    heads = [("condition", "text"), ("judged", "count"), ("seen as another", "count"), ("share", "proportion")]
    heads += [("halfway between answers", "count"), ("mean quality", "number"), ("gates not met", "text")]
    return Section(
        key="gates",
        study=study,
        title=f"Requirements for images: {words(study)}",
        text=text,
        warnings=[f"{counted(count, 'image')} left out: {reason}" for reason, count in sorted(counts.items())],
        tables=[
            table("Gates", [("gate", "text"), ("limit", "number"), ("over all images", "text")], _limits(entries)),
            table("Conditions that were rated", heads, _conditions(entries, levels)),
        ],
        sources=[SOURCE],
    )


def _limits(entries: Sequence[RatedStudy]) -> list[list[object]]:
    """Each gate of each validation; those of several studies may have other limits."""
    rows: list[list[object]] = []
    for entry in entries:
        met = {} if entry.equal_quality else {"equal quality": "not tested: nothing varied"}
        rows += [
            [text, entry.gates.get(name), entry.failures.get(failure) or met.get(failure, "met")]
            for name, (text, failure) in _GATES.items()
        ]
    return [list(row) for row in dict.fromkeys(tuple(row) for row in rows)]


def _conditions(entries: Sequence[RatedStudy], levels: Mapping[str, Sequence[float]]) -> list[list[object]]:
    """All images, then the rated levels of what the study sets, of everything where it sets nothing."""
    rows: list[list[object]] = []
    for entry in entries:
        for group in entry.groups:
            name = group.attribute
            if name and levels and name not in levels:
                continue
            called = f"{words(name)} {group.level:g}" if name else "all images"
            shown = [group.judged, group.differing, group.share, group.between, group.quality]
            rows.append([called, *shown, "; ".join(group.failures)])
    return rows
