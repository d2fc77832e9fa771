"""Can everything that is set be read back? A network reads each attribute from held-out pictures, where it can be seen.

One network reads them all: attributes, nuisances and the traits of the identity code, each learned and tested only
where `visibility` says that the picture shows it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float
from scipy.special import softmax
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY
from transect.jobs.verify.cache import Cache, Figures
from transect.jobs.verify.discrimination import Figure, auc, macro_auc, not_estimable, r_squared, with_interval
from transect.jobs.verify.learning import Batch, Schedule, answers, train
from transect.jobs.verify.network import DESCRIPTION, Network, new_network
from transect.jobs.verify.pictures import Sample
from transect.jobs.verify.places import Places
from transect.jobs.verify.visibility import rule

GATES = {"auc": 0.95, "r2": 0.85}
"""What a reading of an attribute must reach; nuisances and traits are measured without a gate."""

IMPORTANCE = {"attribute": 4.0}
"""Weight of an error in training by role, 1 for others: with equal weights the 76 nuisances and traits left earrings,
which anyone sees, unlearned (area .71)."""

LEAST_SEEN = 20
"""Held-out pictures that show an attribute; fewer give no figure."""

_TURNED_ROUND = ("yaw", "roll", "light_azimuth", "identity.hair_parting")
"""What a mirror turns into its opposite."""


@final
@dataclass(frozen=True, slots=True)
class Reading:
    """One attribute, nuisance ("identity.…": trait), and where it stands among the network's answers."""

    name: str
    role: str
    levels: int
    """0 for a number, 2 for a switch, more for a choice."""
    start: int

    @property
    def width(self) -> int:
        """Columns of answers: one, or one per level of a choice."""
        return self.levels if self.levels > 2 else 1

    @property
    def figure(self) -> str:
        """What is measured: auc, or r2 for a number."""
        return "auc" if self.levels else "r2"

    @property
    def columns(self) -> slice:
        """Its answers."""
        return slice(self.start, self.start + self.width)


def readings() -> tuple[Reading, ...]:
    """Everything that is read, attributes first.

    >>> readings()[0].name, readings()[-1].role
    ('skin_tone', 'identity')
    """
    named = [(a.name, str(a.role), len(a.levels)) for a in sorted(ATTRIBUTES, key=lambda a: a.role)]
    named += [(f"identity.{trait}", "identity", 0) for trait in IDENTITY]
    rows, start = [], 0
    for name, role, levels in named:
        rows.append(Reading(name, role, levels, start))
        start += rows[-1].width
    return tuple(rows)


@final
class Reader:
    """What the network is taught of some pictures, and how its answers become values again."""

    def __init__(self, pictures: Sample) -> None:
        truth = {name: pictures.column(name) for name in pictures.names}
        self.readings, self.places = readings(), Places(pictures)
        self.outputs = self.readings[-1].columns.stop
        self.truth = np.stack([truth[r.name] for r in self.readings], axis=1)
        self.seen = np.stack([rule(r.name).seen(truth) for r in self.readings], axis=1)
        self.center, self.scale = _moments(self.truth, self.seen)
        signs = np.array([-1.0 if r.name in _TURNED_ROUND else 1.0 for r in self.readings])
        self._taught = self._standardized(self.truth)
        self._taught_mirrored = self._standardized(signs * self.truth)
        self._numbers = [j for j, r in enumerate(self.readings) if not r.levels]
        self._switches = [j for j, r in enumerate(self.readings) if r.levels == 2]
        self._choices = [j for j, r in enumerate(self.readings) if r.levels > 2]
        weight = np.array([IMPORTANCE.get(self.readings[j].role, 1.0) for j in self._in_turn])
        self._share = (weight / weight.sum()).astype(np.float32)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Squared errors of numbers in units of their spread, cross entropy of others, over what is seen; places."""
        rows, mirrored = batch.rows, batch.mirrored
        taught = np.where(mirrored[:, None], self._taught_mirrored[rows], self._taught[rows])
        numbers = self._tensor(taught[:, self._numbers], outputs)
        switches = self._tensor(self.truth[rows][:, self._switches].astype(np.float32), outputs)
        errors = [
            (outputs[:, self._starts(self._numbers)] - numbers) ** 2,
            functional.binary_cross_entropy_with_logits(
                outputs[:, self._starts(self._switches)], switches, reduction="none"
            ),
        ]
        for j in self._choices:
            level = torch.from_numpy(self.truth[rows, j].astype(np.int64)).to(outputs.device)
            errors.append(
                functional.cross_entropy(outputs[:, self.readings[j].columns], level, reduction="none")[:, None]
            )
        seen = self.seen[rows][:, self._in_turn].astype(np.float32)
        weights = self._tensor(self._share * seen / np.maximum(seen.sum(0), 1), outputs)
        return (torch.cat(errors, dim=1) * weights).sum() + self.places.loss(outputs, batch)

    @property
    def _in_turn(self) -> list[int]:
        """The readings in the order of the errors."""
        return self._numbers + self._switches + self._choices

    def _standardized(self, values: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        return np.asarray((values - self.center) / self.scale, dtype=np.float32)

    def _starts(self, which: Sequence[int]) -> list[int]:
        return [self.readings[j].start for j in which]

    def _tensor(self, values: np.ndarray, like: Tensor) -> Tensor:
        return torch.from_numpy(values).to(like.device)


def _moments(
    truth: Float[np.ndarray, "n k"], seen: Bool[np.ndarray, "n k"]
) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " k"]]:
    """Mean and spread of each column where it is seen; a spread of 1 for what does not vary."""
    counts = np.maximum(seen.sum(0), 1)
    center = np.where(seen, truth, 0).sum(0) / counts
    spread = np.sqrt(np.where(seen, (truth - center) ** 2, 0).sum(0) / counts)
    return center, np.where(spread > 1e-9, spread, 1.0)


def trained_reader(pictures: Sample, schedule: Schedule, cache: Cache, *, quiet: bool) -> Network:
    """The network that reads those pictures; trained unless the cache holds it."""
    reader = Reader(pictures)
    settings = {
        "network": DESCRIPTION,
        "pictures": pictures.settings,
        "count": len(pictures),
        "epochs": schedule.epochs,
        "seed": schedule.seed,
        "batch": schedule.batch,
        "readings": [r.name for r in reader.readings],
        "importance": IMPORTANCE,
    }
    checkpoint = cache.file("reader", settings, ".safetensors")
    network = new_network(reader.outputs, schedule.seed, reader.places.average)
    return train(network, pictures.pixels, len(pictures), reader.loss, schedule, checkpoint, quiet=quiet)


def read_back(network: Network, taught: Sample, held_out: Sample, resamples: int, device: str) -> list[Figures]:
    """One row per attribute, nuisance and trait: figure, interval, gate, how many pictures show it."""
    learned, tested = Reader(taught), Reader(held_out)
    outputs = answers(network, held_out.pixels, len(held_out), device)
    rows = []
    for j, reading in enumerate(tested.readings):
        figure = _figure(
            reading, outputs, tested.truth[:, j], tested.seen[:, j], (learned.center[j], learned.scale[j]), resamples
        )
        gate = GATES[reading.figure] if reading.role == "attribute" else None
        rows.append(
            {
                "attribute": reading.name,
                "role": reading.role,
                "figure": reading.figure,
                **figure.as_dict(),
                "n_taught": int(learned.seen[:, j].sum()),
                "gate": gate,
                "met": None if gate is None else bool(figure.value >= gate),
                "visibility": rule(reading.name).words,
            }
        )
    return rows


def _figure(
    reading: Reading,
    outputs: Float[np.ndarray, "n k"],
    truth: Float[np.ndarray, " n"],
    seen: Bool[np.ndarray, " n"],
    moments: tuple[float, float],
    resamples: int,
) -> Figure:
    shown, value = outputs[seen, reading.columns], truth[seen]
    if len(value) < LEAST_SEEN:
        return not_estimable(f"fewer than {LEAST_SEEN} held-out pictures show it", len(value))
    if not reading.levels:
        number = shown[:, 0] * moments[1] + moments[0]
        return with_interval(lambda w: r_squared(number, value, w), len(value), resamples=resamples)
    if reading.levels == 2:
        return with_interval(lambda w: auc(shown[:, 0], value == 1, w), len(value), resamples=resamples)
    if len(np.unique(value)) < 2:
        return not_estimable("only one level is shown", len(value))
    level = value.astype(np.int64)
    probability = softmax(shown, axis=1)
    return with_interval(lambda w: macro_auc(probability, level, w), len(value), resamples=resamples)
