"""How often each value of one attribute occurs: marginal distributions as quantile functions of a normal score."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field
from scipy.special import ndtr, ndtri

from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.attributes import attribute

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
        raise BadInput(f"{key}: expected levels of {name} ({', '.join(levels)}), got {unknown[0]!r}; change it")
    return tuple(shares.get(level, 0.0) for level in levels)


def check_support(where: str, name: str, marginal: AnyMarginal) -> None:
    """Raises BadInput unless the marginal is of the attribute's kind and stays in its range."""
    key, bounds = f"{where}: marginals.{name}", attribute(name).bounds
    kinds = _DISTRIBUTIONS[attribute(name).kind]
    if marginal.distribution not in kinds:
        raise BadInput(f"{key}.distribution: expected {' or '.join(kinds)}, got {marginal.distribution}; change it")
    if isinstance(marginal, Categorical):
        _check_shares(key, marginal.shares, len(attribute(name).levels))
    low, high = marginal.support()
    if isinstance(marginal, Normal) and not low - 5 * marginal.sd <= marginal.mean <= high + 5 * marginal.sd:
        raise BadInput(f"{key}.mean: expected within 5 sd of {low:g} to {high:g}, got {marginal.mean:g}; move it")
    if not (bounds[0] <= low <= high <= bounds[1]):
        allowed = f"{bounds[0]:g} <= low <= high <= {bounds[1]:g}"
        raise BadInput(f"{key}: expected {allowed}, got low {low:g} and high {high:g}; move them")


def _check_shares(key: str, shares: tuple[float, ...], levels: int) -> None:
    if len(shares) != levels or abs(sum(shares) - 1) > 1e-6:
        raise BadInput(f"{key}.shares: expected {levels} shares that sum to 1, got {shares}; change them")
