"""From the calls of a search to its numbers: regions, the overall rate, maps, errors by condition and mean faces.

Error tables and mean faces are those of McDuff et al. 2019. Conditions are thirds of the searched space along each
attribute, or its levels. Each sampler has its own column: a search that follows up failures overstates their rate.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8

from transect.analysis.findings import means
from transect.analysis.sections import canary_drift
from transect.analysis.sections.exclusion_comparison import gate_section
from transect.designs.search import APART, Harvest, History, Interrogation, Random, Sobol, Thompson, apart, eager
from transect.designs.search.interrogation import FIRST
from transect.designs.search.phases import CONFIDENCE, ConfirmedSearch, Phases
from transect.designs.search.rules import FEWEST_FAILURES, Rule
from transect.designs.search.space import Space
from transect.effects import interrogation
from transect.effects.interrogation import Condition, ErrorRate, crossed, crossing
from transect.effects.intervals import METHOD, weighted_sum, wilson
from transect.effects.outcomes import FAILED
from transect.experiment.search_calls import paid
from transect.experiment.search_plan import SearchPlan
from transect.ratings.gates import entries_of
from transect.records import Attribute, declared
from transect.reports.album import reduced
from transect.reports.records import Section
from transect.runs import tables as columns
from transect.runs.capabilities import generator_entry
from transect.runs.folder import RunFolder
from transect.runs.json_records import hidden
from transect.runs.pictures import saved
from transect.runs.result import HiddenTable
from transect.runs.wording import counted

ERRORS: Final = ("miss", "false_alarm", "error")
"""Outcomes that are wrong answers."""


@final
@dataclass(frozen=True, slots=True)
class Region:
    """A rule that was confirmed: its rate on the n fresh images inside it, and its share of the searched space.

    rate, low and high are NaN with a `reason` where no fresh image was answered. words: the rule for a reader, with
    rounded values.
    """

    rule: str
    rate: float
    low: float
    high: float
    reason: str
    n: int
    share: float
    words: str = ""


@final
@dataclass(frozen=True, slots=True)
class OverallRate:
    """The failure rate over the whole searched space, from the n calls drawn for it; NaN with a `reason` for none."""

    rate: float
    low: float
    high: float
    reason: str
    n: int
    method: str


@final
@dataclass(frozen=True, slots=True)
class SearchedAttribute:
    """An attribute of the searched space and its range."""

    name: str
    unit: str
    low: float
    high: float


@final
@dataclass(frozen=True, slots=True)
class RuleBox:
    """Where a region lies on a map, as shares of width and height; rule: its place in `regions`."""

    rule: int
    x: tuple[float, float]
    y: tuple[float, float]


@final
@dataclass(frozen=True, slots=True)
class AttributeMap:
    """Calls and failures by cell of two attributes, y upwards; low, high: Wilson intervals of the cells."""

    x: str
    y: str
    x_edges: tuple[float, ...]
    y_edges: tuple[float, ...]
    calls: tuple[tuple[int, ...], ...]
    failures: tuple[tuple[int, ...], ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    rules: tuple[RuleBox, ...]


@final
@dataclass(frozen=True, slots=True)
class SamplerErrors:
    """The error rates of the calls of one sampler."""

    sampler: str
    calls: int
    rows: tuple[ErrorRate, ...]


@final
@dataclass(frozen=True, slots=True)
class ErrorTables:
    """Error rates by condition, one table per sampler; shown: the conditions with mean faces; source: of the table."""

    samples: tuple[SamplerErrors, ...]
    shown: tuple[str, ...]
    source: str


@final
@dataclass(frozen=True, slots=True)
class FailurePicture:
    """A picture (PNG) that the target failed on, the number of its call from 1, and its searched attributes as text.

    place: in an order in which each picture is as far as possible from those before it in the searched space.
    """

    call: int
    values: tuple[tuple[str, str], ...]
    png: bytes
    place: int = 0


@final
@dataclass(frozen=True, slots=True)
class AnswerFaces:
    """Mean pictures (PNG) of right and of wrong answers in a group of the condition `by`; None where there is none."""

    by: str
    group: str
    right: int
    wrong: int
    right_picture: bytes | None
    wrong_picture: bytes | None


@final
@dataclass(frozen=True, slots=True)
class SearchNumbers:
    """Every number of a search.

    calls: images that the target was called on; paid_calls, cost: calls and money of all programs that took part;
    distinct_failures: failures at least a tenth of the diagonal apart; failures: all; failed: calls
    without a valid answer. regions: with rates on new images alone; regions_reason: why there are none. curve:
    failures apart after each call. sections: of calls, canaries and required gates. answers: a row for each call, in
    order: its place along each searched attribute, whether it was explored (drawn whatever the answers), failure (1 or
    0, NaN for a call without an outcome) and the reason why there is none.
    """

    target: str
    goal: str
    outcome: str
    strategy: str
    calls: int
    paid_calls: int
    cost: float
    distinct_failures: int
    failures: int
    failed: int
    regions: tuple[Region, ...]
    regions_reason: str
    estimate: OverallRate
    space: tuple[SearchedAttribute, ...]
    curve: tuple[int, ...]
    maps: tuple[AttributeMap, ...]
    sections: tuple[Section, ...]
    errors: ErrorTables | None = None
    faces: tuple[AnswerFaces, ...] = hidden(())
    pictures: tuple[FailurePicture, ...] = hidden(())
    answers: HiddenTable | None = hidden(None)


MAPS: Final = 6
"""Pairs of attributes that are drawn: those of the regions first, then those that separate failures best."""
CELLS: Final = 6
"""Rows and columns of a map, of equal shares of the searched space."""
NO_FRESH: Final = "the target answered no fresh image inside it"
NO_CALLS: Final = "the target answered no call drawn for the overall rate"
NO_REGION: Final = "no rule separates failures on both halves of the calls"
TOO_FEW: Final = "too few failures to find a region ({failures} in {calls}); search further with a larger --budget"
OTHER_GOAL: Final = "the goal {goal} confirms no regions: search with --goal regions"


def summary(
    search: SearchPlan, history: History, paid: tuple[int, float], sections: Sequence[Section] = ()
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


def _no_regions(search: SearchPlan, history: History, regions: Sequence[object]) -> str:
    if regions:
        return ""
    if not isinstance(search.strategy, ConfirmedSearch):
        return OTHER_GOAL.format(goal=search.goal)
    searching = slice(search.strategy.searching)  # rules come from these calls alone
    failures = int(history.failed[searching].sum())
    answered = int(np.isfinite(history.failures[searching]).sum())
    few = failures < FEWEST_FAILURES
    return TOO_FEW.format(failures=failures, calls=counted(answered, "call")) if few else NO_REGION


def _regions(search: SearchPlan, history: History) -> list[tuple[Region, Rule]]:
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


def _estimate(search: SearchPlan, history: History) -> OverallRate:
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
    return OverallRate(rate, low, high, "" if np.isfinite(rate) else NO_CALLS, int(sizes.sum()), METHOD)


def surely_explored(search: SearchPlan, history: History) -> Int[np.ndarray, " m"]:
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


EXPLORATION: Final = "Sobol points"
IN_TURN: Final = "conditions in turn"
AT_RANDOM: Final = "random"
GROUPS: Final = 3
"""Groups of a continuous attribute, of equal shares of the searched space."""
SHOWN: Final = 3
"""Attributes whose mean faces are shown: those whose groups' error rates differ most."""
_NO_FACE: Final = f"{FAILED}: no face"


def error_tables(search: SearchPlan, history: History, reasons: Sequence[str], by: Sequence[str] = ()) -> ErrorTables:
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


def _exploration(search: SearchPlan) -> str:
    """How the calls were drawn that do not depend on the answers."""
    strategy = getattr(search.strategy, "search", search.strategy)
    if isinstance(strategy, Interrogation | Random):
        return AT_RANDOM
    return IN_TURN if isinstance(strategy, Thompson) else EXPLORATION


def conditions_of(space: Space, history: History, by: Sequence[str] = ()) -> dict[str, Condition]:
    """Each call's level, or third of the searched space, along each attribute; combinations of `by` come last."""
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
    levels = np.unique(ranked)
    return tuple(str(attribute.label(float(level))) for level in levels), levels


def _thirds(ranked: Float[np.ndarray, " q"]) -> tuple[tuple[str, ...], Float[np.ndarray, " m"]]:
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
            spread.setdefault(row.by, []).extend([row.estimate] if np.isfinite(row.estimate) else [])
    return sorted(spread, key=lambda name: -float(np.ptp(spread[name] or [0.0])))[:SHOWN]


def mean_faces(
    search: SearchPlan,
    history: History,
    names: Sequence[str],
    parts: int,
    pixels: Callable[[int], UInt8[np.ndarray, "m h w 3"]],
    by: Sequence[str] = (),
) -> list[AnswerFaces]:
    """Mean pictures of right and of wrong answers: of all calls, then of each group. pixels: of one part, in order."""
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


SHOWN_FAILURES: Final = 24
"""Failures of one search that its page shows."""


def failure_pictures(
    space: Space, history: History, parts: int, pixels: Callable[[int], UInt8[np.ndarray, "m h w 3"]]
) -> list[FailurePicture]:
    """Up to 24 failures in the order of the calls: those far apart, then others. pixels: of a part, in order."""
    rows = np.flatnonzero(history.failed)
    first = rows[apart(history.found)]
    chosen = np.sort(np.concatenate([first, np.setdiff1d(rows, first)])[:SHOWN_FAILURES])
    places = dict(zip(chosen[farthest(history.points[chosen])].tolist(), range(len(chosen)), strict=True))
    pictures: list[FailurePicture] = []
    values, start = space.values(history.points), 0
    for part in range(parts):
        if len(pictures) == len(chosen):
            break
        shown = pixels(part)
        for row in chosen[(chosen >= start) & (chosen < start + len(shown))]:
            labels = tuple(
                (attribute.name, space.rounded(j, float(values[attribute.name][row])))
                for j, attribute in enumerate(space.attributes)
            )
            pictures.append(FailurePicture(int(row) + 1, labels, reduced(saved(shown[row - start])), places[row]))
        start += len(shown)
    return pictures


def farthest(points: Float[np.ndarray, "n d"]) -> list[int]:
    """Points in an order in which each is the one that is farthest from those before it; the first stays first.

    >>> farthest(np.array([[0.0], [0.1], [1.0], [0.6]]))
    [0, 2, 3, 1]
    """
    order: list[int] = []
    distance = np.full(len(points), np.inf)
    for _ in range(len(points)):
        order.append(int(distance.argmax()))
        distance = np.minimum(distance, np.linalg.norm(points - points[order[-1]], axis=1))
        distance[order] = -1.0
    return order


def numbers_of(search: SearchPlan, folder: RunFolder, history: History, parts: int) -> SearchNumbers:
    """Every number of a search whose calls are made, with what its page shows."""
    tables = [folder.read_part("calls", part)["reason"] for part in range(parts)]
    reasons = [str(reason) for table in tables for reason in table.to_pylist()]
    errors = error_tables(search, history, reasons, search.by)

    def pixels(part: int) -> UInt8[np.ndarray, "m h w 3"]:
        return columns.images_of(folder.read_part("images", part)).pixels

    sections = [*canary_drift.call_sections(folder.path), *canary_drift.canary_sections(folder.path)]
    if search.gates is not None:
        gates, world = search.gates, generator_entry(search.world)
        sections.append(gate_section("search", entries_of(gates, world), {}, gates.sha256, []))
    found = {**search.space.values(history.points), "explored": history.explored, "failure": history.failures}
    return replace(
        summary(search, history, paid(folder, parts), sections),
        errors=errors,
        faces=tuple(mean_faces(search, history, errors.shown, parts, pixels, search.by)),
        pictures=tuple(failure_pictures(search.space, history, parts, pixels)),
        answers=pa.table({**found, "reason": reasons}),
    )
