"""Edits that are corrected: what was set shall read as set, and every other attribute as before the edit.

A step along a direction moves more than its attribute, the more so the longer it is. Here the edited latent is moved
on, over a few Gauss-Newton steps, until the network that ships reads the picture as wanted, and no farther from the
edit than that takes. The slopes of the readings are computed once, at the edit, and then corrected by what each step
changed. The network is the world's own instrument and never the model under audit. Readings that are
optimised say nothing about themselves: `perceptual.second_reader` judges what came out.

Sources: Levenberg 1944, doi:10.1090/qam/10666 (damped least squares); Broyden 1965,
doi:10.1090/S0025-5718-1965-0198670-6 (corrected slopes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, final, runtime_checkable

import numpy as np
from jaxtyping import Bool, Float

from transect.controls.layers import layered
from transect.protocols import Generator
from transect.records import Latents

if TYPE_CHECKING:
    import torch

    from transect.controls.learned import LearnedControls
    from transect.perceptual.answers import Answer

HOW: Final = "reoptimise"
"""The one way to hold what an edit should not change, as in reference?hold=reoptimise."""
STEPS: Final = 6
"""Gauss-Newton steps of every row."""
DISTANCE: Final = 1.0
"""Weight of the squared distance to the edit, in spreads of the latents, beside squared errors in SDs of readings."""
SUBJECTS: Final = 200
FIRST_SUBJECT: Final = 5 << 45
"""Unedited subjects that tell how a value along a direction reads: those of a run with seed 40,960."""
_MOVED: Final = 1e-6
_LEAST_SPREAD: Final = 1e-9


@runtime_checkable
class Differentiable(Protocol):
    """A generator of w whose pictures can be differentiated."""

    @property
    def layers(self) -> int:
        """How many w an image takes."""
        ...

    def to_space(self, latents: Latents, space: str) -> Latents:
        """The same subjects in another space."""
        ...

    def synthesize(
        self, w: torch.Tensor, noise: str | None = None, seed: int = 0, *, gradients: bool = False
    ) -> Float[torch.Tensor, "b 3 h w"]:
        """Images in about [-1, 1] of w [b, layers, w_dim]."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Unedited:
    """How unedited subjects read. values, readings [n, k]: along the directions, and by the network, in its own units.

    spreads [k]: of the readings. root [d, d]: a square root of the covariance of the latents.
    """

    values: Float[np.ndarray, "n k"]
    readings: Float[np.ndarray, "n k"]
    root: Float[np.ndarray, "d d"]

    @property
    def spreads(self) -> Float[np.ndarray, " k"]:
        """Standard deviations of the readings."""
        return np.asarray(np.maximum(self.readings.std(axis=0), _LEAST_SPREAD))

    def expected(self, place: int, value: float) -> float:
        """The reading of unedited subjects whose value along the direction is this one: a rising step curve."""
        from sklearn.isotonic import IsotonicRegression

        curve = IsotonicRegression(out_of_bounds="clip").fit(self.values[:, place], self.readings[:, place])
        return float(curve.predict([value])[0])


@final
class Reoptimised:
    """Corrects the edits of a generator along directions of its w, row by row: no row depends on another.

    A row whose latent is its subject's own is not touched. What was set is what moved along the directions; all other
    attributes that the network reads keep the subject's own readings.
    """

    def __init__(self, generator: Generator, controls: LearnedControls, space: str) -> None:
        self._generator, self._controls, self._space = generator, controls, space
        from transect.perceptual.features import load

        known = {answer.name: answer for answer in load().answers if not answer.name.startswith("identity.")}
        self.names = tuple(name for name in controls.directions if name in known)
        self._answers = tuple(known[name] for name in self.names)

    def correct(self, own: Latents, edited: Latents) -> Latents:
        """The edited latents, moved on. own: the subjects' unedited latents, row by row."""
        width = len(self._unedited.root)
        before, after = layered(own, self._space, width), layered(edited, self._space, width)
        moved = self._moved(own, edited)
        values = self._values(edited)
        rows = [
            self._row(before[row], after[row], moved[row], values[row], int(edited.seeds[row]))
            if moved[row].any()
            else after[row]
            for row in range(len(edited))
        ]
        shape = np.shape(edited.values)
        return replace(edited, values=np.array(rows, dtype=np.float64).reshape(shape)) if rows else edited

    def describe(self) -> dict[str, object]:
        """What recreates it, for a run's spec."""
        from transect.perceptual.features import WEIGHTS
        from transect.runs import model_files

        return {
            "how": HOW, "steps": STEPS, "distance": DISTANCE, "reader_sha256": model_files.sha256(WEIGHTS),
            "attributes": list(self.names),
        }  # fmt: skip

    def read(self, layers: Float[np.ndarray, "l d"], seed: int) -> Float[np.ndarray, " k"]:
        """The network's readings of the picture of one latent, in its own units."""
        import torch

        with torch.inference_mode():
            return _outputs(self._show(torch.from_numpy(layers).float()[None], seed), self._answers)[0].double().numpy()

    def _values(self, latents: Latents) -> Float[np.ndarray, "n k"]:
        """Along the directions of the names, within their ranges."""
        table = self._controls.read(latents)
        return np.stack([table[name].to_numpy() for name in self.names], axis=1)

    def _moved(self, own: Latents, edited: Latents) -> Bool[np.ndarray, "n k"]:
        """Which attributes were set: those whose value along its direction changed."""
        spans = np.array([self._controls.directions[n].high - self._controls.directions[n].low for n in self.names])
        return np.asarray(np.abs(self._values(edited) - self._values(own)) > _MOVED * spans)

    @cached_property
    def _unedited(self) -> Unedited:
        latents = self._generator_sample()
        width = np.shape(latents.values)[1]
        readings = [
            self.read(row[None].repeat(self._layers, axis=0), int(seed))
            for seed, row in zip(latents.seeds, np.asarray(latents.values), strict=True)
        ]
        covariance = np.cov(np.asarray(latents.values).T) + _LEAST_SPREAD * np.eye(width)
        lengths, turns = np.linalg.eigh(covariance)
        root = turns * np.sqrt(np.maximum(lengths, 0.0))
        return Unedited(self._values(latents), np.array(readings), root)

    def _generator_sample(self) -> Latents:
        from transect.runs.capabilities import sample_unedited

        latents = sample_unedited(self._generator, FIRST_SUBJECT + np.arange(SUBJECTS, dtype=np.int64))
        return self._differentiable.to_space(latents, self._space)

    @property
    def _layers(self) -> int:
        return int(self._differentiable.layers)

    @property
    def _differentiable(self) -> Differentiable:
        inner = getattr(self._generator, "generator", self._generator)  # the one below inverted photographs
        if not isinstance(inner, Differentiable):
            raise TypeError("expected a generator that can be differentiated")
        return inner

    def _show(self, layers: torch.Tensor, seed: int, *, gradients: bool = False) -> torch.Tensor:
        full = layers.expand(len(layers), self._layers, layers.shape[2])
        shown = self._differentiable.synthesize(full, seed=seed, gradients=gradients)
        return ((shown + 1) / 2).clamp(0, 1)

    def _row(
        self,
        own: Float[np.ndarray, "l d"],
        edited: Float[np.ndarray, "l d"],
        moved: Bool[np.ndarray, " k"],
        values: Float[np.ndarray, " k"],
        seed: int,
    ) -> Float[np.ndarray, "l d"]:
        """One edited latent, moved by the same step in every layer; the best of all steps."""
        unedited = self._unedited
        wanted = self.read(own, seed)
        for place in np.flatnonzero(moved):
            wanted[place] = unedited.expected(int(place), float(values[place]))
        readings, slopes = self._linear(edited, seed)
        offset = np.zeros(unedited.root.shape[1])
        jacobian = (slopes @ unedited.root) / unedited.spreads[:, None]
        error = (wanted - readings) / unedited.spreads
        best, least = edited, float(error @ error)
        for _ in range(STEPS):
            inner = jacobian @ jacobian.T + DISTANCE * np.eye(len(error))
            step = jacobian.T @ np.linalg.solve(inner, error + jacobian @ offset) - offset
            offset = offset + step
            layers = edited + unedited.root @ offset
            before, error = error, (wanted - self.read(layers, seed)) / unedited.spreads
            objective = float(error @ error + DISTANCE * offset @ offset)
            if objective < least:
                best, least = layers, objective
            length = float(step @ step)
            if length == 0:
                break
            jacobian = jacobian + np.outer(before - error - jacobian @ step, step) / length
        return best

    def _linear(
        self, layers: Float[np.ndarray, "l d"], seed: int
    ) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, "k d"]]:
        """Readings, and their slopes by a step that moves all layers: one copy of the picture for each reading."""
        import torch

        count, width = len(self._answers), layers.shape[1]
        with torch.inference_mode(False), torch.enable_grad():
            step = torch.zeros(count, 1, width, requires_grad=True)
            codes = torch.from_numpy(layers).float()[None] + step
            outputs = _outputs(self._show(codes, seed, gradients=True), self._answers)
            (slopes,) = torch.autograd.grad(outputs.diagonal().sum(), step)
        return outputs[0].detach().double().numpy(), slopes[:, 0].double().numpy()


def _outputs(images: torch.Tensor, answers: Sequence[Answer]) -> torch.Tensor:
    """One number for each answer: as the network has numbers and switches; of choices the log odds of not the first."""
    import torch

    from transect.perceptual.features import load

    outputs = load().network(images)
    columns = []
    for answer in answers:
        own = outputs[:, answer.columns]
        columns.append(own[:, 1:].logsumexp(dim=1) - own[:, 0] if answer.levels > 2 else own[:, 0])
    return torch.stack(columns, dim=1)
