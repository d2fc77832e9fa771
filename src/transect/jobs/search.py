"""Find where a target fails, with few calls: regions in words, as many failures as possible, or the overall rate.

Rerun the command to resume a stopped search; no call is repeated.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Final, final

from markupsafe import Markup

from transect.analysis.search_numbers import (
    ERRORS,
    AnswerFaces,
    AttributeMap,
    ErrorTables,
    FailurePicture,
    OverallRate,
    Region,
    SamplerErrors,
    SearchNumbers,
    numbers_of,
)
from transect.designs.search.space import space_of
from transect.effects.interrogation import ErrorRate
from transect.errors import BadInput
from transect.experiment import costs
from transect.experiment.canaries import keep_canaries
from transect.experiment.costs import Cost
from transect.experiment.search_calls import announce, conduct
from transect.experiment.search_plan import SearchOptions, SearchPlan, opened_target, search_for
from transect.experiment.worlds import WorldSettings
from transect.job import AnyJob, Content, Job, Option, Out, function
from transect.protocols import Generator, TargetLike
from transect.records import Estimate
from transect.reports import builder
from transect.reports.answer_picture import MOST
from transect.reports.blocks import Block, Dots, Facts, Heading, Paragraph, Part, Plot, Plots, Secondary, TextTable
from transect.reports.builder import data_address
from transect.reports.columns import Column, Table, in_percent, shown
from transect.reports.drawing import svg
from transect.reports.drawing.maps import MAP_HEIGHT, Field, Frame, heat_map
from transect.reports.drawing.svg import Tick, joined, tag
from transect.reports.next_steps import Step, listed, model_word
from transect.runs.capabilities import for_attributes
from transect.runs.folder import RunFolder, slug
from transect.runs.parts import Progress, resumable
from transect.runs.wording import counted, spaced
from transect.targets.guard import FailureBudget
from transect.texts import say

STRIP: Final = 6
"""Failures on the first screen."""
_NAMED: Final = 4
"""Attributes that the caption of a picture names."""
STEPS: Final = 60
"""Points of the curve of failures by calls."""
FEW: Final = 25
"""Fresh images from which on the interval of a region holds in 94 % of searches."""
_VERBS: Final = {
    "miss": "misses the face in",
    "answer": "says yes on",
    "refusal": "refuses",
    "hedge": "hedges on",
    "unreadable": "gives an unreadable answer on",
}
_ASKED: Final = {
    "miss": "In which images does it miss the face?",
    "answer": "On which images does it say yes?",
    "refusal": "On which images does it refuse?",
    "hedge": "On which images does it hedge?",
    "unreadable": "On which images can its answer not be read?",
}
_WRONG: Final = "In which images is its answer wrong?"
_OF_NAME: Final = {
    "option": ("chooses {} on", "On which images does it choose {}?"),
    "code": ("mentions {} on", "On which images does it mention {}?"),
}
_FACES: Final = {
    True: ("of right and wrong answers", "wrong answers have in common, not why they are wrong", ("right", "wrong")),
    False: ("without and with a failure", "failures have in common, not why they fail", ("without", "with")),
}
"""Of errors, and of other outcomes: the heading of the mean faces, what they show, and the names of both kinds."""
_RENDERED: Final = (
    "Effects on rendered faces are evidence about the target; confirm them on photographs before acting on them. "
    "Transect varies appearance, not identity. Attributes that were not varied were not searched."
)
_REGIONS: Final = (
    "The search found each rule in one half of its calls and confirmed it in the other half. The rate comes from new "
    "images inside the rule, one per subject. Sampling stops as soon as the interval is narrow, and stopping makes an "
    "interval hold less often. So it is computed as one of 97 %, and holds in at least 94 % of searches: in 90 % with "
    "fewer than 25 images, or for a rate near 0 or 100 %. The rules stand in the order in which they were found, "
    "before any fresh image: the first is not picked for a high rate. Values are rounded."
)
_MAPS: Final = (
    "Each field covers an equal share of the searched space along two attributes and shows how many of its calls were "
    "failures. The search repeats calls near failures, so the fields show where to look; they are not rates on new "
    "images. Frames are the rules above."
)
_ERRORS: Final = (
    "As the table of McDuff et al. 2019, by thirds of the searched space along each attribute, with 95 % intervals. "
    "Beside each rate are the errors and the images that count. Sobol points lie evenly over the space, as do "
    "conditions asked in turn, so their rates are those of its images. A search follows up failures, so rates of all "
    'its calls describe what was sampled, not how often the target errs. "All, weighted equally" gives every group '
    "of the attribute the same weight, however often it was sampled."
)


@final
@dataclass(frozen=True)
class Search(Job[SearchNumbers]):
    """Find where a target fails, with few calls: regions in words, as many failures as possible, or the overall rate.

    target: a spec, a function of uint8 images [n, h, w, 3], a Target. The page and the numbers are in the folder; a
    stopped search resumes there and repeats no call. Rates come from calls that were drawn for them, never from the
    search's follow-ups. Without a failure there are no regions, and `numbers.regions_reason` states why. The result's
    table has a row for each call.

    Raises BadInput for settings that do not fit, UnknownName for an unknown target, goal or attribute, TooManyFailures
    where more images fail than allowed.

    ```python
    result = transect.search(model, truth="smile>0.5", vary=["skin_tone", "age"], budget=200)
    result.numbers.regions[0].rule, result.numbers.estimate.rate
    ```

    Source: docs/research/search.md; the method "mcduff2019" is that of McDuff et al. 2019 (NeurIPS).
    """

    OUT: ClassVar[Out | None] = None
    RESUMES_FROM: ClassVar = "finished parts"

    target: Annotated[
        TargetLike,
        Option("The model to search; see: transect list targets.", str, metavar="TARGET", argument=True, opens="model"),
    ]
    _: KW_ONLY
    truth: Annotated[
        str | None,
        Option("The right answer: 'smile>0.5', an attribute, or face (default for detectors).", opens="value"),
    ] = None
    budget: Annotated[int, Option("Total number of calls, including confirmation; at least 20.")] = 400
    goal: Annotated[
        str,
        Option(
            "regions (default): rules in words, each with its rate on held-back calls; failures: as many failures as "
            "possible, without rules; rate: the overall failure rate.",
            opens="value",
        ),
    ] = "regions"
    vary: Annotated[
        str | Sequence[str],
        Option(
            "An attribute to search along: NAME (the population's values), NAME=LOW:HIGH (uniform) or NAME=A,B "
            "(levels); repeatable. Default: every continuous attribute.",
            opens="value",
        ),
    ] = ()
    population: Annotated[
        str | None,
        Option("A built-in population or a TOML file. Default balanced.", opens="data"),
    ] = None
    generator: Annotated[str | Generator, Option("The generator of the images.", str, opens="model")] = "faceworld"
    seed: Annotated[int, Option("Random seed for points and subjects.")] = 0
    options: SearchOptions = field(default_factory=SearchOptions)
    out: Annotated[
        str | Path | None, Option("The run folder; default runs/search-<target>.", Path | None, opens="write")
    ] = None
    dry_run: Annotated[bool, Option("Print the number of calls and their maximum cost, and stop.", opens="aside")] = (
        False
    )

    @cached_property
    def plan(self) -> SearchPlan:
        """What is searched, opened and checked before anything is rendered."""
        options, target = self.options, opened_target(self.target, self.options)
        directions = None if options.directions is None else Path(options.directions)
        world = WorldSettings(self.generator, self.population, options.image_size, options.device, directions).open()
        space = space_of(world, self.vary, kind=options.space, latent_dims=options.latent_dims)
        ends = zip(space.ranked.min(axis=1).tolist(), space.ranked.max(axis=1).tolist(), strict=True)
        world = for_attributes(world, dict(zip((each.name for each in space.attributes), ends, strict=True)))
        return search_for(
            world, target, space, truth=self.truth, budget=self.budget, goal=self.goal, seed=self.seed, options=options
        )

    def instead(self) -> AnyJob:
        """With --dry-run what the search costs."""
        return SearchCost(self) if self.dry_run else self

    def place(self) -> Path:
        """The run folder."""
        return Path("runs") / f"search-{slug(self.plan.target.name)}" if self.out is None else Path(self.out)

    def compute(self) -> SearchNumbers:
        """All calls, and what they show."""
        if self.dry_run:
            raise BadInput("dry_run applies to the command line; leave it out")
        if not self.quiet:
            announce(self.plan)
        try:
            return run(self.plan, self.place(), quiet=self.quiet)
        finally:
            if isinstance(self.target, str):
                costs.close([self.plan.target])

    def content(self, numbers: SearchNumbers) -> Content:
        """Where the target fails, how often, and what the failures look like."""
        return content_of(numbers)


search = function(Search)


@final
@dataclass(frozen=True)
class SearchCost(Job[Cost]):
    """What a search costs at most."""

    search: Search

    def compute(self) -> Cost:
        """Calls and money; the target is not asked."""
        plan = self.search.plan
        try:
            return costs.total(costs.quotes([plan.target], plan.budget, int(plan.world.image_size)))
        finally:
            costs.close([plan.target])

    def content(self, numbers: Cost) -> Content:
        """A line for each target."""
        return Content("Cost of a search", [costs.line(quote) for quote in numbers.targets])


def run(plan: SearchPlan, out: Path, *, quiet: bool = False) -> SearchNumbers:
    """Call the target until the budget is spent, and write the page; finished calls are read back."""
    budget = FailureBudget(plan.target.name, plan.budget, limit_share=plan.limits.max_failures)
    with RunFolder(out, plan.spec().to_json()) as folder, Progress("search", plan.budget, quiet=quiet) as progress:
        with resumable(out):
            history, parts = conduct(plan, folder, budget, progress)
        for line in keep_canaries(out, [plan.target]):
            say(line, error=True)
        costs.keep_calls(out, [plan.target])
        numbers = numbers_of(plan, folder, history, parts)
        builder.write(content_of(numbers).page(), out / "search.html", numbers)
        return numbers


def content_of(numbers: SearchNumbers) -> Content:
    """What is shown of a search."""
    names = ", ".join(spaced(attribute.name) for attribute in numbers.space)
    answer, pictures = list(_answer(numbers)), numbers.pictures
    rates: list[_Named] = [*((region.rule, region) for region in numbers.regions), ("overall", numbers.estimate)]
    return Content(
        title=f"Failures of {numbers.target}",
        question=f"{asked_of(numbers.outcome)} A search with {counted(numbers.calls, 'image')} over {names}.",
        picture=_picture(numbers),
        answer=answer,
        remarks=[" ".join(_counted(numbers))],
        warnings=[str(warning) for section in numbers.sections for warning in section.warnings],
        notes=[_RENDERED],
        first=[*_strip(pictures, numbers.failures), *listed([_step(numbers)]), Facts(list(_facts(numbers)))],
        parts=(
            Part("regions", "Regions", tuple(_regions(numbers))),
            Part("failures", "Failures", tuple(_gallery(pictures, numbers.failures) if len(pictures) > STRIP else ())),
            Part("maps", "Maps", tuple(_maps(numbers.maps))),
            Part("errors", "Errors by condition", tuple(_errors(numbers))),
            Part("course", "Failures by calls", tuple(_course(numbers))),
            Part("methods", "Methods", (_methods(numbers),)),
        ),
        rows=numbers.answers,
        terminal=[_calls(numbers), *answer, Table("Rates", rates, RATES)],
    )


def _step(numbers: SearchNumbers) -> Step:
    """To measure by experiment what the attributes of the search cause."""
    vary = " ".join(f"--vary {shlex.quote(attribute.name)}" for attribute in numbers.space)
    audit = f"transect audit {model_word(numbers.target)} {vary} --out ../audit"
    return Step("Measure what each attribute causes:", [audit])


def _picture(numbers: SearchNumbers) -> list[Block]:
    """The rates of the regions and the overall rate."""
    named: list[_Named] = [
        *((region.words, region) for region in numbers.regions[:MOST]),
        ("whole searched space", numbers.estimate),
    ]
    rates = [each for each in named if not math.isnan(each[1].rate)]
    if not rates:
        return []
    caption = "Failures, % of images, with intervals"
    return [Dots(caption, "answer", rates, lambda each: each[0], lambda each: _estimate(each[1]))]


def _estimate(one: Region | OverallRate) -> Estimate:
    return Estimate(one.rate, one.low, one.high, one.reason)


_Named = tuple[str, Region | OverallRate]
RATES: Final[Sequence[Column[_Named]]] = (
    Column("region", lambda named: named[0]),
    Column("rate, %", lambda named: _estimate(named[1]), "percent interval"),
    Column("images", lambda named: named[1].n, "count"),
)
REGIONS: Final[Sequence[Column[Region]]] = (
    Column("Rule", "words"),
    Column("Rate, %", _estimate, "percent interval"),
    Column("Fresh images", "n", "count"),
    Column("Share of the searched space, %", "share", "percent"),
)


def _percent(one: Estimate, least: int = 1) -> str:
    text = in_percent(one, 100, least=least)
    return text if math.isnan(one.estimate) else f"{text} %"


def verb_of(outcome: str) -> str:
    """What the target does in a failure.

    >>> verb_of("miss"), verb_of("error"), verb_of("option:nurse")
    ('misses the face in', 'gives a wrong answer on', 'chooses nurse on')
    """
    kind, _, name = outcome.partition(":")
    return _OF_NAME[kind][0].format(name) if kind in _OF_NAME else _VERBS.get(outcome, "gives a wrong answer on")


def asked_of(outcome: str) -> str:
    """What a search for an outcome asks.

    >>> asked_of("error"), asked_of("refusal")
    ('In which images is its answer wrong?', 'On which images does it refuse?')
    """
    kind, _, name = outcome.partition(":")
    return _OF_NAME[kind][1].format(name) if kind in _OF_NAME else _ASKED.get(outcome, _WRONG)


def _answer(numbers: SearchNumbers) -> Iterator[str]:
    verb = verb_of(numbers.outcome)
    for first in numbers.regions[:1]:
        level = "94 %" if first.n >= FEW else "90 %"  # at least, by the stopping rule (research/search.md)
        images = f"{counted(first.n, 'fresh image')} ({level} interval)"
        yield _said(f"Where {first.words}, it", verb, first, images)
    yield _said("Over the whole searched space it", verb, numbers.estimate, "images (95 % interval)")
    if not numbers.regions:
        yield f"No region: {numbers.regions_reason}."


def _said(where: str, verb: str, one: Region | OverallRate, images: str) -> str:
    if math.isnan(one.rate):
        return f"{where} {verb} an unknown share of images: {one.reason}."
    return f"{where} {verb} {_percent(_estimate(one), least=0)} of {images}."


def _counted(numbers: SearchNumbers) -> Iterator[str]:
    """Why there are more failures than the overall rate says, and which images give which rate."""
    calls = counted(numbers.calls, "image")
    yield f"The overall rate covers the {numbers.estimate.n:,} of {calls} that were spread evenly over the space."
    if numbers.failures:
        yield (
            f"The {counted(numbers.failures, 'failure')} among all images are not a rate: the search chose images "
            "where failures were likely."
        )
    if numbers.regions:
        yield f"The fresh images are among the {numbers.calls:,} too; none of them helped to find the region."


def _calls(numbers: SearchNumbers) -> str:
    failures = f"{counted(numbers.failures, 'failure')}, {numbers.distinct_failures} distinct"
    unanswered = f"; {counted(numbers.failed, 'call')} without a valid answer" if numbers.failed else ""
    return f"{counted(numbers.calls, 'call')}, {failures}{unanswered}"


def _facts(numbers: SearchNumbers) -> Iterator[tuple[str, str]]:
    yield "failures", f"{numbers.failures:,}"
    yield "distinct failures", f"{numbers.distinct_failures:,}"
    yield "calls without a valid answer", f"{numbers.failed:,}"
    yield "calls paid", f"{numbers.paid_calls:,}"
    yield "cost", shown(numbers.cost, "number")


def _gallery(pictures: Sequence[FailurePicture], failures: int) -> list[Block]:
    """The block of a gallery; nothing without a picture. failures: how many there are in all."""
    chosen = f"{len(pictures)} of {failures} failures, chosen to be diverse"
    shown = chosen if len(pictures) < failures else "All failures"
    text = f"{shown}, in the order of the calls; below each picture is its call."
    return [Paragraph(text), tag("div", joined(map(_figure, pictures)), class_="shots")]


def _strip(pictures: Sequence[FailurePicture], failures: int) -> list[Block]:
    """Failures for the first screen, spread over the space, with how many there are; nothing without a picture."""
    if not pictures:
        return []
    shown = sorted(sorted(pictures, key=lambda picture: picture.place)[:STRIP], key=lambda picture: picture.call)
    count = f"{len(shown)} of {failures:,} failures, chosen to be diverse, one per subject:"
    every = "The one failure:" if failures == 1 else f"All {failures} failures:"
    words = Paragraph(count if len(shown) < failures else every, "key")
    return [words, tag("div", joined(map(_figure, shown)), class_="shots row")]


def _figure(picture: FailurePicture) -> Markup:
    named = [f"{spaced(name)} {value}" for name, value in picture.values[:_NAMED]]
    more = len(picture.values) - _NAMED
    words = ", ".join([*named, *([f"and {more} more"] if more > 0 else [])])
    image = tag("img", src=data_address(picture.png), alt=f"Failure at call {picture.call}: {words}")
    caption = tag("figcaption", f"call {picture.call}: {words}")
    return tag("figure", tag("div", image, class_="frame") + caption, class_="shot")


def _regions(numbers: SearchNumbers) -> Iterator[Block]:
    if not numbers.regions:
        yield Paragraph(f"None: {numbers.regions_reason}.")
        return
    yield Paragraph(_REGIONS)
    yield Table("Regions", numbers.regions, REGIONS, "Regions with failures")


def _maps(maps: Sequence[AttributeMap]) -> Iterator[Block]:
    yield Paragraph(_MAPS)
    if not maps:
        yield Paragraph("Only one attribute was varied, so there is no pair to draw.")
        return
    yield Plots([_map(one, number) for number, one in enumerate(maps)], "maps", _map_numbers(maps))
    yield Secondary(list(map(_map_table, maps)))


def _map(one: AttributeMap, number: int) -> Plot:
    size = len(one.calls)
    fields = [
        [Field(f"{n}/{calls}", n / calls) if calls else Field("–", None) for n, calls in zip(*lines, strict=True)]
        for lines in zip(one.failures, one.calls, strict=True)
    ]
    frames = [Frame(*box.x, *box.y) for box in one.rules]
    across = [Tick(100.0 * end, shown(at, "number"), at) for end, at in ((0, one.x_edges[0]), (1, one.x_edges[size]))]
    up = [
        Tick(MAP_HEIGHT * (1.0 - end), shown(at, "number"), at)
        for end, at in ((0, one.y_edges[0]), (1, one.y_edges[size]))
    ]
    drawing = heat_map(f"map-{number}", f"Failures of calls by {one.x} and {one.y}", fields, frames, across, up)
    caption = Markup('<strong>{}</strong> <span class="fine">up</span>').format(one.y)
    return Plot(caption, drawing, Markup("<strong>{}</strong>").format(one.x))


def _map_numbers(maps: Sequence[AttributeMap]) -> TextTable:
    """Every field of every map: the ranges of both attributes, its calls and its failures."""
    rows = [
        (one.x, *_ends(one.x_edges, column), one.y, *_ends(one.y_edges, row), str(calls), str(failures))
        for one in maps
        for row, lines in enumerate(zip(one.calls, one.failures, strict=True))
        for column, (calls, failures) in enumerate(zip(*lines, strict=True))
    ]
    return TextTable("Maps", ("across", "from", "to", "up", "up from", "up to", "calls", "failures"), rows)


def _ends(edges: Sequence[float], number: int) -> tuple[str, str]:
    return str(edges[number]), str(edges[number + 1])


def _map_table(one: AttributeMap) -> Table[int]:
    """Failures and calls of every field, the highest row first, as on the map."""
    size = range(len(one.calls))
    columns = [Column("", _range_of(one.y_edges)), *(_map_column(one, column) for column in size)]
    caption = f"Failures of calls by {one.y} (rows) and {one.x} (columns)"
    return Table(caption, list(reversed(size)), columns, caption)


def _range_of(edges: Sequence[float]) -> Callable[[int], str]:
    return lambda number: f"{shown(edges[number], 'number')} to {shown(edges[number + 1], 'number')}"


def _map_column(one: AttributeMap, column: int) -> Column[int]:
    heading = _range_of(one.x_edges)(column)
    return Column(heading, lambda row: f"{one.failures[row][column]} of {one.calls[row][column]}", "figure")


_MOST_CONDITIONS: Final = 40
"""Rows of the table of errors that stand on the first page."""


def _errors(numbers: SearchNumbers) -> Iterator[Block]:
    errors = numbers.errors
    if errors is None or not errors.samples[0].rows:
        return
    table = _error_table(errors)
    yield Paragraph(_ERRORS)
    if len(table.records) > _MOST_CONDITIONS:
        yield Paragraph(f"The table of {len(table.records)} conditions is on the page of all numbers.")
    yield Secondary([table]) if len(table.records) > _MOST_CONDITIONS else table
    if numbers.faces:
        heading, seen, named = _FACES[numbers.outcome in ERRORS]
        yield Heading(f"Mean faces {heading}")
        yield Paragraph(
            "Of all calls, by the attributes whose groups' rates differ most. A mean of few answers looks like one "
            f"person's face. The faces show what {seen}."
        )
        yield tag("div", joined(_mean_face(face, named) for face in numbers.faces), class_="faces")


def _error_table(errors: ErrorTables) -> Table[int]:
    """Conditions by lines, measures and samplers beside each other."""
    rows = errors.samples[0].rows
    lines = sum(row.measure == rows[0].measure for row in rows)
    columns = [_error_column(sample, first) for sample in errors.samples for first in range(0, len(rows), lines)]
    condition: Column[int] = Column("Condition", lambda line: _condition(rows[line]))
    return Table("Errors by condition", range(lines), [condition, *columns], "Error rates by sampler")


def _error_column(sample: SamplerErrors, first: int) -> Column[int]:
    heading = f"{sample.rows[first].measure}, {sample.sampler}"
    return Column(heading, lambda line: _error(sample.rows[first + line]), "figure")


def _condition(row: ErrorRate) -> str:
    if not row.by:
        return "all calls"
    named = row.uniform or "×" not in row.by  # the group of several attributes names them
    name = f"{spaced(row.by)}: " if named else ""
    return name + ("all, weighted equally" if row.uniform else row.group)


def _error(row: ErrorRate) -> str:
    left_out = f", {row.left_out:,} left out" if row.left_out else ""
    return f"{_percent(row)}, {row.errors:,} of {row.images:,}{left_out}"


def _mean_face(face: AnswerFaces, named: tuple[str, str]) -> Markup:
    name = f"{spaced(face.by)}: {face.group}" if face.by else "all calls"
    name = face.group if "×" in face.by else name  # the group names its attributes
    both = ((face.right_picture, face.right, named[0]), (face.wrong_picture, face.wrong, named[1]))
    means = [_mean(picture, f"{count} {word}", name) for picture, count, word in both]
    return tag("figure", tag("figcaption", name) + tag("div", joined(means), class_="two"))


def _mean(picture: bytes | None, words: str, name: str) -> Markup:
    image = tag("span", "–", class_="missing")
    if picture:
        image = tag("img", src=data_address(picture), alt=f"Mean face of {words} answers, {name}")
    return tag("div", image + tag("span", words, class_="fine"))


def _course(numbers: SearchNumbers) -> Iterator[Block]:
    found, calls = numbers.distinct_failures, counted(numbers.calls, "call")
    yield Paragraph(f"Distinct failures, from none to {found:,}, over {calls}.")
    points = _curve(numbers.curve)
    if not points:
        yield Paragraph("No failure was found.")
        return
    line = tag("g", svg.course(points, height=100), class_="series s0")
    words = "The line rises with each failure that is far from those before."
    drawing = svg.plot("course-plot", "Distinct failures by calls", words, line, up=(), height=192)
    rows = [(str(call), str(count)) for call, count in enumerate(numbers.curve, start=1)]
    table = TextTable("Course", ("call", "distinct failures"), rows)
    yield Plot("Distinct failures by calls", drawing, "calls", table)


def _curve(counts: Sequence[int]) -> str:
    """The course of failures by calls as points of a box 100 wide and 100 high."""
    if not counts or not counts[-1]:
        return ""
    last = len(counts)
    drawn = sorted({0, *(round(step * last / STEPS) for step in range(1, STEPS + 1))})
    ends = [(100 * n / last, 100 - 100 * (counts[n - 1] if n else 0) / counts[-1]) for n in drawn]
    return " ".join(f"{x:.2f},{y:.2f}" for x, y in ends)


def _methods(numbers: SearchNumbers) -> Facts:
    often = "" if numbers.outcome in ERRORS else ", in at least half of an image's wordings"
    estimate = numbers.estimate
    space = (f"{one.name} {shown(one.low, 'number')} to {shown(one.high, 'number')}" for one in numbers.space)
    gates = [(str(section.title), str(section.text[0])) for section in numbers.sections if section.key == "gates"]
    facts = [
        ("Goal", numbers.goal),
        ("Strategy", numbers.strategy),
        ("A failure", f"{numbers.outcome}{often}"),
        ("Overall rate", f"{estimate.method}, from {counted(estimate.n, 'call')} drawn for it"),
        *gates,
        ("Searched space", "; ".join(space)),
    ]
    return Facts(facts, methods=True)
