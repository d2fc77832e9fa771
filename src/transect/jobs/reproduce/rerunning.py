"""From the description of a run to the same run: its world, targets and design again, in another folder."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from transect.designs.matched_pairs import MatchedPairs
from transect.effects.truth import Truth
from transect.effects.verification import NO_RULE
from transect.errors import BadInput
from transect.experiment import costs, study, verification
from transect.experiment.edits import EDITS, EditCheck
from transect.jobs.reproduce.numbers import Change
from transect.jobs.reproduce.places import Given, open_pairs, open_target, open_world_of
from transect.protocols import Target
from transect.records import Task
from transect.runs import bins, boundary, covariates, error_conditions, margins
from transect.runs.answer_tables import pairs_of
from transect.runs.folder import FinishedRun, canonical_json
from transect.runs.locks import refuse_links_in
from transect.runs.part_names import pairs_table
from transect.runs.places import OF_PEOPLE
from transect.runs.plain_json import loads
from transect.runs.spec import EditsEntry, RunSpec, StatedTruth, TargetDescription
from transect.runs.spec_changes import changes
from transect.runs.validation_words import in_words
from transect.targets.limits import Limits

STORED: Final = (error_conditions.FILE, bins.FILE, covariates.FILE, margins.FILE, boundary.FILE, *OF_PEOPLE)
"""What a report reads beside the tables: how it counts, and what people answered."""
_OF_VERSIONS: Final = re.compile(
    r"(versions|world|readings|attributes|held|nominal)(\.|$)|generator\.(renderer_version|camera)|.*\b(library|resized_by)$"
)
"""Places in a run's description that follow from the versions of libraries, and of Transect."""


@final
@dataclass(frozen=True, slots=True)
class Rebuilt:
    """One run of an audit, ready to be made again. place: its folder within the audit's.

    not_asked: names of targets that count their calls, where there is no budget.
    """

    place: str
    study: study.Study
    spec: RunSpec
    not_asked: tuple[str, ...]
    changed: tuple[Change, ...]


def rebuild(run: FinishedRun, place: str, given: Given) -> Rebuilt:
    """The study that a finished run describes. Nothing is made, and no target that counts its calls is asked."""
    spec = run.spec
    _check_finished(run)
    opened = {entry.name: open_target(entry.description, given) for entry in spec.targets}
    targets = tuple(target for target in opened.values() if target is not None)
    pairs = {entry.name: open_pairs(entry.description, given) for entry in spec.pairs}
    design, world = spec.design, open_world_of(spec, given)
    again = study.Study(
        spec.name,
        world,
        design,
        targets,
        {entry.name: _truth(entry.truth) for entry in spec.targets if entry.truth is not None},
        (),
        Limits(timeout=spec.limits.timeout, batch=spec.limits.batch, max_failures=1.0),
        () if design.levels else tuple(attribute.name for attribute in spec.attributes),
        None if spec.edits is None else _edits(spec.edits, given),
        pairs=tuple(asked for asked in pairs.values() if asked is not None),
        matched=_matched(run),
        counted={entry.name: tuple(entry.outcomes) for entry in spec.targets},
    )
    if spec.verification is not None and any(Task(target.task) is Task.EMBEDDING for target in targets):
        rule = spec.verification
        again = _with_rule(again, rule.false_match_rate, rule.within)
    not_asked = tuple(name for name, target in {**opened, **pairs}.items() if target is None)
    return Rebuilt(place, again, spec, not_asked, _changed(run, again, not_asked))


def _matched(run: FinishedRun) -> MatchedPairs | None:
    """The matched pairs of a run, as its tables hold them."""
    entry = next((entry for entry in run.spec.pairs if "matched" in entry.description.facts), None)
    if entry is None:
        return None
    facts = entry.description.facts["matched"]
    pairs = pairs_of(run.read_table(pairs_table(entry.slug), run.spec.parts))
    first, second = (tuple(pair[side] for pair in pairs) for side in (1, 2))
    return MatchedPairs(str(facts["attribute"]), first, second, str(facts["from"]))


def make(rebuilt: Rebuilt, run: Path, out: Path, *, quiet: bool) -> None:
    """Make the images and answers again, and put what the report reads beside them. Raises as `study.fill`."""
    folder = out / rebuilt.place
    refuse_links_in(out, folder)
    study.fill(rebuilt.study, folder, quiet=quiet)
    copy_stored(run / rebuilt.place, folder)


def copy_stored(source: Path, folder: Path) -> None:
    """Copy how a report counts, and what people answered; links are not followed."""
    for name in STORED:
        path = source / name
        refuse_links_in(folder, folder / name)
        if path.is_file() and not path.is_symlink():
            shutil.copyfile(path, folder / name)


def close(rebuilt: Rebuilt, given: Given) -> None:
    """Close the targets that were opened here; those that a caller brought stay open."""
    brought = [target for target in given.targets.values() if not isinstance(target, str)]
    for asked in rebuilt.study.pairs:
        asked.close()
    costs.close([target for target in rebuilt.study.targets if not any(target is each for each in brought)])


def _check_finished(run: FinishedRun) -> None:
    for table in ("images", *_answers(run.spec, ())):
        if not run.has_all(table, run.spec.parts):
            there = run.finished_parts(table, run.spec.parts)
            raise BadInput(
                f"{run.path} is not finished ({there} of {run.spec.parts} parts of {table}): run its command again "
                "first"
            )


def _truth(stated: StatedTruth) -> Truth:
    return Truth(stated.text, stated.attribute, stated.comparison, stated.value)


def _edits(stored: EditsEntry, given: Given) -> EditCheck:
    def opened(facts: Mapping[str, Any]) -> Target:
        target = open_target(TargetDescription(facts), given)
        if target is None:
            raise BadInput(f"target {facts['name']} checks the images, and each call counts: give --budget CALLS")
        return target

    readers = {name: opened(facts) for name, facts in stored.attributes.items()}
    identity = None if stored.identity is None else opened(stored.identity)
    realism = None if stored.realism is None else opened(stored.realism)
    return EditCheck(readers, identity, realism, stored.redraw, stored.shipped)


def _with_rule(again: study.Study, rate: float | None, within: tuple[str, ...]) -> study.Study:
    if rate is None and not within:
        return replace(again, rule=NO_RULE)
    return replace(again, rule=verification.chosen(again.targets, again.design, rate, within))


def _changed(run: FinishedRun, again: study.Study, not_asked: tuple[str, ...]) -> tuple[Change, ...]:
    """What the description of the rerun has otherwise. Raises BadInput for what no version explains."""
    was, is_now = dict(run.record), loads(canonical_json(again.spec().to_json()))
    was["targets"] = [entry for entry in was["targets"] if entry["name"] not in not_asked]
    was["pairs"] = [entry for entry in was.get("pairs", ()) if entry["name"] not in not_asked] or None
    if not_asked and "verification" not in is_now:
        was.pop("verification", None)
    return of_versions(run.path, was, is_now)


def of_versions(folder: Path, was: Mapping[str, Any], is_now: Mapping[str, Any]) -> tuple[Change, ...]:
    """What two descriptions of a run have otherwise. Raises BadInput for what no version explains."""
    found = list(changes(was, is_now))
    if others := [change for change in found if not _OF_VERSIONS.match(change.path)]:
        first = others[0]
        raise BadInput(
            f"{folder}: expected {first.path} to be {in_words(first.was)} as in the run, got "
            f"{in_words(first.is_now)}; use the Transect and the files of the run"
        )
    return tuple(Change(change.path, _text(change.was), _text(change.is_now)) for change in found)


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else in_words(value)


def tables_of(spec: RunSpec, not_asked: tuple[str, ...]) -> list[str]:
    """The tables of a run that are made again."""
    return ["images", *([] if spec.edits is None else [EDITS]), *_answers(spec, not_asked)]


def _answers(spec: RunSpec, not_asked: tuple[str, ...]) -> list[str]:
    """The tables of what targets answered, and of what was said about two images."""
    asked = [table for entry in spec.targets if entry.name not in not_asked for table in entry.tables]
    return [*asked, *(pairs_table(entry.slug) for entry in spec.pairs if entry.name not in not_asked)]
