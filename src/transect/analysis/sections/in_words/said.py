"""What the model was asked and what it said, quoted: of each level an answer of each kind, of the first images."""

from __future__ import annotations

from typing import Final

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, table, words
from transect.analysis.sections.conditions import condition
from transect.reports.records import Section, Table
from transect.said import Said, Status
from transect.targets.words.questions import Code, Kind
from transect.texts import one_line

EACH: Final = 2
"""Images of a level of which an answer of each kind is quoted."""
LONGEST: Final = 240
"""Characters of a quoted answer."""
_RULE: Final = (
    f"Quoted are, at each level, the first {EACH} images with an answer of a kind: of each its first such answer, in "
    "the order of paraphrases and repeats, so that nobody picks them. Every text that was sent and received stands in "
    "the tables answers/ of the run folder."
)


def section(answers: Answers, asked: Asked) -> Section:
    """The question, its use, and quoted answers."""
    question = asked.question
    limits = [
        f"{head}: {text}"
        for head, text in (
            ("A result may be used for", question.may_be_used_for),
            ("It may not be used for", question.may_not_be_used_for),
        )
        if text
    ]
    return Section(
        key="said",
        study=answers.study,
        target=answers.target,
        title="What was asked and said",
        text=[f"What the value means: {question.meaning}"] * bool(question.meaning) + [*limits, _RULE],
        tables=[_asked(asked), *(_quotes(answers, asked, name) for name in answers.values)],
        sources=list(question.sources),
    )


def _asked(asked: Asked) -> Table:
    question = asked.question
    rows: list[list[object]] = [["system prompt", one_line(question.system, 1000)]] * bool(question.system)
    rows += [
        [f"paraphrase {place}" if len(question.paraphrases) > 1 else "prompt", one_line(text, 1000)]
        for place, text in enumerate(question.paraphrases, start=1)
    ]
    if question.options:
        rows.append(["options", "; ".join(question.options)])
    if question.kind is Kind.NUMBER:
        rows.append(["range", f"{question.low:g} to {question.high:g} {question.unit}".strip()])
    rows += [["code", f"{code.name}: {_looked_for(code)}"] for code in question.codes]
    often = f"{question.repeats} times" if question.repeats > 1 else "once"
    rows.append(["each wording was asked", f"{often}, at temperature {question.temperature:g}"])
    return table("The question", [("part", "text"), ("text", "text")], rows)


def _looked_for(code: Code) -> str:
    return f"a judge is asked “{code.judge}”" if code.judge else ", ".join((*code.labels, *code.patterns))


def _quotes(answers: Answers, asked: Asked, name: str) -> Table:
    groups = condition(answers, name)
    rows: list[list[object]] = []
    for code, group in enumerate(groups.groups):
        images = (groups.codes == code).nonzero()[0].tolist()
        for status in Status:
            first = ((row, next((one for one in asked.said[row] if one.status is status), None)) for row in images)
            found = [(row, one) for row, one in first if one is not None][:EACH]
            rows += [_quoted(answers, group, row, one, asked) for row, one in found]
    where = [("paraphrase", "text")] if _has_several(asked) else []
    heads = [("level", "text"), ("subject", "text"), *where, ("what became of it", "text"), ("the model said", "text")]
    return table(f"Answers by {words(name)}", [*heads, ("read as", "text")], rows)


def _has_several(asked: Asked) -> bool:
    """Whether an image is asked about more than once."""
    return len(asked.question.paraphrases) * asked.question.repeats > 1


def _quoted(answers: Answers, group: str, row: int, one: Said, asked: Asked) -> list[object]:
    text = f"“{one_line(one.text, LONGEST)}”" if one.text else one_line(one.reason, LONGEST)
    repeat = f", repeat {one.repeat + 1}" if asked.question.repeats > 1 else ""
    where = [f"{one.paraphrase + 1}{repeat}"] if _has_several(asked) else []
    return [group, str(answers.subjects[row]), *where, str(one.status), text, read_as(one, asked)]


def read_as(one: Said, asked: Asked) -> str:
    """An answer as the value that it was read as."""
    question = asked.question
    if one.status is not Status.ANSWERED:
        return one.reason
    if question.kind is Kind.TEXT:
        found = [code.name for code, there in zip(question.codes, one.codes, strict=False) if there == 1]
        return ", ".join(found) or "no code"
    if question.kind is Kind.YES_NO:
        return "yes" if one.value else "no"
    return question.options[int(one.value)] if question.options else f"{one.value:g} {question.unit}".strip()
