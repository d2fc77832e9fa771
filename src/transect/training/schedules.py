"""How long and fast a classifier learns: a record, and those of papers. What a paper does not state is ours.

Sources: Balakrishnan et al. 2020, arXiv:2007.06570, §5.1; Denton et al. 2019, arXiv:1906.06439, §5.1.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Final, final

from transect.errors import BadInput, UnknownName

LAYERS: Final = {"resnet18": (2, 2, 2, 2), "resnet34": (3, 4, 6, 3), "resnet50": (3, 4, 6, 3)}
"""Blocks of the four stages, by architecture."""

SMALLEST: Final = 32
"""The least width and height of a picture: the last stage then sees one point."""


@final
@dataclass(frozen=True, slots=True)
class Schedule:
    """architecture, width and height of the pictures, and how long and fast it learns.

    rates: (epochs, learning rate) one after another, with Adam. balanced: classes are equally probable in an epoch.
    mirror: half of the pictures are shown mirrored. decay: weight decay (AdamW). stated: what the paper states.
    """

    architecture: str
    size: int
    rates: tuple[tuple[int, float], ...]
    batch: int = 64
    balanced: bool = True
    mirror: bool = False
    decay: float = 0.0
    stated: str = ""

    def __post_init__(self) -> None:
        if self.architecture not in LAYERS:
            raise UnknownName("architecture", self.architecture, LAYERS)
        if self.size < SMALLEST:
            raise BadInput(f"size: expected at least {SMALLEST} pixels, got {self.size}; raise it")
        if self.batch < 2:
            raise BadInput(f"batch: expected at least 2, got {self.batch}; batches are normalized together")
        if not self.rates or any(epochs < 1 or rate <= 0 for epochs, rate in self.rates):
            raise BadInput(f"epochs: expected at least 1 at a rate above 0, got {self.rates}")

    @property
    def epochs(self) -> int:
        """Total number of epochs."""
        return sum(epochs for epochs, _ in self.rates)

    def rate(self, epoch: int) -> float:
        """The learning rate of an epoch, from 0."""
        for epochs, rate in self.rates:
            if epoch < epochs:
                return rate
            epoch -= epochs
        return self.rates[-1][1]

    def with_settings(self, **settings: object) -> Schedule:
        """With other settings (None: as it is); epochs: spread over the rates as before, at least one each."""
        changes: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
        epochs = changes.pop("epochs", None)
        if epochs is not None:
            if epochs < len(self.rates):
                raise BadInput(
                    f"epochs: expected at least {len(self.rates)}, one for each rate, got {epochs}; raise it"
                )
            changes["rates"] = self._spread(epochs)
        return replace(self, **changes)

    def _spread(self, epochs: int) -> tuple[tuple[int, float], ...]:
        done, rates = 0, []
        for place, (count, rate) in enumerate(self.rates):
            later = len(self.rates) - place - 1
            count_here = (
                epochs - done if not later else min(max(1, round(count * epochs / self.epochs)), epochs - done - later)
            )
            rates.append((count_here, rate))
            done += count_here
        return tuple(rates)

    def describe(self) -> dict[str, object]:
        """Every setting, in JSON's types."""
        return {**asdict(self), "rates": [list(phase) for phase in self.rates]}


SCHEDULES = {
    "quick": Schedule(
        "resnet18", 64, ((6, 1e-3), (2, 1e-4)), mirror=True, decay=0.01, stated="ours, for a processor: no paper's"
    ),
    "balakrishnan-2020": Schedule(
        "resnet50",
        224,
        ((10, 1e-4), (10, 1e-5)),
        stated="stated: ResNet-50, cross-entropy, 20 epochs, 1e-4 and from the 11th 1e-5, classes equally probable; "
        "ours: Adam, batches of 64, 224 pixels, random first weights",
    ),
    "denton-2019": Schedule(
        "resnet18",
        128,
        ((10, 1e-4),),
        balanced=False,
        stated="stated: a convolutional network, 128 pixels, cross-entropy, threshold 0.5; "
        "ours: ResNet-18, Adam, 10 epochs at 1e-4, batches of 64, random first weights",
    ),
}
"""By name; `stated` separates the paper's settings from ours."""


def schedule_named(name: str, **settings: object) -> Schedule:
    """The schedule of that name, with different settings where they are not None. Raises UnknownName and BadInput."""
    if name not in SCHEDULES:
        raise UnknownName("schedule", name, SCHEDULES)
    return SCHEDULES[name].with_settings(**settings)
