"""Inverted photographs as the subjects of a generator: audits of directions then edit photographs of people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Int

from transect.datasets.latents_file import InvertedCodes, check_generator, read_codes
from transect.errors import BadInput
from transect.generators.faceworld.chance import check_seeds
from transect.protocols import Generator, HasLayers, MapsSpaces
from transect.records import SUBJECTS_PER_SEED, Images, Latents
from transect.runs.capabilities import description

PHOTOGRAPHS: Final = "photographs"
"""Key of a run's spec for the origin of its subjects."""


@final
class InvertedPhotographs:
    """A generator whose subject i is the i-th photograph whose inversion did not fail, as its code has it.

    The run's seed plays no part: there are no others to draw. What an image of a subject shows is the reconstruction,
    not the photograph. Raises BadInput for codes of another generator, or none that are finite.
    """

    def __init__(self, generator: Generator, inverted: InvertedCodes, path: Path) -> None:
        check_generator(inverted, description(generator), path)
        finite = np.isfinite(inverted.codes).all(axis=1)
        if not finite.any():
            raise BadInput(f"{path}: expected inverted photographs, got {len(finite)} that failed; invert them again")
        self.generator, self.found, self.path = generator, inverted, path
        self.ids = tuple(name for name, is_finite in zip(inverted.ids, finite, strict=True) if is_finite)
        self.left_out = tuple(name for name, is_finite in zip(inverted.ids, finite, strict=True) if not is_finite)
        self._codes = inverted.codes[finite]
        self.name, self.image_size, self.latent_dim = generator.name, generator.image_size, self._codes.shape[1]
        self.layers = generator.layers if isinstance(generator, HasLayers) else None

    @classmethod
    def open(cls, generator: Generator, path: str | Path) -> InvertedPhotographs:
        """The photographs of a file of `transect invert`. Raises BadInput for others."""
        return cls(generator, read_codes(Path(path)), Path(path))

    @property
    def subjects(self) -> int:
        """Number of photographs."""
        return len(self.ids)

    def check_subjects(self, wanted: int) -> None:
        """Raises BadInput for more subjects than photographs."""
        if wanted > self.subjects:
            lost = f" ({len(self.left_out):,} more failed)" if self.left_out else ""
            raise BadInput(
                f"--latents {self.path}: expected at most {self.subjects:,} subjects, as many as photographs were"
                f" inverted{lost}, got {wanted:,}; give --subjects {self.subjects}"
            )

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The codes of those subjects. Raises BadInput beyond the last photograph."""
        numbers = check_seeds(seeds)
        rows = numbers % SUBJECTS_PER_SEED
        self.check_subjects(int(rows.max(initial=0)) + 1)
        return Latents(numbers, self._codes[rows], self.found.space)

    def sample_unedited(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Subjects that are not photographs: the generator's own draws, by which limits of edits are set."""
        return self.generator.sample(seeds)

    def to_space(self, latents: Latents, space: str) -> Latents:
        """As the generator maps z; w cannot be mapped back. Raises BadInput where there is none."""
        if latents.space == "z" and isinstance(self.generator, MapsSpaces):
            return self.generator.to_space(latents, space)
        raise BadInput(
            f"--latents {self.path}: expected codes of space {space}, as the directions are, got {latents.space};"
            f" invert with --space {space}, or fit directions in {'w' if latents.space == 'w+' else latents.space}"
        )

    def render(self, latents: Latents) -> Images:
        """The generator's images."""
        return self.generator.render(latents)

    def describe(self) -> dict[str, object]:
        """The generator's description, and the photographs'."""
        facts = {"sha256": self.found.sha256, "space": self.found.space, "count": self.subjects}
        facts["failed"] = len(self.left_out)
        return {**description(self.generator), PHOTOGRAPHS: facts}
