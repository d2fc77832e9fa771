"""How often the model declines, hedges or says what cannot be read, by level: findings about the model, and no gaps."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis.asked_answers import Asked
from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.conditions import condition
from transect.analysis.sections.in_words.bounds import TEXT, bounds_table
from transect.effects.incomplete import SOURCES as BOUNDS
from transect.effects.intervals import SOURCES, WILSON_CLUSTERED, wilson_clustered
from transect.reports.records import Figure, Panel, Section, Series, Table
from transect.said import UNANSWERED, Status

_TEXT: Final = (
    "A model that refuses, hedges or says something unreadable more often at one level than at another treats people "
    "differently, whatever it answers to the others. Each is counted over all wordings that were sent, with a 95 % "
    "interval by subject. Their effects are tested with all others (outcomes refusal, hedge and unreadable).",
    "An image that has no answer in some paraphrase has no value and is left out of the effects on answers; bounds "
    "say what these could be with it.",
    "A call that failed says nothing about the model and is in none of the three.",
)
NAMES: Final = {Status.REFUSED: "refused", Status.HEDGED: "hedged", Status.UNREADABLE: "unreadable"}
_Group = tuple[str, str, Bool[np.ndarray, " n"]]


def section(answers: Answers, asked: Asked) -> Section | None:
    """The shares of the three by level; None where everything was answered."""
    rates = {status: asked.became(status) for status in UNANSWERED}
    failed = asked.grid(lambda one: float(one.status is Status.FAILED))
    if not any(np.nansum(values) for values in (*rates.values(), failed)):
        return None
    groups, bounds = _groups(answers), bounds_table(answers, asked)
    return Section(
        key="not_answered",
        study=answers.study,
        target=answers.target,
        title="Refused, hedged or unreadable",
        text=[*_TEXT, *([TEXT] if bounds else [])],
        figures=[_figure(answers, groups, rates)],
        tables=[_table(answers, groups, rates, failed), _reasons(asked), *([bounds] if bounds else [])],
        sources=[SOURCES[WILSON_CLUSTERED], *(BOUNDS if bounds else ())],
    )


def _groups(answers: Answers) -> list[_Group]:
    groups: list[_Group] = [("", "all images", np.ones(len(answers.subjects), dtype=np.bool_))]
    for name in answers.values:
        found = condition(answers, name)
        groups += [(name, group, np.asarray(found.codes == code)) for code, group in enumerate(found.groups)]
    return groups


def share(
    answers: Answers, values: Float[np.ndarray, "n wordings repeats"], rows: Bool[np.ndarray, " n"]
) -> tuple[float, float, float, int]:
    """The share of answers of some images that have a 1, its interval by subject, and how many answers there are."""
    _, people = np.unique(answers.subjects[rows], return_inverse=True)
    known = np.isfinite(values[rows]).sum(axis=(1, 2)).astype(np.float64)
    hits = np.bincount(people, weights=np.nansum(values[rows], axis=(1, 2)))
    counts = np.bincount(people, weights=known)
    if not counts.sum():
        return np.nan, np.nan, np.nan, 0
    low, high = wilson_clustered(hits[:, None], counts[:, None])
    return float(hits.sum() / counts.sum()), float(low[0]), float(high[0]), int(counts.sum())


def _label(group: _Group) -> str:
    return f"{words(group[0])}: {group[1]}" if group[0] else group[1]


def _table(
    answers: Answers,
    groups: list[_Group],
    rates: dict[Status, Float[np.ndarray, "n wordings repeats"]],
    failed: Float[np.ndarray, "n wordings repeats"],
) -> Table:
    heads = [("group", "text"), ("answers", "count")]
    heads += [(NAMES[status], "proportion") for status in rates]
    rows = []
    for group in groups:
        found = [share(answers, values, group[2]) for values in rates.values()]
        rows.append([_label(group), found[0][3], *(rate for rate, _, _, _ in found), int(np.nansum(failed[group[2]]))])
    return table("Answers that are none, by level", [*heads, ("failed calls", "count")], rows)


def _reasons(asked: Asked) -> Table:
    reasons = [(str(one.status), one.reason) for of_image in asked.said for one in of_image if one.reason]
    counted = sorted(((pair, reasons.count(pair)) for pair in set(reasons)), key=lambda entry: (-entry[1], entry[0]))
    heads = [("what became of it", "text"), ("why", "text"), ("answers", "count")]
    return table("Why there is no answer", heads, [[status, why, n] for (status, why), n in counted])


def _figure(
    answers: Answers, groups: list[_Group], rates: dict[Status, Float[np.ndarray, "n wordings repeats"]]
) -> Figure:
    panels = []
    for status, values in rates.items():
        found = [(group, share(answers, values, group[2])) for group in groups]
        points = [point(rate, low=low, high=high, label=_label(group), n=n) for group, (rate, low, high, n) in found]
        series = [Series(name="share of answers", points=points)]
        panels.append(Panel(heading=NAMES[status], y_words="share of answers", unit="proportion", series=series))
    caption = "(share of the wordings sent, %, with 95 % intervals by subject)"
    return Figure(
        kind="rows", title="How often is there no answer, and at which level?", caption=caption, panels=panels
    )
