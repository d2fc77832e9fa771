"""A sample of pictures without a renderer: what a network is shown, and what is true of it."""

from __future__ import annotations

import numpy as np

from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY
from validation.network import Schedule
from validation.pictures import Pictures

MASKS = ("skin", "hair", "face", "eyes", "mouth", "glasses", "background", "person")


FACE = np.random.default_rng(9).uniform(8, 24, (68, 2))
"""Landmarks of every picture of 32 pixels."""


class Sample(Pictures):
    """Pictures [n, 32, 32, 3] and columns of truth that nobody rendered."""

    def __init__(self, pixels, truth):
        marks = {f"landmark.{i}": np.full(len(pixels), value) for i, value in enumerate(FACE.ravel())}
        self.truth, self._pixels = marks | truth, pixels

    names = property(lambda self: list(self.truth))

    def column(self, name):
        return self.truth[name]


def neutral_truth(n, generator):
    """Every attribute at some allowed value, everything well visible."""
    truth = {}
    for a in ATTRIBUTES:
        low, high = a.bounds
        drawn = generator.uniform(low, high, n)
        truth[a.name] = np.rint(drawn) if a.discrete else drawn
    truth |= {f"identity.{name}": generator.standard_normal(n) for name in IDENTITY}
    truth |= {f"area.{name}": np.full(n, 0.3) for name in MASKS}
    return truth | {"seen.earrings": np.full(n, 0.01)}


def lit(levels, generator, size=32):
    """Noisy pictures of the given mean levels (0..255)."""
    noise = generator.normal(0, 20, (len(levels), size, size, 3))
    return np.clip(levels[:, None, None, None] + noise, 0, 255).astype(np.uint8)


def quick(epochs=4, **changes):
    return Schedule(epochs, **{"batch": 16, "rate": 3e-3, **changes})
