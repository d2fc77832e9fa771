"""From what a model said to a status and a value: answered, refused, hedged, unreadable or failed.

An answer is looked for in this order, and the first place that holds exactly one counts: a JSON answer, what follows
the last "answer:" or "I would say", what the text begins with, its last line, and then anything that is named outside
clauses that refuse or hedge. So an answer with a disclaimer is an answer. Where there is none, a refusal comes before a
hedge, and a hedge before what cannot be read. See docs/concepts/how-answers-are-read.md.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from transect.said import Said, Spoken, Status
from transect.targets.words import choosing, coding, quantities
from transect.targets.words.cleaning import LONGEST, clauses, is_foreign, json_answer, plain, sentences
from transect.targets.words.declining import declined, said_part
from transect.targets.words.denying import denies
from transect.targets.words.found import STATUS, Found, Reason
from transect.targets.words.questions import Kind, WordQuestion
from transect.targets.words.wordings import Wording
from transect.texts import one_line

_NOUN: Final = (
    r"(?:(?:final|best|correct|overall|short|(?:most|more) likely|likely) )*"
    r"(?:answer|choice|selection|pick|verdict|decision|conclusion|estimate|guess|rating|score"
    r"|recommendation|response|judge?ment|option)"
)
_MARKER: Final = re.compile(
    rf"\b{_NOUN}(?: here| chosen| for (?:this|the) [\w ]{{1,30}}?)? ?(?:is|would be|:|=|->) ?:?\s*"
    r"|\b(?:i|we)(?:'d| would| will|'ll)? (?:(?:have to|probably|likely|most likely|still|then|therefore) )?"
    r"(?:say|choose|pick|select|go with|go for|estimate|guess"
    r"|rate(?: it| them| him| her| (?:this|the) person)?(?: as| at)?|recommend|offer|suggest|prefer|hire"
    r"|lean towards?|lean to|opt for)\b(?: that\b| it would be\b| it's\b| it is\b)?:?\s*",
    re.IGNORECASE,
)
"""What announces an answer."""
_THEREFORE: Final = re.compile(
    r"\b(?:therefore|thus|hence|in conclusion|in summary|to conclude|(?<!or )so|finally|overall)\b[,:]?\s+",
    re.IGNORECASE,
)
"""What may announce one: only an answer that stands by itself counts."""
_CALL: Final = re.compile(
    r"<\|?(?:tool|function)_call|\[TOOL_CALLS\]"
    r"|^\s*\{\s*\"(?:name|function|tool)\"\s*:.*\"(?:arguments|parameters)\"\s*:",
    re.DOTALL,
)
"""A call of a tool that stands in the text itself."""
_BREAK: Final = re.compile(r"[.;:!?,\n]|\b(?:but|so|and|though|although|however|therefore)\b", re.IGNORECASE)
"""Where what stands before an announcement ends."""
_SUPPOSES: Final = re.compile(
    r"(?:^|[.;:!?\n])\W*if (?!(?:i|we|you|one|it)\b|forced|pressed|pushed|asked|required|made)[^.;:!?\n]*$",
    re.IGNORECASE,
)
"""What supposes something else than having to answer: "If this were a hospital, I would say …"."""
_ENDS: Final = re.compile(r"(?<=[.;:!?\n])")
_LONGEST_CLAUSE: Final = 100
_MOST_MARKERS: Final = 50
_LONGEST_PIECE: Final = 500
_SHORT: Final = 3
"""Words of a last line that can be an answer alone."""
_SUBSTANCE: Final = 8
"""Words outside refusing clauses from which on a free text says something."""


def read(question: WordQuestion, wording: Wording, spoken: Spoken) -> Said:
    """What a model said about an image in one wording, as a row of the tables of answers. Never raises.

    likelihood: of the options in the file's order, of yes-no those of no and yes, normalized to 1.

    >>> from transect.targets.words.wordings import wordings
    >>> job = WordQuestion("job", Kind.CHOICE, ("Which job? {options}",), options=("nurse", "pilot"))
    >>> [wording] = wordings(job, "of-an-image")
    >>> said = read(job, wording, Spoken("I think she is a **pilot**."))
    >>> said.status, said.value
    (<Status.ANSWERED: 'answered'>, 1.0)
    """
    status, value, reason = _outcome(question, wording, spoken)
    codes = coding.codes_of(question, said_part(plain(spoken.text))) if status is Status.ANSWERED else ()
    return Said(
        paraphrase=wording.paraphrase,
        order=wording.order,
        repeat=wording.repeat,
        system=wording.ask.system,
        prompt=wording.ask.prompt,
        text=spoken.text,
        status=status,
        value=value,
        codes=codes,
        likelihood=likelihood_of(wording, spoken.likelihoods),
        tokens_sent=spoken.tokens_sent,
        tokens_received=spoken.tokens_received,
        reason=reason,
    )


def likelihood_of(wording: Wording, logarithms: Sequence[float]) -> tuple[float, ...]:
    """Probabilities in the file's order, of all options together 1, from logarithms by place; () where there are none.

    Not a number anywhere, another count than the options asked for, or all impossible: ().
    """
    n = len(wording.ask.options)
    if len(logarithms) != n or not n or any(math.isnan(each) for each in logarithms):
        return ()
    highest = max(logarithms)
    if not math.isfinite(highest):
        return ()
    weights = [math.exp(each - highest) for each in logarithms]
    by_number = sorted(zip(wording.order or range(n), weights, strict=True))
    return tuple(weight / sum(weights) for _, weight in by_number)


def _outcome(question: WordQuestion, wording: Wording, spoken: Spoken) -> tuple[Status, float, str]:
    if spoken.failure:
        return Status.FAILED, math.nan, one_line(spoken.failure, 200)
    read_as = _before_text(spoken) or _of_text(question, wording, spoken)
    if isinstance(read_as, Reason):
        return STATUS[read_as], math.nan, str(read_as)
    return Status.ANSWERED, read_as, ""


def _before_text(spoken: Spoken) -> Reason | None:
    """Why there is no answer, whatever the text says."""
    if spoken.refusal:
        return Reason.DECLINED
    return {"filter": Reason.FILTERED, "tool": Reason.TOOL}.get(spoken.end)


def _of_text(question: WordQuestion, wording: Wording, spoken: Spoken) -> float | Reason:
    text = plain(spoken.text)
    cut = spoken.end == "length"
    if not any(letter.isalnum() for letter in text):
        return Reason.CUT if cut else Reason.EMPTY
    if _CALL.search(spoken.text[:LONGEST]):
        return Reason.TOOL
    if question.kind is Kind.TEXT:
        return _free(text, cut)
    if is_foreign(_without_options(question, text)):
        return Reason.FOREIGN
    if question.kind is Kind.YES_NO and not (text := choosing.without_offer(text)):
        return Reason.CUT if cut else Reason.NONE
    if cut and question.kind is Kind.NUMBER and text[-1] in "0123456789,.":
        text = text.rpartition(" ")[0]  # the last number may go on
    return _closed(question, wording.order, text, cut)


def _without_options(question: WordQuestion, text: str) -> str:
    for option in question.options:
        text = coding.phrase(option).sub(" ", text)
    return text


def _free(text: str, cut: bool) -> float | Reason:
    """NaN where a free text is an answer; why not, where it does little else than refuse, or nothing but hedge."""
    if cut or is_foreign(text):
        return Reason.CUT if cut else Reason.FOREIGN
    reasons = [reason for part in clauses(text) if (reason := declined(part)) is not None]
    words = coding.length_in_words(said_part(text)) if reasons else 1
    if Reason.REFUSAL in reasons and words < _SUBSTANCE:
        return Reason.REFUSAL
    return reasons[0] if reasons and not words else math.nan


def _closed(question: WordQuestion, order: tuple[int, ...], text: str, cut: bool) -> float | Reason:
    """The answer to a question that is no free text, or why there is none."""
    strict, loose = _readers(question, order)
    why = Reason.NONE
    for one in _announced(question, text, strict, loose):
        if one.single:
            return one.values[0]
        if one.reason in _FINAL or one is choosing.CONTRADICTION:
            return one.reason
        why = one.reason if why is Reason.NONE else why
    return Reason.CUT if cut else _anywhere(question, text, loose, why)


_Reader = Callable[[str], Found]
_FINAL: Final = (Reason.UNIT, Reason.BOUND, Reason.WIDE, Reason.RANGE, Reason.CONFLICT)
"""Faults of an answer that was found: no other place is asked then."""


def _readers(question: WordQuestion, order: tuple[int, ...]) -> tuple[_Reader, _Reader]:
    if question.kind is Kind.NUMBER:
        return functools.partial(quantities.strict, question), functools.partial(quantities.loose, question)
    return functools.partial(choosing.strict, question, order), functools.partial(choosing.loose, question, order)


def _announced(question: WordQuestion, text: str, strict: _Reader, loose: _Reader) -> Iterator[Found]:
    """What stands where answers stand, the surest place first."""
    if answer := json_answer(text):
        yield strict(answer.strip())
        yield loose(answer)
    for piece in _behind(_MARKER, text, question):
        begins = strict(piece)
        yield begins if begins.single or begins.reason in _FINAL else loose(piece)
    lines, parts = text.split("\n"), sentences(text) or [""]
    if len(lines) > 1 and len(lines[-1].split()) <= _SHORT:
        yield strict(lines[-1])
    begins = strict(text)
    if not _is_no_to_the_task(begins, choosing.without_sorry(parts[0])) and not _is_a_list(lines, strict):
        yield choosing.CONTRADICTION if begins.single and _is_contradicted(question, begins, text) else begins
    if len(parts) > 1 and len(parts[-1].split()) <= _SHORT:
        yield strict(parts[-1])
    for piece in _behind(_THEREFORE, text):
        yield loose(piece)


def _behind(marker: re.Pattern[str], text: str, question: WordQuestion | None = None) -> list[str]:
    """What follows each announcement, up to the end of its sentence, the last one first.

    question: for announcements that do not count where they are denied, as in "I doubt that the answer is B".
    """
    matches = list(marker.finditer(text))[-_MOST_MARKERS:]
    places = [match.end() for match in matches if question is None or not _is_denied(question, text, match)]
    pieces = [next(iter(sentences(text[place : place + _LONGEST_PIECE])), "") for place in reversed(places)]
    return [piece for piece in pieces if piece and declined(piece) is None]


def _is_denied(question: WordQuestion, text: str, match: re.Match[str]) -> bool:
    """Whether a clause denies before it announces, or only supposes something."""
    before = text[max(0, match.start() - _LONGEST_CLAUSE) : match.start()]
    if _SUPPOSES.search(before):
        return True
    return denies(question, _BREAK.split(before)[-1] + match[0])


def _is_contradicted(question: WordQuestion, begins: Found, text: str) -> bool:
    if question.kind is not Kind.YES_NO:
        return False
    return choosing.contradicts(question, begins, [part for part in clauses(text) if declined(part) is None])


def _is_a_list(lines: Sequence[str], strict: _Reader) -> bool:
    """Whether lines begin with different answers, as where a model goes through all options."""
    return len({begins.values for line in lines[:_MOST_MARKERS] if (begins := strict(line)).single}) > 1


def _is_no_to_the_task(begins: Found, line: str) -> bool:
    """Whether a "no" at the beginning refuses or hedges: "No, I can't tell"."""
    return begins.values == (0.0,) and line[:2].lower() == "no" and declined(line) is not None


def _anywhere(question: WordQuestion, text: str, loose: _Reader, why: Reason) -> float | Reason:
    """The only answer that clauses name which neither refuse nor hedge; else a refusal, a hedge, or why there is none.

    Where an option is itself worded as a hedge, "cannot tell" or "neither", clauses that hedge count too.
    """
    if question.options:
        text = "".join(part for part in _ENDS.split(text) if not part.endswith("?"))  # "A doctor?" names none
    judged = [(part, declined(part)) for part in clauses(text)]
    counted = (None, Reason.BOTH, Reason.HEDGE) if _offers_hedge(question) else (None,)
    named = loose(" | ".join(part for part, reason in judged if reason in counted))
    if named.single:
        return named.values[0]
    reasons = [reason for _, reason in judged]
    stated = next((reason for reason in (Reason.REFUSAL, Reason.BOTH, Reason.HEDGE) if reason in reasons), None)
    return stated or (why if named.reason is Reason.NONE else named.reason)


@functools.lru_cache(maxsize=256)
def _offers_hedge(question: WordQuestion) -> bool:
    return any(declined(option) for option in question.options)
