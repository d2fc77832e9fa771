"""What a target did not answer, as outcomes of their own: refusals, no face found, unsafe content, errors, by group."""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Bool, Int

from transect.analysis.sections.answers import Answers, point, table, words
from transect.analysis.sections.conditions import condition
from transect.analysis.sections.missing_bounds import BETWEEN, WITHIN, WORST, bounds_table
from transect.effects.intervals import SOURCES, WILSON, WILSON_CLUSTERED, wilson_clustered
from transect.effects.missing_answers import SOURCES as BOUNDS
from transect.effects.outcomes import category
from transect.records import declared
from transect.reports.records import Figure, Panel, Section, Series, Table
from transect.reports.wording import short_name

REFUSED: Final = "refused"
ERROR: Final = "error"
_TEXT: Final = (
    "An image without a valid answer is neither right nor wrong, and is left out of all other rates. If this "
    "happens more often in one group than in another, it is a finding about the target, and the other rates "
    "cover only the images that remain. Each kind is therefore counted here over all images that were sent, "
    "with a 95 % interval by subject.",
    "Answers that name a reason (no face, unsafe content and the like) and refused calls (HTTP 4xx) are the "
    "target's doing. Errors are all other failures, also on the way to the target: whether a call is retried "
    "depends on the status alone and not on the image, and an image whose retries are used up is counted here.",
)


def kind_of(reason: str) -> str:
    """Which outcome a reason is: what the answer says by its name, "refused", or "error"; "" for an answer."""
    if not reason:
        return ""
    return category(reason) if declared(reason) or category(reason) == REFUSED else ERROR


def section(answers: Answers) -> Section | None:
    """The section of one target in one study; None where every image has an answer, or is answered in words."""
    if answers.asked is not None:
        return None
    kinds = np.array([kind_of(reason) for reason in answers.failures], dtype=object)
    named = [kind for kind in dict.fromkeys(sorted(kinds, key=lambda kind: (kind == ERROR, kind))) if kind]
    if not named:
        return None
    groups = _groups(answers)
    rates = {kind: [_rate(kinds == kind, answers.subjects, rows) for _, _, rows in groups] for kind in named}
    bounds = bounds_table(answers)
    conditions = [WORST, WITHIN if answers.design.levels else BETWEEN] if bounds else []
    return Section(
        key="unanswered",
        study=answers.study,
        target=answers.target,
        title="Images without an answer"
        if answers.asked
        else f"Images without an answer: {short_name(answers.target)}",
        text=[*_TEXT, *conditions],
        warnings=[],
        figures=[_figure(groups, rates)],
        tables=[_table(kind, groups, rates[kind]) for kind in named]
        + [_reasons(answers), *([bounds] if bounds else [])],
        sources=[SOURCES[WILSON], SOURCES[WILSON_CLUSTERED], *(BOUNDS if bounds else ())],
    )


_Group = tuple[str, str, Bool[np.ndarray, " n"]]
"""Attribute ("" for all), the group's name, and its images."""
_Numbers = tuple[float, float, float, int, int]


def _groups(answers: Answers) -> list[_Group]:
    groups: list[_Group] = [("", "all images", np.ones(len(answers.failures), dtype=np.bool_))]
    for name in answers.values:
        members = condition(answers, name)
        groups += [(name, group, np.asarray(members.codes == code)) for code, group in enumerate(members.groups)]
    return groups


def _rate(hit: Bool[np.ndarray, " n"], subjects: Int[np.ndarray, " n"], rows: Bool[np.ndarray, " n"]) -> _Numbers:
    """Share, interval, and the images that have it, of all in the group."""
    _, people = np.unique(subjects[rows], return_inverse=True)
    counts, hits = np.bincount(people), np.bincount(people, weights=hit[rows])
    if not len(counts):
        return float("nan"), float("nan"), float("nan"), 0, 0
    low, high = wilson_clustered(hits[:, None], counts[:, None].astype(np.float64))
    return float(hits.sum() / counts.sum()), float(low[0]), float(high[0]), int(hits.sum()), int(counts.sum())


def _label(group: _Group) -> str:
    return f"{words(group[0])}: {group[1]}" if group[0] else group[1]


def _table(kind: str, groups: list[_Group], rates: list[_Numbers]) -> Table:
    heads = [("group", "text"), ("rate", "proportion"), ("low", "proportion"), ("high", "proportion")]
    heads += [("images that had it", "count"), ("images sent", "count")]
    return table(f"Outcome: {kind}", heads, [[_label(g), *r] for g, r in zip(groups, rates, strict=True)])


def _reasons(answers: Answers) -> Table:
    reasons = [reason for reason in answers.failures if reason]
    counts = {reason: reasons.count(reason) for reason in sorted(set(reasons))}
    rows = [[reason, kind_of(reason), n] for reason, n in sorted(counts.items(), key=lambda pair: -pair[1])]
    return table("Reasons, verbatim", [("reason", "text"), ("outcome", "text"), ("images", "count")], rows)


def _figure(groups: list[_Group], rates: dict[str, list[_Numbers]]) -> Figure:
    """A panel per outcome, a dot per group."""
    panels = []
    for kind, numbers in rates.items():
        pairs = zip(groups, numbers, strict=True)
        points = [point(r, low=low, high=high, label=_label(g), n=n) for g, (r, low, high, _, n) in pairs]
        series = [Series(name="share of images", points=points)]
        panels.append(Panel(heading=kind, y_words="share of images", unit="proportion", series=series))
    caption = "(share of the images sent, %, with 95 % intervals)"
    title = "How often is there no answer, and in which group?"
    return Figure(kind="rows", title=title, caption=caption, panels=panels)
