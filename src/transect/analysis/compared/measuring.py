"""What is measured of two models: the rate, the gap of each attribute, and behind them rates at levels and effects."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.compared.pairing import PairedOutcome
from transect.analysis.compared.records import Kind, Row
from transect.effects.contrasts import by_level, contrasts
from transect.effects.observational import Groups, cut, pairs
from transect.effects.outcomes import OF_TRUTH, WORSE_WHEN_LARGER
from transect.effects.paired_groups import gaps_between_groups
from transect.effects.paired_models import Gap, Quantity, gap_between_levels, rate_difference
from transect.effects.repeated import clusters_of, rows_of_people
from transect.runs import bins

CONFIDENCE: Final = 0.95
NONE_SHARED: Final = "fewer than two subjects whom both models answered"


@final
@dataclass(frozen=True, slots=True)
class Measured:
    """One row, with what its numbers come from. others: the same at every pair of levels, for equivalence."""

    row: Row
    quantity: Quantity
    others: tuple[Quantity, ...]
    smaller_is_better: bool


def measured(pair: PairedOutcome) -> list[Measured]:
    """Everything that is compared in one outcome of two models: the rate first, then attribute by attribute."""
    first, second, who = _subjects_and_cells(pair)
    rate = rate_difference(first, second, pair.is_share, answers=pair.answers, who=who, seed=_seed(pair))
    directed = pair.outcome in WORSE_WHEN_LARGER
    rows = [_measured(pair, "rate", "", "mean over subjects", rate, (rate,), directed=directed)]
    found = _between_levels(pair) if pair.run.design.levels else _between_groups(pair)
    return [*rows, *found]


def _seed(pair: PairedOutcome) -> int:
    return pair.run.design.seed


About: TypeAlias = tuple[str, str, str, str, str]
"""Study, model, reference, outcome and its unit."""


def measured_gap(about: About, attribute: str, name: str, gap: Gap, pairs: Sequence[Gap]) -> Iterator[Measured]:
    """The effect and the gap of two levels of an experiment's attribute. pairs: the gaps of every two of its levels."""
    yield _numbers(about, "effect", attribute, name, gap.difference, (), observed=False, directed=False)
    yield _numbers(about, "gap", attribute, name, gap, pairs, observed=False, directed=True)


def _measured(
    pair: PairedOutcome, kind: Kind, attribute: str, name: str, quantity: Quantity, others: Sequence[Quantity], *,
    directed: bool,
) -> Measured:  # fmt: skip
    about, observed = (pair.study, pair.model, pair.reference, pair.outcome, pair.unit), not pair.run.design.levels
    return _numbers(about, kind, attribute, name, quantity, others, observed=observed, directed=directed)


def _numbers(
    about: About, kind: Kind, attribute: str, name: str, quantity: Quantity, others: Sequence[Quantity], *,
    observed: bool, directed: bool,
) -> Measured:  # fmt: skip
    low, high = quantity.interval(CONFIDENCE)
    enough = quantity.n_subjects > 1
    row = Row(
        *about, kind, observed,
        attribute, name, quantity.first, quantity.second, quantity.estimate, low, high,
        quantity.p if enough else math.nan, math.nan, quantity.n_subjects, "" if enough else NONE_SHARED,
    )  # fmt: skip
    return Measured(row, quantity, tuple(others), directed)


def _subjects_and_cells(
    pair: PairedOutcome,
) -> tuple[Float[np.ndarray, "n cells"], Float[np.ndarray, "n cells"], Int[np.ndarray, " n"] | None]:
    """Both outcomes with a row for each subject, and the person of each where several photographs show one."""
    design, people = pair.run.design, pair.run.people
    if design.levels:
        shape = design.subjects, design.n_cells
        return pair.first.reshape(shape), pair.second.reshape(shape), clusters_of(people[:: design.n_cells])
    _, who = np.unique(people, return_inverse=True)
    return rows_of_people(pair.first, who), rows_of_people(pair.second, who), None


def _between_levels(pair: PairedOutcome) -> Iterator[Measured]:
    """Of an experiment: rates at each level, and effects and gaps of the contrasts that an audit tests."""
    design, run = pair.run.design, pair.run
    shape = (design.subjects, *design.shape)
    first, second = pair.first.reshape(shape), pair.second.reshape(shape)
    reasons = np.full(shape, "", dtype=object)
    tested = contrasts(first, reasons, design, run.attributes)
    who = clusters_of(run.people[:: design.n_cells])
    for axis, (name, levels) in enumerate(design.levels.items()):
        attribute = run.attributes[name]
        grids = by_level(first, axis), by_level(second, axis)
        for place, level in enumerate(levels):
            ends = grids[0][:, place], grids[1][:, place]
            rate = rate_difference(*ends, pair.is_share, answers=pair.answers, who=who, seed=design.seed)
            yield _measured(pair, "rate at a level", name, attribute.label(level), rate, (), directed=False)
        gap = _gap_at(pair, first, second, axis, who)
        rows = [each for each in tested if (each.attribute, each.kind) == (name, "contrast")]
        chosen = [(each.name, gap((levels.index(each.origin), levels.index(each.to)))) for each in rows]
        pairs = [gap(ends) for ends in itertools.combinations(range(len(levels)), 2)] if _judged(pair, name) else []
        yield from _gaps(pair, name, chosen, pairs)


def _gap_at(
    pair: PairedOutcome,
    first: Float[np.ndarray, "n ..."],
    second: Float[np.ndarray, "n ..."],
    axis: int,
    who: Int[np.ndarray, " n"] | None,
) -> Callable[[tuple[int, int]], Gap]:
    return lambda ends: gap_between_levels(
        first, second, axis, ends, pair.is_share, answers=pair.answers, who=who, seed=_seed(pair)
    )


def _between_groups(pair: PairedOutcome) -> Iterator[Measured]:
    """Of observed images: effects and gaps between the groups that an audit compares; associations."""
    run, edges = pair.run, bins.read(pair.run.folder.path)
    for name, attribute in run.attributes.items():
        column = run.true[name]
        groups = cut(attribute, column, edges.get(name))
        found = gaps_between_groups(
            pair.first, pair.second, groups, column, run.people, pair.is_binary, seed=_seed(pair)
        )
        yield from _gaps(pair, name, found, _of_all_groups(pair, groups, [gap for _, gap in found]))


def _of_all_groups(pair: PairedOutcome, groups: Groups, found: Sequence[Gap]) -> list[Gap]:
    """The gaps of every two groups, since "no worse" is said of all; those found where there are but two."""
    if len(groups.centers) <= 2:
        return list(found)
    gaps = []
    for two in pairs(groups):
        column = np.where(two.index >= 0, two.index, np.nan)
        first, second = (np.where(two.index >= 0, side, np.nan) for side in (pair.first, pair.second))
        found_here = gaps_between_groups(first, second, two, column, pair.run.people, pair.is_binary, seed=_seed(pair))
        gaps += [gap for _, gap in found_here]
    return gaps


def _gaps(
    pair: PairedOutcome, attribute: str, found: Sequence[tuple[str, Gap]], pairs: Sequence[Gap]
) -> Iterator[Measured]:
    """Effects, and gaps where a smaller one is better."""
    if pair.outcome in OF_TRUTH and attribute == pair.truth_attribute:
        return  # where the label changes, the error does
    for name, gap in found:
        words = name.partition(": ")[2]
        yield _measured(pair, "effect", attribute, words, gap.difference, (), directed=False)
        if _judged(pair, attribute):
            yield _measured(pair, "gap", attribute, words, gap, pairs, directed=True)


def _judged(pair: PairedOutcome, attribute: str) -> bool:
    """Whether a gap is a bias: not on the attribute that the target should react to."""
    return attribute != pair.truth_attribute
