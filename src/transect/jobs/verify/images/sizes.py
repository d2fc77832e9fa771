"""How much is rendered, trained and drawn in the proving ground with images, who is audited, and from which seeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Final, final

from transect.errors import BadInput

POPULATION: Final = Path(str(resources.files("transect.jobs.verify").joinpath("populations/confounded.toml")))
"""Whom the model is trained on and meets: there, and only there, its errors are counted."""

AUDITED: Final[Mapping[str, tuple[float, float]]] = {
    "lipstick": (0.0, 0.9),
    "skin_tone": (3.0, 8.0),
    "hair_length": (0.1, 0.9),
    "age": (28.0, 65.0),
    "glasses": (0.0, 1.0),
}
"""The two values of each audited attribute: no subject of the population has another."""

HIDDEN: Final = "lipstick"
"""The attribute that an annotator might leave out."""

SMILING: Final = 0.5
"""Above this value of `smile` a face is labelled as smiling."""

FIRST_SEEDS: Final = {
    "training": 100_000_000,
    "held_out": 200_000_000,
    "truth": 300_000_000,
    "observed": 400_000_000,
    "experiment": 500_000_000,
}
"""Each sample's seeds begin here, apart from each other and from a study's."""

_LEAST: Final = {
    "training": 2,
    "held_out": 2,
    "truth": 2,
    "observed": 2,
    "experiment": 2,
    "epochs": 1,
    "repeats": 1,
}


@final
@dataclass(frozen=True, slots=True)
class Sizes:
    """Pictures that the model is trained on and tested with, subjects of each sample, budgets of images, repeats.

    truth, experiment: subjects, each seen as it is and once for each audited attribute with its other value. observed:
    subjects, one picture each. budgets: images of one observation, and of one experiment on all attributes together.
    repeats: how often each is drawn at each budget. seed: of the training and of the draws.

    Raises BadInput for numbers below their least, a budget that does not divide into pairs, and one larger than the
    samples that it is drawn from.
    """

    training: int = 12_000
    held_out: int = 2_000
    truth: int = 8_000
    observed: int = 40_000
    experiment: int = 6_000
    epochs: int = 8
    budgets: tuple[int, ...] = (250, 500, 1000, 2000, 4000)
    repeats: int = 200
    image_size: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise BadInput(f"{name}: expected at least {least}, got {getattr(self, name)}; give more")
        if not 0 <= self.seed < 1 << 31:
            raise BadInput(f"seed: expected 0 to {(1 << 31) - 1}, got {self.seed}; choose another")
        for budget in self.budgets or (0,):
            self._check_budget(budget)

    def _check_budget(self, budget: int) -> None:
        step, most = 2 * len(AUDITED), min(self.observed, 2 * len(AUDITED) * self.experiment)
        if budget % step or not 2 * step <= budget <= most:
            raise BadInput(
                f"budget: expected a multiple of {step} from {2 * step} to {most} images, got {budget}; change it, or "
                "give more observed and experiment subjects"
            )

    def pairs(self, budget: int) -> int:
        """Subjects in the experiment of each attribute when all attributes share `budget` images.

        >>> Sizes().pairs(1000)  # 5 attributes, 2 images of a subject
        100
        """
        return budget // (2 * len(AUDITED))

    @property
    def interventions(self) -> int:
        """Pictures of the truth on which an attribute was set to the value that the subject does not have.

        >>> Sizes().interventions
        40000
        """
        return self.truth * len(AUDITED)

    @property
    def rendered(self) -> int:
        """All pictures that are drawn.

        >>> Sizes().rendered
        138000
        """
        return self.training + self.held_out + self.observed + (1 + len(AUDITED)) * (self.truth + self.experiment)

    def as_dict(self) -> dict[str, int | list[int]]:
        """The sizes as JSON values."""
        return {**asdict(self), "budgets": list(self.budgets)}


QUICK: Final = Sizes(
    training=240,
    held_out=40,
    truth=60,
    observed=400,
    experiment=40,
    epochs=1,
    budgets=(100, 200),
    repeats=5,
    image_size=32,
)
"""A run of seconds that shows that everything works; its figures mean nothing."""
