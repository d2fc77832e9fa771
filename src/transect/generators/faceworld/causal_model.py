"""From exogenous noise to attribute values: the structural causal model of FaceWorld.

u ~ N(0, I) holds the identity code and one coordinate per attribute, which the population turns into values; a
population may give an attribute a mechanism, a linear equation in other attributes. `exposure` always has one: the
camera's meter, downstream of skin, light and metering; its own coordinate of u is the metering error.
Interventions do(name = value) stand in `Latents.settings` and are applied when the model is solved, so that u is never
changed: the same noise under another population is the same subject (abduction). Source: Pearl 2009, Causality,
chapters 3 and 7; direct effects: Pearl 2001, arXiv:1301.2300.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY, NAMES, attribute
from transect.generators.faceworld.exposure import PARENTS as EXPOSURE_PARENTS
from transect.generators.faceworld.exposure import metered_exposure
from transect.generators.faceworld.population import Population
from transect.generators.requests import requested_columns
from transect.protocols import Table
from transect.records import Latents
from transect.runs.inputs import as_names

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
            values[name] = _apply_setting(value, latents.settings.get(name))
        return {name: values[name] for name in NAMES}

    def intervene(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """do(values): the same rows with these values set; `hold` pins attributes to their values from before."""
        check_latents(latents)
        columns = requested_columns(ATTRIBUTES, values, hold, len(latents), "see: transect attributes")
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


def _apply_setting(value: Float[np.ndarray, " n"], setting: Float[np.ndarray, " n"] | None) -> Float[np.ndarray, " n"]:
    return value if setting is None else np.where(np.isnan(setting), value, setting)
