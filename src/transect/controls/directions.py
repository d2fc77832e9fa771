"""Attribute directions fitted from labels: linear models in a latent space, each with its held-out quality and origin.

Ridge regression for continuous and ordinal attributes, logistic regression or a linear support vector machine for
binary ones. Sources: Denton et al. 2019, arXiv:1906.06439, §3 (classes balanced on other attributes); Balakrishnan
et al. 2020, arXiv:2007.06570, §4.1.1 (ridge and SVM hyperplanes from human ratings, held-out quality in their Fig.
8) and §4.1.2 (step ranges, there set by eye); Haufe et al. 2014, doi:10.1016/j.neuroimage.2013.10.067 (ways).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput

SEEN: Final = 0.9
"""Share of the labels that see a binary attribute at the high end, and do not at the low end."""
TAILS: Final = (5.0, 95.0)
"""Percentiles of a continuous attribute's labels that the two ends reach."""
_FEWEST: Final = 10
_PENALTY: Final = 0.01
_TOLERANCE: Final = 1e-10


def shown_range(
    values: Float[np.ndarray, " n"], labels: Float[np.ndarray, " n"], kind: str, within: tuple[float, float]
) -> tuple[float, float]:
    """The values at which labels see little and much of the attribute, cut to the range `within`.

    values: where rows lie along the direction; labels: what was seen there, of rows that the direction was not fitted
    on. binary: where 10 % and 90 % of the labels are yes, by logistic regression of labels on values; else where the
    mean label is the 5th and the 95th percentile of labels, by a straight line. NaN, NaN where there are fewer than 10
    rows (of a class), or where labels do not rise with the values.
    """
    nothing = (float("nan"), float("nan"))
    if kind == "binary":
        if min((labels == 0).sum(), (labels == 1).sum()) < _FEWEST:
            return nothing
        # Slope and offset; a slight penalty on the slope per standard deviation, so that separated classes have one.
        from sklearn.linear_model import LogisticRegression

        scale = float(values.std()) or 1.0
        model = LogisticRegression(C=1 / _PENALTY, solver="newton-cholesky", tol=_TOLERANCE).fit(
            (values / scale)[:, None], labels
        )
        slope, offset = float(model.coef_[0, 0] / scale), float(model.intercept_[0])
        percentiles = np.log([(1 - SEEN) / SEEN, SEEN / (1 - SEEN)])
    else:
        if len(values) < _FEWEST or np.ptp(values) == 0:
            return nothing
        slope, offset = (float(number) for number in np.polyfit(values, labels, 1))
        percentiles = np.percentile(labels, TAILS)
    if not slope > 0:
        return nothing
    low, high = np.clip((percentiles - offset) / slope, *within)
    return (float(low), float(high)) if low < high else nothing


LARGEST_CONDITION = 1e3
"""Of the normals, as of two that are a ninth of a degree apart; beyond it a step that leaves one attribute alone is
a thousand times as long as one along its normal, and attributes cannot be told apart in this latent space."""


@dataclass(frozen=True, slots=True)
class Hyperplanes:
    """One hyperplane n·z + b = 0 per attribute, with unit normals [K, d] and offsets [K]."""

    names: tuple[str, ...]
    normals: Float[np.ndarray, "K d"]
    offsets: Float[np.ndarray, " K"]

    @classmethod
    def of(
        cls, names: Sequence[str], coefficients: Float[np.ndarray, "K d"], intercepts: Float[np.ndarray, " K"]
    ) -> Hyperplanes:
        """From the coefficients of linear models, of any length: both are divided by it."""
        normals, offsets = np.asarray(coefficients, dtype=np.float64), np.asarray(intercepts, dtype=np.float64)
        if normals.ndim != 2 or len(normals) != len(names) or offsets.shape != (len(names),):
            shapes = f"coefficients {list(normals.shape)} and intercepts {list(offsets.shape)}"
            raise BadInput(f"hyperplanes: expected a row and a number for each of {len(names)} names, got {shapes}")
        lengths = np.linalg.norm(normals, axis=1)
        unsound = ~(np.isfinite(lengths) & np.isfinite(offsets) & (lengths > 0))
        if unsound.any():
            affected = ", ".join(name for name, bad in zip(names, unsound, strict=True) if bad)
            raise BadInput(f"hyperplanes: expected finite, non-zero normals; fit {affected} again")
        return cls(tuple(names), normals / lengths[:, None], offsets / lengths)

    def decisions(self, z: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n K"]:
        """Signed distance of each latent to each hyperplane."""
        return np.asarray(z @ self.normals.T + self.offsets)


def angles(normals: Float[np.ndarray, "K d"]) -> Float[np.ndarray, "K K"]:
    """Degrees between directions."""
    unit = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    return np.asarray(np.degrees(np.arccos(np.clip(unit @ unit.T, -1, 1))))


def steps_along(planes: Hyperplanes, ways: Float[np.ndarray, "K d"]) -> Float[np.ndarray, "K d"]:
    """Steps s_j with s_j·n_j = 1 and s_j·n_k = 0 for every k ≠ j, each a combination of the ways.

    With the normals as ways: of all steps that leave the other decision values alone, s_j is the nearest to n_j, a row
    of the transposed pseudo-inverse. Raises BadInput for attributes that the ways do not tell apart.
    """
    check_independent(planes)
    through = ways / (ways * planes.normals).sum(axis=1, keepdims=True)
    across = planes.normals @ through.T
    if not np.linalg.cond(across) <= LARGEST_CONDITION:
        raise BadInput(
            f"directions: attributes do not vary separately in the latent space: {', '.join(planes.names)} "
            f"(condition number {np.linalg.cond(across):.2g}); drop some"
        )
    return np.asarray(np.linalg.solve(across.T, through))


def check_independent(planes: Hyperplanes) -> None:
    """Raises BadInput for attributes whose normals are collinear, naming them."""
    condition = float(np.linalg.cond(planes.normals)) if len(planes.names) <= planes.normals.shape[1] else np.inf
    if condition <= LARGEST_CONDITION:
        return
    turns, lengths, _ = np.linalg.svd(planes.normals)
    lengths = np.pad(lengths, (0, len(planes.names) - len(lengths)))  # more attributes than dimensions
    weights = np.linalg.norm(turns[:, lengths < lengths[0] / LARGEST_CONDITION], axis=1)
    involved = ", ".join(name for name, w in zip(planes.names, weights, strict=True) if w > 0.1 * weights.max())
    raise BadInput(
        f"directions: {involved} are collinear in the latent space (condition number {condition:.2g}); drop one"
    )


METHODS = {"continuous": ("ridge",), "ordinal": ("ridge",), "binary": ("logistic", "svm", "ridge")}

FEWEST_LABELS, FEWEST_OF_A_CLASS = 50, 20
HELD_OUT = 0.2
"""Share of the labels that a fit does not see."""

MODELS = ("model", "rater", "target")
"""Prefixes of sources of labels that are models, not people."""
LEAK = "any biases of the classifier will leak into the direction"
"""Denton et al. 2019, §3, on directions fitted from a classifier's labels."""

_PENALTIES = np.logspace(-3, 6, 19)
_COSTS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
_FOLDS = 5
MIDDLE: Final = (0.5, 99.5)
"""Percentiles between which an attribute can be set."""


@dataclass(frozen=True, slots=True)
class Direction:
    """One attribute's direction: unit normal [d], offset of its hyperplane, and their quality and origin.

    The hyperplane parts no from yes (binary) or lies at the mean label (continuous). quality: held-out accuracy,
    balanced over classes, or R². slope: change of the predicted label per unit along the normal (continuous only; NaN
    for binary). low, high: where the middle 99 % of the rows lie, as predicted labels (continuous) or signed distances
    from the hyperplane (binary): labels do not support steps beyond. mean: the label on the hyperplane.
    origin: where labels came from, what was balanced, how it was fitted. shown_low, shown_high: between them labels see
    little and much of the attribute (`calibration.shown_range`); NaN where labels do not follow the direction.
    along: unit vector [d], the way in which the latents of the fit vary with the predicted label (their covariance
    times the normal, Haufe et al. 2014, doi 10.1016/j.neuroimage.2013.10.067); None: the normal itself.
    """

    name: str
    kind: str
    normal: Float[np.ndarray, " d"]
    offset: float
    slope: float
    mean: float
    low: float
    high: float
    quality: float
    quality_measure: str
    labels: int
    held_out: int
    origin: Mapping[str, object] = field(default_factory=dict)
    shown_low: float = float("nan")
    shown_high: float = float("nan")
    along: Float[np.ndarray, " d"] | None = None

    @property
    def way(self) -> Float[np.ndarray, " d"]:
        """Where a step that changes the label as little else as it can leads: `along`, else the normal."""
        return self.normal if self.along is None else self.along


def fit_direction(
    name: str,
    latents: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    kind: str,
    *,
    method: str | None = None,
    balance: Mapping[str, Float[np.ndarray, " n"]] | None = None,
    source: str = "labels",
    seed: int = 0,
) -> Direction:
    """The direction along which the label changes, fitted on 80 % of the rows that have one (NaN: none) and a latent.

    Rows with labels whose latents are not finite, as of inversions that failed, are left out and counted in the origin.

    kind: continuous, ordinal or binary. method: ridge for the first two; logistic (default), svm or ridge for the last,
    whose hyperplane is where the regression of 0 and 1 predicts one half.
    balance: other attributes (discrete values); rows are weighted so that every combination of them holds as much of
    each class (binary only). source: where the labels come from, e.g. "ratings" or "model:smiling.onnx"; recorded,
    since a direction fitted from a model's answers carries the model's biases. The penalty is chosen by
    cross-validation within the 80 %. Raises BadInput for too few labels, one class only, a combination without rows,
    another method.
    """
    fit_method = _method(name, kind, method)
    z, y = np.asarray(latents, dtype=np.float64), np.asarray(labels, dtype=np.float64)
    placed, known = np.isfinite(z).all(axis=1), np.isfinite(y)
    labelled, missing = known & placed, int((known & ~placed).sum())
    z, y = z[labelled], y[labelled]
    check_labels(name, y, kind, missing)
    cells = {other: np.asarray(values)[labelled] for other, values in (balance or {}).items()}
    if cells and kind != "binary":
        raise BadInput(f"{name}: expected a binary attribute to balance, got a {kind} one; leave balance out")
    weights = _balancing(name, y, cells)
    train, test = _split(y, kind, seed)
    normal, offset, slope, penalty = _fitted(kind, fit_method, z[train], y[train], weights[train])
    mean = 0.0 if kind == "binary" else float(y[train].mean())
    measured = _quality(kind, y[test], z[test] @ normal + offset, weights[test], slope, mean)
    origin = {"labels": source, "method": fit_method, "penalty": penalty, "balanced_on": sorted(cells), "seed": seed}
    origin |= {"without_latents": missing} if missing else {}
    length = float(np.linalg.norm(normal))
    if not length > 0:
        raise BadInput(f"{name}: its labels do not change with the latents; give more labels")
    measure = "balanced accuracy" if kind == "binary" else "R2"
    values = (z @ normal + offset) / length
    if kind != "binary":
        values = mean + slope * length * values
    low, high = (float(end) for end in np.percentile(values, MIDDLE))
    shown = shown_range(values[test], y[test], kind, (low, high))
    return Direction(
        name, kind, normal / length, offset / length, slope * length, mean, low, high, measured, measure, len(y),
        len(test), origin, *shown, along=_along(z[train], normal),
    )  # fmt: skip


DECISION: Final = "decision"


def in_decisions(direction: Direction) -> Direction:
    """The direction with signed distances from its hyperplane as values; a binary one has them already.

    >>> fitted = Direction("age", "continuous", np.ones(1), 0.0, 2.0, 30.0, 20.0, 50.0, 0.5, "R2", 100, 20)
    >>> signed = in_decisions(fitted)  # two years for each unit, 30 at the hyperplane
    >>> signed.low, signed.high, signed.mean, signed.slope
    (-5.0, 10.0, 0.0, 1.0)
    """
    if direction.kind == "binary":
        return direction
    ends = (direction.low, direction.high, direction.shown_low, direction.shown_high)
    low, high, shown_low, shown_high = ((end - direction.mean) / direction.slope for end in ends)
    origin = {**direction.origin, "values": DECISION}
    return replace(
        direction, slope=1.0, mean=0.0, low=low, high=high, shown_low=shown_low, shown_high=shown_high, origin=origin
    )


def _along(rows: Float[np.ndarray, "n d"], normal: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
    """The covariance of the rows (shrunk as Ledoit and Wolf 2004 do, for few rows) times the normal, of length 1.

    Of all steps that change the predicted label by as much, the one in this direction is the shortest in the rows' own
    spread. Along the normal a step can be long in a coordinate that hardly varies, where the generator never was.
    """
    from sklearn.covariance import ledoit_wolf

    way = ledoit_wolf(rows)[0] @ normal
    return np.asarray(way / np.linalg.norm(way))


def _method(name: str, kind: str, method: str | None) -> str:
    allowed = METHODS.get(kind)
    if allowed is None:
        raise BadInput(f"{name}: expected a continuous, ordinal or binary attribute, got a {kind} one; fit its levels")
    if method is not None and method not in allowed:
        raise BadInput(f"{name}: expected {' or '.join(allowed)} for a {kind} attribute, got {method!r}")
    return method or allowed[0]


def check_labels(name: str, y: Float[np.ndarray, " n"], kind: str, missing: int = 0) -> None:
    """Raise BadInput for too few labels or equal ones. missing: labels left out without a finite latent."""
    lost = f" ({missing:,} more have no finite latents)" if missing else ""
    if len(y) < FEWEST_LABELS:
        raise BadInput(f"{name}: expected at least {FEWEST_LABELS} labels, got {len(y)}{lost}; label more")
    if kind != "binary":
        if np.ptp(y) == 0:
            raise BadInput(f"{name}: expected labels that differ, got only {y[0]:g}{lost}; label more")
        return
    if not np.isin(y, (0, 1)).all():
        raise BadInput(f"{name}: expected labels 0 and 1, got {np.unique(y)[:5].tolist()}; choose a threshold")
    counts = [int((y == value).sum()) for value in (0, 1)]
    if min(counts) < FEWEST_OF_A_CLASS:
        raise BadInput(
            f"{name}: expected at least {FEWEST_OF_A_CLASS} labels of each class, got {counts[0]} no and {counts[1]}"
            f" yes{lost}; label more"
        )


def _balancing(name: str, y: Float[np.ndarray, " n"], cells: Mapping[str, np.ndarray]) -> Float[np.ndarray, " n"]:
    """Weights of mean 1 that give every combination of the other attributes as much of each class."""
    if not cells:
        return np.ones(len(y))
    columns = np.column_stack([*cells.values()])
    kinds, which = np.unique(columns, axis=0, return_inverse=True)
    which = which.reshape(-1)
    weights = np.zeros(len(y))
    for index, kind in enumerate(kinds):
        for value in (0, 1):
            members = (which == index) & (y == value)
            if not members.any():
                where = ", ".join(f"{other} {level:g}" for other, level in zip(cells, kind, strict=True))
                raise BadInput(f"{name}: expected both classes where {where}, found only {'no' if value else 'yes'}")
            weights[members] = 1 / members.sum()
    return np.asarray(weights * (len(y) / weights.sum()))


def _split(y: Float[np.ndarray, " n"], kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.model_selection import train_test_split

    train, test = train_test_split(
        np.arange(len(y)), test_size=HELD_OUT, random_state=seed, stratify=y if kind == "binary" else None
    )
    return train, test


_Fit = tuple[Float[np.ndarray, " d"], float, float, float]
"""Normal, offset, slope of the label (NaN for classes) and the penalty that was chosen."""


def _fitted(kind: str, method: str, z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> _Fit:
    from sklearn.linear_model import LogisticRegression, RidgeCV
    from sklearn.svm import LinearSVC

    if method == "logistic":
        return _fit_classifier(lambda cost: LogisticRegression(C=cost, max_iter=2000), z, y, weights)
    if method == "svm":
        return _fit_classifier(lambda cost: LinearSVC(C=cost, dual=False, max_iter=5000), z, y, weights)
    model = RidgeCV(alphas=_PENALTIES).fit(z, y, sample_weight=weights)
    normal, offset = np.asarray(model.coef_, dtype=np.float64), float(model.intercept_ - y.mean())
    if kind == "binary":
        return normal, offset + float(y.mean()) - 0.5, float("nan"), float(model.alpha_)
    return normal, offset, 1.0, float(model.alpha_)


def _fit_classifier(make: Callable[[float], Any], z: np.ndarray, y: np.ndarray, weights: np.ndarray) -> _Fit:
    """The cost with the best cross-validated balanced accuracy; the smallest of equals."""
    from sklearn.model_selection import StratifiedKFold

    folds = list(StratifiedKFold(_FOLDS, shuffle=True, random_state=0).split(z, y))

    def score(cost: float) -> float:
        scores = []
        for train, test in folds:
            model = make(cost).fit(z[train], y[train], sample_weight=weights[train])
            scores.append(_balanced_accuracy(y[test], model.decision_function(z[test]), weights[test]))
        return float(np.mean(scores))

    best = max(_COSTS, key=lambda cost: (round(score(cost), 6), -cost))
    model = make(best).fit(z, y, sample_weight=weights)
    return np.asarray(model.coef_[0], dtype=np.float64), float(model.intercept_[0]), float("nan"), best


def _quality(kind: str, y: np.ndarray, decisions: np.ndarray, weights: np.ndarray, slope: float, mean: float) -> float:
    if kind == "binary":
        return _balanced_accuracy(y, decisions, weights)
    residual = ((y - mean - slope * decisions) ** 2).sum()
    return float(1 - residual / ((y - y.mean()) ** 2).sum())


def _balanced_accuracy(y: np.ndarray, decisions: np.ndarray, weights: np.ndarray) -> float:
    right = (decisions > 0) == (y == 1)
    return float(np.mean([np.average(right[y == value], weights=weights[y == value]) for value in (0, 1)]))


def labelled_by_a_model(origin: Mapping[str, object]) -> bool:
    """Whether the labels of an origin are a model's answers."""
    return str(origin.get("labels", "")).partition(":")[0] in MODELS


def hyperplanes(directions: Sequence[Direction]) -> Hyperplanes:
    """The directions' hyperplanes together."""
    normals = np.array([direction.normal for direction in directions])
    return Hyperplanes.of(
        [direction.name for direction in directions], normals, np.array([direction.offset for direction in directions])
    )
