"""What a run and the process of a target say to each other: a JSON header and raw numbers, nothing that can run.

The process runs code of others, so that everything it sends is read as a stranger's: lengths (8 bytes each, big endian)
are bounded, and kinds are checked.
"""

from __future__ import annotations

import itertools
import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, fields
from typing import IO, Any, Final, TypeAlias, TypeVar

import numpy as np

from transect.errors import TransectError
from transect.records import Images, Predictions, Task
from transect.spoken_answers import Judged, Said, Scored, Status

_Record = TypeVar("_Record", Said, Judged, Scored)
MOST_ROWS: Final = 100_000
"""Answers about one image beyond which a message is refused."""


def said_message(said: Sequence[Sequence[Said]] | None) -> list[list[list[Any]]] | None:
    """For each image a list of its answers, each the fields of `Said` in their order."""
    if said is None:
        return None
    return [[[_plain(value) for value in astuple(one)] for one in of_image] for of_image in said]


def said_of_message(message: Any, n: int) -> tuple[tuple[Said, ...], ...] | None:
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


def _record(kind: type[_Record], row: Any) -> _Record:
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


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isinf(value):
        raise ValueError
    return float(value)


_READ: Final[Mapping[str, Callable[[Any], Any]]] = {
    "int": _whole,
    "int | None": lambda value: None if value is None else _whole(value),
    "str": _text,
    "float": _number,
    "Status": lambda value: Status(_text(value)),
    "tuple[int, ...]": lambda values: tuple(map(_whole, values)),
    "tuple[float, ...]": lambda values: tuple(map(_number, values)),
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
        raise NoAnswer("its process sent no answer that can be read")
    text, content = _exactly(stream, header), _exactly(stream, numbers)
    try:
        facts = json.loads(text)
    except (ValueError, RecursionError):
        raise NoAnswer("its process sent no answer that can be read") from None
    if not isinstance(facts, dict):
        raise NoAnswer("its process sent no answer that can be read")
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
        raise NoAnswer("its process sent no answer that can be read") from None


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
