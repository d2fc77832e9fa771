"""Where people are on COCO's pictures: the union of their outlines, or of their boxes, in the pictures' own frame.

Outlines are polygons, or runs of pixels down the columns for crowds. Source: Lin et al. 2014, arXiv:1405.0312.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Int
from PIL import Image, ImageDraw

from transect.datasets.coco import PERSON, objects_table, read_json, records
from transect.datasets.labelled import LabelledImages
from transect.datasets.pictures import pixels_of
from transect.errors import BadInput, UnknownName

REGIONS: Final = ("mask", "box")
_TOUCHED: Final = 32
"""Of 255: what a pixel has at least, after resizing, where a person touches it; below, resizing rings."""
_WITHIN: Final = 250
"""A pixel of the picture; its grey margins have less."""


@final
@dataclass(frozen=True)
class PeopleOnPictures:
    """Regions of a data set's pictures, as `mitigation.hiding.Regions`. people: annotations of persons by picture's id.

    sizes: width and height of each picture, as the annotations have it.
    """

    images: LabelledImages
    people: Mapping[str, Sequence[Mapping[str, Any]]]
    sizes: Mapping[str, tuple[int, int]]

    def of(self, region: str, rows: Int[np.ndarray, " m"]) -> Bool[np.ndarray, "m h w"]:
        """The pixels of that region, cut and sized as the pictures are.

        Raises UnknownName for a region that COCO does not mark, as face.
        """
        if region not in REGIONS:
            raise UnknownName("region of COCO's annotations", region, REGIONS)
        return np.stack([self._mask(region, self.images.ids[int(row)]) for row in rows])

    def _mask(self, region: str, name: str) -> Bool[np.ndarray, "h w"]:
        width, height = self.sizes[name]
        there = np.zeros((height, width), dtype=np.bool_)
        for person in self.people.get(name, ()):
            there |= _box(person, width, height) if region == "box" else _outline(person, width, height, name)
        drawn, whole = (self._framed(mask, name) for mask in (there, np.ones_like(there)))
        return (drawn > _TOUCHED) & (whole > _WITHIN)

    def _framed(self, mask: Bool[np.ndarray, "h w"], name: str) -> Int[np.ndarray, "height width"]:
        content = io.BytesIO()
        Image.fromarray(np.where(mask, 255, 0).astype(np.uint8)).save(content, "PNG")
        side = self.images.image_size if self.images.fitted else None
        return np.asarray(pixels_of(content.getvalue(), name, side, self.images.crop)[..., 0], dtype=np.int64)


def people_on(images: LabelledImages) -> PeopleOnPictures:
    """The people on the pictures of a part of COCO, as its table of objects has them.

    Raises BadInput where the table is another.
    """
    part = Path(images.pictures.name(0)).parent.name
    table = objects_table(images.path, part)
    content = read_json(table, ("images", "annotations", "categories"))
    pictures = records(content["images"], table, "id", "file_name", "width", "height")
    names = {int(row["id"]): Path(str(row["file_name"])).stem for row in pictures}
    sizes = {Path(str(row["file_name"])).stem: (int(row["width"]), int(row["height"])) for row in pictures}
    kinds = {int(row["id"]) for row in records(content["categories"], table, "id", "name") if row["name"] == PERSON}
    people: dict[str, list[Mapping[str, Any]]] = {}
    for row in records(content["annotations"], table, "image_id", "category_id"):
        if int(row["category_id"]) in kinds:
            (found,) = records(dict(row), table, "bbox", "segmentation")
            people.setdefault(names.get(int(row["image_id"]), ""), []).append(found)
    return PeopleOnPictures(images, people, sizes)


def _box(person: Mapping[str, Any], width: int, height: int) -> Bool[np.ndarray, "h w"]:
    """Every pixel that a box of left, top, width and height touches."""
    left, top, wide, high = (float(value) for value in person["bbox"])
    mask = np.zeros((height, width), dtype=np.bool_)
    mask[max(0, int(top)) : int(np.ceil(top + high)), max(0, int(left)) : int(np.ceil(left + wide))] = True
    return mask


def _outline(person: Mapping[str, Any], width: int, height: int, name: str) -> Bool[np.ndarray, "h w"]:
    """The pixels of polygons, or of runs."""
    marked = person["segmentation"]
    if isinstance(marked, dict):
        return _runs(marked, width, height, name)
    drawing = Image.new("1", (width, height))
    for polygon in marked:
        ImageDraw.Draw(drawing).polygon([float(value) for value in polygon], fill=1, outline=1)
    return np.asarray(drawing, dtype=np.bool_)


def _runs(marked: Mapping[str, Any], width: int, height: int, name: str) -> Bool[np.ndarray, "h w"]:
    """Runs of pixels without and with a person in turn, down one column after the other.

    >>> _runs({"counts": [1, 2, 3]}, 3, 2, "a")
    array([[False,  True, False],
           [ True, False, False]])
    """
    counts = marked.get("counts")
    if not isinstance(counts, list) or sum(counts) != width * height:
        raise BadInput(
            f"{name}: expected an outline's counts as a list that sums to {width * height} pixels, got another"
        )
    return np.repeat(np.arange(len(counts)) % 2 == 1, counts).reshape(width, height).T
