"""Colors of faces on photographs: skin tones, what the photograph's own camera did, lipstick, beard and hair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.generators.faceworld import reflectance
from transect.generators.faceworld.reflectance import LUMINANCE, MIRRORED, luminance, skin_reflectance
from transect.generators.photographs import camera
from transect.generators.photographs.appearance import faces
from transect.generators.photographs.appearance.faces import OUTER_LIPS, Face, blurred, box_of, pixels_of, scene_of
from transect.marks.records import EYES

LIGHTEST, DARKEST, _FEWEST = 1.0, 10.0, 20
BLOOD: Final = np.array([0.01, -0.24, -0.22])
"""What blood does to the logarithm of the reflectance of skin, as in FaceWorld's skin."""
_FLUSH, _SHEEN, _REFERENCE, _POWER, _KNEE = 0.95, 0.004, 0.45, 0.80, (6 / 29) ** 3
_TONES_OF_ITA: Final = ((-30.0, -10.0, 10.0, 25.0, 40.0, 55.0, 65.0, 75.0), (8.1, 7.6, 7.1, 6.6, 5.5, 3.6, 2.5, 1.8))
"""ITA in degrees of the front of the face, and the mean tone of those among 400 rendered faces that have it.

Light varies so much that a far ITA is more often that of bright or dim light than of the lightest or darkest skin.
"""
_ERROR: Final = 2.3
"""Root mean square error of a tone that is read, and three nodes and weights of a normal distribution."""
_NODES, _SHARES = np.sqrt(3.0) * np.array([-1.0, 0.0, 1.0]), np.array([1 / 6, 2 / 3, 1 / 6])


def living_skin(tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Linear RGB that skin of Monk tone 1..10 returns of white light of strength 1, with what its surface mirrors.

    The surface mirrors its surroundings, and lamps as widely as FaceWorld's sheen does on the middle of a face.
    """
    pale = 1 - np.clip((tone - 1) / 9, 0, 1)
    blood = np.exp(_FLUSH * (0.55 + 0.65 * pale)[:, None] * BLOOD)
    return np.asarray(skin_reflectance(tone) * blood + (MIRRORED + _SHEEN * _beside(tone) ** 0.4)[:, None])


def lip_ratio(source: float, level: float) -> Float[np.ndarray, " 3"]:
    """What becomes of bare lips when skin of one tone becomes skin of another: FaceWorld's change of their luminance.

    The change of hue is that of skin: lips of photographs are less red than FaceWorld's, and would turn green.
    """
    before, after = living_skin(np.array([source, level]))
    paler, darker = (luminance(lip_colors(tone)[0] + MIRRORED) for tone in (source, level))
    return np.asarray(after / before * (darker / paler) / (luminance(after) / luminance(before)))


def lip_colors(tone: float) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"]]:
    """Linear RGB reflectance of bare lips and of lipstick beside skin of that tone, as FaceWorld's."""
    share = beside(tone)
    deep = float(np.clip(1 - share, 0, 1))
    pale, dark = np.array([0.30, 0.105, 0.120]), np.array([0.42, 0.190, 0.180])
    bare = skin_reflectance(np.array([tone]))[0] * (pale + deep * (dark - pale))
    return bare, np.array([0.17, 0.022, 0.035]) * min(0.24 + 0.76 * share, 1.2)


def remetered(source: float, level: float, metering: int) -> float:
    """Stops that the camera adds when skin of one tone becomes skin of another. metering: 0 held, 1 scene, 2 face."""
    if not metering:
        return 0.0
    before, after = reflectance.metered_exposure(np.array([source, level]), np.zeros(2), float(metering - 1))
    return float(after - before)


def ita(linear: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n"]:
    """Degrees, of linear RGB of the picture from 0 to 1."""
    xyz = linear @ camera.TO_XYZ.T / camera.TO_XYZ.sum(axis=1)
    f = np.where(xyz > _KNEE, np.cbrt(xyz), xyz * (841 / 108) + 4 / 29)
    return np.asarray(np.degrees(np.arctan2(116 * f[..., 1] - 66, 200 * (f[..., 1] - f[..., 2]))))


def tone_of(angle: float) -> float:
    """The tone, 1 to 10, that skin of that ITA has on average in a picture that is metered as FaceWorld's are."""
    return float(np.interp(angle, *_TONES_OF_ITA))


def front_of(face: Face) -> Bool[np.ndarray, "h w"]:
    """The surely skin of cheeks and nose; of the whole face where hardly any of that is seen."""
    skin = (face.masks["skin"] > _SURE) & (_weights(face)[0] > _SURE)
    front = skin & (face.polygon(faces.CHEEKS, *skin.shape) > _SURE)
    return front if front.sum() >= _FEWEST else skin


def beside(tone: float) -> float:
    """The light of skin of that tone over that of light skin, as FaceWorld compares what lies beside skin with it."""
    return float(_beside(np.array([tone]))[0])


def _beside(tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return np.asarray((luminance(skin_reflectance(np.asarray(tone, dtype=np.float64))) / _REFERENCE) ** _POWER)


_SURE, _BLURRED_MOST, _SHARPEST, _OWN_BLUR, _FILTER_BLUR = 0.5, 2.5, 0.995, 0.55, 0.85
"""The last two: standard deviation in pixels of an edge that is drawn sharp, averaged over pixels, and of Sobel's."""


@final
@dataclass(frozen=True, slots=True)
class Camera:
    """What the photograph's own camera did to it. gain: scene light per radiance of FaceWorld; blur: standard
    deviation in pixels of its sharpest edges, beyond a sharp picture's; noise: standard deviation in values of sRGB.
    """

    gain: float
    blur: float
    noise: float


def camera_of(picture: UInt8[np.ndarray, "h w 3"], face: Face, radiance: float) -> Camera:
    """The camera that took a photograph, by the skin of known radiance, the sharpest edges and the finest texture."""
    import cv2

    skin = front_of(face)
    gain = float(np.median(scene_of(picture[skin]) @ LUMINANCE) / radiance) if skin.any() else 1.0
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY).astype(np.float32)
    slope = np.hypot(*(cv2.Sobel(grey, cv2.CV_32F, *order, ksize=3) / 8 for order in ((1, 0), (0, 1))))
    kernel = np.ones((7, 7), dtype=np.uint8)
    height = cv2.dilate(grey, kernel) - cv2.erode(grey, kernel)
    steep = slope >= np.quantile(slope, _SHARPEST)
    spread = float(np.median(height[steep] / np.maximum(slope[steep], 1))) / np.sqrt(2 * np.pi)
    blur = np.sqrt(max(spread**2 - _FILTER_BLUR**2 - _OWN_BLUR**2, 0.0))
    fine = cv2.filter2D(grey, cv2.CV_32F, np.outer((1, -2, 1), (1, -2, 1)).astype(np.float32))
    noise = float(np.median(np.abs(fine[skin])) / 0.6745 / 6) if skin.any() else 0.0
    return Camera(gain, min(float(blur), _BLURRED_MOST), noise)


_NEAR_FEATURES, _SMOOTH_COLOR, _LEAST, _FEW = 0.04, 0.03, 4e-3, 1e-3
_EDGE, _HIDDEN, _HAIR = 0.012, 1 / 128, 0.15
"""Blur of a mask, in distances between the outer corners of the eyes; a weight below which a pixel stays as it is; and
light of hair that lies on skin, over that of the skin around it."""


@final
@dataclass(frozen=True, slots=True)
class Skin:
    """The skin of one photograph, taken apart; what no level changes.

    rows, columns: where it lies; pixels: the photograph there. weight: share of each pixel that is changed as skin,
    lips: how much of that is lips. scene: scene light of the pixels; whole: of the skin in them; around: the
    skin's light nearby; shine: what it mirrors. hairy: where hairs can lie on it. smooth: pixels over which color is
    averaged where dark skin becomes lighter. tone: 1 to 10, read from `ita`; spread: its standard error.
    """

    rows: slice
    columns: slice
    pixels: UInt8[np.ndarray, "h w 3"]
    weight: Float[np.ndarray, "h w"]
    lips: Float[np.ndarray, "h w"]
    scene: Float[np.ndarray, "h w 3"]
    whole: Float[np.ndarray, "h w 3"]
    around: Float[np.ndarray, "h w"]
    hairy: Float[np.ndarray, "h w"]
    shine: Float[np.ndarray, "h w 1"]
    sure: Bool[np.ndarray, "h w"]
    tone: float
    spread: float
    ita: float
    smooth: float


def skin_of(picture: UInt8[np.ndarray, "h w 3"], face: Face, tone: float | None = None) -> Skin:
    """The skin of a photograph. tone: where it is known; else it is read from the picture."""
    weight, lips = _weights(face)
    rows, columns = box_of((weight > 0) | (lips > 0))
    pixels, weight, lips = picture[rows, columns], weight[rows, columns], lips[rows, columns]
    sure = front_of(face)[rows, columns]
    angle = median_ita(pixels, sure)
    source, spread = (tone_of(angle), _ERROR) if tone is None else (tone, 0.0)
    scene = scene_of(pixels)
    features = _features(face)[rows, columns]
    bordered, whole = faces.matted(scene, weight, face.width)
    weight, whole = np.where(features, weight, bordered), np.where(features[:, :, None], scene, whole)
    around = _around(whole.mean(axis=2), weight, face.width)
    hairy, shine = faces.hairy_region(face)[rows, columns], _shine(whole, weight, sure, face.width)
    parts = (whole, around, hairy, shine, sure)
    return Skin(rows, columns, pixels, weight, lips, scene, *parts, source, spread, angle, _SMOOTH_COLOR * face.width)


def median_ita(pixels: UInt8[np.ndarray, "h w 3"], sure: Bool[np.ndarray, "h w"]) -> float:
    """ITA in degrees of the median color of those pixels; NaN without one."""
    if not sure.any():
        return float("nan")
    return float(ita(np.median(camera.decoding()[pixels[sure]], axis=0).astype(np.float64)))


def own_tone(picture: UInt8[np.ndarray, "h w 3"], face: Face) -> float:
    """The tone, 1 to 10, of a face's skin as the picture shows it."""
    return tone_of(median_ita(picture, front_of(face)))


def toned_skin(skin: Skin, level: float, stops: float = 0.0) -> UInt8[np.ndarray, "h w 3"]:
    """The pixels of `skin.rows`, `skin.columns` with skin of Monk tone `level`, so many stops brighter."""
    ratio = _browner(skin, _by_melanin(skin.tone, level, skin.spread).astype(np.float32))
    added = _through_hair(skin, ratio)
    lips = np.sqrt(ratio * lip_ratio(skin.tone, level).astype(np.float32)) - 1  # outlines of lips hold skin too
    added += (skin.whole * lips - added) * skin.lips[:, :, None]
    scene = skin.scene + added * skin.weight[:, :, None]
    # A border's light can be further from that of the skin nearby than what lies behind it explains.
    own = skin.scene * ratio
    scene = np.maximum(scene, own) if ratio.mean() <= 1 else np.minimum(scene, np.maximum(own, skin.scene))
    pixels = pixels_of(scene * np.float32(2.0**stops))
    if not stops:
        pixels[skin.weight == 0] = skin.pixels[skin.weight == 0]
    return pixels


def _by_melanin(tone: float, level: float, spread: float) -> Float[np.ndarray, " 3"]:
    """What becomes of the light of skin when its tone, known within that spread, changes: the geometric mean.

    More melanin never makes it greyer: FaceWorld's darkest skin is for what it mirrors, and photographs have that.
    """
    moved = np.array([tone, level])[:, None] + spread * _NODES
    before, after = (np.log(living_skin(np.clip(tones, LIGHTEST, DARKEST))) for tones in moved)
    ratio = np.exp(_SHARES @ (after - before))
    red, _, blue = ratio / ratio[1]
    kept = np.array((max(red, 1), 1, min(blue, 1)) if level > tone else (min(red, 1), 1, max(blue, 1)))
    own = living_skin(np.array([tone]))[0]
    return np.asarray(kept * luminance(own * ratio) / luminance(own * kept))


def _through_hair(skin: Skin, ratio: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "h w 3"]:
    """What that ratio adds to skin. Where it becomes lighter, dark hairs on it (brows, stubble) stay."""
    if ratio.mean() <= 1:
        return np.asarray((skin.whole - skin.shine) * (ratio - 1) + skin.shine * (np.sqrt(ratio.mean()) - 1))
    body = _smooth_in_color(skin.whole, skin.weight, skin.smooth)
    own = body.mean(axis=2) / np.maximum(skin.around, _LEAST)
    share = np.clip((own - _HAIR) / (1 - _HAIR), 0, 1)
    covered = (1 - np.clip(share / np.maximum(own, _LEAST), 0, 1)) * skin.hairy
    bright = body @ LUMINANCE.astype(np.float32)
    usual = np.median(bright[skin.sure]) if skin.sure.any() else 1.0
    rolled = np.minimum(usual / np.maximum(bright, _LEAST), 1) ** np.float32(_ROLL_OFF)
    return np.asarray(body * (((1 - covered) * rolled)[:, :, None] * (ratio - 1)))


_ROLL_OFF: Final = 0.7
"""How much less what is brighter than the usual skin becomes lighter: cameras roll off before they clip."""
_BROWN, _MOST_BROWN, _BROWNEST = np.array([1.18, 1.0, 0.80]), 1.2, (3.0, 0.42)
"""Color of skin that is darkened by a stop over what FaceWorld has, for how many stops, and red and blue over green
beyond which it does not go: the ends of what 329 official portraits have."""


def _browner(skin: Skin, ratio: Float[np.ndarray, " 3"]) -> Float[np.ndarray, " 3"]:
    """That ratio, as dark and browner where skin becomes darker: FaceWorld's is greyer than that of photographs."""
    stops = min(-np.log2(luminance(ratio)), _MOST_BROWN)
    if stops <= 0 or not skin.sure.any():
        return ratio
    own = np.median(skin.scene[skin.sure], axis=0).astype(np.float64)
    (red, _, blue), (reddest, bluest) = own / own[1] * _BROWN**stops, _BROWNEST
    got = ratio[1] * np.array(
        [max(min(red, reddest) * own[1] / own[0], 1), 1, min(max(blue, bluest) * own[1] / own[2], 1)]
    )
    return np.asarray(got * luminance(own * ratio) / luminance(own * got), dtype=np.float32)


def _shine(
    whole: Float[np.ndarray, "h w 3"], weight: Float[np.ndarray, "h w"], sure: Bool[np.ndarray, "h w"], width: float
) -> Float[np.ndarray, "h w 1"]:
    """What skin mirrors of lamps: light without the color of skin, where it is brighter than what is around."""
    usual = np.median(whole[sure], axis=0) if sure.any() else np.ones(3)
    blue = float(usual[2] / max(usual[0], _LEAST))
    white = (whole[..., 2] - blue * whole[..., 0]) / max(1 - blue, 0.1)
    bright = whole @ LUMINANCE.astype(np.float32)
    near = blurred(bright * weight, 0.15 * width) / (blurred(weight, 0.15 * width) + _LEAST)
    shine = np.minimum(blurred(white, _EDGE * width), bright - 0.9 * near)
    return np.asarray(np.maximum(shine, 0)[..., None], dtype=np.float32)


def _smooth_in_color(
    body: Float[np.ndarray, "h w 3"], weight: Float[np.ndarray, "h w"], deviation: float
) -> Float[np.ndarray, "h w 3"]:
    """The same luminance in the color of the skin nearby.

    Light of dark skin is few steps of 8 bits in green and fewer in blue; each step of it would become ten.
    """
    bright = body @ LUMINANCE.astype(np.float32)
    near = blurred(body * weight[:, :, None], deviation)
    own = near @ LUMINANCE.astype(np.float32)
    return np.asarray(near * (bright / np.maximum(own, _FEW * _LEAST))[:, :, None])


def _weights(face: Face) -> tuple[Float[np.ndarray, "h w"], Float[np.ndarray, "h w"]]:
    """The share of each pixel that is changed, with soft edges, and how much of it is lips."""
    mouth, inner = face.masks["mouth"], face.inner_mouth()
    mask = np.minimum(face.masks["skin"] + mouth * (1 - inner), 1)
    weight = blurred(mask, max(_EDGE * face.width, 0.6)) * (1 - face.eyes()) * (1 - inner)
    weight[weight < _HIDDEN] = 0
    return np.clip(weight, 0, 1), np.clip(blurred(face.lips(), _EDGE * face.width), 0, 1)


def _features(face: Face) -> Bool[np.ndarray, "h w"]:
    """Eyes and mouth and what is near: they lie on skin, and behind their borders there is no background."""
    parts = [face.polygon(part, *face.masks["skin"].shape) for part in (*EYES, OUTER_LIPS)]
    return np.asarray(blurred(np.max(parts, axis=0), _NEAR_FEATURES * face.width) > _HIDDEN)


def _around(own: Float[np.ndarray, "h w"], weight: Float[np.ndarray, "h w"], width: float) -> Float[np.ndarray, "h w"]:
    """The light of the skin nearby: the upper part of what is around a pixel, weighted by skin."""
    deviation = 0.12 * width
    total = blurred(weight, deviation) + _LEAST
    mean = blurred(weight * own, deviation) / total
    upper = np.maximum(own, mean)
    return blurred(weight * upper, deviation) / total


_BESIDE_SKIN, _FINE_HAIRS, _ISLAND, _HAIR_SURE = 0.01, 0.03, 0.25, 0.95
"""The share of skin from which hair lies on it: there its mask is right, and light strands are no skin; over what hair
thins out at its border, how wide gaps in its mask are that are filled, and what is no gap."""
_LIT, _FLATTER, _SHADES_LEAST = 0.6, 0.12, 2e-3
"""Light that a mass of hair returns over that of an even surface of its reflectance; and how contrast falls as hair
becomes lighter: what shines on dark hair is its surface, which stays as it is."""
_OPAQUE, _OFF = 0.88, 0.03
"""The share of the skin's light that opaque lipstick hides; how far landmarks of lips may be off."""
_REDDEST, _RED, _CLEAR = 0.65, 0.12, 5.0
"""The quantile of the lips' redness that stands for them; how much redder than skin that must be (logarithm) for color
to tell where lips end; and how steep the border is that color gives."""
_LEVELS, _REDS, _BLUES = (0.0, 0.3, 0.5, 0.7, 1.0), (1.4, 1.72, 1.8, 1.66, 1.56), (0.75, 0.62, 0.57, 0.55, 0.53)
"""Levels of hair, and its red and blue over green: as on 160 portraits, golden rather than ash at the end.
FaceWorld's would be greenish as black becomes brown, and grey as brown becomes blond."""
_HUE_OF_OWN, _DYED, _DEEPEST = 0.4, 0.2, 1.25
"""How much of its own hue hair keeps as it becomes lighter; the step toward black from which it keeps twice as much;
and the most by which contrast grows where hair becomes darker."""
_OWN_HUE, _HUE_KEPT, _SMOOTH_HUE = (0.7, 1.4), 0.5, 0.015
"""Limits of a hue over the usual one, how much strands keep of theirs, and over what it is averaged."""
_ROOTS, _NEAR_ROOTS, _DARKER_ROOTS = 2.5, 0.06, 0.3
"""How soon hair beside skin is roots, how far they reach, and how much less they are lightened."""


@final
@dataclass(frozen=True, slots=True)
class Hair:
    """The hair of one photograph: what no level changes.

    rows, columns: where it lies. weight: share of each pixel that is hair; whole: scene light of the hair in it.
    contrast: logarithm of the hair's light over its median. hue: its color over the median one, both of luminance 1.
    roots: how near it is to where it grows from the forehead. middle: median scene light of the hair; light: that of a
    white surface beside it.
    """

    rows: slice
    columns: slice
    weight: Float[np.ndarray, "h w"]
    whole: Float[np.ndarray, "h w 3"]
    contrast: Float[np.ndarray, "h w"]
    hue: Float[np.ndarray, "h w 3"]
    roots: Float[np.ndarray, "h w"]
    middle: Float[np.ndarray, " 3"]
    light: float


def light_of(picture: UInt8[np.ndarray, "h w 3"], face: Face, tone: float) -> Float[np.ndarray, " 3"]:
    """Scene light of a white surface beside skin of that tone."""
    front = front_of(face)
    skin = np.median(scene_of(picture[front]), axis=0) if front.any() else np.ones(3)
    return np.asarray(skin / living_skin(np.array([tone]))[0])


def hair_of(picture: UInt8[np.ndarray, "h w 3"], face: Face, tone: float) -> Hair:
    """The hair of a photograph. tone: of the skin, 1 to 10, by which the light is told."""
    held = _without_islands(face)
    mask, wide = (blurred(held, max(far * face.width, 0.6)) for far in (_EDGE, _FINE_HAIRS))
    rows, columns = box_of(np.maximum(mask, wide) > _HIDDEN)
    scene, mask = scene_of(picture[rows, columns]), mask[rows, columns]
    weight, whole = faces.matted(scene, wide[rows, columns], face.width)
    whole += (scene - whole) * weight[:, :, None]  # strands of the border keep their own light
    beside = blurred(face.masks["skin"], _FINE_HAIRS * face.width)[rows, columns] > _BESIDE_SKIN
    weight, whole = np.where(beside, mask, weight), np.where(beside[:, :, None], scene, whole)
    weight = np.where(weight < _HIDDEN, 0, weight)
    sure = face.masks["hair"][rows, columns] > _SURE
    middle = np.median(scene[sure], axis=0) if sure.any() else np.ones(3)
    bright = whole @ LUMINANCE.astype(np.float32) + np.float32(_SHADES_LEAST)
    contrast = np.log(bright / (middle @ LUMINANCE + _SHADES_LEAST))
    hue = blurred(whole + np.float32(_SHADES_LEAST), _SMOOTH_HUE * face.width)
    hue = hue / (hue @ LUMINANCE.astype(np.float32))[:, :, None] * (middle @ LUMINANCE / np.maximum(middle, _LEAST))
    roots = np.clip(_ROOTS * blurred(face.masks["skin"], _NEAR_ROOTS * face.width)[rows, columns], 0, 1)
    light = float(light_of(picture, face, tone) @ LUMINANCE)
    return Hair(rows, columns, weight, whole, contrast.astype(np.float32), hue.astype(np.float32), roots, middle, light)


def _without_islands(face: Face) -> Float[np.ndarray, "h w"]:
    """The mask of hair without its small gaps, such as bright strands, but for sure skin."""
    from scipy.ndimage import label

    hair = face.masks["hair"]
    gaps = label(hair < _HAIR_SURE)[0]
    small = (np.bincount(gaps.ravel()) < (_ISLAND * face.width) ** 2)[gaps] & (gaps > 0)
    return np.where(small, np.maximum(1 - np.clip(2 * face.masks["skin"] - 1, 0, 1), hair), hair)


def colored_hair(
    hair: Hair, pixels: UInt8[np.ndarray, "h w 3"], level: float, stops: float = 0.0
) -> UInt8[np.ndarray, "_ _ 3"]:
    """The hair's pixels at a level from black (0) to blond (1). pixels: the picture there, so many stops brighter."""
    color = color_of(hair, level)
    lighter = np.log((color @ LUMINANCE + _SHADES_LEAST) / (hair.middle @ LUMINANCE + _SHADES_LEAST))
    flatter = min(float(np.exp(-_FLATTER * lighter)), _DEEPEST)
    light = flatter * hair.contrast - max(lighter, 0) * _DARKER_ROOTS * hair.roots
    own = np.clip(hair.hue, *_OWN_HUE) ** np.float32(_HUE_KEPT)
    wanted = np.exp(light)[:, :, None] * own * color.astype(np.float32)
    added = (wanted - hair.whole) * hair.weight[:, :, None] * np.float32(2.0**stops)
    scene = scene_of(pixels)
    # A dark strand is darkened by the same ratio as the hair around it, not by the same amount: else it turns black.
    own = scene * np.minimum(wanted / np.maximum(hair.whole, np.float32(_SHADES_LEAST)), 1)
    shown = pixels_of(np.maximum(scene + added, own))
    shown[hair.weight == 0] = pixels[hair.weight == 0]
    return shown


def color_of(hair: Hair, level: float) -> Float[np.ndarray, " 3"]:
    """The median scene light of the hair once it is black (0) over brown to blond (1); at its own level, as light."""
    zero, levels = np.zeros(2), np.array([level, read_hair(hair)])
    wanted, read = luminance(reflectance.hair_reflectance(levels, zero, zero))
    shown, usual = np.stack([np.interp(levels, _LEVELS, part) for part in (_REDS, (1.0,) * 5, _BLUES)], axis=1)
    darker = float(np.clip((levels[1] - level) / _DYED, 0, 1))
    own = np.clip(hair.middle / hair.middle[1] / usual, _OWN_HUE[0], _OWN_HUE[1] + 0.4 * darker)
    shown = shown * own ** (_HUE_OF_OWN * (1 + darker))
    return np.asarray(shown / luminance(shown) * luminance(hair.middle) * wanted / read)


def read_hair(hair: Hair) -> float:
    """The level, 0 to 1, whose luminance the hair has."""
    levels = np.linspace(0, 1, 101)
    zero = np.zeros(len(levels))
    shown = reflectance.hair_reflectance(levels, zero, zero) @ LUMINANCE
    return float(np.interp(hair.middle @ LUMINANCE / hair.light / _LIT, shown, levels))


def own_hair(picture: UInt8[np.ndarray, "h w 3"], face: Face) -> float:
    """The level, 0 to 1, of the hair as the picture shows it."""
    return read_hair(hair_of(picture, face, own_tone(picture, face)))


class Lips(NamedTuple):
    """The lips of one photograph: rows and columns that hold them, and the share of each pixel there that is lips."""

    rows: slice
    columns: slice
    weight: Float[np.ndarray, "h w"]


def lips_of(picture: UInt8[np.ndarray, "h w 3"], face: Face) -> Lips:
    """The lips of a face, with soft edges: told by their red in and near the outline of the landmarks, with gloss."""
    import cv2

    width, outline = face.width, face.lips()
    near, far = (blurred(face.polygon(OUTER_LIPS, *outline.shape), share * width) for share in (_OFF, 0.12))
    scene = blurred(scene_of(picture), _EDGE * width) + np.float32(_LEAST)
    red, weight = np.log(scene[..., 0] / scene[..., 1]), blurred(outline, max(_EDGE * width, 0.6))
    inside, beside = outline > _SURE, (face.masks["skin"] > _SURE) & (near < 0.1) & (far > 0.02)
    if inside.any() and beside.any():
        redder = red - np.median(red[beside])
        redder -= blurred(redder * beside, 0.12 * width) / blurred(beside + np.float32(_FEW), 0.12 * width)
        apart = np.quantile(redder[inside], _REDDEST)
        odds = near / np.maximum(1 - near, _FEW) * np.exp(_CLEAR * np.clip(redder / max(apart, _LEAST) - 0.5, -2, 2))
        shape, share = np.ones((max(1, round(0.045 * width)),) * 2, np.uint8), (odds / (1 + odds)).astype(np.float32)
        share = cv2.morphologyEx(cv2.morphologyEx(share, cv2.MORPH_CLOSE, shape), cv2.MORPH_OPEN, shape)
        share = blurred(share, 0.5 * _EDGE * width) * (near > _HIDDEN)
        weight = weight + (share - weight) * np.clip(apart / _RED - 0.5, 0, 1)
    weight = (np.where(weight < _HIDDEN, 0, weight) * (1 - face.inner_mouth())).astype(np.float32)
    rows, columns = box_of(weight > 0)
    return Lips(rows, columns, weight[rows, columns])


def painted_lips(
    pixels: UInt8[np.ndarray, "h w 3"], lips: Lips, level: float, tone: float, light: Float[np.ndarray, " 3"]
) -> UInt8[np.ndarray, "_ _ 3"]:
    """The pixels of `lips.rows`, `lips.columns` under lipstick from bare (0) to opaque (1). tone: of the skin.

    Opaque lips have the lipstick's own color in that light, and the shading that they had.
    """
    scene = scene_of(pixels)
    sure = lips.weight > _SURE
    own = np.median(scene[sure], axis=0) if sure.any() else light
    covered = _OPAQUE * level
    ratio = 1 - covered + covered * (lip_colors(tone)[1] + MIRRORED) * light / np.maximum(own, _LEAST)
    painted = pixels_of(scene * (1 + (ratio.astype(np.float32) - 1) * lips.weight[:, :, None]))
    painted[lips.weight == 0] = pixels[lips.weight == 0]
    return painted
