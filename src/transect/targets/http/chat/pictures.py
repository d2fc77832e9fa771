"""Images as chat interfaces take them: encoded once, however many questions are asked about them."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import final

from transect.runs.png import packed, png
from transect.said import Pixels
from transect.targets.http.chat.settings import ChatRequest
from transect.targets.http.messages import encode_as, image_key


@final
@dataclass(frozen=True, slots=True)
class Picture:
    """One encoded image: its file, its media type ("image/png" or "image/jpeg"), its width and height in pixels."""

    content: bytes
    media_type: str
    width: int
    height: int
    base64: str

    @property
    def data_url(self) -> str:
        """The file within an address."""
        return f"data:{self.media_type};base64,{self.base64}"

    @property
    def format(self) -> str:
        """Its name without the kind: "png" or "jpeg"."""
        return self.media_type.removeprefix("image/")


def picture(pixels: Pixels, request: ChatRequest) -> Picture:
    """An image as the request states it.

    >>> import numpy as np
    >>> made = picture(np.zeros((2, 3, 3), np.uint8), ChatRequest(model="m"))
    >>> made.width, made.height, made.data_url[:22]
    (3, 2, 'data:image/png;base64,')
    """
    # A tenth of the time of Pillow's PNG, and as many bytes.
    png_of = request.image_format == "png"
    content = packed(png(pixels)) if png_of else encode_as(pixels, request.image_format, request.jpeg_quality)
    height, width = pixels.shape[:2]
    return Picture(content, f"image/{request.image_format}", width, height, base64.b64encode(content).decode())


@final
class Shown:
    """The images that are shown together, in order: named at once, and encoded when the first question needs it."""

    def __init__(self, pixels: Sequence[Pixels], request: ChatRequest) -> None:
        self.pixels, self._request = tuple(pixels), request

    @cached_property
    def key(self) -> str:
        """What names the images and their order: of one image its own key, of several a digest of theirs."""
        keys = [image_key(one) for one in self.pixels]
        return keys[0] if len(keys) == 1 else hashlib.sha256(" ".join(keys).encode()).hexdigest()

    @property
    def sizes(self) -> list[tuple[int, int]]:
        """Width and height of each image in pixels."""
        return [(one.shape[1], one.shape[0]) for one in self.pixels]

    @cached_property
    def pictures(self) -> tuple[Picture, ...]:
        """The images, encoded; two threads may both do it, and get the same."""
        return tuple(picture(one, self._request) for one in self.pixels)
