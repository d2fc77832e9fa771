"""Steps λ from a subject's own value: the manipulation of Denton et al. 2019 for any controls.

G(z + λ d) moves a face along a direction from where it is. With controls that set values, λ counts half-ranges of
the attribute from the subject's own value, and stops at the ends of the range; λ = 0 is the subject as it is. Along
fitted directions λ can also be the published one, in units of the direction d.

Lines between two subjects: the sanity check of Denton et al. 2019 on a latent space and a classifier.

A line joins the latents of two subjects, drawn as any others; images are rendered at even shares of the way. Where
a target puts both ends into one class, the images between should be of that class too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.designs.levels import parse_vary, unknown_attribute
from transect.designs.transects import transect_design
from transect.errors import BadInput, UnknownName
from transect.protocols import MovesAlong, Table, World
from transect.records import Attribute, Design, Images, Latents
from transect.runs import capabilities

DEFAULT_STEPS: Final = 9
HALF_RANGE, DIRECTION = "half-range", "direction"
UNITS: Final = {
    HALF_RANGE: "half of the attribute's range, which it does not leave",
    DIRECTION: "the unit direction d, G(z + λ d), as published",
}
"""What a step of λ = 1 is."""
_FARTHEST: Final = 1000.0
_ROUNDING: Final = 1e-9  # -0.9 + 3 x 0.3 is not 0 in floating point


class _Within:
    """A world in which only what is set differs: its images, values and truths are those of `world`."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.name, self.image_size, self.latent_dim = world.name, world.image_size, world.latent_dim

    def render(self, latents: Latents) -> Images:
        """The world's images."""
        return self.world.render(latents)

    def read(self, latents: Latents) -> pa.Table:
        """The world's values, in its own units."""
        return self.world.read(latents)

    def truths(self, latents: Latents) -> pa.Table:
        """What each attribute became, where the world tells it apart from what was set."""
        return capabilities.truths(self.world, latents)

    def validity(self) -> dict[str, Any]:
        """The world's validity; none stated where it states none."""
        return capabilities.validity(self.world)


@final
class Steps(_Within):
    """A world in which one attribute is set in steps λ from the subject's own value; all else is the world's.

    unit: of λ, from `UNITS`. In units of the direction no range stops the steps, and other attributes may move along.

    Raises UnknownName for an attribute that the world does not have, or another unit; BadInput for an attribute with
    levels, and for units of a direction in a world without any.
    """

    def __init__(self, world: World, attribute: str, unit: str = HALF_RANGE, farthest: float = 1.0) -> None:
        if unit not in UNITS:
            raise UnknownName("step unit", unit, UNITS)
        known = {entry.name: entry for entry in world.attributes}
        if attribute not in known:
            raise unknown_attribute(attribute, known, f"see: {next(iter(known.values())).listing}")
        original = known[attribute]
        if original.discrete:
            raise BadInput(
                f"--steps {attribute}: it has levels ({', '.join(original.levels)}), not a range; use --vary"
            )
        super().__init__(world)
        self.own, self.unit = original, unit
        if unit == DIRECTION:
            self._along(world.sample(np.zeros(1, np.int64)), np.zeros(1))  # refuses a world without directions
        self.half = (original.high - original.low) / 2
        size = "one unit of the direction" if unit == DIRECTION else f"{self.half:g} {original.unit}".rstrip()
        meaning = f"{original.meaning}; steps of {size} from the subject's own"
        ends = (-farthest, farthest)
        self.step = Attribute(attribute, "continuous", meaning, "λ", *ends, (), original.role, original.source)
        self.attributes = tuple(self.step if entry.name == attribute else entry for entry in world.attributes)

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The world's subjects."""
        return self.world.sample(seeds)

    @property
    def truth_attributes(self) -> tuple[Attribute, ...]:
        """What the world knows of its images, in its own units."""
        return capabilities.truth_attributes(self.world)

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """The latents with the attribute λ half-ranges, or λ units of the direction, from where it is."""
        if self.unit == DIRECTION:
            return self._set_along(latents, values, hold)
        moved = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
        start = self.world.read(latents)[self.own.name].to_numpy()
        moved[self.own.name] = np.clip(start + self.half * moved[self.own.name], self.own.low, self.own.high)
        return self.world.set(latents, moved, hold=hold)

    def _set_along(self, latents: Latents, values: Table, hold: Sequence[str]) -> Latents:
        if hold:
            raise BadInput(
                "--hold does not apply to --step-unit direction, along which other attributes may move; drop it"
            )
        columns = {name: np.asarray(column, dtype=np.float64) for name, column in values.items()}
        steps = np.broadcast_to(columns.pop(self.own.name), len(latents))
        return self._along(self.world.set(latents, columns) if columns else latents, steps)

    def _along(self, latents: Latents, lengths: Float[np.ndarray, " n"]) -> Latents:
        if not isinstance(self.world, MovesAlong):
            raise BadInput(
                f"--step-unit direction: expected fitted directions, got {self.world.name}, which has none; give"
                " --directions FILE, or leave it out"
            )
        return self.world.move(latents, self.own.name, lengths)

    def describe(self) -> dict[str, object]:
        """The world's description, and the size of a step."""
        size: dict[str, object] = {"attribute": self.own.name, "half_range": self.half, "unit": self.own.unit}
        if self.unit == DIRECTION:
            size["by"] = DIRECTION
        return {**capabilities.description(self.world), "steps": size}


def parse_steps(texts: Iterable[str], world: World, unit: str = HALF_RANGE) -> list[tuple[Steps, tuple[float, ...]]]:
    """One world in steps per attribute, and its λ: NAME for nine from -1 to 1, or as --vary; unit: from `UNITS`."""
    chosen: list[tuple[Steps, tuple[float, ...]]] = []
    for text in texts:
        name = text.partition("=")[0].strip()
        if any(name == steps.own.name for steps, _ in chosen):
            raise BadInput(f"--steps {name} is repeated: give it once, with all its steps")
        steps = Steps(world, name, unit, 1.0 if unit == HALF_RANGE else _FARTHEST)
        whole = text if "=" in text else f"{name}=-1:1:{DEFAULT_STEPS}"
        values = parse_vary([whole], [replace(steps.step, source="")], "--steps")[name]  # no fitted range is of λ
        levels = tuple(0.0 if abs(level) < _ROUNDING else level for level in values)
        if 0.0 not in levels:
            raise BadInput(f"--steps {text!r}: expected λ = 0, the subject's own image, among the steps; add it")
        farthest = max(1.0, *map(abs, levels))
        chosen.append((steps if unit == HALF_RANGE else Steps(world, name, unit, farthest), levels))
    return chosen


def interpolated(latents: Latents, first: np.ndarray, second: np.ndarray, shares: np.ndarray) -> Latents:
    """Latents on the lines between pairs of rows, with the first's interventions and seeds."""
    start, end = latents.take(first), latents.take(second)
    weight = shares.reshape(-1, *([1] * (latents.values.ndim - 1)))
    return replace(start, values=(1 - weight) * start.values + weight * end.values)


SHARE: Final = "share_of_the_way"
BETWEEN: Final = 9
"""Images between the two ends of a line."""


class Lines(_Within):
    """A world whose subjects are lines: subject s joins the world's subjects 2s and 2s + 1."""

    def __init__(self, world: World) -> None:
        super().__init__(world)
        self.attributes = (
            Attribute(SHARE, "continuous", "share of the way from one subject to another", low=0.0, high=1.0),
            *world.attributes,
        )

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """The first end of each line; its seed is the line's."""
        wanted = np.asarray(seeds, dtype=np.int64)
        first: Latents = self.world.sample(2 * wanted)
        return replace(first, seeds=wanted)

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:  # noqa: ARG002  (nothing to hold)
        """Latents at a share of the way from each line's first end to its second."""
        second = self.world.sample(2 * latents.seeds + 1)
        both = replace(
            latents,
            seeds=np.concatenate([latents.seeds, latents.seeds]),
            values=np.concatenate([latents.values, second.values]),
        )
        n = len(latents)
        return interpolated(both, np.arange(n), np.arange(n, 2 * n), np.asarray(values[SHARE], dtype=np.float64))

    def describe(self) -> dict[str, object]:
        """The world's description, and that its subjects are lines."""
        return {**capabilities.description(self.world), "lines": {"between": BETWEEN}}


def lines_design(world: Lines, lines: int, *, seed: int = 0, population: str = "balanced") -> Design:
    """A design of `lines` lines, each with its two ends and nine images between."""
    if lines < 1:
        raise BadInput(f"--interpolate: expected at least one line, got {lines}; for example --interpolate 100")
    shares = {SHARE: np.linspace(0.0, 1.0, BETWEEN + 2).tolist()}
    return transect_design(shares, world.attributes, subjects=lines, seed=seed, population=population)
