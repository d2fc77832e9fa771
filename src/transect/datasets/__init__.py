"""Labelled photographs as a study's images: readers that look like a world whose attributes come as they are."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from transect.datasets.folder import LabelledFolder
from transect.errors import BadInput, UnknownName

__all__ = ["LabelledFolder", "open_dataset"]

READERS: Final = {"folder": LabelledFolder}


def open_dataset(text: str, *, image_size: int | None = None) -> LabelledFolder:
    """The data set that READER:PATH names, e.g. folder:faces. See the how-to on auditing photographs.

    image_size: side of the square that images are fitted into where they have several sizes (default 128).

    Raises UnknownName for another reader, BadInput for a folder that cannot be read as one.
    """
    reader, colon, path = text.partition(":")
    if not colon or not path:
        raise BadInput(f"--dataset {text!r}: expected READER:PATH, for example folder:faces")
    if reader not in READERS:
        raise UnknownName("reader", reader, READERS, hint="a data set is READER:PATH")
    return READERS[reader].open(Path(path), image_size=image_size)
