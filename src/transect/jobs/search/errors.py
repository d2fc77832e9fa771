"""The error table of a search by condition, and mean faces of right and wrong answers (McDuff et al. 2019).

Conditions are thirds of the searched space along each attribute, or its levels. Each sampler has its own column, since
a search that follows up failures overstates their rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Literal

import numpy as np
from jaxtyping import Float, UInt8

from transect.analysis.mean_faces import means
from transect.designs.search import History, Interrogation, Random, Thompson
from transect.designs.search.space import Space
from transect.effects import interrogation
from transect.effects.interrogation import Condition, ErrorRate, crossed, crossing
from transect.effects.outcomes import FAILED
from transect.jobs.search.numbers import AnswerFaces, ErrorTables, SamplerErrors
from transect.jobs.search.results import surely_explored
from transect.jobs.search.wording import ERRORS
from transect.records import Attribute, declared

if TYPE_CHECKING:
    from transect.jobs.search.request import Search

EXPLORATION: Final = "Sobol points"
IN_TURN: Final = "conditions in turn"
AT_RANDOM: Final = "random"
GROUPS: Final = 3
"""Groups of a continuous attribute, of equal shares of the searched space."""
SHOWN: Final = 3
"""Attributes whose mean faces are shown: those whose groups' error rates differ most."""
_NO_FACE: Final = f"{FAILED}: no face"


def error_tables(search: Search, history: History, reasons: Sequence[str], by: Sequence[str] = ()) -> ErrorTables:
    """One table per sampler: of the exploration's first calls, and of all calls.

    reasons: why a call has no outcome, "" where it has one. by: searched attributes whose combinations are a condition
    too. Where the target reports that it found no face, that is a miss of the attribute's table; without such answers
    the attribute's errors stand alone. Every table has the same rows in the same order.
    """
    conditions = conditions_of(search.space, history, by)
    missed, wrong = _misses_and_errors(search.outcome, history.failures, reasons)
    samples, whole = [], np.arange(len(history))
    sampled = {_exploration(search): surely_explored(search, history)}
    if len(whole) > len(sampled[_exploration(search)]):
        sampled[search.strategy.name] = whole
    for sampler, rows in sampled.items():
        groups = {name: Condition(condition.groups, condition.codes[rows]) for name, condition in conditions.items()}
        rates = interrogation.error_rates(
            None if missed is None else missed[rows], None if wrong is None else wrong[rows], groups
        )
        named = rates if search.outcome in ERRORS else [replace(rate, measure=search.outcome) for rate in rates]
        samples.append(SamplerErrors(sampler, len(rows), tuple(named)))
    shown = [crossing(by)] if by else _most_uneven(samples[0].rows)
    return ErrorTables(tuple(samples), tuple(shown), interrogation.SOURCE)


def _exploration(search: Search) -> str:
    """How the calls were drawn that do not depend on the answers."""
    strategy = getattr(search.strategy, "search", search.strategy)
    if isinstance(strategy, Interrogation | Random):
        return AT_RANDOM
    return IN_TURN if isinstance(strategy, Thompson) else EXPLORATION


def conditions_of(space: Space, history: History, by: Sequence[str] = ()) -> dict[str, Condition]:
    """Each call's group along each searched attribute: its level, or the third of the searched space it lies in.

    by: attributes whose combinations come last, as one condition.
    """
    values = space.values(history.points)
    conditions = {}
    for attribute, ranked in zip(space.attributes, space.ranked, strict=True):
        of_levels = space.by_level(attribute)
        group = _levels(attribute, ranked) if of_levels else _thirds(ranked)
        side: Literal["left", "right"] = "left" if of_levels else "right"
        codes = np.searchsorted(group[1], values[attribute.name], side=side).astype(np.int64)
        conditions[attribute.name] = Condition(group[0], codes)
    if len(by) > 1:
        conditions[crossing(by)] = crossed({name: conditions[name] for name in by})
    return conditions


def _levels(attribute: Attribute, ranked: Float[np.ndarray, " q"]) -> tuple[tuple[str, ...], Float[np.ndarray, " m"]]:
    """Names of the levels, and the levels."""
    levels = np.unique(ranked)
    return tuple(str(attribute.label(float(level))) for level in levels), levels


def _thirds(ranked: Float[np.ndarray, " q"]) -> tuple[tuple[str, ...], Float[np.ndarray, " m"]]:
    """Names of the thirds, and the values between them."""
    inner = np.quantile(ranked, np.arange(1, GROUPS) / GROUPS)
    inner = np.unique(inner[(inner > ranked[0]) & (inner < ranked[-1])])
    ends = [float(ranked[0]), *inner.tolist(), float(ranked[-1])]
    return tuple(f"{low:.3g} to {high:.3g}" for low, high in itertools.pairwise(ends)), inner


def _misses_and_errors(
    outcome: str, failures: Float[np.ndarray, " n"], reasons: Sequence[str]
) -> tuple[Float[np.ndarray, " n"] | None, Float[np.ndarray, " n"] | None]:
    if outcome == "miss":
        return failures, None
    unseen = np.array([reason.startswith(_NO_FACE) and declared(reason) for reason in reasons], dtype=np.bool_)
    if not unseen.any():
        return None, failures
    return np.where(unseen, 1.0, np.where(np.isfinite(failures), 0.0, np.nan)), failures


def _most_uneven(rows: Sequence[ErrorRate]) -> list[str]:
    """Attributes by the largest difference between two groups' rates, of the first measure."""
    spread: dict[str, list[float]] = {}
    for row in rows:
        if row.group and row.measure == rows[0].measure:
            spread.setdefault(row.by, []).extend([row.rate] if np.isfinite(row.rate) else [])
    return sorted(spread, key=lambda name: -float(np.ptp(spread[name] or [0.0])))[:SHOWN]


def mean_faces(
    search: Search,
    history: History,
    names: Sequence[str],
    parts: int,
    pixels: Callable[[int], UInt8[np.ndarray, "m h w 3"]],
    by: Sequence[str] = (),
) -> list[AnswerFaces]:
    """Mean pictures of right and of wrong answers: of all calls, then of each group of the named conditions.

    pixels: a part's pictures, in the order of the calls, one part in memory at a time. Calls without an outcome are in
    neither.
    """
    conditions = conditions_of(search.space, history, by)
    places: list[tuple[str, str, np.ndarray]] = [("", "", np.ones(len(history), dtype=np.bool_))]
    for name in names:
        condition = conditions[name]
        places += [(name, group, condition.codes == code) for code, group in enumerate(condition.groups)]
    chosen = np.array([rows & (history.failures == answer) for _, _, rows in places for answer in (0.0, 1.0)])
    counts = chosen.sum(axis=1).tolist()
    pictures = means(chosen, enumerate(picture for part in range(parts) for picture in pixels(part)))
    return [
        AnswerFaces(name, group, counts[2 * i], counts[2 * i + 1], pictures[2 * i], pictures[2 * i + 1])
        for i, (name, group, _) in enumerate(places)
    ]
