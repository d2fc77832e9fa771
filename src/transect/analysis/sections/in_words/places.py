"""Does the model choose by place? How often each place is chosen, where options change places from image to image."""

from __future__ import annotations

from typing import Final

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.in_words.levels import by_level, called, people
from transect.effects.places import SOURCES, PlaceBias, PlaceShares, place_bias
from transect.reports.records import Figure, Panel, Section, Series, Table

_TEXT: Final = (
    "The order of the options is drawn for each image, so that a model which looks at the options alone chooses every "
    "place equally often. The effect of a place is by how much an option is chosen more often there than elsewhere. "
    "Effects of attributes do not depend on it, since the order has nothing to do with the level.",
)


def section(answers: Answers, asked: Asked) -> Section | None:
    """The section of a choice in an experiment; None elsewhere, and where the model never chose."""
    if not asked.is_choice or not answers.design.levels:
        return None
    options, at = len(asked.question.options), asked.places()
    found = {}
    for name, levels in answers.design.levels.items():
        grid = by_level(answers, at, name).reshape(answers.design.subjects, len(levels), -1)
        found[name] = place_bias(grid, options, people=people(answers), seed=answers.design.seed)
    first = next(iter(found.values())).of_all
    if not first.answers:
        return None
    return Section(
        key="places",
        study=answers.study,
        target=answers.target,
        title="Does the place of an option matter?",
        text=list(_TEXT),
        figures=[_figure(first, options)],
        tables=[_all(first), *(_by_level(answers, name, bias) for name, bias in found.items())],
        sources=list(SOURCES),
    )


def _all(shares: PlaceShares) -> Table:
    rows = [
        [f"place {place}", share.estimate, share.low, share.high, effect.estimate, effect.low, effect.high]
        for place, (share, effect) in enumerate(zip(shares.shares, shares.effects, strict=True), start=1)
    ]
    heads = [("place", "text"), ("share of choices", "proportion"), ("low", "proportion"), ("high", "proportion")]
    heads += [("effect of the place", "points"), ("its low", "points"), ("its high", "points")]
    title = f"Choices by place; no place preferred: p = {shares.p:.2g}, {shares.answers:,} choices"
    return table(title, heads, rows)


def _by_level(answers: Answers, name: str, bias: PlaceBias) -> Table:
    rows = [
        [called(answers, name, level), f"place {place}", share.estimate, share.low, share.high]
        for level, shares in enumerate(bias.by_level)
        for place, share in enumerate(shares.shares, start=1)
    ]
    heads = [("level", "text"), ("place", "text"), ("share of choices", "proportion")]
    title = f"Choices by place and {words(name)}; the same at every level: p = {bias.change.p:.2g}"
    return table(title, [*heads, ("low", "proportion"), ("high", "proportion")], rows)


def _figure(shares: PlaceShares, options: int) -> Figure:
    points = [
        point(share.estimate, low=share.low, high=share.high, label=f"place {place}", reason=share.reason)
        for place, share in enumerate(shares.shares, start=1)
    ]
    series = [Series(name="share of choices", points=points)]
    panel = Panel(heading="all images", y_words="share of choices", unit="proportion", series=series)
    caption = f"(share of choices, %, with 95 % intervals; {100 / options:.3g} % without a preference)"
    return Figure(kind="rows", title="How often is each place chosen?", caption=caption, panels=[panel])
