"""Populations of FaceWorld: marginals, the copula that correlates them, and mechanisms of caused attributes."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import ndtr, ndtri

from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.attributes import NAMES, attribute
from transect.generators.faceworld.reflectance import PARENTS as EXPOSURE_PARENTS
from transect.runs import toml_files

_NUMBERS = ("uniform", "normal", "sometimes")
_DISTRIBUTIONS = {
    "binary": ("bernoulli",),
    "categorical": ("categorical",),
    "continuous": _NUMBERS,
    "ordinal": _NUMBERS,
}


class Strict(BaseModel):
    """Frozen; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Uniform(Strict):
    """Every value between low and high equally often."""

    distribution: Literal["uniform"]
    low: float
    high: float

    def quantile(self, z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The value at normal score z."""
        return np.asarray(self.low + (self.high - self.low) * ndtr(z))

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self.low, self.high


class Normal(Strict):
    """A normal distribution cut off at low and high (by default, the attribute's range)."""

    distribution: Literal["normal"]
    mean: float
    sd: Annotated[float, Field(gt=0)]
    low: float
    high: float

    def quantile(self, z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The value at normal score z: the inverse of the truncated normal distribution function."""
        # In the lower tail probabilities keep their digits: a distribution cut there is mirrored if needed.
        sign = -1 if self.mean < self.low else 1
        ends = sorted((sign * (self.low - self.mean) / self.sd, sign * (self.high - self.mean) / self.sd))
        below, above = ndtr(ends[0]), ndtr(ends[1])
        standard = sign * ndtri(below + ndtr(sign * z) * (above - below))
        return np.asarray(np.clip(self.mean + self.sd * standard, self.low, self.high))

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self.low, self.high


class Sometimes(Strict):
    """`otherwise` for all but a share of the subjects; uniform between low and high for that share."""

    distribution: Literal["sometimes"]
    share: Annotated[float, Field(ge=0, le=1)]
    low: float
    high: float
    otherwise: float = 0.0

    def quantile(self, z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The value at normal score z: the highest scores are the share that differs."""
        rank = (ndtr(z) - (1 - self.share)) / max(self.share, np.finfo(float).tiny)
        return np.where(rank > 0, self.low + (self.high - self.low) * np.clip(rank, 0, 1), self.otherwise)

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return min(self.low, self.otherwise), max(self.high, self.otherwise)


class Bernoulli(Strict):
    """1 with that probability, else 0."""

    distribution: Literal["bernoulli"]
    probability: Annotated[float, Field(ge=0, le=1)]

    def quantile(self, z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """1 where the normal score is among the highest `probability`, else 0."""
        return np.asarray((ndtr(z) > 1 - self.probability).astype(np.float64))

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return 0.0, 1.0


class Categorical(Strict):
    """Levels with those shares, in the order of the attribute's levels; a level that is left out never occurs."""

    distribution: Literal["categorical"]
    shares: tuple[Annotated[float, Field(ge=0)], ...]

    def quantile(self, z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The index of the level at normal score z."""
        ends = np.cumsum(self.shares)
        last = int(np.flatnonzero(self.shares)[-1])
        return np.asarray(np.minimum(np.searchsorted(ends, ndtr(z), side="right"), last), dtype=np.float64)

    def support(self) -> tuple[float, float]:
        """Smallest and largest level that occurs."""
        occurring = np.flatnonzero(self.shares)
        return float(occurring[0]), float(occurring[-1])


AnyMarginal: TypeAlias = Uniform | Normal | Sometimes | Bernoulli | Categorical
Marginal = Annotated[AnyMarginal, Field(discriminator="distribution")]


def known(where: str, key: str, name: str) -> None:
    """Raises BadInput, with the file and the key, unless there is such an attribute."""
    try:
        attribute(name)
    except UnknownName as error:
        raise BadInput(f"{where}: {key}: {error}") from None


def fill(where: str, name: str, marginal: object) -> None:
    """Completes what the file may leave to the attribute: the range of a normal, the order of a categorical."""
    known(where, "marginals", name)
    if isinstance(marginal, dict) and marginal.get("distribution") == "normal":
        low, high = attribute(name).bounds
        marginal.setdefault("low", low)
        marginal.setdefault("high", high)
    if isinstance(marginal, dict) and isinstance(marginal.get("shares"), dict):
        marginal["shares"] = _in_order(f"{where}: marginals.{name}.shares", name, marginal["shares"])


def _in_order(key: str, name: str, shares: dict[str, object]) -> tuple[object, ...]:
    levels = attribute(name).levels
    unknown = [level for level in shares if level not in levels]
    if unknown:
        raise BadInput(f"{key}: expected levels of {name} ({', '.join(levels)}), got {unknown[0]!r}")
    return tuple(shares.get(level, 0.0) for level in levels)


def check_support(where: str, name: str, marginal: AnyMarginal) -> None:
    """Raises BadInput unless the marginal is of the attribute's kind and stays in its range."""
    key, bounds = f"{where}: marginals.{name}", attribute(name).bounds
    kinds = _DISTRIBUTIONS[attribute(name).kind]
    if marginal.distribution not in kinds:
        raise BadInput(f"{key}.distribution: expected {' or '.join(kinds)}, got {marginal.distribution}")
    if isinstance(marginal, Categorical):
        levels, shares = len(attribute(name).levels), marginal.shares
        if len(shares) != levels or abs(sum(shares) - 1) > 1e-6:
            raise BadInput(f"{key}.shares: expected {levels} shares that sum to 1, got {shares}")
    low, high = marginal.support()
    if isinstance(marginal, Normal) and not low - 5 * marginal.sd <= marginal.mean <= high + 5 * marginal.sd:
        raise BadInput(f"{key}.mean: expected a value within 5 sd of {low:g} to {high:g}, got {marginal.mean:g}")
    if not (bounds[0] <= low <= high <= bounds[1]):
        allowed = f"{bounds[0]:g} <= low <= high <= {bounds[1]:g}"
        raise BadInput(f"{key}: expected {allowed}, got low {low:g} and high {high:g}")


_SMALLEST_EIGENVALUE = 1e-9
_NEAREST_FLOOR = 1e-4
_PROJECTIONS = 200


class Correlation(Strict):
    """Correlation of the normal scores of two attributes."""

    between: tuple[str, str]
    value: Annotated[float, Field(gt=-1, lt=1)]


class CommonCause(Strict):
    """What several attributes share: it correlates each two of them by the product of their loadings."""

    name: str
    loadings: dict[str, Annotated[float, Field(gt=-1, lt=1)]]


def correlation_matrix(
    where: str, causes: tuple[CommonCause, ...], correlations: tuple[Correlation, ...]
) -> Float[np.ndarray, "k k"]:
    """Products of the loadings, summed over common causes, plus the correlations given by pair; 1 on the diagonal."""
    matrix = np.zeros((len(NAMES), len(NAMES)))
    for index, cause in enumerate(causes):
        loading = np.zeros(len(NAMES))
        for name, value in cause.loadings.items():
            known(where, f"common_causes {index + 1}", name)
            loading[NAMES.index(name)] = value
        matrix += np.outer(loading, loading)
    pairs: set[frozenset[str]] = set()
    for index, item in enumerate(correlations):
        for name in item.between:
            known(where, f"correlations {index + 1}", name)
        pair = frozenset(item.between)
        if len(pair) < 2 or pair in pairs:
            raise BadInput(f"{where}: correlations {index + 1}: the pair {item.between} occurs twice; remove one")
        pairs.add(pair)
        i, j = (NAMES.index(name) for name in item.between)
        matrix[[i, j], [j, i]] += item.value
    np.fill_diagonal(matrix, 1)
    return matrix


def cholesky(where: str, matrix: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """Lower factor L of the correlation matrix C = L Lᵀ; raises BadInput when C is not positive definite."""
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest <= _SMALLEST_EIGENVALUE:
        # I + s (C - I) has the eigenvalues 1 + s (λ - 1): positive definite while s < 1 / (1 - λ_min).
        limit = np.floor(1000 / (1 - smallest) - 1e-9) / 1000
        raise BadInput(
            f"{where}: correlations: expected a positive definite matrix, got smallest eigenvalue "
            f"{smallest:.3g}; multiply them by {limit:g} or less, or use the nearest valid ones: "
            f"{_changes(matrix)}"
        )
    return np.linalg.cholesky(matrix)


def _changes(matrix: Float[np.ndarray, "k k"], shown: int = 4) -> str:
    """The pairs that the nearest correlation matrix changes most, with their values there."""
    nearest = nearest_correlation(matrix)
    changes = np.triu(np.abs(nearest - matrix), 1)
    order = np.argsort(-changes, axis=None, kind="stable")[:shown]
    rows, columns = (index.tolist() for index in np.unravel_index(order, changes.shape))
    pairs = [(i, j) for i, j in zip(rows, columns, strict=True) if changes[i, j] > 0.005]
    return ", ".join(f"{NAMES[i]} with {NAMES[j]} {nearest[i, j]:.2f}" for i, j in pairs)


def nearest_correlation(matrix: Float[np.ndarray, "k k"]) -> Float[np.ndarray, "k k"]:
    """The correlation matrix nearest to a symmetric matrix in the Frobenius norm, with eigenvalues >= 1e-4.

    Alternating projections on the two convex sets with Dykstra's correction: Higham 2002, Computing the nearest
    correlation matrix, doi:10.1093/imanum/22.3.329.
    """
    y, correction = matrix.copy(), np.zeros_like(matrix)
    for _ in range(_PROJECTIONS):
        r = y - correction
        eigenvalues, vectors = np.linalg.eigh(r)
        x = (vectors * np.maximum(eigenvalues, _NEAREST_FLOOR)) @ vectors.T
        correction = x - r
        y = x.copy()
        np.fill_diagonal(y, 1)
    return y


class Mechanism(Strict):
    """A structural equation. parents: a coefficient each; of a categorical parent, what each of its levels adds."""

    parents: Annotated[dict[str, float | dict[str, float]], Field(min_length=1)]
    intercept: float = 0.0
    noise: Annotated[float, Field(ge=0)] = 1.0

    def value(
        self, name: str, parents: Mapping[str, Float[np.ndarray, " n"]], score: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """The attribute `name` given the values of its parents and its own normal score."""
        total = self.intercept + self.noise * score
        for parent, weight in self.parents.items():
            value = parents[parent]
            if isinstance(weight, dict):
                by_level = np.array([weight.get(level, 0.0) for level in attribute(parent).levels])
                total = total + by_level[value.astype(int)]
            else:
                total = total + weight * value
        if attribute(name).discrete:
            return np.asarray(total > 0, dtype=np.float64)
        return np.asarray(np.clip(total, *attribute(name).bounds))


def check_mechanism(where: str, name: str, mechanism: Mechanism) -> None:
    """Raises BadInput unless the equation is one that the attribute and its parents can have."""
    key = f"{where}: mechanisms.{name}"
    known(where, "mechanisms", name)
    if name == "exposure":
        raise BadInput(f"{key}: exposure is set by the camera's meter; remove it")
    if attribute(name).kind == "categorical":
        raise BadInput(f"{key}: expected a number or a binary attribute, got a categorical one; give it a marginal")
    for parent, weight in mechanism.parents.items():
        known(where, f"mechanisms.{name}.parents", parent)
        _check_weight(f"{key}.parents.{parent}", parent, weight)


def _check_weight(key: str, parent: str, weight: float | dict[str, float]) -> None:
    categorical, levels = attribute(parent).kind == "categorical", attribute(parent).levels
    if categorical != isinstance(weight, dict):
        expected = f"a number for each level ({', '.join(levels)})" if categorical else "one number"
        raise BadInput(f"{key}: expected {expected}, got {weight!r}")
    unknown = [level for level in weight if level not in levels] if isinstance(weight, dict) else []
    if unknown:
        raise BadInput(f"{key}: expected levels of {parent} ({', '.join(levels)}), got {unknown[0]!r}")


def solving_order(where: str, mechanisms: Mapping[str, Mechanism]) -> tuple[str, ...]:
    """All attributes, causes before effects; raises BadInput that names a cycle."""
    causes = {name: (*mechanisms[name].parents,) if name in mechanisms else () for name in NAMES}
    causes["exposure"] = EXPOSURE_PARENTS
    try:
        return tuple(TopologicalSorter(causes).static_order())
    except CycleError as error:
        path = " -> ".join(error.args[1])
        raise BadInput(f"{where}: mechanisms: expected no cycle, got {path}; remove one of these parents") from None


SHIPPED = ("balanced", "celebrity-like", "parliament-like", "scene-metered")


class _File(Strict):
    name: str
    description: str = ""
    source: str = ""
    marginals: dict[str, Marginal] = Field(default_factory=dict)
    common_causes: tuple[CommonCause, ...] = ()
    correlations: tuple[Correlation, ...] = ()
    mechanisms: dict[str, Mechanism] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Marginals of all attributes, in the order of the attribute table, and the Cholesky factor of their copula.

    mechanisms: equations of attributes that others cause, in place of their marginals. order: all attributes, causes
    first. sha256: of the file's text, which identifies the population in a run's spec.
    """

    name: str
    description: str
    sha256: str
    marginals: tuple[AnyMarginal, ...]
    factor: Float[np.ndarray, "k k"]
    mechanisms: Mapping[str, Mechanism] = field(default_factory=dict)
    order: tuple[str, ...] = NAMES

    def scores(self, noise: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """Correlated normal scores of exogenous noise u ~ N(0, I)."""
        # Row by row: the last bit of one product of all rows would depend on their number.
        return np.array([self.factor @ row for row in noise]).reshape(noise.shape)

    def values(self, noise: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """Attribute values of exogenous noise before mechanisms: correlated, then through the marginals' quantiles."""
        scores = self.scores(noise)
        return np.stack([m.quantile(scores[:, j]) for j, m in enumerate(self.marginals)], axis=1)

    def value(
        self, name: str, values: Mapping[str, Float[np.ndarray, " n"]], score: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """One attribute's values from its mechanism, given those of its parents, or else from its marginal."""
        if name in self.mechanisms:
            return self.mechanisms[name].value(name, values, score)
        return self.marginals[NAMES.index(name)].quantile(score)


def load_population(name_or_path: str | Path) -> Population:
    """The built-in population of that name, or the one written in a TOML file."""
    return _build(*toml_files.shipped_or_file(name_or_path, SHIPPED, "population", "populations", __package__))


@functools.lru_cache(maxsize=32)
def _build(text: str, where: str) -> Population:
    parsed = _parse(text, where)
    # What is left out comes from `balanced`, which itself must be complete.
    base = None if where == "population balanced" else load_population("balanced")
    marginals = {**(dict(zip(NAMES, base.marginals, strict=True)) if base else {}), **parsed.marginals}
    caused = {k: v for k, v in base.mechanisms.items() if k not in parsed.marginals} if base else {}
    mechanisms = {**caused, **parsed.mechanisms}
    missing = [name for name in NAMES if name not in marginals]
    if missing:
        raise BadInput(f"{where}: marginals: {', '.join(missing)} missing; add them")
    return Population(
        name=parsed.name,
        description=parsed.description,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        marginals=tuple(marginals[name] for name in NAMES),
        factor=cholesky(where, correlation_matrix(where, parsed.common_causes, parsed.correlations)),
        mechanisms=mechanisms,
        order=solving_order(where, mechanisms),
    )


def _parse(text: str, where: str) -> _File:
    content = toml_files.parse(text, where)
    for name, marginal in (content.get("marginals") or {}).items():
        fill(where, name, marginal)
    parsed = toml_files.checked(_File, content, where, text)
    for name, marginal in parsed.marginals.items():
        check_support(where, name, marginal)
    for name, mechanism in parsed.mechanisms.items():
        check_mechanism(where, name, mechanism)
    return parsed
