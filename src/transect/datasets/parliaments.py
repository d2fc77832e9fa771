"""The Pilot Parliaments Benchmark as it is distributed: portraits of members of six parliaments (gendershades.org).

imgs/                      pictures
PPB-2017-metadata.csv      filename, and a column per label: country, gender, fitz (I to VI), bi.fitz (darker, lighter)

Source: Buolamwini and Gebru 2018, Gender Shades, PMLR 81.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from transect.datasets import labelled
from transect.datasets.files import columns_of, folder_of, images_below, needed
from transect.errors import BadInput

ABOUT: Final = "Gender and skin type are how annotators saw the portraits, not who the people are."
FILE: Final = "filename"
TYPES: Final = ("I", "II", "III", "IV", "V", "VI")
"""Fitzpatrick's skin types, from the lightest."""
_TABLE: Final = "PPB-2017-metadata.csv"
_INSIDE: Final = (".", "PPB-2017")


def read(path: Path, request: labelled.Request) -> labelled.LabelledImages:
    """The data set below `path`; each person has one portrait. Dots in the names of columns become underscores."""
    folder_of(path, "the folder of PPB")
    if request.split is not None:
        raise BadInput(f"split: PPB has no splits, got {request.split!r}; leave it out")
    source, root = needed(path, (_TABLE,), "PPB", _INSIDE), needed(path, ("imgs",), "PPB", _INSIDE)
    cells = columns_of(source)
    if FILE not in cells:
        raise BadInput(f"{source}: expected a column {FILE}, got {', '.join(cells)}; use the file as distributed")
    names = [str(name) for name in cells.pop(FILE)]
    rows = labelled.joined(
        names,
        {file.relative_to(root).as_posix(): file for file in images_below(root)},
        lambda kept: _labels({name: [column[row] for row in kept] for name, column in cells.items()}),
        [source],
        about=ABOUT,
    )
    return labelled.build("ppb", path, replace(rows, ids=tuple(Path(name).stem for name in rows.ids)), request)


def _labels(cells: Mapping[str, list[object]]) -> tuple[dict[str, labelled.Labelled], dict[str, str]]:
    """Labels of the columns; skin types in their order."""
    named = {name.replace(".", "_"): [str(cell or "").strip() for cell in column] for name, column in cells.items()}
    types = {name for name, column in named.items() if set(filter(None, column)) <= set(TYPES) and any(column)}
    labels, skipped = labelled.attributes_of({name: column for name, column in named.items() if name not in types})
    meaning = "label {}: Fitzpatrick's skin type as annotators saw it"
    ordered = {
        name: labelled.levels_in_order(name, named[name], TYPES, meaning.format(name), "PPB's labels") for name in types
    }
    found, why = labelled.divided(dict(sorted(ordered.items())))
    return {**labels, **found}, {**skipped, **why}
