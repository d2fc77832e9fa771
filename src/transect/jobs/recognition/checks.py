"""Refusals of a recognition benchmark's inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from jaxtyping import Float
from numpy.typing import NDArray

from transect.datasets.features import FeaturesLike
from transect.effects.verification import Metric, directions_of
from transect.errors import BadInput
from transect.protocols import TargetLike

MOST_GROUPS: Final = 20


def check_sources(
    target: TargetLike | None, embeddings: FeaturesLike | None, pictures: str | None, thresholds: Sequence[float]
) -> None:
    """Either a target with pictures or embeddings, and thresholds above 0. Raises BadInput otherwise."""
    if (target is None) == (embeddings is None):
        raise BadInput("expected a TARGET with --pictures COLUMN, or --embeddings FILE: one of the two")
    if (target is None) != (pictures is None):
        raise BadInput("--pictures names the column that a TARGET embeds: give both, or --embeddings FILE alone")
    for threshold in thresholds:
        if not threshold > 0:
            raise BadInput(f"--threshold: expected a distance above 0, got {threshold:g}")


def check_groups(group: NDArray[np.object_], name: str) -> None:
    """At least one comparable image, and at most 20 groups. Raises BadInput otherwise."""
    counts = Counter(group.tolist())
    if not counts:
        raise BadInput(f"no image has an embedding, an identity and a {name}: fix the files, or name other columns")
    if len(counts) > MOST_GROUPS:
        raise BadInput(f"--group {name}: expected at most {MOST_GROUPS} groups, got {len(counts)}; cut it into groups")


def check_variation(embeddings: Float[np.ndarray, "m d"], metric: Metric) -> None:
    """Embeddings that differ; directions are equal up to rounding. Raises BadInput otherwise."""
    compared, rounding = (directions_of(embeddings), 1e-12) if metric == "cosine" else (embeddings, 0.0)
    if len(compared) > 1 and float(np.ptp(compared, axis=0).max()) <= rounding:
        raise BadInput(
            f"embeddings: all {len(compared)} are the same ({metric} distance), so that every distance is 0; give "
            "those of a model that tells images apart"
        )
