"""What does a distance preserve? Attributes and identity among nearest neighbours (Singh et al. 2021, Table 2).

For each image, the mean error of an attribute over its k nearest images under a distance, and whether the nearest is of
the same identity; for a combined distance, nearest among those within a threshold in another embedding.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, final

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from transect.designs.matching.sample import absent, codes, make_sample
from transect.designs.matching.search import Search
from transect.errors import BadInput

SOURCE: Final = "Singh, Balakrishnan and Perona 2021, Table 2"
NEIGHBOURS: Final = 10


@final
@dataclass(frozen=True, slots=True)
class Preserved:
    """How far an attribute differs among nearest neighbours: mean error and its standard error.

    unit: "mean absolute error" in the attribute's unit, or "proportion" of neighbours that differ; for identity, of
    images whose nearest neighbour is of another. n_images: query images that count (for identity, those of whose
    identity there is another image). Standard errors cluster by identity; NaN with fewer than two clusters.
    """

    attribute: str
    error: float
    standard_error: float
    unit: str
    n_images: int
    n_neighbours: int


def preserved(
    features: Float[np.ndarray, "n d"],
    attributes: Mapping[str, ArrayLike],
    kinds: Mapping[str, Literal["continuous", "categorical"]],
    *,
    identity: ArrayLike | None = None,
    k: int = NEIGHBOURS,
    second: Float[np.ndarray, "n e"] | None = None,
    second_threshold: float = np.inf,
    queries: Int[np.ndarray, " q"] | None = None,
) -> list[Preserved]:
    """One row per attribute, then identity where it is given. queries: the query images, by default all.

    An image with fewer than k neighbours (within the threshold) counts with those it has, without any not at all.
    Missing attribute values (NaN, None) leave that neighbour out. An image without an identity is a separate cluster,
    and where it is the nearest it does not count for identity.

    Raises BadInput for k < 1 or an attribute without a kind.

    >>> x, age = np.array([[0.0], [1.0], [3.0]]), np.array([20.0, 30.0, 50.0])
    >>> preserved(x, {"age": age}, {"age": "continuous"}, k=1)[0].error  # neighbours 1, 0, 1: (10 + 10 + 20) / 3
    13.333333333333334
    """
    if k < 1 or set(attributes) - set(kinds):
        raise BadInput(f"neighbours: expected k of at least 1 and a kind for every attribute, got k = {k}")
    sample = make_sample(
        features, (np.arange(len(features)) == 0).astype(float), second=second, second_threshold=second_threshold
    )
    usable = np.flatnonzero(sample.eligible)
    query_rows = usable if queries is None else np.intersect1d(queries, usable)
    nearest = _nearest(Search(sample), query_rows, usable, k)
    people = None if identity is None else _people(identity, len(features))
    cluster = query_rows if people is None else people[query_rows]
    rows = []
    for name, values in attributes.items():
        unit = "mean absolute error" if kinds[name] == "continuous" else "proportion"
        rows.append(_row(name, _errors(np.asarray(values), kinds[name], query_rows, nearest), cluster, unit, k))
    if people is not None:
        unknown = absent(identity)  # type: ignore[arg-type]
        errors = np.where(unknown[nearest[:, 0]], np.nan, _other_identity(people, usable, query_rows, nearest))
        rows.append(_row("identity", errors, cluster, "proportion", 1))
    return rows


def _people(identity: ArrayLike, n: int) -> Int[np.ndarray, " n"]:
    """A number per identity, and a separate number for each image without one."""
    people = codes([identity], n)
    lacking = np.flatnonzero(absent(identity))
    people[lacking] = n + lacking
    return np.asarray(np.unique(people, return_inverse=True)[1])


def _nearest(search: Search, query_rows: Int[np.ndarray, " q"], among: Int[np.ndarray, " m"], k: int) -> np.ndarray:
    """The k nearest of each query image in exact order, -1 where there are fewer."""
    listed = search.nearest(query_rows, among, 2 * k + 8)
    nearest = np.full((len(query_rows), k), -1)
    for i, image in enumerate(query_rows.tolist()):
        near = listed.columns[i][listed.columns[i] >= 0]
        distance = search.measure(np.full(len(near), image), near)
        order = np.lexsort((near, distance))
        near, distance = near[order][: np.isfinite(distance).sum()], np.sort(distance)
        trusted = int((distance < listed.reach[i]).sum())
        if trusted < k and listed.reach[i] < np.inf:
            near, _ = search.every(image, among)
        nearest[i, : min(k, len(near))] = near[:k]
    return nearest


def _errors(
    values: np.ndarray, kind: str, query_rows: Int[np.ndarray, " q"], nearest: Int[np.ndarray, "q k"]
) -> Float[np.ndarray, " q"]:
    """Mean error over each image's neighbours; NaN without any."""
    if kind == "continuous":
        numbers = values.astype(np.float64)
        error = np.abs(numbers[nearest] - numbers[query_rows][:, None])
    else:
        known = np.array([value is not None and value == value for value in values.tolist()])
        texts = np.array([str(value) for value in values.tolist()])
        error = (texts[nearest] != texts[query_rows][:, None]).astype(np.float64)
        error[~known[nearest] | ~known[query_rows][:, None]] = np.nan
    error[nearest < 0] = np.nan
    count = np.isfinite(error).sum(axis=1)
    return np.asarray(np.divide(np.nansum(error, axis=1), count, out=np.full(len(query_rows), np.nan), where=count > 0))


def _other_identity(
    people: Int[np.ndarray, " n"], usable: Int[np.ndarray, " m"], query_rows: Int[np.ndarray, " q"], nearest: np.ndarray
) -> Float[np.ndarray, " q"]:
    """1 where the nearest image is of another identity, NaN where the identity has no other image, or none is near."""
    alone = np.bincount(people[usable], minlength=int(people.max()) + 1)[people[query_rows]] < 2
    differs = (people[nearest[:, 0]] != people[query_rows]).astype(np.float64)
    differs[alone | (nearest[:, 0] < 0)] = np.nan
    return np.asarray(differs)


def _row(name: str, errors: Float[np.ndarray, " q"], cluster: Int[np.ndarray, " q"], unit: str, k: int) -> Preserved:
    known = np.isfinite(errors)
    n = int(known.sum())
    if not n:
        return Preserved(name, np.nan, np.nan, unit, 0, k)
    mean = float(errors[known].mean())
    _, group = np.unique(cluster[known], return_inverse=True)
    sums: Float[np.ndarray, " g"] = np.bincount(group, weights=errors[known] - mean)
    g = len(sums)
    error = float(np.sqrt((sums**2).sum() * g / (g - 1)) / n) if g > 1 else np.nan
    return Preserved(name, mean, error, unit, n, k)
