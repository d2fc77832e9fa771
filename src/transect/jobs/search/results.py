"""From a search's calls to its numbers: regions, maps over pairs of attributes, the overall rate."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
from jaxtyping import Float, Int

from transect.designs.search import (
    APART,
    Harvest,
    History,
    Interrogation,
    Random,
    Sobol,
    Thompson,
    apart,
    eager,
)
from transect.designs.search.confirmation import CONFIDENCE, ConfirmedSearch
from transect.designs.search.interrogation import FIRST
from transect.designs.search.rules import FEWEST_FAILURES, Rule, find_rules
from transect.designs.search.space import Space
from transect.designs.search.testing import Phases
from transect.effects.combinations import METHOD, weighted_sum
from transect.effects.intervals import wilson
from transect.jobs.search.numbers import (
    AttributeMap,
    Estimate,
    Region,
    RuleBox,
    SearchedAttribute,
    SearchNumbers,
)
from transect.jobs.search.wording import verb_of
from transect.reports.records import Section
from transect.runs.wording import counted

if TYPE_CHECKING:
    from transect.jobs.search.request import Search

MAPS: Final = 6
"""Pairs of attributes that are drawn: those of the regions first, then those that separate failures best."""
CELLS: Final = 6
"""Rows and columns of a map, of equal shares of the searched space."""
NO_FRESH: Final = "no fresh image inside it was answered"
NO_CALLS: Final = "no call that was drawn for the overall rate was answered"
NO_REGION: Final = "no rule separates failures on both halves of the calls: nothing was confirmed"
TOO_FEW: Final = "too few failures to find a region ({failures} in {calls}); search further with a larger --budget"
OTHER_GOAL: Final = "the goal {goal} confirms no regions: search with --goal regions"


def summary(
    search: Search, history: History, paid: tuple[int, float], sections: Sequence[Section] = ()
) -> SearchNumbers:
    """The numbers of a search, without its error tables. paid: calls and money of all programs that took part."""
    regions = _regions(search, history)
    return SearchNumbers(
        target=search.target.name,
        goal=search.goal,
        outcome=search.outcome,
        strategy=search.strategy.name,
        calls=len(history),
        paid_calls=paid[0],
        cost=paid[1],
        distinct_failures=len(apart(history.found, APART)),
        failures=int(history.failed.sum()),
        failed=int(np.isnan(history.failures).sum()),
        regions=tuple(region for region, _ in regions),
        regions_reason=_no_regions(search, history, regions),
        estimate=_estimate(search, history),
        space=searched(search.space),
        curve=_curve(history),
        maps=_maps(search.space, history, [rule for _, rule in regions]),
        sections=tuple(sections),
    )


def best_rule(space: Space, history: History) -> str:
    """The rule that separates failures best in the calls until now, in words; "" where none does.

    For a progress line: it is chosen on the calls that it is counted on.
    """
    rules = find_rules(history, space.thresholds)
    if not rules:
        return ""
    inside = rules[0].holds(history.points) & np.isfinite(history.failures)
    return f"{space.words(rules[0])} ({int(history.failed[inside].sum())} of {int(inside.sum())})"


def _no_regions(search: Search, history: History, regions: Sequence[object]) -> str:
    if regions:
        return ""
    if not isinstance(search.strategy, ConfirmedSearch):
        return OTHER_GOAL.format(goal=search.goal)
    searching = slice(search.strategy.searching)  # rules come from these calls alone
    failures = int(history.failed[searching].sum())
    answered = int(np.isfinite(history.failures[searching]).sum())
    few = failures < FEWEST_FAILURES
    return TOO_FEW.format(failures=failures, calls=counted(answered, "call")) if few else NO_REGION


def _regions(search: Search, history: History) -> list[tuple[Region, Rule]]:
    """Regions in the order in which the search found their rules: fresh images decide nothing, so rates do not lean."""
    strategy = search.strategy
    if not isinstance(strategy, ConfirmedSearch):
        return []
    regions = []
    for rule, rows in strategy.confirmed(history):
        failures = float(history.failed[rows].sum())
        rate, low, high = weighted_sum([1.0], [failures], [len(rows)], CONFIDENCE)
        reason = "" if np.isfinite(rate) else NO_FRESH
        regions.append(
            (
                Region(
                    search.space.words(rule), rate, low, high, reason, len(rows), rule.volume, search.space.said(rule)
                ),
                rule,
            )
        )
    return regions


def _estimate(search: Search, history: History) -> Estimate:
    """The overall rate, from calls that were drawn for it: by stratum, or the exploration's first calls."""
    strategy = search.strategy
    if isinstance(strategy, Phases):
        strata = strategy.strata(history)
        parts = [(part.weight, float(history.failed[part.rows].sum()), len(part.rows)) for part in strata]
    else:
        rows = surely_explored(search, history)
        rows = rows[np.isfinite(history.failures[rows])]
        parts = [(1.0, float(history.failed[rows].sum()), len(rows))]
    weights, failures, sizes = np.array(parts).T
    rate, low, high = weighted_sum(weights, failures, sizes)
    return Estimate(rate, low, high, "" if np.isfinite(rate) else NO_CALLS, int(sizes.sum()), METHOD)


def surely_explored(search: Search, history: History) -> Int[np.ndarray, " m"]:
    """The explored calls that do not depend on the answers; how many more there are does."""
    strategy = search.strategy
    calls, most = search.budget, eager(0).most
    if isinstance(strategy, ConfirmedSearch):
        calls, most = strategy.searching, strategy.search.most
    elif isinstance(strategy, Phases):
        calls, most = strategy.first, strategy.search.most
    elif isinstance(strategy, Thompson):
        most = strategy.most
    elif isinstance(strategy, Harvest):
        calls, most = strategy.exploring(calls), 0.0
    elif isinstance(strategy, Interrogation):
        calls, most = FIRST, 0.0
    elif isinstance(strategy, Random | Sobol):
        most = strategy.most
    return np.asarray(np.flatnonzero(history.explored)[: int((1 - most) * calls)])


def searched(space: Space) -> tuple[SearchedAttribute, ...]:
    """The searched attributes and their ranges."""
    return tuple(
        SearchedAttribute(attribute.name, attribute.unit, float(row[0]), float(row[-1]))
        for attribute, row in zip(space.attributes, space.ranked, strict=True)
    )


def _curve(history: History) -> tuple[int, ...]:
    """Failures apart after each call."""
    counted = np.zeros(len(history), dtype=int)
    counted[np.flatnonzero(history.failed)[apart(history.found, APART)]] = 1
    return tuple(counted.cumsum().tolist())


def _maps(space: Space, history: History, rules: Sequence[Rule]) -> tuple[AttributeMap, ...]:
    answered = np.isfinite(history.failures)
    points, failed = history.points[answered], history.failed[answered]
    return tuple(_map(space, points, failed, x, y, rules) for x, y in _pairs(points, failed, rules))


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
    shares = [np.searchsorted(np.sort(sample), grid, side="right") / len(sample) for sample in (values[failed], values)]
    return float(np.abs(shares[0] - shares[1]).max())


def _map(
    space: Space, points: Float[np.ndarray, "n d"], failed: np.ndarray, x: int, y: int, rules: Sequence[Rule]
) -> AttributeMap:
    """Calls and failures by cell of two attributes, and the rules' edges as shares."""
    cell = np.minimum((points[:, [x, y]] * CELLS).astype(int), CELLS - 1)
    calls, failures = np.zeros((CELLS, CELLS), dtype=int), np.zeros((CELLS, CELLS), dtype=int)
    np.add.at(calls, (cell[:, 1], cell[:, 0]), 1)
    np.add.at(failures, (cell[:, 1], cell[:, 0]), failed.astype(int))
    low, high = wilson(failures.astype(float).ravel(), calls.astype(float).ravel())
    boxes = (
        RuleBox(number, (float(rule.low[x]), float(rule.high[x])), (float(rule.low[y]), float(rule.high[y])))
        for number, rule in enumerate(rules)
        if rule.conditions[[x, y]].any()
    )
    return AttributeMap(
        space.attributes[x].name,
        space.attributes[y].name,
        _edges(space, x),
        _edges(space, y),
        tuple(map(tuple, calls.tolist())),
        tuple(map(tuple, failures.tolist())),
        tuple(np.asarray(low).tolist()),
        tuple(np.asarray(high).tolist()),
        tuple(boxes),
    )


def _edges(space: Space, attribute: int) -> tuple[float, ...]:
    """The values at the edges of a map's cells."""
    ranks = np.linspace(0, 1, space.ranked.shape[1])
    return tuple(np.interp(np.linspace(0, 1, CELLS + 1), ranks, space.ranked[attribute]).tolist())


def lines(numbers: SearchNumbers) -> list[str]:
    """The result in words: calls and failures, a line per region, the overall rate, why a search has no region."""
    verb = verb_of(numbers.outcome)
    failures = f"{counted(numbers.failures, 'failure')}, {numbers.distinct_failures} of them far apart"
    overall = f"{counted(numbers.calls, 'call')}, {failures}"
    unanswered = f"; {counted(numbers.failed, 'call')} without a valid answer" if numbers.failed else ""
    regions = [
        f"{region.rule}: {verb} {percent(region)} of {counted(region.n, 'fresh image')}" for region in numbers.regions
    ]
    estimate = numbers.estimate
    basis = f"from the {estimate.n:,} of {counted(numbers.calls, 'call')} that were drawn for the rate"
    none = [f"no region: {numbers.regions_reason}"] if numbers.goal == "regions" and not regions else []
    return [overall + unanswered, *regions, f"overall: {verb} {percent(estimate)}, {basis}", *none]


def percent(estimate: Region | Estimate) -> str:
    """A rate with its interval, in per cent.

    >>> percent(Estimate(0.41, 0.34, 0.48, "", 100, ""))
    '41 % [34, 48]'
    """
    if not np.isfinite(estimate.rate):
        return "not estimable"
    rate, low, high = (100 * share for share in (estimate.rate, estimate.low, estimate.high))
    digits = 1 if high - low < 5 else 0
    return f"{rate:.{digits}f} % [{low:.{digits}f}, {high:.{digits}f}]"
