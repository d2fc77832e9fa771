"""A face drawn from a dozen soft ellipses: enough for stock detectors, and known to the pixel."""

import numpy as np


def draw(size=128, center=(0.0, 0.0), scale=1.0):
    """uint8 [size, size, 3]; center in units of half the picture, scale 1 fills most of it."""
    y, x = (np.mgrid[0:size, 0:size] + 0.5) / size * 2 - 1
    x, y = (x - center[0]) / scale, (y - center[1]) / scale
    gray = np.full((size, size), 120.0)

    def paint(x0, y0, width, height, value, softness=0.3):
        nonlocal gray
        cover = 1 / (1 + np.exp((np.hypot((x - x0) / width, (y - y0) / height) - 1) / softness))
        gray = gray * (1 - cover) + value * cover

    paint(0, -0.1, 0.62, 0.75, 40, 0.08)  # hair
    paint(0, 0.05, 0.5, 0.66, 190 - 60 * np.abs(x), 0.08)  # face
    for side in (-1, 1):
        paint(0.22 * side, -0.08, 0.17, 0.09, 90)  # socket
        paint(0.22 * side, -0.2, 0.17, 0.035, 60)  # brow
        paint(0.22 * side, -0.07, 0.1, 0.05, 200, 0.2)  # eye
        paint(0.22 * side, -0.07, 0.05, 0.05, 30, 0.2)  # iris
    paint(0, 0.1, 0.05, 0.2, 215, 0.4)  # bridge of the nose
    paint(0, 0.27, 0.12, 0.04, 130, 0.4)  # nostrils
    paint(0, 0.42, 0.2, 0.05, 100)  # mouth
    paint(0, 0.6, 0.2, 0.06, 170, 0.5)  # chin
    return np.repeat(gray.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2)


def pictures(size=128):
    """uint8 [5, size, size, 3]: three faces, noise and flat gray."""
    noise = np.random.default_rng(0).integers(0, 256, (size, size, 3), np.uint8)
    faces = [draw(size), draw(size, (0.2, 0), 0.7), draw(size, (-0.3, 0.2), 0.6)]
    return np.stack([*faces, noise, np.full((size, size, 3), 128, np.uint8)])
