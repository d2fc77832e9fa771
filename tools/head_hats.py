"""Hats and scarves laid on the mean head, and all that is worn on it as arrays of the stored file.

python -m tools.head_hats makes what is worn anew in the stored file and leaves the rest.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from jaxtyping import Float
from scipy.ndimage import gaussian_filter

from tools.head_clothes import Body, clothes, sheet_faces, stored_mesh
from tools.head_grooms import FACTS, Held, Points, Skin, unit
from tools.head_masks import face_masks
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


def cap(skin: Skin) -> list[Sheet]:
    """A cap of six panels, stiff in front, with a button, rows of stitches and a curved peak that is thick."""
    dome = crown(skin, (0.21, 0.05, -0.14), 0.16, 0.04, 34)
    share = np.linspace(0, 1, 34)[:, None]
    ahead = np.clip(np.cos(_TURN), 0, 1)[None] ** 2
    dome = dome + (0.13 * ahead * np.sin(share * np.pi) ** 0.7)[..., None] * np.array([0, 0.5, 0.85])
    away = np.abs((_TURN + np.pi / 6) % (np.pi / 3) - np.pi / 6)[None] * np.cos(share * np.pi / 2)
    seams = np.exp(-((away / 0.02) ** 2)) + 0.5 * np.exp(-(((away - 0.065) / 0.015) ** 2))
    dome = dome - (0.02 * np.exp(-((away / 0.03) ** 2)))[..., None] * unit(dome - np.array([0, 0.35, -1.4]))
    tint = 1 - 0.35 * np.clip(seams, 0, 1) * (share < 0.97) - 0.25 * np.exp(-(((share - 0.07) / 0.012) ** 2))
    dome = dome + 0.04 * (share > 0.955)[..., None] * np.array([0, 1.0, 0])
    tint = np.where(share > 0.955, 0.75, tint) * (1 - 0.4 * np.exp(-((share / 0.03) ** 2)))
    # A stiff band stands off: the forehead of some would come through the seam above the peak.
    dome = dome + (0.055 * np.clip(1.6 - share / 0.10, 0, 1))[..., None] * unit(dome - np.array([0, 0.35, -1.4]))
    edge, across = dome[0], dome[0][:, 0]
    long = 1.10 * np.clip((np.cos(_TURN) - 0.36) / 0.64, 0, 1) ** 0.65
    step = np.concatenate([np.linspace(0, 1, 19), [1.015], np.linspace(1, 0, 10)])[:, None, None]
    under = (np.arange(30) > 18)[:, None, None] * 0.045 * np.array([0, 1.0, 0])
    out = unit(np.stack([0.05 * across, -0.30 * np.ones_like(across), np.ones_like(across)], 1))
    bent = np.stack([0 * across, -0.22 * (across / 0.9) ** 2 - 0.04, 0 * across], 1)
    peak = edge + step * long[:, None] * out + step**1.3 * (long > 0)[:, None] * long[:, None] * bent - under
    rows = np.exp(-((((step[..., 0] * 6) % 1 - 0.5) / 0.14) ** 2)) * (step[..., 0] > 0.12)
    stitched = 0.95 - 0.16 * rows + 0.12 * (step[..., 0] > 0.97) - 0.35 * np.exp(-((step[..., 0] / 0.05) ** 2))
    stitched = np.where(under[..., 1] > 0, 0.45, stitched) * np.ones((1, _ROUND))
    return [(dome, tint, False), (peak, stitched, True)]


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


def wound(skin: Skin) -> list[Sheet]:
    """A headscarf: a band at the hair's line, cloth tight around the face, its end laid over neck and shoulders."""
    origin, sides = np.array([0.0, 0.05, -1.3]), np.abs((_TURN + np.pi) % (2 * np.pi) - np.pi)
    start = np.radians(np.interp(np.degrees(sides), *zip(*_OPENING, strict=True)))
    start = gaussian_filter(start, 2.0, mode="wrap")
    high, low = np.cos(_TURN), np.clip(-np.cos(_TURN), 0, 1)
    head = skin.faces[~skin.ears[skin.faces].any(1) & (skin.points[skin.faces][..., 1].min(1) > -2.7)]

    def over(angle: np.ndarray, off: np.ndarray, loose: float) -> np.ndarray:
        towards = np.stack([np.sin(angle) * np.sin(_TURN), np.sin(angle) * high, np.cos(angle)], -1)
        reach = farthest(origin, towards.reshape(-1, 3), skin.points[head]).reshape(angle.shape)
        smooth = gaussian_filter(reach, (1.5, 4.0), mode=("nearest", "wrap"))
        reach = np.maximum(np.maximum(smooth, reach * 0.97), draped(origin, towards, _WOUND)) if loose else reach
        return np.asarray(
            origin + (gaussian_filter(reach, (0.8, 2.0), mode=("nearest", "wrap")) + off)[..., None] * towards
        )

    share = np.concatenate([[0.0], np.linspace(0, 1, 40)])[:, None]
    angle = start + (np.pi * (0.97 - 0.50 * low**0.7) - start) * share**1.3
    beside = np.clip((share - 0.03) / 0.25, 0, 1) * np.sin(sides) ** 2
    along = ridges(3.4 * angle + 0.7 * np.cos(2 * _TURN) + 0.9 * high) + 0.35 * ridges(5.3 * angle - 0.8 * high + 0.3)
    # Crests that run across the grid would be a saw's edge.
    along = 1.25 * gaussian_filter(along, (1.4, 4.0), mode=("nearest", "wrap"))
    hem = np.exp(-((share / 0.02) ** 2))
    off = 0.045 + 0.12 * np.minimum(1, 4 * share) * (0.2 + 0.8 * (1 - low)) + 0.065 * beside * along
    tint = 0.93 + 0.30 * beside * (along - 0.35) - 0.18 * np.exp(-(((share - 0.035) / 0.012) ** 2)) + 0.05 * hem
    off[0], tint[0] = -0.25, 0.55  # no gap between the edge and narrow cheeks
    band = start + np.radians(np.array([-4.1, -4.0, -2.0, 0.5, 4.0]))[:, None] * np.clip(2 * high - 0.4, 0, 1)
    inner = over(band, np.array([-0.03, 0.018, 0.028, 0.03, 0.02])[:, None] - 0.6 * np.clip(0.8 - 3 * high, 0, 1), 0.0)
    return [
        (over(angle, off, 1.0), tint, False),
        (inner, np.array([0.5, 0.6, 0.66, 0.5, 0.4])[:, None] + 0 * _TURN, False),
        _cape(),
    ]


_OPENING = (
    (0, 30),
    (30, 30.5),
    (50, 33),
    (70, 39),
    (90, 44),
    (110, 46.5),
    (135, 49.5),
    (150, 53.5),
    (165, 57),
    (180, 59),
)
"""Where a headscarf's edge lies around the face: angles from the top, and from straight ahead."""


def _cape() -> Sheet:
    """A scarf's end: from under the chin and over the jaws' corners down to chest and shoulders."""
    ahead, share = np.cos(_TURN), np.linspace(0, 1, 34)[:, None]
    top = np.interp(ahead, [-1, -0.4, 0.3, 0.75, 1], [-0.9, -1.05, -1.40, -1.75, -1.82])
    top = gaussian_filter(top, 3.0, mode="wrap") + 0.10 * np.sin(_TURN)
    y = top + (-3.95 - top) * share**1.15
    below = [-3.95, -3.4, -2.9, -2.5, -2.2, -1.95, -1.5, -1.0]
    front = np.interp(y, below, [2.05, 1.85, 1.62, 1.42, 1.27, 1.18, 1.2, 1.2])
    aside = np.interp(y, below, [2.9, 2.45, 1.85, 1.45, 1.27, 1.22, 1.27, 1.32])
    back = np.interp(y, below, [1.95, 1.85, 1.6, 1.4, 1.3, 1.25, 1.35, 1.5])
    long = np.where(ahead > 0, front, back)
    reach = 1 / np.sqrt((np.sin(_TURN) / aside) ** 2 + (ahead / long) ** 2)
    x, open_ = reach * np.sin(_TURN), np.clip(share / 0.15, 0, 1)
    slant = ridges(2.6 * y + 1.25 * x + 0.25 * np.sin(3 * _TURN)) * np.exp(-(((y + 2.35) / 0.65) ** 2))
    swag = ridges(1.9 * y - 0.9 * np.abs(x - 0.35) + 0.4) * np.exp(-(((y + 2.9) / 0.6) ** 2)) * np.clip(ahead, 0, 1)
    hang = ridges(1.35 * _TURN / np.pi * 4 + 0.5 * y) * np.clip((-2.4 - y) / 0.8, 0, 1)
    fold = 0.85 * slant + 0.8 * swag + 0.9 * hang
    reach = gaussian_filter(reach + 0.11 * open_ * fold, (1.0, 2.0), mode=("nearest", "wrap"))
    reach[0] -= 0.35
    points = np.stack([reach * np.sin(_TURN), y + 0 * reach, reach * ahead - 1.3], -1)
    tint = 0.80 + 0.16 * np.clip(share / 0.1, 0, 1) + 0.30 * open_ * (fold - 0.30) - 0.35 * (share == 0)
    return points, tint, False


_WOUND = (
    (-2.5, 1.05, 0.9, 1.0), (-2.0, 1.17, 1.0, 1.2), (-1.5, 1.22, 1.05, 1.3), (-1.0, 1.32, 1.05, 1.42),
    (-0.4, 1.40, 1.05, 1.62), (0.6, 1.22, 1.0, 1.72), (1.2, 0.95, 0.8, 1.45), (1.6, 0.6, 0.6, 0.9),
)  # fmt: skip
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
        "hood": hood(skin), "headscarf": wound(skin),
    }  # fmt: skip
    sheets = {name: [(*sheet, True) for sheet in parts] for name, parts in hats.items()}
    sheets |= clothes(Body(farthest, skin.points, skin.faces))
    found: dict[str, np.ndarray] = {}
    for name, parts in sheets.items():
        points, faces, tint = [], [], []
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
                points.append(flat)
                inner = 0.55 if side is not grid and name in hats else 1.0
                tint.append(np.broadcast_to(inner * shade, sheet.shape[:2]).ravel())
        found |= stored_mesh(skin, name, np.concatenate(points), np.concatenate(faces), np.concatenate(tint))
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
