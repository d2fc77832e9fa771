"""An audit made again from its spec: its models, generators and settings opened by name."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, final

from transect.designs.pairs import MatchedPairs
from transect.designs.steps import HALF_RANGE, Lines, Steps
from transect.effects.outcomes import Truth
from transect.effects.verification import NO_RULE
from transect.errors import BadInput, TransectError, UnknownName
from transect.experiment import costs, outcome_choice, study
from transect.experiment.edits import EDITS, EditCheck
from transect.experiment.opened_targets import give_name
from transect.experiment.worlds import WorldSettings
from transect.protocols import Target, TargetLike, World
from transect.records import Task
from transect.runs.compared_folders import Change
from transect.runs.folder import FinishedRun, canonical_json
from transect.runs.json_records import loads
from transect.runs.layout import OF_PEOPLE, SETTINGS, pairs_table
from transect.runs.locks import refuse_links_in
from transect.runs.spec import EditsEntry, GeneratorDescription, RunSpec, TargetDescription
from transect.runs.spec_changes import changes
from transect.runs.tables import pairs_of
from transect.runs.wording import in_words
from transect.spoken_answers import Speaker
from transect.targets import as_target
from transect.targets.capabilities import is_metered
from transect.targets.guard import Limits
from transect.targets.reopening import HTTP, reopen
from transect.targets.words.speakers import SharedSpeaker, shared_by

if TYPE_CHECKING:
    from transect.targets.http.chat.settings import ChatSettings
    from transect.targets.http.settings import Settings


A = TypeVar("A")
_Reopen: TypeAlias = Callable[[Mapping[str, Any], object, Mapping[str, object]], A]
CHAT: Final = "chat"
"""The kind of a model behind a chat interface, as its description has it."""


@final
@dataclass(frozen=True, slots=True)
class Given:
    """What the reader says; trust: models opened on the record's word; budget: calls to each metered target."""

    targets: Mapping[str, TargetLike] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    trust: Sequence[str] = ()
    budget: int | None = None
    answers: Path = Path()

    @property
    def opened(self) -> list[str]:
        """The models that may be opened."""
        named = (*self.trust, *self.targets.values(), *self.files.values())
        return [source for source in named if isinstance(source, str)]


def check_names(given: Given, specs: Sequence[RunSpec]) -> None:
    """Raises UnknownName where a target or file is given that the run does not have."""
    targets = {name: None for spec in specs for facts in descriptions(spec) for name in _names(facts)}
    files = {name: None for spec in specs for name in _files(spec.generator)}
    for kind, names, known in (("target", given.targets, targets), ("file", given.files, files)):
        for name in names:
            if name not in known:
                raise UnknownName(f"{kind} of the run", name, map(str, known))


def _files(stored: GeneratorDescription) -> list[str]:
    """What a run's images were made of that its description does not locate, by the option of audit that names it."""
    needed = {
        "generator": not (stored.name in _BY_NAME or stored.of_photographs),
        "population": stored.name.startswith("faceworld"),
        "directions": bool(stored.directions),
        "latents": bool(stored.photographs),
        "dataset": stored.of_photographs,
    }
    return [name for name, is_needed in needed.items() if is_needed]


def descriptions(spec: RunSpec) -> list[Mapping[str, object]]:
    """How the targets of a run describe themselves: those under audit, then those that check its images."""
    checks = spec.edits
    of_checks = [] if checks is None else [*checks.attributes.values(), checks.identity, checks.realism]
    asked = [target.description.facts for target in spec.targets]
    asked += [pairs.description.facts for pairs in spec.pairs]
    return [*asked, *(facts for facts in of_checks if facts is not None)]


def open_target(stored: TargetDescription, given: Given) -> Target | None:
    """The target that a run describes; None where it counts its calls and there is no budget for them."""
    facts = stored.facts
    name = str(facts["name"])
    source = given.targets.get(name, "")
    if stored.question is not None:
        from transect.targets.reopening import reopen_asked

        return _asked(facts, given, reopen_asked)
    if facts.get("kind") == HTTP:
        if given.budget is None:
            return None
        target = _over_http(_settings_file("target", name, source), given)
    elif isinstance(source, str):
        target = reopen(facts, source)
        return None if is_metered(target) and given.budget is None else target
    else:
        target = as_target(source)
    if target.name != name:
        give_name(target, name, source)
    return target


def _asked(facts: Mapping[str, Any], given: Given, reopened: _Reopen[A]) -> A | None:
    """A question that was asked in words; the model is given by its own name, or by that of the question."""
    source = next((given.targets[name] for name in _names(facts) if name in given.targets), "")
    coding, judge = _coding(facts, given), facts.get("judge") or {}
    if judge.get("kind") == CHAT and given.budget is None:
        return None
    if facts["model"].get("kind") != CHAT:
        asked = reopened(facts, source, coding)
        return None if getattr(asked, "metered", False) and given.budget is None else asked
    if given.budget is None:
        return None
    return reopened(facts, _fresh_chat(_settings_file("target", facts["model"]["name"], source), given), coding)


def _settings_file(kind: str, name: str, source: object) -> Path:
    if not isinstance(source, str) or not source:
        raise BadInput(f"{kind} {name}: its TOML file is missing; give it: --target '{name}=FILE.toml'")
    return Path(source)


def _coding(facts: Mapping[str, Any], given: Given) -> Mapping[str, object]:
    """What names the judge and the functions that a question's texts were coded by, as far as it is given."""
    found: dict[str, object] = {name: given.targets[name] for name in _coders(facts) if name in given.targets}
    judge = facts.get("judge") or {}
    if judge.get("kind") == CHAT and given.budget is not None:
        name = str(judge["name"])
        found[name] = _fresh_chat(_settings_file("judge", name, found.get(name)), given)
    return found


def _fresh_chat(path: Path, given: Given) -> SharedSpeaker:
    return shared_by(f"rerun {path} {given.answers} {given.budget}", lambda: SharedSpeaker(_chat(path, given)))


def _chat(path: Path, given: Given) -> Speaker:
    """The model behind a chat interface, with a budget and a file of answers of its own: old answers show nothing."""
    from transect.targets.http.chat.settings import read_chat_settings
    from transect.targets.http.chat.speaker import ChatSpeaker

    settings = read_chat_settings(path)
    return ChatSpeaker(settings.model_copy(update=_fresh(settings, path, given)), path)


def _names(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """What a target may be called on the command line: its name; of a question also that of its model."""
    model = facts.get("model") if "asked_in_words" in facts else None
    return (str(facts["name"]), *([str(model["name"])] if model else []), *_coders(facts))


def _coders(facts: Mapping[str, Any]) -> tuple[str, ...]:
    """The names of what a question's texts were coded by: its judge, and functions."""
    judge = facts.get("judge")
    return (*([str(judge["name"])] if judge else []), *(str(each["name"]) for each in facts.get("scorers") or ()))


def _over_http(path: Path, given: Given) -> Target:
    """The target behind a web address, with a budget and a file of answers of its own: old answers show nothing."""
    from transect.targets.http.settings import read_settings
    from transect.targets.http.target import HttpTarget

    settings = read_settings(path)
    return HttpTarget(settings.model_copy(update=_fresh(settings, path, given)), path)


def _fresh(settings: Settings | ChatSettings, path: Path, given: Given) -> dict[str, object]:
    """The budget of the rerun, and a file of answers that is empty."""
    store = (given.answers / f"{path.stem}.answers.sqlite").absolute()
    store.parent.mkdir(parents=True, exist_ok=True)
    return {
        "budget": settings.budget.model_copy(update={"calls": given.budget}),
        "answers": settings.answers.model_copy(update={"file": str(store)}),
    }


_BY_NAME: Final = ("faceworld", "faceworld-latent", "reference")
"""Generators that are no file."""


def open_world_of(spec: RunSpec, given: Given) -> World:
    """The world that a run's images came from."""
    stored = spec.generator
    try:
        world = _photographs(stored, given) if stored.of_photographs else _generated(stored, given)
    except TransectError as error:
        raise BadInput(f"generator {stored.name}: {error}") from None
    if (size := stored.steps) is not None:
        levels = spec.design.levels[size.attribute]
        farthest = 1.0 if size.by == HALF_RANGE else max(1.0, *map(abs, levels))
        return Steps(world, size.attribute, size.by, farthest)
    return Lines(world) if "lines" in stored.facts else world


def _photographs(stored: GeneratorDescription, given: Given) -> World:
    from transect.datasets import open_dataset

    left_out = sum(stored.facts.get("left_out", {}).values()) or None
    source = _stated(given, "dataset", "READER:PATH")
    return open_dataset(source, image_size=stored.facts.get("image_size"), max_unreadable=left_out)


def _generated(stored: GeneratorDescription, given: Given) -> World:
    facts = stored.facts
    if "background" in stored.photographs:
        raise BadInput("images composited with --mask are not kept; run the audit's command again")
    name = given.files.get("generator") or _name(stored) or _stated(given, "generator")
    of_face_world = name.startswith("faceworld")
    size = facts.get("image_size") if of_face_world or name.startswith("photographs:") else None
    population = (given.files.get("population") or stored.population or None) if of_face_world else None
    directions = given.files.get("directions")
    if stored.directions and not name.startswith("reference"):
        directions = _stated(given, "directions")
    latents = _stated(given, "latents") if stored.photographs else None
    return WorldSettings(name, population, size, facts.get("device"), _path(directions), _path(latents)).open()


def _path(text: str | None) -> Path | None:
    return Path(text) if text else None


def _stated(given: Given, name: str, value: str = "PATH") -> str:
    """A file that the record does not locate."""
    if name not in given.files:
        raise BadInput(f"its {name} is missing; give it: --file {name}={value}")
    return given.files[name]


def _name(stored: GeneratorDescription) -> str:
    """A generator's name with the options of a network that the description keeps; "" of a file."""
    if stored.name not in _BY_NAME:
        return ""
    options = {key: stored.facts.get(key) for key in ("label", "truncation", "noise")}
    query = "&".join(f"{key}={value}" for key, value in options.items() if value is not None)
    return f"{stored.name}?{query}" if query and stored.name == "reference" else stored.name


STORED: Final = (SETTINGS, *OF_PEOPLE)
"""What a report reads beside the tables: how it counts, and what people answered."""
_OF_VERSIONS: Final = re.compile(
    r"(versions|world|readings|attributes|held|nominal)(\.|$)|generator\.(renderer_version|camera)|.*\b(library|resized_by)$"
)
"""Places in a run's description that follow from the versions of libraries, and of Transect."""


@final
@dataclass(frozen=True, slots=True)
class Rebuilt:
    """An audit's run, ready to be made again; not_asked: targets that count their calls, without a budget."""

    place: str
    study: study.Study
    spec: RunSpec
    not_asked: tuple[str, ...]
    changed: tuple[Change, ...]


def rebuild(run: FinishedRun, place: str, given: Given) -> Rebuilt:
    """The study that a finished run describes. Nothing is made, and no target that counts its calls is asked."""
    from transect.targets.reopening import reopen_pairs

    spec = run.spec
    _check_finished(run)
    opened = {entry.name: open_target(entry.description, given) for entry in spec.targets}
    targets = tuple(target for target in opened.values() if target is not None)
    pairs = {entry.name: _asked(entry.description.facts, given, reopen_pairs) for entry in spec.pairs}
    design, world = spec.design, open_world_of(spec, given)
    again = study.Study(
        spec.name,
        world,
        design,
        targets,
        {entry.name: Truth(*astuple(entry.truth)) for entry in spec.targets if entry.truth is not None},
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


def _edits(stored: EditsEntry, given: Given) -> EditCheck:
    def opened(facts: Mapping[str, object]) -> Target:
        target = open_target(TargetDescription(facts), given)
        if target is None:
            raise BadInput(f"target {facts['name']} checks the images, and its calls are metered: give --budget CALLS")
        return target

    readers = {name: opened(facts) for name, facts in stored.attributes.items()}
    identity = None if stored.identity is None else opened(stored.identity)
    realism = None if stored.realism is None else opened(stored.realism)
    return EditCheck(readers, identity, realism, stored.redraw, stored.shipped)


def _with_rule(again: study.Study, rate: float | None, within: tuple[str, ...]) -> study.Study:
    if rate is None and not within:
        return replace(again, rule=NO_RULE)
    return replace(again, rule=outcome_choice.chosen_rule(again.targets, again.design, rate, within))


def _changed(run: FinishedRun, again: study.Study, not_asked: tuple[str, ...]) -> tuple[Change, ...]:
    """What the description of the rerun has otherwise. Raises BadInput for what no version explains."""
    was, is_now = dict(run.record), loads(canonical_json(again.spec().to_json()))
    was["targets"] = [entry for entry in was["targets"] if entry["name"] not in not_asked]
    was["pairs"] = [entry for entry in was.get("pairs", ()) if entry["name"] not in not_asked] or None
    if not_asked and "verification" not in is_now:
        was.pop("verification", None)
    return of_versions(run.path, was, is_now)


def of_versions(folder: Path, was: Mapping[str, object], is_now: Mapping[str, object]) -> tuple[Change, ...]:
    """What two descriptions of a run have otherwise. Raises BadInput for what no version explains."""
    found = list(changes(was, is_now))
    if others := [change for change in found if not _OF_VERSIONS.match(change.path)]:
        first = others[0]
        raise BadInput(
            f"{folder}: expected {first.path} to be {in_words(first.was)} as in the run, got "
            f"{in_words(first.is_now)}; use the version of Transect and the files of the run"
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
