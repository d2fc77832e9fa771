"""FaceWorld as a test bed of matching: people of a confounded population, and a model whose true effect is planted.

Attributes are those of rendered subjects of the population celebrity-like, where long hair goes with face shape, skin
tone and age; the model's rate of error depends on them as stated here, so that the truth is known without a picture.
The experiment sets the hair of the same people with FaceWorld's own controls.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.jobs.verify.planted import PlantedWorld, answers

NAME: Final = "faces of a confounded population"
EFFECT: Final = 0.1
COVARIATES: Final = ("face_shape", "skin_tone", "age")
OBSERVED, SUBJECTS = 400, 200
_POOL: Final = 8000
_LONG: Final = 0.5
_LENGTHS: Final = (0.2, 0.8)
_SEED: Final = 20_000


def rates(columns: Mapping[str, Float[np.ndarray, " n"]], on: float) -> Float[np.ndarray, " n"]:
    """The model's rate of error: .1 more with long hair, more for feminine faces below a bend, and for dark skin.

    >>> face = {"face_shape": np.array([0.5]), "skin_tone": np.array([1.0]), "hair_length": np.array([0.8])}
    >>> rates(face, 1.0), rates(face, 0.0)
    (array([0.2]), array([0.1]))
    """
    long = (columns["hair_length"] >= _LONG).astype(np.float64)
    bend = np.maximum(0.5 - columns["face_shape"], 0.0)
    return np.asarray(0.1 + EFFECT * on * long + 0.9 * bend + 0.1 * (columns["skin_tone"] - 1) / 9)


@functools.cache
def _people() -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Columns of the pool as it comes, and the same people with short and long hair, [n, 2]."""
    from transect.generators.faceworld.world import FaceWorld

    world = FaceWorld(image_size=64, population="celebrity-like")
    subjects = world.sample(_SEED + np.arange(_POOL))
    names = (*COVARIATES, "hair_length")
    observed = world.read(subjects)
    both = [world.read(world.set(subjects, {"hair_length": np.full(_POOL, length)})) for length in _LENGTHS]
    as_they_come = {name: observed[name].to_numpy().astype(np.float64) for name in names}
    return as_they_come, {name: np.stack([table[name].to_numpy() for table in both], axis=1) for name in names}


def _faces(rng: np.random.Generator, on: float) -> dict[str, np.ndarray]:
    observed, both = _people()
    chosen = rng.choice(_POOL, OBSERVED + SUBJECTS, replace=False)
    seen, tried = chosen[:OBSERVED], chosen[OBSERVED:]
    columns = {name: column[seen] for name, column in observed.items()}
    cells = {name: column[tried].ravel() for name, column in both.items()}
    return {
        "pairs": answers(rng, rates(cells, on).reshape(-1, 2), 0.3),
        "outcome": answers(rng, rates(columns, on)[:, None], 0.0)[:, 0],
        "attribute": (columns["hair_length"] >= _LONG).astype(np.float64),
        "covariates": np.column_stack([columns[name] for name in COVARIATES]),
    }


FACES: Final = (
    PlantedWorld(
        NAME,
        "FaceWorld's people, whose long hair is correlated with face shape, skin tone and age",
        _faces,
        {"effect": EFFECT},
    ),
)
