"""Colors of skin by tone as FaceWorld's camera meets them, and the tone of skin in a picture by its ITA.

ITA, the individual typology angle, is atan((L* - 50) / b*) in degrees (Chardon et al. 1991). It orders skin from very
light (above 55) to dark (below -30) in pictures as they are, so that light and exposure of the picture enter.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.exposure import MIRRORED, metered_exposure
from transect.generators.faceworld.reflectance import luminance, skin_reflectance
from transect.generators.photographs.white import TO_XYZ

LIGHTEST, DARKEST = 1.0, 10.0
BLOOD: Final = np.array([0.16, -0.16, -0.13])
"""What blood does to the reflectance of skin, as in FaceWorld's skin."""
_FLUSH: Final = 0.6
_SHEEN: Final = 0.022
_DEEP, _FAIR = np.array([0.46, -0.03, -0.11]), np.array([0.02, 0.0, -0.12])
_REFERENCE, _POWER = 0.45, 0.80
_KNEE: Final = (6 / 29) ** 3
ITA_OF_TONES: Final = (56.3, 53.2, 52.1, 45.2, 40.9, 32.1, 25.8, 18.3, 10.9, 1.1)
"""Median ITA in degrees of the skin of 80 rendered faces of tones 1 to 10, whose camera meters the scene."""


def translucency(tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """How much of the blood shows through the pigment above it."""
    return np.asarray(0.15 + 0.75 * np.minimum(_beside(tone), 1.1))


def living_skin(tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n 3"]:
    """Linear RGB that skin of Monk tone 1..10 returns of white light of strength 1, with what its surface mirrors.

    The surface mirrors its surroundings, and lamps as widely as FaceWorld's sheen does on the middle of a face.
    """
    beside = _beside(tone)
    deep, fair = np.maximum(1 - beside, 0)[:, None], np.maximum(beside - 0.75, 0)[:, None]
    blood = 1 + _FLUSH * translucency(tone)[:, None] * BLOOD
    return np.asarray(skin_reflectance(tone) * blood * (1 + deep**3 * _DEEP + fair * _FAIR) + mirrored(tone)[:, None])


def mirrored(tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """What the surface of skin of that tone returns without coloring it, of white light of strength 1."""
    return np.asarray(MIRRORED + _SHEEN * sheen(tone))


def sheen(tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """How much of a lamp's light the surface of skin of that tone mirrors, over tone 5: as FaceWorld's."""
    return np.asarray(_beside(tone) ** 0.4)


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
    before, after = metered_exposure(np.array([source, level]), np.zeros(2), float(metering - 1))
    return float(after - before)


def ita(linear: Float[np.ndarray, "*n 3"]) -> Float[np.ndarray, "*n"]:
    """Degrees, of linear RGB of the picture from 0 to 1."""
    xyz = linear @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    f = np.where(xyz > _KNEE, np.cbrt(xyz), xyz * (841 / 108) + 4 / 29)
    return np.asarray(np.degrees(np.arctan2(116 * f[..., 1] - 66, 200 * (f[..., 1] - f[..., 2]))))


def tone_of(angle: float) -> float:
    """The tone, 1 to 10, of skin that has that ITA in a picture that is metered as FaceWorld's are."""
    return float(np.interp(-angle, -np.array(ITA_OF_TONES), np.arange(1, 11)))


def beside(tone: float) -> float:
    """The light of skin of that tone over that of light skin, as FaceWorld compares what lies beside skin with it."""
    return float(_beside(np.array([tone]))[0])


def _beside(tone: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    return np.asarray((luminance(skin_reflectance(np.asarray(tone, dtype=np.float64))) / _REFERENCE) ** _POWER)
