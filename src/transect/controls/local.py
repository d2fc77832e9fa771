"""Local directions: each step follows the gradient of an attribute model where a latent is, not along one line.

The model is kernel ridge regression of labels on latents (a linear and a Gaussian kernel, on a subset of centers), so
that gradients are known in closed form. Steps leave the other attributes' models where they are, as the dual
directions do: for models that are linear, the path is theirs. Sources: Saunders et al. 1998, Ridge regression learning
algorithm in dual variables (ICML); Williams & Seeger 2001, Using the Nyström method to speed up kernel machines (NIPS).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.controls.calibration import shown_range
from transect.controls.directions import HELD_OUT, check_labels, labelled_rows
from transect.controls.layers import layered
from transect.controls.learned import evenly
from transect.errors import BadInput
from transect.generators.requests import requested_columns
from transect.protocols import Table
from transect.records import FITTED, Attribute, Latents

CENTERS: Final = 500
"""The most rows whose kernels the model uses."""
STEPS: Final = 20
_PENALTIES: Final = np.logspace(-4, 3, 8)
_JITTER: Final = 1e-9
_ALIKE: Final = 1e-6
_CORRECTIONS: Final = 5
_CLOSED: Final = 1e-12


@final
@dataclass(frozen=True, slots=True)
class AttributeModel:
    """One attribute as a smooth function of a latent: constant + linear part + a Gaussian kernel at each center.

    slopes [d]; centers [m, d]; weights [m]; gamma: the kernel is exp(-gamma |z - center|²). low, high: the middle 99 %
    of predictions. quality: R² on labels that the fit did not see. shown_low, shown_high: between them labels see
    little and much of the attribute (`calibration.shown_range`); NaN where labels do not follow the model.
    """

    name: str
    constant: float
    slopes: Float[np.ndarray, " d"]
    centers: Float[np.ndarray, "m d"]
    weights: Float[np.ndarray, " m"]
    gamma: float
    low: float
    high: float
    quality: float
    labels: int
    held_out: int
    origin: Mapping[str, object] = field(default_factory=dict)
    shown_low: float = float("nan")
    shown_high: float = float("nan")

    @property
    def kind(self) -> str:
        """As of a linear direction: predictions are numbers."""
        return "continuous"

    @property
    def quality_measure(self) -> str:
        """The measure of `quality`."""
        return "R2"

    def value(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The predicted label of each latent."""
        return np.asarray(self.constant + z @ self.slopes + self._kernels(z) @ self.weights)

    def gradient(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
        """The gradient of the predicted label, at each latent."""
        weighted = self._kernels(z) * self.weights
        return np.asarray(self.slopes - 2 * self.gamma * (z * weighted.sum(1)[:, None] - weighted @ self.centers))

    def _kernels(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n m"]:
        return np.asarray(np.exp(-self.gamma * _squared_distances(z, self.centers)))


def fit_model(
    name: str,
    latents: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    source: str = "labels",
    seed: int = 0,
) -> AttributeModel:
    """An attribute model of labels (any numbers; 0 and 1 give a share of yes), fitted on 80 % of the rows with one.

    The penalty is chosen on a fifth of those. source: as for `fit_direction`. Rows with labels whose latents are not
    finite are left out and counted in the origin. Raises BadInput for fewer than 50 labels, or than 20 of a class, and
    for labels (or held-out ones) that do not differ.
    """
    labelled, missing = labelled_rows(latents, labels)
    z, y = np.asarray(latents, dtype=np.float64)[labelled], np.asarray(labels, dtype=np.float64)[labelled]
    kind = "binary" if np.isin(y, (0, 1)).all() else "continuous"
    check_labels(name, y, kind, missing)
    order = np.random.default_rng(seed).permutation(len(y))
    count = round(HELD_OUT * len(y))
    test, train = order[:count], order[count:]
    if np.ptp(y[test]) == 0:
        raise BadInput(f"{name}: expected held-out labels that differ, got {y[test][0]:g} in all {count}; label more")
    part = train[: round(HELD_OUT * len(train))], train[round(HELD_OUT * len(train)) :]
    centers, gamma = z[part[1][:CENTERS]], 1.0 / (2 * float(z.var(axis=0).sum()))
    inner, outer = _Basis.of(z[part[1]], y[part[1]], centers, gamma), _Basis.of(z[train], y[train], centers, gamma)
    losses = [float(((inner.solve(p).predict(z[part[0]]) - y[part[0]]) ** 2).sum()) for p in _PENALTIES]
    penalty = float(_PENALTIES[int(np.argmin(losses))])
    fit = outer.solve(penalty * len(train) / len(part[1]))
    predictions = fit.predict(z[test])
    residual = ((y[test] - predictions) ** 2).sum() / ((y[test] - y[test].mean()) ** 2).sum()
    low, high = (float(end) for end in np.percentile(fit.predict(z), (0.5, 99.5)))
    origin = {"labels": source, "method": "kernel ridge", "penalty": penalty, "seed": seed, "balanced_on": []}
    origin |= {"without_latents": missing} if missing else {}
    shown = shown_range(predictions, y[test], kind, (low, high))
    return AttributeModel(
        name, fit.constant, fit.slopes, centers, fit.weights, gamma,
        low, high, float(1 - residual), len(y), count, origin, *shown,
    )  # fmt: skip


@final
@dataclass(frozen=True, slots=True)
class _Fit:
    constant: float
    slopes: Float[np.ndarray, " d"]
    weights: Float[np.ndarray, " m"]
    centers: Float[np.ndarray, "m d"]
    gamma: float

    def predict(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        kernels = np.exp(-self.gamma * _squared_distances(z, self.centers))
        return np.asarray(self.constant + z @ self.slopes + kernels @ self.weights)


@final
@dataclass(frozen=True, slots=True)
class _Basis:
    """The normal equations of one set of rows, to be solved for several penalties."""

    products: Float[np.ndarray, "p p"]
    moments: Float[np.ndarray, " p"]
    penalties: Float[np.ndarray, "p p"]
    means: Float[np.ndarray, " p"]
    mean: float
    centers: Float[np.ndarray, "m d"]
    gamma: float

    @classmethod
    def of(cls, z: np.ndarray, y: np.ndarray, centers: np.ndarray, gamma: float) -> _Basis:
        """Slopes [d] and kernel weights [m], each about its mean; weights are penalised by the centers' own kernel."""
        d, m = z.shape[1], len(centers)
        columns = np.concatenate([z, np.exp(-gamma * _squared_distances(z, centers))], axis=1)
        means = columns.mean(axis=0)
        centred = columns - means
        penalties = np.zeros((d + m, d + m))
        penalties[:d, :d] = np.eye(d)
        penalties[d:, d:] = np.exp(-gamma * _squared_distances(centers, centers))
        mean = float(y.mean())
        return cls(centred.T @ centred, centred.T @ (y - mean), penalties, means, mean, centers, gamma)

    def solve(self, penalty: float) -> _Fit:
        lifted = self.products + penalty * self.penalties + _JITTER * len(self.means) * np.eye(len(self.means))
        solution = np.linalg.solve(lifted, self.moments)
        d = len(solution) - len(self.centers)
        return _Fit(float(self.mean - self.means @ solution), solution[:d], solution[d:], self.centers, self.gamma)


def _squared_distances(rows: Float[np.ndarray, "n d"], other: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
    squares = (rows**2).sum(1)[:, None] + (other**2).sum(1)[None] - 2 * rows @ other.T
    return np.asarray(np.maximum(squares, 0))


@final
class LocalControls:
    """Sets attributes along paths that follow their models' gradients; the other models' values stay.

    The same contract as `LearnedControls`, codes of w+ included; values are predicted labels, within the models'
    ranges. Raises BadInput for no models or two of one name.
    """

    def __init__(self, models: Sequence[AttributeModel], space: str, steps: int = STEPS) -> None:
        names = [model.name for model in models]
        if not names or len(set(names)) < len(names):
            raise BadInput(f"directions: expected one or more with a name each, got {', '.join(names) or 'none'}")
        self.space, self.steps = space, steps
        self.models = {model.name: model for model in models}

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What can be read and set."""
        return tuple(_attribute(model) for model in self.models.values())

    @property
    def usual_levels(self) -> dict[str, tuple[float, ...]]:
        """Five values of each attribute, as of `LearnedControls.usual_levels`."""
        known = self.models.items()
        return {name: evenly((model.shown_low, model.shown_high), (model.low, model.high)) for name, model in known}

    def read(self, latents: Latents) -> pa.Table:
        """The predicted label of every attribute, float64 columns, within the models' ranges."""
        values = self._values(self._rows(latents))
        ends = [(model.low, model.high) for model in self.models.values()]
        return pa.table({n: np.clip(values[:, k], *ends[k]) for k, n in enumerate(self.models)})

    def set(self, latents: Latents, values: Table, hold: Sequence[str] = ()) -> Latents:
        """Latents moved until the models predict those values, in steps along the gradients where each latent is.

        Raises UnknownName (attribute), BadInput (range, held and set at once, latents of another space, gradients that
        are collinear on the way).
        """
        rows = self._rows(latents)
        requested, aim = requested_columns(self.attributes, values, hold, len(rows)), self._values(rows)
        for number, name in enumerate(self.models):
            if name in requested:
                aim[:, number] = requested[name]
        moved = np.array([self._walk(row, goal) for row, goal in zip(rows, aim, strict=True)]).reshape(rows.shape)
        # Each layer of w+ keeps its difference from the mean; a single layer has none.
        moved = moved[:, None] + (self._layers(latents) - rows[:, None])
        return replace(latents, values=moved.reshape(np.shape(latents.values)))

    def _walk(self, row: Float[np.ndarray, " d"], goal: Float[np.ndarray, " K"]) -> Float[np.ndarray, " d"]:
        """One latent: each step closes its share of what is left, by the shortest move that does so for all models.

        The last steps close what the curvature of the path has left.
        """
        for left in (*range(self.steps, 0, -1), *[1] * _CORRECTIONS):
            gap = (goal - self._values(row[None])[0]) / left
            if np.abs(gap).max() <= _CLOSED:
                continue
            jacobian = np.array([model.gradient(row[None])[0] for model in self.models.values()])
            lengths = np.linalg.norm(jacobian, axis=1)
            singular = np.linalg.svd(jacobian / np.maximum(lengths, 1e-300)[:, None], compute_uv=False)
            if not (lengths > 0).all() or singular[-1] < _ALIKE:
                raise BadInput(
                    f"directions: expected gradients of {', '.join(self.models)} that differ on the way, got collinear"
                    f" ones (condition number {singular[0] / max(singular[-1], 1e-300):.2g}); drop one of them"
                )
            row = row + np.linalg.pinv(jacobian) @ gap
        return row

    def _values(self, rows: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n K"]:
        # Row by row: the last bit of one product of all rows would depend on their number.
        values = [[float(model.value(row[None])[0]) for model in self.models.values()] for row in rows]
        return np.array(values).reshape(len(rows), len(self.models))

    def _rows(self, latents: Latents) -> Float[np.ndarray, "n d"]:
        return np.asarray(self._layers(latents).mean(axis=1))

    def _layers(self, latents: Latents) -> Float[np.ndarray, "n layers d"]:
        return layered(latents, self.space, next(iter(self.models.values())).centers.shape[1])


def _attribute(model: AttributeModel) -> Attribute:
    source = f"{FITTED} {model.origin.get('labels', 'labels')}, held-out R2 {model.quality:.2f}"
    return Attribute(
        model.name, "continuous", f"{model.name}, as a model predicts it", "", model.low, model.high, source=source
    )
