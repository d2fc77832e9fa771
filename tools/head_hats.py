"""Hats and scarves laid on the mean head, and all that is worn on it as arrays of the stored file.

python -m tools.head_hats makes what is worn anew in the stored file and leaves the rest.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter, map_coordinates

from tools.head_clothes import Body, clothes, sheet_faces, stored_mesh
from tools.head_grooms import FACTS, Held, Points, Skin, unit
from tools.head_masks import face_masks
from tools.head_scarf import headscarf
from transect.generators.faceworld.mesh.asset import FILE


def farthest(
    origin: Float[np.ndarray, " 3"], towards: Points, corners: Float[np.ndarray, "f 3 3"]
) -> Float[np.ndarray, " n"]:
    """Distance of each ray's last hit of some triangles, 0 without one (Möller & Trumbore 1997)."""
    first, second, start = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], origin - corners[:, 0]
    cross = np.cross(start, first)
    reach = np.zeros(len(towards))
    for i, ray in enumerate(towards):
        other = np.cross(ray, second)
        with np.errstate(divide="ignore", invalid="ignore"):
            scale = 1 / (first * other).sum(1)
            u, v = (start * other).sum(1) * scale, (cross @ ray) * scale
            far = (second * cross).sum(1) * scale
        hit = (u >= 0) & (v >= 0) & (u + v <= 1) & (far > 0)
        reach[i] = far[hit].max() if hit.any() else 0.0
    return reach


_ROUND = 144
_TURN = np.arange(_ROUND) / _ROUND * 2 * np.pi + 0.5 * np.pi / _ROUND
"""Azimuths of a hat's columns from the front; no ray runs along the mesh's own middle."""
Sheet: TypeAlias = tuple[Float[np.ndarray, "r c 3"], Float[np.ndarray, "r c"], bool]


def crown(
    skin: Skin, rim: tuple[float, float, float], thick: float, tall: float, rows: int = 22
) -> Float[np.ndarray, "r c 3"]:
    """A cap over the skull from its rim to the top; rim: its elevation in front, at the sides and behind."""
    origin = np.array([0.0, 0.35, -1.4])
    front, side, back = rim
    ahead = np.cos(_TURN)
    low = side + np.where(ahead > 0, front - side, back - side) * np.abs(ahead) ** 1.6
    share = np.linspace(0, 1, rows)[:, None]
    raise_ = low + (np.pi / 2 - low) * share
    towards = np.stack([np.cos(raise_) * np.sin(_TURN), np.sin(raise_), np.cos(raise_) * np.cos(_TURN)], -1)
    skull = skin.points[skin.faces[~skin.ears[skin.faces].any(1)]]
    reach = farthest(origin, towards.reshape(-1, 3), skull).reshape(towards.shape[:2])
    reach = gaussian_filter(reach, (1.6, 6.0), mode=("nearest", "wrap"))
    reach += thick * np.minimum(1, 0.45 + 4 * share) + tall * np.sin(share * np.pi / 2) ** 2
    return np.asarray(origin + reach[..., None] * towards)


def ridges(at: np.ndarray) -> np.ndarray:
    """Folds of cloth under tension: narrow crests between wide valleys, 0 to 1, one for each whole number."""
    return np.asarray((1 - np.abs(np.sin(np.pi * at))) ** 2)


def beanie(skin: Skin) -> list[Sheet]:
    """Ribbed knitwear with a cuff that is turned up: from above the brows over the tops of the ears, higher on top."""
    knit = crown(skin, (0.155, -0.17, -0.30), 0.075, 0.20, 34)
    middle = np.array([0.0, 0.35, -1.4])
    share = np.linspace(0, 1, 34)[:, None]
    ribs = np.cos(48 * _TURN)[None] * (1 - share) ** 0.4
    cuff = 0.05 * np.clip((0.25 - share) / 0.03, 0, 1)
    edge = np.exp(-(((share - 0.265) / 0.03) ** 2)) + np.exp(-((share / 0.02) ** 2))
    slack = ridges(0.9 * np.sin(_TURN + 0.6)[None] + 3.4 * share) * np.clip((share - 0.3) / 0.25, 0, 1)
    loose = 0.03 * np.sin(2 * _TURN + 0.8)[None] * np.clip((share - 0.3) / 0.4, 0, 1) + 0.045 * slack
    out = 1 + (cuff + loose + 0.020 * ribs)[..., None] / np.linalg.norm(knit - middle, axis=2, keepdims=True)
    tint = (0.86 + 0.20 * ribs - 0.34 * edge) * np.ones_like(ribs)
    return [(middle + (knit - middle) * out, tint, False)]


_MM = 1 / 63
"""A millimeter: the mean head's eyes are 63 apart."""
_CROWN = np.concatenate([
    [0, 0.002, 0.01, 0.02, 0.05], np.linspace(0.1, 0.56, 10), 0.63 + 0.007 * np.array([-5, -3.2, -1.6, 0, 1.6, 3.2, 5]),
    np.linspace(0.70, 0.92, 8), [0.935, 0.943, 0.95, 0.96, 0.975, 1.0],
])  # fmt: skip
"""Rows of a cap's crown from its rim to the top, close where eyelets and button are."""
_EYELET, _BUTTON = 0.63, 0.058


def _panels(wide: Float[np.ndarray, " r"]) -> tuple[Float[np.ndarray, "r c"], Float[np.ndarray, "r c"]]:
    """Azimuths of a cap's columns, close at the six seams and at the panels' middles, and millimeters from a seam.

    wide: a row's radius.
    """
    near, middle = np.array([0.4, 1.1, 2.3, 3.0, 3.7]) * _MM, np.array([4.6, 3.0, 1.5]) * _MM
    half = np.minimum(1 / wide[:, None], 0.19 / near[-1])
    beside = np.concatenate([near * half, np.pi / 6 - middle * half], 1)
    first, last = beside[:, 4:5], beside[:, 5:6]
    between = first + (last - first) * np.array([0.25, 0.5, 0.75])
    side = np.concatenate([beside[:, :5], between, beside[:, 5:]], 1)
    sector = np.concatenate([0 * first, side, 0 * first + np.pi / 6, np.pi / 3 - side[:, ::-1]], 1)
    turn = np.concatenate([sector + n * np.pi / 3 for n in range(6)], 1) + 1e-4
    return turn, np.tile(np.minimum(sector, np.pi / 3 - sector), 6) / half / _MM


def _taken(grid: Float[np.ndarray, "r c 3"], row: np.ndarray, turn: np.ndarray) -> Float[np.ndarray, "q k 3"]:
    """Points of a sheet between its rows and columns; row: 0 to 1, turn: azimuth."""
    column = (turn - _TURN[0]) / (2 * np.pi) * _ROUND % _ROUND + 8
    whole = np.pad(grid, ((0, 0), (8, 8), (0, 0)), mode="wrap")
    at = np.broadcast_arrays(row * (len(grid) - 1), column)
    return np.stack([map_coordinates(whole[..., k], at, order=3, mode="nearest") for k in range(3)], -1)


def cap(skin: Skin) -> list[Sheet]:
    """A cap of six panels, the front ones stiff, with seams, eyelets, a button and a curved peak with rows of stitches.

    Its rim is a finger above the ears, low behind, and two above the brows.
    """
    smooth = crown(skin, (0.275, 0.0, -0.17), 0.0, 0.07, 34)
    share, ahead = np.linspace(0, 1, 34)[:, None], np.cos(_TURN)[None]
    front = np.clip(1.25 * ahead, 0, 1) ** 1.5
    out = unit(smooth - np.array([0, 0.35, -1.4]))
    bulge = np.sin(np.pi * np.clip(share, 0, 1) ** 0.8)
    loose = np.sin(3 * _TURN + 5 * share + 0.7) + 0.7 * np.sin(5 * _TURN - 8 * share)
    away = 0.055 + 0.065 * front + 0.06 * np.clip(-ahead, 0, 1)
    away = away + (0.12 * front + (1 - front) * (0.02 + 0.012 * loose)) * bulge
    smooth = smooth + away[..., None] * out
    smooth = gaussian_filter(smooth, (1.5, 3.0, 0), mode=("nearest", "wrap", "nearest"))
    far = np.hypot(smooth[..., 0], smooth[..., 2] + 1.4)
    widest = np.maximum.accumulate(far[::-1])[::-1] / far  # its rim is
    smooth[..., 0], smooth[..., 2] = smooth[..., 0] * widest, (smooth[..., 2] + 1.4) * widest - 1.4
    wide = np.interp(_CROWN, share[:, 0], (far * widest).mean(1))
    turn, beside = _panels(np.maximum(wide, 0.02))
    row = _CROWN[:, None]
    dome = _taken(smooth, row, turn)
    seam, stitch = np.exp(-((beside / 0.6) ** 2)), np.exp(-(((beside - 3.0) / 0.55) ** 2))
    below = row < 0.935
    raised = (0.45 * (beside < 2.6) - 1.0 * seam - 0.25 * stitch) * below * (row > 0.015)
    high = np.sqrt(np.clip(1 - ((1 - row) / _BUTTON) ** 2, 0, 1))
    raised = raised + 4.5 * high - 3.0 * (row == 0)
    dome = dome + (raised * _MM)[..., None] * unit(dome - np.array([0, 0.35, -1.4]))
    hole = np.hypot((row - _EYELET) / 0.007, beside - beside.max(1, keepdims=True))
    tint = 1 - (0.42 * seam + 0.16 * stitch) * below
    tint = tint - 0.75 * np.exp(-((hole / 1.6) ** 2)) + 0.10 * np.exp(-(((hole - 3.0) / 1.0) ** 2))
    tint = np.where(row > 0.94, 0.92, tint) * np.where(np.abs(row - 0.9385) < 0.006, 0.6, 1)
    tint = tint * np.where(row == 0, 0.35, 1) - 0.12 * np.exp(-(((row - 0.05) / 0.01) ** 2))
    tint = tint * (1 - 0.38 * np.exp(-row / 0.06) * np.clip(4 * np.cos(turn) - 1.6, 0, 1))  # in the peak's corner
    return [(dome, tint, False), _peak(smooth[0])]


_WIDE, _LONG, _THICK = np.radians(64), 70 * _MM, 3.2 * _MM


def _peak(rim: Float[np.ndarray, "c 3"]) -> Sheet:
    """A cap's peak, springing from the rim between the temples: its upper side to the right, its lower one back."""
    half = _ROUND // 2
    across = np.sin(np.linspace(-1, 1, half) * np.pi / 2) * 0.35 + np.linspace(-1, 1, half) * 0.65
    edge = _taken(rim[None], np.zeros((1, 1)), across[None] * _WIDE)[0]
    lines = np.arange(1, 7) / 7 + 0.06
    step = [[-0.05, 0.0, 0.02, 0.04], *(lines + off for off in (-0.012, 0, 0.012)), [0.985, 0.996, 1]]
    step = np.sort(np.concatenate(step))[:, None]
    long = _LONG * (1 - np.abs(across) ** 4) ** 0.6
    x = edge[:, 0]
    ahead = np.stack([0.04 * x, -0.31 + 0 * x, 0.95 + 0 * x], 1)
    bent = np.stack([0 * x, -0.07 - 0.10 * (x / 1.2) ** 2, 0 * x], 1)
    curve = np.clip(step, 0, 1)[..., None] ** 1.7
    top = edge + step[..., None] * long[:, None] * ahead + curve * long[:, None] * bent
    stitch = np.exp(-((np.abs(step - lines).min(1, keepdims=True) / 0.006) ** 2))
    up = unit(np.stack([0.35 * x, 1 + 0 * x, 0.27 + 0 * x], 1))
    round_ = np.sqrt(np.clip(1 - ((np.clip(step, 0.985, 1) - 0.985) / 0.015) ** 2, 0, 1))[..., None]
    thick = _THICK * round_ * np.clip((1 - np.abs(across)) / 0.01, 0.3, 1)[:, None]
    upper = top + 0.5 * thick * up - (0.3 * _MM * stitch)[..., None] * up
    lower = (top - 0.5 * thick * up)[:, ::-1]
    seam = (1 - 0.4 * np.exp(-((step / 0.02) ** 2))) * (1 - 0.25 * np.exp(-np.abs(step) / 0.12))
    bright = (1.20 * seam - 0.18 * stitch - 0.25 * (step > 0.99)) * np.ones_like(x)
    dark = 0.42 * seam * np.ones_like(x)
    return np.concatenate([upper, lower], 1), np.concatenate([bright, dark], 1), False


def felt_hat(skin: Skin) -> list[Sheet]:
    """A hat of felt: walls that taper, a pinched crease along the top, a ribbon, a brim that dips in front."""
    base = crown(skin, (0.185, -0.03, -0.14), 0.40, 0.0)[0]
    base = gaussian_filter(base, (4.0, 0), mode="wrap")
    middle, top = np.array([0.0, 0.0, -1.30]), 1.97
    flat = (base - middle) * np.array([1.0, 0, 1.0])
    pinch = 0.09 * np.exp(-(((np.abs(np.sin(_TURN)) - 0.55) / 0.25) ** 2)) * (np.cos(_TURN) > 0)
    rows, tints = [], []
    for share in np.linspace(0, 1, 26):
        height = base[:, 1] + (top - base[:, 1]) * share - 0.06 * (share == 0)
        inward = 1 - 0.12 * share**1.5 - pinch * share - 0.03 * np.clip((share - 0.85) / 0.15, 0, 1) ** 2
        inward = inward + 0.02 * (share < 0.26)
        rows.append(middle + flat * inward[:, None] + height[:, None] * np.array([0, 1.0, 0]))
        tints.append(np.full(_ROUND, (0.30 if 0.01 < share < 0.25 else 0.20) if share < 0.26 else 1.0))
    for share in np.linspace(0.06, 1, 12):
        ring = flat * (0.80 - pinch)[:, None] * (1 - share)
        crease = 0.14 * np.exp(-((ring[:, 0] / 0.24) ** 2)) * min(1, 2.5 * share)
        height = top + 0.09 * np.sqrt(1 - (1 - share) ** 2) - crease
        rows.append(middle + ring + height[:, None] * np.array([0, 1.0, 0]))
        tints.append(np.ones(_ROUND) - 0.3 * crease)
    step = np.concatenate([[-0.34, -0.04], np.linspace(0, 1, 12)])[:, None, None]  # from inside the skull
    rise = 0.22 * np.abs(np.sin(_TURN)) ** 2 - 0.20 * np.clip(np.cos(_TURN), 0, 1) + 0.02 * np.sin(3 * _TURN + 1)
    out = np.clip(step, 0, 1)
    ring = base + (0.66 * out + np.minimum(step, 0)) * unit(flat) + out**1.7 * rise[:, None] * np.array([0, 1.0, 0])
    bound = 0.95 - 0.35 * (step[..., 0] > 0.94) * np.ones((1, _ROUND)) - 0.5 * (step[..., 0] < 0)
    return [(np.stack(rows), np.stack(tints), False), (ring, bound, True)]


_HOOD = (
    (-3.1, 1.95, 1.55, 1.7), (-2.8, 1.75, 1.42, 1.62), (-2.4, 1.50, 1.26, 1.5), (-2.0, 1.40, 1.18, 1.42),
    (-1.5, 1.40, 1.15, 1.4), (-0.4, 1.46, 1.15, 1.58), (0.6, 1.25, 1.0, 1.74), (1.2, 1.0, 0.8, 1.5),
    (1.6, 0.6, 0.6, 0.9),
)  # fmt: skip
"""Heights, and how far cloth hangs there aside, ahead and behind."""


def draped(
    origin: Float[np.ndarray, " 3"], towards: Float[np.ndarray, "r c 3"], shape: tuple[tuple[float, ...], ...]
) -> Float[np.ndarray, "r c"]:
    """How far rays stay inside of cloth that hangs from the skull."""
    far = np.linspace(0.2, 4.2, 81)
    at = origin + far[:, None, None, None] * towards
    x, y, z = at[..., 0], at[..., 1], at[..., 2] + 1.3
    heights, *others = zip(*shape, strict=True)
    wide, ahead, behind = (np.interp(y, heights, of) for of in others)
    inside = (x / wide) ** 2 + (z / np.where(z > 0, ahead, behind)) ** 2 < 1
    inside &= (y < heights[-1]) & (y > heights[0])
    return np.where(inside, far[:, None, None], 0.0).max(0)


def wrap(skin: Skin, opening: tuple[float, float, float], edge: float, thick: float, folds: float) -> list[Sheet]:
    """Cloth around head and neck; opening: angles from the front at its top, sides and bottom, in degrees."""
    origin = np.array([0.0, 0.05, -1.3])
    top, side, bottom = np.radians(opening)
    high = np.cos(_TURN)
    start = side + np.where(high > 0, top - side, bottom - side) * high**2
    share = np.linspace(0, 1, 44)[:, None]
    angle = start + (0.97 * np.pi - start) * share**1.4
    towards = np.stack([np.sin(angle) * np.sin(_TURN), np.sin(angle) * high, np.cos(angle)], -1)
    head = skin.faces[~skin.ears[skin.faces].any(1) & (skin.points[skin.faces][..., 1].min(1) > -2.0)]
    reach = farthest(origin, towards.reshape(-1, 3), skin.points[head]).reshape(angle.shape)
    reach = np.maximum(reach, draped(origin, towards, _HOOD))
    smooth = gaussian_filter(reach, (1.5, 4.0), mode=("nearest", "wrap"))
    reach = np.maximum(smooth, reach * 0.97) + edge + (thick - edge) * np.minimum(1, 5 * share)
    reach = gaussian_filter(reach, (0.8, 3.0), mode=("nearest", "wrap"))
    low, side = np.clip(0.25 - high, 0, 1), np.abs(_TURN - np.pi)
    around = (1 - np.abs(np.sin(8 * angle + 1.2 * side))) ** 2 + 0.7 * (
        1 - np.abs(np.sin(13 * angle - 1.7 * side + 1))
    ) ** 2
    along = np.sin(5 * side + 6.5 * angle) + 0.6 * np.sin(9 * side - 4 * angle + 1)
    wave = (0.10 + low) * (0.8 * around + 0.6 * along) + 0.25 * along * np.clip(1 - np.abs(high), 0, 1)
    band, seam = np.clip((0.045 - share) / 0.01, 0, 1), np.exp(-(((share - 0.06) / 0.010) ** 2))
    middle = np.exp(-((np.minimum(_TURN, 2 * np.pi - _TURN) / 0.03) ** 2)) * (share > 0.05)
    tint = 1 + 0.34 * (wave - 0.3) - 0.28 * seam - 0.10 * np.exp(-((share / 0.012) ** 2)) - 0.2 * middle
    reach = reach + folds * wave * np.clip((share - 0.02) / 0.2, 0, 1) + 0.02 * band
    return [(origin + reach[..., None] * towards, tint, True)]


def hood(skin: Skin) -> list[Sheet]:
    """A hood that is up, with a hem and the cords that come out of it at the throat."""
    cloth = wrap(skin, (33.5, 49, 61), 0.09, 0.20, 0.10)
    at, along = cloth[0][0].reshape(-1, 3), np.abs(np.linspace(-1, 1, _ROUND, endpoint=False))
    turn = np.linspace(0, 2 * np.pi, 6)[:, None]
    for side in (1.0, -1.0):
        x, y = side * (0.36 - 0.06 * along + 0.02 * np.sin(5 * along)), -2.12 - 0.9 * along
        near = np.hypot(at[:, 0] - x[:, None], at[:, 1] - y[:, None]) < 0.2
        z = gaussian_filter(np.where(near, at[:, 2], -9.0).max(1), 6.0, mode="wrap") + 0.10
        cord = np.stack([x + 0.045 * np.cos(turn), y + 0 * turn, z + 0.045 * np.sin(turn)], -1)
        tint = 1.5 + 0.25 * np.sin(90 * along) - 0.8 * (along < 0.03) + 0 * turn
        cloth.append((cord, tint, True))
    return cloth


def worn_meshes(held: Held) -> dict[str, np.ndarray]:
    """Hats and clothes as arrays of the file: points, faces, anchors and tint of each."""
    skin = Skin(held)
    hats = {
        "beanie": beanie(skin), "cap": cap(skin), "brimmed hat": felt_hat(skin),
        "hood": hood(skin), "headscarf": headscarf(skin, farthest),
    }  # fmt: skip
    sheets = {name: [(*sheet, True) for sheet in parts] for name, parts in hats.items()}
    sheets |= clothes(Body(farthest, skin.points, skin.faces))
    found: dict[str, np.ndarray] = {}
    for name, parts in sheets.items():
        points, faces, tint, joined = [], [], [], []
        for sheet, shade, both, closed in parts:
            flat, grid = sheet.reshape(-1, 3), sheet_faces(*sheet.shape[:2], closed)
            corners = flat[grid]
            normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
            grid = grid[np.linalg.norm(normal, axis=1) > 1e-5]
            middle = np.array([0, flat[:, 1].mean() if name in hats else -3.9, -1.4])
            outward = (normal * (corners[:, 0] - middle)).sum() > 0
            grid = grid if outward else grid[:, ::-1]
            # Both sides of a sheet have points of their own, for a normal each.
            for side in (grid, grid[:, ::-1]) if both else (grid,):
                faces.append(side + sum(len(part) for part in points))
                # A peak moves with the rim, its lower side as the upper one.
                edge = np.broadcast_to((sheet[0] + sheet[0, ::-1]) / 2, sheet.shape).reshape(-1, 3)
                joined.append(edge if name == "cap" and points else flat)
                points.append(flat)
                inner = 0.55 if side is not grid and name in hats else 1.0
                tint.append(np.broadcast_to(inner * shade, sheet.shape[:2]).ravel())
        found |= stored_mesh(skin, name, *(np.concatenate(of) for of in (points, faces, tint, joined)))
    for name, mask in face_masks(held, skin.points[skin.used]).items():
        found |= stored_mesh(skin, name, *mask)
    return found


def main() -> None:
    """Makes what is worn anew in the file."""
    with np.load(FACTS / FILE, allow_pickle=False) as archive:
        held = {name: archive[name] for name in archive.files if not name.startswith("worn_")}
    np.savez_compressed(FACTS / FILE, **{**held, **worn_meshes(held)})


if __name__ == "__main__":
    main()
