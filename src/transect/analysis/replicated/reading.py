"""The worlds in run folders, their effects, and whose photographs or people they show."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, Final, final

from transect.analysis import finished_run
from transect.analysis.replicated.conclusions import How, World, WorldEffect
from transect.effects.outcomes import OF_TRUTH
from transect.errors import BadInput, TransectError
from transect.reports.entries import EffectEntry, JsonObject
from transect.reports.results import AttributeEntry, StudyEntry
from transect.reports.results import read as read_results
from transect.runs.folder import spec_hash
from transect.runs.json_records import read_json
from transect.runs.layout import runs_of
from transect.runs.spec import GeneratorDescription
from transect.targets.reopening import without_versions

_SEED: Final = (
    "{first} and {other} use one generator and draw subjects with the same seed: their estimates may move together, "
    "which makes the intervals of differences too wide; use another --seed"
)
_PHOTOGRAPHS: Final = (
    "{first} and {other} show the same photographs or people: their estimates may move together, which makes the "
    "intervals of differences too wide; use other photographs"
)
_PERHAPS: Final = (
    "{first} and {other} may show the same photographs, since one is of inverted photographs: their estimates may move "
    "together, which makes the intervals of differences too wide"
)


@final
@dataclass(frozen=True, slots=True)
class Photographed:
    """The photographs that a world's subjects are.

    pictures, table, codes: SHA-256 of the files, of the data set's table, and of the file of inverted photographs; ""
    where there is none. people: who is on those that were shown, by numbers of the table; None where that is not known.
    """

    pictures: str = ""
    table: str = ""
    codes: str = ""
    people: frozenset[int] | None = None

    def shares(self, other: Photographed) -> bool:
        """Whether some photograph or person is in both worlds, as far as that is known."""
        if self.codes and other.codes:
            return self.codes == other.codes
        if self.table and self.table == other.table:
            return self.people is None or other.people is None or bool(self.people & other.people)
        return bool(self.pictures) and self.pictures == other.pictures

    def may_share(self, other: Photographed) -> bool:
        """Whether one is of inverted photographs, and the other of photographs that may be those."""
        one, another = (self, other) if self.codes else (other, self)
        return bool(one.codes) and not another.codes and bool(another.pictures or another.table)


def photographed(generator: GeneratorDescription, place: Path) -> Photographed:
    """The photographs of a run in the folder `place`; none of those of a world that draws its subjects."""
    facts = generator.facts
    if generator.photographs:
        return Photographed(codes=str(generator.photographs.get("sha256", "")))
    source = facts.get("source")
    within = source.get("labels_sha256") if isinstance(source, Mapping) else None
    table = str(facts.get("table_sha256") or facts.get("labels_sha256") or within or "")
    if not table and not generator.edits_photographs:
        return Photographed()
    return Photographed(str(facts.get("pictures_sha256", "")), table, people=_people(place))


def _people(place: Path) -> frozenset[int] | None:
    """Who is on the photographs of a run; None where its tables are not there."""
    try:
        return frozenset(finished_run.read(place).people.tolist())
    except (TransectError, OSError):
        return None


def shared(worlds: Sequence[World], shown: Sequence[Photographed]) -> Iterator[str]:
    """In words, of each two worlds with subjects in common, that they have. shown: of each its photographs."""
    for (at, first), (to, other) in combinations(enumerate(worlds), 2):
        one_seed = first.seed is not None and (first.generator, first.seed) == (other.generator, other.seed)
        if shown[at].shares(shown[to]):
            yield _PHOTOGRAPHS.format(first=first.name, other=other.name)
        elif shown[at].may_share(shown[to]):
            yield _PERHAPS.format(first=first.name, other=other.name)
        elif one_seed and not shown[at].table:
            yield _SEED.format(first=first.name, other=other.name)


RESULTS: Final = "results.json"
MATCH: Final = "match.json"
_ADVICE: Final = "write it again: transect report"
_STEPS: Final = "its attribute is moved in steps λ, whose size is each world's own: not compared"
_ASIDE: Final = ("name", "device")
"""What of a target's description, and of its model's, does not make it another model; nor do versions of libraries."""


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """A world with its effects, the folder that it is in, and the photographs that its subjects are.

    place: the folder of its tables, None of matched pairs. tests: of its report, for which each p is corrected.
    """

    folder: Path
    world: World
    effects: tuple[WorldEffect, ...]
    photographed: Photographed = field(default_factory=Photographed)
    place: Path | None = None
    tests: int = 1


def read(folders: Sequence[Path]) -> tuple[Reading, ...]:
    """Every world in some run folders, in their order, each under a name of its own."""
    counts = Counter(folder.resolve() for folder in folders)
    if twice := [folder for folder in folders if counts[folder.resolve()] > 1]:
        raise BadInput(f"{twice[0]}: given {counts[twice[0].resolve()]} times; give each run once")
    found = [each for folder in folders for each in _worlds_in(folder)]
    if len(found) < 2:
        raise BadInput(
            f"expected at least two worlds, got {len(found)}; add a run on another generator or on photographs"
        )
    return numbered(found)


def _worlds_in(folder: Path) -> Iterator[Reading]:
    if (folder / RESULTS).is_file():
        yield from _studies(folder)
    elif (folder / MATCH).is_file():
        yield _matched(folder)
    else:
        raise BadInput(
            f"{folder}: expected a finished audit (results.json) or matched pairs (match.json), got neither; finish "
            "the run, or write its report with transect report"
        )


def numbered(found: Sequence[Reading]) -> tuple[Reading, ...]:
    """The worlds with names of their own, and their effects with their positions."""
    return tuple(
        replace(
            each,
            world=replace(each.world, name=name, run=each.folder.resolve().name),
            effects=tuple(replace(effect, world=place) for effect in each.effects),
        )
        for place, (each, name) in enumerate(zip(found, _names(found), strict=True))
    )


def _names(found: Sequence[Reading]) -> list[str]:
    """What each world is, as "rendered"; with its run where another is too, and its run alone where all are.

    The run is the folder's name, with the study's where it holds several; numbered where twice. Of one folder's worlds
    names are those of the studies.
    """
    counts = Counter(each.folder for each in found)
    if len(counts) == 1:
        return [each.world.study for each in found]
    plain = [each.folder.resolve().name for each in found]
    runs = [
        f"{name}: {each.world.study}" if counts[each.folder] > 1 else name
        for name, each in zip(plain, found, strict=True)
    ]
    runs = [
        name if runs.count(name) == 1 else f"{name} ({runs[: place + 1].count(name)})"
        for place, name in enumerate(runs)
    ]
    words = [WORDS[each.world.kind] for each in found]
    if len(set(words)) == 1:
        return runs
    return [word if words.count(word) == 1 else f"{word} ({run})" for word, run in zip(words, runs, strict=True)]


def _studies(folder: Path) -> Iterator[Reading]:
    results = read_results(read_json(folder / RESULTS, "the results of an audit", _ADVICE))
    runs = {path.name: path for path in runs_of(folder)}
    for study in results.studies:
        place = folder if len(results.studies) == 1 else runs.get(study.name, folder)
        if study.spec["generator"].get("steps"):
            yield Reading(folder, world_of(study, (_STEPS,)), ())
        else:
            yield audited(study, results.effects, folder, place, results.family.size)


def audited(study: StudyEntry, effects: Sequence[EffectEntry], folder: Path, place: Path, tests: int) -> Reading:
    """The world of a study, and its effects or unadjusted associations as the report has them; of numbers slopes."""
    attributes = {attribute.name: attribute for attribute in study.attributes}
    known = {target.name: (target.description, target.truth, str(target.task)) for target in study.targets}
    known |= {str(asked["name"]): (asked["description"], None, "") for asked in study.spec.get("pairs") or ()}
    found = tuple(
        _effect(row, attributes[row.attribute], *known[row.target])
        for row in effects
        if row.study == study.name
        and not _changes_truth(row, known[row.target][1])
        # Two ranges of a number are compared in no other world; its slope is comparable.
        and not (
            (row.basis, row.kind) == ("observational", "contrast")
            and attributes[row.attribute].kind in ("continuous", "ordinal")
        )
    )
    shown = photographed(GeneratorDescription(study.spec["generator"]), place)
    return Reading(folder, world_of(study), found, shown, place, tests)


def _changes_truth(row: EffectEntry, truth: str | None) -> bool:
    """Whether an error is counted along the attribute that the right answer is about."""
    about = re.match(r"\w*", truth or "")
    return row.outcome in OF_TRUTH and about is not None and about[0] == row.attribute


def world_of(study: StudyEntry, notes: Sequence[str] = ()) -> World:
    """The world that a study was made in."""
    generator = GeneratorDescription(study.spec["generator"])
    how: How = "set" if study.basis == "experimental" else "unadjusted"
    seed = study.seed if study.basis == "experimental" and not generator.of_photographs else None
    return World(
        study.name, study.name, _kind(generator, how), how, generator.name, study.population, study.subjects,
        tuple(sorted(study.hold)), seed, tuple(notes), int(generator.facts.get("image_size") or 0),
    )  # fmt: skip


WORDS: Final[Mapping[str, str]] = {
    "rendered": "rendered",
    "generated": "generated",
    "photographs, edited": "edited",
    "inverted photographs, edited": "edited",
    "photographs as they are, unadjusted": "labelled",
    "images as drawn, unadjusted": "as drawn",
    "matched pairs, adjusted": "matched",
}
"""The name of a world by what it is."""


def _kind(generator: GeneratorDescription, how: How) -> str:
    """The world in a few words, a key of WORDS."""
    if how == "unadjusted":
        return f"{'photographs as they are' if generator.of_photographs else 'images as drawn'}, unadjusted"
    if generator.of_photographs or "pictures_sha256" in generator.facts:
        return "photographs, edited"
    if generator.photographs:
        return "inverted photographs, edited"
    return "rendered" if generator.name.startswith("faceworld") else "generated"


def digest(description: Mapping[str, object]) -> str:
    """What tells two models apart: SHA-256 of the description without names, device and versions of libraries."""
    said = _without(without_versions(description))
    if isinstance(model := said.get("model"), Mapping):
        said |= {"model": _without(model)}
    return spec_hash(said)


def _without(facts: Mapping[str, object]) -> dict[str, Any]:
    return {key: value for key, value in facts.items() if key not in _ASIDE}


def _effect(
    row: EffectEntry, attribute: AttributeEntry, model: JsonObject, truth: str | None, task: str
) -> WorldEffect:
    labels = dict(zip(attribute.levels, attribute.labels, strict=True))
    origin, to = _number(row.origin), _number(row.to)
    return WorldEffect(
        target=row.target,
        digest=digest(model),
        attribute=row.attribute,
        kind=attribute.kind,
        attribute_unit=attribute.unit,
        outcome=row.outcome,
        unit=row.unit,
        truth=truth or "",
        slope=row.kind == "slope",
        origin=origin,
        to=to,
        labels=(labels.get(origin, f"{origin:g}"), labels.get(to, f"{to:g}")),
        estimate=_number(row.estimate),
        low=_number(row.low),
        high=_number(row.high),
        p=_number(row.p),
        p_adjusted=_number(row.p_adjusted),
        n_subjects=row.n_subjects,
        reason=row.reason,
        task=task,
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)


def _matched(folder: Path) -> Reading:
    """The pairs of `transect match`: each outcome within pairs, adjusted for what still differs."""
    body = read_json(folder / MATCH, "the numbers of matched pairs", "match again: transect match --report")
    try:
        groups = [str(name) for name in body["groups"]]
        outcomes, attribute = list(body["outcomes"]), str(body["treatment"])
        if body.get("dose_gap") is not None or len(groups) != 2:
            raise BadInput(f"{folder}: expected pairs of two groups; match two groups")
        if not outcomes:
            raise BadInput(f"{folder}: no outcomes within pairs; match with --outcome")
        effects = tuple(_of_pairs(row, attribute, (groups[0], groups[1])) for row in outcomes)
        world = World(
            folder.name, "", "matched pairs, adjusted", "matched", str(body["method"]), "", int(body["pairs"])
        )
    except (KeyError, TypeError, ValueError, IndexError):
        raise BadInput(f"{folder / MATCH}: expected the numbers of transect match, got a different file") from None
    return Reading(folder, world, effects)


def _of_pairs(row: Mapping[str, Any], attribute: str, groups: tuple[str, str]) -> WorldEffect:
    """One outcome of matched pairs; which model it is of, no column says."""
    adjusted = row["adjusted"]
    return WorldEffect(
        target="",
        attribute=attribute,
        kind="binary",
        outcome=str(row["outcome"]),
        unit="proportion" if row["is_binary"] else str(row["outcome"]),
        slope=False,
        origin=0.0,
        to=1.0,
        labels=groups,
        estimate=_number(adjusted["estimate"]),
        low=_number(adjusted["low"]),
        high=_number(adjusted["high"]),
        p=_number(adjusted["p"]),
        p_adjusted=_number(adjusted["p"]),
        n_subjects=int(adjusted["n_pairs"]),
        reason=str(adjusted["reason"]),
    )
