"""Answers in words: what was asked and said, how a judge coded it, refusals, options, wordings, places and tokens."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import (
    Answers,
    Group,
    Share,
    bounds_cells,
    condition,
    dot,
    dots,
    drawn,
    ends,
    image_groups,
    share,
    table,
    with_ends,
    words,
)
from transect.analysis.sections.places import placed
from transect.annotation.agreement.judge_errors import SOURCES as JUDGING_SOURCES
from transect.effects import intervals, option_shares, wordings
from transect.effects.option_shares import OptionShares, PlaceBias, PlaceShares
from transect.effects.wordings import WordingEffects
from transect.records import Estimate
from transect.reports.records import Figure, Panel, Section, Series, Table, Unit
from transect.reports.wording import short_name
from transect.runs.human_answers import CodeAgreement
from transect.runs.human_answers import Figure as JudgeAgreementFigure
from transect.runs.wording import counted
from transect.spoken_answers import UNANSWERED, Said, Status
from transect.targets.words.questions import Kind, WordQuestion
from transect.texts import one_line


@final
@dataclass(frozen=True, slots=True)
class Compared:
    """One number per answer, NaN without one. binary: each is 0 or 1."""

    name: str
    values: Float[np.ndarray, "n wordings repeats"]
    binary: bool


def compared(asked: Asked) -> Iterator[Compared]:
    """The numbers of a question: those of its positive option alone where it has one."""
    question, values = asked.question, asked.values()
    if question.kind is Kind.YES_NO:
        yield Compared("yes", values, binary=True)
    elif question.kind is Kind.NUMBER:
        yield Compared(question.unit or "number", values, binary=False)
    elif question.kind is Kind.TEXT:
        for place, code in enumerate(question.codes):
            yield Compared(f"code “{code.name}”", _codes(asked, place), binary=True)
    else:
        chosen = range(len(question.options)) if question.positive is None else [question.positive]
        for option in chosen:
            picked = np.where(np.isfinite(values), (values == option).astype(np.float64), np.nan)
            yield Compared(f"“{question.options[option]}”", picked, binary=True)


def _codes(asked: Asked, place: int) -> Float[np.ndarray, "n wordings repeats"]:
    return asked.grid(lambda one: one.codes[place] if one.status is Status.ANSWERED and one.codes else math.nan)


def contrasts(answers: Answers, name: str) -> Iterator[tuple[int, str]]:
    """Each later level's number, and the contrast with the first level in words."""
    attribute, levels = answers.attributes[name], answers.design.levels[name]
    first = attribute.label(levels[0])
    for place, value in enumerate(levels[1:], start=1):
        yield place, f"{words(name)}: {first} to {attribute.label(value)}"


def called(answers: Answers, name: str, place: int) -> str:
    """A level in words."""
    return answers.attributes[name].label(answers.design.levels[name][place])


TEXT = (
    "Worst-case bounds set every missing answer to the one that makes an effect smallest, and largest (Manski 1990). "
    "They need no assumption about what the model would have said."
)


def bounds_table(answers: Answers, asked: Asked) -> Table | None:
    """A row per contrast that misses an answer; None without one, and of observed images."""
    question = asked.question
    number = question.kind is Kind.NUMBER
    scale = (question.low, question.high) if number else (0.0, 1.0)
    shown = np.array([bool(of_image) for of_image in asked.said], dtype=np.bool_)
    rows: list[list[object]] = []
    for name in answers.design.levels:
        sent = answers.by_level(shown, name)
        for measured in compared(asked):
            levels = answers.by_level(measured.values, name)
            for place, text in contrasts(answers, name):
                pairs = sent[:, 0] & sent[:, place]
                missing = ~np.isfinite(levels[:, [0, place]])[np.stack([pairs, pairs], axis=1)]
                if not missing.any():
                    continue
                found = wordings.incomplete_bounds(
                    levels[:, 0], levels[:, place], scale=scale, binary=measured.binary, sent=pairs, people=answers.who,
                    seed=answers.design.seed,
                )  # fmt: skip
                rows.append([f"{text}, {measured.name}", int(missing.sum()), *bounds_cells(found), found.reason])
    if not rows:
        return None
    unit: Unit = "number" if number else "points"
    heads = [("effect", "text"), ("missing answers", "count"), ("smallest", unit), ("largest", unit)]
    heads += [("interval low", unit), ("interval high", unit), ("note", "text")]
    return table("What the effects could be with the missing answers", heads, rows)


EACH: Final = 2
"""Images of a level of which an answer of each kind is quoted."""
LONGEST: Final = 240
"""Characters of a quoted answer."""
_RULE: Final = (
    f"Quoted are, at each level, the first {EACH} images with an answer of a kind: of each its first such answer, in "
    "the order of paraphrases and repeats, so that nobody picks them. Every text sent and received is in the tables "
    "answers/ of the run folder."
)


def quoted_section(answers: Answers, asked: Asked) -> Section:
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
        title="Questions and answers",
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
    for code in question.codes:
        sought = f"a judge is asked “{code.judge}”" if code.judge else ", ".join((*code.labels, *code.patterns))
        rows.append(["code", f"{code.name}: {sought}"])
    often = f"{question.repeats} times" if question.repeats > 1 else "once"
    rows.append(["each wording was asked", f"{often}, at temperature {question.temperature:g}"])
    return table("The question", [("part", "text"), ("text", "text")], rows)


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
    return [group, str(answers.subjects[row]), *where, str(one.status), text, read_as(one, asked.question)]


def read_as(one: Said, question: WordQuestion) -> str:
    """An answer as the value that it was read as."""
    if one.status is not Status.ANSWERED:
        return one.reason
    if question.kind is Kind.TEXT:
        found = [code.name for code, there in zip(question.codes, one.codes, strict=False) if there == 1]
        return ", ".join(found) or "no code"
    if question.kind is Kind.YES_NO:
        return "yes" if one.value else "no"
    return question.options[int(one.value)] if question.options else f"{one.value:g} {question.unit}".strip()


UNCHECKED: Final = "the judge was not checked against people"
_JUDGED: Final = (
    "A judge model says yes or no to a question about each text. It sees only the text, neither the image nor its "
    "level. Every text that it received and returned is in the tables coded/ of the run folder. Its errors are in "
    "every effect on its codes: errors that are equally frequent at all levels shrink an effect, and errors that are "
    "more frequent at one level make one. A text that asks the judge for an answer may get it.",
)
_CORRECTED: Final = (
    "The corrected effect shifts the judge's rate at each level by its error on the texts that people also coded "
    "(prediction-powered inference); its interval counts both samples by subject."
)
_SCORED: Final = (
    "Your own function gave each text a number. A text on which it failed has no number and is counted below."
)
_NOT_ENOUGH: Final = "people and the judge must have coded the same texts at every level"


def judge_section(answers: Answers, asked: Asked) -> Section | None:
    """The section of a question whose texts were judged or scored; None of others."""
    judge, scorers, checked = asked.coding.judge, asked.coding.scorers, asked.coding.agreement
    if not judge and not scorers:
        return None
    text = [*_headlines(asked)] if judge else []
    text += [*_JUDGED] * bool(judge) + [_CORRECTED] * bool(checked) + [_SCORED] * bool(scorers)
    tables = [_judged_codes(asked), *_unjudged(asked)] if judge else []
    tables += _agreement(checked) if checked else []
    tables += [_scores(asked, scorers)] if scorers else []
    return Section(
        key="judged",
        title=f"{'Judged' if judge else 'Scored'} texts: {short_name(answers.target)}",
        text=text,
        tables=tables,
        sources=list(JUDGING_SOURCES) if checked else [],
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
        yield f"{counted(simulated, 'code')} that the judge was checked against come from simulated raters, not people."


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
            f"{_percent(figures.specificity)}."
        )


def _judged_codes(asked: Asked) -> Table:
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
            figures = (one.sensitivity, one.specificity, one.excess)
            notes = "; ".join(dict.fromkeys(figure.reason for figure in figures if figure.reason))
            rows.append([each.code, name, one.texts, one.yes, *(end for figure in figures for end in ends(figure)),
                         notes])  # fmt: skip
    heads = [("code", "text"), ("texts about", "text"), ("coded by both", "count"), ("people say yes", "count")]
    for name, unit in (("sensitivity", "proportion"), ("specificity", "proportion"),
                       ("judge's rate minus people's", "points")):  # fmt: skip
        heads += with_ends(name, unit)
    counts = [[each.code, each.raters, each.answers, each.undecided, each.unjudged, each.simulated] for each in checked]
    about = [("code", "text"), ("people", "count"), ("answers", "count"), ("undecided texts", "count")]
    about += [("texts not judged", "count"), ("answers of simulated raters", "count")]
    effects = [
        [each.code, f"{words(effect.attribute)}: {effect.first} to {effect.level}", effect.judged,
         *ends(effect.corrected), effect.corrected.reason and f"{effect.corrected.reason}; {_NOT_ENOUGH}"]
        for each in checked
        for effect in each.effects
    ]  # fmt: skip
    corrected = [("corrected", "points"), ("low", "points"), ("high", "points"), ("note", "text")]
    found = [table("The judge against people", [*heads, ("note", "text")], rows), table("Who coded", about, counts)]
    by = [("code", "text"), ("effect", "text"), ("by the judge", "points")]
    return [*found, *([table("Effects corrected with people's codes", [*by, *corrected], effects)] if effects else [])]


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


def _percent(figure: JudgeAgreementFigure) -> str:
    if figure.estimate is None:
        return f"not known ({figure.reason})"
    estimate = f"{100 * figure.estimate:.0f} %"
    if figure.low is None or figure.high is None:
        return f"{estimate} ({figure.reason})"
    return f"{estimate} ({100 * figure.low:.0f} % to {100 * figure.high:.0f} %)"


_REFUSALS_TEXT: Final = (
    "A model that refuses, hedges or says something unreadable more often at one level than at another treats people "
    "differently, whatever it answers to the others. Each is counted over all wordings that were sent, with a 95 % "
    "interval by subject. Their effects are tested with all others (outcomes refusal, hedge and unreadable).",
    "An image that has no answer in some paraphrase has no value and is left out of the effects on answers; bounds "
    "show what these could be with it.",
    "A failed call says nothing about the model and counts in none of the three.",
)
NAMES: Final = {Status.REFUSED: "refused", Status.HEDGED: "hedged", Status.UNREADABLE: "unreadable"}


def refusal_section(answers: Answers, asked: Asked) -> Section | None:
    """The shares of the three by level; None where everything was answered."""
    rates = {status: asked.became(status) for status in UNANSWERED}
    failed = asked.grid(lambda one: float(one.status is Status.FAILED))
    if not any(np.nansum(values) for values in (*rates.values(), failed)):
        return None
    groups, bounds = image_groups(answers), bounds_table(answers, asked)
    shares = {status: [_share(answers, values, group) for group in groups] for status, values in rates.items()}
    there = {status: of_groups for status, of_groups in shares.items() if np.nansum(rates[status])}
    return Section(
        key="not_answered",
        title="Refusals",
        text=[*_REFUSALS_TEXT, *([TEXT] if bounds else [])],
        figures=[_refusals_figure(groups, there)] if there else [],
        tables=[_refusals_table(groups, shares, failed), _reasons(asked), *([bounds] if bounds else [])],
        sources=[intervals.SOURCES[intervals.WILSON_CLUSTERED], *(wordings.BOUNDS_SOURCES if bounds else ())],
    )


def _share(answers: Answers, values: Float[np.ndarray, "n wordings repeats"], group: Group) -> Share:
    """The share of the group's answers that have a 1."""
    each = values[group.inside].reshape(int(group.inside.sum()), -1)
    return share(each.ravel(), np.repeat(answers.subjects[group.inside], each.shape[1]))


def _refusals_table(
    groups: list[Group], shares: dict[Status, list[Share]], failed: Float[np.ndarray, "n wordings repeats"]
) -> Table:
    heads = [("group", "text"), ("answers", "count"), *((NAMES[status], "proportion") for status in shares)]
    rows = [
        [group.label, of_group[0].n, *(each.value for each in of_group), int(np.nansum(failed[group.inside]))]
        for group, *of_group in zip(groups, *shares.values(), strict=True)
    ]
    return table("Answers that are none, by level", [*heads, ("failed calls", "count")], rows)


def _reasons(asked: Asked) -> Table:
    reasons = Counter((str(one.status), one.reason) for of_image in asked.said for one in of_image if one.reason)
    counted = sorted(reasons.items(), key=lambda entry: (-entry[1], entry[0]))
    heads = [("what became of it", "text"), ("why", "text"), ("answers", "count")]
    return table("Why there is no answer", heads, [[status, why, n] for (status, why), n in counted])


def _refusals_figure(groups: list[Group], shares: dict[Status, list[Share]]) -> Figure:
    panels = {NAMES[status]: {"share of answers": dots(groups, each)} for status, each in shares.items()}
    title = "How often is there no answer, and at which level?"
    caption = "(share of the wordings sent, %, with 95 % intervals by subject)"
    return drawn("rows", title, caption, panels, "share of answers", "proportion")


_OPTIONS_TEXT: Final = (
    "Shares refer to the answers to all wordings, paraphrases weighted equally. An interval of a difference holds "
    "together with those of the other options at the same level; p is corrected (Holm) for all options and levels of "
    "the attribute. One permutation test asks whether the level changes the choice at all.",
)
_LIKELY: Final = (
    "The model also gives each option a probability, as its whole answer, before it says anything. What it finds more "
    "likely at one level may differ from what it says."
)


def option_section(answers: Answers, asked: Asked) -> Section | None:
    """The section of a choice in an experiment; None of other questions, and of observed images."""
    if not asked.is_choice or not answers.design.levels:
        return None
    options = asked.question.options
    chosen, likely = option_shares.chosen_shares(asked.values(), len(options)), asked.likelihoods()
    asks = len(asked.question.paraphrases) * asked.question.repeats
    tables, panels = [], {}
    who, seed = answers.who, answers.design.seed
    for name in answers.design.levels:
        found = option_shares.shares_by_option(answers.by_level(chosen, name), asked=asks, people=who, seed=seed)
        tables.append(_options_table(answers, name, options, found, "chosen"))
        panels[words(name)] = {
            called(answers, name, level): [dot(each, option) for option, each in zip(options, shares, strict=True)]
            for level, shares in enumerate(found.shares)
        }
        if np.isfinite(likely).any():
            scored = option_shares.shares_by_option(answers.by_level(likely, name), binary=False, people=who, seed=seed)
            tables.append(_options_table(answers, name, options, scored, "likelihood"))
    title, caption = "Which option, at which level?", "(share of answers, %, with 95 % intervals)"
    return Section(
        key="options",
        title="Options",
        text=[*_OPTIONS_TEXT, *([_LIKELY] if np.isfinite(likely).any() else [])],
        figures=[drawn("rows", title, caption, panels, "share of answers", "proportion")],
        tables=tables,
        sources=list(option_shares.SOURCES),
    )


def _options_table(answers: Answers, name: str, options: tuple[str, ...], found: OptionShares, what: str) -> Table:
    contrasts = {(each.option, each.level): each for each in found.contrasts}
    rows: list[list[object]] = []
    for level, shares in enumerate(found.shares):
        for option, chosen in enumerate(shares):
            row = [called(answers, name, level), options[option], *ends(chosen)]
            each = contrasts.get((option, level))  # none at the first level
            rows.append([*row, *([None] * 4 if each is None else [*ends(each.difference), each.p_corrected])])
    heads = [("level", "text"), ("option", "text"), ("share", "proportion"), ("low", "proportion")]
    heads += [("high", "proportion")]
    heads += [("difference from the first level", "points"), ("its low", "points"), ("its high", "points")]
    p = f"p = {found.p:.2g}" if np.isfinite(found.p) else "not testable"
    title = f"Options by {words(name)} ({what}); any change: {p}, {found.subjects:,} subjects"
    return table(title, [*heads, ("corrected p", "p")], rows)


MEAN: Final = "mean of the paraphrases"
SAMPLED: Final = "mean over a sample of wordings"
_PROMPTS_TEXT: Final = (
    "An effect that one wording shows and another does not is an effect of the wording. Each paraphrase is therefore "
    "analysed alone. Their mean covers these paraphrases; with five or more, a second interval counts them as a "
    "sample of the wordings that could have been used.",
    "The spread is the standard deviation of the true effects between paraphrases, without what chance adds; 0 where "
    "they differ no more than chance makes them. p tests whether the effect is the same in all paraphrases.",
)


def wording_section(answers: Answers, asked: Asked) -> Section | None:
    """The section of an experiment with several paraphrases; None elsewhere."""
    if len(asked.question.paraphrases) < 2 or not answers.design.levels:
        return None
    measured = list(compared(asked))
    found = [
        (name, text, each, _effects(answers, each, name, place))
        for name in answers.design.levels
        for place, text in contrasts(answers, name)
        for each in measured
    ]
    if not found:
        return None
    return Section(
        key="prompts",
        title="Wording",
        text=list(_PROMPTS_TEXT),
        figures=[_prompts_figure(found)],
        tables=[*(_each(name, found) for name in answers.design.levels), _spread(found)],
        sources=list(wordings.SOURCES),
    )


_Found = list[tuple[str, str, Compared, WordingEffects]]


def _effects(answers: Answers, measured: Compared, name: str, place: int) -> WordingEffects:
    levels = answers.by_level(measured.values, name)
    who, seed = answers.who, answers.design.seed
    return wordings.wording_effects(levels[:, 0], levels[:, place], binary=measured.binary, people=who, seed=seed)


def _called(text: str, measured: Compared) -> str:
    return f"{text}, {measured.name}"


def _wordings(effects: WordingEffects) -> list[tuple[str, Estimate]]:
    """The effect in each paraphrase, in their mean, and in the wordings that they are a sample of."""
    listed = [(f"paraphrase {place}", each.effect) for place, each in enumerate(effects.each, start=1)]
    return [*listed, (MEAN, effects.mean), (SAMPLED, effects.sampled)]


def _each(name: str, found: _Found) -> Table:
    rows: list[list[object]] = []
    unit: Unit = "number"
    for about, text, measured, effects in found:
        if about != name:
            continue
        unit = "points" if measured.binary else "number"
        counts = [*((each.subjects, each.p) for each in effects.each), *[(effects.subjects, None)] * 2]
        for (wording, effect), (subjects, p) in zip(_wordings(effects), counts, strict=True):
            rows.append([_called(text, measured), wording, *ends(effect), effect.reason, subjects, p])
    heads = [("effect", "text"), ("wording", "text"), ("difference", unit), ("low", unit), ("high", unit)]
    heads += [("note", "text"), ("subjects", "count"), ("p of deviating", "p")]
    return table(f"Effects of {words(name)} by paraphrase", heads, rows)


def _spread(found: _Found) -> Table:
    rows = [
        [_called(text, measured), effects.spread, effects.p, effects.incomplete, effects.reason]
        for _, text, measured, effects in found
    ]
    unit = "points" if all(measured.binary for _, _, measured, _ in found) else "number"
    heads = [("effect", "text"), ("spread between paraphrases", unit), ("p of no difference", "p")]
    heads += [("subjects not answered in every paraphrase", "count"), ("note", "text")]
    return table("How far the paraphrases differ", heads, rows)


def _prompts_figure(found: _Found) -> Figure:
    panels = []
    for _, text, measured, effects in found:
        points = [dot(effect, label) for label, effect in _wordings(effects)]
        unit: Unit = "points" if measured.binary else "number"
        series = [Series(name="difference", points=points)]
        panels.append(Panel(heading=_called(text, measured), y_words="difference", unit=unit, series=series))
    caption = "(difference between the levels, with 95 % intervals)"
    title = "The effect in each paraphrase"
    return Figure(kind="rows", title=title, caption=caption, folded=len(panels) > 4, panels=panels)


_PLACES_TEXT: Final = (
    "The order of the options is drawn for each image, so that a model which looks at the options alone chooses every "
    "place equally often. The effect of a place is by how much an option is chosen more often there than elsewhere. "
    "Effects of attributes do not depend on it, since the order has nothing to do with the level.",
)


def place_section(answers: Answers, asked: Asked) -> Section | None:
    """The section of a choice in an experiment; None elsewhere, and where the model never chose."""
    if not asked.is_choice or not answers.design.levels:
        return None
    options, at = len(asked.question.options), asked.places()
    found = {}
    for name, levels in answers.design.levels.items():
        grid = answers.by_level(at, name).reshape(answers.design.subjects, len(levels), -1)
        found[name] = option_shares.place_bias(grid, options, people=answers.who, seed=answers.design.seed)
    first = next(iter(found.values())).of_all
    if not first.answers:
        return None
    return Section(
        key="places",
        title="Order of options",
        text=list(_PLACES_TEXT),
        figures=[_places_figure(first, options)],
        tables=[_all(first), *(_by_level(answers, name, bias) for name, bias in found.items())],
        sources=list(option_shares.POSITION_SOURCES),
    )


def _all(shares: PlaceShares) -> Table:
    rows = [
        [f"place {place}", *ends(share), *ends(effect)]
        for place, (share, effect) in enumerate(zip(shares.shares, shares.effects, strict=True), start=1)
    ]
    heads = [("place", "text"), ("share of choices", "proportion"), ("low", "proportion"), ("high", "proportion")]
    heads += [("effect of the place", "points"), ("its low", "points"), ("its high", "points")]
    title = f"Choices by place; no place preferred: p = {shares.p:.2g}, {shares.answers:,} choices"
    return table(title, heads, rows)


def _by_level(answers: Answers, name: str, bias: PlaceBias) -> Table:
    rows = [
        [called(answers, name, level), f"place {place}", *ends(share)]
        for level, shares in enumerate(bias.by_level)
        for place, share in enumerate(shares.shares, start=1)
    ]
    heads = [("level", "text"), ("place", "text"), ("share of choices", "proportion")]
    title = f"Choices by place and {words(name)}; the same at every level: p = {bias.change.p:.2g}"
    return table(title, [*heads, ("low", "proportion"), ("high", "proportion")], rows)


def _places_figure(shares: PlaceShares, options: int) -> Figure:
    points = [dot(share, f"place {place}") for place, share in enumerate(shares.shares, start=1)]
    panels = {"all images": {"share of choices": points}}
    caption = f"(share of choices, %, with 95 % intervals; {100 / options:.3g} % without a preference)"
    return drawn("rows", "How often is each place chosen?", caption, panels, "share of choices", "proportion")


_TOKENS_TEXT: Final = (
    "Tokens are as the model or its interface counts them; an image counts as tokens, too. Sums are over texts whose "
    "tokens are counted, means over images with all texts counted. Calls and money of a model behind a web address are "
    "in the section on calls."
)


def token_section(_: Answers, asked: Asked) -> Section:
    """The section on tokens."""
    every = [one for of_image in asked.said for one in of_image]
    uncounted = sum(one.tokens_sent is None or one.tokens_received is None for one in every)
    images = sum(map(bool, asked.said))
    rows: list[list[object]] = [
        ["images asked about", images, None],
        ["texts sent", len(every), len(every) / images if images else None],
        ["calls that failed", sum(one.status is Status.FAILED for one in every), None],
        ["texts whose tokens are not counted", uncounted, None],
        ["tokens sent", *_counted([[one.tokens_sent for one in of_image] for of_image in asked.said])],
        ["tokens received", *_counted([[one.tokens_received for one in of_image] for of_image in asked.said])],
    ]
    return Section(
        key="tokens",
        title="Tokens",
        page="numbers",
        text=[_TOKENS_TEXT],
        tables=[table("Texts and tokens", [("what", "text"), ("in all", "count"), ("per image", "number")], rows)],
    )


def _counted(tokens: Sequence[Sequence[int | None]]) -> tuple[int | None, float | None]:
    """The sum of all known counts, and the mean per image whose counts are all known; None without any."""
    every = [one for of_image in tokens for one in of_image if one is not None]
    whole = [[one for one in of_image if one is not None] for of_image in tokens if of_image and None not in of_image]
    return sum(every) if every else None, sum(map(sum, whole)) / len(whole) if whole else None


@placed(20, "answers")
def sections(answers: Answers) -> list[Section]:
    """What was said, and made of it by a judge, what was not answered, options, wordings, places, and tokens."""
    if answers.asked is None:
        return []
    parts = (
        quoted_section,
        judge_section,
        refusal_section,
        option_section,
        wording_section,
        place_section,
        token_section,
    )
    built = [part(answers, answers.asked) for part in parts]
    heading = f"Answers to {short_name(answers.target)}"
    found = (section for section in built if section is not None)
    return [replace(section, study=answers.study, target=answers.target, group=heading) for section in found]
