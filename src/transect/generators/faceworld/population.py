"""How often each value occurs: marginal distributions of the attributes, tied by a Gaussian copula.

A population is a small TOML file: one marginal per attribute (an attribute that is left out keeps the one of
`balanced`), common causes with a loading per attribute and correlations of pairs, all of the normal scores, and
mechanisms of attributes that others cause. Source of the construction: Nelsen 2006, An Introduction to Copulas, section
2.2; population files state their own sources.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from jaxtyping import Float
from pydantic import Field

from transect.errors import BadInput
from transect.generators.faceworld.attributes import NAMES
from transect.generators.faceworld.copula import CommonCause, Correlation, cholesky, correlation_matrix
from transect.generators.faceworld.marginals import AnyMarginal, Marginal, Strict, check_support, fill
from transect.generators.faceworld.mechanisms import Mechanism, check_mechanism, solving_order
from transect.runs import toml_files

SHIPPED = ("balanced", "celebrity-like", "parliament-like", "face-metered")
_SHIPPED_AS = "population "


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
    """The shipped population of that name, or the one written in a TOML file."""
    return _build(*toml_files.shipped_or_file(name_or_path, SHIPPED, "population", "populations", __package__))


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
        factor=cholesky(where, correlation_matrix(where, parsed.common_causes, parsed.correlations)),
        mechanisms=parsed.mechanisms,
        order=solving_order(where, parsed.mechanisms),
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
