"""Ask five questions and write a commented study file for `transect audit --config`.

Answers given as options are not asked for. Without a terminal nothing is asked: give the target; the preset gives the
other answers.
"""

from __future__ import annotations

import json as encoding
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Protocol, TypeVar, final

import typer

from transect import options
from transect.console.options import Json, with_options
from transect.designs.levels import parse_vary
from transect.effects.outcomes import Truth
from transect.errors import BadInput
from transect.experiment import audit_plan, costs, presets
from transect.experiment.audit_file import settings_in
from transect.experiment.audit_request import AuditRequest, with_settings
from transect.experiment.opened_targets import resolve_targets
from transect.experiment.presets import Preset, with_preset
from transect.generators.faceworld.attributes import ATTRIBUTES
from transect.job import Option, function
from transect.runs.folder import slug, write_atomically
from transect.runs.json_records import dumps
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted
from transect.targets.detectors import Detector
from transect.targets.words.speakers import question_set
from transect.texts import say, whole_number

T = TypeVar("T")


class Ask(Protocol):
    """Finds the answer to a question: option and question as shown, the usual answer, and what reads an answer."""

    def __call__(self, option: str, question: str, default: str, read: Callable[[str], T], /) -> T:
        """The answer, as `read` gives it. Raises what `read` does."""


NONE: Final = "none"
"""Instead of a truth, where errors are not to be counted."""
READS_FACES: Final = "face-attribute"
"""The preset for what reads something off a face: questions in words, a detector of smiles."""


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


def fitting(target: str, questions: str = "") -> Preset:
    """The preset for a target, by its task and what it finds, which is the truth where it is an attribute.

    Raises BadInput or UnknownName for a target that cannot be opened.
    """
    if questions:
        question_set(questions)
        return presets.preset(READS_FACES)
    opened = resolve_targets(target)
    costs.close(opened)
    found = opened[0].kind if isinstance(opened[0], Detector) else "face"
    if found != "face":
        chosen = presets.preset(READS_FACES)
        truth = [f"{found}>0.5" for attribute in ATTRIBUTES if attribute.name == found]
        return replace(chosen, settings={**chosen.settings, "truth": truth})
    return next(fit for fit in map(presets.preset, presets.NAMES) if opened[0].task in fit.tasks)


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


def _ask(_: str, question: str, default: str, read: Callable[[str], T]) -> T:
    """What was answered at the terminal; asked again where it does not fit, with the reason."""
    while True:
        try:
            return read(typer.prompt(question, default=default or None, err=True))
        except BadInput as error:
            say(str(error), error=True)


def _default(option: str, _: str, default: str, read: Callable[[str], T]) -> T:
    if not default:
        raise BadInput(f"{option} is required where there is no terminal to ask at")
    return read(default)


def _known(questions: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        fitting(text, questions)
        return text

    return read


def _vary(text: str) -> tuple[str, ...]:
    try:
        words = shlex.split(text)
    except ValueError:
        raise BadInput(f"--vary: a quote is not closed in {text!r}") from None
    parse_vary(words, ATTRIBUTES)
    return tuple(words)


def _truth(text: str) -> tuple[str, ...]:
    if text == NONE:
        return ()
    Truth.parse(text, {attribute.name: attribute for attribute in ATTRIBUTES})
    return (text,)


def _count(text: str) -> int:
    number = whole_number(text)
    if not number:
        raise BadInput(f"subjects: expected a whole number of at least 1, got {text[:40]!r}")
    return number


@final
@dataclass(frozen=True)
class Init:
    """Write a commented TOML file that `transect audit --config` runs as it is.

    target: a spec, see `transect list targets`. preset: the kind of model, by default the first that fits the target's
    task and what it finds. vary, truth, subjects: by default those of the preset. questions: for a model that answers
    in words. overwrite: replace a file that is there.

    Raises BadInput for a file that is there, and what `audit_cost` raises of the study; nothing is written then.
    """

    file: Annotated[
        str | Path, Option("The TOML file to write.", Path, metavar="[FILE]", argument=True, default=Path("study.toml"))
    ]
    target: Annotated[str, Option("The model to audit; see: transect list targets.", needed=False)]
    _: KW_ONLY
    questions: Annotated[
        str | None, Option("For a model that answers in words: what to ask, a TOML file or a built-in set.")
    ] = None
    preset: Annotated[
        str | None, Option("The kind of model: face-detector, face-attribute, face-recognition or classifier.")
    ] = None
    vary: Annotated[
        str | Sequence[str] | None, Option("What to set: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…; repeatable.")
    ] = None
    truth: Annotated[
        str | Sequence[str] | None,
        Option("The right answer: 'smile>0.5', an attribute, face, or none.", str, read=_truth),
    ] = None
    subjects: Annotated[int | None, Option("Rendered people.", least=1)] = None
    overwrite: Annotated[bool, Option("Replace an existing file.")] = False

    def result(self) -> WrittenStudy:
        """The file, written; nothing is asked."""
        return self.written(_default)

    def written(self, ask: Ask) -> WrittenStudy:
        """The file, written after what is not given was asked for."""
        options.check(self)
        file, questions = Path(self.file), self.questions or ""
        if file.exists() and not self.overwrite:
            raise BadInput(f"{file} exists; choose another name, or replace it with --overwrite")
        target = self.target or ask("--target", "1/5 Which model? (see: transect list targets)", "", _known(questions))
        kinds = f"2/5 What kind of model is it? ({', '.join(presets.NAMES)})"
        if self.preset is None:
            fit = fitting(target, questions)
            chosen = ask("--preset", kinds, fit.name, lambda name: fit if name == fit.name else presets.preset(name))
        else:
            chosen = presets.preset(self.preset)
        return write(file, self._answers(target, chosen, ask))

    def _answers(self, target: str, chosen: Preset, ask: Ask) -> Answers:
        """Those that are given, those that are asked for, and of others those of the preset.

        No preset knows the right answer to a question.
        """
        settings: Mapping[str, Any] = chosen.settings
        which = "3/5 What shall vary? (several with spaces between)"
        vary = as_names(self.vary or ()) or ask("--vary", which, shlex.join(settings["vary"]), _vary)
        question = "4/5 What is the right answer? ('smile>0.5', an attribute, face, or none)"
        usual = NONE if self.questions else " ".join(settings.get("truth", ())) or NONE
        truth = ask("--truth", question, usual, _truth) if self.truth is None else as_names(self.truth)
        subjects = self.subjects or ask("--subjects", "5/5 How many subjects?", str(settings["subjects"]), _count)
        return Answers(target, chosen.name, tuple(vary), truth, subjects, self.questions or "")


init = function(Init)


@with_options(Init)
def command(context: typer.Context, json: Json = False, **given: object) -> None:  # noqa: ARG001  (as all commands)
    """Ask for missing answers; without a terminal, take them from the preset."""
    stated = options.asked(Init, {**given, "target": given["target"] or ""})
    written = stated.written(_ask if sys.stdin.isatty() else _default)
    if json:
        say(dumps(written))
        return
    images, calls = counted(written.images, "image"), counted(written.calls, "call")
    say(f"{written.file}: {images}, {calls}; run it: transect audit --config {shlex.quote(str(written.file))}")
