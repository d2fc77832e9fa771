"""How faces differ in shape and how expression, age and face shape move them: shifts of the whole face, fitted to data.

A shift is a smooth field over the face: how far the point that an average face has at (x, y) lies from there. Fields
add up, each with a weight of the subject. They were fitted so that rendered faces, measured with the instrument with
which photographs were measured, have the photographs' mean shape, spread and regressions (tools/face_shape.py). No
target's answer is among them.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.products import products
from transect.generators.faceworld.textures import sample

X_EXTENT = 0.80
Y_CENTER, Y_EXTENT = 0.0, 1.05
"""The part of the face that the fields cover, in face units; beyond, they continue as at the edge."""

IDENTITY_FIELDS = tuple(f"shape_{number}" for number in range(1, 8))
FIELDS = ("mean", "smile", "mouth_open", "age", "masculine", *IDENTITY_FIELDS)
"""The fields in the order of the file. mean: of every face; smile and mouth_open: from none to full; age: of 25 years
more than 47; masculine: from the least to the most."""

YEARS, MIDDLE_AGE = 25.0, 47.0
"""Apparent years between those whom onlookers call young and others, and in the middle of both."""


POINTS = {"ear_left": (-0.60, 0.02, 0), "ear_right": (0.60, 0.02, 0), "chin_drop": (0.0, 0.885, 1)}
"""Where ears grow from the face, and the chin: x, y and the axis along which the fields' shift is kept by that name."""


EYE = (0.27, -0.10)
"""The middle of an average eye, where `eye_wide` and `eye_tall` say how much the fields stretch a face."""


def shape_weights(p: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """The weight of each field, by `weight_` and its name, the shifts of POINTS, and the stretch of the eyes."""
    weights = {
        "mean": np.ones_like(p["age"]),
        "smile": p["smile"],
        "mouth_open": p["mouth_open"],
        "age": (p["age"] - MIDDLE_AGE) / YEARS,
        "masculine": p["face_shape"] - 0.5,
    }
    named = {f"weight_{name}": weights[name] if name in weights else p[name] for name in FIELDS}
    for name, point in POINTS.items():
        parts = [named[f"weight_{field}"] * by for field, by in zip(FIELDS, _shifts(*point), strict=True)]
        named[name] = np.sum(parts, axis=0)
    for axis, name in enumerate(("eye_wide", "eye_tall")):
        parts = [named[f"weight_{field}"] * by for field, by in zip(FIELDS, _stretches(axis), strict=True)]
        named[name] = 1 + np.sum(parts, axis=0)
    return named


WEIGHTS = tuple(f"weight_{name}" for name in FIELDS)


def shift_maps(p: Mapping[str, Tensor]) -> Tensor:
    """[b, 2, rows, columns]: the shift of each head in x and y, on a lattice over the face."""
    weights = torch.cat([p[name].reshape(-1, 1, 1) for name in WEIGHTS], dim=2)
    fields = fields_of(weights.device)
    rows, columns = fields.shape[2:]
    filled = torch.nn.functional.pad(weights, (0, fields.shape[0] - len(FIELDS)))
    return products(filled, fields.view(1, fields.shape[0], -1)).view(-1, 2, rows, columns)


def read_shift(maps: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The shift in x and y at face coordinates x, y [b, h, w]."""
    across, down = sample(maps, x / X_EXTENT, (y - Y_CENTER) / Y_EXTENT).unbind(1)
    return across, down


@functools.cache
def _shifts(x: float, y: float, axis: int) -> tuple[float, ...]:
    """How far each field shifts the point of the lattice next to (x, y) along an axis."""
    fields = fields_of(torch.device("cpu"))[: len(FIELDS), axis].double().numpy()
    rows, columns = fields.shape[1:]
    row = round(((y - Y_CENTER) / Y_EXTENT + 1) / 2 * (rows - 1))
    column = round((x / X_EXTENT + 1) / 2 * (columns - 1))
    return tuple(fields[:, row, column].tolist())


@functools.cache
def _stretches(axis: int) -> tuple[float, ...]:
    """By how much each field stretches the place of an eye along an axis, as a share."""
    fields = fields_of(torch.device("cpu"))[: len(FIELDS), axis].double().numpy()
    rows, columns = fields.shape[1:]
    row = round(((EYE[1] - Y_CENTER) / Y_EXTENT + 1) / 2 * (rows - 1))
    column = round((EYE[0] / X_EXTENT + 1) / 2 * (columns - 1))
    near = fields[:, row - 2 : row + 3, column - 2 : column + 3]
    if axis == 0:
        found = (near[:, 2, -1] - near[:, 2, 0]) / (8 * X_EXTENT / (columns - 1))
    else:
        found = (near[:, -1, 2] - near[:, 0, 2]) / (8 * Y_EXTENT / (rows - 1))
    return tuple(found.tolist())


@functools.lru_cache(maxsize=8)
def fields_of(device: torch.device) -> Tensor:
    """[fields, 2, rows, columns], filled up with zeros to whole vectors of fields."""
    file = resources.files("transect.generators.faceworld") / "facts" / "face_shape.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        fields = np.stack([archive[name] for name in FIELDS]).astype(np.float32)
    padded = np.zeros((-(-len(fields) // 16) * 16, *fields.shape[1:]), dtype=np.float32)
    padded[: len(fields)] = fields
    with torch.inference_mode(False):
        return torch.from_numpy(padded).to(device)
