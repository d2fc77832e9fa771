"""The process of a target, `python -m transect.targets.isolated.process`, which IsolatedTarget starts.

It answers on what was standard output; what the target prints goes to standard error and is taken for no answer.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import astuple, replace
from typing import IO, Final

import numpy as np

from transect.engines.workers import end_with_parent
from transect.errors import TransectError
from transect.protocols import RepeatsCanaries, Target
from transect.records import Predictions, Task
from transect.targets import capabilities
from transect.targets.guard import reason_of
from transect.targets.isolated.target import CALL, Header, answer_message, images_of, receive, send
from transect.targets.model import ModelTarget
from transect.targets.output import as_predictions, row_fault, structure_fault
from transect.targets.resolution import resolve
from transect.texts import hush_libraries

_NO_BOXES: Final = np.zeros((0, 5))


def main() -> None:
    """Open the target that the first message names, describe it, then answer calls until the input ends."""
    asked, answers = _channels()
    request, _ = receive(asked)
    sys.path[:] = request["path"]
    opened, facts = _attempt(lambda: resolve(request["spec"], **request["options"], isolate=False))
    send(answers, {**facts, CALL: request[CALL]})
    while opened is not None:
        try:
            header, numbers = receive(asked)
        except EOFError:
            return
        _answer(opened, header, numbers, answers)


def _channels() -> tuple[IO[bytes], IO[bytes]]:
    """The pipes to the run, out of reach of a target that prints or reads."""
    faulthandler.enable()
    hush_libraries()
    end_with_parent()  # elsewhere than on Linux a run that is killed leaves it to the end of input
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the run decides what an interruption ends
    asked, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    return asked, answers


def _attempt(work: Callable[[], Target]) -> tuple[Target | None, Header]:
    """The target and its facts, or a message that says why there is none."""
    try:
        target = work()
        return target, _facts(target)
    except TransectError as error:
        return None, {"error": type(error).__name__, "text": str(error)}
    except BaseException as error:  # code of others may raise anything on import, SystemExit too
        return None, {"error": "BadInput", "text": reason_of(error)}


def _facts(target: Target) -> Header:
    convention = capabilities.box_convention_of(target)
    return {
        "name": target.name,
        "task": str(Task(target.task)),
        "labels": list(capabilities.labels_of(target)),
        "threshold": capabilities.threshold_of(target),
        "positive": capabilities.positive_of(target),
        "patience": capabilities.patience_of(target),
        "wants_landmarks": capabilities.wants_landmarks(target),
        "box_convention": None if convention is None else astuple(convention),
        "description": capabilities.describe(target),
        "own_process": not (capabilities.is_metered(target) or isinstance(target, RepeatsCanaries)),
        "model": isinstance(target, ModelTarget),
        "in_words": capabilities.answers_in_words(target),
        "coded": capabilities.has_coded_texts(target),
    }


def _answer(target: Target, header: Header, numbers: bytes, answers: IO[bytes]) -> None:
    images = images_of(header, numbers)
    try:
        answer = as_predictions(target.predict(images), target, len(images))
        fault = structure_fault(answer, Task(target.task), len(images))
        if isinstance(answer, Predictions) and not fault:
            reply = answer_message(_sound(answer))
        else:
            reply = {"error": "NoAnswer", "text": fault}, b""
    except BaseException as error:  # a plug-in may raise anything, SystemExit too
        reply = ({"error": type(error).__name__, "text": reason_of(error)}, b"")
    facts, content = reply
    with suppress(BrokenPipeError):
        send(answers, {**facts, CALL: header[CALL]}, content)


def _sound(answer: Predictions) -> Predictions:
    """Each image with its answer or the reason why there is none."""
    reasons = tuple(row_fault(answer, row) for row in range(len(answer)))
    if answer.boxes is None:
        return replace(answer, failures=reasons)
    boxes = tuple(_NO_BOXES if reason else found for reason, found in zip(reasons, answer.boxes, strict=True))
    return replace(answer, failures=reasons, boxes=boxes)


if __name__ == "__main__":
    main()
