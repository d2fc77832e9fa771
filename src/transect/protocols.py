"""The contracts that plug-ins fulfil; `transect.testing` has a check for each.

A plug-in must have every member of `Generator`, `Controls`, `World`, `Target` or `Rater`. The protocols after them are
optional: `runs.capabilities` and `targets.capabilities` read their members, with defaults where a plug-in lacks them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.records import Annotations, Attribute, CallCounts, Images, Latents, Predictions, Question, Quote, Task
from transect.spoken_answers import AskedSpec, Speaker

Canaries: TypeAlias = "Mapping[str, Any]"
"""rounds, every (answers between rounds), and the distances between the answers to each image in two rounds."""

Table: TypeAlias = "pa.Table | Mapping[str, Any]"
"""Columns by name. Arrow tables come out; mappings of columns (or one value for all rows) may go in."""


@runtime_checkable
class Generator(Protocol):
    """Makes images: latents in, pixels out."""

    @property
    def name(self) -> str:
        """What tables and reports call it."""

    @property
    def image_size(self) -> int:
        """Width and height in pixels."""

    @property
    def latent_dim(self) -> int:
        """Coordinates of a latent."""

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """One seed, one subject, whatever the batch."""

    def render(self, latents: Latents) -> Images:
        """The image of each row; it depends on that row alone."""


@runtime_checkable
class Controls(Protocol):
    """Sets an attribute and leaves the rest."""

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read; what can be set."""

    def read(self, latents: Latents) -> pa.Table:
        """The value of every attribute for each row (float64 columns)."""

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """do(values): all else stays. Attributes downstream respond (total effect) unless held (direct effect)."""


@runtime_checkable
class World(Generator, Controls, Protocol):
    """Where images come from: a generator and its controls in one, or labelled photographs."""


@runtime_checkable
class Target(Protocol):
    """The model under audit; never trained or changed by an audit.

    An audit may ask about an image several times, in other batches and in another order, and also about images that
    are in no table: those of the negative control, of checks of edits and, for those that count no calls, of trials.
    Answers must depend on the image alone, so that all of this makes no difference.
    """

    @property
    def name(self) -> str:
        """What tables and reports call it."""

    @property
    def task(self) -> Task:
        """What it answers."""

    def predict(self, images: Images) -> Predictions:
        """One answer per image, in order."""


@runtime_checkable
class Predictor(Protocol):
    """An object that answers: a Target, or an estimator as scikit-learn has them."""

    @property
    def predict(self) -> Callable[..., object]:
        """Answers about images."""


TargetLike: TypeAlias = str | Predictor | Speaker | AskedSpec | Callable[..., object]
"""A spec string (see `transect list targets`), an object with `predict`, a model that answers in words (to be asked a
file of questions, or one of them), or a function of uint8 pixels [n, h, w, 3]."""


@runtime_checkable
class Rater(Protocol):
    """A person, a simulated person, or an attribute model."""

    @property
    def name(self) -> str:
        """What tables call the rater; never a person's name."""

    def rate(self, images: Images, question: Question) -> Annotations:
        """Answers to one question about each image."""


@runtime_checkable
class DescribesItself(Protocol):
    """A generator, world or target that states what recreates it; else its name, size and class stand in run.json."""

    def describe(self) -> Mapping[str, Any]:
        """Plain numbers, text, lists and objects, as in JSON; the same each time."""


@runtime_checkable
class StatesValidity(Protocol):
    """A world that was compared with photographs; every report carries the figures."""

    def validity(self) -> Mapping[str, Any]:
        """photometry_validated, statement; optional: photometry, identity, readings by attribute, not_measured."""


@runtime_checkable
class SuggestsLevels(Protocol):
    """A world with levels for attributes that are varied without any."""

    @property
    def usual_levels(self) -> Mapping[str, tuple[float, ...]]:
        """Levels by attribute."""


@runtime_checkable
class KnowsTruth(Protocol):
    """A generator or world that knows the value that each attribute took, which may differ from the value set."""

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What `truths` has a column of."""

    def truths(self, latents: Latents) -> pa.Table:
        """The true value of each of these attributes for each row (float64 columns)."""


@runtime_checkable
class KnowsIdentities(Protocol):
    """A generator that knows who is shown."""

    def identities(self, latents: Latents) -> Float[np.ndarray, "n k"]:
        """A code of the person for each row; the same person, the same code."""


@runtime_checkable
class LimitsSubjects(Protocol):
    """A generator that has a certain number of subjects and no more."""

    def check_subjects(self, wanted: int) -> None:
        """Raises BadInput for more subjects than there are."""


@runtime_checkable
class ChoosesSubjects(Protocol):
    """A world whose attributes cannot all be set on every subject."""

    def for_attributes(self, names: Collection[str]) -> World:
        """The world with the subjects alone on which all of these can be set; it states how many others there are.

        names: of attributes, or a mapping of them to the levels that will be set, on which it may depend too.
        """


@runtime_checkable
class DrawsUnedited(Protocol):
    """A generator or world whose subjects are not its own draws, and that can draw others to compare them with."""

    def sample_unedited(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Latents of the generator's own draws, one per seed."""


@runtime_checkable
class EditsPhotographs(Protocol):
    """A world whose subjects are photographs, on which attributes are set."""

    @property
    def photographs(self) -> int:
        """How many there are; 0 where none are edited."""

    @property
    def learned_edits(self) -> bool:
        """Whether a learned model makes the edits, so that they may show something else than was asked for."""

    @property
    def as_they_are(self) -> Mapping[str, float]:
        """By attribute: the level at which a photograph is as it is."""

    def intended_readings(self) -> Mapping[str, Mapping[float, float]]:
        """By attribute and level: what a model that reads the attribute should read, where that is stated."""

    def edit_masks(self, latents: Latents) -> Bool[np.ndarray, "n h w"]:
        """The pixels that the edits of each row may change; outside, the image is bitwise the photograph."""


@runtime_checkable
class MapsSpaces(Protocol):
    """A generator with several latent spaces."""

    def to_space(self, latents: Latents, space: str) -> Latents:
        """The same subjects in another space; raises BadInput where there is no way there."""


@runtime_checkable
class HasLayers(Protocol):
    """A generator that takes a latent for each of its layers."""

    @property
    def layers(self) -> int | None:
        """How many; None where it takes one for all."""


@runtime_checkable
class MovesAlong(Protocol):
    """A world whose attributes have directions in the latent space."""

    def move(self, latents: Latents, name: str, lengths: Float[np.ndarray, " n"]) -> Latents:
        """Latents + length x the attribute's unit direction; raises BadInput where it has none."""


@runtime_checkable
class DrawsMasks(Protocol):
    """A world that knows which pixels show what."""

    def masks(self, latents: Latents) -> Mapping[str, Bool[np.ndarray, "n h w"]]:
        """By part of the picture: the pixels that show it."""

    def landmarks(self, latents: Latents) -> Float[np.ndarray, "n k 2"]:
        """X and y in pixels of the landmarks of each face."""


@runtime_checkable
class Metered(Protocol):
    """A target whose calls cost something: it is never called as a trial (`metered = True`)."""

    metered: bool

    def quote(self, images: int) -> Quote:
        """The price of images that it has not seen; computing it calls nothing.

        State `calls_spent` and `money_spent` where the target counts the calls of earlier programs too; without them
        what is spent is what `made` counts.
        """

    def calls_made(self) -> tuple[int, float]:
        """Calls and cost of this process so far."""


@runtime_checkable
class PricedBySize(Metered, Protocol):
    """A metered target whose calls cost more for larger images."""

    def quote_of(self, images: int, side: int) -> Quote:
        """As `quote`, for square images with so many pixels a side."""


@runtime_checkable
class CountsCalls(Metered, Protocol):
    """A metered target that knows how many calls its answers took."""

    def call_counts(self) -> CallCounts | None:
        """Images, calls, retries and failures; None before the first call."""


@runtime_checkable
class RepeatsCanaries(Protocol):
    """A target that answers some images again at intervals, so that a change of its behaviour is detected."""

    def asked_again(self) -> Canaries | None:
        """rounds, every, and distances between the answers; None before the second round."""


@runtime_checkable
class RunsApart(Protocol):
    """A target whose calls run in a process or on a device that can be stopped."""

    def ready(self) -> None:
        """Makes it ready for a call; called before each, outside the time that an image may take."""

    def stop(self) -> None:
        """Ends a call that takes too long."""


@runtime_checkable
class Closable(Protocol):
    """A target that holds files or connections."""

    def close(self) -> None:
        """Releases them; called after the last prediction."""
