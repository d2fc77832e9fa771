"""What stands before the scene: a board over a stated rectangle, or a hand in a grey glove. Nothing else changes.

Both have the color of a grey card, so that no color of skin is chosen, and are lit by nothing: their value is stated.
"""

from __future__ import annotations

import functools
import math
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.photographs import light
from transect.generators.photographs.attributes import BOARDS, HANDS

CARD: Final = 118
"""The sRGB value of a card that reflects 18 % of the light."""
RECTANGLES: Final = {
    "left": (0.0, 0.0, 0.5, 1.0),
    "right": (0.5, 0.0, 1.0, 1.0),
    "top": (0.0, 0.0, 1.0, 0.45),
    "bottom": (0.0, 0.55, 1.0, 1.0),
    "middle": (0.0, 0.38, 1.0, 0.54),
}
"""Left, top, right and bottom of each board, as shares of width and height, rounded to whole pixels."""
_GLOVE, _SEAM = 128, 84
_FINE: Final = 4
"""Points to a side by which a pixel's share of the hand is counted."""
_CACHED: Final = 32
_PALM: Final = ((0.0, -0.34), 0.125)
_FINGERS: Final = (
    ((-0.095, -0.40), (-0.150, -0.60), 0.052),
    ((-0.035, -0.42), (-0.055, -0.68), 0.056),
    ((0.030, -0.42), (0.040, -0.69), 0.056),
    ((0.090, -0.40), (0.125, -0.62), 0.052),
    ((-0.100, -0.30), (-0.225, -0.44), 0.058),
)
"""Knuckle, tip and thickness of the fingers and the thumb, in shares of the picture's shorter side."""
_ARM: Final = ((0.0, 0.2), (0.0, -0.30), 0.15)
_WRISTS: Final = {"below": ((0.5, 1.02), 0.0), "left": ((-0.02, 0.62), 90.0), "right": ((1.02, 0.62), -90.0)}
"""Where the arm enters the picture, and by how many degrees it is turned clockwise from upright."""


def covered(
    picture: UInt8[np.ndarray, "h w 3"], board: int, hand: int, out: UInt8[np.ndarray, "h w 3"] | None = None
) -> UInt8[np.ndarray, "h w 3"]:
    """A copy of the picture, in `out` if given, with that board (of BOARDS) and that hand (of HANDS) before it."""
    shown: UInt8[np.ndarray, "h w 3"] = np.empty_like(picture) if out is None else out
    np.copyto(shown, picture)
    height, width = picture.shape[:2]
    if board:
        left, top, right, bottom = rectangle(board, width, height)
        shown[top:bottom, left:right] = CARD
    if hand:
        share, glove = hand_of(hand, width, height)
        shown[share >= 1] = glove[share >= 1, None]
        rim = (share > 0) & (share < 1)
        front, behind = light.decoding()[glove[rim]], light.decoding()[shown[rim]]
        mixed = behind + (front[:, None] - behind) * share[rim, None]
        shown[rim] = light.encoded(np.ascontiguousarray(mixed, dtype=np.float32))
    return shown


def mask_of(board: int, hand: int, width: int, height: int) -> Bool[np.ndarray, "h w"]:
    """The pixels that board and hand touch."""
    mask = np.zeros((height, width), dtype=np.bool_)
    if board:
        left, top, right, bottom = rectangle(board, width, height)
        mask[top:bottom, left:right] = True
    return mask | (hand_of(hand, width, height)[0] > 0) if hand else mask


def rectangle(board: int, width: int, height: int) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a board in pixels; right and bottom are the first beyond it.

    >>> rectangle(BOARDS.index("bottom"), 100, 100)
    (0, 55, 100, 100)
    """
    left, top, right, bottom = RECTANGLES[BOARDS[board]]
    return round(left * width), round(top * height), round(right * width), round(bottom * height)


@functools.lru_cache(maxsize=_CACHED)
def hand_of(hand: int, width: int, height: int) -> tuple[Float[np.ndarray, "h w"], UInt8[np.ndarray, "h w"]]:
    """The share of each pixel that the hand covers, float32, and the glove's sRGB value there."""
    import cv2

    size = (height * _FINE, width * _FINE)
    shape, cloth = np.zeros(size, dtype=np.uint8), np.full(size, float(_GLOVE), dtype=np.float32)
    place = _Place(HANDS[hand], width, height)
    place.draw(shape, cloth, *_ARM)
    place.draw(shape, cloth, _PALM[0], _PALM[0], 2 * _PALM[1])
    for knuckle, tip, thickness in _FINGERS:
        place.draw(shape, cloth, knuckle, tip, thickness)
    share = cv2.resize(shape.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA)
    value = cv2.resize(cloth, (width, height), interpolation=cv2.INTER_AREA)
    shares, glove = np.clip(share, 0, 1), np.rint(value).astype(np.uint8)
    for part in (shares, glove):
        part.setflags(write=False)
    return shares, glove


class _Place:
    """Where a hand's points lie on the fine canvas."""

    def __init__(self, side: str, width: int, height: int) -> None:
        (self.x, self.y), degrees = _WRISTS[side]
        self.x, self.y = self.x * width, self.y * height
        self.sine, self.cosine = math.sin(math.radians(degrees)), math.cos(math.radians(degrees))
        self.unit = float(min(width, height))

    def _at(self, point: tuple[float, float]) -> tuple[int, int]:
        across, along = point[0] * self.unit, point[1] * self.unit
        x = self.x + across * self.cosine - along * self.sine
        y = self.y + across * self.sine + along * self.cosine
        return round(x * _FINE), round(y * _FINE)

    def draw(
        self,
        shape: UInt8[np.ndarray, "h w"],
        cloth: Float[np.ndarray, "h w"],
        start: tuple[float, float],
        end: tuple[float, float],
        thickness: float,
    ) -> None:
        """A rounded bar with a darker seam around it."""
        import cv2

        ends, whole = (self._at(start), self._at(end)), max(1, round(thickness * self.unit * _FINE))
        cv2.line(shape, *ends, (1,), whole)
        cv2.line(cloth, *ends, (_SEAM,), whole)
        cv2.line(cloth, *ends, (_GLOVE,), max(1, round(whole * 0.84)))
