"""Effects in several worlds: the records of a replication, and its conclusions in words."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, final

from transect.analysis.compared.conclusions import amount, interval_said, level_words, number, stated
from transect.effects.several_worlds import Standing, Transported
from transect.effects.verdicts import rounded_up
from transect.records import Estimate, Kind
from transect.reports.columns import decimals_for
from transect.reports.wording import outcome_words, short_name
from transect.runs.json_records import hidden
from transect.runs.wording import counted, spaced

MARKS: Final[dict[Standing, tuple[str, str]]] = {
    "differs": ("≠", "differs"),
    "replicates": ("=", "replicates"),
    "same direction": ("⇉", "same direction; sizes may differ"),
    "agrees": ("≈", "agrees within the margin; not seen in every world"),
    "cannot tell": ("?", "inconclusive"),
    "not estimable": ("–", "not estimable"),
}
"""The mark and the word of each verdict, in the order in which a page lists them."""
_COUNTED: Final[dict[Standing, tuple[str, str]]] = {
    "differs": ("{} differs", "{} differ"),
    "replicates": ("{} replicates", "{} replicate"),
    "same direction": (
        "{} has the same direction, but its size may differ",
        "{} have the same direction, but their sizes may differ",
    ),
    "agrees": (
        "{} agrees within the margin and is not seen in every world",
        "{} agree within the margin and are not seen in every world",
    ),
    "cannot tell": ("{} is inconclusive", "{} are inconclusive"),
    "not estimable": ("{} is not estimable", "{} are not estimable"),
}
OPPOSITE: Final = ", opposite directions"
MOST: Final = 6
"""Findings that the answer tells; the page has all."""


def about(finding: Finding | Combined) -> str:
    """What a finding is about, as "skin tone 1 to 10 on the miss rate"."""
    levels = re.sub(r"(?<![\w.])-(?=\d)", "−", finding.levels)
    return f"{spaced(finding.attribute)} {levels} on the {outcome_words(finding.outcome, finding.unit, finding.task)}"


def verdict(finding: Finding) -> str:
    """The verdict in words, with opposite signs of worlds that show the effect."""
    word = MARKS[finding.verdict][1]
    return f"{word}{OPPOSITE}" if finding.against else word


def seen(finding: Finding) -> str:
    """In how many worlds it was seen, and in which direction where not in one."""
    if not finding.against:
        return f"seen in {len(finding.seen_in)} of {counted(len(finding.worlds), 'world')}"
    sizes = {world.world: world.estimate for world in finding.worlds}
    ways = {"an increase": [name for name in sizes if _shows(finding, name) and sizes[name] > 0],
            "a decrease": [name for name in sizes if _shows(finding, name) and sizes[name] < 0]}  # fmt: skip
    return "seen " + " and ".join(f"as {way} in {' and '.join(names)}" for way, names in ways.items())


def _shows(finding: Finding, name: str) -> bool:
    return name in (*finding.seen_in, *finding.against)


def sentence(finding: Finding) -> str:
    """One finding with its verdict, and in how many worlds it was seen."""
    head = f"{verdict(finding).capitalize()}: {about(finding)}"
    match finding.verdict:
        case "replicates" | "agrees":
            return f"{head}, {seen(finding)} ({_sizes(finding)}); {_agreed(finding)}{_signs(finding)}."
        case "same direction":
            return f"{head}, {seen(finding)} ({_sizes(finding)}); {_reach(finding)}; {_for_sizes(finding)}."
        case "differs":
            return f"{head}, {seen(finding)}: {_differ(finding)}{_signs(finding)}."
        case "cannot tell":
            return f"{head}, {seen(finding)} ({_sizes(finding)}){_signs(finding)}: {needs(finding)}."
        case _:
            return f"{head}: {finding.reason}."


def models(findings: Sequence[Finding]) -> dict[str, str]:
    """What to call each model, by digest, so that none is taken for another; "" where there is one alone."""
    whole = {finding.digest: finding.target for finding in findings}
    if len(whole) < 2:
        return dict.fromkeys(whole, "")
    short = {digest: short_name(name) for digest, name in whole.items()}
    names = short if len(set(short.values())) == len(short) else whole
    counts = Counter(names.values())
    return {digest: name if counts[name] == 1 else f"{name} ({digest[:7]})" for digest, name in names.items()}


def size(value: float, unit: str) -> str:
    """An effect or a difference in its unit, signed; "–" where there is none."""
    return amount(value, unit, signed=True) if math.isfinite(value) else "–"


def _sizes(finding: Finding) -> str:
    return ", ".join(_size(world, finding.unit) for world in finding.worlds)


def _size(world: InWorld, unit: str) -> str:
    if not math.isfinite(world.estimate):
        return f"{world.world} not estimable"
    return f"{world.world} {amount(world.estimate, unit, decimals_for(world.low, world.high), signed=True)}"


def _agreed(finding: Finding) -> str:
    return f"worlds differ by less than {stated(finding.margin, finding.unit)}"


def _reach(finding: Finding) -> str:
    """By how much sizes differ at most, which is not shown to be less than the margin with all others of the page."""
    if finding.within:
        return f"{_agreed(finding)}, but not after correction for all effects on this page"
    reach = amount(max(abs(finding.least), abs(finding.most)), finding.unit, decimals_for(finding.least, finding.most))
    none = math.isnan(finding.margin)
    margin = "no margin is stated" if none else f"the margin is {stated(finding.margin, finding.unit)}"
    return f"sizes differ by {reach} at most (90 % intervals), {margin}"


def _for_sizes(finding: Finding) -> str:
    """What would tell whether sizes are alike."""
    wanted = needs(finding)
    return f"to tell whether sizes are alike {wanted}" if finding.needed else wanted


def _signs(finding: Finding) -> str:
    """That estimates have both signs, where not every one of these worlds shows it."""
    up, down = (any(sign * world.estimate > 0 for world in finding.worlds) for sign in (1, -1))
    if finding.against or not (up and down):
        return ""
    return "; estimates have opposite signs"


def _differ(finding: Finding) -> str:
    """By how much, and whether the direction is the same."""
    known = [world for world in finding.worlds if world.world in (finding.first, finding.second)]
    sized = ", ".join(_size(world, finding.unit) for world in known)
    ends = interval_said(finding.low, finding.high, finding.unit)
    apart = amount(abs(finding.difference), finding.unit, decimals_for(finding.low, finding.high))
    same = len({world.estimate > 0 for world in known}) == 1
    more = " in the same direction," if same and len(finding.seen_in) == len(finding.worlds) else ""
    levels = f"{finding.second} minus {finding.first}: {level_words(finding.confidence)}"
    return f"{sized},{more} by {apart} ({levels} interval {ends})"


def needs(finding: Finding) -> str:
    """What would settle a finding that the data leave open."""
    if finding.needed:
        wanted = [f"{counted(rounded_up(n.subjects), 'subject')} in {n.world}" for n in finding.needed]
        return f"needs about {' and '.join(wanted)}"
    if math.isnan(finding.margin):
        return f"state the largest difference between worlds that does not matter (--margin {finding.outcome}=…)"
    return "the number of subjects needed is not known"


def lacking(finding: Finding) -> str:
    """What is missing for a verdict, on sizes where the direction is known, for a table; "" where there is one."""
    return needs(finding).removeprefix("needs ") if finding.verdict in ("cannot tell", "same direction") else ""


def answers(findings: Sequence[Finding]) -> tuple[str, ...]:
    """How many effects replicate, then a sentence for each of the first findings."""
    counts = Counter(finding.verdict for finding in findings)
    parts = [_COUNTED[each][counts[each] > 1].format(counts[each]) for each in MARKS if counts[each]]
    opposed = sum(bool(finding.against) for finding in findings)
    parts += [f"{opposed} of these in opposite directions"] * bool(opposed)
    head = _head(len(findings), counts, parts)
    left = len(findings) - MOST
    more = (f"{counted(left, 'more finding')} below.",) if left > 0 else ()
    called = models(findings)
    texts = [(called[finding.digest], finding.text) for finding in findings[:MOST]]
    told = [f"{model}. {text}" if model else text for model, text in texts]
    return (head, *told, *more)


def _head(shared: int, counts: Mapping[Standing, int], parts: Sequence[str]) -> str:
    """How many shared effects have which verdict: "Both shared effects differ."."""
    if len(counts) == 1 and len(parts) == 1 and shared < 3:
        said = parts[0].partition(" ")[2]
        return f"{'Both shared effects' if shared == 2 else 'The shared effect'} {said}."
    return f"Of {counted(shared, 'shared effect')}: {', '.join(parts)}."


def combined_sentence(one: Combined) -> str:
    """The combined effect, and how much the rendering contributed."""
    head = f"On {one.photographed_world}, {about(one)}, corrected for the rendering"
    if not math.isfinite(one.low):
        return f"{head}: no interval ({one.reason})."
    estimate = amount(one.estimate, one.unit, decimals_for(one.low, one.high), signed=True)
    ends = interval_said(one.low, one.high, one.unit)
    own = interval_said(one.alone_low, one.alone_high, one.unit)
    off = number(one.off, one.unit, decimals_for(one.off_low, one.off_high), signed=True)
    wrong = interval_said(one.off_low, one.off_high, one.unit)
    return (
        f"{head}: {estimate} (95 % interval {ends}; photographs alone {own}); "
        f"{_contributed(one)}. The rendering is off by {off} ({wrong})."
    )


def _contributed(one: Combined) -> str:
    """By how much the rendering narrows the interval."""
    if not one.gained > 0.005:
        return "the rendering contributes nothing"
    worth = counted(round(one.worth), "more photographed subject")
    return f"the rendering narrows the interval by {100 * one.gained:.0f} %, as {worth} would"


How = Literal["set", "unadjusted", "matched"]
"""Where a world's effects are from: the attribute was set, groups as they are were compared, or images were matched."""


@final
@dataclass(frozen=True, slots=True)
class World:
    """One study of one run. name: what pages call it, unique among those compared. kind, how: what it is.

    hold: attributes held at the subject's own value (direct effects). seed: that subjects are drawn by, None where they
    are none of a generator. notes: what is not compared of it, and why. image_size: side of its images in pixels, 0
    where that is not known. run: the name of its folder.
    """

    name: str
    study: str
    kind: str
    how: How
    generator: str
    population: str
    subjects: int
    hold: tuple[str, ...] = ()
    seed: int | None = None
    notes: tuple[str, ...] = ()
    image_size: int = 0
    run: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class WorldEffect(Estimate):
    """One effect in one world, before it is matched with those of others.

    world: position. digest: of the target's description, "" where the world does not say which model it is about.
    origin, to: levels; labels: in words. slope: per unit of the attribute. truth: as stated, "" without one.
    """

    world: int = 0
    target: str
    digest: str = ""
    attribute: str
    kind: Kind
    attribute_unit: str = ""
    outcome: str
    unit: str
    truth: str = ""
    slope: bool
    origin: float
    to: float
    labels: tuple[str, str]
    p: float
    p_adjusted: float
    n_subjects: int
    task: str = ""


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class InWorld(Estimate):
    """The effect in one world, in the unit in which it is compared; NaN with a reason. seen: the world alone shows it.

    n_subjects: pairs, of matched images.
    """

    world: str
    p_adjusted: float
    n_subjects: int
    seen: bool


@final
@dataclass(frozen=True, slots=True)
class SubjectsNeeded:
    """Subjects of a world with which the data could tell."""

    world: str
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One effect in several worlds, and what is concluded.

    digest: of the target's description. levels: what is compared in words. scaled: worlds have other levels, so that
    slopes are compared, each times the span of these levels. seen_in: worlds that show it, in one direction; against:
    worlds that show the opposite. first, second: the worlds that differ most; difference: second minus first, with its
    interval at `confidence`. least, most: outermost ends of the 90 % intervals of all differences. within: worlds are
    shown to differ by less than the margin. p_replication: of an effect in every world and of such differences, over
    all effects (Holm). text: in a sentence.
    """

    target: str
    digest: str
    attribute: str
    outcome: str
    unit: str
    levels: str
    scaled: bool
    verdict: Standing
    worlds: tuple[InWorld, ...]
    seen_in: tuple[str, ...]
    against: tuple[str, ...]
    first: str
    second: str
    difference: float
    low: float
    high: float
    confidence: float
    least: float
    most: float
    margin: float
    p: float
    p_adjusted: float
    within: bool
    p_replication: float
    needed: tuple[SubjectsNeeded, ...]
    reason: str = ""
    text: str = ""
    task: str = hidden("")


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Combined(Transported):
    """An effect on photographs from both worlds: many rendered subjects, corrected by those that have both.

    text: in a sentence.
    """

    target: str
    attribute: str
    outcome: str
    unit: str
    levels: str
    rendered_world: str
    photographed_world: str
    text: str = ""
    task: str = hidden("")


@final
@dataclass(frozen=True, slots=True)
class ReplicateNumbers:
    """Effects in several worlds. answer: the conclusions in words. notes: what was not compared, and how levels were
    mapped. combined: effects on photographs with the help of the rendering, where that was asked for.
    """

    worlds: tuple[World, ...]
    margins: Mapping[str, float]
    answer: tuple[str, ...]
    findings: tuple[Finding, ...]
    combined: tuple[Combined, ...]
    notes: tuple[str, ...]
    works: tuple[str, ...]
