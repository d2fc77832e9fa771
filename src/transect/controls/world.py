"""A learned generator and its fitted directions as one world: it samples, renders, reads and sets.

What is set are values along the directions; where the generator knows the truth of a latent (FaceWorld's latent view),
the world passes it on, so that runs hold intended and true values apart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.controls.files import FittedDirections
from transect.controls.layers import EACH, ONE, of_one, takes
from transect.errors import BadInput
from transect.protocols import Generator, HasLayers, KnowsTruth, MapsSpaces, Table
from transect.records import Attribute, Images, Latents
from transect.runs import capabilities
from transect.runs.wording import spaced


def in_space(generator: Generator, latents: Latents, space: str) -> Latents:
    """The generator's latents in the space of directions; raises BadInput where the generator cannot map to it.

    Codes of w+ map to the mean of the layers' w; a w maps to the same w for every layer.
    """
    if latents.space == space:
        return latents
    if {latents.space, space} == {ONE, EACH} and isinstance(generator, HasLayers) and generator.layers:
        return _other_layers(latents, generator.layers)
    if not isinstance(generator, MapsSpaces):
        raise BadInput(
            f"directions: expected space {latents.space}, which {generator.name} samples, got space {space}; fit them"
            " on this generator: transect directions fit"
        )
    return generator.to_space(latents, space)


def _other_layers(latents: Latents, layers: int) -> Latents:
    rows = np.asarray(latents.values, dtype=np.float64).reshape(len(latents), -1)
    if latents.space == ONE:
        return replace(latents, values=np.tile(rows, (1, layers)), space=EACH)
    return of_one(latents, rows.shape[1] // layers)


@final
class LearnedWorld:
    """Generator and controls in one, for designs and audits.

    Raises BadInput for directions of another space, another number of coordinates, or that were fitted on other
    weights than the generator's.
    """

    def __init__(self, generator: Generator, fitted: FittedDirections) -> None:
        self.generator, self.fitted = generator, fitted
        self.controls = fitted.controls()
        self.name, self.image_size, self.latent_dim = generator.name, generator.image_size, generator.latent_dim
        self._check_weights()
        self.controls.read(self.sample(np.zeros(1, dtype=np.int64)))

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The attributes that the directions set."""
        return self.controls.attributes

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What `truths` has a column of: the generator's, where it knows them, before those of the directions."""
        known = self.generator.truth_attributes if isinstance(self.generator, KnowsTruth) else ()
        names = {attribute.name for attribute in known}
        return (*known, *(attribute for attribute in self.attributes if attribute.name not in names))

    @property
    def usual_levels(self) -> Mapping[str, tuple[float, ...]]:
        """Five evenly spaced values from where the labels see little of an attribute to where they see much of it."""
        return self.controls.usual_levels

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The generator's subjects, in the space of the directions, or in w+ where directions are of w."""
        return self._map_latents(self.generator.sample(seeds))

    def sample_unedited(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Subjects by which limits of edits are set: the generator's own draws, also where the study's are inverted."""
        return self._map_latents(capabilities.sample_unedited(self.generator, seeds))

    def render(self, latents: Latents) -> Images:
        """The generator's images."""
        return self.generator.render(latents)

    def read(self, latents: Latents) -> pa.Table:
        """Values along the directions, as `LearnedControls.read` has them."""
        return self.controls.read(latents)

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """Latents moved along the directions, as `LearnedControls.set` does."""
        return self.controls.set(latents, values, hold=hold)

    def move(self, latents: Latents, name: str, lengths: Float[np.ndarray, " n"]) -> Latents:
        """Latents along the attribute's unit direction, as `LearnedControls.move` does."""
        return self.controls.move(latents, name, lengths)

    def truths(self, latents: Latents) -> pa.Table:
        """The resulting attributes: by the generator where it knows them, else the values along the directions."""
        known = self.generator.truths(latents) if isinstance(self.generator, KnowsTruth) else None
        along = self.read(latents)
        if known is None:
            return along
        for name in along.column_names:
            known = known if name in known.column_names else known.append_column(name, along[name])
        return known

    def describe(self) -> dict[str, object]:
        """The generator's description, and where the directions come from."""
        truth_known = isinstance(self.generator, KnowsTruth)
        directions = {**self.fitted.describe(), "truth_known": truth_known}
        return {**capabilities.description(self.generator), "directions": directions}

    def validity(self) -> dict[str, object]:
        """The generator's validity; empty where it states none."""
        return capabilities.validity(self.generator)

    def check_subjects(self, wanted: int) -> None:
        """Raises BadInput for more subjects than the generator has, where their number is limited."""
        capabilities.check_subjects(self.generator, wanted)

    def _map_latents(self, latents: Latents) -> Latents:
        if takes(self.fitted.space, latents.space):
            return latents
        return in_space(self.generator, latents, self.fitted.space)

    def _check_weights(self) -> None:
        description = capabilities.description(self.generator)
        recorded = self.fitted.origin.get("generator")
        recorded = recorded if isinstance(recorded, Mapping) else {}
        for key in ("architecture", "weights_sha256"):
            if key in recorded and recorded[key] != description.get(key):
                raise BadInput(
                    f"directions: expected ones of generator {self.name}, got ones fitted on {recorded.get('name')}"
                    f" (another {spaced(key)}); fit them on this one: transect directions fit"
                )
