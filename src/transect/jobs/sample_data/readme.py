"""The README that stands beside the data."""

from __future__ import annotations

from importlib import resources
from string import Template
from typing import Final

from transect.jobs.sample_data.faces import POPULATION, SHOTS, SIZE
from transect.jobs.sample_data.model import FEATURES, LABELS

_MANY: Final = 200
"""People among whom some are alike enough for a narrow caliper; of the fewest, no pair is."""


def text(people: int, recognized: int, seed: int) -> str:
    """What each file holds, how it was made, and the commands that read it."""
    template = resources.files(__package__).joinpath("README.template.md").read_text(encoding="utf-8")
    return Template(template).substitute(
        people=people,
        recognized=recognized,
        seed=seed,
        population=POPULATION,
        shots=SHOTS,
        size=SIZE,
        caliper=1 if people >= _MANY else 2,
        features=", ".join(f"`{name}`" for name in FEATURES),
        labels=", ".join(f"`{name}`" for name in LABELS),
        scores=", ".join(f"`score_{name}`" for name in LABELS),
        options=" ".join(f"--label {name}" for name in LABELS),
    )
