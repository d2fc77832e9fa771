"""A target whose code runs in a separate process, which is ended where it hangs, and what the two say to each other.

A message is a JSON header and raw numbers, nothing that can run. The process runs code of others, so that everything it
sends is read as a stranger's: lengths (8 bytes each, big endian) are bounded, and kinds are checked.
"""

from __future__ import annotations

import itertools
import json
import math
import signal
import struct
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, astuple, fields
from pathlib import Path
from typing import IO, Any, Final, TypeAlias, TypeVar, final

import numpy as np

from transect import errors
from transect.engines.workers import rebuilt, search_path
from transect.errors import BadInput, TargetChanged, TransectError
from transect.records import Images, Predictions, Task
from transect.spoken_answers import Judged, Said, Scored, Status
from transect.targets.capabilities import BoxConvention
from transect.targets.preprocess import Preprocess

_Record = TypeVar("_Record", Said, Judged, Scored)
MOST_ROWS: Final = 100_000
"""Answers about one image beyond which a message is refused."""


def said_message(said: Sequence[Sequence[Said]] | None) -> list[list[list[object]]] | None:
    """For each image a list of its answers, each the fields of `Said` in their order."""
    if said is None:
        return None
    return [[[_plain(value) for value in astuple(one)] for one in of_image] for of_image in said]


def said_of_message(message: object, n: int) -> tuple[tuple[Said, ...], ...] | None:
    """What a message says about n images. Raises ValueError or TypeError for anything else."""
    if message is None:
        return None
    if not isinstance(message, list) or len(message) != n:
        raise ValueError
    if any(not isinstance(of_image, list) or len(of_image) > MOST_ROWS for of_image in message):
        raise ValueError
    return tuple(tuple(_record(Said, row) for row in of_image) for of_image in message)


def _plain(value: object) -> object:
    if isinstance(value, tuple):
        return list(value)
    return str(value) if isinstance(value, Status) else value


def _record(kind: type[_Record], row: object) -> _Record:
    """A record from the values of its fields, each checked by the field's type."""
    if not isinstance(row, list) or len(row) != len(fields(kind)):
        raise ValueError
    return kind(*(_READ[str(field.type)](value) for field, value in zip(fields(kind), row, strict=True)))


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 31:
        raise ValueError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _real(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        raise ValueError
    return float(value)


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "int": _whole,
    "int | None": lambda value: None if value is None else _whole(value),
    "str": _text,
    "float": _real,
    "Status": lambda value: Status(_text(value)),
    "tuple[int, ...]": lambda values: tuple(map(_whole, values)),
    "tuple[float, ...]": lambda values: tuple(map(_real, values)),
    "tuple[Judged, ...]": lambda rows: tuple(_record(Judged, row) for row in rows),
    "tuple[Scored, ...]": lambda rows: tuple(_record(Scored, row) for row in rows),
}
"""By a field's type, what reads its value. Raises ValueError or TypeError for another."""


Header: TypeAlias = Mapping[str, Any]
"""A message's facts, as JSON holds them."""
CALL: Final = "call"
"""The key of a message's number: a reply has that of what it replies to."""
LONGEST_HEADER: Final = 64 << 20
LONGEST_NUMBERS: Final = 4 << 30
_LENGTHS: Final = struct.Struct(">QQ")
_BOX: Final = 5


class NoAnswer(TransectError):
    """The target gave no answer to a call; the text is the reason, as tables and reports show it."""


def send(stream: IO[bytes], header: Header, numbers: bytes = b"") -> None:
    """Write one message."""
    text = json.dumps(header).encode()
    stream.write(_LENGTHS.pack(len(text), len(numbers)))
    stream.write(text)
    stream.write(numbers)
    stream.flush()


def receive(stream: IO[bytes]) -> tuple[dict[str, Any], bytes]:
    """Read one message. Raises EOFError where the other end is gone, NoAnswer where it is no message."""
    header, numbers = _LENGTHS.unpack(_exactly(stream, _LENGTHS.size))
    if header > LONGEST_HEADER or numbers > LONGEST_NUMBERS:
        raise NoAnswer("its process sent an unreadable answer")
    text, content = _exactly(stream, header), _exactly(stream, numbers)
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        raise NoAnswer("its process sent an unreadable answer") from None
    if not isinstance(facts, dict):
        raise NoAnswer("its process sent an unreadable answer")
    return facts, content


def _exactly(stream: IO[bytes], length: int) -> bytes:
    content = stream.read(length)
    if len(content) != length:
        raise EOFError
    return content


def images_message(images: Images) -> tuple[Header, bytes]:
    """A call about these images."""
    boxes, points = images.face_boxes, images.landmarks
    known = [np.asarray(values, dtype=np.float64).tobytes() for values in (boxes, points) if values is not None]
    count = 0 if points is None else points.shape[1]
    header = {"shape": list(images.pixels.shape), "boxes": boxes is not None, "landmarks": count}
    return header, b"".join([images.pixels.tobytes(), *known])


def images_of(header: Header, numbers: bytes) -> Images:
    """The images of a call; arrays that a target may write to."""
    shape = tuple(header["shape"])
    size = int(np.prod(shape))
    pixels = np.frombuffer(numbers, dtype=np.uint8, count=size).reshape(shape).copy()
    known = np.frombuffer(numbers[size:], dtype=np.float64)
    ends = 4 * len(pixels) if header["boxes"] else 0
    boxes = known[:ends].reshape(-1, 4).copy() if header["boxes"] else None
    points = known[ends:].reshape(len(pixels), header["landmarks"], 2).copy() if header["landmarks"] else None
    return Images(pixels, boxes, points)


def answer_message(answer: Predictions) -> tuple[Header, bytes]:
    """A sound answer, whose failed images have no boxes."""
    scores = np.ascontiguousarray(answer.scores, dtype=np.float64)
    header = {
        "task": str(answer.task),
        "shape": list(scores.shape),
        "failures": list(answer.failures),
        "labels": list(answer.labels),
        "boxes": None if answer.boxes is None else [len(boxes) for boxes in answer.boxes],
        "said": said_message(answer.said),
    }
    boxes = [np.ascontiguousarray(image_boxes, dtype=np.float64).tobytes() for image_boxes in answer.boxes or ()]
    return header, b"".join([scores.tobytes(), *boxes])


def answer_of(header: Header, numbers: bytes, n: int) -> Predictions:
    """The answer about n images that a message holds. Raises NoAnswer for anything else."""
    try:
        rows, width = (int(side) for side in header["shape"])
        values = np.frombuffer(numbers, dtype=np.float64)
        failures, labels = (tuple(map(str, header[key])) for key in ("failures", "labels"))
        if rows != n or width < 0 or len(failures) != n:
            raise ValueError
        scores = values[: n * width].reshape(n, width)
        boxes = _boxes(header["boxes"], values[n * width :], n)
        said = said_of_message(header.get("said"), n)
        return Predictions(Task(header["task"]), scores, failures, boxes, labels, said)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise NoAnswer("its process sent an unreadable answer") from None


def _boxes(counts: Any, values: np.ndarray, n: int) -> tuple[np.ndarray, ...] | None:
    if counts is None:
        if len(values):
            raise ValueError
        return None
    ends = np.cumsum([0, *(int(count) for count in counts)])
    if len(counts) != n or min(counts, default=0) < 0 or ends[-1] * _BOX != len(values):
        raise ValueError
    table = values.reshape(-1, _BOX)
    return tuple(table[start:end] for start, end in itertools.pairwise(ends))


_COMMAND: Final = (sys.executable, "-P", "-m", "transect.targets.isolated.process")
_PASSED_ON: Final = (
    "TooManyFailures",
    "BudgetSpent",
    "AnswersUnusable",
    "TargetChanged",
    "Interrupted",
    "MissingExtra",
)
"""Errors of a call that concern the whole run."""
_ENDING: Final = 5.0
"""Seconds that a process gets to end."""
_LOADING: Final = 600.0
"""Seconds that opening a target may take, each time that its process is started."""


class _Process:
    """A process that opens a target, and the two pipes to it."""

    def __init__(self) -> None:
        # The command is this interpreter and this package; a session of its own keeps Ctrl-C to the run.
        self._popen = subprocess.Popen(  # noqa: S603
            _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        )
        self.end = weakref.finalize(self, _end, self._popen)
        """Ends the process and closes its pipes; runs where the target is forgotten, and at the end of the program."""
        self._calls = 0

    @property
    def alive(self) -> bool:
        return self._popen.poll() is None

    def exchange(self, header: Header, numbers: bytes = b"") -> tuple[dict[str, Any], bytes]:
        """The reply with the number of a message. EOFError and OSError: the process ended; NoAnswer: it has to end."""
        if self._popen.stdin is None or self._popen.stdout is None:
            raise EOFError
        self._calls += 1
        send(self._popen.stdin, {**header, CALL: self._calls}, numbers)
        facts, content = receive(self._popen.stdout)
        if facts.pop(CALL, None) != self._calls:
            raise NoAnswer("its process sent an unexpected answer")
        return facts, content

    def opened(self, request: Header) -> Header:
        """The reply to the first message. Raises as `exchange` does, and NoAnswer where it took too long."""
        late = threading.Event()

        def give_up() -> None:
            late.set()
            self._popen.kill()

        timer = threading.Timer(_LOADING, give_up)
        timer.daemon = True
        timer.start()
        try:
            return self.exchange(request)[0]
        except (EOFError, OSError):
            if late.is_set():
                raise NoAnswer(f"its process was stopped after {_LOADING:g} s") from None
            raise
        finally:
            timer.cancel()

    def ended(self) -> str:
        """How the process ended, without its identifier, so that equal endings can be counted together."""
        try:
            code = self._popen.wait(_ENDING)
        except subprocess.TimeoutExpired:
            code = 0
        self.end()
        if code >= 0:
            return f"its process ended with exit code {code}"
        known = {number.value: number.name for number in signal.Signals}
        return f"its process was ended by {known.get(-code, f'signal {-code}')}"


@final
class IsolatedTarget:
    """The target that a spec names, in a separate process that is started again where it ended.

    What crashes, ends the process or is stopped by the guard is a failure on the images asked about; the next call gets
    a new process, which ends with the program, however that ends (on Linux also where it is killed). own_process:
    whether the target can be asked there at all; one that counts its own calls cannot. model: a plain model.
    """

    def __init__(self, spec: str, options: Mapping[str, object]) -> None:
        self._request = {"spec": spec, "options": _plain_options(options), "path": search_path()}
        self._facts: Header | None = None
        self._lock = threading.Lock()
        self._process: _Process | None = self._started()

    def _started(self) -> _Process:
        process = _Process()
        _LIVING.add(process)
        try:
            self._read(process.opened(self._request))
        except (EOFError, OSError):
            raise BadInput(f"target {self._request['spec']}: {process.ended()} during loading") from None
        except NoAnswer as error:
            process.end()
            raise BadInput(f"target {self._request['spec']}: {error} during loading") from None
        except BaseException:
            process.end()
            raise
        return process

    def _read(self, facts: Header) -> None:
        if "error" in facts:
            raise _error(facts)
        if self._facts is not None:
            self._check_same(facts, self._facts)
            return
        try:
            self.name, self.task = str(facts["name"]), Task(facts["task"])
            self.labels = tuple(map(str, facts["labels"]))
            self.threshold, self.patience = _number(facts["threshold"]), _number(facts["patience"]) or 0.0
            self.positive: str | int | None = _class(facts["positive"])
            convention = facts["box_convention"]
            self.box_convention = None if convention is None else BoxConvention(*map(float, convention))
            # A target may be given another name here, which a name of its process must not hide.
            own = {"name": self.name}.items()
            self._description = {key: fact for key, fact in facts["description"].items() if (key, fact) not in own}
            self.wants_landmarks = facts["wants_landmarks"] is True
            self.own_process, self.model = facts["own_process"] is True, facts["model"] is True
            self.in_words = facts["in_words"] is True
            self.coded = facts["coded"] is True
        except (KeyError, TypeError, ValueError):
            raise BadInput(f"target {self._request['spec']}: its process sent no readable description") from None
        self._facts = facts

    def _check_same(self, facts: Header, first: Header) -> None:
        """Raises TargetChanged where a process that was started again loaded another model than the first one."""
        changed = _changes(first, facts)
        if changed:
            raise TargetChanged(
                f"target {self._request['spec']}: the model changed while the run read it "
                f"({', '.join(changed)}): restore its files and rerun the command to resume, or choose "
                "another --out"
            )

    def describe(self) -> Mapping[str, object]:
        """What the target says of itself, as it would in this process; its name is the one that it has here."""
        return self._description

    def predict(self, images: Images) -> Predictions:
        """The target's answer, one row per image. Raises NoAnswer with the reason where there is none."""
        with self._lock:
            process = self._process
            if process is None:
                raise NoAnswer("its process was stopped")
            try:
                header, numbers = process.exchange(*images_message(images))
            except (EOFError, OSError):
                raise NoAnswer(process.ended()) from None
            except NoAnswer:
                self.stop()
                raise
        if "error" in header:
            raise _error(header)
        return answer_of(header, numbers, len(images))

    def ready(self) -> None:
        """Starts the process again where it ended. Raises TargetChanged where it loads another model now."""
        if self._process is None or not self._process.alive:
            with self._lock:
                self.stop()
                self._process = self._started()

    def stop(self) -> None:
        """Ends the process, also in the middle of a call; `ready` starts another."""
        process, self._process = self._process, None
        if process is not None:
            process.end()

    close = stop


_LIVING: Final[weakref.WeakSet[_Process]] = weakref.WeakSet()


def end_all() -> None:
    """Ends every process of a target, for a program that ends at once."""
    for process in list(_LIVING):
        process.end()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
    for stream in (process.stdin, process.stdout):
        with suppress(OSError):  # what a dead process did not read
            if stream is not None:
                stream.close()


def _error(facts: Header) -> TransectError:
    """The error that a message reports, as this process raises it."""
    kind, text = str(facts["error"]), str(facts.get("text", ""))
    if kind in _PASSED_ON:
        return rebuilt(getattr(errors, kind), text)
    known = getattr(errors, kind, None)
    return BadInput(text) if isinstance(known, type) and issubclass(known, BadInput) else NoAnswer(text)


def _changes(first: Header, now: Header) -> list[str]:
    """Names of the facts that differ, those of the description by their own."""
    names = sorted(key for key in {*first, *now} if first.get(key) != now.get(key))
    if names != ["description"] or not all(isinstance(facts.get("description"), dict) for facts in (first, now)):
        return names
    return _changes(first["description"], now["description"])


def _plain_options(options: Mapping[str, object]) -> dict[str, Any]:
    plain = {name: _plain_option(value) for name, value in options.items()}
    try:
        json.dumps(plain)
    except TypeError:
        named = ", ".join(options)
        raise BadInput(
            f"--isolate: expected settings of texts and numbers ({named}), got objects; leave it out"
        ) from None
    return plain


def _plain_option(value: object) -> object:
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Preprocess):
        return {key: inner for key, inner in asdict(value).items() if inner is not None}
    return dict(value) if isinstance(value, Mapping) else value


def _class(value: object) -> str | int | None:
    if value is None or (isinstance(value, str | int) and not isinstance(value, bool)):
        return value
    raise ValueError


def _number(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError
    return float(value)
