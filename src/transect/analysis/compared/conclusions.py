"""A comparison of models: its rows and conclusions, a sentence for each conclusion, and the answer for each model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, final

from transect.effects.paired_models import Standing
from transect.effects.verdicts import is_shown, largest
from transect.reports.columns import decimals, decimals_for, significant
from transect.reports.wording import outcome_words
from transect.runs.json_records import hidden
from transect.runs.wording import counted, spaced

LISTED: Final[tuple[Standing, ...]] = ("better", "worse", "differs")
"""Verdicts that claim a difference, whose interval allows for its selection and does not hold 0."""
MARKS: Final[dict[Standing, tuple[str, str]]] = {
    "better": ("+", "better"),
    "worse": ("−", "worse"),
    "differs": ("≠", "differs"),
    "cannot tell": ("?", "inconclusive"),
    "no difference": ("=", "no difference"),
    "not estimable": ("–", "not estimable"),
}
"""The mark and the word of each verdict, in the order in which a page lists them."""
ASSOCIATIONS: Final = (
    "Gaps between groups of observed images are associations: the groups may differ in more than the attribute."
)
_CALLED: Final = {
    "answer": "says yes", "miss": "misses", "false_alarm": "has a false alarm", "error": "is wrong",
    "non_match": "does not match",
}  # fmt: skip
_ERRS: Final = {
    "miss": "misses {}", "false_alarm": "has false alarms on {}", "error": "is wrong on {}",
    "non_match": "does not match {}", "refusal": "refuses {}", "hedge": "hedges on {}",
    "unreadable": "gives answers that cannot be read on {}",
}  # fmt: skip
_SHIFTED: Final = {
    "miss": (
        "A lower threshold of {other} would look the same: where they differ, {more} always says yes and {other} no. "
        "Images without the object (false alarms) decide which is better."
    ),
    "false_alarm": (
        "A higher threshold of {more} would look the same: where they differ, {more} always says yes and {other} no. "
        "Images with the object (misses) decide which is better."
    ),
}
_MINUS: Final = re.compile(r"(?<!\w)-(?=\d)")
MOST: Final = 3
"""Differences of one kind that the answer tells; the table has all."""


def amount(value: float, unit: str, digits: int = 1, *, signed: bool = False) -> str:
    """A difference in its unit: points for proportions, with these decimals."""
    text = number(value, unit, digits, signed=signed)
    if unit != "proportion" or not math.isfinite(value):
        return text
    return f"{text} point" if text.lstrip("+−") in ("1", "1.0") else f"{text} points"


def stated(margin: float, unit: str) -> str:
    """A margin as it was stated: "2 points"."""
    return amount(margin, unit).replace(".0 point", " point")


def number(value: float, unit: str, digits: int = 1, *, signed: bool = False) -> str:
    """The same without its unit."""
    text = decimals(100 * value, digits) if unit == "proportion" else significant(value)
    return f"+{text}" if signed and value > 0 and text.strip("0.") else text


def sized_interval(low: float, high: float, unit: str) -> str:
    """An interval of a difference in its unit."""
    return f"{interval(low, high, unit)}{' points' if unit == 'proportion' and math.isfinite(low + high) else ''}"


def interval(low: float, high: float, unit: str, digits: int = 1) -> str:
    """An interval without its unit."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return "no interval"
    return f"{number(low, unit, digits)} to {number(high, unit, digits)}"


def interval_said(low: float, high: float, unit: str) -> str:
    """The same in a sentence."""
    return interval(low, high, unit, decimals_for(low, high))


def called(outcome: str, task: str) -> str | None:
    """What a model does where the outcome is 1; None for an outcome that is a number."""
    return "has a detection" if (outcome, task) == ("answer", "detection") else _CALLED.get(outcome)


def level_words(confidence: float) -> str:
    """A level of confidence."""
    return f"{100 * confidence:.3g} %"


def compared(conclusion: Conclusion, row: Row) -> str:
    """What a conclusion is about: the outcome, or the gap with its levels; the study where there are several."""
    words = outcome_words(row.outcome, row.unit, row.task)
    where = f" ({row.scope})" if row.scope else ""
    return f"{f'gap in {words} {_between(conclusion, row)}' if row.attribute else words}{where}"


def _between(conclusion: Conclusion, row: Row) -> str:
    """The levels of a gap, as "between skin tone 1 and 10"."""
    name = _MINUS.sub("−", conclusion.levels or row.name)
    origin, to, end = name.partition(" to ")
    levels = f" {origin} and {end}" if to and " to " not in end else f" ({name})"
    return f"between {'groups of ' if row.observed else ''}{spaced(row.attribute)}{levels}"


def associations(rows: Sequence[Row]) -> tuple[str, ...]:
    """What gaps of observed images cannot show, where there are such."""
    return (ASSOCIATIONS,) if any(row.observed and row.kind == "gap" for row in rows) else ()


def sentence(conclusion: Conclusion, row: Row) -> str:
    """One conclusion in words, with its numbers."""
    named = f"{row.model}, {compared(conclusion, row)}"
    match conclusion.verdict:
        case "better" | "worse" | "differs":
            return f"{row.model} {finding(conclusion, row)}."
        case "no difference":
            return f"{named}: no difference larger than {stated(conclusion.margin, row.unit)} ({_sized(row)})."
        case "cannot tell":
            picked = "; corrected for selection, it includes 0" if is_shown(row.p_adjusted, row.low, row.high) else ""
            return f"{named}: inconclusive ({_sized(row)}{picked}); {needs(conclusion, row)}."
        case _:
            return f"{named}: not estimable ({row.reason or 'no effect in one of the models'})."


def needs(conclusion: Conclusion, row: Row) -> str:
    """What would settle a conclusion that the data leave open: subjects to rule out the margin, or to confirm."""
    if math.isnan(conclusion.margin):
        return f"state the smallest difference that matters (--margin {conclusion.outcome}=…)"
    if conclusion.subjects_needed is None:
        return "the number of subjects needed is not known"
    ruled = f"{counted(conclusion.subjects_needed, 'subject')} would rule out {stated(conclusion.margin, row.unit)}"
    if (fewer := conclusion.subjects_to_confirm) is None or fewer >= conclusion.subjects_needed:
        return f"about {ruled}"
    return f"about {counted(fewer, 'subject')} would confirm this difference, {ruled}"


def finding(conclusion: Conclusion, row: Row) -> str:
    """A difference as what the model does to the reference's number."""
    sized, place = f"({_sized(row)})", compared(conclusion, row)
    if row.kind == "rate":
        verb = "has a lower" if row.estimate < 0 else "has a higher"
        return f"{verb} {place} than {row.reference}, {_from_to(row)} {sized}"
    if conclusion.verdict == "differs":
        most = "narrows the gap between some levels and widens it between others, most here"
        return f"changes {row.reference}'s {place}: {most}, {_from_to(row)} {sized}"
    return f"{_verb(row)} {row.reference}'s {place}, {_from_to(row)} {sized}"


def _verb(row: Row) -> str:
    ratio = row.second / row.first if row.first > 0 else math.inf
    if 0.4 <= ratio <= 0.6:
        return "halves"
    if 1.8 <= ratio <= 2.2:
        return "doubles"
    return "narrows" if row.estimate < 0 else "widens"


def of_each(value: float, row: Row, digits: int = 1) -> str:
    """A number of one of the models with its unit: rates of proportions in percent, gaps and effects in points."""
    rate = row.unit == "proportion" and row.kind in ("rate", "rate at a level")
    return f"{number(value, row.unit, digits)} %" if rate and math.isfinite(value) else amount(value, row.unit, digits)


def _from_to(row: Row) -> str:
    digits = decimals_for(row.low, row.high)
    return f"from {number(row.first, row.unit, digits)} to {of_each(row.second, row, digits)}"


def _sized(row: Row) -> str:
    """The difference and its 95 % interval."""
    ends = interval_said(row.low, row.high, row.unit)
    difference = amount(row.estimate, row.unit, decimals_for(row.low, row.high), signed=True)
    return f"{difference}, {ends if ends == 'no interval' else f'95 % interval {ends}'}"


def answers(
    conclusions: Sequence[Conclusion], rows: Sequence[Row], differing: Sequence[DifferingAnswers]
) -> tuple[str, ...]:
    """The answer for each model against the reference: who is better on what, and whether it is worse elsewhere."""
    models = dict.fromkeys(conclusion.model for conclusion in conclusions)
    return tuple(
        _same([each for each in differing if each.model == model])
        + _answer([each for each in conclusions if each.model == model], rows)
        for model in models
    )


def _same(differing: Sequence[DifferingAnswers]) -> str:
    """That two models agree on every image, where they do."""
    if any(each.only_model or each.only_reference for each in differing):
        return ""
    images = max((each.images for each in differing), default=0)
    if not images:
        return ""
    return f"{differing[0].model} and {differing[0].reference} agree on all {counted(images, 'image')}. "


def _answer(conclusions: Sequence[Conclusion], rows: Sequence[Row]) -> str:
    model = conclusions[0].model
    parts: dict[Standing, list[Conclusion]] = {
        verdict: sorted(
            (each for each in conclusions if each.verdict == verdict),
            key=lambda each: (rows[each.row].kind != "gap", -abs(rows[each.row].estimate)),
        )
        for verdict in LISTED
    }
    told = [text for verdict, found in parts.items() for text in _told(verdict, found, rows, after=parts)]
    if not told:
        return _nothing(conclusions, rows)
    rest = [each for each in conclusions if each.no_worse is not None and each.verdict not in parts]
    return f"{model} {' '.join(told)}{_elsewhere(rest, rows)}".replace(f"{model} It ", f"{model} ", 1)


def _told(
    verdict: Standing, found: Sequence[Conclusion], rows: Sequence[Row], *, after: Mapping[Standing, Sequence[object]]
) -> list[str]:
    """A sentence for each of the largest differences; those that are worse after better ones begin with But."""
    first = "But it" if verdict == "worse" and after["better"] else "It"
    heads = [first, *("It" for _ in found[1:])]
    texts = [f"{head} {finding(each, rows[each.row])}." for head, each in zip(heads, found[:MOST], strict=False)]
    reference = rows[found[0].row].reference if found else ""
    texts[1:] = [text.replace(f"{reference}'s gap", "the gap", 1) for text in texts[1:]]
    return texts + ([f"{counted(len(found) - MOST, 'more difference')} in the table."] if len(found) > MOST else [])


def _elsewhere(rest: Sequence[Conclusion], rows: Sequence[Row]) -> str:
    """Whether the model is no worse in all else, with the margin behind it."""
    if not rest:
        return ""
    sure = [each for each in rest if each.no_worse]
    if len(sure) == len(rest):
        return f" It is no worse elsewhere (by {_margins(rest, rows)} at most)."
    unclear = len(rest) - len(sure)
    one = "one other comparison" if unclear == 1 else f"{unclear} other comparisons"
    if not sure:
        return f" Whether it is worse elsewhere, these images are inconclusive ({one})."
    return f" It is no worse (by {_margins(sure, rows)} at most) in {len(sure)} of {len(rest)} other comparisons."


def _margins(conclusions: Sequence[Conclusion], rows: Sequence[Row]) -> str:
    return " or ".join(dict.fromkeys(stated(each.margin, rows[each.row].unit) for each in conclusions))


def _nothing(conclusions: Sequence[Conclusion], rows: Sequence[Row]) -> str:
    """The answer where no difference was found."""
    model, reference = conclusions[0].model, conclusions[0].reference
    none = [each for each in conclusions if each.verdict == "no difference"]
    unclear = [each for each in conclusions if each.verdict == "cannot tell"]
    said = f"No difference between {model} and {reference} was found"
    if len(none) == len(conclusions):
        return f"{said}, and none is larger than {_margins(none, rows)}."
    if none:
        said += f": none larger than {_margins(none, rows)} in {len(none)} of {len(conclusions)} comparisons"
    if unclear:
        return f"{said}; {'the others are' if none else 'the comparison is'} inconclusive ({_settles(unclear, rows)})."
    if none:
        return f"{said}; the others are not estimable."
    reason = rows[conclusions[0].row].reason
    return f"Whether {model} and {reference} differ is not estimable{f' ({reason})' if reason else ''}."


def _settles(unclear: Sequence[Conclusion], rows: Sequence[Row]) -> str:
    """What would settle all that is open: stated margins first, else the most subjects that one of them needs."""
    if without := [each for each in unclear if math.isnan(each.margin)]:
        return needs(without[0], rows[without[0].row])
    needed = largest([each.subjects_needed for each in unclear])
    most = max(unclear, key=lambda each: each.subjects_needed or 0)
    return needs(replace(most, subjects_needed=needed, subjects_to_confirm=None), rows[most.row])


def with_texts(conclusions: Sequence[Conclusion], rows: Sequence[Row]) -> tuple[Conclusion, ...]:
    """The conclusions with their sentences."""
    return tuple(replace(each, text=sentence(each, rows[each.row])) for each in conclusions)


def left(found: Left) -> str:
    """Where a model errs most, so that "better" is not read as "good"."""
    at = ", ".join(f"{spaced(name)} {value.replace('-', '−')}" for name, value in found.settings)
    share = number(found.rate, "proportion", decimals_for(found.low, found.high))
    share = f"{share} % of {counted(found.images, 'image')} at {at}"
    ends = interval_said(found.low, found.high, "proportion")
    said = f"{found.model} {_ERRS[found.outcome].format(share)}"
    return f"Where it errs most, of {counted(found.combinations, 'combination')}: {said} (95 % interval {ends})."


def same_as_threshold(one: DifferingAnswers) -> str:
    """That a moved threshold would look like a better model. one: as `remaining.shifted` finds it."""
    of_model = (one.only_model > 0) == (one.outcome == "false_alarm")
    more, other = (one.model, one.reference) if of_model else (one.reference, one.model)
    return _SHIFTED[one.outcome].format(more=more, other=other)


Kind = Literal["rate", "gap", "rate at a level", "effect"]
"""What is compared: the first two are concluded upon, the other two are details."""


@final
@dataclass(frozen=True, slots=True)
class Row:
    """One number of two models on the images that both answered, and its difference.

    kind: rate (mean over subjects of each one's mean outcome), gap (size of an effect), rate at a level, or effect (of
    going from one level to another). observed: an effect or gap is an association, between groups of observed images.
    scope: the study in words, "" where the comparison has only one. attribute: "" for the rate. name: the levels in
    words. first, second: of the reference and of the model. estimate: second minus first, with its 95 % interval, by
    subject. p_adjusted: Holm, over all rates and gaps of the comparison, or over all its details. NaN with `reason`
    where nothing can be estimated.
    """

    study: str
    model: str
    reference: str
    outcome: str
    unit: str
    kind: Kind
    observed: bool
    attribute: str
    name: str
    first: float
    second: float
    estimate: float
    low: float
    high: float
    p: float
    p_adjusted: float
    n_subjects: int
    reason: str = ""
    scope: str = ""
    task: str = hidden("")


@final
@dataclass(frozen=True, slots=True)
class Conclusion:
    """What is concluded of a model against the reference, on the rate or on the gap of one attribute.

    verdict: better and worse, or differs where neither direction is better (a rate of yes without a truth) or levels
    disagree; no difference (larger than the margin, at every pair of levels); cannot tell. row: index of the row that
    it rests on. levels: those of that row in words, where it was picked of several pairs. low, high: its interval, at
    `confidence`, which allows for the listed differences being picked. least, most: outermost ends of the 90 %
    intervals of all pairs of levels. margin: NaN where none was stated. no_worse: worse by less than the margin, at
    5 %; None where neither direction is better. subjects_needed: with which the data could tell. text: in a sentence.
    subjects_to_confirm: to find a difference as large as the one measured; None where it is within the margin.
    """

    study: str
    model: str
    reference: str
    outcome: str
    attribute: str
    verdict: Standing
    row: int
    levels: str
    low: float
    high: float
    confidence: float
    least: float
    most: float
    margin: float
    no_worse: bool | None
    subjects_needed: int | None
    text: str = ""
    subjects_to_confirm: int | None = None


@final
@dataclass(frozen=True, slots=True)
class DifferingAnswers:
    """Images on which a model and the reference differ in one outcome, of those that both answered.

    only_reference, only_model: images on which the outcome (a miss, a yes) is that of one of them alone. Of outcomes
    that are no yes or no: images on which one is larger than the other.
    """

    study: str
    model: str
    reference: str
    outcome: str
    images: int
    only_reference: int
    only_model: int
    task: str = hidden("")


@final
@dataclass(frozen=True, slots=True)
class DifferingImage:
    """One image on which two models differ: its row and id, its settings in words, and both outcomes."""

    study: str
    model: str
    reference: str
    outcome: str
    id: str
    row: int
    settings: tuple[tuple[str, str], ...]
    of_reference: float
    of_model: float
    task: str = hidden("")


@final
@dataclass(frozen=True, slots=True)
class Left:
    """The combination of levels at which a model errs most.

    settings: names and levels in words. rate: of the images; low, high: Wilson's interval, so wide that those of all
    combinations hold together with 95 % (Bonferroni), since this one was picked. combinations: how many there are.
    """

    study: str
    model: str
    outcome: str
    settings: tuple[tuple[str, str], ...]
    rate: float
    low: float
    high: float
    images: int
    combinations: int


@final
@dataclass(frozen=True, slots=True)
class CompareNumbers:
    """A comparison. models: in order; each is compared with the first, or, where questions are asked in words, with the
    first that was asked the same, which its rows name as the reference. folders: of the runs. margins: by outcome, ""
    for all rates. answer: the conclusions in words, a few sentences for each model. notes: what was not compared, and
    why. left: where each model but the reference errs most. pictures: of `images`, in their order, b"" where the
    run keeps none; no part of the JSON.
    """

    folders: tuple[str, ...]
    models: tuple[str, ...]
    margins: Mapping[str, float]
    confidence: float
    answer: tuple[str, ...]
    conclusions: tuple[Conclusion, ...]
    rows: tuple[Row, ...]
    disagreements: tuple[DifferingAnswers, ...]
    images: tuple[DifferingImage, ...]
    notes: tuple[str, ...]
    works: tuple[str, ...]
    left: tuple[Left, ...] = ()
    pictures: tuple[bytes, ...] = hidden(())
