"""Ask five questions and write a commented study file for `transect audit --config`.

Answers given as options are not asked for. Without a terminal nothing is asked: give the target; the preset gives the
other answers.
"""

from __future__ import annotations

import json as encoding
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar, final

import typer

from transect.console.options import Json
from transect.designs.levels import parse_vary
from transect.effects.outcomes import Truth
from transect.errors import BadInput
from transect.experiment import audit_plan, costs, presets
from transect.experiment.audit_file import settings_in
from transect.experiment.audit_request import AuditRequest, with_settings
from transect.experiment.opened_targets import resolve_targets
from transect.experiment.presets import Preset, with_preset
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.runs.folder import slug, write_atomically
from transect.runs.json_records import dumps
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted
from transect.targets.words.speakers import question_set
from transect.texts import say, whole_number

T = TypeVar("T")
NONE: Final = "none"
"""Instead of a truth, where errors are not to be counted."""
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

    target: a spec, see `transect list targets`. preset: the kind of model, by default the first that fits the target's
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
    images, calls = audit_plan.size_of(request)
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

# The models to audit; several are asked about the same images. See: transect list targets
targets = [{_quoted(answers.target)}]
{_asked(answers.questions)}
# The kind of model: {", ".join(presets.NAMES)}.
# Settings that are not in this file are the preset's.
preset = {_quoted(chosen.name)}

# What is set, and to which levels: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B. Each subject is shown at every combination.
# See: transect list attributes
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
# What is asked in words: a file of questions, or a built-in set. Each question is a separate target
questions = {_quoted(questions)}
"""


def _quoted(text: str) -> str:
    """A text as TOML has it: JSON's escapes are TOML's, except for the one character that JSON leaves."""
    return encoding.dumps(text).replace("\x7f", "\\u007f")


def command(
    file: Annotated[Path, typer.Argument(metavar="[FILE]", help="The TOML file to write.")] = Path("study.toml"),
    target: Annotated[str | None, typer.Option(help="The model to audit; see: transect list targets.")] = None,
    questions: Annotated[
        str | None,
        typer.Option(help="For a model that answers in words: the questions, a TOML file or a built-in set."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(help="The kind of model: face-detector, face-attribute, face-recognition or classifier."),
    ] = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="What to set: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…; repeatable.")
    ] = None,
    truth: Annotated[
        str | None, typer.Option(help="The right answer: 'smile>0.5', an attribute, face, or none.")
    ] = None,
    subjects: Annotated[int | None, typer.Option(help="Rendered people.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an existing file.")] = False,
    json: Json = False,
) -> None:
    """Ask for what is not given; without a terminal nothing is asked, and what is not given is the preset's."""
    check_new(file, overwrite)
    ask = _ask if sys.stdin.isatty() else _default
    chosen_questions = questions or ""
    target = target or ask("--target", "1/5 Which model? (see: transect list targets)", "", _known(chosen_questions))
    kinds = f"2/5 What kind of model is it? ({', '.join(presets.NAMES)})"
    chosen = presets.preset(preset or ask("--preset", kinds, fitting(target, chosen_questions), _preset))
    of_preset = usual(target, chosen, chosen_questions)
    which = "3/5 What shall vary? (several with spaces between)"
    varied = vary or ask("--vary", which, shlex.join(of_preset.vary), _vary)
    question = "4/5 What is the right answer? ('smile>0.5', an attribute, face, or none)"
    right = _truth(truth) if truth else ask("--truth", question, " ".join(of_preset.truth) or NONE, _truth)
    stated = None if subjects is None else _count(str(subjects))
    people = stated or ask("--subjects", "5/5 How many subjects?", str(of_preset.subjects), _count)
    written = write(file, Answers(target, chosen.name, tuple(varied), right, people, chosen_questions))
    if json:
        say(dumps(written))
        return
    images, calls = counted(written.images, "image"), counted(written.calls, "call")
    say(f"{file}: {images}, {calls}; run it: transect audit --config {shlex.quote(str(file))}")


def _ask(_: str, question: str, default: str, read: Callable[[str], T]) -> T:
    """What was answered at the terminal; asked again where it does not fit, with the reason."""
    while True:
        try:
            return read(typer.prompt(question, default=default or None, err=True))
        except BadInput as error:
            say(str(error), error=True)


def _default(option: str, _: str, default: str, read: Callable[[str], T]) -> T:
    if not default:
        raise BadInput(f"{option}: required, since there is no terminal to ask at; give it")
    return read(default)


def _known(questions: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        fitting(text, questions)
        return text

    return read


def _preset(text: str) -> str:
    return presets.preset(text).name


def _vary(text: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError:
        raise BadInput(f"--vary: expected quotes in pairs, got {text!r}; close or drop the quote") from None
    return levels_of(words)


def _truth(text: str) -> tuple[str, ...]:
    return () if text == NONE else truth_of(text)


def _count(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise BadInput(f"subjects: expected a whole number of 1 or more, got {text[:40]!r}")
    return number
