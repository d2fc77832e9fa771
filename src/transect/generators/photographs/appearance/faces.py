"""Faces on photographs: marks and soft masks, the light of the scene, and layers that are composited on them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from transect.generators.faceworld.camera import COLOR_KEPT, SPEED, curve
from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs import camera
from transect.marks import Marks
from transect.marks.records import EYES, SEVERAL

_BRIGHTEST: Final = 6.0
"""The scene light that becomes white in eight bits."""
_STEPS, _ROUNDS, _LONGEST = 16_384, 20, 1.8
"""Entries of the table by which light is read from pixels, rounds of its iteration, and its longest step."""


def scene_of(pixels: UInt8[np.ndarray, "*shape 3"]) -> Float[np.ndarray, "*shape 3"]:
    """Float32 scene light of sRGB values, by fixed-point iteration from the curve of each channel alone.

    Steps are as long as they are right where the channels are equal.
    """
    shown, scene = camera.decoding()[pixels], _untoning()[pixels]
    for _ in range(_ROUNDS):
        step = _read(_steps(), scene)
        scene = np.clip(scene + (shown / _factor(scene) - scene) * step, 0, _BRIGHTEST)
    return np.asarray(scene, dtype=np.float32)


def pixels_of(scene: Float[np.ndarray, "*shape 3"]) -> UInt8[np.ndarray, "*shape 3"]:
    """The sRGB values of scene light."""
    scene = np.maximum(scene, 0)
    return camera.encoded(np.minimum(scene * _factor(scene), 1).astype(np.float32))


def _factor(scene: Float[np.ndarray, "*shape 3"]) -> Float[np.ndarray, "*shape 3"]:
    """By how much FaceWorld's tone curve weakens light: that of luminance for the most part."""
    bright, kept = _read(_bent(), scene @ LUMINANCE.astype(np.float32)), np.float32(COLOR_KEPT)
    return np.asarray(_read(_bent(), scene) * (1 - kept) + (bright * kept)[..., None])


def _read(table: Float[np.ndarray, " n"], scene: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """A table's values of scene light: the same bits on every machine."""
    place = np.sqrt(np.clip(scene * np.float32(1 / _BRIGHTEST), 0, 1)) * np.float32(_STEPS - 1) + np.float32(0.5)
    return np.asarray(table[place.astype(np.int32)])


@functools.cache
def _bent() -> Float[np.ndarray, " n"]:
    return np.asarray(SPEED * curve(SPEED * _scenes()), dtype=np.float32)


@functools.cache
def _steps() -> Float[np.ndarray, " n"]:
    scene, bent = _scenes(), _bent().astype(np.float64)
    return np.asarray(np.minimum(bent / np.gradient(scene * bent, scene), _LONGEST), dtype=np.float32)


def _scenes() -> Float[np.ndarray, " n"]:
    return np.asarray(np.linspace(0, 1, _STEPS) ** 2 * _BRIGHTEST)


@functools.cache
def _untoning() -> Float[np.ndarray, " 256"]:
    """Float32, read-only: the scene light of each of the 256 values of sRGB where all channels have it."""
    scene = _scenes()
    table = np.asarray(np.interp(camera.decoding().astype(np.float64), scene * _bent(), scene), dtype=np.float32)
    table.setflags(write=False)
    return table


SEVERAL_FACES: Final = "photographs with several faces"
UNSURE: Final = "photographs on which no face was found with confidence"
PARTS: Final = ("skin", "hair", "mouth")
NO_MASKS: Final = "photographs without masks of skin, hair and mouth"
NO_SKIN: Final = "photographs without visible skin"
NO_HAIR: Final = "photographs without visible hair"
NO_LIPS: Final = "photographs without visible lips"
NO_BEARD: Final = "photographs without visible skin where a beard grows"
_ALREADY: Final = {
    "glasses": ("glasses", "photographs of people who wear glasses already"),
    "hat": ("hat", "photographs of people who wear something on the head already"),
    "bangs": ("hat", "photographs of people who wear something on the head already"),
}
VAGUE_HAIR: Final = "photographs on which the outline of the hair is in doubt"
_HAIR_DOUBT: Final = 0.95
NO_HAIR_ABOVE: Final = "photographs without hair above the forehead, from which a fringe could fall"
FRINGED: Final = "photographs of people whose hair covers the forehead already"
SHORT_HAIR: Final = "photographs of people whose hair is too short to fall to the brows"
CURLY: Final = "photographs of people whose hair is coily or curly, from which no straight fringe falls"
_FOREHEAD, _STRAIGHT = (0.3, 0.82), 0.6
"""How high bare foreheads are from which fringes fall, in distances of the eyes' outer corners, about 90 mm."""
_LONG: Final = 2.0
"""The least area of the hair over that of the bare forehead between the eyes' outer corners."""
HAIR_BESIDE: Final = "photographs with hair that would stand out from under what is worn on the head"
_BESIDE: Final = 1.8
"""The most hair to be pressed, over the area of the hat."""
_WORN_SHARE: Final = 0.002
"""The share of the picture from which glasses or a hat are there."""
OUTER_LIPS, _INNER_LIPS = slice(48, 60), slice(60, 68)
_FINE: Final = 4
_INSIDE, _SURE = 0.95, 0.5
_NARROW, _WIDE = 0.1, 2.5
"""Pixels of a blur that does nothing, and of one from which on every second pixel is enough, and so on."""
_DOUBT, _SHARP = 0.1, 0.1
"""Likelihoods in doubt, and the share of the mask that may be so in a mask with sharp borders."""
_SETTLED, _SMOOTH = (0.35, 0.65), 0.03
_FEWEST_OF_LIPS, _JAW = 4, slice(3, 14)
CHEEKS: Final = np.array([3, 41, 31, 35, 46, 13])
_EDGE, _FEWEST = (0.012, 0.6), 20
"""Blur of an edge in distances of the eyes' outer corners, and at least in pixels; pixels that make a median color."""
_NEARBY, _FEW, _LEAST = 0.06, 1e-3, 4e-3


@final
@dataclass(frozen=True, slots=True)
class Face:
    """points: [68, 2] in pixels; masks: float32 [h, w], 0 to 1, by part; doubts: pixels in doubt over those held."""

    points: Float[np.ndarray, "68 2"]
    masks: Mapping[str, Float[np.ndarray, "h w"]]
    doubts: Mapping[str, float] = field(default_factory=dict)

    @property
    def width(self) -> float:
        """Pixels between the outer corners of the eyes, the measure of all widths of soft edges; at least 1."""
        return max(1.0, float(np.linalg.norm(self.points[45] - self.points[36])))

    def polygon(self, points: Int[np.ndarray, " k"] | slice, height: int, width: int) -> Float[np.ndarray, "h w"]:
        """The share of each pixel that lies inside the polygon of these points."""
        import cv2

        fine = np.zeros((height * _FINE, width * _FINE), dtype=np.uint8)
        corners = np.rint(self.points[points] * _FINE - 0.5).astype(np.int32)
        cv2.fillPoly(fine, [corners], (1,))
        return np.asarray(cv2.resize(fine.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA))

    def eyes(self) -> Float[np.ndarray, "h w"]:
        """The share of each pixel that lies between the lids."""
        if (seen := self.masks.get("eyes")) is not None:
            return seen
        return np.asarray(np.maximum(*(self.polygon(part, *self.masks["skin"].shape) for part in EYES)))

    def lips(self) -> Float[np.ndarray, "h w"]:
        """The share of each pixel that is lips, without what is between them."""
        mouth = self.masks["mouth"]
        outline = blurred(self.polygon(OUTER_LIPS, *mouth.shape), 0.02 * self.width)
        return np.asarray(np.minimum(mouth, outline) * (1 - self.inner_mouth()))

    def inner_mouth(self) -> Float[np.ndarray, "h w"]:
        """The share of each pixel that lies between the lips."""
        if (seen := self.masks.get("teeth")) is not None:
            return seen
        return self.polygon(_INNER_LIPS, *self.masks["mouth"].shape)


def face_of(
    marks: Marks, threshold: float, picture: UInt8[np.ndarray, "h w 3"], top: int = 0, left: int = 0
) -> Face | str:
    """The face of marks of one picture, cut to the photograph at top, left of its square; or why there is none."""
    height, width = picture.shape[:2]
    if marks.reasons[0] == SEVERAL:
        return SEVERAL_FACES
    if not marks.kept(threshold)[0] or not np.isfinite(marks.points[0]).all():
        return UNSURE
    if any(part not in marks.masks for part in PARTS):
        return NO_MASKS
    inside = np.s_[0, top : top + height, left : left + width]
    points = marks.points[0] - (left, top)
    masks = {name: np.ascontiguousarray(mask[inside], dtype=np.float32) for name, mask in marks.masks.items()}
    doubts = {name: doubt(mask) for name, mask in masks.items()}
    rough = Face(points, masks)
    parted_ = {}
    if doubts["skin"] > _SHARP:
        parted_ = parted(rough, picture)
        doubts |= {name: doubt(mask) for name, mask in parted_.items()}
    masks = {name: settled(mask, rough.width) for name, mask in masks.items()} | parted_
    face = Face(points, masks, doubts)
    return face if _shows_skin(face) else NO_SKIN


def _shows_skin(face: Face) -> bool:
    """Whether enough pixels outside of eyes and mouth are surely skin to know its color."""
    sure = _sure(face, "skin")
    # Eyes and mouth hold less than this, so that their outlines are drawn for few faces.
    if sure.sum() >= max(_FEWEST, face.width**2):
        return True
    return int((sure & (np.maximum(face.eyes(), face.inner_mouth()) < _SURE)).sum()) >= _FEWEST


def _sure(face: Face, part: str) -> Bool[np.ndarray, "h w"]:
    """The pixels that are surely of that part, also once its edges are soft."""
    mask = face.masks[part]
    share, least = _EDGE
    return np.asarray((mask > _SURE) & (blurred(mask, max(share * face.width, least)) > _SURE))


_NEAR, _LEAST_PRIOR, _LEAST_LIKELY, _TIMES = 0.09, 0.004, 1e-5, 2
"""How far a part may lie from where it was seen, in distances of the eyes' outer corners; the least probabilities."""
_COLORS, _EVENLY = 16, 0.8
"""Steps of each channel by which colors are counted, and how many of them a count is spread over."""
_GRAIN, _CLEAR = 0.015, 0.15
_JAW_AND_BROWS: Final = np.array([*range(17), *range(26, 16, -1)])
_FAR_HAIR, _TOP_HAIR, _SEEN = (1.0, 1.6), 0.8, (0.08, 0.25)
"""How far from the bridge of the nose the hair of a head begins, how surely what is no skin there is hair, and the
shares of seen hair between which hair counts below the eyes."""
_EVEN, _LEAK, _SURELY = (3, 2, 1), 0.015, 0.7
"""By how much neighbors of an even background differ at most, and the share of sure hair that it may reach."""
_LIPS_NEAR, _GAP, _DILATED = 0.05, 0.15, 4
_WHITER, _COLORLESS = 0.3, 0.9
"""How much less red than skin teeth are, of the way to white; the green over the red of pictures without color."""


def parted(face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> dict[str, Float[np.ndarray, "h w"]]:
    """Shares of the parts of a face with the outlines that the picture has, from vague ones.

    Bayes's rule by the colors of each part and of all else, where each was seen nearby.
    """
    rough = Face(face.points, {name: face.masks[name] for name in PARTS} | {"hair": _headed(face)})
    eyes, teeth = rough.eyes(), rough.inner_mouth()
    lips = rough.masks["mouth"] * (1 - teeth)
    skin, hair = face.masks["skin"] * (1 - eyes) * (1 - teeth), rough.masks["hair"]
    rest, low = np.clip(1 - skin - hair - eyes - lips - teeth, 0, 1), _below(face, 8, 30)
    parts = np.stack([skin, hair, eyes, lips, teeth, rest * (1 - low), rest * low])
    near = np.array([_NEAR, _NEAR, _GRAIN, _GRAIN, _GRAIN, _NEAR, _NEAR]) * face.width
    places = (picture.astype(np.int64) // (256 // _COLORS)) @ np.array([_COLORS**2, _COLORS, 1])
    for _ in range(_TIMES):
        prior = [_wide(part, far) + _LEAST_PRIOR for part, far in zip(parts, near, strict=True)]
        odds = np.stack(prior) * [_likely(part, places) for part in parts]
        parts = np.stack([_wide(part, _GRAIN * face.width) for part in odds / odds.sum(axis=0)])
    share = np.clip((parts[:-2] - _CLEAR) / (1 - 2 * _CLEAR), 0, 1)
    skin, hair, eyes, lips, teeth = (share * share * (3 - 2 * share)).astype(np.float32)
    hair = _grown(face, hair) * (1 - _background(face, picture, hair))
    mouth, teeth = np.minimum(lips + teeth, 1), _teeth(rough, picture, skin, teeth)
    skin = np.maximum(skin, _gaps(face, skin) * (1 - hair) * (1 - mouth) * (1 - teeth) * (1 - eyes))
    return {"skin": skin, "hair": hair, "eyes": eyes, "mouth": np.maximum(mouth, teeth), "teeth": teeth}


def _below(face: Face, bottom: int, top: int) -> Float[np.ndarray, "h 1"]:
    """0 above one landmark, 1 below the other."""
    high, low = face.points[[top, bottom], 1]
    rows = np.arange(face.masks["skin"].shape[0], dtype=np.float32)[:, None]
    return np.asarray(np.clip((rows - high) / max(low - high, 1.0), 0, 1), dtype=np.float32)


def _headed(face: Face) -> Float[np.ndarray, "h w"]:
    """The shares of hair: on the person alone, and above the eyes all of a bare head that is no skin."""
    hair, person = face.masks["hair"], face.masks.get("person")
    if person is None:
        return hair
    worn = np.clip(2 * face.masks.get("hat", np.zeros_like(hair)), 0, 1)
    top = np.clip(person - face.masks["skin"] - worn, 0, 1) * _around_head(face) * (1 - _below(face, 33, 27))
    return np.asarray(np.maximum(hair * person, _TOP_HAIR * top))


def _background(
    face: Face, picture: UInt8[np.ndarray, "h w 3"], hair: Float[np.ndarray, "h w"]
) -> Float[np.ndarray, "h w"]:
    """What is joined to the upper corners or the sides of the picture without an edge; nothing where that is hair."""
    import cv2

    height, width = picture.shape[:2]
    smooth, sure = cv2.GaussianBlur(picture, (0, 0), 1.0), (hair > _SURELY) & _around_head(face)
    rows = (0, *(int(np.clip(face.points[point, 1], 0, height - 1)) for point in (27, 8)))
    for even in _EVEN:
        filled = np.zeros((height + 2, width + 2), np.uint8)
        for place in [(column, row) for row in rows for column in (0, width - 1)]:
            cv2.floodFill(smooth, filled, place, 0, (even,) * 3, (even,) * 3, 4 | cv2.FLOODFILL_MASK_ONLY)
        found = filled[1:-1, 1:-1].astype(np.float32)
        if not sure.any() or found[sure].mean() <= _LEAK:
            return blurred(cv2.erode(found, np.ones((3, 3), np.uint8)), 0.7)
    return np.zeros_like(found)


def _grown(face: Face, hair: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "h w"]:
    """Hair that grows from the head: in one piece with what is above the mouth, and below the nose near seen hair."""
    from scipy.ndimage import label

    seen = blurred(face.masks["hair"] * face.masks.get("person", 1), _LIPS_NEAR * face.width)
    below = _below(face, 33, 27)
    hair = hair * (1 - below * (1 - np.clip((seen - _SEEN[0]) / (_SEEN[1] - _SEEN[0]), 0, 1)))
    pieces, _ = label(hair > _CLEAR)
    joined = np.unique(pieces[_around_head(face) & (below < 1)])
    return np.asarray(hair * np.isin(pieces, joined[joined > 0]))


def _around_head(face: Face) -> Bool[np.ndarray, "h w"]:
    """Where the hair of a head begins, around the bridge of the nose."""
    rows, columns = np.indices(face.masks["skin"].shape, dtype=np.float32)
    x, y = face.points[27]
    return np.asarray(np.hypot((rows - y) / _FAR_HAIR[1], (columns - x) / _FAR_HAIR[0]) < face.width)


def _gaps(face: Face, skin: Float[np.ndarray, "h w"]) -> Float[np.ndarray, "h w"]:
    """Skin around the mouth, and small gaps of the skin within the jaw: shine, chins and moles, but no glasses."""
    import cv2

    size = max(1, round(_GAP * face.width))
    closed = cv2.morphologyEx(skin, cv2.MORPH_CLOSE, cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (size, size)))
    near = np.clip(_DILATED * blurred(face.polygon(OUTER_LIPS, *skin.shape), _LIPS_NEAR * face.width), 0, 1)
    bare = 1 - np.clip(2 * face.masks.get("glasses", np.zeros_like(skin)), 0, 1)
    return np.asarray(np.minimum(np.maximum(closed, near) * bare, face.polygon(_JAW_AND_BROWS, *skin.shape)))


def _teeth(
    face: Face, picture: UInt8[np.ndarray, "h w 3"], skin: Float[np.ndarray, "h w"], vague: Float[np.ndarray, "h w"]
) -> Float[np.ndarray, "h w"]:
    """What is less red than the skin near the inner outline of the lips, which is uncertain. vague: without colors."""
    near = np.clip(_DILATED * blurred(face.polygon(_INNER_LIPS, *skin.shape), _GRAIN * face.width), 0, 1)
    cheeks = (skin > _INSIDE) & (face.polygon(CHEEKS, *skin.shape) > _SURE)
    if not cheeks.any() or not (there := near > 0).any():
        return vague
    green, usual = (
        light[..., 1] / np.maximum(light[..., 0], _LEAST)
        for light in (scene_of(picture[there]), np.median(scene_of(picture[cheeks]), axis=0))
    )
    if usual > _COLORLESS:
        return vague
    near[there] *= np.clip((green - usual) / (_WHITER * (1 - usual)), 0, 1)
    return np.asarray(near)


def _wide(part: Float[np.ndarray, "h w"], deviation: float) -> Float[np.ndarray, "h w"]:
    return blurred(np.ascontiguousarray(part, dtype=np.float32), deviation)


def _likely(part: Float[np.ndarray, "h w"], places: Int[np.ndarray, "h w"]) -> Float[np.ndarray, "h w"]:
    """How probable the color of each pixel is on a part. places: of the colors among all that are counted."""
    from scipy.ndimage import gaussian_filter

    counts = np.bincount(places.ravel(), part.ravel(), _COLORS**3).reshape((_COLORS,) * 3)
    spread = gaussian_filter(counts, _EVENLY).ravel()
    return np.asarray((spread / (spread.sum() + _LEAST_LIKELY) + _LEAST_LIKELY)[places])


def doubt(mask: Float[np.ndarray, "h w"]) -> float:
    """How many pixels of a mask are in doubt, over those that are likely the part."""
    doubtful = float(np.mean((mask > _DOUBT) & (mask < 1 - _DOUBT)))
    return doubtful / max(float(np.mean(mask > _SURE)), 1 / mask.size)


def settled(mask: Float[np.ndarray, "h w"], width: float) -> Float[np.ndarray, "h w"]:
    """A mask of doubts with a border as wide as the doubts are; a sharp mask, itself. width: of the eyes."""
    if doubt(mask) <= _SHARP:
        return mask
    low, high = _SETTLED
    return np.clip((blurred(mask, _SMOOTH * width) - low) / (high - low), 0, 1).astype(np.float32)


def _no_beard(face: Face) -> bool:
    jaw = face.polygon(_JAW, *face.masks["skin"].shape) > _SURE
    return int((_sure(face, "skin") & jaw).sum()) < _FEWEST


_HIDDEN: Final[Mapping[str, tuple[Callable[[Face], bool], str]]] = {
    "hair_color": (lambda face: int(_sure(face, "hair").sum()) < _FEWEST, NO_HAIR),
    "lipstick": (lambda face: int((face.lips() > _SURE).sum()) < _FEWEST_OF_LIPS, NO_LIPS),
    "beard_shadow": (_no_beard, NO_BEARD),
}
"""Where the edit would change no pixel, so that its effect would be diluted."""


def unsuited(face: Face, names: Sequence[str]) -> str:
    """Why what these names composite does not suit the face; "" where it does."""
    for name, (part, reason) in _ALREADY.items():
        if name in names and part in face.masks and face.masks[part].mean() > _WORN_SHARE:
            return reason
    if hidden := next((reason for name, (hides, reason) in _HIDDEN.items() if name in names and hides(face)), ""):
        return hidden
    if {"hair_color", "bangs"} & set(names) and face.doubts.get("hair", 0.0) > _HAIR_DOUBT:
        return VAGUE_HAIR
    return _unsuited_hair(face, names) if {"bangs", "hat"} & set(names) else ""


def _unsuited_hair(face: Face, names: Sequence[str]) -> str:
    """Why the hair does not suit a fringe or a hat; "" where it does."""
    from transect.engines.one_thread import one_thread_per_operation
    from transect.generators.fitted_heads import head_of
    from transect.generators.photographs.appearance.fringe import bare_forehead, hair_above
    from transect.generators.photographs.appearance.worn import hair_beside

    with one_thread_per_operation():
        if "bangs" in names and not _FOREHEAD[0] < (high := bare_forehead(face)) < _FOREHEAD[1]:
            return FRINGED if high <= _FOREHEAD[0] else NO_HAIR_ABOVE
        if "bangs" in names and (face.masks["hair"].sum() < _LONG * high * face.width**2 or hair_above(face) is None):
            return SHORT_HAIR
        return HAIR_BESIDE if "hat" in names and hair_beside(head_of(face.points), face) > _BESIDE else ""


def is_curly(face: Face, picture: UInt8[np.ndarray, "h w 3"]) -> bool:
    """Whether edges within the hair above the eyes run in many directions: coherence of the structure tensor."""
    import cv2

    grey = np.log(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32) + 8)
    grey = blurred(grey, max(_EDGE[0] * face.width, 0.3))
    across, down = (cv2.Sobel(grey, cv2.CV_32F, *order) for order in ((1, 0), (0, 1)))
    parts = (blurred(part, 0.1 * face.width) for part in (across * across, down * down, across * down))
    hair = cv2.erode((face.masks["hair"] > _INSIDE).astype(np.uint8), np.ones((3, 3), np.uint8)) > 0
    hair[max(0, int(face.points[27, 1])) :] = False
    level, upright, mixed = (part[hair] for part in parts)
    return bool(np.hypot(level - upright, 2 * mixed).sum() < _STRAIGHT * (level + upright).sum())


def blurred(values: Float[np.ndarray, "h w *c"], deviation: float) -> Float[np.ndarray, "h w *c"]:
    """Float32 values under a Gaussian blur in pixels: wide ones are computed on fewer pixels, narrow ones not."""
    import cv2

    if deviation < _NARROW or not values.size:
        return values
    fewer = max(1, int(deviation / _WIDE))
    height, width = values.shape[:2]
    if fewer == 1 or min(height, width) < 2 * fewer:
        return np.asarray(cv2.GaussianBlur(values, (0, 0), deviation, borderType=cv2.BORDER_REPLICATE))
    small = cv2.resize(values, (-(-width // fewer), -(-height // fewer)), interpolation=cv2.INTER_AREA)
    small = cv2.GaussianBlur(small, (0, 0), deviation / fewer, borderType=cv2.BORDER_REPLICATE)
    return np.asarray(cv2.resize(small, (width, height), interpolation=cv2.INTER_LINEAR))


def mean_nearby(
    values: Float[np.ndarray, "h w 3"], weight: Float[np.ndarray, "h w"], deviation: float
) -> Float[np.ndarray, "h w 3"]:
    """The mean of the values nearby under that weight; where there is hardly any weight, nearly their median."""
    usual = np.median(values[weight > _SURE], axis=0) if (weight > _SURE).any() else values.mean(axis=(0, 1))
    total = blurred(weight, deviation)[:, :, None] + np.float32(_FEW)
    return np.asarray((blurred(values * weight[:, :, None], deviation) + usual * np.float32(_FEW)) / total)


def matted(
    scene: Float[np.ndarray, "h w 3"], mask: Float[np.ndarray, "h w"], width: float
) -> tuple[Float[np.ndarray, "h w"], Float[np.ndarray, "h w 3"]]:
    """At the border of a soft mask: each pixel's share by its color between both sides, and the part's own light."""
    inside, outside = (mask > _INSIDE).astype(np.float32), (mask < 1 - _INSIDE).astype(np.float32)
    if not (inside.any() and outside.any()):
        return mask, scene
    front, behind = (mean_nearby(scene, part, _NEARBY * width) for part in (inside, outside))
    apart = front - behind
    unsure = 0.02 * (front * front).sum(axis=2) + np.float32(_LEAST**2)
    share = (((scene - behind) * apart).sum(axis=2) + unsure * mask) / ((apart * apart).sum(axis=2) + unsure)
    border = (inside == 0) & (mask > 0)
    weight = np.where(border, np.clip(share, 0, np.minimum(1, 2 * mask)), mask)
    return weight, np.where(border[:, :, None], front, scene)


def box_of(mask: Bool[np.ndarray, "h w"]) -> tuple[slice, slice]:
    """Rows and columns that hold the mask; an empty box where it is empty."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    if not len(rows):
        return slice(0, 0), slice(0, 0)
    return slice(int(rows[0]), int(rows[-1]) + 1), slice(int(columns[0]), int(columns[-1]) + 1)


_BROWS, _HALF, _SOFT, _LASHES = (slice(17, 22), slice(22, 27)), 0.075, 0.02, 0.02
"""Half the height of a brow's band, its soft edge and half the width of lashes, in distances of the outer corners."""


def hairy_region(face: Face) -> Float[np.ndarray, "h w"]:
    """Where hairs lie on skin, 0 to 1 with soft edges: brows, lashes, and what can be a beard: below the nose."""
    brows = blurred(_along(face, _BROWS, 2 * _HALF, closed=False), _SOFT * face.width)
    lashes = blurred(_along(face, EYES, 2 * _LASHES, closed=True), 0.5 * _SOFT * face.width)
    rows = np.arange(lashes.shape[0], dtype=np.float32)[:, None]
    below = np.clip((rows - face.points[33, 1]) / (0.1 * face.width) + 0.5, 0, 1).astype(np.float32)
    return np.asarray(np.maximum(np.maximum(brows, lashes), below))


def _along(face: Face, lines: tuple[slice, ...], thick: float, closed: bool) -> Float[np.ndarray, "h w"]:
    """The share of each pixel that lies on lines through landmarks, which are so thick over the eyes' distance."""
    import cv2

    height, width = face.masks["skin"].shape
    fine = np.zeros((height * _FINE, width * _FINE), dtype=np.uint8)
    corners = [np.rint(face.points[line] * _FINE - 0.5).astype(np.int32) for line in lines]
    cv2.polylines(fine, corners, closed, (1,), max(1, round(thick * face.width * _FINE)))
    return np.asarray(cv2.resize(fine.astype(np.float32), (width, height), interpolation=cv2.INTER_AREA))


@final
@dataclass(frozen=True, slots=True)
class Layer:
    """What lies before a photograph, in rows and columns of it. passed, added: float32 [h, w, 3]; noise: [h, w, 3]."""

    rows: slice
    columns: slice
    passed: Float[np.ndarray, "h w 3"]
    added: Float[np.ndarray, "h w 3"]
    noise: Float[np.ndarray, "h w 3"]

    def touched(self) -> Bool[np.ndarray, "h w"]:
        """The pixels that it changes."""
        return np.asarray(((self.passed < 1) | (self.added > 0)).any(axis=2))

    def without_color(self) -> Layer:
        """The same, as a black-and-white photograph shows it."""
        parts = (self.passed, self.added, self.noise)
        grey = (np.repeat((part @ LUMINANCE.astype(np.float32))[..., None], 3, axis=2) for part in parts)
        return Layer(self.rows, self.columns, *grey)


def laid(pixels: UInt8[np.ndarray, "h w 3"], layer: Layer, gain: float = 1.0) -> UInt8[np.ndarray, "_ _ 3"]:
    """The pixels of `layer.rows`, `layer.columns` behind the layer, which is lit or exposed `gain` times as much."""
    scene = scene_of(pixels) * layer.passed + layer.added * np.float32(gain)
    noisy = pixels_of(scene).astype(np.float32) + layer.noise
    shown = np.rint(np.clip(noisy, 0, 255)).astype(np.uint8)
    untouched = ~layer.touched()
    shown[untouched] = pixels[untouched]
    return np.asarray(shown)


_LAYERS_HIDDEN: Final = 1 / 256
"""Light below which a layer changes nothing."""


def layer_of(passed: Float[np.ndarray, "h w 3"], added: Float[np.ndarray, "h w 3"], noise: float, key: int) -> Layer:
    """What passes and adds so much light, with noise of its own where it hides. Both arrays are overwritten."""
    untouched = np.asarray((1 - passed < _LAYERS_HIDDEN).all(axis=2) & (added < _LAYERS_HIDDEN).all(axis=2))
    passed[untouched], added[untouched] = 1, 0
    rows, columns = box_of(~untouched)
    passed, added = (np.ascontiguousarray(part[rows, columns]) for part in (passed, added))
    draw = np.random.Generator(np.random.Philox(key)).standard_normal(passed.shape[:2], dtype=np.float32)
    own = np.clip(1 - passed, 0, 1) * noise * draw[:, :, None]
    return Layer(rows, columns, passed, np.maximum(added, 0), own)
