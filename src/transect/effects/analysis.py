"""From the outcomes of a design to its table: every effect with interval, test and exclusions, every cell's rate."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import clusters, intervals, observational, resampling
from transect.effects.contrasts import Contrast, contrasts, interactions, known_mean, known_means
from transect.effects.multiplicity import HOLM, holm
from transect.effects.rates import (
    HIGHEST_ORDER,
    MOST_CELLS,
    GroupedImages,
    Rate,
    affordable_order,
    grouped_rates,
    transect_rates,
)
from transect.effects.samples import SAME_FOR_ALL, Exclusions, Measure
from transect.errors import BadInput, UnknownName
from transect.records import Attribute, Design, Effect

CONFIDENCE: Final = 0.95
NO_PAIR: Final = "no subject has a valid pair"
NO_SQUARE: Final = "no subject has all the cells of the comparison"
FACTORIAL: Final = "Fisher 1935, The design of experiments, chapter 6"
OF_OUTCOME: Final = ", outcome "
"""Between the name and the outcome of an effect whose test another outcome repeats."""
UNTESTED: Final = "none: a distance from the first image cannot fall below 0"

_WITHOUT_SOURCE: Final = (intervals.NO_INTERVAL, UNTESTED, SAME_FOR_ALL)
_SOURCES: Final = {**intervals.SOURCES, **resampling.SOURCES, **observational.SOURCES, **clusters.SOURCES}


@final
@dataclass(frozen=True, slots=True)
class Analysis:
    """What one outcome of one target showed under one design.

    differences: of the subjects, behind each effect of an experiment, of people who repeat the sums of theirs.
    cells_left_out: of rates by more attributes at once, where a population has too many of them.
    """

    effects: tuple[Effect, ...]
    rates: tuple[Rate, ...]
    differences: tuple[Float[np.ndarray, " n"], ...] = field(default=(), compare=False)
    cells_left_out: int = 0


def analyse_transects(
    values: Float[np.ndarray, "n ..."],
    reasons: np.ndarray,
    design: Design,
    attributes: Mapping[str, Attribute],
    measure: Measure,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
    max_order: int = HIGHEST_ORDER,
) -> Analysis:
    """Within-subject effects and cell rates of a transect design.

    values: outcomes [n_subjects, *design.shape], NaN where there is no valid answer; reasons: same shape, why. The
    unit is the subject: an effect is the mean over subjects of each subject's own difference, its interval
    `intervals.mean_difference_interval`, its test the sign-flip of the subjects' differences; of single pairs of yes or
    no both are McNemar's mid-p. people: who is on each subject (default: every subject is another person); where they
    repeat, intervals and tests are by person, and n_subjects counts people. p_adjusted is left to `adjust`, since the
    family is the report's.

    Returns Analysis; an effect that cannot be estimated is NaN with its reason.

    Raises BadInput when the shapes differ from the design's, UnknownName for an attribute that is not in `attributes`.

    >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    >>> y = np.array([[0.0, 1.0], [0.0, 1.0], [0.0, 0.0], [0.0, 1.0]])
    >>> table = analyse_transects(y, np.full((4, 2), "", dtype=object), Design({"glasses": (0.0, 1.0)}, subjects=4),
    ...                           {"glasses": glasses}, Measure("mine", "miss"))
    >>> effect = table.effects[0]
    >>> effect.name, effect.estimate, effect.p, effect.interval_method  # 3/4; 1 / 2^3
    ('glasses: off to on', 0.75, 0.125, 'inverted McNemar mid-p')
    """
    _check_known(design.levels, attributes)
    rows = contrasts(values, reasons, design, attributes)
    untested = "" if measure.tested else UNTESTED
    effects = _experimental(rows, measure, people, confidence, seed, untested, NO_PAIR)
    rates = transect_rates(
        values,
        reasons,
        design.levels,
        people=people,
        is_binary=measure.is_share,
        answers=measure.answers,
        confidence=confidence,
        max_order=max_order,
    )
    who = clusters.clusters_of(people)
    return Analysis(effects, rates, tuple(clusters.of_people(contrast.differences, who) for contrast in rows))


def factorial_effects(
    values: Float[np.ndarray, "n ..."],
    reasons: np.ndarray,
    design: Design,
    attributes: Mapping[str, Attribute],
    measure: Measure,
    *,
    orders: Sequence[int] = (1, 2, 3),
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> tuple[Effect, ...]:
    """`interactions` with intervals and tests, as effects of kind "interaction" (order 1: "contrast").

    Intervals are those of contrasts (`intervals.mean_difference_interval`). The test flips the sign of each subject's
    value: exact where the attributes change nothing for any subject, and for many subjects also where interactions
    average 0 (Romano 1990). The attribute of an interaction is "a × b"; its spec holds `attributes`, `from`, `to` and
    `order`. people: who is on each subject, as `analyse_transects` takes it. p_adjusted is left to `adjust`.

    An effect that cannot be estimated is NaN with its reason. Raises as `interactions`.
    """
    rows = interactions(values, reasons, design, attributes, orders=orders)
    effects = _experimental(rows, measure, people, confidence, seed, "", NO_SQUARE) if rows else ()
    return tuple(replace(effect, sources=(FACTORIAL, *effect.sources)) for effect in effects)


def analyse_population(
    values: Float[np.ndarray, " n"],
    reasons: np.ndarray,
    columns: Mapping[str, Float[np.ndarray, " _"]],
    attributes: Mapping[str, Attribute],
    measure: Measure,
    *,
    subjects: Int[np.ndarray, " n"] | None = None,
    edges: Mapping[str, Sequence[float]] | None = None,
    confidence: float = CONFIDENCE,
    max_order: int = HIGHEST_ORDER,
    most_cells: int = MOST_CELLS,
) -> Analysis:
    """Unadjusted associations and group rates of a population design: association, not causation.

    Attributes are associated in a population, so that a difference between groups of one includes all that varies
    with it; basis is "observational". values: outcomes [n]; columns: the values [n] of each attribute to analyse;
    subjects: who is on each image (default: every image shows another subject); where they repeat, rates, intervals
    and tests are by subject. Attributes with levels are grouped by level, others cut at `edges`, or else at their
    terciles. Rates are by up to `max_order` attributes at once, fewer where the cells would be more than `most_cells`.

    Returns Analysis; each effect's spec holds the ranges that were compared.

    Raises BadInput when lengths differ, UnknownName for a column that is not in `attributes`.

    >>> glasses = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
    >>> table = analyse_population(np.array([0.0, 0.0, 1.0, 0.0]), np.full(4, "", dtype=object),
    ...                            {"glasses": np.array([0.0, 0.0, 1.0, 1.0])}, {"glasses": glasses},
    ...                            Measure("mine", "miss"))
    >>> table.effects[0].estimate, table.effects[0].basis
    (0.5, 'observational')
    """
    _check_known(columns, attributes)
    _check_lengths(values, reasons, columns if subjects is None else {**columns, "subjects": subjects})
    people, who = np.unique(np.arange(len(values)) if subjects is None else subjects, return_inverse=True)
    cuts = {name: observational.cut(attributes[name], col, (edges or {}).get(name)) for name, col in columns.items()}
    spec = {"confidence": confidence, "subjects": len(people)}
    how: dict[str, Any] = {"is_binary": measure.is_binary, "answers": measure.answers, "confidence": confidence}
    effects = tuple(
        _observed(row, groups, measure, spec)
        for name, groups in cuts.items()
        for row in observational.associations(values, reasons, groups, columns[name], subjects=who, **how)
    )
    images = GroupedImages(
        values=values,
        exclusions=Exclusions.of(values, reasons),
        subjects=who,
        n_subjects=len(people),
        groups=np.stack([groups.index for groups in cuts.values()], axis=1),
        levels={name: groups.centers for name, groups in cuts.items()},
        bounds={name: groups.bounds for name, groups in cuts.items() if groups.bounds},
    )
    order, left_out = affordable_order([len(groups.centers) for groups in cuts.values()], max_order, most_cells)
    rates = grouped_rates(
        images,
        is_binary=measure.is_share,
        answers=measure.answers,
        max_order=order,
        confidence=confidence,
    )
    return Analysis(effects, rates, cells_left_out=left_out)


def adjust(effects: Sequence[Effect]) -> tuple[Effect, ...]:
    """The effects with p_adjusted over the whole family, by Holm's method.

    Effects without a p keep NaN and are not counted. An effect that repeats another's test
    (`Effect.same_test_as`) is not counted, and has the other's p_adjusted.

    >>> effects = [Effect(0.1, 0, 0.2, name="a", attribute="a", target="t", outcome="miss", p=p, unit="", n_subjects=9,
    ...                   n_images=18) for p in (0.01, 0.5)]
    >>> [effect.p_adjusted for effect in adjust(effects)]
    [0.02, 0.5]
    """
    first = _first_tested(effects)
    own = first == np.arange(len(effects))
    adjusted = holm(np.where(own, [effect.p for effect in effects], np.nan))[first]
    return tuple(
        replace(effect, p_adjusted=float(p), sources=tuple(dict.fromkeys((*effect.sources, HOLM))))
        for effect, p in zip(effects, adjusted, strict=True)
    )


def mirrors_of(outcomes: Mapping[str, Float[np.ndarray, "n cells"]]) -> dict[str, str]:
    """The outcomes whose differences within each row are those of an earlier one, up to one sign, with that one.

    outcomes: by name the values of the cells of each subject, or of observed images all in one row. Error is 1 - answer
    where the truth is always yes, and then both are one hypothesis.

    >>> answer = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> mirrors_of({"answer": answer, "error": 1 - answer, "score": answer / 2})
    {'error': 'answer'}
    """
    within = {name: values - known_means(values, axis=1)[:, None] for name, values in outcomes.items()}
    found: dict[str, str] = {}
    for name, moved in within.items():
        first = next((other for other in within if other == name or _mirrored(within[other], moved)), name)
        found |= {name: first} if first != name else {}
    return found


def _mirrored(one: Float[np.ndarray, "n cells"], other: Float[np.ndarray, "n cells"]) -> bool:
    """Whether values are equal, or opposite, to the last bits of their sums; not where nothing moves."""
    size = float(np.max(np.abs(one), where=np.isfinite(one), initial=0.0))
    return size > 0 and any(
        np.allclose(one, sign * other, rtol=0, atol=1e-12 * size, equal_nan=True) for sign in (1, -1)
    )


def with_mirrors(effects: Iterable[Effect], mirrors: Mapping[tuple[str, str], str]) -> list[Effect]:
    """The effects, those on an outcome that mirrors another pointing at it. mirrors: by target and outcome."""
    return [
        replace(effect, same_test_as=f"{effect.name}{OF_OUTCOME}{mirrors[effect.target, effect.outcome]}")
        if (effect.target, effect.outcome) in mirrors
        else effect
        for effect in effects
    ]


def distinct_tests(effects: Sequence[Effect]) -> int:
    """How many different tests are behind some effects: those that are corrected for (`Effect.same_test_as`)."""
    return sum(math.isfinite(effect.p) and not effect.same_test_as for effect in effects)


def _first_tested(effects: Sequence[Effect]) -> Int[np.ndarray, " m"]:
    """The place of the effect whose test each one shares: its own, but for those that repeat an earlier one's."""
    places: dict[tuple[str, str], int] = {}
    first = np.arange(len(effects))
    for place, effect in enumerate(effects):
        first[place] = places.get((effect.target, _named(effect)), place)
        places[effect.target, f"{effect.name}{OF_OUTCOME}{effect.outcome}"] = int(first[place])
    return first


def _named(effect: Effect) -> str:
    """The effect whose test this one repeats, with its outcome; "" where it repeats none."""
    same = effect.same_test_as
    return same if not same or OF_OUTCOME in same else f"{same}{OF_OUTCOME}{effect.outcome}"


def _experimental(
    rows: Sequence[Contrast],
    measure: Measure,
    people: Int[np.ndarray, " n"] | None,
    confidence: float,
    seed: int,
    untested: str,
    empty: str,
) -> tuple[Effect, ...]:
    """Effects within subjects with intervals and tests. untested: why there is no p; empty: why an effect is NaN."""
    who = clusters.clusters_of(people)
    d = np.stack([row.differences for row in rows], axis=1)
    reach = np.array([row.reach for row in rows])
    pairs = measure.answers * np.array([row.pairs for row in rows])
    bounds = clusters.mean_difference_interval(
        d, who, binary=measure.is_share, reach=reach, pairs=pairs, confidence=confidence
    )
    single = intervals.single_pairs(d, pairs, reach, binary=measure.is_share)
    p, tests = np.full(len(rows), np.nan), (measure.untested or untested,) * len(rows)
    if measure.tested and not measure.untested:
        p, tests = clusters.sign_flip(d, who, single=single, seed=seed)
    subjects = len(d) if who is None else int(who.max()) + 1
    spec = {"confidence": confidence, "seed": seed, "subjects": subjects}
    effects = []
    for place, (row, n) in enumerate(zip(rows, clusters.people_with(d, who).tolist(), strict=True)):
        tested, method = place - bool(row.same_test_as), bounds.methods[place]
        effects.append(
            Effect(
                known_mean(row.differences),
                float(bounds.low[place]),
                float(bounds.high[place]),
                ("" if method else intervals.no_interval(n)) if n else empty,
                name=row.name,
                attribute=row.attribute,
                target=measure.target,
                outcome=measure.outcome,
                p=float(p[tested]),
                unit=_per(measure.unit, row.per),
                n_subjects=n,
                n_images=row.n_images,
                kind=row.kind,
                origin=row.origin,
                to=row.to,
                excluded=row.excluded,
                interval_method=method,
                test_method=tests[tested],
                same_test_as=row.same_test_as,
                spec={**spec, **row.spec, **_flips(tests[tested]), "subjects_dropped": row.subjects_dropped},
                sources=_sources(method, tests[tested]),
            )
        )
    return tuple(effects)


def _observed(
    association: Effect, groups: observational.Groups, measure: Measure, spec: Mapping[str, object]
) -> Effect:
    test = measure.untested or association.test_method
    return replace(
        association,
        target=measure.target,
        outcome=measure.outcome,
        p=np.nan if measure.untested else association.p,
        unit=_per(measure.unit, association.unit),
        test_method=test,
        spec={**spec, **_flips(test), **({"groups": groups.bounds} if groups.bounds else {})},
        sources=_sources(association.interval_method, test),
    )


def _check_known(names: Iterable[str], attributes: Mapping[str, Attribute]) -> None:
    if not (names := tuple(names)):
        raise BadInput("no attribute to analyse; name the attributes to compare")
    for name in names:
        if name not in attributes:
            raise UnknownName("attribute", name, attributes, hint="see: transect list attributes")


def _check_lengths(values: np.ndarray, reasons: np.ndarray, columns: Mapping[str, np.ndarray]) -> None:
    lengths = {"reasons": len(reasons), **{name: len(column) for name, column in columns.items()}}
    for name, length in lengths.items():
        if length != len(values):
            raise BadInput(f"{name}: expected one value per image, {len(values)}, got {length}")


def _per(unit: str, per: str) -> str:
    return f"{unit} per {per}" if per else unit


def _flips(test: str) -> dict[str, int]:
    """How many random flips or shuffles a test drew; nothing for an exact one."""
    return {"flips": resampling.FLIPS} if test in (resampling.MONTE_CARLO, resampling.PERMUTATION) else {}


def _sources(*methods: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_SOURCES[method] for method in methods if method not in _WITHOUT_SOURCE))
