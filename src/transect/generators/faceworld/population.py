"""How often what occurs: marginal distributions of the attributes, tied by a Gaussian copula.

A population is a small TOML file: one marginal per attribute (an attribute that is left out keeps the one of
`balanced`), common causes with a loading per attribute, and correlations of pairs, all of the normal scores. Source of
the construction: Nelsen 2006, An Introduction to Copulas, section 2.2; population files state their own sources.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from jaxtyping import Float
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from scipy.special import ndtr, ndtri

from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.attributes import NAMES, attribute

SHIPPED = ("balanced", "celebrity-like", "parliament-like")
_SHIPPED_AS = "population "


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Uniform(_Strict):
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


class Normal(_Strict):
    """A normal distribution cut off at low and high (by default, the attribute's range)."""

    distribution: Literal["normal"]
    mean: float
    sd: Annotated[float, Field(gt=0)]
    low: float
    high: float

    def quantile(self, z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """The value at normal score z: the inverse of the truncated normal distribution function."""
        # In the lower tail probabilities keep their digits: a distribution cut there is turned round if need be.
        sign = -1 if self.mean < self.low else 1
        ends = sorted((sign * (self.low - self.mean) / self.sd, sign * (self.high - self.mean) / self.sd))
        below, above = ndtr(ends[0]), ndtr(ends[1])
        standard = sign * ndtri(below + ndtr(sign * z) * (above - below))
        return np.asarray(np.clip(self.mean + self.sd * standard, self.low, self.high))

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return self.low, self.high


class Sometimes(_Strict):
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


class Bernoulli(_Strict):
    """1 with that probability, else 0."""

    distribution: Literal["bernoulli"]
    probability: Annotated[float, Field(ge=0, le=1)]

    def quantile(self, z: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """1 where the normal score is among the highest `probability`, else 0."""
        return np.asarray((ndtr(z) > 1 - self.probability).astype(np.float64))

    def support(self) -> tuple[float, float]:
        """Smallest and largest value."""
        return 0.0, 1.0


Marginal = Annotated[Uniform | Normal | Sometimes | Bernoulli, Field(discriminator="distribution")]


class Correlation(_Strict):
    """Correlation of the normal scores of two attributes."""

    between: tuple[str, str]
    value: Annotated[float, Field(gt=-1, lt=1)]


class CommonCause(_Strict):
    """What several attributes share: it correlates each two of them by the product of their loadings."""

    name: str
    loadings: dict[str, Annotated[float, Field(gt=-1, lt=1)]]


class _File(_Strict):
    name: str
    description: str = ""
    source: str = ""
    marginals: dict[str, Marginal] = {}
    common_causes: tuple[CommonCause, ...] = ()
    correlations: tuple[Correlation, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """Marginals of all attributes, in the order of the attribute table, and the Cholesky factor of their copula.

    sha256: of the file's text, which identifies the population in a run's spec.
    """

    name: str
    description: str
    sha256: str
    marginals: tuple[Uniform | Normal | Sometimes | Bernoulli, ...]
    factor: Float[np.ndarray, "k k"]

    def values(self, noise: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """Attribute values of exogenous noise u ~ N(0, I): correlate, then push through the marginals' quantiles.

        >>> float(load_population("balanced").values(np.zeros((1, len(NAMES))))[0, NAMES.index("skin_tone")])
        5.5
        """
        scores = noise @ self.factor.T
        return np.stack([m.quantile(scores[:, j]) for j, m in enumerate(self.marginals)], axis=1)


def load_population(name_or_path: str | Path) -> Population:
    """The shipped population of that name, or the one written in a TOML file.

    Raises UnknownName (neither a shipped name nor a file) and BadInput (names the file and the key).

    >>> load_population("celebrity-like").name
    'celebrity-like'
    """
    return _build(*_read(name_or_path))


@functools.lru_cache(maxsize=32)
def _build(text: str, where: str) -> Population:
    parsed = _parse(text, where)
    # Left-out marginals come from `balanced`, which itself must be complete.
    complete = where == f"{_SHIPPED_AS}balanced"
    base = {} if complete else dict(zip(NAMES, load_population("balanced").marginals, strict=True))
    marginals = {**base, **parsed.marginals}
    missing = [name for name in NAMES if name not in marginals]
    if missing:
        raise BadInput(f"{where}: marginals: expected every attribute, {', '.join(missing)} missing; add them")
    return Population(
        name=parsed.name,
        description=parsed.description,
        sha256=hashlib.sha256(text.encode()).hexdigest(),
        marginals=tuple(marginals[name] for name in NAMES),
        factor=_cholesky(_correlation_matrix(parsed, where), where),
    )


def _read(name_or_path: str | Path) -> tuple[str, str]:
    if str(name_or_path) in SHIPPED:
        file = resources.files(__package__) / "populations" / f"{name_or_path}.toml"
        return file.read_text(encoding="utf-8"), f"{_SHIPPED_AS}{name_or_path}"
    path = Path(name_or_path)
    if not path.is_file():
        raise UnknownName("population", str(name_or_path), SHIPPED, "or give the path of a population's TOML file")
    try:
        return path.read_text(encoding="utf-8"), str(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: expected a readable UTF-8 TOML file, got {error}; mend the file") from None


def _parse(text: str, where: str) -> _File:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadInput(f"{where}: expected TOML, got {error}; mend the file") from None
    for name, marginal in (content.get("marginals") or {}).items():
        _fill_range(where, name, marginal)
    try:
        parsed = _File.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        got = first["input"] if not isinstance(first["input"], dict) else sorted(first["input"])
        raise BadInput(f"{where}: {key}: {first['msg']}, got {got!r}; mend this key") from None
    for name, marginal in parsed.marginals.items():
        _check_support(where, name, marginal)
    return parsed


def _known(where: str, key: str, name: str) -> None:
    try:
        attribute(name)
    except UnknownName as error:
        raise BadInput(f"{where}: {key}: {error}") from None


def _fill_range(where: str, name: str, marginal: Any) -> None:
    _known(where, "marginals", name)
    if isinstance(marginal, dict) and marginal.get("distribution") == "normal":
        low, high = attribute(name).bounds
        marginal.setdefault("low", low)
        marginal.setdefault("high", high)


def _check_support(where: str, name: str, marginal: Uniform | Normal | Sometimes | Bernoulli) -> None:
    key, bounds = f"{where}: marginals.{name}", attribute(name).bounds
    if attribute(name).discrete != isinstance(marginal, Bernoulli):
        wanted = "bernoulli" if attribute(name).discrete else "uniform, normal or sometimes"
        raise BadInput(f"{key}.distribution: expected {wanted}, got {marginal.distribution}; change it")
    low, high = marginal.support()
    if isinstance(marginal, Normal) and not low - 5 * marginal.sd <= marginal.mean <= high + 5 * marginal.sd:
        raise BadInput(f"{key}.mean: expected within 5 sd of {low:g} to {high:g}, got {marginal.mean:g}; move it")
    if not (bounds[0] <= low <= high <= bounds[1]):
        allowed = f"{bounds[0]:g} <= low <= high <= {bounds[1]:g}"
        raise BadInput(f"{key}: expected {allowed}, got low {low:g} and high {high:g}; move them")


def _correlation_matrix(file: _File, where: str) -> Float[np.ndarray, "k k"]:
    """Products of the loadings, summed over common causes, plus the correlations given by pair; 1 on the diagonal."""
    matrix = np.zeros((len(NAMES), len(NAMES)))
    for index, cause in enumerate(file.common_causes):
        loading = np.zeros(len(NAMES))
        for name, value in cause.loadings.items():
            _known(where, f"common_causes.{index}", name)
            loading[NAMES.index(name)] = value
        matrix += np.outer(loading, loading)
    pairs: set[frozenset[str]] = set()
    for index, item in enumerate(file.correlations):
        for name in item.between:
            _known(where, f"correlations.{index}", name)
        pair = frozenset(item.between)
        if len(pair) < 2 or pair in pairs:
            raise BadInput(
                f"{where}: correlations.{index}: expected a new pair of attributes, got {item.between}; remove it"
            )
        pairs.add(pair)
        i, j = (NAMES.index(name) for name in item.between)
        matrix[[i, j], [j, i]] += item.value
    np.fill_diagonal(matrix, 1)
    return matrix


def _cholesky(matrix: Float[np.ndarray, "k k"], where: str) -> Float[np.ndarray, "k k"]:
    """Lower factor L of the correlation matrix C = L Lᵀ; raises BadInput when C is not positive definite."""
    smallest = float(np.linalg.eigvalsh(matrix)[0])
    if smallest <= 1e-9:
        # I + s (C - I) has the eigenvalues 1 + s (λ - 1): positive definite while s < 1 / (1 - λ_min).
        limit = np.floor(1000 / (1 - smallest) - 1e-9) / 1000
        raise BadInput(
            f"{where}: correlations: expected a positive definite matrix, got smallest eigenvalue {smallest:.3g};"
            f" multiplied by {limit:g} or less they would be"
        )
    return np.linalg.cholesky(matrix)
