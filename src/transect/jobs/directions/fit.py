"""From labels to a file of directions: fitted, balanced, checked for collinearity, kept with where they come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect import __version__
from transect.controls.direction_file import FittedDirections
from transect.controls.directions import LEAK, METHODS, Direction, fit_direction, labelled_by_a_model
from transect.controls.hyperplanes import LARGEST_CONDITION, angles
from transect.controls.learned import LearnedControls
from transect.controls.local import AttributeModel, LocalControls, fit_model
from transect.controls.local_file import FittedModels
from transect.controls.world import in_space
from transect.errors import BadInput, UnknownName
from transect.jobs.directions.labels import Labels
from transect.protocols import Generator
from transect.records import Latents
from transect.runs.capabilities import description

MOST_LEVELS: Final = 10
LOWEST_ACCURACY: Final = 0.6
LOWEST_R2: Final = 0.1
NEAR: Final = 15.0
"""Degrees between two normals below which attributes can hardly be told apart in the latent space."""
MOST_NAMED: Final = 3
_LOOKED_AT: Final = 200
"""Subjects at which gradients of local directions are compared."""


def fit_directions(
    generator: Generator,
    latents: Latents,
    labels: Labels,
    names: Sequence[str] = (),
    *,
    balance: Sequence[str] = (),
    method: str | None = None,
    space: str = "",
    seed: int = 0,
) -> FittedDirections:
    """A direction for each attribute of the labels (or each of `names`), in the generator's space or in `space`.

    latents: the labelled subjects as the generator samples them. balance: attributes of the labels on which binary
    ones are balanced, as Denton et al. 2019 §3 did; a continuous one is fitted as it is. method: logistic (default)
    or svm, for binary ones. seed: which labels are held out.

    Raises BadInput for labels that do not do, attributes that are collinear (naming them, with the condition number),
    a space that the generator has no way to; UnknownName for a name without labels.
    """
    if method not in (None, *METHODS["binary"]):
        raise BadInput(f"--method: expected {' or '.join(METHODS['binary'])}, for binary attributes, got {method!r}")
    moved, rows, wanted = _rows(generator, latents, labels, (*names, *balance), names, space)
    made = tuple(_fitted(name, rows, labels, balance, method, seed) for name in wanted)
    LearnedControls(made, moved.space)  # refuses collinear attributes
    return FittedDirections(made, moved.space, _origin(generator, moved, labels, seed))


def fit_models(
    generator: Generator,
    latents: Latents,
    labels: Labels,
    names: Sequence[str] = (),
    *,
    space: str = "",
    seed: int = 0,
) -> FittedModels:
    """An attribute model for each attribute of the labels (or each of `names`), whose gradients are local directions.

    Arguments and Raises as `fit_directions`; nothing is balanced, and binary labels are a share of yes.
    """
    moved, rows, wanted = _rows(generator, latents, labels, names, names, space)
    made = tuple(fit_model(name, rows, labels.columns[name], source=labels.source, seed=seed) for name in wanted)
    LocalControls(made, moved.space)  # refuses a name twice
    _check_apart(made, rows)
    return FittedModels(made, moved.space, _origin(generator, moved, labels, seed))


def _check_apart(models: Sequence[AttributeModel], rows: Float[np.ndarray, "n d"]) -> None:
    """Raise BadInput where gradients are collinear at half of the labelled subjects."""
    shown = rows[np.isfinite(rows).all(axis=1)][:_LOOKED_AT]
    gradients = np.array([one.gradient(shown) for one in models])
    unit = gradients / np.maximum(np.linalg.norm(gradients, axis=2, keepdims=True), 1e-300)
    enough = len(models) <= shown.shape[1]
    condition = float(np.median([np.linalg.cond(at) for at in unit.transpose(1, 0, 2)])) if enough else np.inf
    if condition <= LARGEST_CONDITION:
        return
    alike = np.triu(np.median(np.abs(np.einsum("and,bnd->abn", unit, unit)), axis=2), 1)
    first, second = divmod(int(alike.argmax()), len(models))
    raise BadInput(
        f"directions: expected attributes that differ in the latent space, got collinear {models[first].name},"
        f" {models[second].name} (condition number {condition:.2g} at half of the subjects); drop one of them"
    )


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


def _origin(generator: Generator, moved: Latents, labels: Labels, seed: int) -> dict[str, Any]:
    return {
        "generator": description(generator),
        "source": labels.source,
        "subjects": len(moved),
        "first_seed": int(moved.seeds.min()) if len(moved) else 0,
        "seed": seed,
        "transect": __version__,
        **labels.facts,
    }


def _fitted(
    name: str, rows: Float[np.ndarray, "n d"], labels: Labels, balance: Sequence[str], method: str | None, seed: int
) -> Direction:
    kind = labels.kinds[name]
    others = {one: _levels(one, labels) for one in balance if one != name} if kind == "binary" else {}
    chosen = method if method in METHODS[kind] or kind == "binary" else None
    column = labels.columns[name]
    known = np.isfinite(column)
    for other in others.values():
        known &= np.isfinite(other)
    return fit_direction(
        name, rows[known], column[known], kind,
        method=chosen, balance={one: values[known] for one, values in others.items()}, source=labels.source, seed=seed,
    )  # fmt: skip


def _levels(name: str, labels: Labels) -> Float[np.ndarray, " n"]:
    column = labels.columns[name]
    found = len(np.unique(column[np.isfinite(column)]))
    if found > MOST_LEVELS:
        raise BadInput(
            f"--balance {name}: expected at most {MOST_LEVELS} values, got {found}; compare it, as '{name}>0.5'"
        )
    return column


def warnings_of(fitted: FittedDirections | FittedModels) -> list[str]:
    """What whoever uses the directions should know: labels of a model, poor fits, attributes hardly apart."""
    made = []
    if led := [one for one in _each(fitted) if labelled_by_a_model(one.origin)]:
        sources = ", ".join(dict.fromkeys(str(one.origin["labels"]) for one in led))
        made.append(f"{_named(led)}: labels are a model's ({sources}): {LEAK}")
    for one in _each(fitted):
        measure = getattr(one, "quality_measure", "R2")
        if lost := one.origin.get("without_latents"):
            made.append(f"{one.name}: {lost:,} labelled rows without finite latents (failed inversions) are left out")
        lowest = LOWEST_R2 if measure == "R2" else LOWEST_ACCURACY
        if not one.quality >= lowest:
            made.append(
                f"{one.name}: held-out {measure} is {one.quality:.2f}, below {lowest:g}: what moves along"
                " it may be something else"
            )
        if not np.isfinite(one.shown_low):
            made.append(f"{one.name}: held-out labels do not tell where it is seen; levels go over its whole range")
    return [*made, *(_near(fitted.directions) if isinstance(fitted, FittedDirections) else [])]


def _each(fitted: FittedDirections | FittedModels) -> tuple[Direction | AttributeModel, ...]:
    return fitted.directions if isinstance(fitted, FittedDirections) else fitted.models


def _near(directions: Sequence[Direction]) -> list[str]:
    normals = np.array([one.normal for one in directions])
    between = angles(normals)
    apart = np.minimum(between, 180 - between)
    pairs = [(apart[i, j], i, j) for i in range(len(directions)) for j in range(i) if apart[i, j] < NEAR]
    condition = float(np.linalg.cond(normals))
    return [
        f"{directions[j].name} and {directions[i].name} are {degrees:.0f} degrees apart (condition number of all"
        f" {condition:.1f}): what sets one alone is a long way off"
        for degrees, i, j in sorted(pairs)[:MOST_NAMED]
    ]


def _named(directions: Sequence[Direction | AttributeModel]) -> str:
    return ", ".join(one.name for one in directions)


def rows_of(fitted: FittedDirections | FittedModels) -> list[list[str]]:
    """The directions as rows of a short table: attribute, kind, method, labels, quality, range, where it is seen."""
    return [
        [
            one.name,
            getattr(one, "kind", "continuous"),
            str(one.origin.get("method", "")),
            f"{one.labels:,} ({one.held_out:,} held out)",
            ", ".join(one.origin.get("balanced_on", ())) or "-",
            f"{getattr(one, 'quality_measure', 'R2')} {one.quality:.3f}",
            f"{one.offset:.3f}" if isinstance(one, Direction) else "-",
            f"{one.low:.3g} to {one.high:.3g}",
            f"{one.shown_low:.3g} to {one.shown_high:.3g}" if np.isfinite(one.shown_low) else "not known",
        ]
        for one in _each(fitted)
    ]


HEADINGS: Final = ("attribute", "kind", "method", "labels", "balanced on", "quality", "offset", "range", "seen between")


def as_json(fitted: FittedDirections | FittedModels, path: Any, notes: Sequence[str]) -> Mapping[str, Any]:
    """What --json prints: where the file is, its space and origin, every direction's figures, warnings and notes.

    The condition number is null for local directions, which differ from latent to latent.
    """
    described_file = fitted.describe()
    straight = [one.normal if isinstance(one, Direction) else one.slopes for one in _each(fitted)]
    condition = float(np.linalg.cond(np.array(straight))) if isinstance(fitted, FittedDirections) else None
    return {
        "out": str(path),
        **described_file,
        "dimensions": len(straight[0]),
        "condition_number": condition,
        "warnings": warnings_of(fitted),
        "notes": list(notes),
    }
