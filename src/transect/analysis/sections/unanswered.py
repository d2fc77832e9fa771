"""Images without an answer: kinds by group, reasons, and what the effects could be with the missing answers."""

from __future__ import annotations

from collections import Counter
from typing import Final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis.sections.answers import (
    Answers,
    Group,
    Share,
    bounds_cells,
    compared,
    condition,
    dots,
    drawn,
    image_groups,
    share,
    table,
    words,
)
from transect.analysis.sections.places import placed
from transect.effects.contrasts import known_mean, level_differences
from transect.effects.interrogation import SOURCES as BOUNDS
from transect.effects.interrogation import group_bounds, paired_bounds
from transect.effects.intervals import SOURCES, WILSON, WILSON_CLUSTERED
from transect.effects.outcomes import category
from transect.records import declared
from transect.reports.records import Figure, Section, Table
from transect.reports.wording import short_name

WORST: Final = (
    "Worst-case bounds set every missing answer to the one that makes the effect smallest, and largest (Manski 1990). "
    "They need no assumption about the missing answers. The interval covers the whole range between them."
)
WITHIN: Final = (
    "Effects from pairs that are answered at both levels apply only to images that the target answers at every level. "
    "Worst-case bounds cover all pairs that were sent."
)
BETWEEN: Final = (
    "Trimming bounds (Lee 2009) cover the images that would be answered in either group. They hold if the two groups "
    "are alike in everything but the attribute, and if the attribute moves answering one way only: no image that is "
    "answered in the group with fewer answers would stay unanswered in the other."
)


def bounds_table(answers: Answers) -> Table | None:
    """A row per contrast that misses an answer; None without one, and for outcomes other than yes or no."""
    if not answers.binary:
        return None
    name, values = compared(answers)
    experiment = bool(answers.design.levels)
    rows = [row for each in answers.values for row in (_paired if experiment else _grouped)(answers, each, values)]
    if not rows:
        return None
    heads = [("effect", "text"), ("answered, first", "proportion"), ("answered, second", "proportion")]
    heads += [("effect of answered, points", "points")]
    for kind in ("worst case",) if experiment else ("worst case", "trimming"):
        heads += [(f"{kind}: {end}", "points") for end in ("smallest", "largest", "interval low", "interval high")]
    return table(f"What the effects on the {name} could be with the missing answers", [*heads, ("note", "text")], rows)


def _sent(answers: Answers, values: Float[np.ndarray, " n"], name: str) -> Bool[np.ndarray, " n"]:
    """Images that were answered, or sent without an answer; not those that rules leave out or that have no truth."""
    failed = np.array([bool(reason) for reason in answers.failures], dtype=np.bool_)
    possible = answers.truth if answers.judged else answers.values[name]
    return np.asarray(np.isfinite(values) | (failed & np.isfinite(possible)))


def _paired(answers: Answers, name: str, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    levels, attribute = answers.design.levels.get(name, ()), answers.attributes[name]
    if not levels:
        return []
    grid, sent_grid = answers.by_level(values, name), answers.by_level(_sent(answers, values, name), name)
    rows: list[list[object]] = []
    for level in range(1, len(levels)) if attribute.discrete else [len(levels) - 1]:
        first, second = grid[:, 0], grid[:, level]
        sent = sent_grid[:, 0] & sent_grid[:, level]
        if np.isfinite(first[sent]).all() and np.isfinite(second[sent]).all():
            continue
        both = level_differences(np.where(sent, first, np.nan), np.where(sent, second, np.nan))
        shares = [float(np.isfinite(x[sent]).mean()) for x in (first, second)]
        text = f"{words(name)}: {attribute.label(levels[0])} to {attribute.label(levels[level])}"
        bounds = paired_bounds(first, second, sent, people=answers.who, seed=answers.design.seed)
        rows.append([text, *shares, known_mean(both), *bounds_cells(bounds), bounds.reason])
    return rows


def _grouped(answers: Answers, name: str, values: Float[np.ndarray, " n"]) -> list[list[object]]:
    groups, sent = condition(answers, name), _sent(answers, values, name)
    last = range(1, len(groups.groups)) if answers.known[name].discrete else [len(groups.groups) - 1]
    rows: list[list[object]] = []
    for code in (code for code in last if code > 0):
        used = sent & np.isin(groups.codes, (0, code))
        y, second = values[used], groups.codes[used] == code
        if np.isfinite(y).all() or not second.any() or second.all():
            continue
        worst, trimmed = group_bounds(y, second, answers.subjects[used].astype(np.int64))
        sides = [y[~second], y[second]]
        shares = [float(np.isfinite(side).mean()) for side in sides]
        means = [float(np.nanmean(side)) if np.isfinite(side).any() else np.nan for side in sides]
        text = f"{words(name)}: {groups.groups[0]} to {groups.groups[code]}"
        reason = worst.reason or trimmed.reason
        rows.append([text, *shares, means[1] - means[0], *bounds_cells(worst), *bounds_cells(trimmed), reason])
    return rows


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


@placed(30, "answers")
def section(answers: Answers) -> Section | None:
    """The section of one target in one study; None where every image has an answer, or is answered in words."""
    if answers.asked is not None:
        return None
    kinds = np.array([kind_of(reason) for reason in answers.failures], dtype=object)
    named = [kind for kind in dict.fromkeys(sorted(kinds, key=lambda kind: (kind == ERROR, kind))) if kind]
    if not named:
        return None
    groups = image_groups(answers)
    rates = {
        kind: [share((kinds == kind)[rows].astype(np.float64), answers.subjects[rows]) for _, rows in groups]
        for kind in named
    }
    bounds = bounds_table(answers)
    conditions = [WORST, WITHIN if answers.design.levels else BETWEEN] if bounds else []
    return Section(
        key="unanswered",
        study=answers.study,
        target=answers.target,
        title=f"Images without an answer: {short_name(answers.target)}",
        text=[*_TEXT, *conditions],
        figures=[_figure(groups, rates)],
        tables=[
            *(_table(kind, groups, rates[kind]) for kind in named),
            _reasons(answers),
            *([bounds] if bounds else []),
        ],
        sources=[SOURCES[WILSON], SOURCES[WILSON_CLUSTERED], *(BOUNDS if bounds else ())],
    )


def _table(kind: str, groups: list[Group], rates: list[Share]) -> Table:
    heads = [("group", "text"), ("rate", "proportion"), ("low", "proportion"), ("high", "proportion")]
    heads += [("images that had it", "count"), ("images sent", "count")]
    return table(f"Outcome: {kind}", heads, [[group.label, *r] for group, r in zip(groups, rates, strict=True)])


def _reasons(answers: Answers) -> Table:
    counts = sorted(Counter(filter(None, answers.failures)).items(), key=lambda pair: (-pair[1], pair[0]))
    rows = [[reason, kind_of(reason), n] for reason, n in counts]
    return table("Reasons, verbatim", [("reason", "text"), ("outcome", "text"), ("images", "count")], rows)


def _figure(groups: list[Group], rates: dict[str, list[Share]]) -> Figure:
    """A panel per outcome, a dot per group."""
    panels = {kind: {"share of images": dots(groups, shares)} for kind, shares in rates.items()}
    title = "How often is there no answer, and in which group?"
    caption = "(share of the images sent, %, with 95 % intervals)"
    return drawn("rows", title, caption, panels, "share of images", "proportion")
