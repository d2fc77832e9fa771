"""What the camera that took a photograph did to it: exposure, blur and noise, estimated from the picture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import UInt8

from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs.appearance import skin_colors
from transect.generators.photographs.appearance.faces import Face
from transect.generators.photographs.appearance.scene_light import scene_of

_SURE: Final = 0.5
_BLURRED_MOST: Final = 2.5
_OWN_BLUR: Final = 0.55
"""Standard deviation in pixels of an edge that is drawn sharp and averaged over pixels."""
_FILTER_BLUR: Final = 0.85
"""That of Sobel's filter."""
_SHARPEST: Final = 0.995


@final
@dataclass(frozen=True, slots=True)
class Camera:
    """What the photograph's own camera did to it. gain: scene light per radiance of FaceWorld; blur: standard
    deviation in pixels of its sharpest edges, beyond a sharp picture's; noise: standard deviation in values of sRGB.
    """

    gain: float
    blur: float
    noise: float


def camera_of(picture: UInt8[np.ndarray, "h w 3"], face: Face, tone: float) -> Camera:
    """The camera that took a photograph, by the skin of known tone, the sharpest edges and the finest texture."""
    import cv2

    skin = face.masks["skin"] > _SURE
    shown = skin_colors.living_skin(np.array([tone]))[0] @ LUMINANCE
    gain = float(np.median(scene_of(picture[skin]) @ LUMINANCE) / shown) if skin.any() else 1.0
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    slope = np.hypot(*(cv2.Sobel(grey, cv2.CV_32F, *order, ksize=3) / 8 for order in ((1, 0), (0, 1))))
    kernel = np.ones((7, 7), dtype=np.uint8)
    height = cv2.dilate(grey, kernel) - cv2.erode(grey, kernel)
    steep = slope >= np.quantile(slope, _SHARPEST)
    spread = float(np.median(height[steep] / np.maximum(slope[steep], 1))) / np.sqrt(2 * np.pi)
    blur = np.sqrt(max(spread**2 - _FILTER_BLUR**2 - _OWN_BLUR**2, 0.0))
    fine = cv2.filter2D(grey, cv2.CV_32F, np.outer((1, -2, 1), (1, -2, 1)).astype(np.float32))
    noise = float(np.median(np.abs(fine[skin])) / 0.6745 / 6) if skin.any() else 0.0
    return Camera(gain, min(float(blur), _BLURRED_MOST), noise)
