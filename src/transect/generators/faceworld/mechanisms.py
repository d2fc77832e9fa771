"""Attributes that other attributes cause: linear structural equations, and the order in which they are solved.

A number is intercept + sum of coefficient * parent + noise * z, cut off at the attribute's range; a binary attribute
is on where that sum is above 0 (a probit model). z is the attribute's own normal score, part of the exogenous noise,
so that interventions and other populations keep it. Source: Pearl 2009, Causality, section 1.4.
"""

from __future__ import annotations

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Annotated

import numpy as np
from jaxtyping import Float
from pydantic import Field

from transect.errors import BadInput
from transect.generators.faceworld.attributes import NAMES, attribute
from transect.generators.faceworld.exposure import PARENTS as EXPOSURE_PARENTS
from transect.generators.faceworld.marginals import Strict, known


class Mechanism(Strict):
    """A structural equation. parents: a coefficient each; of a categorical parent, what each of its levels adds."""

    parents: Annotated[dict[str, float | dict[str, float]], Field(min_length=1)]
    intercept: float = 0.0
    noise: Annotated[float, Field(ge=0)] = 1.0

    def value(
        self, name: str, parents: Mapping[str, Float[np.ndarray, " n"]], score: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " n"]:
        """The attribute `name` given the values of its parents and its own normal score.

        >>> older = Mechanism(parents={"age": 0.01}, intercept=-0.3, noise=0.0)
        >>> older.value("baldness", {"age": np.array([20.0, 60.0])}, np.zeros(2)).round(3).tolist()
        [0.0, 0.3]
        """
        total = self.intercept + self.noise * score
        for parent, weight in self.parents.items():
            total = total + _contribution(parent, weight, parents[parent])
        if attribute(name).discrete:
            return np.asarray(total > 0, dtype=np.float64)
        return np.asarray(np.clip(total, *attribute(name).bounds))


def _contribution(
    parent: str, weight: float | dict[str, float], value: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    if not isinstance(weight, dict):
        return weight * value
    return np.asarray(np.array([weight.get(level, 0.0) for level in attribute(parent).levels])[value.astype(int)])


def check_mechanism(where: str, name: str, mechanism: Mechanism) -> None:
    """Raises BadInput unless the equation is one that the attribute and its parents can have."""
    key = f"{where}: mechanisms.{name}"
    known(where, "mechanisms", name)
    if name == "exposure":
        raise BadInput(f"{key}: expected another attribute, exposure has a mechanism: the camera's meter; remove it")
    if attribute(name).kind == "categorical":
        raise BadInput(f"{key}: expected a number or a binary attribute, got a categorical one; give it a marginal")
    for parent, weight in mechanism.parents.items():
        known(where, f"mechanisms.{name}.parents", parent)
        _check_weight(f"{key}.parents.{parent}", parent, weight)


def _check_weight(key: str, parent: str, weight: float | dict[str, float]) -> None:
    categorical, levels = attribute(parent).kind == "categorical", attribute(parent).levels
    if categorical != isinstance(weight, dict):
        expected = f"a number for each level ({', '.join(levels)})" if categorical else "one number"
        raise BadInput(f"{key}: expected {expected}, got {weight!r}; change it")
    unknown = [level for level in weight if level not in levels] if isinstance(weight, dict) else []
    if unknown:
        raise BadInput(f"{key}: expected levels of {parent} ({', '.join(levels)}), got {unknown[0]!r}; change it")


def solving_order(where: str, mechanisms: Mapping[str, Mechanism]) -> tuple[str, ...]:
    """All attributes, causes before effects; raises BadInput that names a cycle."""
    causes = {name: (*mechanisms[name].parents,) if name in mechanisms else () for name in NAMES}
    causes["exposure"] = EXPOSURE_PARENTS
    try:
        return tuple(TopologicalSorter(causes).static_order())
    except CycleError as error:
        path = " -> ".join(error.args[1])
        raise BadInput(f"{where}: mechanisms: expected no cycle, got {path}; remove one of these parents") from None
