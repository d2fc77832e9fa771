"""`transect.init`: a commented study file for `transect audit --config`, from five answers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, final

from transect.designs.levels import parse_vary
from transect.effects.truth import Truth
from transect.errors import BadInput
from transect.experiment import costs
from transect.experiment.opened_targets import resolve_targets
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.jobs.audit import presets, run
from transect.jobs.audit.config import settings_in
from transect.jobs.audit.presets import Preset, with_preset
from transect.jobs.audit.request import AuditRequest, with_settings
from transect.runs.folder import slug, write_atomically
from transect.runs.inputs import as_names
from transect.targets.words.speakers import question_set

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
    cost = run.audit_cost(None, request).numbers
    write_atomically(file, text)
    return WrittenStudy(file, cost.images, cost.images * len(cost.targets))


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
