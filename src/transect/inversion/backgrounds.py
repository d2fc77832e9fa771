"""Inverted photographs on their own backgrounds: what a generator draws stands inside a mask of the photograph alone.

An inversion reconstructs a whole picture, and an edit in the latent space moves all of it. With the photograph put back
outside a mask of the face, bitwise, only what is inside can have caused a change of the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from jaxtyping import Bool, UInt8

from transect.datasets import is_dataset, open_dataset
from transect.datasets.ids import as_named
from transect.errors import BadInput
from transect.generators.photographs.masks import Mask, Shown, composite, feathered, open_mask
from transect.inversion.pictures import Pictures


@final
@dataclass(frozen=True)
class Backgrounds:
    """The photographs of subjects, in their order. rows: of `pictures`, one of each subject."""

    pictures: Pictures
    rows: tuple[int, ...]
    mask: Mask

    @classmethod
    def open(cls, photographs: str | Path, mask: str, ids: Sequence[str], size: int) -> Backgrounds:
        """The photographs of those ids in a folder or data set, framed as `transect invert` frames them.

        mask: as `open_mask` reads it, its paths relative to the current folder. Raises BadInput where a photograph is
        not there, or the mask has no pixel on one.
        """
        of_data = is_dataset(photographs)
        labelled = open_dataset(str(photographs), image_size=size, labelled=False) if of_data else None
        pictures = Pictures.open(photographs, size, fit=labelled is None)
        named, _ = as_named(list(ids), list(pictures.ids))
        places = {name: row for row, name in enumerate(pictures.ids)}
        if missing := [name for name in named if name not in places]:
            more = f" or {len(missing) - 1} others" if missing[1:] else ""
            raise BadInput(
                f"--photographs {photographs}: expected the {len(ids)} photographs that were inverted, got none named "
                f"{missing[0]}{more}; name their folder or data set"
            )
        region = open_mask(mask, Path(), labelled, [str(name) for name in named])
        opened = cls(pictures, tuple(places[str(name)] for name in named), region)
        opened.check()
        return opened

    def check(self) -> None:
        """Raises BadInput for a photograph on which the mask has no pixel: nothing could be edited there."""
        for subject, row in enumerate(self.rows):
            if not self.inside(subject).any():
                raise BadInput(
                    f"--mask: expected a pixel on {self.pictures.ids[row]}, got none; change the mask, or leave the "
                    "photograph out of the inversion"
                )

    def photograph(self, subject: int) -> UInt8[np.ndarray, "s s 3"]:
        """The photograph of a subject, as it was inverted."""
        return np.asarray(self.pictures.pixels([self.rows[subject]])[0])

    def inside(self, subject: int) -> Bool[np.ndarray, "s s"]:
        """The pixels that the generator may draw."""
        return self.mask.of(self._shown(subject))

    def put_back(self, drawn: UInt8[np.ndarray, "s s 3"], subject: int) -> UInt8[np.ndarray, "s s 3"]:
        """What the generator draws inside the mask, and bitwise the photograph outside."""
        shown = self._shown(subject)
        return composite(shown.picture, drawn, feathered(self.mask.of(shown), self.mask.feather))

    def describe(self) -> dict[str, object]:
        """The photographs' SHA-256 and the mask, without a path."""
        return {"pictures_sha256": self.pictures.sha256, "mask": self.mask.describe()}

    def _shown(self, subject: int) -> Shown:
        row, pictures = self.rows[subject], self.pictures
        width, height = pictures.stored_size(row)

        def frame(whole: UInt8[np.ndarray, "a b 3"]) -> UInt8[np.ndarray, "h w 3"]:
            return pictures.framed(whole, row)

        return Shown(pictures.ids[row], row, width, height, self.photograph(subject), frame)
