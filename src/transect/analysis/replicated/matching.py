"""Which effects of different worlds are the same effect: one model, attribute, outcome, unit, and levels.

Stated rules. Models are the same where their descriptions are, whatever they are called; matched pairs, which name no
model, are taken to be of the only model of the other worlds. Levels of a categorical attribute must have the same
names, in either order. Binary attributes compare the second level with the first. Continuous and ordinal attributes are
compared at the same two levels where all worlds have them, else as slopes per unit, each times the span of the first
world that set levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Final, final

from transect.analysis.replicated.reading import Reading
from transect.analysis.replicated.records import World, WorldEffect
from transect.analysis.replicated.subjects import shared
from transect.errors import BadInput
from transect.reports.wording import short_name
from transect.runs.wording import spaced

_SEVERAL: Final = "{}: matched pairs name no model, and the other runs audit several: give runs of one model"


@final
@dataclass(frozen=True, slots=True)
class SameEffect:
    """One effect in the worlds that have it.

    effects: by position of the world, in the unit that is compared. independent: no two worlds share subjects.
    """

    target: str
    digest: str
    attribute: str
    outcome: str
    unit: str
    levels: str
    scaled: bool
    effects: tuple[WorldEffect, ...]
    independent: bool = True


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """The effects that two worlds or more have, and in words what was mapped and what is not compared."""

    effects: tuple[SameEffect, ...]
    notes: tuple[str, ...]


def match(readings: Sequence[Reading]) -> Matched:
    """The effects that are the same in two worlds or more.

    Raises BadInput where total and direct effects meet, and where no effect is the same in two worlds.
    """
    worlds = [reading.world for reading in readings]
    _check_held(worlds)
    effects = _of_one_model(readings)
    notes = [f"{world.name}: {note}" for world in worlds for note in world.notes]
    shown = [reading.photographed for reading in readings]
    sharing = {frozenset((first, other)): note for first, other, note in shared(worlds, shown)}
    notes += [*sharing.values(), *_unnamed(worlds), *_other_models(worlds, effects), *_sizes(worlds)]
    found: list[SameEffect] = []
    for key in dict.fromkeys((e.digest, e.attribute, e.outcome) for e in effects):
        alike = [e for e in effects if (e.digest, e.attribute, e.outcome) == key]
        made, why = _aligned(alike, worlds)
        found += made
        notes += why
    if not found:
        _check_one_model(worlds, effects)
        why_none = "; ".join(dict.fromkeys(notes)) or "no model, attribute and outcome is in two of them"
        raise BadInput(f"expected an effect that two worlds share, got none ({why_none}); audit one model with the "
                       "same attributes and outcomes in both")  # fmt: skip
    told = tuple(dict.fromkeys(notes))
    return Matched(tuple(replace(each, independent=_independent(each, sharing)) for each in found), told)


def _independent(same: SameEffect, sharing: Iterable[frozenset[int]]) -> bool:
    """Whether no two of its worlds share subjects."""
    places = {effect.world for effect in same.effects}
    return not any(pair <= places for pair in sharing)


def _check_held(worlds: Sequence[World]) -> None:
    """Refuse total beside direct effects: they answer two questions."""
    for first, other in combinations([world for world in worlds if world.how == "set"], 2):
        if first.hold != other.hold:
            held = [", ".join(world.hold) or "nothing" for world in (first, other)]
            raise BadInput(
                f"{other.name}: expected effects with {held[0]} held, as in {first.name}, got {held[1]} held: total "
                "and direct effects differ; audit both with the same --hold"
            )


def _of_one_model(readings: Sequence[Reading]) -> list[WorldEffect]:
    """All effects; those of matched pairs under the only model of the others."""
    effects = [effect for reading in readings for effect in reading.effects]
    models = {effect.digest: effect.target for effect in effects if effect.digest}
    unnamed = [reading.world for reading in readings if reading.world.how == "matched"]
    if not unnamed or not models:
        return effects
    if len(models) > 1:
        raise BadInput(_SEVERAL.format(unnamed[0].name))
    ((digest, target),) = models.items()
    return [effect if effect.digest else replace(effect, digest=digest, target=target) for effect in effects]


def _unnamed(worlds: Sequence[World]) -> Iterator[str]:
    """That a world names no model."""
    if any(world.how == "matched" for world in worlds):
        yield "Matched pairs name no model: their outcomes are taken to be those of the one model of all worlds."


def _sizes(worlds: Sequence[World]) -> Iterator[str]:
    """That images of different worlds have different sizes."""
    sizes = {world.name: world.image_size for world in worlds if world.image_size}
    if len(set(sizes.values())) > 1:
        told = ", ".join(f"{size} px in {name}" for name, size in sizes.items())
        yield f"Images differ in size ({told}): part of a difference between worlds may come from that."


def _check_one_model(worlds: Sequence[World], effects: Sequence[WorldEffect]) -> None:
    """Refuse worlds of which no two audit one model."""
    of = {world.name: [e for e in effects if worlds[e.world] is world] for world in worlds}
    audited = {name: {e.digest for e in rows} for name, rows in of.items() if rows}
    if len(audited) < 2 or any(first & other for first, other in combinations(audited.values(), 2)):
        return
    told = [f"{', '.join(dict.fromkeys(short_name(e.target) for e in of[name]))} in {name}" for name in audited]
    raise BadInput(
        f"expected runs that audit one model, got {'; '.join(told)}: audit one model in all of them (same weights, "
        "threshold and preprocessing), or set models side by side with transect compare"
    )


def _other_models(worlds: Sequence[World], effects: Sequence[WorldEffect]) -> Iterator[str]:
    """Targets of one name whose descriptions differ: other models."""
    for name in dict.fromkeys(effect.target for effect in effects):
        digests = {effect.digest for effect in effects if effect.target == name}
        if len(digests) > 1:
            where = dict.fromkeys(worlds[effect.world].name for effect in effects if effect.target == name)
            yield (
                f"{short_name(name)} is not one model in {', '.join(where)}: its descriptions differ (weights, code, "
                "threshold, labels or preprocessing), so that its effects are not compared"
            )


def _aligned(alike: Sequence[WorldEffect], worlds: Sequence[World]) -> tuple[list[SameEffect], list[str]]:
    """The comparisons of one model, attribute and outcome, and what is mapped or left out."""
    alike, notes = _of_one_unit(alike, worlds)
    if len({effect.world for effect in alike}) < 2:
        return [], notes
    truths = {effect.truth for effect in alike}
    if len(truths) > 1 and alike[0].outcome not in ("answer", "score", "distance"):
        said = [f"{e.truth or 'not stated'} in {worlds[e.world].name}" for e in _one_each(alike)]
        notes.append(f"{spaced(alike[0].outcome)} by {spaced(alike[0].attribute)}: the truth is {', '.join(said)}")
        if len(truths - {""}) > 1:  # errors against two truths are two outcomes
            return [], notes
    kinds = {effect.kind for effect in alike}
    if kinds <= {"continuous", "ordinal"}:
        made, more = _of_numbers(alike, worlds)
    elif kinds == {"binary"}:
        made, more = _of_two(alike, worlds)
    elif kinds <= {"binary", "categorical"}:
        made, more = _of_names(alike), []
    else:
        made, more = [], [f"{spaced(alike[0].attribute)} is {' and '.join(sorted(kinds))}: not compared"]
    return made, [*notes, *more]


def _of_one_unit(alike: Sequence[WorldEffect], worlds: Sequence[World]) -> tuple[list[WorldEffect], list[str]]:
    """The effects in the units of the first world, and which worlds have others."""
    first = alike[0]
    kept = [e for e in alike if (e.unit.split(" per ")[0], e.attribute_unit) == _units(first) or e.digest == ""]
    left = dict.fromkeys(worlds[e.world].name for e in alike if e not in kept)
    about = f"{spaced(first.outcome)} by {spaced(first.attribute)}"
    return kept, [f"{about} is not compared in {name}: its unit is another one" for name in left]


def _units(effect: WorldEffect) -> tuple[str, str]:
    return effect.unit.split(" per ")[0], effect.attribute_unit


def _one_each(effects: Sequence[WorldEffect]) -> list[WorldEffect]:
    """The first effect of each world, in the order of the worlds."""
    first: dict[int, WorldEffect] = {}
    for effect in effects:
        first.setdefault(effect.world, effect)
    return [first[place] for place in sorted(first)]


def _same(effects: Sequence[WorldEffect], levels: str, *, scaled: bool = False) -> SameEffect:
    first = effects[0]
    target = next((effect.target for effect in effects if effect.target), "")
    unit = first.unit.split(" per ")[0]
    return SameEffect(target, first.digest, first.attribute, first.outcome, unit, levels, scaled, tuple(effects))


def _of_two(alike: Sequence[WorldEffect], worlds: Sequence[World]) -> tuple[list[SameEffect], list[str]]:
    """A binary attribute: the second level against the first, whatever they are called."""
    effects = _one_each(_facing([effect for effect in alike if not effect.slope]))
    first = effects[0]
    notes = [
        f"{spaced(e.attribute)}: {e.labels[0]} to {e.labels[1]} in {worlds[e.world].name} is taken to be "
        f"{first.labels[0]} to {first.labels[1]}"
        for e in effects
        if e.labels != first.labels
    ]
    return [_same(effects, _to(first))] if len(effects) > 1 else [], notes


def _facing(effects: Sequence[WorldEffect]) -> list[WorldEffect]:
    """The effects; one from b to a is turned round where an earlier world has a to b."""
    known: set[tuple[str, str]] = set()
    faced = []
    for effect in effects:
        turned = effect.labels not in known and effect.labels[::-1] in known
        faced.append(_turned(effect) if turned else effect)
        known.add(faced[-1].labels)
    return faced


def _turned(effect: WorldEffect) -> WorldEffect:
    return replace(
        effect,
        origin=effect.to,
        to=effect.origin,
        labels=effect.labels[::-1],
        estimate=-effect.estimate,
        low=-effect.high,
        high=-effect.low,
    )


def _to(effect: WorldEffect) -> str:
    return f"{effect.labels[0]} to {effect.labels[1]}"


def _of_names(alike: Sequence[WorldEffect]) -> list[SameEffect]:
    """A categorical attribute: each pair of levels that two worlds name alike."""
    alike = _facing(alike)
    pairs = dict.fromkeys(effect.labels for effect in alike)
    found = [_one_each([effect for effect in alike if effect.labels == pair]) for pair in pairs]
    return [_same(effects, _to(effects[0])) for effects in found if len(effects) > 1]


def _of_numbers(alike: Sequence[WorldEffect], worlds: Sequence[World]) -> tuple[list[SameEffect], list[str]]:
    """The contrast of the same two levels where all worlds have it, else slopes times the span of the first levels."""
    places = {effect.world for effect in alike}
    contrasts = _one_each([effect for effect in alike if not effect.slope])
    spans = {(effect.origin, effect.to) for effect in contrasts}
    if len(spans) == 1 and {effect.world for effect in contrasts} == places:
        return [_same(contrasts, _to(contrasts[0]))], []
    if not contrasts:
        return [_same(_one_each(alike), f"per {alike[0].attribute_unit or 'unit'}")], []
    given = contrasts[0]
    span = given.to - given.origin
    slopes = [_slope([e for e in alike if e.world == place]) for place in sorted(places)]
    scaled = [_times(effect, span) for effect in slopes]
    note = (
        f"{spaced(given.attribute)}, {spaced(given.outcome)}: worlds have other levels, so that slopes per "
        f"{given.attribute_unit or 'unit'} are compared, each times {span:g} (as from {_to(given)} in "
        f"{worlds[given.world].name}), as if the outcome changed evenly"
    )
    return [_same(scaled, _to(given), scaled=True)], [note]


def _slope(effects: Sequence[WorldEffect]) -> WorldEffect:
    """A world's slope; with two levels it is the contrast by their distance."""
    slope = next((effect for effect in effects if effect.slope), None)
    if slope is not None:
        return slope
    contrast = effects[0]
    return replace(_times(contrast, 1 / (contrast.to - contrast.origin)), slope=True)


def _times(effect: WorldEffect, factor: float) -> WorldEffect:
    ends = sorted((effect.low * factor, effect.high * factor)) if math.isfinite(effect.low) else (math.nan, math.nan)
    return replace(effect, estimate=effect.estimate * factor, low=ends[0], high=ends[1])
