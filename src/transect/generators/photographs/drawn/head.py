"""The head: its smooth form, the shape of a face and its relief, and what of them a pixel shows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import TypeVar

import numpy as np
import torch
from jaxtyping import Float
from scipy.interpolate import CubicSpline
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.canvas import CENTER_Y, HALF_EXTENT, Canvas, picture_grid, sample
from transect.generators.faceworld.rows import Parameters, Pick, Vector, coverage, products, smoothstep, some, unit

X_EXTENT = 0.72
Y_CENTER, Y_EXTENT = -0.08, 1.02
_COLUMNS, _ROWS = 144, 192

Scalar = TypeVar("Scalar", Tensor, Float[np.ndarray, " n"])
"""What a shape is computed from: a number per picture, as a tensor or an array."""


def eye_x(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of an eye's center from the midline."""
    return 0.27 * (1 + 0.04 * p["eye_spacing"] + 0.055 * p["face_width"])


def nose_half_width(p: Mapping[str, Scalar]) -> Scalar:
    """Distance of a nostril's wing from the midline."""
    return 0.146 * (1 + 0.13 * p["nose_width"] + 0.05 * p["face_width"] + 0.10 * (p["face_shape"] - 0.5))


def nose_base(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the base of the nose."""
    return 0.305 + 0.038 * p["nose_length"]


def mouth_y(p: Mapping[str, Scalar]) -> Scalar:
    """Height of the line between the lips."""
    return 0.522 + 0.018 * p["mouth_height"] + 0.016 * p["nose_length"]


def lattice_size(pixel: float) -> tuple[int, int]:
    """Rows and columns of the maps for pixels of that width in face units: finer than these, whole vectors."""
    rows, columns = (-(-int(2 * extent / (0.75 * pixel)) // 16) * 16 for extent in (Y_EXTENT, X_EXTENT))
    return min(rows, _ROWS), min(columns, _COLUMNS)


def read_maps(maps: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """The maps at face coordinates x, y [b, h, w]: [b, c, h, w]."""
    return sample(maps, x / X_EXTENT, (y - Y_CENTER) / Y_EXTENT)


SHAPE_X_EXTENT = 0.80
SHAPE_Y_CENTER, SHAPE_Y_EXTENT = 0.0, 1.05
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
    across, down = sample(maps, x / SHAPE_X_EXTENT, (y - SHAPE_Y_CENTER) / SHAPE_Y_EXTENT).unbind(1)
    return across, down


@functools.cache
def _shifts(x: float, y: float, axis: int) -> tuple[float, ...]:
    """How far each field shifts the point of the lattice next to (x, y) along an axis."""
    fields = fields_of(torch.device("cpu"))[: len(FIELDS), axis].double().numpy()
    rows, columns = fields.shape[1:]
    row = round(((y - SHAPE_Y_CENTER) / SHAPE_Y_EXTENT + 1) / 2 * (rows - 1))
    column = round((x / SHAPE_X_EXTENT + 1) / 2 * (columns - 1))
    return tuple(fields[:, row, column].tolist())


@functools.cache
def _stretches(axis: int) -> tuple[float, ...]:
    """By how much each field stretches the place of an eye along an axis, as a share."""
    fields = fields_of(torch.device("cpu"))[: len(FIELDS), axis].double().numpy()
    rows, columns = fields.shape[1:]
    row = round(((EYE[1] - SHAPE_Y_CENTER) / SHAPE_Y_EXTENT + 1) / 2 * (rows - 1))
    column = round((EYE[0] / SHAPE_X_EXTENT + 1) / 2 * (columns - 1))
    near = fields[:, row - 2 : row + 3, column - 2 : column + 3]
    if axis == 0:
        found = (near[:, 2, -1] - near[:, 2, 0]) / (8 * SHAPE_X_EXTENT / (columns - 1))
    else:
        found = (near[:, -1, 2] - near[:, 0, 2]) / (8 * SHAPE_Y_EXTENT / (rows - 1))
    return tuple(found.tolist())


@functools.lru_cache(maxsize=8)
def fields_of(device: torch.device) -> Tensor:
    """[fields, 2, rows, columns], filled up with zeros to whole vectors of fields."""
    file = resources.files("transect.generators.photographs.drawn") / "facts" / "face_shape.npz"
    with file.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        fields = np.stack([archive[name] for name in FIELDS]).astype(np.float32)
    padded = np.zeros((-(-len(fields) // 16) * 16, *fields.shape[1:]), dtype=np.float32)
    padded[: len(fields)] = fields
    with torch.inference_mode(False):
        return torch.from_numpy(padded).to(device)


CROWN, CHIN = -1.0, 0.89
EYE_Y = -0.10
HAIRLINE_Y = -0.76
BREADTH = 0.092
"""By how much a face of width 1 is broader than the average: 2.3 standard deviations of adults' bizygomatic breadth
(Gordon et al. 2014, ANSUR II)."""

_HEIGHTS = np.array([CROWN, -0.965, -0.895, -0.785, -0.62, -0.42, -0.2, 0.02, 0.22, 0.4, 0.55, 0.68, 0.77, 0.84, CHIN])
_HALF_WIDTH = np.array(
    [0.0, 0.215, 0.365, 0.478, 0.563, 0.608, 0.62, 0.61, 0.585, 0.547, 0.484, 0.377, 0.272, 0.163, 0.0]
)
_HALF_DEPTH = np.array([0.0, 0.30, 0.46, 0.57, 0.64, 0.68, 0.7, 0.7, 0.69, 0.67, 0.65, 0.62, 0.57, 0.43, 0.0])
_JAW_TOP, _JAW_END, _JUT = 0.36, 0.90, 0.22
_TABLE = 512
_COARSE = 32
_ITERATIONS = 5


@functools.lru_cache(maxsize=8)
def _spline_basis(device: torch.device) -> Tensor:
    """Natural cubic spline through values at _HEIGHTS, [1, 16, 2 * _TABLE]: values, then derivatives in y."""
    y = np.linspace(CROWN, CHIN, _TABLE)
    cardinal = CubicSpline(_HEIGHTS, np.eye(len(_HEIGHTS)), bc_type="natural")
    both = np.concatenate([cardinal(y), cardinal(y, 1)]).T
    return _constant(np.pad(both, ((0, 16 - len(both)), (0, 0))), device).unsqueeze(0)


def _constant(values: Float[np.ndarray, ...], device: torch.device) -> Tensor:
    with torch.inference_mode(False):
        return torch.tensor(values, dtype=torch.float32, device=device)


def vertical_scale(p: Mapping[str, Scalar]) -> Scalar:
    """Length of the head relative to the average."""
    return 1 + 0.038 * p["face_length"] + 0.02 * (p["face_shape"] - 0.5)


def _profile(p: Parameters) -> tuple[Tensor, Tensor]:
    """Half widths and half depths at _HEIGHTS, [b, knots]: the shape of jaw, chin, cheekbones and forehead."""

    def of(name: str) -> Tensor:
        return p[name].reshape(-1, 1)

    near = functools.partial(_near, device=p["age"].device)
    masculine = of("face_shape") - 0.5
    old = ((of("age") - 50) / 35).clamp(-1, 1)
    widen = 1 + BREADTH * of("face_width") + 0.015 * masculine
    widen = widen + (0.048 * of("jaw_width") + 0.12 * masculine + 0.010 * old) * near(0.52, 0.22)
    widen = widen + (0.085 * of("chin_width") + 0.28 * masculine) * near(0.80, 0.13)
    widen = widen + 0.025 * of("cheekbones") * near(0.02, 0.2) + 0.033 * of("cheek_fullness") * near(0.35, 0.22)
    widen = widen + 0.028 * of("forehead_width") * near(-0.5, 0.3)
    average = _average(p["age"].device)
    deep = average[1] * (1 + 0.05 * masculine * near(0.8, 0.2)) - advance(_heights(p["age"].device))
    return average[0] * widen, deep.clamp(min=0)


def advance(y: Tensor) -> Tensor:
    """How far before the head's axis the section at height y is centered: a jaw juts out from below the ears."""
    return _JUT * smoothstep(y, _JAW_TOP, _JAW_END)


def _advance_slope(y: Tensor) -> Tensor:
    t = ((y - _JAW_TOP) * (1 / (_JAW_END - _JAW_TOP))).clamp(0, 1)
    return 6 * _JUT / (_JAW_END - _JAW_TOP) * t * (1 - t)


@functools.lru_cache(maxsize=8)
def _heights(device: torch.device) -> Tensor:
    return _constant(_HEIGHTS, device)


@functools.lru_cache(maxsize=8)
def _average(device: torch.device) -> Tensor:
    return _constant(np.stack([_HALF_WIDTH, _HALF_DEPTH]), device)


@functools.lru_cache(maxsize=64)
def _near(height: float, width: float, device: torch.device) -> Tensor:
    """How near each of _HEIGHTS is to that height: 1 there, falling off as a Gaussian."""
    return _constant(np.exp(-(((_HEIGHTS - height) / width) ** 2)), device)


LEAN, REACH, WIDTH, DEPTH = 0, 1, 4, 5
"""Indices of tables that are read separately."""


def profile_tables(p: Parameters) -> Tensor:
    """[b, 8, 512] over y from crown to chin: slope of the silhouette, R, cos δ, sin δ, w, d, w'/w, d'/d.

    Slopes are bounded where the head ends. Squares are interpolated, since w² goes to zero linearly where an ellipsoid
    ends.
    """
    width, depth = _profile(p)
    knots = functional.pad(torch.stack([width * width, depth * depth], dim=1), (0, 1))
    w2, d2 = products(knots, _spline_basis(width.device)).unbind(1)
    w2, w2_slope, d2, d2_slope = w2[:, :_TABLE], w2[:, _TABLE:], d2[:, :_TABLE], d2[:, _TABLE:]
    w2, d2 = w2.clamp(min=1e-4), d2.clamp(min=1e-4)
    across, along = w2.sqrt() * p["cos_yaw"].view(-1, 1), d2.sqrt() * p["sin_yaw"].view(-1, 1)
    reach = (across**2 + along**2).sqrt()
    cos_delta, sin_delta = across / reach, along / reach
    lean = (0.5 * w2_slope * cos_delta * cos_delta / reach).abs().clamp(max=20)
    turned = [lean, reach, cos_delta, sin_delta]
    return torch.stack([*turned, w2.sqrt(), d2.sqrt(), w2_slope / (2 * w2), d2_slope / (2 * d2)], dim=1)


@dataclass(frozen=True, slots=True, eq=False)
class Surface:
    """The head at each pixel: frontal face coordinates x, y; sine and cosine of the azimuth (< 0 behind the ears)."""

    x: Tensor
    y: Tensor
    sine: Tensor
    cosine: Tensor


def read_tables(tables: Tensor, y: Tensor) -> Tensor:
    """Tables [b, c, 512] at heights y [b, h, w]: [b, c, h, w], constant beyond crown and chin."""
    position = (y - CROWN).mul_(2 / (CHIN - CROWN)).sub_(1)
    grid = torch.stack([torch.zeros_like(position), position], dim=1).permute(0, 2, 3, 1)
    return functional.grid_sample(tables.unsqueeze(-1), grid, padding_mode="border", align_corners=True)


def surface_at(turned: Sequence[Tensor], X: Tensor, y: Tensor) -> Surface:
    """The head at upright X and height y, without pitch and relief. turned: R, cos δ, sin δ and w at y."""
    reach, cos_delta, sin_delta, w = turned
    s = (X / reach).clamp_(-1, 1)
    c = (1 - s * s).clamp_(min=0).sqrt_()
    sine, cosine = s * cos_delta - c * sin_delta, c * cos_delta + s * sin_delta
    return Surface(w * sine, y, sine, cosine)


def inside_silhouette(lean: Tensor, reach: Tensor, X: Tensor, y: Tensor) -> Tensor:
    """Signed distance to the silhouette at upright picture coordinate X and height y. lean: its slope there."""
    side = X.abs()
    beyond = (y - CHIN).clamp_(min=0).add_((CROWN - y).clamp_(min=0))
    # The silhouette slopes: the horizontal distance to it is longer than the shortest one.
    slope = (side / reach).clamp_(max=1).mul_(lean)
    return (reach - side).div_(slope.mul_(slope).add_(1).sqrt_()).sub_(beyond)


def smooth_normal(tables: Tensor, face: Surface) -> Vector:
    """The smooth head's outward normal, head's frame: the gradient of (x / w)² + (z / d)² scaled to length 1."""
    w, d, w_log_slope, d_log_slope = read_tables(tables[:, WIDTH:], face.y).unbind(1)
    down = -(face.sine * face.sine * w_log_slope).addcmul_(face.cosine * face.cosine, d_log_slope)
    down = down - face.cosine * _advance_slope(face.y) / d
    return unit(face.sine / w, down, face.cosine / d)


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """Where each pixel lies. X, Y: on the picture; U, V: the same with the head's roll undone, [b, h, w].

    pixel: the width of a pixel, [b, 1, 1]. face: the relieved face. head: coverage of the head's silhouette. planes:
    all that is [b, h, w] in one tensor [b, 9, h, w], of which the others are views. tables: those of profile_tables.
    """

    canvas: Canvas
    pixel: Tensor
    planes: Tensor
    tables: Tensor
    X: Tensor
    Y: Tensor
    U: Tensor
    V: Tensor
    face: Surface
    head: Tensor

    def take(self, pick: Pick) -> Frame:
        """Some of the rows."""
        return frame_of(self.canvas, some(self.pixel, pick), some(self.planes, pick), some(self.tables, pick))


def frame_of(canvas: Canvas, pixel: Tensor, planes: Tensor, tables: Tensor) -> Frame:
    """The frame of those planes: X, Y, U, V, the four of the face's surface, head."""
    X, Y, U, V, x, y, sine, cosine, head = planes.unbind(1)
    return Frame(canvas, pixel, planes, tables, X, Y, U, V, Surface(x, y, sine, cosine), head)


def locate(p: Parameters, canvas: Canvas, relief: Callable[[Tensor, Tensor], Tensor]) -> Frame:
    """The frame of a picture. relief: height above the smooth head at face coordinates x, y."""
    X, Y = _from_distance(p, *picture_grid(canvas))
    U, V = unroll(p, X, Y)
    tables = profile_tables(p)
    shifts = torch.stack(_parallax(p, canvas, tables, relief), dim=1)
    wide = functional.interpolate(shifts, size=(canvas.height, canvas.width), mode="bilinear", align_corners=False)
    shift_x, shift_y, slide = wide.unbind(1)
    y = (V + shift_y).div_(vertical_scale(p))
    lean, *turned = read_tables(tables[:, : WIDTH + 1], y).unbind(1)
    face, pixel = surface_at(turned, U + shift_x, y), canvas.pixel * p["distance"]
    cover = coverage(inside_silhouette(lean, turned[0], U + slide, y), pixel)
    planes = torch.stack([X, Y, U, V, face.x, face.y, face.sine, face.cosine, cover], dim=1)
    return frame_of(canvas, pixel, planes, tables)


def _from_distance(p: Parameters, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Picture coordinates X, Y of points of a picture that was taken from distance 1: a farther camera sees more."""
    return x * p["distance"], y * p["distance"] + CENTER_Y


def to_pixels(p: Parameters, X: Tensor, Y: Tensor, size: int) -> Tensor:
    """Points X, Y [b, n] of the picture in pixels of a picture of that size: float64 [b, n, 2], on the host."""
    half = HALF_EXTENT * p["distance"].reshape(-1, 1, 1).double()
    return ((torch.stack([X, Y - CENTER_Y], dim=2).double() / half + 1) * (size / 2)).cpu()


def unroll(p: Parameters, X: Tensor, Y: Tensor) -> tuple[Tensor, Tensor]:
    """Picture coordinates turned back by the head's roll."""
    c, s = p["cos_roll"], p["sin_roll"]
    return c * X + s * Y, c * Y - s * X


@functools.lru_cache(maxsize=32)
def _coarse_grid(canvas: Canvas) -> tuple[Tensor, Tensor]:
    """A lattice of _COARSE * _COARSE cells over the whole canvas, as picture_grid has its pixels."""
    with torch.inference_mode(False):
        steps = (torch.arange(_COARSE, dtype=torch.float32, device=canvas.device) + 0.5) * (canvas.pixel / _COARSE)
        shape = (1, _COARSE, _COARSE)
        x, y = steps * canvas.width - HALF_EXTENT, steps * canvas.height - HALF_EXTENT
        return x.view(1, 1, -1).expand(shape).contiguous(), y.view(1, -1, 1).expand(shape).contiguous()


def _parallax(
    p: Parameters, canvas: Canvas, tables: Tensor, relief: Callable[[Tensor, Tensor], Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Offset on a coarse lattice from a flat upright average face, and how much of its first part is due to shape."""
    U, V = unroll(p, *_from_distance(p, *_coarse_grid(canvas)))
    sin_yaw, cos_yaw, tilt, scale = p["sin_yaw"], p["cos_yaw"], p["sin_pitch"] / p["cos_pitch"], vertical_scale(p)
    high = V / p["cos_pitch"]
    shift_x, y, moved = torch.zeros_like(U), V, shift_maps(p)
    for _ in range(_ITERATIONS):
        level = blunted(y / scale)
        *turned, d = read_tables(tables[:, REACH : DEPTH + 1], level).unbind(1)
        seen = surface_at(turned, U + shift_x, y / scale)
        height = relief(seen.x, seen.y) * seen.cosine.clamp(min=0)
        jut = advance(level)
        forward = (jut + d * seen.cosine + height) * cos_yaw - seen.x * sin_yaw
        across, down = read_shift(moved, seen.x, seen.y)
        slide = -across * cos_yaw - jut * sin_yaw
        shift_x, y = slide - height * sin_yaw, high + forward * tilt - down * scale
    return shift_x, y - V, slide


def blunted(y: Tensor) -> Tensor:
    """The height whose depth the head has at height y: crown and chin end bluntly, and do not recede to a point."""
    return y.clamp(-0.90, 0.76)


def project(p: Parameters, x: Tensor, y: Tensor, z: Tensor) -> tuple[Tensor, Tensor]:
    """Picture coordinates X, Y of points of the head."""
    turned_x = x * p["cos_yaw"] + z * p["sin_yaw"]
    forward = z * p["cos_yaw"] - x * p["sin_yaw"]
    turned_y = y * p["cos_pitch"] - forward * p["sin_pitch"]
    c, s = p["cos_roll"], p["sin_roll"]
    return c * turned_x - s * turned_y, c * turned_y + s * turned_x


def face_boxes(p: Parameters, size: int) -> Float[np.ndarray, "b 4"]:
    """x0, y0, x1, y1 in pixels around the visible face: hairline to chin, cheek to cheek, on the smooth head."""
    y, sine = _face_points(p["yaw"].device)
    tables, many = profile_tables(p), (len(p["yaw"]), -1, -1)
    width = read_tables(tables[:, WIDTH : WIDTH + 1], y.expand(many))[:, 0]
    w, d = read_tables(tables[:, WIDTH : DEPTH + 1], blunted(y).expand(many)).unbind(1)
    x = width * sine
    z = advance(blunted(y)) + d * (1 - (x / w) ** 2).clamp(min=0).sqrt()
    across, down = read_shift(shift_maps(p), x, y.expand_as(x))
    X, Y = (coordinate.flatten(1) for coordinate in project(p, x + across, (y + down) * vertical_scale(p), z))
    left, top = X.amin(1, keepdim=True), Y.amin(1, keepdim=True)
    right, bottom = X.amax(1, keepdim=True), Y.amax(1, keepdim=True)
    box = [to_pixels(p, left, top, size), to_pixels(p, right, bottom, size)]
    return torch.cat(box, dim=2)[:, 0].clamp(0, size).numpy()


@functools.lru_cache(maxsize=8)
def _face_points(device: torch.device) -> tuple[Tensor, Tensor]:
    """Heights from hairline to chin, [1, 96, 1], and sines of azimuths from cheek to cheek, [1, 1, 64]."""
    sines = np.sin(np.linspace(-np.pi / 2, np.pi / 2, 64))
    return _constant(np.linspace(HAIRLINE_Y, CHIN, 96), device).view(1, -1, 1), _constant(sines, device).view(1, 1, -1)
