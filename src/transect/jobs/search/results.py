"""What a search found, as JSON has it and in words: regions, maps over pairs of attributes, the overall rate."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float, Int

from transect.designs.search import APART, History, Interrogation, Strategy, Thompson, apart, eager
from transect.designs.search.confirmation import CONFIDENCE, ConfirmedSearch
from transect.designs.search.interrogation import FIRST
from transect.designs.search.rules import Rule, find_rules
from transect.designs.search.space import Space
from transect.designs.search.testing import Phases
from transect.effects.combinations import METHOD, weighted_sum
from transect.effects.intervals import wilson
from transect.protocols import Target
from transect.report.records import Section
from transect.runs.plain_json import plain

MAPS: Final = 6
"""Pairs of attributes that are drawn: those of the regions first, then those that tell failures best."""
CELLS: Final = 6
"""Rows and columns of a map, of equal shares of the searched space."""
NO_FRESH: Final = "no fresh image inside it was answered"
NO_CALLS: Final = "no call that was drawn for it was answered"
NO_REGION: Final = "no rule told failures apart on one half of the calls and on the other: nothing was confirmed"
OTHER_GOAL: Final = "the goal {goal} confirms no regions: search with --goal regions"


@runtime_checkable
class Searched(Protocol):
    """A search, as far as its results hang on it."""

    @property
    def target(self) -> Target:
        """What was asked."""
        ...

    @property
    def space(self) -> Space:
        """What the unit cube stands for."""
        ...

    @property
    def strategy(self) -> Strategy:
        """How it was searched."""
        ...

    @property
    def goal(self) -> str:
        """What for."""
        ...

    @property
    def outcome(self) -> str:
        """What counts as a failure: miss or error."""
        ...

    @property
    def budget(self) -> int:
        """Calls in all."""
        ...


def summary(
    search: Searched, history: History, paid: tuple[int, float], sections: Sequence[Section] = ()
) -> dict[str, Any]:
    """What was found, as JSON has it.

    calls, paid_calls, cost: images asked about, and calls and money of all programs that took part; found: failures at
    least a tenth of the diagonal apart, failures: all, failed: calls without a valid answer; regions: rules with rate,
    interval (of `CONFIDENCE`, as calls stop when it is narrow) and n of fresh images alone, reason where there is no
    rate; regions_reason: why there are none; estimate: the overall rate; curve: failures apart by calls; maps;
    sections: of canaries and required gates.
    """
    regions = _regions(search, history)
    return {
        "target": search.target.name,
        "goal": search.goal,
        "outcome": search.outcome,
        "strategy": search.strategy.name,
        "calls": len(history),
        "paid_calls": paid[0],
        "cost": paid[1],
        "found": len(apart(history.found, APART)),
        "failures": int(history.failed.sum()),
        "failed": int(np.isnan(history.failures).sum()),
        "regions": [region for region, _ in regions],
        "regions_reason": _no_regions(search, regions),
        "estimate": _estimate(search, history),
        "space": _space(search.space),
        "curve": _curve(history),
        "maps": _maps(search.space, history, [rule for _, rule in regions]),
        "sections": plain(sections),
    }


def best_rule(space: Space, history: History) -> str:
    """The rule that tells failures best in what was asked until now, in words; "" where none does.

    For a progress line: it was looked for in the calls that it is counted on.
    """
    rules = find_rules(history, space.thresholds)
    if not rules:
        return ""
    inside = rules[0].holds(history.points) & np.isfinite(history.failures)
    return f"{space.words(rules[0])} ({int(history.failed[inside].sum())} of {int(inside.sum())})"


def _no_regions(search: Searched, regions: Sequence[Any]) -> str:
    if regions:
        return ""
    return NO_REGION if isinstance(search.strategy, ConfirmedSearch) else OTHER_GOAL.format(goal=search.goal)


def _regions(search: Searched, history: History) -> list[tuple[dict[str, Any], Rule]]:
    strategy = search.strategy
    if not isinstance(strategy, ConfirmedSearch):
        return []
    regions = []
    for rule, rows in strategy.confirmed(history):
        k = float(history.failed[rows].sum())
        rate = _numbers(*weighted_sum([1.0], [k], [len(rows)], CONFIDENCE), NO_FRESH)
        made = {"rule": search.space.words(rule), **rate, "n": len(rows), "share": rule.volume}
        regions.append((made, rule))
    return sorted(regions, key=lambda region: -(region[0]["low"] or 0.0))


def _estimate(search: Searched, history: History) -> dict[str, Any]:
    """The overall rate, from calls that were drawn for it: by stratum, or the exploration's first, however it went."""
    strategy = search.strategy
    if isinstance(strategy, Phases):
        strata = strategy.strata(history)
        parts = [(one.weight, float(history.failed[one.rows].sum()), len(one.rows)) for one in strata]
    else:
        rows = surely_explored(search, history)
        rows = rows[np.isfinite(history.failures[rows])]
        parts = [(1.0, float(history.failed[rows].sum()), len(rows))]
    weights, failures, sizes = np.array(parts).T
    rate = _numbers(*weighted_sum(weights, failures, sizes), NO_CALLS)
    return {**rate, "n": int(sizes.sum()), "method": METHOD}


def surely_explored(search: Searched, history: History) -> Int[np.ndarray, " m"]:
    """The explored calls that there would be whatever was found: how many more there are depends on the answers."""
    strategy = search.strategy
    calls, most = search.budget, eager(0).most
    if isinstance(strategy, ConfirmedSearch):
        calls, most = strategy.searching, strategy.search.most
    elif isinstance(strategy, Phases):
        calls, most = strategy.first, strategy.search.most
    elif isinstance(strategy, Thompson):
        most = strategy.most
    elif isinstance(strategy, Interrogation):
        calls, most = FIRST, 0.0
    return np.asarray(np.flatnonzero(history.explored)[: int((1 - most) * calls)])


def _numbers(rate: float, low: float, high: float, reason: str) -> dict[str, Any]:
    """NaN is null in JSON, with the reason."""
    values = {"rate": rate, "low": low, "high": high}
    known = bool(np.isfinite(rate))
    return {**{name: value if known else None for name, value in values.items()}, "reason": "" if known else reason}


def _space(space: Space) -> list[dict[str, Any]]:
    return [
        {"name": one.name, "unit": one.unit, "low": float(row[0]), "high": float(row[-1])}
        for one, row in zip(space.attributes, space.ranked, strict=True)
    ]


def _curve(history: History) -> list[int]:
    """Failures apart after each call."""
    counted = np.zeros(len(history), dtype=int)
    counted[np.flatnonzero(history.failed)[apart(history.found, APART)]] = 1
    return [int(n) for n in counted.cumsum()]


def _maps(space: Space, history: History, rules: Sequence[Rule]) -> list[dict[str, Any]]:
    answered = np.isfinite(history.failures)
    points, failed = history.points[answered], history.failed[answered]
    return [_map(space, points, failed, x, y, rules) for x, y in _pairs(points, failed, rules)]


def _pairs(points: Float[np.ndarray, "n d"], failed: np.ndarray, rules: Sequence[Rule]) -> list[tuple[int, int]]:
    """Pairs of attributes of one rule, then of attributes along which failures lie unevenly."""
    d = points.shape[1]
    by_rule = [pair for rule in rules for pair in itertools.combinations(np.flatnonzero(rule.conditions).tolist(), 2)]
    spread = [_unevenness(points[:, j], failed) for j in range(d)]
    order = sorted(range(d), key=lambda j: -spread[j])
    chosen = [j for rule in rules for j in np.flatnonzero(rule.conditions).tolist()]
    first = list(dict.fromkeys([*chosen, *order]))[:4]
    pairs = [*by_rule, *itertools.combinations(first, 2)]
    return list(dict.fromkeys((min(pair), max(pair)) for pair in pairs))[:MAPS]


def _unevenness(values: Float[np.ndarray, " n"], failed: np.ndarray) -> float:
    """Largest distance between the distributions of failures and of all calls along an attribute."""
    if not failed.any():
        return 0.0
    grid = np.sort(values)
    shares = [np.searchsorted(np.sort(one), grid, side="right") / len(one) for one in (values[failed], values)]
    return float(np.abs(shares[0] - shares[1]).max())


def _map(
    space: Space, points: Float[np.ndarray, "n d"], failed: np.ndarray, x: int, y: int, rules: Sequence[Rule]
) -> dict[str, Any]:
    """Calls and failures by cell of two attributes (rows: y from low to high), and the rules' edges as shares."""
    cell = np.minimum((points[:, [x, y]] * CELLS).astype(int), CELLS - 1)
    calls, failures = np.zeros((CELLS, CELLS), dtype=int), np.zeros((CELLS, CELLS), dtype=int)
    np.add.at(calls, (cell[:, 1], cell[:, 0]), 1)
    np.add.at(failures, (cell[:, 1], cell[:, 0]), failed.astype(int))
    edges = np.linspace(0, 1, CELLS + 1)
    ends = {
        axis: [float(value) for value in np.interp(edges, np.linspace(0, 1, space.ranked.shape[1]), space.ranked[j])]
        for axis, j in (("x_edges", x), ("y_edges", y))
    }
    low, high = wilson(failures.astype(float).ravel(), calls.astype(float).ravel())
    boxes = [
        {"rule": number, "x": [float(rule.low[x]), float(rule.high[x])], "y": [float(rule.low[y]), float(rule.high[y])]}
        for number, rule in enumerate(rules)
        if rule.conditions[[x, y]].any()
    ]
    return {
        "x": space.attributes[x].name,
        "y": space.attributes[y].name,
        **ends,
        "calls": calls.tolist(),
        "failures": failures.tolist(),
        "low": [None if np.isnan(value) else float(value) for value in low],
        "high": [None if np.isnan(value) else float(value) for value in high],
        "rules": boxes,
    }


def lines(found: Mapping[str, Any]) -> Sequence[str]:
    """What was found, in words.

    >>> lines({"calls": 400, "failures": 90, "found": 60, "failed": 0, "outcome": "miss",
    ...        "estimate": {"rate": 0.04, "low": 0.02, "high": 0.07, "n": 210},
    ...        "regions": [{"rule": "skin_tone > 7.5", "rate": 0.41, "low": 0.34, "high": 0.48, "n": 100}]})[1]
    'skin_tone > 7.5: misses 41 % [34, 48] of 100 fresh images'
    """
    verb = verb_of(found["outcome"])
    overall = f"{found['calls']} calls, {found['failures']} failures, {found['found']} of them far apart"
    said = [overall + (f"; {found['failed']} calls without a valid answer" if found["failed"] else "")]
    said += [f"{one['rule']}: {verb} {percent(one)} of {one['n']} fresh images" for one in found["regions"]]
    return [*said, f"overall: {verb} {percent(found['estimate'])}, from {found['estimate']['n']} calls"]


def verb_of(outcome: str) -> str:
    """What the target does in a failure.

    >>> verb_of("miss"), verb_of("error")
    ('misses', 'errs on')
    """
    return {"miss": "misses"}.get(outcome, "errs on")


def percent(numbers: Mapping[str, Any]) -> str:
    """A rate with its interval, in per cent.

    >>> percent({"rate": 0.41, "low": 0.34, "high": 0.48})
    '41 % [34, 48]'
    """
    if numbers["rate"] is None:
        return "not estimable"
    rate, low, high = (100 * numbers[name] for name in ("rate", "low", "high"))
    digits = 1 if high - low < 5 else 0
    return f"{rate:.{digits}f} % [{low:.{digits}f}, {high:.{digits}f}]"
