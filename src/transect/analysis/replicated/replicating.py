"""Do the effects of one world hold in others? Effects matched across worlds, compared, and combined with photographs.

Effects are the same where attribute, outcome, truth and model are; levels that differ are compared as slopes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, fields, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis import finished_run
from transect.analysis.findings import Findings, in_several_worlds
from transect.analysis.finished_run import Run, TargetOutcomes
from transect.analysis.margins import margin_of, margins_of
from transect.analysis.replicated import conclusions, label_rules, reading
from transect.analysis.replicated.conclusions import (
    Combined,
    Finding,
    ReplicateNumbers,
    World,
    WorldEffect,
    about,
    models,
)
from transect.analysis.replicated.label_rules import LabelRule
from transect.analysis.replicated.reading import Reading, digest, read, shared
from transect.analysis.sections.answers import point, table
from transect.effects import several_worlds
from transect.effects.contrasts import Contrast, contrasts
from transect.effects.several_worlds import Agreement, Transported, WorldEstimate
from transect.effects.verdicts import is_shown
from transect.errors import BadInput
from transect.records import Attribute
from transect.reports.entries import EffectEntry
from transect.reports.records import Figure, Panel, Section, Series, Table, Unit
from transect.reports.results import StudyEntry
from transect.reports.wording import short_name
from transect.runs import tables as columns
from transect.runs.layout import runs_of
from transect.runs.spec import GeneratorDescription
from transect.runs.wording import counted, spaced

_MOST_NAMED: Final = 6
_OTHERS: Final = "no other world has its model, outcome and levels"
_NOWHERE_ELSE: Final = "in no other world, by name or by rule"
_SEVERAL: Final = "{}: matched pairs name no model, and the other runs audit several: give runs of one model"


@final
@dataclass(frozen=True, slots=True)
class SameEffect:
    """One effect in the worlds that have it.

    effects: by position of the world, in the unit that is compared.
    """

    target: str
    digest: str
    attribute: str
    outcome: str
    unit: str
    levels: str
    scaled: bool
    effects: tuple[WorldEffect, ...]

    @property
    def task(self) -> str:
        """What the model answers; "" where no world says it."""
        return next((effect.task for effect in self.effects if effect.task), "")


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """The effects that two worlds or more have, and in words what was mapped and what is not compared."""

    effects: tuple[SameEffect, ...]
    notes: tuple[str, ...]


def match(readings: Sequence[Reading], rules: Sequence[LabelRule] = ()) -> Matched:
    """The effects that are the same in two worlds or more. Raises BadInput without one, and for total beside direct."""
    worlds = [reading.world for reading in readings]
    _check_held(worlds)
    effects = _of_one_model(readings)
    notes = [f"{world.name}: {note}" for world in worlds for note in world.notes]
    shown = [reading.photographed for reading in readings]
    notes += [*shared(worlds, shown), *_unnamed(worlds), *_other_models(worlds, effects), *_sizes(worlds)]
    joined = label_rules.join(readings, effects, rules)
    notes += joined.notes
    found: list[SameEffect] = []
    for alike in joined.effects:
        made, why = _aligned(alike, worlds)
        found += made
        notes += why
    for key in dict.fromkeys((e.digest, e.attribute, e.outcome) for e in effects):
        same = [e for e in effects if (e.digest, e.attribute, e.outcome) == key]
        made, why = _aligned(same, worlds)
        found += made
        notes += why if made or not {(e.world, e.attribute) for e in same} <= joined.taken else []
    if not found:
        _check_one_model(worlds, effects)
        why_none = "; ".join(dict.fromkeys(notes)) or "no model, attribute and outcome is in two of them"
        raise BadInput(f"no effect that two worlds share ({why_none}); audit one model with the "
                       "same attributes and outcomes in both")  # fmt: skip
    notes += _not_compared(worlds, effects, found, joined.taken)
    return Matched(tuple(found), tuple(dict.fromkeys(notes)))


def _not_compared(
    worlds: Sequence[World], effects: Sequence[WorldEffect], found: Sequence[SameEffect], taken: Set[tuple[int, str]]
) -> Iterator[str]:
    """Which world is missing where others are compared, or has what no other has, and why. taken: joined by rules."""
    compared: dict[str, set[int]] = {}
    for same in found:
        compared.setdefault(same.attribute, set()).update(effect.world for effect in same.effects)
    for place, world in enumerate(worlds):
        own = dict.fromkeys(effect.attribute for effect in effects if effect.world == place)
        lacking = [name for name, places in compared.items() if place not in places]
        there = [spaced(name) for name in lacking if name in own]
        nowhere = [spaced(name) for name in lacking if name not in own]
        alone = [spaced(name) for name in own if name not in compared and (place, name) not in taken]
        unset = "nothing sets this there" if world.how == "set" else "no such label"
        reasons = {_OTHERS: there, unset: nowhere, _NOWHERE_ELSE: alone}
        for why, names in reasons.items():
            if names:
                more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
                yield f"Not compared in {world.name}: {', '.join(names[:_MOST_NAMED])}{more} ({why})"


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
        "expected runs of one model with the same weights, threshold and preprocessing, got "
        f"{'; '.join(told)}; to compare models: transect compare"
    )


def _other_models(worlds: Sequence[World], effects: Sequence[WorldEffect]) -> Iterator[str]:
    """Targets of one name whose descriptions differ: other models."""
    for name in dict.fromkeys(effect.target for effect in effects):
        digests = {effect.digest for effect in effects if effect.target == name}
        if len(digests) > 1:
            where = dict.fromkeys(worlds[effect.world].name for effect in effects if effect.target == name)
            yield (
                f"{short_name(name)} is not the same model in {', '.join(where)}: its descriptions differ (weights, "
                "code, threshold, labels or preprocessing), so its effects are not compared"
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
    units = first.unit.split(" per ")[0], first.attribute_unit
    kept = [e for e in alike if (e.unit.split(" per ")[0], e.attribute_unit) == units or e.digest == ""]
    left = dict.fromkeys(worlds[e.world].name for e in alike if e not in kept)
    about = f"{spaced(first.outcome)} by {spaced(first.attribute)}"
    return kept, [f"{about} is not compared in {name}: its unit differs" for name in left]


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
        f"{spaced(given.attribute)}, {spaced(given.outcome)}: worlds have different levels, so slopes per "
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


_NO_TWINS: Final = (
    "--combine: no subjects are in both runs: nothing says how wrong the rendering is, "
    "and summaries alone cannot; render the subjects of the photographs too, or drop --combine"
)
_STRANGERS: Final = (
    "--combine: expected renderings of the photographed subjects, got subjects of {} and of {}: equal numbers do not "
    "make them the same; a generator that renders the subjects of another says so in describe(), "
    "as subjects_of = {!r}; state that, or drop --combine"
)
_OTHER_NUMBERS: Final = (
    "The two runs number people differently: subjects that were only rendered are assumed to show people who were not "
    "photographed, one each; otherwise the combined interval is too narrow"
)
_Key = tuple[str, str, str, str]


@final
@dataclass(frozen=True, slots=True)
class SubjectEffects:
    """What each subject of a run says about one contrast. labels: of its levels, in words."""

    labels: str
    subjects: Int[np.ndarray, " n"]
    people: Int[np.ndarray, " n"]
    differences: Float[np.ndarray, " n"]


def combining_combined(
    folders: Sequence[Path], numbers: ReplicateNumbers
) -> tuple[tuple[Combined, ...], tuple[str, ...]]:
    """Each effect on the photographs of the second run, with the help of the first, and what could not be combined.

    Subjects are the same where their numbers in the tables are and the runs are of one generator, or that of one states
    that its subjects are the other's (`subjects_of` in its description: the other's name, or the SHA-256 of its
    photographs). Raises BadInput where a run is no single experiment, nothing states so, or no subject is in both.
    """
    runs = [_experiment(folder) for folder in folders]
    _check_linked(*(run.spec.generator for run in runs))
    rendered, photographed = (dict(_contrasts(run)) for run in runs)
    made, notes = [], []
    for finding in numbers.findings:
        # The finding's contrast in both runs; None where they have not the same.
        about = (finding.digest, finding.attribute, finding.outcome)
        shared = [key for key in rendered if key[:3] == about and key in photographed]
        chosen = next((key for key in shared if rendered[key].labels == finding.levels), None)
        pair = None if chosen is None or finding.scaled else (rendered[chosen], photographed[chosen])
        if pair is None:
            notes.append(f"{conclusions.about(finding)} is not combined: the two runs have different levels")
        else:
            one, more = _combine(finding, *pair)
            made.append(one)
            notes += more
    return tuple(made), tuple(dict.fromkeys(notes))


def _check_linked(rendered: GeneratorDescription, photographed: GeneratorDescription) -> None:
    """Refuse strangers: every world numbers its subjects alike, by the seed of the run."""
    stated = [
        one.facts.get("subjects_of") in (other.name, other.facts.get("pictures_sha256", other.name))
        for one, other in ((rendered, photographed), (photographed, rendered))
    ]
    if not any(stated) and _drawn_from(rendered) != _drawn_from(photographed):
        raise BadInput(_STRANGERS.format(rendered.name, photographed.name, photographed.name))


def _drawn_from(generator: GeneratorDescription) -> tuple[str, ...]:
    """What subjects of one number are the same of: photographs, inverted ones, or a generator's population."""
    if generator.edits_photographs:
        return ("photographs", str(generator.facts["pictures_sha256"]))
    return (generator.name, str(generator.population), str(generator.photographs.get("sha256", "")))


def _experiment(folder: Path) -> Run:
    places = runs_of(folder)
    if len(places) != 1:
        raise BadInput(f"--combine: {folder}: expected a run of one study, got {len(places)}")
    run = finished_run.read(places[0])
    if not run.design.levels:
        raise BadInput(f"--combine: {folder}: expected attributes that were set, got observed images; drop --combine")
    return run


def _contrasts(run: Run) -> Iterator[tuple[_Key, SubjectEffects]]:
    """By model, attribute, outcome and levels; of a binary attribute the levels are not named."""
    shape = (run.design.subjects, *run.design.shape)
    subjects, people = (
        ids.reshape(run.design.subjects, -1)[:, 0]
        for ids in (run.images["subject"].to_numpy().astype(np.int64), columns.people_of(run.images))
    )
    for target in run.spec.targets:
        key, outcomes = digest(target.description.facts), TargetOutcomes(run, target)
        for name in run.outcomes(target):
            outcome = outcomes.outcome(name)
            values, reasons = outcome.values.reshape(shape), outcome.reasons.reshape(shape)
            for each in contrasts(values, reasons, run.design, run.attributes):
                if each.kind == "contrast":
                    attribute = run.attributes[each.attribute]
                    labels = f"{attribute.label(each.origin)} to {attribute.label(each.to)}"
                    place = (key, each.attribute, name, _levels(attribute, each, labels))
                    yield place, SubjectEffects(labels, subjects, people, each.differences)


def _levels(attribute: Attribute, contrast: Contrast, labels: str) -> str:
    """What the levels are known by: "" of a binary attribute, names of a categorical one, else numbers."""
    if attribute.kind == "binary":
        return ""
    return labels if attribute.discrete else f"{contrast.origin:g} to {contrast.to:g}"


def _combine(finding: Finding, rendered: SubjectEffects, photographed: SubjectEffects) -> tuple[Combined, list[str]]:
    """The combined effect, and what was left out or assumed for it."""
    both, here, there = np.intersect1d(photographed.subjects, rendered.subjects, return_indices=True)
    if not len(both):
        raise BadInput(_NO_TWINS)
    alone = np.setdiff1d(np.arange(len(rendered.subjects)), there)
    # A rendering of somebody who was photographed is no new person, as far as both runs number people alike.
    alike = np.array_equal(photographed.people[here], rendered.people[there])
    found = several_worlds.transported(
        photographed.differences[here],
        rendered.differences[there],
        rendered.differences[alone],
        people=photographed.people[here],
        people_alone=rendered.people[alone] if alike else None,
    )
    left = len(photographed.subjects) - len(both)
    notes = (
        [f"{counted(left, 'photographed subject')} without a rendering: left out of the combination"] if left else []
    )
    if found.n_missing:
        notes.append(
            f"{conclusions.about(finding)}: {counted(found.n_missing, 'subject')} without a known effect left out"
        )
    return _told(finding, found), notes if alike else [*notes, _OTHER_NUMBERS]


def _told(finding: Finding, found: Transported) -> Combined:
    values: dict[str, Any] = {entry.name: getattr(found, entry.name) for entry in fields(found)}
    about = {name: getattr(finding, name) for name in ("target", "attribute", "outcome", "unit", "levels", "task")}
    rendered, photographed = (world.world for world in finding.worlds[:2])
    one = Combined(rendered_world=rendered, photographed_world=photographed, **about, **values)
    return replace(one, text=conclusions.combined_sentence(one))


def replicate_runs(
    folders: Sequence[Path], stated: Sequence[str] = (), *, combine: bool = False, rules: str | Path | None = None
) -> ReplicateNumbers:
    """The same effects in the worlds of finished runs, and whether they replicate. rules: a file of `label_rules`."""
    known_rules = label_rules.read(rules)
    if combine and len(folders) != 2:
        raise BadInput(f"--combine: expected two runs, the rendered one first, got {len(folders)}")
    readings = read(folders)
    outcomes = {effect.outcome for reading in readings for effect in reading.effects}
    known = margins_of(stated, outcomes, folders[0])
    numbers = replicated(readings, known, known_rules)
    if not combine:
        return numbers
    combined, notes = combining_combined(folders, numbers)
    return replace(
        numbers,
        combined=combined,
        answer=(*numbers.answer, *(each.text for each in combined[: conclusions.MOST])),
        notes=(*numbers.notes, *notes),
        works=(*numbers.works, *several_worlds.TRANSPORT_SOURCES),
    )


def replicated(
    readings: Sequence[Reading], margins: Mapping[str, float], rules: Sequence[LabelRule] = ()
) -> ReplicateNumbers:
    """What is said of the effects that worlds share. Raises as `match`."""
    matched = match(readings, rules)
    worlds = tuple(reading.world for reading in readings)
    findings = _findings(matched, worlds, margins)
    return ReplicateNumbers(
        worlds=worlds,
        margins=dict(margins),
        answer=conclusions.answers(findings),
        findings=findings,
        combined=(),
        notes=matched.notes,
        works=several_worlds.SOURCES,
    )


def _findings(matched: Matched, worlds: Sequence[World], margins: Mapping[str, float]) -> tuple[Finding, ...]:
    """The findings, those that differ first, then by size."""
    stated = [margin_of(margins, same.outcome, same.unit) for same in matched.effects]
    estimates = [
        [
            WorldEstimate(each.estimate, each.low, each.high, p=each.p, n=each.n_subjects, seen=_seen(each))
            for each in same.effects
        ]
        for same in matched.effects
    ]
    concluded = several_worlds.agreements(estimates, stated)
    made = [_finding(same, each, worlds) for same, each in zip(matched.effects, concluded, strict=True)]

    def order(finding: Finding) -> tuple[int, float]:
        sizes = [abs(each.estimate) for each in finding.worlds if math.isfinite(each.estimate)]
        return list(conclusions.MARKS).index(finding.verdict), -max(sizes, default=0.0)

    ordered = sorted(made, key=order)
    return tuple(replace(finding, text=conclusions.sentence(finding)) for finding in ordered)


def _seen(effect: WorldEffect) -> bool:
    """Whether the world's own report calls the effect significant."""
    return is_shown(effect.p_adjusted, effect.low, effect.high, several_worlds.ALPHA)


_OF_EFFECT: Final = ("target", "digest", "attribute", "outcome", "unit", "levels", "scaled", "task")
_OF_AGREEMENT: Final = (
    *("verdict", "difference", "confidence", "margin", "p", "p_adjusted", "within", "p_replication", "reason"),
)


def _finding(same: SameEffect, each: Agreement, worlds: Sequence[World]) -> Finding:
    names = [worlds[effect.world].name for effect in same.effects]
    first, second = ("", "") if each.first < 0 else (names[each.first], names[each.second])
    bound = 1.0 if same.unit == "proportion" else math.inf  # of an effect on a rate
    about = {name: getattr(same, name) for name in _OF_EFFECT}
    concluded = {name: getattr(each, name) for name in _OF_AGREEMENT}
    return Finding(
        **about,
        **concluded,
        worlds=tuple(_in_world(effect, name) for effect, name in zip(same.effects, names, strict=True)),
        seen_in=tuple(names[place] for place in each.seen_in),
        against=tuple(names[place] for place in each.against),
        first=first,
        second=second,
        low=max(each.low, -2 * bound),
        high=min(each.high, 2 * bound),
        least=max(each.least, -2 * bound),
        most=min(each.most, 2 * bound),
        needed=tuple(conclusions.SubjectsNeeded(names[need.world], need.subjects) for need in each.needed),
    )


_SHARED: Final = ("estimate", "low", "high", "reason", "p_adjusted", "n_subjects")


def _in_world(effect: WorldEffect, name: str) -> conclusions.InWorld:
    about = {name: getattr(effect, name) for name in _SHARED}
    return conclusions.InWorld(**about, world=name, seen=_seen(effect))


_TEXT: Final = (
    "One experiment in several worlds, and unadjusted associations in observed images, which include whatever varies "
    "with the attribute. An effect is seen in a world where its p, corrected over the tests of its report, is at most "
    "5 % and its 95 % interval excludes 0. It replicates where every world shows it in the same direction and worlds "
    "are shown to differ by less than the margin, after correction for all effects of this section (Holm); "
    "where worlds only differ by less than the margin, they agree. It differs where the test of agreement finds a "
    "difference. “Same direction” says nothing about sizes, which may be very different. Worlds are not drawn at "
    "random."
)


def replication_of(
    folder: Path, studies: Sequence[Findings], entries: Sequence[EffectEntry], margins: Mapping[str, float]
) -> ReplicateNumbers | None:
    """What is said of the effects that several worlds of a report share; None where it has experiments in one alone."""
    if not in_several_worlds(studies):
        return None
    experiments = [study for study in studies if study.design.levels and not study.in_steps]
    observed = [study for study in studies if not study.design.levels]
    places = {path.name: path for path in runs_of(folder)}
    known = {study.spec.name: StudyEntry.made_of(**study.entry) for study in studies}
    names = [study.spec.name for study in (*experiments, *observed)]
    found = [reading.audited(known[name], entries, folder, places.get(name, folder), len(entries)) for name in names]
    readings = reading.numbered(found)
    try:
        return replicated(readings, margins, label_rules.read())
    except BadInput as error:  # a report is written whatever its worlds share
        return ReplicateNumbers(tuple(each.world for each in readings), {}, (), (), (), (str(error),), ())


def sections(numbers: ReplicateNumbers | None) -> list[Section]:
    """The section of the report; none without several worlds."""
    if numbers is None:
        return []
    head = Section(
        key="replication",
        title="Effects in several worlds",
        text=[_TEXT, *(f"{note.rstrip('.')}." for note in numbers.notes)],
        sources=numbers.works,
    )
    if not numbers.findings:
        return [head]
    panels = [_panel(numbers, finding) for finding in numbers.findings]
    title, caption = "Each effect in each world", "(bars are 95 % intervals)"
    figure = Figure(kind="rows", title=title, caption=caption, same_axis=False, panels=panels)
    return [replace(head, figures=[figure], tables=[_table(numbers.findings)])]


def _panel(numbers: ReplicateNumbers, finding: Finding) -> Panel:
    kinds = {world.name: world.kind for world in numbers.worlds}
    points = []
    for world in finding.worlds:
        label = f"{world.world} ({kinds[world.world]})"
        reason = "" if math.isfinite(world.estimate) else world.reason or "no estimate"
        points.append(
            point(world.estimate, low=world.low, high=world.high, label=label, n=world.n_subjects, reason=reason)
        )
    unit: Unit = "points" if finding.unit == "proportion" else "number"
    words = f"change of the {about(finding).rpartition(' on the ')[2]}"
    called = models(numbers.findings)[finding.digest]
    model = f"{called}: " if called else ""
    return Panel(heading=f"{model}{about(finding)}", y_words=words, unit=unit, series=[Series("effect", points)])


def _table(findings: Sequence[Finding]) -> Table:
    called = models(findings)
    named = len(called) > 1
    heads = [*[("model", "text")] * named, ("effect", "text"), ("verdict", "text"), ("seen in", "count")]
    heads += [("worlds", "count"), ("p of a difference", "p"), ("p of replication", "p"), ("needs", "text")]
    rows = []
    for finding in findings:
        counts = len(finding.seen_in), len(finding.worlds)
        told = [*[called[finding.digest]] * named, about(finding), conclusions.verdict(finding)]
        rows.append([*told, *counts, finding.p_adjusted, finding.p_replication, conclusions.lacking(finding)])
    return table("Verdicts", heads, rows)
