"""From a matching to what its page shows: pictures, refused pairs, overlap, combinations of the worst covariates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from transect.datasets.parquet import PictureColumn
from transect.designs.matching import propensity
from transect.effects.matched_pairs import Balance, Cell, joint
from transect.jobs.match.figures import MOST_PAIRS, MOST_REFUSED, Card, Content, Joint
from transect.jobs.match.methods import sides
from transect.jobs.match.run import MatchResult
from transect.jobs.match.sample import Prepared
from transect.jobs.match.text import groups_of, named

_JOINT = 3
_WIDEST_OVERLAP = 1024


def content_of(result: MatchResult) -> Content:
    """The page's content. Raises BadInput for a cell of `options.pictures` that is not a picture."""
    request, column = result.request, result.request.options.pictures
    shown = None if column is None else PictureColumn(request.table, column, request.root)
    return Content(
        numbers=result.numbers,
        balance=result.matched.balance,
        groups=groups_of(result.numbers),
        pairs=_pairs(result, shown),
        refused=_refused(result, shown),
        overlap=_overlap(result),
        joints=_joints(result, [named(result.numbers.treatment, group) for group in result.numbers.groups]),
        gate=result.request.options.gate,
        references=_references(result),
    )


def _pairs(result: MatchResult, shown: PictureColumn | None) -> list[Card]:
    """Pairs by distance; of more than 60, that many in equal steps from the nearest to the farthest."""
    if "a" not in result.table.column_names:
        return []
    order = np.argsort(result.table["distance"].to_numpy(), kind="stable")
    steps = np.linspace(0, len(order) - 1, min(MOST_PAIRS, len(order))).round().astype(np.int64)
    rows = result.table.take(order[steps]).to_pylist()
    return [Card(r["a"], r["b"], r["distance"], "", _picture(shown, r["a"]), _picture(shown, r["b"])) for r in rows]


def _references(result: MatchResult) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Distances of both groups from their reference images (Fig. C2)."""
    if "a_difficulty" not in result.table.column_names:
        return {}
    treated, control = (result.table[name].to_numpy() for name in ("a_difficulty", "b_difficulty"))
    return {"Matched images": (treated, control)}


def _refused(result: MatchResult, shown: PictureColumn | None) -> list[Card]:
    """Of each reason in turn the nearest refused pair; images without any control come last."""
    matching = result.matched.pairs or result.matched.sets
    if matching is None:
        return []
    near, refused = matching.near, matching.refused
    order = sorted(refused, key=lambda row: (near.get(row, (None, np.inf))[1], row))
    turns = _turns([refused[row] for row in order])
    chosen = sorted(sorted(range(len(order)), key=turns.__getitem__)[:MOST_REFUSED])
    cards = []
    for row in (order[place] for place in chosen):
        other, distance = near.get(row, (None, np.nan))
        picture = None if other is None else _picture(shown, other)
        cards.append(Card(row, other, distance, refused[row], _picture(shown, row), picture))
    return cards


def _turns(reasons: Sequence[str]) -> list[int]:
    """How many of the same reason stand before each.

    >>> _turns(["caliper", "taken", "caliper"])
    [0, 0, 1]
    """
    seen: Counter[str] = Counter()
    turns = []
    for reason in reasons:
        turns.append(seen[reason])
        seen[reason] += 1
    return turns


def _overlap(result: MatchResult) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Log odds of both groups before and after; estimated here where the method did not, for narrow features."""
    sample = result.prepared.sample
    if result.matched.pairs is None or sample.dose_gap or not result.request.blocks:
        return {}
    log_odds = result.matched.log_odds
    if log_odds is None:
        if sample.features.shape[1] > _WIDEST_OVERLAP:
            return {}
        log_odds = propensity.scores(sample).log_odds
    return {
        "before": (log_odds[sample.rows], log_odds[sample.columns]),
        "after": (log_odds[np.unique(result.matched.pairs.a)], log_odds[np.unique(result.matched.pairs.b)]),
    }


def _joints(result: MatchResult, names: Sequence[str]) -> list[Joint]:
    """The joint distributions of each two groups that were matched; of more than two the base with each other one."""
    prepared = result.prepared
    if result.matched.pairs is not None:
        control, treated = names
        pairs = result.matched.pairs.a, result.matched.pairs.b
        cells = _joint(prepared, result.matched.balance, sides(prepared.sample), pairs)
        return [Joint(treated, control, *cells)] if cells else []
    if result.matched.sets is None or prepared.labels is None:
        return []
    labels, each = np.array(prepared.labels), len(prepared.covariates)
    rows = [np.flatnonzero(labels == group) for group in result.matched.sets.groups]
    joints = []
    for place, name in enumerate(names[1:], start=1):
        pairs = result.matched.sets.rows[:, 0], result.matched.sets.rows[:, place]
        balance = result.matched.balance[(place - 1) * each : place * each]
        cells = _joint(prepared, balance, (rows[0], rows[place]), pairs)
        joints += [Joint(names[0], name, *cells)] if cells else []
    return joints


_Rows = tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]]


def _joint(
    prepared: Prepared, measured: Sequence[Balance], before: _Rows, after: _Rows
) -> tuple[list[Cell], list[Cell]] | None:
    """The cells before and after of the binary covariates that differed most before; None where fewer than two are."""

    def binary(balance: Balance) -> bool:
        before = balance.before
        return bool(np.isfinite(before.treated_interval[0])) and 0 < before.treated + before.control < 2

    named = [pair for pair in zip(prepared.covariates, measured, strict=True) if binary(pair[1])]
    ranked = sorted(named, key=lambda pair: -abs(np.nan_to_num(pair[1].before.smd)))[:_JOINT]
    if len(ranked) < 2:
        return None
    columns = {name: prepared.covariates[name] for name, _ in ranked}
    return joint(columns, *before), joint(columns, *after, paired=True)


def _picture(shown: PictureColumn | None, row: int) -> bytes | None:
    return None if shown is None else shown.of(row)
