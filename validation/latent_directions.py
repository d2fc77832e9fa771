"""How true are fitted directions? In FaceWorld's latent view the true ones are known, so fits can be scored.

Attributes' normal scores are linear in u, hence in z = R u: score_a = n_a · z. The true normal is n_a; the true
direction, along which a changes and no other attribute does, is the dual of all scores' normals. Nothing is rendered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.controls.directions import Direction, fit_direction, hyperplanes
from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.causal_model import ATTRIBUTE_COLUMNS, LATENT_DIM, rotation
from transect.generators.faceworld.population import load_population

POPULATIONS: Final = ("balanced", "celebrity-like")
"""Independent, and confounded."""
FITTED: Final = ("face_shape", "hair_length", "makeup", "age", "smile", "skin_tone")
BALANCED_ON: Final = {**dict.fromkeys(FITTED, "face_shape"), "face_shape": "hair_length"}
"""What each is balanced on, one attribute as in Denton et al. 2019."""
LABELS: Final = (200, 1_000, 5_000)
NOISE: Final = 0.5
"""Standard deviation of what raters add to an attribute's score, whose own is 1."""
REPEATS: Final = 2
FITS: Final = ("ridge", "logistic", "logistic, balanced")
WAYS: Final = ("normals", "as published", "dual")


def orthogonalize_as_published(normals: Float[np.ndarray, "K d"]) -> Float[np.ndarray, "K d"]:
    """Algorithm 2 as printed: from each normal the parts along all other vectors of one QR factorisation.

    What remains of normal i is its part along the i-th vector alone: the Gram-Schmidt basis, which is perpendicular to
    the earlier normals and not to the later ones. The dual directions do what the text asks for. Rows have length 1.
    """
    q = np.linalg.qr(normals.T)[0].T
    directions = []
    for i, normal in enumerate(normals):
        direction = normal.copy()
        for j, other in enumerate(q):
            if j != i:
                direction = direction - other * (other @ direction) / (other @ other)
        directions.append(direction)
    axes = np.array(directions)
    return np.asarray(axes / np.linalg.norm(axes, axis=1, keepdims=True))


@final
@dataclass(frozen=True, slots=True)
class Scored:
    """One population, number of labels, fit and way to move; means over attributes and repeats.

    normal: cosine of the fitted normal to the true one. direction: cosine of the move to the
    direction that changes the attribute alone. drift: mean change of the other fitted attributes' scores per standard
    deviation of the attribute's own change; elsewhere: of all attributes and nuisances that were not fitted. quality:
    balanced accuracy or R² on held-out labels.
    """

    population: str
    labels: int
    fit: str
    way: str
    normal: float
    direction: float
    drift: float
    elsewhere: float
    quality: float


def true_normals(population: str) -> Float[np.ndarray, "k d"]:
    """The gradient of every attribute's score in z, in the order of `NAMES`; rows of length 1.

    >>> normals = true_normals("balanced")
    >>> bool(np.allclose(normals @ normals.T, np.eye(len(NAMES)), rtol=0, atol=1e-9))
    True
    """
    return np.asarray(load_population(population).factor @ rotation()[:, ATTRIBUTE_COLUMNS].T)


def true_directions(population: str) -> Float[np.ndarray, "k d"]:
    """Along row a attribute a's score changes and no other's: unit duals of the true normals."""
    dual = np.linalg.pinv(true_normals(population)).T
    return np.asarray(dual / np.linalg.norm(dual, axis=1, keepdims=True))


def score(
    populations: Sequence[str] = POPULATIONS,
    labels: Sequence[int] = LABELS,
    repeats: int = REPEATS,
    progress: Callable[[str], object] = lambda _: None,
) -> list[Scored]:
    """Every population, number of labels, fit and way; the same draws for all fits of a repeat.

    Binary labels are whether a noisy score is above 0; balanced ones are balanced on `BALANCED_ON`. Deterministic.
    """
    rows = []
    for population in populations:
        for n in labels:
            measures = [_repeat(population, n, seed) for seed in range(repeats)]
            rows += [_mean(population, n, key, [by_key[key] for by_key in measures]) for key in measures[0]]
            progress(f"{population}: {n} labels")
    return rows


_Measures = tuple[float, float, float, float, float]
_Key = tuple[str, str]


def _repeat(population: str, n: int, seed: int) -> dict[_Key, _Measures]:
    draws = np.random.default_rng([seed, n])
    z = draws.standard_normal((n, LATENT_DIM))
    normals = true_normals(population)
    noisy = z @ normals.T + NOISE * draws.standard_normal((n, len(NAMES)))
    columns = {name: noisy[:, NAMES.index(name)] for name in FITTED}
    measures: dict[_Key, _Measures] = {}
    for fit in FITS:
        directions = [_fitted(fit, name, z, columns, seed) for name in FITTED]
        for way in WAYS:
            measures[fit, way] = _linear(population, directions, way)
    return measures


def _fitted(fit: str, name: str, z: np.ndarray, columns: Mapping[str, np.ndarray], seed: int) -> Direction:
    if fit == "ridge":
        return fit_direction(name, z, columns[name], "continuous", seed=seed)
    balanced_on = BALANCED_ON[name]
    balance = {balanced_on: (columns[balanced_on] > 0).astype(float)} if fit.endswith("balanced") else None
    return fit_direction(name, z, (columns[name] > 0).astype(float), "binary", balance=balance, seed=seed)


def _linear(population: str, directions: Sequence[Direction], way: str) -> _Measures:
    planes = hyperplanes(directions)
    dual = np.linalg.pinv(planes.normals).T
    moves = {
        "normals": planes.normals,
        "as published": orthogonalize_as_published(planes.normals),
        "dual": dual / np.linalg.norm(dual, axis=1, keepdims=True),
    }[way]
    cosine = _cosines(planes.normals, true_normals(population))
    quality = float(np.mean([direction.quality for direction in directions]))
    return cosine, *_of_moves(population, moves[:, None]), quality


def _cosines(directions: Float[np.ndarray, "K d"], truths: Float[np.ndarray, "k d"]) -> float:
    matching = truths[[NAMES.index(name) for name in FITTED]]
    return float((directions * matching).sum(axis=1).mean())


def _of_moves(population: str, moves: Float[np.ndarray, "K n d"]) -> tuple[float, float, float]:
    """Cosine to the direction of the attribute alone, drift of other fitted attributes, and of all that were not."""
    places = [NAMES.index(name) for name in FITTED]
    alone = true_directions(population)[places]
    cosine = (moves * alone[:, None]).sum(2) / np.linalg.norm(moves, axis=2)
    changes = moves @ true_normals(population).T
    intended = np.abs(np.array([changes[row, :, place] for row, place in enumerate(places)]))
    relative = np.abs(changes) / intended[..., None]
    fitted = [np.delete(relative[row][:, places], row, axis=1).mean() for row in range(len(places))]
    elsewhere = np.delete(relative, places, axis=2).mean()
    return float(cosine.mean()), float(np.mean(fitted)), float(elsewhere)


def _mean(population: str, n: int, key: _Key, measures: Sequence[_Measures]) -> Scored:
    return Scored(population, n, *key, *(float(np.mean(column)) for column in zip(*measures, strict=True)))
