"""The four contracts that plug-ins fulfil; `transect.testing` has a check for each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from transect.records import Annotations, Attribute, Images, Latents, Predictions, Question, Task

Table: TypeAlias = "pa.Table | Mapping[str, Any]"
"""Columns by name. Arrow tables come out; mappings of columns (or one value for all rows) may go in."""


@runtime_checkable
class Generator(Protocol):
    """Makes images: latents in, pixels out."""

    @property
    def name(self) -> str:
        """What tables and reports call it."""
        ...

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""
        ...

    @property
    def latent_dim(self) -> int:
        """Coordinates of a latent."""
        ...

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """One seed, one subject, whatever the batch."""
        ...

    def render(self, latents: Latents) -> Images:
        """The image of each row; it depends on that row alone."""
        ...


@runtime_checkable
class Controls(Protocol):
    """Sets an attribute and leaves the rest."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read; what can be set."""
        ...

    def read(self, latents: Latents) -> pa.Table:
        """The value of every attribute for each row (float64 columns)."""
        ...

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """do(values): all else stays. Attributes downstream respond (total effect) unless held (direct effect)."""
        ...


@runtime_checkable
class Target(Protocol):
    """The model under audit; never trained or changed by an audit."""

    @property
    def name(self) -> str:
        """What tables and reports call it."""
        ...

    @property
    def task(self) -> Task:
        """What it answers."""
        ...

    def predict(self, images: Images) -> Predictions:
        """One answer per image, in order."""
        ...


@runtime_checkable
class Rater(Protocol):
    """A person, a simulated person, or an attribute model."""

    @property
    def name(self) -> str:
        """What tables call the rater; never a person's name."""
        ...

    def rate(self, images: Images, question: Question) -> Annotations:
        """Answers to one question about each image."""
        ...
