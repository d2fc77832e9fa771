"""The page of a replication: `replicate.html`, and `replicate.json` with every number on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from markupsafe import Markup, escape

from transect.analysis.compared.conclusions import amount, interval, level_words, number
from transect.analysis.replicated.conclusions import (
    MARKS,
    OPPOSITE,
    Combined,
    Finding,
    InWorld,
    ReplicateNumbers,
    about,
    lacking,
    models,
    size,
    verdict,
)
from transect.reports import blocks, builder
from transect.reports.blocks import Answer, Block, DotPlot, Folded, Heading, Page, Paragraph, Part, Row, TextTable
from transect.reports.columns import probability
from transect.reports.document import finite
from transect.reports.drawing import svg as drawing
from transect.reports.drawing.estimates import Mark, row
from transect.reports.drawing.estimates import told as told_of
from transect.reports.drawing.svg import Scale
from transect.reports.wording import short_name
from transect.runs.wording import counted

_SHOWN: Final = 12
"""Effects whose plots are not folded."""
_LIMITS: Final = (
    "Worlds are not drawn at random: what holds in these need not hold in another.",
    "That an effect replicates says nothing of its cause. An unadjusted association in images as they are includes "
    "whatever varies with the attribute; in matched pairs, what nobody listed may differ too.",
    "A world in which an effect is not seen is no proof against it: its interval says which sizes remain possible.",
    "A model may answer alike in all worlds and be wrong alike in all of them.",
)
_METHOD: Final = (
    "An effect is the same where the model (by the digest of its description), the attribute, the outcome, the unit "
    "and the levels are. It is seen in a world where that world’s own report shows it: its p, corrected over that "
    "report’s tests, is at most 5 %, and its 95 % interval leaves out 0. The test of agreement is of the difference of "
    "two worlds (square-and-add of both intervals), of more worlds of all pairs; its p is corrected over the effects "
    "of this page (Holm). An effect replicates where every world shows it in the same direction and worlds are shown "
    "to differ by less than the margin (90 % interval of every difference inside it), and the p of both together is at "
    "most 5 %: the largest p of all worlds and of all differences, corrected over the effects of this page (Holm). "
    "Where worlds only differ by less than the margin, they agree, which is no evidence of an effect in each. It "
    "differs where the test finds a difference, and that is not inside the margin or worlds show opposite directions. "
    "Where every world shows it in the same direction and sizes are not shown alike, they may be very different. Else "
    "the data cannot tell. The subjects named would settle it with a power of 90 % after correction for all effects, "
    "if an effect as large as elsewhere is there, or the difference is as estimated, or there is none."
)
_COMBINED: Final = (
    "The effect on photographs is the rendered effect of all subjects plus what rendering gets wrong, measured on the "
    "subjects that are in both runs (prediction-powered inference). A rendering that is wrong costs width and not "
    "validity; its weight is estimated. The subjects in both must be a random sample of those that were rendered."
)


def write(numbers: ReplicateNumbers, folder: Path) -> Path:
    """Write `replicate.html` and `replicate.json` into a folder; return the page's path."""
    return builder.write(page_of(numbers), folder / "replicate.html", numbers)


def page_of(numbers: ReplicateNumbers) -> Page:
    """What the page shows."""
    answer = Answer([_marked(text) for text in numbers.answer], [f"{note.rstrip('.')}." for note in numbers.notes])
    limits = Folded("What this comparison cannot show", (blocks.Bullets(_LIMITS, "limits"),))
    parts = (
        blocks.summary(answer, _worlds(numbers), limits),
        Part("effects", "Effects side by side", tuple(_effects(numbers))),
        Part("combined", "Photographs with the help of the rendering", tuple(_combined(numbers))),
        Part("numbers", "All numbers", (_table(numbers),), folded=True),
        Part("methods", "Methods", tuple(_methods(numbers))),
    )
    titled = list(dict.fromkeys(short_name(finding.target) for finding in numbers.findings if finding.target))
    title = f"{', '.join(titled) or 'Effects'} in {counted(len(numbers.worlds), 'world')}"
    question = "Which effects are found in every world, and which are of one world alone?"
    return Page(title, tuple(part for part in parts if part.blocks), question=question)


def _marked(text: str) -> Markup:
    """A sentence whose verdict stands out."""
    head, colon, rest = text.partition(":")
    if colon and head.lower().removesuffix(OPPOSITE) in [word for _, word in MARKS.values()]:
        return Markup("<strong>{}</strong>:{}").format(head, rest)
    return escape(text)


def _worlds(numbers: ReplicateNumbers) -> TextTable:
    rows = [
        [world.name, world.kind, world.generator, world.population or "–", f"{world.subjects:,}"]
        for world in numbers.worlds
    ]
    headings = ["world", "what it is", "made by", "population", "subjects or pairs"]
    return TextTable("Worlds", headings, rows, numbers=(4,))


def _effects(numbers: ReplicateNumbers) -> Iterator[Block]:
    """A forest plot for each finding, under the verdict."""
    plots = [(finding, _forest(numbers, finding, f"effect-{at}")) for at, finding in enumerate(numbers.findings)]
    yield Paragraph(
        "Filled marks: the world’s own report calls the effect significant. Hollow marks: it does not. Lines are 95 % "
        "intervals.",
        "key",
    )
    yield from _under_verdicts(plots[:_SHOWN])
    if plots[_SHOWN:]:
        inner = tuple(_under_verdicts(plots[_SHOWN:]))
        yield Folded(counted(len(plots) - _SHOWN, "more effect"), inner)


def _under_verdicts(plots: Sequence[tuple[Finding, DotPlot]]) -> Iterator[Block]:
    for standing, (mark, word) in MARKS.items():
        chosen = [(finding, plot) for finding, plot in plots if finding.verdict == standing]
        if chosen:
            yield Heading(f"{mark} {word.capitalize()}")
        for finding, plot in chosen:
            yield plot
            yield Paragraph(finding.text, "fine")


def _forest(numbers: ReplicateNumbers, finding: Finding, name: str) -> DotPlot:
    points = finding.unit == "proportion"
    values = [end for world in finding.worlds for end in (world.estimate, world.low, world.high)]
    scale = drawing.covering(finite(values))
    kinds = {world.name: world.kind for world in numbers.worlds}
    rows = [
        _row(world, kinds.get(world.world, ""), finding, f"{name}-{at}", scale)
        for at, world in enumerate(finding.worlds)
    ]
    title = ", ".join(about(finding).rsplit(" on the ", 1))
    scaled = " (slope, times this span)" if finding.scaled else ""
    called = models(numbers.findings)[finding.digest]
    model = f"{called}: " if called else ""
    unit = "points" if points else finding.unit
    caption = Markup("<strong>{}{}</strong>, {}{}").format(model, title, unit, scaled)
    return DotPlot(caption, drawing.ticks_across(scale, points), rows)


def _row(world: InWorld, kind: str, finding: Finding, name: str, scale: Scale) -> Row:
    value, low, high = (end if math.isfinite(end) else None for end in (world.estimate, world.low, world.high))
    mark = Mark(x=0.0, value=value, low=low, high=high)
    told = told_of(mark, "; the world shows it" if world.seen else "; the world alone shows no effect")
    title, ticks = f"{world.world}: {about(finding)}", drawing.ticks_across(scale, hundredfold=False)
    drawn = row(name, title, told, [(mark, None, world.seen)], scale, ticks)
    if not math.isfinite(world.estimate):
        shown = f"not estimable: {world.reason}" if world.reason else "not estimable"
    else:
        ends, why = interval(world.low, world.high, finding.unit), f": {world.reason}" if world.reason else ""
        shown = f"{number(world.estimate, finding.unit, signed=True)} ({ends}{why})"
    label = f"{world.world} ({kind})" if kind not in ("", world.world) else world.world
    return Row(label, drawn, shown, world.seen)


def _combined(numbers: ReplicateNumbers) -> Iterator[Block]:
    if not numbers.combined:
        return
    yield Paragraph(_COMBINED)
    both, alone = (max(getattr(each, name) for each in numbers.combined) for name in ("n_both", "n_rendered"))
    yield Paragraph(f"{counted(both, 'subject')} in both runs, {alone:,} rendered alone.")
    headings = ["effect", "photographs alone", "with the rendering", "narrower by", "rendering is off by", "its weight"]
    rows = [_combined_row(each) for each in numbers.combined]
    caption = "Rates in points, with 95 % intervals"
    yield TextTable("Effects on photographs", headings, rows, caption, numbers=range(1, 6))


def _combined_row(each: Combined) -> list[str]:
    return [
        about(each), _sized(each, each.alone, each.alone_low, each.alone_high),
        _sized(each, each.estimate, each.low, each.high), f"{100 * each.gained:.0f} %".replace("-", "−"),
        _sized(each, each.off, each.off_low, each.off_high), f"{each.trust:.2f}",
    ]  # fmt: skip


def _sized(each: Combined, value: float, low: float, high: float) -> str:
    return f"{number(value, each.unit, signed=True)} ({interval(low, high, each.unit)})"


def _table(numbers: ReplicateNumbers) -> TextTable:
    headings = ["effect", "model", "verdict", "seen in", "worlds that differ most", "difference", "its interval",
                "p of a difference", "p of replication", "margin", "needs"]  # fmt: skip
    called = models(numbers.findings)
    rows = [
        [
            about(f), called[f.digest] or short_name(f.target), verdict(f), ", ".join(f.seen_in) or "none",
            f"{f.second} minus {f.first}" if f.first else "–", size(f.difference, f.unit),
            f"{interval(f.low, f.high, f.unit)} ({level_words(f.confidence)})" if f.first else "–",
            probability(f.p_adjusted), probability(f.p_replication),
            amount(f.margin, f.unit) if math.isfinite(f.margin) else "none stated",
            lacking(f) or "–",
        ]
        for f in numbers.findings
    ]  # fmt: skip
    return TextTable(
        "All findings", headings, rows, "Rates in points; p corrected over these effects", numbers=(5, 6, 7, 8, 9)
    )


def _methods(numbers: ReplicateNumbers) -> Iterator[Block]:
    yield Paragraph(_METHOD)
    yield from (Heading("Works cited"), blocks.Bullets(numbers.works))
