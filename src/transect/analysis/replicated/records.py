"""Worlds, their effects, and what is concluded of the effects that several worlds have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, final

from transect.effects.agreement import Standing
from transect.records import Kind

How = Literal["set", "adjusted", "matched"]
"""How a world's effects are estimated: the attribute was set, others were adjusted for, or images were matched."""


@final
@dataclass(frozen=True, slots=True)
class World:
    """One study of one run. name: what pages call it, unique among those compared. kind, how: what it is.

    hold: attributes held at the subject's own value (direct effects). seed: that subjects are drawn by, None where they
    are none of a generator. notes: what is not compared of it, and why. image_size: side of its images in pixels, 0
    where that is not known.
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


@final
@dataclass(frozen=True, slots=True)
class WorldEffect:
    """One effect in one world, before it is matched with those of others.

    world: position. digest: of the target's description, "" where the world does not say which model it is about.
    origin, to: levels; labels: in words. slope: per unit of the attribute. truth: as stated, "" without one.
    """

    world: int
    target: str
    digest: str
    attribute: str
    kind: Kind
    attribute_unit: str
    outcome: str
    unit: str
    truth: str
    slope: bool
    origin: float
    to: float
    labels: tuple[str, str]
    estimate: float
    low: float
    high: float
    p_adjusted: float
    n_subjects: int
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class InWorld:
    """The effect in one world, in the unit in which it is compared; NaN with a reason. seen: the world alone shows it.

    n_subjects: pairs, of matched images.
    """

    world: str
    estimate: float
    low: float
    high: float
    p_adjusted: float
    n_subjects: int
    seen: bool
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class SubjectsNeeded:
    """Subjects of a world with which the data could tell."""

    world: str
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class Summary:
    """The mean world and the next one, from three worlds on; NaN with a reason where there are fewer.

    tau: standard deviation between worlds, with the ends of its interval.
    """

    estimate: float
    low: float
    high: float
    prediction_low: float
    prediction_high: float
    tau: float
    tau_low: float
    tau_high: float
    share: float
    n_worlds: int
    reason: str


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One effect in several worlds, and what is concluded.

    digest: of the target's description. levels: what is compared in words. scaled: worlds have other levels, so that
    slopes are compared, each times the span of these levels. seen_in: worlds that show it, in one direction; against:
    worlds that show the opposite. first, second: the worlds that differ most; difference: second minus first, with its
    interval at `confidence`. least, most: outermost ends of the 90 % intervals of all differences. within: worlds are
    shown to differ by less than the margin. text: in a sentence.
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
    needed: tuple[SubjectsNeeded, ...]
    summary: Summary
    reason: str = ""
    text: str = ""


@final
@dataclass(frozen=True, slots=True)
class Combined:
    """An effect on photographs from both worlds: many rendered subjects, corrected by those that have both.

    The fields are those of `effects.transport.Transported`. text: in a sentence.
    """

    target: str
    attribute: str
    outcome: str
    unit: str
    levels: str
    rendered_world: str
    photographed_world: str
    estimate: float
    low: float
    high: float
    alone: float
    alone_low: float
    alone_high: float
    rendered: float
    off: float
    off_low: float
    off_high: float
    trust: float
    gained: float
    worth: float
    n_both: int
    n_rendered: int
    n_missing: int = 0
    reason: str = ""
    text: str = ""


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
