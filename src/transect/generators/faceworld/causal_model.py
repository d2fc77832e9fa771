"""The causal model of faces, and its latent view z = R u, in which each attribute's normal score is linear."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY, NAMES, attribute
from transect.generators.faceworld.population import Population
from transect.generators.faceworld.reflectance import PARENTS as EXPOSURE_PARENTS
from transect.generators.faceworld.reflectance import metered_exposure
from transect.generators.requests import requested_columns
from transect.protocols import Table
from transect.records import Latents
from transect.runs.table_inputs import as_names

_BEFORE = 36
_FREE = 1
"""Coordinates behind the attributes that nothing uses: the next attribute takes one, and no trait has to move."""
LATENT_DIM = len(IDENTITY) + len(ATTRIBUTES) + _FREE
ATTRIBUTE_COLUMNS = slice(_BEFORE, _BEFORE + len(ATTRIBUTES))
"""Coordinates of u that become attributes."""
IDENTITY_COLUMNS = np.r_[:_BEFORE, ATTRIBUTE_COLUMNS.stop + _FREE : LATENT_DIM]
"""Coordinates of u that are the identity code. Traits that came later lie behind the attributes, so that a seed's
attributes stay what they were."""
SPACE = "u"


@final
@dataclass(frozen=True, slots=True)
class CausalModel:
    """The structural equations of one population."""

    population: Population

    def solve(self, latents: Latents) -> dict[str, Float[np.ndarray, " n"]]:
        """The value of every attribute for each row, after the row's interventions."""
        check_latents(latents)
        scores = self.population.scores(latents.values[:, ATTRIBUTE_COLUMNS])
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
