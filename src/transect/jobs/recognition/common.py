"""Distances of one person's images on the images that several recognizers embedded, so that all see the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray

from transect.effects.recognition import GroupErrors, difference_of_means, recognition_verification
from transect.effects.verification import Metric
from transect.errors import BadInput
from transect.jobs.recognition.numbers import Difference

if TYPE_CHECKING:
    from transect.jobs.recognition.run import RecognitionResult


@final
@dataclass(frozen=True, slots=True)
class Benchmark:
    """What one recognizer was measured on. people, groups: of each row, None where there is none.

    usable: rows with an embedding, a person and a group. samples: the rows of each sample, None for all.
    """

    embeddings: Float[np.ndarray, "n d"]
    people: NDArray[np.object_]
    groups: NDArray[np.object_]
    usable: Bool[np.ndarray, " n"]
    samples: Mapping[str, Int[np.ndarray, " m"] | None]
    metric: Metric


NOT_SHARED: Final = "no images of both groups that every recognizer embedded"


@final
@dataclass(frozen=True, slots=True)
class GroupDistances:
    """One sample: mean distance of one person's images by group, its differences between groups, and the groups."""

    means: Mapping[str, float]
    differences: tuple[Difference, ...]
    groups: tuple[GroupErrors, ...]


def differences_of(errors: Sequence[GroupErrors], group: str) -> tuple[Difference, ...]:
    """Mean distances of each group but the first less those of the first. group: the name of the column."""
    if not errors:
        return ()
    effects = {part.group: difference_of_means(part, errors[0], "", group) for part in errors[1:]}
    return Difference.of_all(effects, errors[0].group)


def in_common(results: Mapping[str, RecognitionResult]) -> Bool[np.ndarray, " n"]:
    """Rows that are usable for every recognizer.

    Raises BadInput for results that are not of the same images, people, groups and pairs.
    """
    first, *others = results.values()
    for name, other in zip([*results][1:], others, strict=True):
        if not _same(first, other):
            raise BadInput(f"{name}: expected a result of the same images and groups, got another; run it again")
    return np.asarray(np.logical_and.reduce([result.benchmark.usable for result in results.values()]), dtype=bool)


def _same(first: RecognitionResult, other: RecognitionResult) -> bool:
    one, two = first.benchmark, other.benchmark
    return (
        first.numbers.group == other.numbers.group
        and one.samples.keys() == two.samples.keys()
        and np.array_equal(one.people, two.people)
        and np.array_equal(one.groups, two.groups)
        and all(_same_rows(rows, two.samples[name]) for name, rows in one.samples.items())
    )


def _same_rows(one: Int[np.ndarray, " m"] | None, two: Int[np.ndarray, " m"] | None) -> bool:
    if one is None or two is None:
        return one is two
    return np.array_equal(one, two)


def gap_names(results: Mapping[str, RecognitionResult], sample: str) -> list[str]:
    """Every gap that a recognizer has by itself in a sample, each once."""
    own = [each.name for result in results.values() for each in result.numbers.samples[sample].differences]
    return list(dict.fromkeys(own))


def distances_on(result: RecognitionResult, sample: str, rows: Bool[np.ndarray, " n"]) -> GroupDistances:
    """The distances of one recognizer in one sample, on these rows alone."""
    benchmark = result.benchmark
    if np.array_equal(rows, benchmark.usable):
        errors = result.errors[sample]
    else:
        sampled = benchmark.samples[sample]
        common = np.flatnonzero(rows)
        errors = recognition_verification(
            benchmark.embeddings,
            benchmark.people,
            benchmark.groups,
            [result.numbers.thresholds[0].threshold],  # any: distances do not depend on it
            rows=common if sampled is None else np.intersect1d(sampled, common),
            metric=benchmark.metric,
        )
    means = {str(group.group): group.mean_genuine for group in errors}
    return GroupDistances(means, differences_of(errors, result.numbers.group), tuple(errors))
