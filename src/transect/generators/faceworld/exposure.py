"""The camera's gain: it meters the face, from the causal attributes and never from the pixels.

Exposure is in stops (factors of two) of gain over the base gain. The camera follows scene light fully, but what the
face alone reflects only in part, as photographs show: the median luminance of the cheek is .16 in the darkest fifth of
5,293 portrait photographs and .63 in the lightest, a span far narrower than that of skin. A photographer can meter the
face alone, so that every skin is exposed alike, and can add fill light, which falls on the person and not on what is
behind. A gain has a maximum: beyond it the image is underexposed.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.reflectance import luminance, skin_reflectance

PARENTS = ("skin_tone", "light_level", "metering", "fill_light")
"""What the meter responds to, in the order of metered_exposure's arguments."""

MAXIMUM_GAIN = 6.0
"""The largest gain of the meter, in stops over the base gain (ISO 100 to ISO 6400)."""

REFERENCE_LUMINANCE = 3.83
"""The luminance of skin that the meter leaves at base gain under nominal light."""

TONE_ADAPTATION = 0.44
"""The share, in stops, of a skin's departure from the reference that the meter compensates when it reads the scene."""

COMMON_LUMINANCE = 0.30
"""The luminance of skin that is exposed alike whether the meter reads the scene or the face."""

MIRRORED = 0.012
"""What the surface of any skin mirrors of its surroundings: a meter that reads the face reads it too."""

FILL = 1.16
"""Irradiance of all the fill light: with that of the surroundings, as much as the key light has (lighting.py)."""


def metered_exposure(
    skin_tone: Float[np.ndarray, " n"],
    light_level: Float[np.ndarray, " n"],
    metering: Float[np.ndarray, " n"] | float = 0.0,
    fill_light: Float[np.ndarray, " n"] | float = 0.0,
) -> Float[np.ndarray, " n"]:
    """Gain in stops that the meter sets: scene light in full, and at most MAXIMUM_GAIN.

    What skin and fill light make of the face counts in part, or in full where the meter reads the face.
    skin_tone: Monk scale, 1..10. light_level: stops of scene light around nominal. metering: 0 scene, 1 face.
    fill_light: 0..1.
    """
    skin = luminance(skin_reflectance(skin_tone))
    # Under nominal light a cheek receives about 1 without fill light.
    filled = np.log2(1 + FILL * np.asarray(fill_light))
    scene = TONE_ADAPTATION * (np.log2(REFERENCE_LUMINANCE / skin) - filled)
    common = TONE_ADAPTATION * np.log2(REFERENCE_LUMINANCE / COMMON_LUMINANCE)
    face = common + np.log2((COMMON_LUMINANCE + MIRRORED) / (skin + MIRRORED)) - filled
    return np.asarray(np.minimum(MAXIMUM_GAIN, np.where(np.asarray(metering) == 1, face, scene) - light_level))
