"""Crops of faces as face embedders were taught on them: turned, scaled and moved so that the features lie in one place.

A map is linear, float64 [2, 3]: x' = m @ (x, y, 1). Pixel i spans i to i + 1, so that its middle is at i + .5.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float, UInt8
from PIL import Image

ARCFACE: Final = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)
"""Eyes, tip of the nose and corners of the mouth in a crop of 112 pixels, left in the picture first.

The template of ArcFace (Deng et al. 2019, arXiv:1801.07698) as InsightFace publishes it, which SphereFace and CosFace
share; its coordinates are of the middles of pixels, pixel 0 at 0.
"""
SIZES: Final = {"arcface-112": 112, "ffhq": 256, "box": 160}
"""The crops that `align` names, and their side in pixels where no size is stated."""
FILTERS: Final = {
    "nearest": Image.Resampling.NEAREST,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
}
COUNTS: Final = (5, 68)
"""Landmarks that are understood: ARCFACE's five in its order, and the 68 of 300-W in dlib's order."""
_WIDER: Final = 1.25
"""Side of the crop "box" over the longer side of the face's box."""


def similarity(points: Float[np.ndarray, "n k 2"], template: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "n 2 3"]:
    """The turn, scale and shift of each set of points that come nearest to the template, by least squares.

    NaN where points are NaN or all in one place. In the plane the least squares over all complex factors are those of
    Umeyama 1991, doi:10.1109/34.88573, without a reflection.

    >>> corners = np.array([[[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]]])
    >>> turned = np.array([[1.0, 1.0], [1.0, 2.0], [0.0, 1.0]])  # a quarter of a turn, half the size
    >>> (similarity(corners, turned).round(3) + 0.0).tolist()
    [[[0.0, -0.5, 1.0], [0.5, 0.0, 1.0]]]
    """
    z, w = points[..., 0] + 1j * points[..., 1], template[:, 0] + 1j * template[:, 1]
    z_mean, w_mean = z.mean(axis=1, keepdims=True), w.mean()
    spread = (np.abs(z - z_mean) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (np.conj(z - z_mean) * (w - w_mean)).sum(axis=1) / np.where(spread > 0, spread, np.nan)
    return _maps(factor, w_mean - factor * z_mean[:, 0])


def from_crop(
    name: str, points: Float[np.ndarray, "n 5 2"], boxes: Float[np.ndarray, "n 4"], size: int
) -> Float[np.ndarray, "n 2 3"]:
    """The maps from pixels of a square crop of that size to pixels of the image; NaN where there can be none.

    "arcface-112": `similarity` to ARCFACE, scaled to the size. "ffhq": the oriented square by eyes and mouth of Karras
    et al. 2019, arXiv:1812.04948, appendix A. "box": the upright square around the face's box, 1.25 times its longer
    side; boxes are x0, y0, x1, y1.
    """
    if name == "arcface-112":
        to_crop = similarity(points, (ARCFACE + 0.5) * (size / SIZES[name]))
        turned, shift = to_crop[:, 0, 0] + 1j * to_crop[:, 1, 0], to_crop[:, 0, 2] + 1j * to_crop[:, 1, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            back = 1 / np.where(turned == 0, np.nan, turned)
        return _maps(back, -back * shift)
    middle, half = _oriented(points) if name == "ffhq" else _upright(boxes)
    return _maps(2 * np.where(half == 0, np.nan, half) / size, middle - half - 1j * half)


def cropped(
    pixels: UInt8[np.ndarray, "h w 3"], to_image: Float[np.ndarray, "2 3"], size: int, filter_name: str
) -> UInt8[np.ndarray, "s s 3"]:
    """The crop of a map of `from_crop`, by Pillow; black where it lies outside the image.

    Like the usual tools, it reads the nearest pixels alone, also where it shrinks the image.
    """
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    data = tuple(map(float, to_image.ravel()))
    return np.asarray(picture.transform((size, size), Image.Transform.AFFINE, data, FILTERS[filter_name]))


def _maps(factor: np.ndarray, shift: np.ndarray) -> Float[np.ndarray, "n 2 3"]:
    """From z' = factor z + shift in the complex plane."""
    rows = [[factor.real, -factor.imag, shift.real], [factor.imag, factor.real, shift.imag]]
    return np.moveaxis(np.array(rows), 2, 0)


def _oriented(points: Float[np.ndarray, "n 5 2"]) -> tuple[np.ndarray, np.ndarray]:
    """Middle of FFHQ's square, and half of its upper side as a vector to the right."""
    z = points[..., 0] + 1j * points[..., 1]
    eyes, mouth = z[:, :2].mean(axis=1), z[:, 3:].mean(axis=1)
    across, down = z[:, 1] - z[:, 0], mouth - eyes
    half = across - 1j * down  # down, turned a quarter towards the right, as the eyes' axis
    length = np.abs(half)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = half / np.where(length > 0, length, np.nan)
    return eyes + 0.1 * down, unit * np.maximum(2.0 * np.abs(across), 1.8 * np.abs(down))


def _upright(boxes: Float[np.ndarray, "n 4"]) -> tuple[np.ndarray, np.ndarray]:
    middle = (boxes[:, 0] + boxes[:, 2]) / 2 + 1j * (boxes[:, 1] + boxes[:, 3]) / 2
    return middle, _WIDER * np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]) / 2
