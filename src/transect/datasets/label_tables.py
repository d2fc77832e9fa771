"""The labels of a data set as a table, without its pictures: READER:PATH, as coco:data/coco or imsitu:data/imsitu."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

import pyarrow as pa

from transect.datasets import coco, imsitu, open_dataset, options_of
from transect.datasets.coco import GENDER
from transect.datasets.labelled import LabelledImages
from transect.errors import BadInput

NO_GENDER: Final = "pictures whose annotators name no gender, or both"
YEARS: Final = ("2014", "2017")


@final
@dataclass(frozen=True)
class LabelTable:
    """A table of labels. labels, protected, split: its columns of these, where the data set says which; else ""."""

    table: pa.Table
    labels: tuple[str, ...] = ()
    protected: str = ""
    split: str = ""
    left_out: Mapping[str, int] = field(default_factory=dict)
    about: str = ""


def label_table(text: str) -> LabelTable:
    """Labels of READER:PATH; of coco and imsitu by annotators' words alone, without pictures that name no gender."""
    reader = text.partition(":")[0]
    if reader not in ("coco", "imsitu"):
        return _of_images(open_dataset(text))
    path, options = options_of(text.partition(":")[2])
    part = (options["split"],) if "split" in options else ()
    if reader == "imsitu":
        columns, lost = imsitu.label_columns(Path(path), part or imsitu.PARTS)
    else:
        columns, lost = coco.label_columns(Path(path), part or _parts_of(Path(path)))
    labels = tuple(name for name in columns if name not in ("id", "split", GENDER))
    about = imsitu.ABOUT if reader == "imsitu" else coco.ABOUT
    return LabelTable(pa.table(columns), labels, GENDER, "split", {NO_GENDER: lost}, about)


def _parts_of(path: Path) -> tuple[str, ...]:
    """The parts of the first year whose annotations are there."""
    for year in YEARS:
        if coco.has_objects(path, f"train{year}"):
            return f"train{year}", f"val{year}"
    raise BadInput(f"{path}: no instances_train2014.json or instances_train2017.json; name COCO's folder")


def _of_images(images: LabelledImages) -> LabelTable:
    """Labels as texts where they are levels; null where there is none."""
    columns: dict[str, object] = {"id": list(images.ids), "subject": list(images.subjects)}
    for attribute in images.attributes:
        name = attribute.name
        numbers = pa.array(images.values[name], from_pandas=True)
        columns[name] = images.level_names(name) if attribute.levels else numbers
    return LabelTable(pa.table(columns), left_out=images.left_out, about=images.about)
