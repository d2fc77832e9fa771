"""UTKFace: the labels are in the names of the files, age_gender_race_date.jpg (or .jpg.chip.jpg).

Source: Zhang, Song and Qi 2017, Age progression/regression by conditional adversarial autoencoder.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import numpy as np

from transect.datasets.celeba import ABOUT
from transect.datasets.columns import Labelled, divided, levels_in_order, subjects_of
from transect.datasets.files import folder_of, images_below
from transect.datasets.labelled import LabelledImages, Request, Rows, build, digest
from transect.datasets.pictures import Files
from transect.errors import BadInput
from transect.records import Attribute

GENDERS: Final = ("male", "female")
RACES: Final = ("White", "Black", "Asian", "Indian", "Others")
OTHER_NAMES: Final = "images whose names are not age_gender_race_date"
_NAME: Final = re.compile(r"(\d{1,3})_([01])_([0-4])_(\d+)(?:\.[^/]*)?")
_SOURCE: Final = "UTKFace's file names"


def read(path: Path, request: Request) -> LabelledImages:
    """UTKFace below `path`, all of its folders. Names that lack a field, as some do, are counted and left out."""
    folder_of(path, "UTKFace's folder")
    if request.split is not None:
        raise BadInput(f"split: expected none for UTKFace, got {request.split!r}; leave it out")
    files = images_below(path)
    matched = [(file, match) for file in files if (match := _NAME.fullmatch(file.name))]
    if not matched:
        raise BadInput(f"{path}: expected images named age_gender_race_date.jpg, got none of {len(files)}; look there")
    labels, skipped = _labels([match.groups() for _, match in matched])
    kept = tuple(file for file, _ in matched)
    ids = tuple(file.relative_to(path).as_posix() for file in kept)
    left = {OTHER_NAMES: len(files) - len(kept)}
    subjects = subjects_of(None, len(ids))
    rows = Rows(Files(kept), ids, labels, subjects, digest(["\n".join(ids).encode()]), skipped, left, ABOUT)
    return build("utkface", path, rows, request)


def _labels(fields: list[tuple[str, ...]]) -> tuple[dict[str, Labelled], dict[str, str]]:
    ages = np.array([float(age) for age, *_ in fields])
    found: dict[str, Labelled | str] = {"age": "one value only"}
    if len(np.unique(ages)) > 1:
        low, high = float(ages.min()), float(ages.max())
        found["age"] = Attribute("age", "continuous", "label age", "years", low, high, source=_SOURCE), ages
    for place, (name, levels) in enumerate({"gender": GENDERS, "race": RACES}.items(), start=1):
        texts = [levels[int(row[place])] for row in fields]
        found[name] = levels_in_order(name, texts, levels, f"label {name}, as annotators saw it", _SOURCE)
    return divided(found)
