"""The camera's gain: it meters the face, from the causal attributes and never from the pixels.

Exposure is in stops (factors of two) of gain over the base gain. The camera follows scene light fully but skin
only in part, as photographs show: the median luminance of the cheek is .16 in the darkest fifth of 5,293 portrait
photographs and .63 in the lightest, a span far narrower than that of skin. A gain has a maximum: beyond it the image
is underexposed.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.reflectance import luminance, skin_reflectance

PARENTS = ("skin_tone", "light_level")
"""What the meter responds to."""

MAXIMUM_GAIN = 6.0
"""The largest gain of the meter, in stops over the base gain (ISO 100 to ISO 6400)."""

REFERENCE_LUMINANCE = 3.83
"""The luminance of skin that the meter leaves at base gain under nominal light."""

TONE_ADAPTATION = 0.44
"""The share, in stops, of a skin's departure from the reference that the meter compensates."""


def metered_exposure(
    skin_tone: Float[np.ndarray, " n"], light_level: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Gain in stops that the meter sets: scene light in full, skin in part, and at most MAXIMUM_GAIN.

    skin_tone: Monk scale, 1..10. light_level: stops of scene light around nominal.

    >>> metered_exposure(np.array([5.0, 5.0]), np.array([0.0, -2.0])).round(2).tolist()
    [1.33, 3.33]
    """
    departure = np.log2(REFERENCE_LUMINANCE / luminance(skin_reflectance(skin_tone)))
    return np.asarray(np.minimum(MAXIMUM_GAIN, TONE_ADAPTATION * departure - light_level))
