"""The page on the raters: `raters.html` beside `raters.json`, which holds every number on it."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from transect.reports.document import WrittenDocument
from transect.reports.drawing.sections import sections
from transect.reports.environment import data_address, render
from transect.reports.records import RaterPage
from transect.runs.folder import write_atomically
from transect.runs.plain_json import dumps, plain

SIDE: Final = 88
"""Pixels of a picture's longer side; larger ones are reduced, and the page says so."""
LARGEST: Final = 4_000_000
"""Bytes of pictures on the page; galleries that find no room are counted."""

Pictures = Callable[[str, str], bytes]
"""The PNG of an image, by study and id."""


def write(page: RaterPage, pictures: Pictures, folder: Path) -> Path:
    """Write `raters.html` and `raters.json` into a folder, which is made if missing; return the page's path."""
    page, addresses = choose(page, pictures)
    write_atomically(folder / "raters.json", (dumps(page, indent=1) + "\n").encode())
    write_atomically(folder / "raters.html", build(page, addresses).encode())
    return folder / "raters.html"


def build(page: RaterPage, addresses: Mapping[tuple[str, str], str]) -> str:
    """The page as one HTML text: no network, no script, no other file. addresses: of its pictures, as data."""
    return render(
        "raters",
        doc=WrittenDocument(plain(page)),
        found=page,
        sections=sections(page.sections),
        shown=addresses,
        flips=(),
    )


def choose(page: RaterPage, pictures: Pictures) -> tuple[RaterPage, dict[tuple[str, str], str]]:
    """The page with the galleries that there is room for, and their pictures as data addresses."""
    addresses: dict[tuple[str, str], str] = {}
    spent, galleries = 0, []
    for gallery in page.galleries:
        places = {(picture.study, picture.id) for group in gallery.groups for picture in group.pictures}
        new = {place: data_address(reduced(pictures(*place))) for place in sorted(places - addresses.keys())}
        cost = sum(map(len, new.values()))
        if spent + cost > LARGEST:
            continue
        spent += cost
        addresses |= new
        galleries.append(gallery)
    left_out = len(page.galleries) - len(galleries)
    return replace(page, galleries=galleries, galleries_left_out=left_out), addresses


def reduced(png: bytes) -> bytes:
    """A JPEG of the picture whose longer side is at most 88 pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        small = image.convert("RGB")
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=88)
    return buffer.getvalue()
