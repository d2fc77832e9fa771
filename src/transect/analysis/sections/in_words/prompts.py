"""Does an effect depend on how the question is put? Effects in each paraphrase, their mean, and their spread."""

from __future__ import annotations

from typing import Final

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.in_words.levels import by_level, contrasts, people
from transect.analysis.sections.in_words.measures import Compared, compared
from transect.effects.pair_perception import Bounded
from transect.effects.wordings import SOURCES, WordingEffects, wording_effects
from transect.reports.records import Figure, Panel, Section, Series, Table, Unit

MEAN: Final = "mean of the paraphrases"
SAMPLED: Final = "mean over a sample of wordings"
_TEXT: Final = (
    "An effect that one wording shows and another does not is an effect of the wording. Each paraphrase is therefore "
    "analysed alone. Their mean is of these paraphrases; from five on, a second interval counts them as a sample of "
    "the wordings that could have been used.",
    "The spread is the standard deviation of the true effects between paraphrases, without what chance adds; 0 where "
    "they differ no more than chance makes them. p tests whether the effect is the same in all paraphrases.",
)


def section(answers: Answers, asked: Asked) -> Section | None:
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
        study=answers.study,
        target=answers.target,
        title="Does the wording matter?",
        text=list(_TEXT),
        figures=[_figure(found)],
        tables=[*(_each(name, found) for name in answers.design.levels), _spread(found)],
        sources=list(SOURCES),
    )


_Found = list[tuple[str, str, Compared, WordingEffects]]


def _effects(answers: Answers, measured: Compared, name: str, place: int) -> WordingEffects:
    levels = by_level(answers, measured.values, name)
    who, seed = people(answers), answers.design.seed
    return wording_effects(levels[:, 0], levels[:, place], binary=measured.binary, people=who, seed=seed)


def _called(text: str, measured: Compared) -> str:
    return f"{text}, {measured.name}"


def _each(name: str, found: _Found) -> Table:
    rows: list[list[object]] = []
    unit: Unit = "number"
    for about, text, measured, effects in found:
        if about != name:
            continue
        unit = "points" if measured.binary else "number"
        for place, each in enumerate(effects.each, start=1):
            rows.append([_called(text, measured), f"paraphrase {place}", *_cells(each.effect), each.subjects, each.p])
        rows.append([_called(text, measured), MEAN, *_cells(effects.mean), effects.subjects, None])
        rows.append([_called(text, measured), SAMPLED, *_cells(effects.sampled), effects.subjects, None])
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


def _cells(effect: Bounded) -> list[object]:
    return [effect.estimate, effect.low, effect.high, effect.reason]


def _figure(found: _Found) -> Figure:
    panels = []
    for _, text, measured, effects in found:
        listed = [(f"paraphrase {place}", each.effect) for place, each in enumerate(effects.each, start=1)]
        listed += [(MEAN, effects.mean), (SAMPLED, effects.sampled)]
        points = [
            point(each.estimate, low=each.low, high=each.high, label=label, reason=each.reason)
            for label, each in listed
        ]
        unit: Unit = "points" if measured.binary else "number"
        series = [Series(name="difference", points=points)]
        panels.append(Panel(heading=_called(text, measured), y_words="difference", unit=unit, series=series))
    caption = "(difference between the levels, with 95 % intervals)"
    title = "The effect in each paraphrase"
    return Figure(kind="rows", title=title, caption=caption, folded=len(panels) > 4, panels=panels)
