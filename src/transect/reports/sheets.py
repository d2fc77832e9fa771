"""Contact sheets: many small images on one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from transect.errors import BadInput
from transect.runs.pictures import saved

if TYPE_CHECKING:
    from PIL.Image import Image as PillowImage
    from PIL.ImageFont import FreeTypeFont, ImageFont

_GAP = 4
_LABEL_SIZE = 10
_LABEL_HEIGHT = 14
_PAPER = (255, 255, 255)
_INK = (40, 44, 52)


def contact_sheet(
    pixels: np.ndarray, columns: int = 8, labels: Sequence[str] | None = None, heads: Sequence[str] | None = None
) -> PillowImage:
    """Lay images out in rows on white paper, each with its label beneath, and each column under its head.

    pixels: uint8 [n, h, w, 3], sRGB. columns: images per row, at least 1. labels: one text per image, cut to the
    width of an image. heads: one text per column, in as many lines as it has, each cut to that width. Pixels are
    copied as they are, four pixels apart.

    Returns a Pillow image in RGB mode. Raises BadInput for no images, another shape or dtype, or too few labels or
    heads.

    >>> contact_sheet(np.zeros((3, 16, 16, 3), np.uint8), columns=2).size
    (44, 44)
    """
    _check(pixels, columns, labels)
    from PIL import Image

    count, height, width, _ = pixels.shape
    columns = min(columns, count)
    written = [head.splitlines() for head in heads or ()]
    if heads is not None and len(heads) != columns:
        raise BadInput(f"contact sheet: expected {columns} heads, got {len(heads)}")
    top = _LABEL_HEIGHT * max(map(len, written), default=0)
    step_x, step_y = width + _GAP, height + _GAP + (_LABEL_HEIGHT if labels else 0)
    rows = -(-count // columns)
    sheet = Image.new("RGB", (columns * step_x + _GAP, top + rows * step_y + _GAP), _PAPER)
    for column, lines in enumerate(written):
        for place, line in enumerate(lines):
            _write(sheet, line, (_GAP + column * step_x, 1 + place * _LABEL_HEIGHT), width)
    for index, image in enumerate(pixels):
        corner = (_GAP + index % columns * step_x, top + _GAP + index // columns * step_y)
        sheet.paste(Image.fromarray(image), corner)
        if labels:
            _write(sheet, labels[index], (corner[0], corner[1] + height + 1), width)
    return sheet


def paired_sheet(above: np.ndarray, below: np.ndarray) -> bytes:
    """A PNG with images uint8 [n, h, w, 3] in a row, and below each its partner."""
    return saved(contact_sheet(np.concatenate([above, below]), columns=len(above)))


def _check(pixels: np.ndarray, columns: int, labels: Sequence[str] | None) -> None:
    if pixels.ndim != 4 or pixels.shape[-1] != 3 or pixels.dtype != np.uint8:
        raise BadInput(f"contact sheet: expected uint8 [n, h, w, 3], got {pixels.dtype} {list(pixels.shape)}")
    if not len(pixels):
        raise BadInput("contact sheet: no images; raise --subjects")
    if columns < 1:
        raise BadInput(f"contact sheet: expected at least one column, got {columns}")
    if labels is not None and len(labels) != len(pixels):
        raise BadInput(f"contact sheet: expected {len(pixels)} labels, got {len(labels)}")


def _write(sheet: PillowImage, label: str, corner: tuple[int, int], width: int) -> None:
    from PIL import ImageDraw, ImageFont

    font = ImageFont.load_default(_LABEL_SIZE)
    ImageDraw.Draw(sheet).text(corner, _fitting(label, font, width), fill=_INK, font=font)


def _fitting(label: str, font: FreeTypeFont | ImageFont, width: int) -> str:
    """The label, or as much of it as fits with an ellipsis."""
    if font.getlength(label) <= width:
        return label
    while label and font.getlength(label + "…") > width:
        label = label[:-1]
    return label + "…"
