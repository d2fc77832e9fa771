"""Labels that photographs have, and the attributes of FaceWorld that mean the same.

The labels are those of CelebA: annotators said yes or no (Liu et al. 2015, arXiv:1411.7766). FaceWorld's attributes
are numbers; the table in this folder says which value stands for no and which for yes.
"""

from __future__ import annotations

import csv
import functools
from importlib import resources
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Coding(NamedTuple):
    """One label and its attribute: the values that stand for no and for yes, in the attribute's unit."""

    label: str
    attribute: str
    at_0: float
    at_1: float

    @property
    def inverted(self) -> bool:
        """Whether the label says that there is little of the attribute."""
        return self.at_1 < self.at_0

    def coded(self, values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """Values as a share of the way from no (0) to yes (1), in [0, 1]; any level above the first is yes.

        >>> Coding("Young", "age", 60, 30).coded(np.array([80.0, 45.0, 20.0])).tolist()
        [0.0, 0.5, 1.0]
        """
        return np.clip((values - self.at_0) / (self.at_1 - self.at_0), 0.0, 1.0)


@functools.cache
def codings() -> tuple[Coding, ...]:
    """Every pair of label and attribute.

    >>> codings()[0]
    Coding(label='Smiling', attribute='smile', at_0=0.0, at_1=1.0)
    """
    text = resources.files("transect.jobs.verify").joinpath("facts/attribute_labels.csv").read_text(encoding="utf-8")
    return tuple(
        Coding(row["label"], row["attribute"], float(row["at_0"]), float(row["at_1"]))
        for row in csv.DictReader(text.splitlines())
    )
