"""What was asked of a model that answers in words, and what it said: nouns that files, models and tables share.

Three of the ways in which a model can fail to answer are outcomes of their own: it refuses, it hedges, or what it
says cannot be read. A fourth, a call that failed, says nothing about the model and is counted apart.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal, Protocol, final, runtime_checkable

from jaxtyping import UInt8
from numpy import ndarray

Pixels = UInt8[ndarray, "_ _ 3"]
"""One picture; those of one call may have different sizes."""
End = Literal["end", "length", "filter", "tool", "other"]
"""Why a text ended: the model was done, the limit of tokens, a content filter, a tool call instead of an answer."""


class Status(StrEnum):
    """What became of one question about one image in one wording."""

    ANSWERED = "answered"
    REFUSED = "refused"
    HEDGED = "hedged"
    UNREADABLE = "unreadable"
    FAILED = "failed"


UNANSWERED = (Status.REFUSED, Status.HEDGED, Status.UNREADABLE)
"""Ways not to answer that are outcomes; a failed call is a fault of the connection and none of the model."""


@final
@dataclass(frozen=True, slots=True)
class Ask:
    """One text that a model is to answer about the images shown with it.

    repeat: a number from 0; at a temperature above 0 each repeat is another draw, and at 0 all are the same answer.
    options: texts of which one is the answer, () for none; local models give the likelihood of each. number: the answer
    is a number. A chat interface may be asked to keep to both.
    """

    system: str
    prompt: str
    repeat: int = 0
    temperature: float = 0.0
    max_tokens: int = 64
    options: tuple[str, ...] = ()
    number: bool = False


@final
@dataclass(frozen=True, slots=True)
class Spoken:
    """What a model gave back to one `Ask`.

    text: as received, without the prompt. refusal: the model's interface itself says that it declines. failure: why
    nothing came back ("" where something did). likelihoods: natural logarithm of the probability of each of the
    ask's options as the whole answer, () where not scored. tokens: None where the interface does not count them.
    """

    text: str = ""
    end: End = "end"
    refusal: bool = False
    failure: str = ""
    likelihoods: tuple[float, ...] = ()
    tokens_sent: int | None = None
    tokens_received: int | None = None


@runtime_checkable
class Speaker(Protocol):
    """A model that is shown one image, or two, and answers texts about them in words; a judge is shown none."""

    @property
    def name(self) -> str:
        """What tables and reports call it."""

    def speak(self, shown: Sequence[tuple[Pixels, ...]], asks: Sequence[Sequence[Ask]]) -> list[list[Spoken]]:
        """What it says: row i answers asks[i], in order, about the images shown[i].

        The answer to one ask depends on that ask and its images alone, whatever else is in the call.
        """


@final
@dataclass(frozen=True, slots=True)
class Judged:
    """What a judge model made of one text: one code of it, as asked and as answered.

    value: 1 yes, 0 no, NaN where the judge gave neither; then `status` and `reason` say why.
    """

    code: str
    system: str
    prompt: str
    text: str
    status: Status
    value: float = math.nan
    tokens_sent: int | None = None
    tokens_received: int | None = None
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Scored:
    """The number that a user's function gave to one text; NaN with the reason where it gave none."""

    scorer: str
    value: float
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Said:
    """One question about one image, in one wording, as asked and as answered: a row of the tables of answers.

    paraphrase, repeat: numbers from 0. order: the file's number of the option shown at each place, () without options.
    value: yes or no 1 or 0, a choice the option's number in the file, a number itself, NaN where there is none or the
    question is answered freely. codes: of a free text, 1 or 0 for each code of the question, NaN where a judge gave
    none. likelihood: probability of each option in the file's order, of all options together 1; () where not scored.
    reason: why there is no value, "" where there is one or a free text. judged, scored: what a judge model and a user's
    functions made of a free text, one for each code and function; () elsewhere.

    >>> Said(0, (1, 0), 0, "", "A or B?", "B", Status.ANSWERED, 0.0).place
    1
    """

    paraphrase: int
    order: tuple[int, ...]
    repeat: int
    system: str
    prompt: str
    text: str
    status: Status
    value: float = math.nan
    codes: tuple[float, ...] = ()
    likelihood: tuple[float, ...] = ()
    tokens_sent: int | None = None
    tokens_received: int | None = None
    reason: str = ""
    judged: tuple[Judged, ...] = ()
    scored: tuple[Scored, ...] = ()

    @property
    def place(self) -> int | None:
        """At which place the option stood that was chosen; None without a choice."""
        chosen = self.order and self.status is Status.ANSWERED and math.isfinite(self.value)
        return self.order.index(int(self.value)) if chosen else None


@final
@dataclass(frozen=True, slots=True)
class AskedSpec:
    """One question asked of one model, as a target.

    source: what names the model, or the speaker itself. questions: the set's name or file. question: its name there.
    judge: what names the model that judges its texts, or itself; None without one. scorers: functions that score them,
    as "NAME=module:function", or by name.
    """

    source: object
    questions: str
    question: str
    judge: object = None
    scorers: Sequence[str] | Mapping[str, Any] = ()

    def settings(self) -> dict[str, Any]:
        """What `resolve` takes beside the model's spec and options."""
        more = {"judge": self.judge, "scorers": self.scorers or None}
        stated = {name: value for name, value in more.items() if value is not None}
        return {"questions": self.questions, "question": self.question, **stated}
