"""Directions of attributes in a generator's latent space, fitted to labels of its subjects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect import __version__
from transect.controls.directions import METHODS, Direction, fit_direction, in_decisions
from transect.controls.learned import FittedDirections, LearnedControls, in_space
from transect.errors import BadInput, UnknownName
from transect.protocols import Generator
from transect.records import Latents
from transect.runs.capabilities import description

MOST_LEVELS: Final = 10


@final
@dataclass(frozen=True, slots=True)
class Labels:
    """Labels float64 [n] by attribute, 0 and 1 where the kind is binary, NaN where there is none.

    seeds: the subject of each row. kinds: continuous or binary. source: who gave them, as in `Direction.origin`;
    facts: what recreates them. notes: what was averaged or left out.
    """

    seeds: Int[np.ndarray, " n"]
    columns: Mapping[str, Float[np.ndarray, " n"]]
    kinds: Mapping[str, str]
    source: str
    facts: Mapping[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def fit_linear(
    generator: Generator,
    latents: Latents,
    labels: Labels,
    names: Sequence[str] = (),
    *,
    balance: Sequence[str] = (),
    method: str | None = None,
    space: str = "",
    seed: int = 0,
    signed: bool = False,
) -> FittedDirections:
    """A direction for each attribute of the labels (or each of `names`), in the generator's space or in `space`.

    latents: the labelled subjects as the generator samples them. balance: attributes of the labels on which binary
    ones are balanced, as Denton et al. 2019 §3 did; a continuous one is fitted as it is. method: logistic (default),
    svm or ridge, for binary ones. seed: which labels are held out. signed: continuous attributes are set by the signed
    distance from their hyperplane, as binary ones are, and not in the label's unit.

    Raises BadInput for unusable labels, attributes that are collinear (naming them, with the condition number),
    a space that the generator has no way to; UnknownName for a name without labels.
    """
    if method not in (None, *METHODS["binary"]):
        raise BadInput(f"--method: expected {' or '.join(METHODS['binary'])}, for binary attributes, got {method!r}")
    moved, rows, wanted = _rows(generator, latents, labels, (*names, *balance), names, space)
    directions = tuple(_direction(name, rows, labels, balance, method, seed) for name in wanted)
    if signed:
        directions = tuple(map(in_decisions, directions))
    if moved.space == "z":  # its coordinates vary alike and apart, whatever the sample: the way is the normal
        directions = tuple(replace(direction, along=None) for direction in directions)
    LearnedControls(directions, moved.space)  # refuses collinear attributes
    return FittedDirections(directions, moved.space, origin_of(generator, moved, labels.source, seed, labels.facts))


def _rows(
    generator: Generator, latents: Latents, labels: Labels, known: Sequence[str], names: Sequence[str], space: str
) -> tuple[Latents, Float[np.ndarray, "n d"], list[str]]:
    """Latents in the space of the fit, as rows too, and what is fitted. Raises UnknownName for names without labels."""
    for name in known:
        if name not in labels.columns:
            raise UnknownName("attribute", name, labels.columns)
    moved = in_space(generator, latents, space or latents.space)
    rows = np.asarray(moved.values, dtype=np.float64).reshape(len(moved), -1)
    return moved, rows, list(names or labels.columns)


def origin_of(
    generator: Generator, moved: Latents, source: str, seed: int, facts: Mapping[str, object]
) -> dict[str, object]:
    """Where directions come from. moved: the latents in their space; source: of the labels."""
    return {
        "generator": description(generator),
        "source": source,
        "subjects": len(moved),
        "first_seed": int(moved.seeds.min()) if len(moved) else 0,
        "seed": seed,
        "transect": __version__,
        **facts,
    }


def _direction(
    name: str, rows: Float[np.ndarray, "n d"], labels: Labels, balance: Sequence[str], method: str | None, seed: int
) -> Direction:
    kind = labels.kinds[name]
    others = {other: _levels(other, labels) for other in balance if other != name} if kind == "binary" else {}
    chosen = method if method in METHODS[kind] or kind == "binary" else None
    column = labels.columns[name]
    known = np.isfinite(column)
    for values in others.values():
        known &= np.isfinite(values)
    cells = {other: values[known] for other, values in others.items()}
    return fit_direction(
        name, rows[known], column[known], kind, method=chosen, balance=cells, source=labels.source, seed=seed
    )


def _levels(name: str, labels: Labels) -> Float[np.ndarray, " n"]:
    column = labels.columns[name]
    count = len(np.unique(column[np.isfinite(column)]))
    if count > MOST_LEVELS:
        raise BadInput(f"--balance {name}: expected at most {MOST_LEVELS} values, got {count}; use a cut: '{name}>0.5'")
    return column
