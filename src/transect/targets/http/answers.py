"""From a reply to an answer: which JSON is sound, where the numbers stand, and which replies are no answer.

Reasons are categories with few words behind them, the same for equal faults, so that tables can count them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Final, NoReturn, final

import numpy as np

from transect.errors import BadInput, MissingExtra
from transect.records import DECLARED, Predictions, Task
from transect.targets.guard import short
from transect.targets.http.ledger import Reply
from transect.targets.http.settings import Response, Settings
from transect.targets.output import OutputSpec
from transect.texts import one_line, words_of

_NO_ANSWER = 400
_LONGEST_REASON = 200


@final
class NoAnswer(Exception):
    """A reply that holds no answer; its text is the reason, "category: detail"."""


@final
class AnswerReader:
    """Reads predictions off replies. Raises MissingExtra without jmespath."""

    def __init__(self, settings: Settings) -> None:
        try:
            import jmespath
        except ModuleNotFoundError:
            raise MissingExtra("http", "an HTTP target") from None
        self._response, self._task, self._key = settings.response, settings.task, settings.answers_to
        self._labels = settings.labels
        threshold = settings.threshold if "threshold" in settings.model_fields_set else None
        self.spec = OutputSpec(settings.task, settings.output, settings.labels, threshold, positive=settings.positive)
        texts = {**settings.response.model_dump(exclude={"outcomes"}), **_conditions(settings.response)}
        names = ("score", "scores", "label", "boxes", "box", "embedding", "no_face", *_conditions(settings.response))
        self._paths = {name: jmespath.compile(texts[name]) for name in names if texts[name]}

    def read(self, reply: Reply, width: int, height: int) -> Predictions:
        """The prediction of one image of that size, or its failure with the reason; never raises for a reply."""
        try:
            return self.spec.read([self._raw(reply, width, height)], 1)
        except (NoAnswer, BadInput) as error:
            return failed(self._task, words_of(error))
        except RecursionError:
            return failed(self._task, "invalid answer: nested too deeply")

    def parts(self, content: object) -> dict[str, object]:
        """What each path of the file finds in an answer; for items of a list the first item."""
        values = {name: path.search(content) for name, path in self._paths.items() if name not in _RELATIVE[self._key]}
        items = values.get(self._key)
        first = items[0] if isinstance(items, list) and items else None
        inner = {name: self._paths[name].search(first) for name in _RELATIVE[self._key] if name in self._paths}
        return {**values, **(inner if first is not None else {})}

    def _raw(self, reply: Reply, width: int, height: int) -> object:
        if reply.reason:
            raise NoAnswer(f"invalid answer: {reply.reason}")
        content = self._content(reply)
        for name in _conditions(self._response):
            if self._search(name, content):
                raise NoAnswer(f"{name.removeprefix('outcomes.')}: {DECLARED}")
        if self._search("no_face", content):
            if self._task is Task.DETECTION:
                return np.zeros((0, 5))
            raise NoAnswer(f"no face: {DECLARED}")
        if reply.status >= _NO_ANSWER:
            raise NoAnswer(f"refused: HTTP {reply.status}{provider_words(reply)}")
        return self._boxes(content, width, height) if self._task is Task.DETECTION else self._numbers(content)

    def _content(self, reply: Reply) -> object:
        try:
            return parse(reply.body)
        except NoAnswer:
            if reply.status >= _NO_ANSWER:
                raise NoAnswer(f"refused: HTTP {reply.status}{provider_words(reply)}") from None
            raise

    def _search(self, name: str, content: object) -> object:
        import jmespath

        if name not in self._paths:
            return None
        try:
            return self._paths[name].search(content)
        except (jmespath.exceptions.JMESPathError, ArithmeticError) as error:
            raise NoAnswer(f"invalid answer: response.{name} does not match it ({type(error).__name__})") from None

    def _found(self, content: object) -> object:
        content_of_key = self._search(self._key, content)
        if content_of_key is None:
            raise NoAnswer(f"no value at response.{self._key}: the answer has {outline(content)}")
        return content_of_key

    def _of_winner(self, content: object) -> float:
        """The chance of yes from the winning label: its score, or one less its score; 1 or 0 where it has none."""
        label = self._search("label", content)
        if isinstance(label, bool):
            label = "true" if label else "false"
        if not isinstance(label, str):
            raise NoAnswer(f"invalid answer: expected a label at response.label, got {_kind(label)}")
        if self._labels and label not in self._labels:
            raise NoAnswer("invalid answer: a label that is not in labels")
        won = label == self._response.yes
        if "score" not in self._paths:
            return float(won)
        score = _number(self._found(content), "score") / self._response.score_scale
        return score if won else 1 - score

    def _numbers(self, content: object) -> object:
        if self._response.yes:
            return [self._of_winner(content)]
        content_of_key = self._found(content)
        if self._task is Task.BINARY and isinstance(content_of_key, bool):
            return [float(content_of_key)]
        if self._key == "scores":
            content_of_key = self._by_label(content_of_key)
        values = [
            _number(value, self._key)
            for value in (content_of_key if isinstance(content_of_key, list) else [content_of_key])
        ]
        return [value / self._response.score_scale for value in values]

    def _by_label(self, labelled: object) -> object:
        """Scores in the order of the labels, from a list, an object, or a list of objects with a label and a score."""
        if isinstance(labelled, list) and labelled and isinstance(labelled[0], Mapping):
            labelled = {str(self._search("label", entry)): self._search("score", entry) for entry in labelled}
        if not isinstance(labelled, Mapping):
            return labelled
        missing = [label for label in self._labels if label not in labelled]
        if missing:
            raise NoAnswer(f"invalid answer: no score for {missing[0]!r}")
        return [labelled[label] for label in self._labels]

    def _boxes(self, content: object, width: int, height: int) -> np.ndarray:
        items = self._found(content)
        if isinstance(items, bool | int | float):  # whether there is a face, or how many
            return np.array([[0.0, 0.0, width, height, np.nan]] if items > 0 else np.zeros((0, 5)))
        if not isinstance(items, list):
            raise NoAnswer(f"invalid answer: expected a list of boxes, got {_kind(items)}")
        flat = len(items) >= 4 and not any(isinstance(item, list | Mapping) for item in items)
        rows = [self._box(item) for item in (_fives(items) if flat else items)]
        boxes = np.array(rows, dtype=np.float64).reshape(-1, 5)
        if self._response.box_format == "xywh":
            boxes[:, 2:4] += boxes[:, :2]
        if self._response.box_units == "relative":
            boxes[:, :4] *= [width, height, width, height]
        boxes[:, 4] /= self._response.score_scale
        return boxes

    def _box(self, item: object) -> list[float]:
        corners = self._search("box", item)
        if not isinstance(corners, list) or len(corners) not in (4, 5):
            raise NoAnswer(f"invalid answer: expected four numbers at response.box, got {_kind(corners)}")
        numbers = [_number(value, "box") for value in corners]
        if len(numbers) == 5:
            return numbers
        score = self._search("score", item) if isinstance(item, Mapping) else None
        return [*numbers, np.nan if score is None else _number(score, "score")]


_RELATIVE: dict[str, tuple[str, ...]] = {
    "boxes": ("box", "score", "scores", "embedding", "label"),
    "scores": ("label", "score", "boxes", "box", "embedding"),
    "score": ("scores", "label", "boxes", "box", "embedding"),
    "embedding": ("score", "scores", "label", "boxes", "box"),
}
"""Per task's path, those that are looked up in an item of its list, or not at all."""


def failed(task: Task, reason: str) -> Predictions:
    """The prediction of one image that has no answer."""
    boxes = (np.zeros((0, 5)),) if task is Task.DETECTION else None
    return Predictions(task, np.full((1, 1), np.nan), (one_line(reason, _LONGEST_REASON),), boxes)


def parse(body: bytes) -> object:
    """JSON, strictly: no key twice, no NaN, no infinity. Raises NoAnswer.

    >>> parse(b'{"a": 1, "a": 2}')
    Traceback (most recent call last):
    transect.targets.http.answers.NoAnswer: invalid answer: JSON with a key twice
    """
    try:
        return json.loads(body, object_pairs_hook=_unique, parse_constant=_constant, parse_float=_finite)
    except RecursionError:
        raise NoAnswer("invalid answer: nested too deeply") from None
    except (ValueError, UnicodeDecodeError):
        raise NoAnswer(f"invalid answer: {'empty' if not body.strip() else 'no JSON'}") from None


_WORDS: Final = 120
_NUMBERED: Final = re.compile(r"\b(?=\w*\d)[\w-]{12,}")
"""Numbers of requests and accounts, which make equal faults differ."""


def provider_words(reply: Reply) -> str:
    """What a provider says of a fault, for the end of a reason: ": " and one short line; "" where it says nothing.

    Addresses and numbers of requests are left out; secrets are no part of a reply that was kept.

    >>> provider_words(Reply(404, "application/json", b'{"error": {"message": "no such model"}}'))
    ': no such model'
    """
    try:
        content = parse(reply.body)
    except NoAnswer:
        is_text = reply.content_type.startswith("text/plain")
        content = {"message": reply.body.decode(errors="replace")} if is_text else None
    error = content.get("error", content) if isinstance(content, Mapping) else content
    if isinstance(error, Mapping):
        error = next((error[key] for key in ("message", "detail", "title", "error") if error.get(key)), "")
    words = _NUMBERED.sub("…", short(error)) if isinstance(error, str) else ""
    return f": {one_line(words, _WORDS)}" if words else ""


def outline(content: object, depth: int = 2) -> str:
    """What is there, in a few words, without its texts and numbers."""
    if isinstance(content, Mapping):
        named = [f"{key} ({_kind(value, depth - 1)})" for key, value in [*content.items()][:8]]
        return ", ".join(named) + (", …" if len(content) > 8 else "") or "an empty object"
    return _kind(content, depth)


def _kind(value: object, depth: int = 1) -> str:
    if isinstance(value, Mapping):
        return f"object with {', '.join(str(key) for key in [*value][:6])}" if value else "empty object"
    if isinstance(value, list):
        inner = f": {_kind(value[0], depth - 1)}" if value and depth > 0 else ""
        return f"list of {len(value)}{inner}" if value else "empty list"
    names = {str: "text", bool: "yes or no", int: "number", float: "number", type(None): "null"}
    return names.get(type(value), type(value).__name__)


def _number(value: object, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise NoAnswer(f"invalid answer: expected a number at response.{key}, got {_kind(value)}")
    try:
        return float(value)
    except OverflowError:
        raise NoAnswer(f"invalid answer: expected a number at response.{key}, got one too large") from None


def _fives(numbers: Sequence[object]) -> list[object]:
    """Boxes out of a flat tensor of them."""
    if len(numbers) % 5:
        raise NoAnswer("invalid answer: expected five numbers for each box of a flat list")
    return [list(numbers[i : i + 5]) for i in range(0, len(numbers), 5)]


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    unique = dict(pairs)
    if len(unique) < len(pairs):
        raise NoAnswer("invalid answer: JSON with a key twice")
    return unique


def _constant(_: str) -> NoReturn:
    raise NoAnswer("invalid answer: JSON with NaN or infinity")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise NoAnswer("invalid answer: JSON with NaN or infinity")
    return number


def _conditions(response: Response) -> dict[str, str]:
    return {f"outcomes.{name}": path for name, path in response.outcomes.items()}
