"""Models that answer in words: opened once in a process, however many questions they are asked."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, final, runtime_checkable
from weakref import WeakValueDictionary

from transect.errors import BadInput
from transect.protocols import Closable, DescribesItself
from transect.records import Quote
from transect.spoken_answers import Ask, AskedSpec, Speaker
from transect.targets.kinds import kind_of, may_open
from transect.targets.model import options_of
from transect.targets.python_objects import NoSuchModule, fingerprint, import_object

if TYPE_CHECKING:
    from transect.targets.words.questions import QuestionSet, WordQuestion

PATIENCE: Final = 60.0
"""Seconds, where the model does not say otherwise."""


@runtime_checkable
class MeteredSpeaker(Protocol):
    """A speaker whose calls are counted and may cost something (`metered = True`)."""

    metered: bool

    def quote(self, images: int, asks: Sequence[Ask], *, shown: int = 1, size: tuple[int, int] | None = None) -> Quote:
        """The most that it costs to ask all texts about N new images, or sets of `shown`, of that width and height."""

    def calls_made(self) -> tuple[int, float]:
        """Calls and cost of this process so far."""


@final
class SharedSpeaker:
    """A speaker that several targets ask; the first speaks of its calls. It is closed with the last, if owned."""

    def __init__(self, speaker: Speaker, *, owned: bool = True) -> None:
        self.speaker, self._owned = speaker, owned
        self._lock = threading.Lock()
        self._users: list[int] = []

    @property
    def patience(self) -> float:
        """Seconds that one text about one image may take."""
        return float(getattr(self.speaker, "patience", PATIENCE))

    @property
    def meter(self) -> MeteredSpeaker | None:
        """The speaker where its calls are counted and may cost something."""
        if not getattr(self.speaker, "metered", False):
            return None
        if not isinstance(self.speaker, MeteredSpeaker):
            raise TypeError(f"{self.speaker.name}: expected a model that counts its calls")
        return self.speaker

    def join(self, user: object) -> None:
        """Note a target that asks."""
        with self._lock:
            self._users.append(id(user))

    def is_first(self, user: object) -> bool:
        """Whether the target is the first of those that ask."""
        return self._users[:1] == [id(user)]

    def stated_by(self, user: object) -> Speaker | None:
        """The speaker where this target speaks for it."""
        return self.speaker if self.is_first(user) else None

    def leave(self, user: object) -> None:
        """Close the speaker where no other target asks it."""
        with self._lock:
            if id(user) not in self._users:
                return
            self._users.remove(id(user))
            left = bool(self._users)
        if not left and self._owned and isinstance(self.speaker, Closable):
            self.speaker.close()


_opened: Final[WeakValueDictionary[str | int, SharedSpeaker]] = WeakValueDictionary()
_opening = threading.Lock()


def question_set(questions: str | Path) -> QuestionSet:
    """The questions of a file, or of a built-in set, that are about one image. Raises BadInput where none is."""
    from transect.targets.words.questions import load

    chosen = load(questions)
    about_one = tuple(question for question in chosen if question.images == 1)
    if not about_one:
        names = ", ".join(question.name for question in chosen)
        raise BadInput(
            f"--questions {questions}: expected a question about one image, got only questions about two images "
            f"({names}); add a different kind of question"
        )
    return dataclasses.replace(chosen, questions=about_one)


def about_two(questions: str | Path) -> tuple[WordQuestion, ...]:
    """The questions of a file, or of a built-in set, that are about two images at once."""
    from transect.targets.words.questions import load

    return tuple(question for question in load(questions) if question.images == 2)


def asked_specs(targets: object, questions: str | Path | None) -> list[object]:
    """The targets, each of them once for each question. Raises as `question_set`."""
    listed = [targets] if isinstance(targets, str) or not isinstance(targets, list | tuple) else list(targets)
    if questions is None:
        return listed
    names = [question.name for question in question_set(questions)]
    return [AskedSpec(source, str(questions), name) for source in listed for name in names]


def described(speaker: Speaker) -> dict[str, Any]:
    """What a model says of itself, or a digest of its code."""
    if isinstance(speaker, DescribesItself):
        return dict(speaker.describe())
    return {"code_sha256": fingerprint(speaker)}


def shared(spec: str, options: Mapping[str, object]) -> SharedSpeaker:
    """The speaker that a spec names, the one that is open already where it was opened with the same options."""
    key = json.dumps([spec, {name: str(value) for name, value in options.items()}], sort_keys=True)
    return shared_by(key, lambda: SharedSpeaker(_speaker(spec, dict(options))))


def shared_by(key: str | int, opened: Callable[[], SharedSpeaker]) -> SharedSpeaker:
    """The speaker of that key, opened where none is open."""
    with _opening:
        found = _opened.get(key)
        if found is None:
            found = _opened[key] = opened()
        return found


def shared_object(speaker: object) -> SharedSpeaker:
    """As `shared`, of an object of this process."""
    if not isinstance(speaker, Speaker):
        raise no_words(getattr(speaker, "name", type(speaker).__name__))
    return shared_by(id(speaker), lambda: SharedSpeaker(speaker, owned=False))


def gives_words(spec: str) -> bool:
    """Whether a spec by its form names a model that answers in words."""
    kind, _ = kind_of(spec)
    if kind is None or not kind.remote:
        return kind is not None and kind.in_words
    from transect.targets.http.chat.settings import is_chat_file

    return is_chat_file(spec)


def no_words(name: object) -> BadInput:
    """The error of a model without words that is asked a question."""
    return BadInput(
        f"--questions: {name} does not answer in words; leave --questions out, or give a vlm:FOLDER or a chat "
        "interface's file"
    )


def no_questions(name: object) -> BadInput:
    """The error of a model that answers in words and is asked nothing."""
    from transect.targets.words.questions import SHIPPED

    return BadInput(
        f"{name} answers in words and needs questions; add --questions FILE or a built-in set ({', '.join(SHIPPED)})"
    )


def _speaker(spec: str, options: dict[str, object]) -> Speaker:
    may_open(spec)
    kind, argument = kind_of(spec)
    if kind is not None and kind.in_words:
        if unknown := [name for name in options if name not in kind.options]:
            raise BadInput(f"{spec} answers in words, and its question sets {unknown[0]}; leave it out")
        module = kind.opened()
        opened: Speaker = module.load(argument, options_of(module.Options, options, spec))
        return opened
    if spec.endswith(".toml"):
        if not gives_words(spec):
            raise no_words(spec)
        from transect.targets.http.chat.speaker import load_chat

        if options:
            raise BadInput(f"{spec} holds every setting of its model and takes no option {', '.join(options)}")
        return load_chat(spec)
    reference = spec.removeprefix("callable:")
    if not all(reference.partition(":")):
        raise no_words(spec)
    try:
        found = import_object(reference)
    except NoSuchModule:
        raise no_words(spec) from None
    found = found() if isinstance(found, type) else found
    if not isinstance(found, Speaker):
        raise no_words(spec)
    return found
