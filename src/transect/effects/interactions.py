"""Does what one attribute causes depend on another? Main effects and interactions of a full factorial, to order three.

The interaction of two attributes is a difference of differences, of three a difference of those: how much the effect of
the first changes when the second goes from one level to another. Each subject has its own, averaged over the cells of
the attributes that are left. Fisher 1935, The design of experiments, chapter 6; Balakrishnan et al. 2020, section 5.4.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.effects import intervals, randomization, repeated
from transect.effects.contrasts import excluded_pairs, rarer_rate
from transect.effects.exclusions import Exclusions
from transect.effects.samples import Measure
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Design, Effect

HIGHEST_ORDER: Final = 3
SOURCE: Final = "Fisher 1935, The design of experiments, chapter 6"
NO_SQUARE: Final = "no subject has all the cells of the comparison"
NO_VARIATION: Final = "the differences do not vary: no interval"
ONE_SUBJECT: Final = "one subject: no interval"
BY: Final = " × "


@final
@dataclass(frozen=True, slots=True)
class Interaction:
    """One estimand of order len(attributes), and what each subject says about it.

    differences: float64 [n], NaN where a subject has no complete set of corners. base: how rare the outcome is at the
    corners, the smallest of rate and 1 - rate. reach: the largest value that one subject can have for outcomes in
    [0, 1]. pairs: sets of corners that one subject averages over.
    """

    attributes: tuple[str, ...]
    origins: tuple[float, ...]
    to: tuple[float, ...]
    name: str
    differences: Float[np.ndarray, " n"]
    base: float
    reach: float
    pairs: float
    n_images: int
    excluded: Mapping[str, int]


def interactions(
    values: Float[np.ndarray, "n ..."],
    reasons: np.ndarray,
    design: Design,
    attributes: Mapping[str, Attribute],
    *,
    orders: Sequence[int] = (1, 2, 3),
) -> list[Interaction]:
    """Main effects (order 1) and interactions (orders 2 and 3) of a transect design, in the order of its attributes."""
    if values.shape != (design.subjects, *design.shape) or np.shape(reasons) != values.shape:
        raise BadInput(
            f"expected values and reasons of shape {(design.subjects, *design.shape)}, got {values.shape} and "
            f"{np.shape(reasons)}; reshape them to [subjects, *design.shape]"
        )
    if not set(orders) <= set(range(1, HIGHEST_ORDER + 1)):
        raise BadInput(f"expected orders of 1, 2 and 3, got {list(orders)}; leave out the others")
    for name in design.levels:
        if name not in attributes:
            raise UnknownName("attribute", name, attributes, hint="see: transect attributes")
    exclusions = Exclusions.of(values, reasons)
    return [
        _interaction(values, exclusions, design, attributes, chosen, ends)
        for order in sorted(set(orders))
        for chosen in itertools.combinations(range(len(design.levels)), order)
        for ends in itertools.product(*(_ends(axis, design, attributes) for axis in chosen))
    ]


def factorial_effects(
    values: Float[np.ndarray, "n ..."],
    reasons: np.ndarray,
    design: Design,
    attributes: Mapping[str, Attribute],
    measure: Measure,
    *,
    orders: Sequence[int] = (1, 2, 3),
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[Effect, ...]:
    """`interactions` with intervals and tests, as effects of kind "interaction" (order 1: "contrast").

    Intervals are those of contrasts (BCa by subject, or the paired score interval where few subjects differ). The test
    flips the sign of each subject's value: exact where the attributes change nothing for any subject, and for many
    subjects also where interactions average 0 (Romano 1990). The attribute of an interaction is "a × b"; its spec holds
    `attributes`, `from`, `to` and `order`. people: who is on each subject, as `analyse_transects` takes it. p_adjusted
    is left to `adjust`.

    An effect that cannot be estimated is NaN with its reason. Raises as `interactions`.
    """
    rows = interactions(values, reasons, design, attributes, orders=orders)
    if not rows:
        return ()
    who = repeated.clusters_of(people)
    d = np.stack([row.differences for row in rows], axis=1)
    bounds = repeated.mean_difference_interval(
        d,
        who,
        binary=measure.is_share,
        base=np.array([row.base for row in rows]),
        reach=np.array([row.reach for row in rows]),
        pairs=measure.answers * np.array([row.pairs for row in rows]),
        confidence=confidence,
        resamples=resamples,
        seed=seed,
    )
    untested = np.full(len(rows), np.nan), (measure.untested,) * len(rows)
    p, tests = untested if measure.untested or not measure.tested else repeated.sign_flip(d, who, seed=seed)
    n, subjects = repeated.people_with(d, who), design.subjects if who is None else int(who.max()) + 1
    settings = {"confidence": confidence, "resamples": resamples, "seed": seed, "subjects": subjects}
    return tuple(
        _effect(row, bounds, place, float(p[place]), tests[place], int(n[place]), measure, settings)
        for place, row in enumerate(rows)
    )


def _ends(axis: int, design: Design, attributes: Mapping[str, Attribute]) -> Iterator[tuple[int, int]]:
    """Positions of the two levels of each comparison."""
    name, levels = list(design.levels.items())[axis]
    last = len(levels) - 1
    yield from ((0, level) for level in (range(1, last + 1) if attributes[name].discrete else [last] * (last > 0)))


def _interaction(
    values: Float[np.ndarray, "n ..."],
    exclusions: Exclusions,
    design: Design,
    attributes: Mapping[str, Attribute],
    chosen: tuple[int, ...],
    ends: tuple[tuple[int, int], ...],
) -> Interaction:
    names = [list(design.levels)[axis] for axis in chosen]
    corners = _corners(values, chosen, ends)
    codes = _corners(exclusions.codes, chosen, ends)
    used = np.isfinite(corners).all(axis=1, keepdims=True) & np.ones(corners.shape, dtype=bool)
    spans = [
        (design.levels[name][first], design.levels[name][second])
        for name, (first, second) in zip(names, ends, strict=True)
    ]
    labels = [
        f"{attributes[name].label(origin)} to {attributes[name].label(to)}"
        for name, (origin, to) in zip(names, spans, strict=True)
    ]
    return Interaction(
        attributes=tuple(names),
        origins=tuple(origin for origin, _ in spans),
        to=tuple(to for _, to in spans),
        name=f"{BY.join(names)}: {BY.join(labels)}",
        differences=_signed_mean(corners, used),
        base=rarer_rate(corners, used),
        reach=2.0 ** (len(chosen) - 1),
        pairs=float(corners.shape[2]),
        n_images=int(used.sum()),
        excluded=excluded_pairs(used, Exclusions(codes, exclusions.names)),
    )


def _corners(array: np.ndarray, chosen: tuple[int, ...], ends: tuple[tuple[int, int], ...]) -> np.ndarray:
    """[n, 2^order corners, cells of the other attributes]; the corners count in binary, the last attribute fastest."""
    for axis, pair in zip(chosen, ends, strict=True):
        array = np.take(array, pair, axis=axis + 1)
    moved = np.moveaxis(array, [axis + 1 for axis in chosen], range(1, len(chosen) + 1))
    return moved.reshape(len(array), 2 ** len(chosen), -1)


def _signed_mean(
    corners: Float[np.ndarray, "n c cells"], used: Bool[np.ndarray, "n c cells"]
) -> Float[np.ndarray, " n"]:
    """Each subject's mean over complete cells of the corners' signed sum: + where an even number stay at the origin."""
    order = corners.shape[1].bit_length() - 1
    signs = np.array([(-1.0) ** (order - corner.bit_count()) for corner in range(2**order)])
    sums = np.einsum("c,ncm->n", signs, np.where(used, corners, 0.0))
    complete = used[:, 0].sum(axis=1)
    return np.asarray(np.divide(sums, complete, out=np.full(len(corners), np.nan), where=complete > 0))


def _effect(
    interaction: Interaction,
    bounds: intervals.Intervals,
    place: int,
    p: float,
    test: str,
    n: int,
    measure: Measure,
    settings: Mapping[str, object],
) -> Effect:
    order = len(interaction.attributes)
    without = "" if bounds.methods[place] else ONE_SUBJECT if n == 1 else NO_VARIATION
    sources = [SOURCE, *(source[name] for source, name in _named(bounds.methods[place], test))]
    return Effect(
        name=interaction.name,
        attribute=BY.join(interaction.attributes),
        target=measure.target,
        outcome=measure.outcome,
        estimate=float(np.nanmean(interaction.differences)) if n else np.nan,
        low=float(bounds.low[place]),
        high=float(bounds.high[place]),
        p=p,
        unit=measure.unit,
        n_subjects=n,
        n_images=interaction.n_images,
        kind="contrast" if order == 1 else "interaction",
        origin=interaction.origins[0] if order == 1 else np.nan,
        to=interaction.to[0] if order == 1 else np.nan,
        excluded=interaction.excluded,
        reason=without if n else NO_SQUARE,
        interval_method=bounds.methods[place],
        test_method=test,
        spec={
            **settings,
            "order": order,
            "attributes": interaction.attributes,
            "from": interaction.origins,
            "to": interaction.to,
        },
        sources=tuple(dict.fromkeys(sources)),
    )


def _named(interval: str, test: str) -> Iterator[tuple[Mapping[str, str], str]]:
    if interval:
        yield {**intervals.SOURCES, **repeated.SOURCES}, interval
    if test in randomization.SOURCES:
        yield randomization.SOURCES, test
