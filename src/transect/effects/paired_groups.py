"""How do two models differ between groups of observed images? The difference of groups in image-wise differences.

On each image the second model's outcome minus the first's is one number. Its mean in one group minus that in another is
the difference of the two models' gaps, whatever the groups' own difficulty. Groups are different people, so that both
gaps are associations, as every number on observed images is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects.contrasts import known_mean
from transect.effects.observational import Association, Groups, associations, compared_with_first, contrast_name
from transect.effects.paired_group_rates import BetweenGroups, PairedShares, RateDifference
from transect.effects.paired_models import Gap, back_to, side_of
from transect.records import Effect

_USUAL: Final = 0.95


@final
@dataclass(frozen=True, slots=True)
class GroupDifference(BetweenGroups):
    """One comparison of groups in a number of each image; a `Quantity` of two models.

    at: the difference at a level of confidence, times `side`. first, second: each model's own difference.
    """

    at: Callable[[float], Association | Effect]
    side: float
    first: float
    second: float

    @property
    def estimate(self) -> float:
        """The difference between the groups."""
        return self.side * self.at(_USUAL).estimate

    @property
    def n_subjects(self) -> int:
        """People with an image in either group."""
        return self.at(_USUAL).n_subjects

    @property
    def p(self) -> float:
        """Of no difference between the groups, as `associations` tests it."""
        return self.at(_USUAL).p

    def interval(self, confidence: float) -> tuple[float, float]:
        """The interval of `associations`; mirrored to the last bit where the models are exchanged."""
        found = self.at(confidence)
        return back_to(self.side, found.low, found.high)


def gaps_between_groups(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " n"],
    groups: Groups,
    column: Float[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
    is_binary: bool,
    *,
    seed: int = 0,
) -> list[tuple[str, Gap]]:
    """The gap of every comparison of groups that an audit makes, by its name, with the models' difference and sum."""
    if is_binary:
        return [
            (contrast_name(groups, to), _rate_gap(first, second, (groups.index == 0, groups.index == to), people))
            for to in compared_with_first(groups)
        ]
    return _score_gaps(first, second, groups, column, people, seed)


def _rate_gap(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " n"],
    masks: tuple[Bool[np.ndarray, " n"], Bool[np.ndarray, " n"]],
    people: Int[np.ndarray, " n"],
) -> Gap:
    """The sum less 1 compares the first outcome with the second one turned round: again -1, 0 or 1 on each image."""
    either = masks[0] | masks[1]
    own = [known_mean(values[masks[1]]) - known_mean(values[masks[0]]) for values in (first, second)]
    n_subjects = len(np.unique(people[either & np.isfinite(first)]))

    def of(moved: Float[np.ndarray, " n"], side: float) -> RateDifference:
        origin, to = (PairedShares.of((side or 1.0) * moved[mask], people[mask]) for mask in masks)
        return RateDifference(origin, to, side, own[0], own[1], n_subjects)

    return Gap(of(second - first, side_of((second - first)[either])), of(second + first - 1, 1.0))


def _score_gaps(
    first: Float[np.ndarray, " n"],
    second: Float[np.ndarray, " n"],
    groups: Groups,
    column: Float[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
    seed: int,
) -> list[tuple[str, Gap]]:
    def contrasts_of(values: Float[np.ndarray, " n"]) -> Callable[[float], list[Association]]:
        reasons = np.where(np.isfinite(values), "", "not answered by both").astype(object)

        @functools.cache
        def at(confidence: float) -> list[Association]:
            rows = associations(
                values, reasons, groups, column, is_binary=False, subjects=people, confidence=confidence, seed=seed
            )
            return [row for row in rows if row.kind == "contrast"]

        return at

    sides = side_of(second - first), side_of(second + first)
    both = contrasts_of((sides[0] or 1.0) * (second - first)), contrasts_of((sides[1] or 1.0) * (second + first))
    alone = zip(contrasts_of(first)(_USUAL), contrasts_of(second)(_USUAL), strict=True)
    return [
        (before.name, Gap(*(
            GroupDifference(_one(each, place), side, before.estimate, after.estimate)
            for each, side in zip(both, sides, strict=True)
        )))
        for place, (before, after) in enumerate(alone)
    ]  # fmt: skip


def _one(contrasts: Callable[[float], list[Association]], place: int) -> Callable[[float], Association]:
    return lambda confidence: contrasts(confidence)[place]
