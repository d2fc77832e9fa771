"""What a judge model and a user's functions made of free texts, and whether people agree with the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, table, words
from transect.annotation.agreement.judging import SOURCES
from transect.reports.records import Section, Table
from transect.reports.wording import short_name
from transect.runs.judge_agreement import CodeAgreement, Figure
from transect.runs.wording import counted
from transect.said import Status

UNCHECKED: Final = "the judge was not checked against people"
_JUDGED: Final = (
    "A judge model says yes or no to a question about each text. It sees the text alone, neither the image nor its "
    "level. Every text that it was sent and gave back stands in the tables coded/ of the run folder. Its errors are in "
    "every effect on its codes: errors that are equally frequent at all levels shrink an effect, and errors that are "
    "more frequent at one level make one. A text that asks the judge for an answer may get it.",
)
_CORRECTED: Final = (
    "The corrected effect moves the judge's rate at each level by how far it is off where people coded the same texts "
    "(prediction-powered inference); its interval counts both samples by subject."
)
_SCORED: Final = "A function of your own gave each text a number. A text on which it failed has none, and counts below."
_NOT_ENOUGH: Final = "people and the judge must have coded the same texts at every level"


def section(answers: Answers, asked: Asked) -> Section | None:
    """The section of a question whose texts were judged or scored; None of others."""
    judge, scorers, checked = asked.coding.judge, asked.coding.scorers, asked.coding.agreement
    if not judge and not scorers:
        return None
    text = [*_headlines(asked)] if judge else []
    text += [*_JUDGED] * bool(judge) + [_CORRECTED] * bool(checked) + [_SCORED] * bool(scorers)
    tables = [_codes(asked), *_unjudged(asked)] if judge else []
    tables += _agreement(checked) if checked else []
    tables += [_scores(asked, scorers)] if scorers else []
    return Section(
        key="judged",
        study=answers.study,
        target=answers.target,
        title=f"{'Judged' if judge else 'Scored'} texts: {short_name(answers.target)}",
        text=text,
        tables=tables,
        sources=list(SOURCES) if checked else [],
    )


def warnings(asked: Asked) -> Iterator[str]:
    """What must be known before a target's judged codes are used."""
    checked = {each.code for each in asked.coding.agreement}
    if missing := [code.name for code in asked.question.judged if code.name not in checked]:
        yield (
            f"{UNCHECKED} ({asked.coding.judge}, for {', '.join(missing)}): have people code a sample of its texts "
            "with transect annotate serve texts:FOLDER, then run transect annotate judge texts:FOLDER."
        )
    if simulated := sum(each.simulated for each in asked.coding.agreement):
        yield f"{counted(simulated, 'code')} that the judge was checked against are of simulated raters, and no people."


def _headlines(asked: Asked) -> Iterator[str]:
    found = {each.code: each for each in asked.coding.agreement}
    for code in asked.question.judged:
        one = found.get(code.name)
        head = f"Code “{code.name}”: {asked.coding.judge} was asked “{code.judge}”"
        if one is None:
            yield f"{head}; {UNCHECKED}."
            continue
        figures = one.figures
        people = "1 person" if one.raters == 1 else f"{one.raters:,} people"
        yield (
            f"{head}. Against {people} on "
            f"{counted(figures.texts, 'text')}: sensitivity {_percent(figures.sensitivity)}, specificity "
            f"{_percent(figures.specificity)}, Cohen's kappa {_number(figures.kappa)}."
        )


def _codes(asked: Asked) -> Table:
    rows: list[list[object]] = []
    for code in asked.question.judged:
        found = [each for of_image in asked.said for one in of_image for each in one.judged if each.code == code.name]
        became = Counter(each.status for each in found)
        yes = sum(each.value == 1 for each in found)
        known = became[Status.ANSWERED]
        distinct = len({each.prompt for each in found})
        rows.append([code.name, len(found), distinct, yes, known - yes, *(became[each] for each in _NONE),
                     yes / known if known else None])  # fmt: skip
    heads = [("code", "text"), ("texts", "count"), ("different", "count"), ("yes", "count"), ("no", "count")]
    heads += [(f"judge {status}", "count") for status in _NONE]
    return table("What the judge said", [*heads, ("share of yes", "proportion")], rows)


_NONE: Final = (Status.REFUSED, Status.HEDGED, Status.UNREADABLE, Status.FAILED)


def _unjudged(asked: Asked) -> list[Table]:
    every = (each for of_image in asked.said for one in of_image for each in one.judged)
    counts = Counter((each.code, str(each.status), each.reason) for each in every if each.reason)
    if not counts:
        return []
    heads = [("code", "text"), ("what became of it", "text"), ("why", "text"), ("texts", "count")]
    rows: list[list[object]] = [[*key, n] for key, n in sorted(counts.items(), key=lambda each: (-each[1], each[0]))]
    return [table("Why the judge gave no code", heads, rows)]


def _agreement(checked: Sequence[CodeAgreement]) -> list[Table]:
    rows: list[list[object]] = []
    for each in checked:
        groups = [("all texts", each.figures)]
        groups += [(f"{words(level.attribute)}: {level.level}", level.figures) for level in each.levels]
        for name, one in groups:
            figures = (one.sensitivity, one.specificity, one.kappa, one.excess)
            notes = "; ".join(dict.fromkeys(figure.reason for figure in figures if figure.reason))
            rows.append([each.code, name, one.texts, one.yes, *(end for figure in figures for end in _ends(figure)),
                         notes])  # fmt: skip
    heads = [("code", "text"), ("texts about", "text"), ("coded by both", "count"), ("people say yes", "count")]
    for name, unit in (("sensitivity", "proportion"), ("specificity", "proportion"), ("kappa", "number"),
                       ("judge's rate minus people's", "points")):  # fmt: skip
        heads += [(name, unit), (f"{name}: low", unit), (f"{name}: high", unit)]
    counts = [[each.code, each.raters, each.answers, each.undecided, each.unjudged, each.simulated] for each in checked]
    about = [("code", "text"), ("people", "count"), ("answers", "count"), ("undecided texts", "count")]
    about += [("texts not judged", "count"), ("answers of simulated raters", "count")]
    effects = [
        [each.code, f"{words(effect.attribute)}: {effect.first} to {effect.level}", effect.judged,
         *_ends(effect.corrected), effect.corrected.reason and f"{effect.corrected.reason}; {_NOT_ENOUGH}"]
        for each in checked
        for effect in each.effects
    ]  # fmt: skip
    ends = [("corrected", "points"), ("low", "points"), ("high", "points"), ("note", "text")]
    found = [
        table("The judge against people", [*heads, ("note", "text")], rows),
        table("Who coded", about, counts),
    ]
    by = [("code", "text"), ("effect", "text"), ("by the judge", "points")]
    return [*found, *([table("Effects corrected with people's codes", [*by, *ends], effects)] if effects else [])]


def _scores(asked: Asked, names: Sequence[str]) -> Table:
    rows: list[list[object]] = []
    for name in names:
        found = [each for of_image in asked.said for one in of_image for each in one.scored if each.scorer == name]
        known = [each.value for each in found if not each.reason]
        reasons = Counter(each.reason for each in found if each.reason)
        why = "; ".join(f"{reason} ({n:,})" for reason, n in reasons.most_common(5))
        mean = sum(known) / len(known) if known else None
        rows.append([name, len(found), mean, min(known, default=None), max(known, default=None),
                     len(found) - len(known), why])  # fmt: skip
    heads = [("function", "text"), ("texts", "count"), ("mean", "number"), ("lowest", "number"), ("highest", "number")]
    return table("Scores of texts", [*heads, ("without a score", "count"), ("why", "text")], rows)


def _ends(figure: Figure) -> list[object]:
    return [figure.estimate, figure.low, figure.high]


def _percent(figure: Figure) -> str:
    return _in_words(figure, lambda value: f"{100 * value:.0f} %")


def _number(figure: Figure) -> str:
    return _in_words(figure, lambda value: f"{value:.2f}")


def _in_words(figure: Figure, text: Callable[[float], str]) -> str:
    if figure.estimate is None:
        return f"not known ({figure.reason})"
    if figure.low is None or figure.high is None:
        return f"{text(figure.estimate)} ({figure.reason})"
    return f"{text(figure.estimate)} ({text(figure.low)} to {text(figure.high)})"
