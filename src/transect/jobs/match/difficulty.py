"""How hard a reference image is: its distance to its own photograph, in features or as a network sees both pictures.

Source: Singh et al. 2021, Eq. 5 and footnote 5.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.datasets import features as files
from transect.datasets.files import Crop, pixels_of
from transect.datasets.parquet import PictureColumn
from transect.designs.matching.references import Measure
from transect.designs.matching.search import distances
from transect.errors import BadInput, UnknownName
from transect.jobs.match.options import Request

if TYPE_CHECKING:
    from torch import Tensor

    from transect.perceptual.distance import Appearance

SIDE: Final = 256
"""Pixels of the square at which pictures are compared: as much as VGG16 sees."""
WEIGHTED: Final = ("features", "vgg16")
"""The distances that take weights."""


def measure_of(request: Request) -> Measure | None:
    """How difficulty is measured where that is not the distance of the matching's features.

    Raises BadInput for features, pictures or weights that do not fit, UnknownName for a distance that does not exist.
    """
    source, weights = request.options.difficulty, request.options.difficulty_weights
    name = distance_name(source)
    if weights is not None and name not in WEIGHTED:
        raise BadInput(
            f"--difficulty-weights has no part in --difficulty {name or 'FILE'}: leave it out, or use "
            f"{' or '.join(WEIGHTED)}"
        )
    if source is None:
        return None
    if name is None:
        return _in_features(request, source)
    from transect.perceptual.distance import appearance_of

    if request.options.pictures is None:
        raise BadInput(f"--difficulty {name} compares pictures: name their column with --pictures COLUMN")
    if name == "vgg16" and weights is None:
        raise BadInput("--difficulty vgg16: expected VGG16's weights in torchvision's layout, got none; "
                       "give --difficulty-weights FILE")  # fmt: skip
    appearance = appearance_of(name, None if weights is None else Path(weights))
    return PictureDistance(PictureColumn(request.table, request.options.pictures, request.root), appearance)


def notes(request: Request) -> list[str]:
    """Says how the difficulty of reference images is measured, where it is between pictures."""
    name = distance_name(request.options.difficulty)
    if name is None:
        return []
    return [
        f"reference images are equally hard by the pictures' {name}: the root of that perceptual distance, of the "
        f"middle squares at {SIDE} x {SIDE} pixels"
    ]


def distance_name(source: files.FeaturesLike | None) -> str | None:
    """The perceptual distance that a text names, None for features. Raises UnknownName for the name of neither.

    >>> distance_name("pixels"), distance_name("pixels.npy"), distance_name("./pixels")
    ('pixels', None, None)
    """
    if not isinstance(source, str) or Path(source).name != source or Path(source).suffix:
        return None
    from transect.perceptual.distance import DISTANCES

    if source not in DISTANCES and not Path(source).exists():
        raise UnknownName("distance", source, DISTANCES, "--difficulty takes one, or a file of features")
    return source if source in DISTANCES else None


@final
class PictureDistance:
    """|φ(x) - φ(y)| of two rows' pictures, pair by pair, so that no more than two φ are held.

    Of each picture the middle square counts, at 256 x 256 pixels by area averaging, so that pictures of any size can be
    compared.
    """

    def __init__(self, pictures: PictureColumn, appearance: Appearance) -> None:
        self._pictures, self._appearance = pictures, appearance

    def __call__(self, rows: Int[np.ndarray, " m"], columns: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """Float64 [m]. Raises BadInput for a row without a picture, or whose picture cannot be read."""
        lengths, last, own = np.empty(len(rows)), -1, None
        for place, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            if own is None or row != last:
                last, own = row, self._seen(row)
            lengths[place] = (own - self._seen(column)).double().norm().item()
        return lengths

    def _seen(self, row: int) -> Tensor:
        import torch
        from PIL import Image

        from transect.perceptual.features import as_tensor

        stored = self._pictures.of(row)
        if stored is None:
            raise BadInput(
                f"picture of row {row}: expected one, got none; --difficulty compares the images of each matched "
                "person: drop the row"
            )
        square = Image.fromarray(pixels_of(stored, f"picture of row {row}", None, Crop()))
        small = np.array(square.resize((SIDE, SIDE), Image.Resampling.BOX))
        with torch.inference_mode():
            return self._appearance(as_tensor(small[None]))[0]


def _in_features(request: Request, source: files.FeaturesLike) -> Measure:
    values = files.read_features(source, (), files.ids_of(request.table), role="difficulty").values
    if len(values) != request.table.num_rows:
        rows = request.table.num_rows
        raise BadInput(f"--difficulty: expected as many rows as the table ({rows}), got {len(values)}")
    return partial(distances, values.reshape(len(values), -1))
