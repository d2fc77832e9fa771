"""Compare effects across worlds: which replicate, which differ and by how much, and which are inconclusive."""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

import pyarrow as pa
from markupsafe import Markup

from transect.analysis.compared.conclusions import amount, interval, level_words, number
from transect.analysis.replicated.conclusions import (
    MARKS,
    OPPOSITE,
    Combined,
    Finding,
    ReplicateNumbers,
    World,
    about,
    lacking,
    models,
    size,
    verdict,
)
from transect.analysis.replicated.replicating import replicate_runs
from transect.job import Content, Job, Option, Out, function
from transect.reports.answer_picture import Judged, mark_of, picture
from transect.reports.blocks import Block, Bullets, Folded, Heading, Paragraph, Part, Secondary
from transect.reports.columns import Column, Table
from transect.reports.next_steps import HERE, Step, listed
from transect.reports.wording import short_name
from transect.runs import report_options, working_folders
from transect.runs.json_records import plain
from transect.runs.wording import counted

_LIMITS: Final = (
    "Worlds are not drawn at random: what holds in these need not hold in another.",
    "Replication says nothing about the cause of an effect. An unadjusted association in unedited images includes "
    "whatever varies with the attribute; in matched pairs, what nobody listed may differ too.",
    "An effect that a world does not show may still exist there: its interval shows which sizes remain possible.",
    "A model can be wrong in the same way in all worlds.",
)
_METHOD: Final = (
    "An effect is the same where the model (by the digest of its description), the attribute, the outcome, the unit "
    "and the levels are. It is seen in a world where that world’s own report shows it: its p, corrected over that "
    "report’s tests, is at most 5 %, and its 95 % interval excludes 0. The test of agreement is of the difference of "
    "two worlds (square-and-add of both intervals), of more worlds of all pairs; its p is corrected over the effects "
    "of this page (Holm). An effect replicates where every world shows it in the same direction and worlds are shown "
    "to differ by less than the margin (90 % interval of every difference inside it), and the p of both together is "
    "at most 5 %: the largest p of all worlds and of all differences, corrected over the effects of this page (Holm). "
    "Where worlds only differ by less than the margin, they agree, which is no evidence of an effect in each. It "
    "differs where the test finds a difference, and that is not inside the margin or worlds show opposite directions. "
    "Where every world shows it in the same direction, and the sizes are not shown to agree, they may be very "
    "different. Otherwise the result is inconclusive. The number of subjects named would decide it with a power of "
    "90 % after correction for all effects, if an effect as large as elsewhere is there, or the difference is as "
    "estimated, or there is none."
)
_COMBINED: Final = (
    "The effect on photographs is the rendered effect of all subjects plus what rendering gets wrong, measured on the "
    "subjects that are in both runs (prediction-powered inference). A rendering that is wrong costs width and not "
    "validity; its weight is estimated. The subjects in both must be a random sample of those that were rendered."
)


@final
@dataclass(frozen=True)
class Replicate(Job[ReplicateNumbers]):
    """The same effects of one model in several worlds, and whether they replicate.

    Worlds are finished runs: audits of rendered images, edited photographs or a learned generator, audits of images as
    they are (whose unadjusted associations are compared), and `match` pairs.

    The result has for each effect the estimates side by side, a test that all worlds have one effect (p corrected over
    all effects, Holm), the difference of the two worlds that differ most, and the verdict: replicates (every world
    shows it in one direction, and they are shown to differ by less than the margin), has the same direction with sizes
    that may differ, agrees within the margin, differs, cannot tell (with the subjects that would), or not estimable.
    Its table has a row per effect and world.

    Raises BadInput for a folder without results, fewer than two worlds, no effect in common, total beside direct
    effects, or with `combine` generators that nothing links, or no subject in common.
    """

    OUT: ClassVar = Out("Folder for replicate.html and replicate.json; default: that of the last run.")

    runs: Annotated[
        Sequence[str | Path],
        Option(
            "Finished runs that audit one model in several worlds: audits of rendered, edited or unedited images, or "
            "matched pairs; one audit with several studies counts as several worlds.",
            list[str],
            metavar="RUN...",
            argument=True,
            opens="data",
        ),
    ]
    _: KW_ONLY
    margin: Annotated[
        float | str | Sequence[str],
        Option(
            "Largest difference between worlds that does not matter, for all rates (0.05) or one outcome (miss=0.02); "
            "repeatable; default that of the first run.",
            opens="value",
        ),
    ] = ()
    label_rules: Annotated[
        Path | None,
        Option("Which labels mean which levels (a TOML file), instead of the built-in rules.", opens="data"),
    ] = None
    combine: Annotated[
        bool,
        Option(
            "For two runs, rendered images first: also estimate effects on the photographs of the second from both; "
            "needs subjects that are in both, as declared by one generator."
        ),
    ] = False

    def compute(self) -> ReplicateNumbers:
        """The effects side by side."""
        folders = [working_folders.opened(run) for run in self.runs]
        return replicate_runs(
            folders, report_options.listed_margins(self.margin), combine=self.combine, rules=self.label_rules
        )

    def place(self) -> str | Path:
        """The folder of the last run."""
        return self.runs[-1]

    def _steps(self, numbers: ReplicateNumbers) -> Iterator[Step]:
        runs = [shlex.quote(str(run)) for run in self.runs]
        yield Step("Look at the images of each world:", [f"transect view {run}" for run in runs])
        if any(finding.verdict == "cannot tell" for finding in numbers.findings):
            plans = [f"transect plan --pilot {run} --margin 0.02" for run in runs]
            yield Step("Plan the subjects that would decide what is inconclusive:", plans)

    def content(self, numbers: ReplicateNumbers) -> Content:
        """Which effects replicate, and each in all worlds."""
        titled = list(dict.fromkeys(short_name(finding.target) for finding in numbers.findings if finding.target))
        return Content(
            title=f"{', '.join(titled) or 'Effects'} in {counted(len(numbers.worlds), 'world')}",
            question="Which effects are found in every world, and which in one world alone?",
            picture=_picture(numbers),
            answer=list(map(_marked, numbers.answer)),
            remarks=[f"{note.rstrip('.')}." for note in numbers.notes],
            first=[
                *listed(list(self._steps(numbers)), HERE),
                Table("Worlds", numbers.worlds, WORLDS),
                Folded("What this comparison cannot show", (Bullets(_LIMITS, "limits"),)),
            ],
            parts=(
                Part("effects", "Effects side by side", tuple(_effects(numbers))),
                Part("combined", "Photographs with the help of the rendering", tuple(_combined(numbers))),
                Part("numbers", "Effects by world", (Secondary((_all(numbers),)),)),
                Part("methods", "Methods", (Paragraph(_METHOD),)),
            ),
            sources=numbers.works,
            rows=_by_world(numbers),
            terminal=[*numbers.answer, _verdicts(numbers), *numbers.notes],
        )


replicate = function(Replicate)

_HEAD: Final = ("target", "attribute", "levels", "outcome", "unit", "verdict")


def _by_world(numbers: ReplicateNumbers) -> pa.Table:
    """A row per effect and world: the estimate, its interval, and the verdict on the effect."""
    rows = [
        {**{name: getattr(finding, name) for name in _HEAD}, **dict(plain(world))}
        for finding in numbers.findings
        for world in finding.worlds
    ]
    return pa.Table.from_pylist(rows)


def _picture(numbers: ReplicateNumbers) -> list[Block]:
    """Each effect in each of its worlds, in the order of the findings."""
    rows = [
        Judged(
            verdict="found" if world.seen else "cannot tell" if math.isfinite(world.estimate) else "not estimable",
            about=about(finding)[0].upper() + about(finding)[1:],
            detail=f"in {world.world}",
            mark=mark_of(world),
            unit=finding.unit,
        )
        for finding in numbers.findings
        for world in finding.worlds
    ]
    meanings = {"found": "found in that world", "cannot tell": "not found", "not estimable": "not estimable"}
    return picture(rows, meanings, "Change of the outcome with its 95 % interval")


def _marked(text: str) -> str:
    """A sentence whose verdict stands out."""
    head, colon, rest = text.partition(":")
    if colon and head.lower().removesuffix(OPPOSITE) in [word for _, word in MARKS.values()]:
        return Markup("<strong>{}</strong>:{}").format(head, rest)
    return text


WORLDS: Final[Sequence[Column[World]]] = (
    Column("world", "name"),
    Column("run", lambda world: world.run or "–"),
    Column("what it is", "kind"),
    Column("made by", "generator"),
    Column("population", lambda world: world.population or "–"),
    Column("subjects or pairs", "subjects", "count"),
)


def _verdicts(numbers: ReplicateNumbers) -> Table[Finding]:
    """A row per effect, with its model where there are several."""
    called = models(numbers.findings)
    model: Column[Finding] = Column("model", lambda finding: called[finding.digest])
    columns: list[Column[Finding]] = [
        Column("verdict", lambda finding: f"{MARKS[finding.verdict][0]} {verdict(finding)}"),
        *[model] * (len(called) > 1),
        Column("effect", about),
        Column("seen in", lambda finding: f"{len(finding.seen_in)} of {len(finding.worlds)}"),
        *(_in_world(world.name) for world in numbers.worlds),
        Column("difference", lambda f: f"{size(f.difference, f.unit)}{f' ({_ends(f)})' if f.first else ''}"),
        Column("p", "p_adjusted", "p"),
        Column("needs", lacking),
    ]
    return Table("Effects", numbers.findings, columns)


def _in_world(name: str) -> Column[Finding]:
    """The size of each effect in one world; nothing where it was not compared."""

    def sized(finding: Finding) -> str:
        return next((size(world.estimate, finding.unit) for world in finding.worlds if world.world == name), "")

    return Column(name, sized)


def _ends(finding: Finding) -> str:
    return interval(finding.low, finding.high, finding.unit)


def _all(numbers: ReplicateNumbers) -> Table[Finding]:
    called = models(numbers.findings)
    columns: list[Column[Finding]] = [
        Column("effect", about),
        Column("model", lambda f: called[f.digest] or short_name(f.target)),
        Column("verdict", verdict),
        Column("seen in", lambda f: ", ".join(f.seen_in) or "none"),
        Column("worlds that differ most", lambda f: f"{f.second} minus {f.first}" if f.first else "–"),
        Column("difference", lambda f: size(f.difference, f.unit), "figure"),
        Column("its interval", lambda f: f"{_ends(f)} ({level_words(f.confidence)})" if f.first else "–", "figure"),
        Column("p of a difference", "p_adjusted", "p"),
        Column("p of replication", "p_replication", "p"),
        Column("margin", lambda f: amount(f.margin, f.unit) if math.isfinite(f.margin) else "none stated", "figure"),
        Column("needs", lambda f: lacking(f) or "–"),
    ]
    return Table("All findings", numbers.findings, columns, "Rates in points; p corrected over these effects")


def _effects(numbers: ReplicateNumbers) -> Iterator[Block]:
    """Every finding in words, under its verdict."""
    for standing, (mark, word) in MARKS.items():
        texts = [finding.text for finding in numbers.findings if finding.verdict == standing]
        if texts:
            yield Heading(f"{mark} {word.capitalize()}")
            yield Bullets(texts, "limits")


def _combined(numbers: ReplicateNumbers) -> Iterator[Block]:
    if not numbers.combined:
        return
    yield Paragraph(_COMBINED)
    both, alone = (max(getattr(each, name) for each in numbers.combined) for name in ("n_both", "n_rendered"))
    yield Paragraph(f"{counted(both, 'subject')} in both runs, {alone:,} rendered alone.")
    yield Table("Effects on photographs", numbers.combined, COMBINED, "Rates in points, with 95 % intervals")


def _sized(each: Combined, value: float, low: float, high: float) -> str:
    return f"{number(value, each.unit, signed=True)} ({interval(low, high, each.unit)})"


COMBINED: Final[Sequence[Column[Combined]]] = (
    Column("effect", about),
    Column("photographs alone", lambda each: _sized(each, each.alone, each.alone_low, each.alone_high), "figure"),
    Column("with the rendering", lambda each: _sized(each, each.estimate, each.low, each.high), "figure"),
    Column("narrower by", lambda each: f"{100 * each.gained:.0f} %".replace("-", "−"), "figure"),
    Column("rendering is off by", lambda each: _sized(each, each.off, each.off_low, each.off_high), "figure"),
    Column("its weight", lambda each: f"{each.trust:.2f}", "figure"),
)
