"""The page on the raters: `raters.html` beside `raters.json`, which holds every number on it."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from transect.report.analyses import SectionEntry
from transect.report.document import Printer
from transect.report.drawing import HEIGHT, sections
from transect.report.page import environment
from transect.report.wording import ATTRIBUTE_NOTE
from transect.runs.folder import write_atomically

SIDE: Final = 88
"""Pixels of a picture's longer side; larger ones are reduced, and the page says so."""
LARGEST: Final = 4_000_000
"""Bytes of pictures on the page; galleries that find no room are counted."""

Pictures = Callable[[str, str], bytes]
"""The PNG of an image, by study and id."""


@final
@dataclass(frozen=True)
class RaterDocument(Printer):
    """The printer of the numbers of one page on raters."""

    content: dict[str, Any]

    @property
    def tree(self) -> dict[str, Any]:
        """`raters.json` as it is written."""
        return self.content


def write(found: Mapping[str, Any], pictures: Pictures, folder: Path) -> Path:
    """Write `raters.html` and `raters.json` into a folder, which is made where it is missing; returns the page's path.

    found: title, facts (name -> count or text), sections, galleries: each a title, text, and groups of pictures with
    what is said of each. Raises BadInput where a section does not fit its schema.
    """
    content = json.loads(_json(found))
    page = build(content, pictures)
    write_atomically(folder / "raters.json", _json(content).encode())
    write_atomically(folder / "raters.html", page.encode())
    return folder / "raters.html"


def build(content: dict[str, Any], pictures: Pictures) -> str:
    """The page as one HTML text: no network, no script, no other file. `content` gains what was left out."""
    entries = [SectionEntry.model_validate(one) for one in content["sections"]]
    content["sections"] = [one.model_dump(mode="json") for one in entries]
    shown = _shown(content, pictures)
    return (
        environment()
        .get_template("raters.html.j2")
        .render(
            doc=RaterDocument(content),
            found=content,
            sections=sections(entries),
            shown=shown,
            flips=(),
            plot_height=HEIGHT,
            attribute_note=ATTRIBUTE_NOTE,
        )
    )


def _json(found: Mapping[str, Any]) -> str:
    return json.dumps(found, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _shown(content: dict[str, Any], pictures: Pictures) -> dict[tuple[str, str], str]:
    """Pictures as data addresses, gallery by gallery while there is room; the others are told in `content`."""
    made: dict[tuple[str, str], str] = {}
    spent, kept = 0, []
    for gallery in content["galleries"]:
        wanted = {(p["study"], p["id"]) for group in gallery["groups"] for p in group["pictures"]} - made.keys()
        new = {place: _address(reduced(pictures(*place))) for place in sorted(wanted)}
        cost = sum(map(len, new.values()))
        if spent + cost > LARGEST:
            continue
        spent += cost
        made |= new
        kept.append(gallery)
    content["galleries_left_out"] = len(content["galleries"]) - len(kept)
    content["galleries"] = kept
    return made


def reduced(png: bytes) -> bytes:
    """A JPEG of the picture whose longer side is at most 88 pixels."""
    from PIL import Image

    with Image.open(io.BytesIO(png), formats=("PNG",)) as image:
        small = image.convert("RGB")
    small.thumbnail((SIDE, SIDE), Image.Resampling.LANCZOS)
    buffer = io.BytesIO()
    small.save(buffer, "JPEG", quality=88)
    return buffer.getvalue()


def _address(jpeg: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode("ascii")
