"""Inverted photographs as the subjects of a generator: audits of directions then edit photographs of people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Int

from transect.datasets.latents_file import InvertedCodes, check_generator, read_codes
from transect.errors import BadInput
from transect.generators.faceworld.chance import check_seeds
from transect.inversion.backgrounds import Backgrounds
from transect.protocols import Generator, HasLayers, MapsSpaces
from transect.records import SUBJECTS_PER_SEED, Images, Latents
from transect.runs.capabilities import description

PHOTOGRAPHS: Final = "photographs"
"""Key of a run's spec for the origin of its subjects."""
BACKGROUND: Final = "background"
"""Key below it for photographs that are put back outside a mask."""
_NO_PHOTOGRAPH: Final = SUBJECTS_PER_SEED >> 1


@final
class InvertedPhotographs:
    """A generator whose subject i is the i-th photograph whose inversion did not fail, as its code has it.

    The run's seed plays no part: there are no others to draw. What an image of a subject shows is the reconstruction,
    not the photograph; with `backgrounds` the reconstruction stands inside a mask, and all else is the photograph's,
    bitwise. Raises BadInput for codes of another generator, or none that are finite.
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
        self.backgrounds: Backgrounds | None = None

    @classmethod
    def open(
        cls, generator: Generator, path: str | Path, photographs: str | Path | None = None, mask: str | None = None
    ) -> InvertedPhotographs:
        """The photographs of a file of `transect invert`. Raises BadInput for others.

        photographs, mask: what was inverted, and where a subject's image is the generator's: see `Backgrounds.open`.
        """
        if (photographs is None) != (mask is None):
            given = "--mask alone" if photographs is None else "--photographs alone"
            raise BadInput(f"expected --photographs and --mask, which keep a photograph's background, got {given}; give"
                           " both or neither")  # fmt: skip
        opened = cls(generator, read_codes(Path(path)), Path(path))
        if photographs is not None and mask is not None:
            opened.backgrounds = Backgrounds.open(photographs, mask, opened.ids, opened.image_size)
        return opened

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
        drawn = self.generator.sample(seeds)
        if self.backgrounds is None:
            return drawn
        # A seed whose place is that of no photograph: these have no background of their own.
        return replace(drawn, seeds=drawn.seeds | _NO_PHOTOGRAPH)

    def to_space(self, latents: Latents, space: str) -> Latents:
        """As the generator maps z; w cannot be mapped back. Raises BadInput where there is none."""
        if latents.space == "z" and isinstance(self.generator, MapsSpaces):
            return self.generator.to_space(latents, space)
        raise BadInput(
            f"--latents {self.path}: expected codes of space {space}, as the directions are, got {latents.space};"
            f" invert with --space {space}, or fit directions in {'w' if latents.space == 'w+' else latents.space}"
        )

    def render(self, latents: Latents) -> Images:
        """The generator's images, with backgrounds inside the masks of the photographs alone."""
        drawn = self.generator.render(latents)
        if self.backgrounds is None:
            return drawn
        pixels = drawn.pixels.copy()
        for row, subject in enumerate((latents.seeds % SUBJECTS_PER_SEED).tolist()):
            if subject < self.subjects:
                pixels[row] = self.backgrounds.put_back(pixels[row], subject)
        return Images(pixels)

    def edit_masks(self, latents: Latents) -> Bool[np.ndarray, "n s s"]:
        """The pixels of each row that are the generator's; outside, the image is bitwise the photograph."""
        masks = np.ones((len(latents), self.image_size, self.image_size), dtype=np.bool_)
        for row, subject in enumerate((latents.seeds % SUBJECTS_PER_SEED).tolist()):
            if self.backgrounds is not None and subject < self.subjects:
                masks[row] = self.backgrounds.inside(subject)
        return masks

    def describe(self) -> dict[str, object]:
        """The generator's description, and the photographs'."""
        facts: dict[str, object] = {"sha256": self.found.sha256, "space": self.found.space, "count": self.subjects}
        facts["failed"] = len(self.left_out)
        facts |= {} if self.backgrounds is None else {BACKGROUND: self.backgrounds.describe()}
        return {**description(self.generator), PHOTOGRAPHS: facts}
