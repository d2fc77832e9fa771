"""The error table of a search by condition, and mean faces of right and wrong answers (McDuff et al. 2019).

Conditions are thirds of the searched space along each attribute, or its levels. Each sampler has its own column, since
a search that follows up failures finds more of them than there are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
from jaxtyping import Float, UInt8

from transect.analysis.mean_faces import means
from transect.designs.search import History, Interrogation
from transect.designs.search.space import Space
from transect.effects import interrogation
from transect.effects.interrogation import Condition, crossed, crossing
from transect.effects.outcomes import FAILED
from transect.jobs.search.results import Searched, surely_explored
from transect.records import declared

EXPLORATION: Final = "Sobol points"
IN_TURN: Final = "conditions in turn"
AT_RANDOM: Final = "random"
GROUPS: Final = 3
"""Groups of a continuous attribute, of equal shares of the searched space."""
SHOWN: Final = 3
"""Attributes whose mean faces are shown: those whose groups' error rates differ most."""
_NO_FACE: Final = f"{FAILED}: no face"


def error_tables(search: Searched, history: History, reasons: Sequence[str], by: Sequence[str] = ()) -> dict[str, Any]:
    """The tables as JSON has them, one per sampler: of the exploration's first calls, and of all calls.

    reasons: why a call has no outcome, "" where it has one. by: searched attributes whose combinations are a condition
    too. The target's own word that it found no face is a miss
    where the attribute was asked for; without it an attribute's errors stand alone.

    samples: {sampler, calls, rows}, rows as `transect.effects.interrogation.ErrorRate`, null for NaN, the same places
    in the same order in every sample; shown: conditions with mean faces, the combinations or those that differ most.
    """
    conditions = conditions_of(search.space, history, by)
    missed, wrong = _misses_and_errors(search.outcome, history.failures, reasons)
    samples: list[dict[str, Any]] = []
    for sampler, rows in (
        (_exploration(search), surely_explored(search, history)),
        (search.strategy.name, np.arange(len(history))),
    ):
        own = {name: Condition(one.groups, one.codes[rows]) for name, one in conditions.items()}
        made = interrogation.error_rates(
            None if missed is None else missed[rows], None if wrong is None else wrong[rows], own
        )
        samples.append({"sampler": sampler, "calls": len(rows), "rows": [_plain(asdict(rate)) for rate in made]})
    shown = [crossing(by)] if by else _most_uneven(samples[0]["rows"])
    return {"samples": samples, "shown": shown, "source": interrogation.SOURCE}


def _exploration(search: Searched) -> str:
    """How the calls were drawn that there would be whatever was found."""
    if isinstance(search.strategy, Interrogation):
        return AT_RANDOM
    return IN_TURN if search.space.conditions_alone else EXPLORATION


def conditions_of(space: Space, history: History, by: Sequence[str] = ()) -> dict[str, Condition]:
    """Each call's group along each searched attribute: its level, or the third of the searched space it lies in.

    by: attributes whose combinations come last, as one condition.
    """
    values = space.values(history.points)
    made = {}
    for attribute, ranked in zip(space.attributes, space.ranked, strict=True):
        asked = values[attribute.name]
        if space.by_level(attribute):
            levels = np.unique(ranked)
            groups = tuple(str(attribute.label(float(level))) for level in levels)
            made[attribute.name] = Condition(groups, np.searchsorted(levels, asked).astype(np.int64))
            continue
        inner = np.quantile(ranked, np.arange(1, GROUPS) / GROUPS)
        inner = np.unique(inner[(inner > ranked[0]) & (inner < ranked[-1])])
        ends = [float(ranked[0]), *inner.tolist(), float(ranked[-1])]
        groups = tuple(f"{low:.3g} to {high:.3g}" for low, high in itertools.pairwise(ends))
        made[attribute.name] = Condition(groups, np.searchsorted(inner, asked, side="right").astype(np.int64))
    if len(by) > 1:
        made[crossing(by)] = crossed({name: made[name] for name in by})
    return made


def _misses_and_errors(
    outcome: str, failures: Float[np.ndarray, " n"], reasons: Sequence[str]
) -> tuple[Float[np.ndarray, " n"] | None, Float[np.ndarray, " n"] | None]:
    if outcome == "miss":
        return failures, None
    unseen = np.array([reason.startswith(_NO_FACE) and declared(reason) for reason in reasons], dtype=np.bool_)
    if not unseen.any():
        return None, failures
    return np.where(unseen, 1.0, np.where(np.isfinite(failures), 0.0, np.nan)), failures


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in row.items()}


def _most_uneven(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Attributes by the largest difference between two groups' rates, of the first measure."""
    spread: dict[str, list[float]] = {}
    for row in rows:
        if row["group"] and row["measure"] == rows[0]["measure"]:
            spread.setdefault(row["by"], []).extend([] if row["rate"] is None else [row["rate"]])
    return sorted(spread, key=lambda name: -float(np.ptp(spread[name] or [0.0])))[:SHOWN]


def mean_faces(
    search: Searched,
    history: History,
    names: Sequence[str],
    parts: int,
    pixels: Callable[[int], UInt8[np.ndarray, "m h w 3"]],
    by: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Mean pictures of right and of wrong answers: of all calls, then of each group of the named conditions.

    pixels: a part's pictures, in the order of the calls, one part in memory at a time. Calls without an outcome are in
    neither. Returns {by, group, right, wrong, right_picture, wrong_picture} (PNG, None where there is no call).
    """
    conditions = conditions_of(search.space, history, by)
    places: list[tuple[str, str, np.ndarray]] = [("", "", np.ones(len(history), dtype=np.bool_))]
    for name in names:
        one = conditions[name]
        places += [(name, group, one.codes == code) for code, group in enumerate(one.groups)]
    chosen = np.array([rows & (history.failures == answer) for _, _, rows in places for answer in (0.0, 1.0)])
    counts = chosen.sum(axis=1).astype(np.int64)
    every = (one for part in range(parts) for one in pixels(part))
    pictures = means(chosen, enumerate(every))
    return [
        {
            "by": by,
            "group": group,
            "right": int(counts[2 * i]),
            "wrong": int(counts[2 * i + 1]),
            "right_picture": pictures[2 * i],
            "wrong_picture": pictures[2 * i + 1],
        }
        for i, (by, group, _) in enumerate(places)
    ]
