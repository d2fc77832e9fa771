"""The causal model of faces, and its latent view z = R u, in which each attribute's normal score is linear."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY, NAMES, TRAITS, attribute
from transect.generators.faceworld.population import Population
from transect.generators.faceworld.reflectance import PARENTS as EXPOSURE_PARENTS
from transect.generators.faceworld.reflectance import metered_exposure
from transect.generators.requests import requested_columns
from transect.protocols import Table
from transect.records import Latents
from transect.runs.table_inputs import as_names

_BEFORE = 36
_LATER = ("brows_raised", "asymmetry", "face_mask")
_OTHERS = tuple(name for name in NAMES if name not in (*TRAITS, *_LATER))
COORDINATES = (*TRAITS[:_BEFORE], *_OTHERS, *TRAITS[_BEFORE:], *_LATER)
"""What each coordinate of u becomes. What came later lies behind what was there, so that a seed's person stays who it
was, and a trait that became an attribute keeps its coordinate."""
LATENT_DIM = len(COORDINATES)
ATTRIBUTE_COLUMNS = np.array([COORDINATES.index(name) for name in NAMES])
"""Coordinates of u that become attributes."""
IDENTITY_COLUMNS = np.array([COORDINATES.index(name) for name in IDENTITY])
"""Coordinates of u that are the identity code."""
SPACE = "u"


@final
@dataclass(frozen=True, slots=True)
class CausalModel:
    """The structural equations of one population."""

    population: Population

    def solve(self, latents: Latents) -> dict[str, Float[np.ndarray, " n"]]:
        """The value of every attribute for each row, after the row's interventions."""
        check_latents(latents)
        scores = self.population.scores(latents.values.take(ATTRIBUTE_COLUMNS, axis=1))
        values: dict[str, Float[np.ndarray, " n"]] = {}
        for name in self.population.order:  # causes before effects
            value = self.population.value(name, values, scores[:, NAMES.index(name)])
            if name == "exposure":
                metered = metered_exposure(*(values[parent] for parent in EXPOSURE_PARENTS))
                value = np.clip(metered + value, *attribute(name).bounds)
            setting = latents.settings.get(name)
            values[name] = value if setting is None else np.where(np.isnan(setting), value, setting)
        return {name: values[name] for name in NAMES}

    def intervene(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """do(values): the same rows with these values set; `hold` pins attributes to their values from before."""
        check_latents(latents)
        columns = requested_columns(ATTRIBUTES, values, hold, len(latents), "see: transect list attributes")
        before = self.solve(latents) if hold else {}
        return replace(
            latents, settings={**latents.settings, **{name: before[name] for name in as_names(hold)}, **columns}
        )


def check_latents(latents: Latents) -> None:
    """Raises BadInput unless the latents are FaceWorld's: space u, [n, LATENT_DIM]."""
    shape = latents.values.shape
    if latents.space != SPACE or len(shape) != 2 or shape[1] != LATENT_DIM:
        raise BadInput(
            f"expected latents of FaceWorld (space u, [n, {LATENT_DIM}]), got space {latents.space} and shape"
            f" {list(shape)}; make them with FaceWorld.sample"
        )


LATENT_VIEW_SPACE = "z"


@functools.lru_cache(maxsize=1)
def rotation() -> Float[np.ndarray, "d d"]:
    """R: orthogonal, determinant 1, uniformly distributed, the same in every process."""
    draws = np.random.Generator(np.random.Philox(key=0x7A)).standard_normal((LATENT_DIM, LATENT_DIM))
    q, r = np.linalg.qr(draws)
    q = q * np.sign(np.diag(r))  # without the signs, Q is not uniformly distributed
    q[:, 0] *= np.sign(np.linalg.det(q))
    q.setflags(write=False)
    return q


def turned(matrix: Float[np.ndarray, "d d"], values: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    """The product of the matrix with each row."""
    # Row by row: the last bit of one product of all rows would depend on their number.
    return np.array([matrix @ row for row in values]).reshape(values.shape)
