"""Where people are on COCO's pictures: the union of their outlines, or of their boxes, in the pictures' own frame.

Outlines are polygons, or runs of pixels (see `coco_runs`). Source: Lin et al. 2014, arXiv:1405.0312.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Int

from transect.datasets.coco import PERSON, objects_table, read_json, records
from transect.datasets.coco_runs import pixels_of_runs
from transect.datasets.labelled import LabelledImages
from transect.datasets.pictures import pixels_of
from transect.errors import UnknownName

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
        """The pixels of that region, cut and sized as the pictures are."""
        return np.stack([self._mask(region, self.images.ids[int(row)]) for row in rows])

    def stored(self, region: str, name: str) -> Bool[np.ndarray, "height width"]:
        """The pixels of that region on the picture of that id as it is stored. Raises UnknownName as `of`."""
        if region not in REGIONS:
            raise UnknownName("region of COCO's annotations", region, REGIONS)
        width, height = self.sizes[name]
        there = np.zeros((height, width), dtype=np.bool_)
        for person in self.people.get(name, ()):
            there |= _box(person, width, height) if region == "box" else _outline(person, width, height, name)
        return there

    def _mask(self, region: str, name: str) -> Bool[np.ndarray, "h w"]:
        there = self.stored(region, name)
        drawn, whole = (self._framed(mask, name) for mask in (there, np.ones_like(there)))
        return (drawn > _TOUCHED) & (whole > _WITHIN)

    def _framed(self, mask: Bool[np.ndarray, "h w"], name: str) -> Int[np.ndarray, "height width"]:
        from PIL import Image

        content = io.BytesIO()
        Image.fromarray(np.where(mask, 255, 0).astype(np.uint8)).save(content, "PNG")
        side = self.images.image_size if self.images.fitted else None
        return np.asarray(pixels_of(content.getvalue(), name, side, self.images.crop)[..., 0], dtype=np.int64)


def people_on(images: LabelledImages) -> PeopleOnPictures:
    """The people on the pictures of parts of COCO, as its tables of objects have them."""
    people: dict[str, list[Mapping[str, Any]]] = {}
    sizes: dict[str, tuple[int, int]] = {}
    for part in sorted({Path(images.pictures.name(row)).parent.name for row in range(len(images))}):
        table = objects_table(images.path, part)
        content = read_json(table, ("images", "annotations", "categories"))
        pictures = records(content["images"], table, "id", "file_name", "width", "height")
        names = {int(row["id"]): Path(str(row["file_name"])).stem for row in pictures}
        sizes |= {Path(str(row["file_name"])).stem: (int(row["width"]), int(row["height"])) for row in pictures}
        for person in _persons(content, table):
            people.setdefault(names.get(int(person["image_id"]), ""), []).append(person)
    return PeopleOnPictures(images, people, sizes)


def _persons(content: Mapping[str, Any], table: Path) -> Iterator[Mapping[str, Any]]:
    """Annotations of persons. Raises BadInput for one without a box or an outline."""
    kinds = {int(row["id"]) for row in records(content["categories"], table, "id", "name") if row["name"] == PERSON}
    for row in records(content["annotations"], table, "image_id", "category_id"):
        if int(row["category_id"]) in kinds:
            yield from records(dict(row), table, "bbox", "segmentation")


def _box(person: Mapping[str, Any], width: int, height: int) -> Bool[np.ndarray, "h w"]:
    """Every pixel that a box of left, top, width and height touches."""
    left, top, wide, high = (float(value) for value in person["bbox"])
    mask = np.zeros((height, width), dtype=np.bool_)
    mask[max(0, int(top)) : int(np.ceil(top + high)), max(0, int(left)) : int(np.ceil(left + wide))] = True
    return mask


def _outline(person: Mapping[str, Any], width: int, height: int, name: str) -> Bool[np.ndarray, "h w"]:
    """The pixels of polygons, or of runs."""
    from PIL import Image, ImageDraw

    marked = person["segmentation"]
    if isinstance(marked, dict):
        return pixels_of_runs(marked, width, height, name)
    drawing = Image.new("1", (width, height))
    for polygon in marked:
        ImageDraw.Draw(drawing).polygon([float(value) for value in polygon], fill=1, outline=1)
    return np.asarray(drawing, dtype=np.bool_)
