"""An audit's settings in TOML: read and checked (`--config`), and written from five answers (`transect.init`)."""

from __future__ import annotations

import json
import shlex
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

import pyarrow as pa
from pydantic import ConfigDict, TypeAdapter, ValidationError

from transect.analysis.requirements.records import TABLE
from transect.designs.levels import parse_vary
from transect.effects.outcomes import Truth
from transect.errors import BadInput, UnknownName
from transect.experiment import costs
from transect.experiment.opened_targets import resolve_targets
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.jobs.audit import presets, run
from transect.jobs.audit.presets import Preset, with_preset
from transect.jobs.audit.request import SECTIONS, AuditRequest, places, with_settings
from transect.runs import toml_files
from transect.runs.folder import slug, write_atomically
from transect.runs.table_inputs import as_names
from transect.runs.wording import expectation, in_words
from transect.targets.words.speakers import question_set


def read_request(path: str | Path) -> AuditRequest:
    """The request in a TOML file. Raises as `read_settings`."""
    return with_settings(AuditRequest(), with_preset(read_settings(path)))


def read_settings(path: str | Path) -> dict[str, object]:
    """The settings in a TOML file, by name."""
    return settings_in(toml_files.read_text(Path(path)), str(path))


def settings_in(text: str, path: str) -> dict[str, object]:
    """The settings in the text of a file of that name. Raises as `read_settings`."""
    tables = toml_files.parse(text, f"--config {path}")
    settings: dict[str, object] = {}
    for name, value in tables.items():
        if name == TABLE:
            continue  # requirements beside the settings: analysis.requirements reads them
        if name in SECTIONS:
            settings |= _section(path, name, value)
        else:
            settings[name] = _checked(path, "", name, value)
    return settings


def _section(path: str, section: str, table: object) -> dict[str, object]:
    if not isinstance(table, Mapping):
        raise BadInput(f"--config {path}: {section}: expected a table [{section}], got {table!r}")
    return {name: _checked(path, section, name, value) for name, value in table.items()}


def _checked(path: str, section: str, name: str, value: object) -> object:
    place = f"{section}.{name}" if section else name
    if name == "scorers":  # a file may be a stranger's
        raise BadInput(f"--config {path}: scorers: expected code to be named by you; give --scorer on the command line")
    homes = places()
    known = [key for key, home in homes.items() if home == section] + ([] if section else list(SECTIONS))
    if name not in known and name in homes:
        home = f"in the table [{homes[name]}]" if homes[name] else "above the first table"
        raise BadInput(f"--config {path}: {place}: expected {name} {home}, got it elsewhere; move it there")
    if name not in known:
        raise UnknownName(f"key in {path}:", place, [f"{section}.{key}" if section else key for key in known])
    try:
        return _typed(section, name, json.dumps(value, default=str))
    except ValidationError as failure:
        raise BadInput(f"--config {path}: {place}: {_reason(failure)}") from None


def _typed(section: str, name: str, text: str) -> object:
    """The value in a JSON text, of the type that the request's field has. Raises ValidationError."""
    hint = typing.get_type_hints(SECTIONS[section] if section else AuditRequest)[name]
    if pa.Table in typing.get_args(hint):  # a table: in a file it is a path
        hint = Path | None
    adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    value: object = adapter.validate_json(text, strict=True)
    return value


def _reason(failure: ValidationError) -> str:
    """What was expected and found, in one line; of a choice of types the first, as TOML has no objects."""
    first = failure.errors()[0]
    expected = "expected more values" if first["type"] == "missing" else expectation(first)
    return f"{expected}, got {in_words(first['input'])}"


IN_WORDS: Final = "face-attribute"
"""The preset whose attributes are varied where questions are asked in words."""


@final
@dataclass(frozen=True, slots=True)
class Answers:
    """What a study file states. truth: () for none, when errors are not counted. questions: "" where none are asked."""

    target: str
    preset: str
    vary: tuple[str, ...]
    truth: tuple[str, ...]
    subjects: int
    questions: str = ""


@final
@dataclass(frozen=True, slots=True)
class WrittenStudy:
    """The file that was written, and what its audit takes."""

    file: Path
    images: int
    calls: int


def init(
    file: str | Path,
    target: str,
    *,
    preset: str | None = None,
    vary: str | Sequence[str] | None = None,
    truth: str | Sequence[str] | None = None,
    subjects: int | None = None,
    questions: str | None = None,
    overwrite: bool = False,
) -> WrittenStudy:
    """Write a commented TOML file that `transect audit --config` runs as it is.

    target: a spec, see `transect targets`. preset: the kind of model, by default the first that fits the target's
    task. vary, truth, subjects: by default those of the preset. questions: for a model that answers in words.
    overwrite: replace a file that is there.

    Raises BadInput for a file that is there, and what `audit_cost` raises of the study; nothing is written then.
    """
    check_new(Path(file), overwrite)
    answers = usual(target, presets.preset(preset or fitting(target, questions or "")), questions or "")
    answers = answers if vary is None else replace(answers, vary=as_names(vary))
    answers = answers if truth is None else replace(answers, truth=as_names(truth))
    return write(Path(file), answers if subjects is None else replace(answers, subjects=subjects))


def usual(target: str, chosen: Preset, questions: str = "") -> Answers:
    """The answers of a preset; of questions, which have no right answer that a preset knows, without a truth."""
    settings: Mapping[str, Any] = chosen.settings
    truth = () if questions else tuple(settings.get("truth", ()))
    return Answers(target, chosen.name, tuple(settings["vary"]), truth, settings["subjects"], questions)


def levels_of(texts: Sequence[str]) -> tuple[str, ...]:
    """The texts themselves, which name what FaceWorld can vary. Raises BadInput or UnknownName otherwise."""
    parse_vary(texts, ATTRIBUTES)
    return tuple(texts)


def truth_of(text: str) -> tuple[str]:
    """The text itself, a truth about FaceWorld's people. Raises BadInput or UnknownName otherwise."""
    Truth.parse(text, {attribute.name: attribute for attribute in ATTRIBUTES})
    return (text,)


def check_new(file: Path, overwrite: bool) -> None:
    """Raises BadInput where the file is there and is not to be replaced."""
    if file.exists() and not overwrite:
        raise BadInput(f"{file}: expected a new file, found one; choose another name, or replace it with --overwrite")


def fitting(target: str, questions: str = "") -> str:
    """The preset for a target, by its task. Raises BadInput or UnknownName for a target that cannot be opened."""
    if questions:
        question_set(questions)
        return IN_WORDS
    opened = resolve_targets(target)
    costs.close(opened)
    return next(name for name in presets.NAMES if opened[0].task in presets.preset(name).tasks)


def write(file: Path, answers: Answers) -> WrittenStudy:
    """Write the file, after its study was planned as an audit would. Raises as `init`."""
    text = _text(file, answers)
    request = with_settings(AuditRequest(), with_preset(settings_in(text, str(file))))
    images, calls = run.size_of(request)
    write_atomically(file, text)
    return WrittenStudy(file, images, calls)


def _text(file: Path, answers: Answers) -> str:
    chosen = presets.preset(answers.preset)
    vary = "".join(f"  {_quoted(text)},\n" for text in answers.vary)
    command = f"transect audit --config {shlex.quote(str(file))}"
    return f"""# {chosen.meaning}
#
# Run it:            {command}
# See what it costs: {command} --dry-run
# An option on the command line overrides its line here. Every setting: transect audit --help

# The models to audit; several are asked about the same images. See: transect targets
targets = [{_quoted(answers.target)}]
{_asked(answers.questions)}
# The kind of model: {", ".join(presets.NAMES)}.
# Settings that are not in this file are the preset's.
preset = {_quoted(chosen.name)}

# What is set, and to which levels: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B. Each subject is shown at every combination.
# See: transect attributes
vary = [
{vary}]

# The right answer: a comparison such as "smile>0.5", an attribute, or "face" where every image shows one.
# Without it answers are compared, and errors are not counted.
truth = [{", ".join(map(_quoted, answers.truth))}]

# Rendered people. More of them give narrower intervals; transect plan says how many an effect needs.
subjects = {answers.subjects}
seed = 0                      # the same seed gives the same people

[world]
image_size = 128              # width and height in pixels, before the model's own preprocessing
population = "balanced"       # where people are drawn from: a name, or a TOML file of yours

[model]
# task = "multiclass"         # binary (the default of a file or function), multiclass, multilabel, detection, …
# labels = ["no", "yes"]      # names of the classes, in the order of the outputs
# positive = "yes"            # the class that counts as yes
# threshold = 0.5             # the score from which the answer is yes
# output = "logit"            # where the model returns logits
# templates = ["a photo of {{}}"] # of CLIP or SigLIP with labels: sentences for the label
# preprocess = "preprocess.toml"

[limits]
timeout = 10.0                # seconds that the model may take for an image
max_failures = 0.05           # stop when more than this share of images fails

[report]
margin = ["0.02"]             # differences of rates up to this count as none; for scores add "score=0.1"

[run]
out = {_quoted(f"runs/{slug(answers.target)}")}

# Add tables [[require]] to state what the model must meet, and judge the run by them: transect audit --config … --check
"""


def _asked(questions: str) -> str:
    if not questions:
        return ""
    return f"""
# What is asked in words: a file of questions, or a set that ships. Each question is a target of its own
questions = {_quoted(questions)}
"""


def _quoted(text: str) -> str:
    """A text as TOML has it: JSON's escapes are TOML's, except for the one character that JSON leaves."""
    return json.dumps(text).replace("\x7f", "\\u007f")
