"""White balance: linear sRGB as it looks when the picture's white has the color of light of another temperature."""

from __future__ import annotations

import functools
from typing import Final

import numpy as np
from jaxtyping import Float

BRADFORD: Final = np.array([[0.8951, 0.2664, -0.1614], [-0.7502, 1.7135, 0.0367], [0.0389, -0.0685, 1.0296]])
"""From XYZ to sharpened cone responses. Lam 1985, Metamerism and colour constancy."""
TO_XYZ: Final = np.array(
    [[0.4123908, 0.3575843, 0.1804808], [0.2126390, 0.7151687, 0.0721923], [0.0193308, 0.1191948, 0.9505322]]
)
"""From linear sRGB to XYZ (IEC 61966-2-1)."""
_COOL: Final = ((-3.0258469e9, 2.1070379e6, 0.2226347e3, 0.240390), (3.0817580, -5.87338670, 3.75112997, -0.37001483))
_WARM: Final = ((-0.2661239e9, -0.2343589e6, 0.8776956e3, 0.179910), (-0.9549476, -1.37418593, 2.09137015, -0.16748867))
_BORDER: Final = 4000.0


def planckian(kelvin: float) -> tuple[float, float]:
    """Chromaticity x, y (CIE 1931) of a black body from 2222 to 25,000 K. Kim et al. 2002."""
    of_x, of_y = _WARM if kelvin < _BORDER else _COOL
    x = sum(weight / kelvin**power for weight, power in zip(of_x, (3, 2, 1, 0), strict=True))
    return float(x), float(np.polyval(of_y, x))


def white_point(x: float, y: float) -> Float[np.ndarray, " 3"]:
    """XYZ of that chromaticity with a luminance of 1."""
    return np.array([x / y, 1.0, (1 - x - y) / y])


def adaptation(source: Float[np.ndarray, " 3"], target: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "3 3"]:
    """From XYZ under one white to XYZ under another, by von Kries's scaling of Bradford's responses.

    >>> same = white_point(0.3127, 0.3290)
    >>> bool(np.allclose(adaptation(same, same), np.eye(3)))
    True
    """
    scales = (BRADFORD @ target) / (BRADFORD @ source)
    return np.asarray(np.linalg.inv(BRADFORD) @ np.diag(scales) @ BRADFORD)


@functools.lru_cache(maxsize=64)
def balance(kelvin: float, neutral: float) -> Float[np.ndarray, "3 3"]:
    """Float32: from linear sRGB to linear sRGB, the white of `neutral` kelvin becoming that of `kelvin`."""
    change = adaptation(white_point(*planckian(neutral)), white_point(*planckian(kelvin)))
    matrix = np.asarray(np.linalg.inv(TO_XYZ) @ change @ TO_XYZ, dtype=np.float32)
    matrix.setflags(write=False)
    return matrix
