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
DYADIC: Final = (
    "Aronow, Samii and Assenova 2015, Cluster-robust variance estimation for dyadic data, doi:10.1093/pan/mpv018"
)
NEIGHBOURS: Final = 10


@final
@dataclass(frozen=True, slots=True)
class Preserved:
    """How far an attribute differs among nearest neighbours: mean error and its standard error.

    unit: "mean absolute error" in the attribute's unit, or "proportion" of neighbours that differ; for identity, of
    images whose nearest neighbour is of another. n_images: query images that count (for identity, those of whose
    identity there is another image). Standard errors allow for images and identities that several neighbourhoods share
    (Aronow et al. 2015); NaN with fewer than two query identities.
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
    """One row per attribute, then identity where it is given. queries: the query images, by default all."""
    if k < 1 or set(attributes) - set(kinds):
        raise BadInput(f"neighbours: expected k of at least 1 and a kind for every attribute, got k = {k}")
    sample = make_sample(
        features, (np.arange(len(features)) == 0).astype(float), second=second, second_threshold=second_threshold
    )
    usable = np.flatnonzero(sample.eligible)
    query_rows = usable if queries is None else np.intersect1d(queries, usable)
    nearest = _nearest(Search(sample), query_rows, usable, k)
    people = None if identity is None else _people(identity, len(features))
    clusters = np.arange(len(features)) if people is None else people
    near = np.where(nearest < 0, -1, clusters[nearest])
    cluster = np.concatenate([clusters[query_rows][:, None], near], axis=1)
    rows = []
    for name, values in attributes.items():
        unit = "mean absolute error" if kinds[name] == "continuous" else "proportion"
        rows.append(_row(name, _errors(np.asarray(values), kinds[name], query_rows, nearest), cluster, unit, k))
    if people is not None:
        unknown = absent(identity)  # type: ignore[arg-type]
        errors = np.where(unknown[nearest[:, 0]], np.nan, _other_identity(people, usable, query_rows, nearest))
        rows.append(_row("identity", errors[:, None], cluster, "proportion", 1))
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
) -> Float[np.ndarray, "q k"]:
    """The error of each neighbour; NaN where there is none or a value is missing."""
    if kind == "continuous":
        numbers = values.astype(np.float64)
        error = np.abs(numbers[nearest] - numbers[query_rows][:, None])
    else:
        known = np.array([value is not None and value == value for value in values.tolist()])
        texts = np.array([str(value) for value in values.tolist()])
        error = (texts[nearest] != texts[query_rows][:, None]).astype(np.float64)
        error[~known[nearest] | ~known[query_rows][:, None]] = np.nan
    error[nearest < 0] = np.nan
    return np.asarray(error)


def _other_identity(
    people: Int[np.ndarray, " n"], usable: Int[np.ndarray, " m"], query_rows: Int[np.ndarray, " q"], nearest: np.ndarray
) -> Float[np.ndarray, " q"]:
    """1 where the nearest image is of another identity, NaN where the identity has no other image, or none is near."""
    alone = np.bincount(people[usable], minlength=int(people.max()) + 1)[people[query_rows]] < 2
    differs = (people[nearest[:, 0]] != people[query_rows]).astype(np.float64)
    differs[alone | (nearest[:, 0] < 0)] = np.nan
    return np.asarray(differs)


def _row(name: str, errors: Float[np.ndarray, "q k"], cluster: Int[np.ndarray, "q m"], unit: str, k: int) -> Preserved:
    """The mean over images of each one's mean error. cluster: of each image, then of its neighbours, -1 for none."""
    known = np.isfinite(errors)
    counts = known.sum(axis=1)
    n = int((counts > 0).sum())
    if not n:
        return Preserved(name, np.nan, np.nan, unit, 0, k)
    sums = np.where(known, errors, 0.0).sum(axis=1)
    mean = float((sums[counts > 0] / counts[counts > 0]).mean())
    weights = known / np.maximum(counts, 1)[:, None] / n
    image, place = np.nonzero(known)
    parts = (weights * (np.where(known, errors, mean) - mean))[image, place]
    return Preserved(name, mean, _standard_error(parts, cluster[image, 0], cluster[image, place + 1]), unit, n, k)


def _standard_error(
    parts: Float[np.ndarray, " e"], first: Int[np.ndarray, " e"], second: Int[np.ndarray, " e"]
) -> float:
    """Of a sum of parts, each of two clusters: any two parts that share one may be correlated (Aronow et al. 2015)."""
    everyone, codes = np.unique(np.concatenate([first, second]), return_inverse=True)
    one, other = codes[: len(parts)], codes[len(parts) :]
    g = len(np.unique(one))
    if g < 2:
        return np.nan
    of_first = np.bincount(one, weights=parts, minlength=len(everyone))
    apart = one != other
    both = of_first + np.bincount(other[apart], weights=parts[apart], minlength=len(everyone))
    _, pair = np.unique(
        np.stack([np.minimum(one, other), np.maximum(one, other)])[:, apart], axis=1, return_inverse=True
    )
    of_pairs = np.bincount(pair.ravel(), weights=parts[apart])
    variance = max(float((both**2).sum() - (of_pairs**2).sum()), float((of_first**2).sum()))
    return float(np.sqrt(variance * g / (g - 1)))
