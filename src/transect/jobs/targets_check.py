"""Show what a model receives and answers. A call to an HTTP API may be billed; asking again is free.

A local model is asked about ten rendered faces, or about your picture, and the image it receives is written to a PNG
file. An HTTP API is sent one image, and its response is explained; one that answers in words is asked what the image
shows. With --questions a model is asked each of them about one image, and each text is shown with what it was read as.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, final

import typer

from transect.console.options import Json, on_command_line, with_options
from transect.console.results import table
from transect.errors import BadInput
from transect.options import Option, asked
from transect.runs.json_records import dumps
from transect.runs.wording import counted
from transect.targets.guard import TIMEOUT
from transect.targets.settings import ModelSettings
from transect.texts import one_line, say

if TYPE_CHECKING:
    import numpy as np

    from transect.protocols import Target
    from transect.records import Images, Predictions
    from transect.targets.input_preview import ModelInput

RESUMES_FROM: Final = "answers that were paid for"
FACES: Final = 10
"""Rendered faces that a local model is asked about."""


@final
@dataclass(frozen=True)
class TargetCheck:
    """What is asked of a model, and how its answers are read."""

    target: Annotated[str, Option("A model, or the TOML file of an HTTP API.", metavar="TARGET", argument=True)]
    _: KW_ONLY
    questions: Annotated[
        str | None, Option("For a model that answers in words: the questions, a TOML file or a built-in set.")
    ] = None
    image: Annotated[Path | None, Option("The picture to ask about; by default rendered faces.")] = None
    seed: Annotated[int, Option("Which face is rendered, or the first of them.")] = 0
    size: Annotated[int, Option("Width and height of rendered faces in pixels: those of your run.", least=1)] = 256
    model: ModelSettings = field(default_factory=ModelSettings)
    timeout: Annotated[float, TIMEOUT] = 10.0
    picture: Annotated[Path, Option("For a local model: PNG file to write, the image as the model receives it.")] = (
        Path("model-input.png")
    )


@with_options(TargetCheck)
def command(context: typer.Context, json: Json = False, **given: object) -> None:
    """Ask the model, and print what it gets and answers."""
    from transect.records import Images
    from transect.targets.kinds import kind_of
    from transect.targets.words.speakers import gives_words, no_questions

    wanted = asked(TargetCheck, given)
    target, options = wanted.target, wanted.model.options()
    if wanted.questions is not None:
        images = Images(_pixels(wanted)[:1])
        check_in_words(target, wanted.questions, options, images, wanted.timeout, json=json)
        return
    kind, _ = kind_of(target)
    is_remote = kind is not None and kind.remote
    if gives_words(target) and not is_remote:
        raise no_questions(target)
    if is_remote:
        options |= on_command_line(context, {"timeout": wanted.timeout, "picture": wanted.picture})
        if options:
            names = ", ".join(f"--{name}" for name in options)
            raise BadInput(f"{target} describes an HTTP API and takes no {names}; leave it out")
        _behind_address(wanted, json=json)
        return
    _local(wanted, options, required=bool(on_command_line(context, {"picture": wanted.picture})), json=json)


def _local(wanted: TargetCheck, options: dict[str, Any], *, required: bool, json: bool) -> None:
    """required: whether the picture was asked for, so that none is an error."""
    from transect.experiment import costs
    from transect.records import Images
    from transect.runs.folder import write_atomically
    from transect.runs.pictures import png
    from transect.targets import resolve
    from transect.targets.capabilities import describe, is_metered
    from transect.targets.guard import guarded
    from transect.targets.input_preview import model_input

    opened, picture, pixels = resolve(wanted.target, **options), wanted.picture, _pixels(wanted)
    try:
        images = Images(pixels[:1] if is_metered(opened) else pixels)
        found = model_input(opened, images.pixels[0])
        if required and found.picture is None:
            raise BadInput(f"--picture: expected a model whose input is known: {found.reason}; leave it out")
        answers = guarded(opened, images, timeout=wanted.timeout, batch=len(images))
    finally:
        costs.close([opened])
    facts_of = describe(opened)
    outputs = facts_of.get("outputs", {})
    written = "" if found.picture is None else str(picture)
    if found.picture is not None:
        write_atomically(picture, png(found.picture))
    failures = enumerate(answers.failures)
    rows = [[str(row + 1), "" if failure else _answer(opened, answers, row), failure] for row, failure in failures]
    if json:
        keys = ("image", "answer", "failure")
        facts = {
            "target": opened.name,
            "task": str(opened.task),
            "preprocessing": found.text or "not stated",
            "assumed": list(found.assumed),
            "input": found.numbers,
            **({"outputs": outputs, "output_name": facts_of.get("output_name")} if outputs else {}),
            "picture": written,
            "no_picture": found.reason,
            "answers": [dict(zip(keys, row, strict=True)) for row in rows],
        }
        say(dumps(facts))
    else:
        listed = ", ".join(f"{name} [{sizes}]" for name, sizes in outputs.items())
        read = [["outputs", f"{listed}; {facts_of.get('output_name')} is read: see --output-name"]] if outputs else []
        table(["what", "seen"], [*_lines(opened, found, images, written), *read])
        table(["image", "answer", "failure"], rows)
    if advice := _advice(wanted.target, answers):
        raise BadInput(advice)


def _pixels(wanted: TargetCheck, faces: int = FACES) -> np.ndarray:
    from transect.generators import load
    from transect.targets.http.target import picture

    if wanted.image is not None:
        return picture(wanted.image)[None]
    world = load("faceworld", image_size=wanted.size)
    return world.render(world.sample(range(wanted.seed, wanted.seed + faces))).pixels


def _lines(target: Target, found: ModelInput, images: Images, written: str) -> list[list[str]]:
    from transect.reports.wording import settings_of
    from transect.targets.capabilities import describe

    height, width = images.pixels.shape[1:3]
    assumed = f"{', '.join(found.assumed)}, since nobody stated it: see --preprocess" if found.assumed else ""
    lines = [
        ["target", f"{target.name}, {target.task}"],
        ["images", f"{len(images)} of {width}x{height} pixels"],
        ["preprocessing", found.text],
        ["assumed", assumed],
        ["the model gets", found.numbers],
        ["as a picture", written or (f"none: {found.reason}" if found.text else "")],
    ]  # fmt: skip
    if not found.text:  # the model prepares its images itself: what it says of that
        lines += [[words, value] for words, value, _ in settings_of(describe(target))]
    return [line for line in lines if line[1]]


def _answer(target: Target, answers: Predictions, row: int) -> str:
    from transect.records import Task
    from transect.targets.capabilities import threshold_of

    scores, task = answers.scores[row], answers.task
    if task is Task.DETECTION and answers.boxes is not None:
        return f"{counted(len(answers.boxes[row]), 'box', 'boxes')}"
    if task is Task.EMBEDDING:
        return f"{counted(len(scores), 'number')}, length {float((scores**2).sum()) ** 0.5:.4g}"
    if task is Task.REGRESSION:
        return f"{scores[0]:.4g}"
    if task is Task.BINARY:
        cut = threshold_of(target)
        cut = 0.5 if cut is None else cut
        return f"{'yes' if scores[0] >= cut else 'no'}, score {scores[0]:.4g}, yes from {cut:g}"
    names = answers.labels or tuple(map(str, range(len(scores))))
    best = sorted(zip(scores.tolist(), names, strict=True), reverse=True)[:3]
    return ", ".join(f"{name} {score:.3f}" for score, name in best)


def _advice(target: str, answers: Predictions) -> str:
    """What to do where no answer came, or the same to each of several images; "" where all is well."""
    from transect.records import Task
    from transect.targets.resolution import remedy

    check = remedy(target, "preprocess", "output", "task")
    if answers.failed.all():
        return f"{target}: no answer to any image: {answers.failures[0]}; {check}"
    good = answers.scores[~answers.failed]
    if len(good) > 1 and answers.task is not Task.DETECTION and (good == good[0]).all():
        return f"{target}: the same answer to {len(good)} different faces; {check}"
    return ""


def _behind_address(wanted: TargetCheck, *, json: bool) -> None:
    """Send one image to a model behind a web address, and explain its response."""
    from transect.targets.http import target as http
    from transect.targets.http.chat import speaker as chat
    from transect.targets.http.chat.settings import is_chat_file

    file = wanted.target
    in_words = is_chat_file(file)
    opened: Any = chat.load_chat(file) if in_words else http.load(file)
    try:
        pixels = _pixels(wanted, faces=1)[0]
        explained = chat.check(opened, pixels) if in_words else http.check(opened, pixels)
    finally:
        opened.close()
    if json:
        say(dumps(explained))
    else:
        table(["what", "seen"], _rows_in_words(explained) if in_words else _rows(explained))
    if advice := chat.advice(explained) if in_words else http.advice(opened, explained):
        raise BadInput(advice)


def _rows_in_words(explained: dict[str, Any]) -> list[list[str]]:
    """What a check of a model that answers in words shows, line by line."""
    sent, held = explained["sent"], explained["tokens_held"]
    used = (explained["tokens_sent"], explained["tokens_received"])
    tokens = "not counted by the reply" if None in used else f"{used[0]} sent, {used[1]} received"
    declined = " (the interface declines)" if explained["refusal"] else ""
    return [
        ["asked", f"{explained['model']} by {explained['interface']} at {sent['url']}"],
        ["headers", _headers(sent)],
        ["image", sent["image"]],
        ["question", explained["asked"]["prompt"]],
        *_received(explained),
        ["text", explained["text"] or "none"],
        ["its end", explained["end"] + declined],
        ["failure", explained["failure"] or "none"],
        ["tokens", f"{tokens}; at most {held['sent']} and {held['received']}"],
        ["cost", _cost(explained)],
    ]  # fmt: skip


def _headers(sent: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in sent["headers"].items()) or "none of the file's"


def _received(explained: dict[str, Any]) -> list[list[str]]:
    reply = explained["reply"]
    size = "" if reply is None else counted(reply["bytes"], "byte")
    received = "nothing" if reply is None else f"HTTP {reply['status']}, {reply['content_type']}, {size}"
    return [
        ["received", received + (" (kept from before, nothing paid)" if explained["kept"] else "")],
        *([["it starts", reply["starts"]]] if reply else []),
    ]  # fmt: skip


def _cost(explained: dict[str, Any]) -> str:
    budget = explained["budget"]
    left = "no limit" if budget["calls_left"] is None else str(budget["calls_left"])
    return f"{counted(explained['calls'], 'call')}, {explained['cost']:.9g} {budget['currency']}; calls left: {left}"


def _rows(explained: dict[str, Any]) -> list[list[str]]:
    fields = {name: dumps(value, None) for name, value in explained["found"].items()}
    sent = explained["sent"]
    return [
        ["asked", f"{sent['method']} {sent['url']}"],
        ["headers", _headers(sent)],
        ["image", f"{sent['image']}, as {sent['body']}"],
        *_received(explained),
        ["the answer has", explained["answer"] or "no JSON"],
        *[[f"response.{name}", text] for name, text in fields.items()],
        ["prediction", dumps(explained["prediction"], None)],
        ["failure", explained["failure"] or "none"],
        ["cost", _cost(explained)],
    ]  # fmt: skip


_LONGEST = 120


def check_in_words(
    spec: str, questions: str, options: Mapping[str, object], images: Images, timeout: float, *, json: bool
) -> None:
    """Ask a model every question about the first image, and print what it said and what that was read as."""
    from transect.experiment import costs
    from transect.experiment.opened_targets import open_target
    from transect.targets.guard import guarded
    from transect.targets.words.speakers import about_two, asked_specs

    first = images.take(slice(0, 1))
    opened = [open_target(source, options) for source in asked_specs(spec, questions)]
    try:
        answers = [(target, guarded(target, first, timeout=timeout, batch=1)) for target in opened]
    finally:
        costs.close(opened)
    rows = [row for target, found in answers for row in _spoken_rows(target, found)]
    if json:
        say(dumps([dict(zip(_HEADS, row, strict=True)) for row in rows]))
    else:
        table([head.replace("_", " ") for head in _HEADS], rows)
    if left_out := [question.name for question in about_two(questions)]:
        say(f"not asked here, since an audit shows two images at once: {', '.join(left_out)}", error=True)
    failed = [(target, reason) for target, found in answers if (reason := _failure(found))]
    if failed:
        raise BadInput(f"{failed[0][0].name}: no answer: {failed[0][1]}; check the model and the question")


def _failure(found: Predictions) -> str:
    """Why no wording brought an answer; "" where one did."""
    from transect.targets.words.asked import pair_failure_of

    said = (found.said or ((),))[0]
    return pair_failure_of(said) if said else found.failures[0]


_HEADS = ["question", "paraphrase", "said", "what_became_of_it", "value", "why_none"]


def _spoken_rows(target: Target, found: Predictions) -> Iterator[list[str]]:
    from transect.records import Task

    name = target.name.rpartition("/")[2]
    for one in (found.said or ((),))[0]:
        value = "" if one.value != one.value else f"{one.value:g}"
        if Task(target.task) is Task.BINARY and value:
            value = "yes" if one.value else "no"
        if found.labels and value and not one.codes:
            value = found.labels[int(one.value)]
        codes = [label for label, there in zip(found.labels, one.codes, strict=False) if there == 1]
        text = one_line(one.text, _LONGEST)
        yield [name, str(one.paraphrase + 1), text, str(one.status), value or ", ".join(codes), one.reason]
