"""The color of hair: two melanins, and none in grey hair. Linear RGB with sRGB primaries, 0..1.

Absorption by melanin: d'Eon et al. 2011, An energy-conserving hair reflectance model. Reflectance of a mass of hair
from the absorption of its fibers, exp(-5.89 sqrt(absorption)): Chiang et al. 2016, A practical and controllable hair
and fur model for production path tracing, equation 9 at an azimuthal roughness of .3.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

_EUMELANIN = np.array([0.419, 0.697, 1.37])
_PHEOMELANIN = np.array([0.187, 0.4, 1.05])
_PHEOMELANIN_OF_RED = np.array([0.187, 0.60, 1.57])
"""The published absorption leaves red hair paler than it is in photographs: half as much again in green and blue."""

_SCATTERING = 5.89
_MELANIN_OF_BLACK, _DECADES = 1.9, 4.1
"""Concentration at hair_color 0, and the natural logarithm by which it falls until 1."""

_BODY, _SURFACE = 0.52, 0.004
"""Reflectance of a mass of fibers without pigment, and of every fiber's surface."""

_PHEOMELANIN_OF_BLOND = 0.25
_RED, _RED_DECADES = 0.9, 1.6
"""Pheomelanin of the reddest hair at hair_color 0, and the natural logarithm by which it falls until 1."""

_GREY = np.array([0.176, 0.171, 0.164])


def hair_reflectance(
    hair_color: Float[np.ndarray, " n"], redness: Float[np.ndarray, " n"], grey: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n 3"]:
    """Reflectance of hair: from black (0) to blond (1), redness 0..1, share `grey` 0..1 without pigment.

    Redness puts red melanin in the place of the brown; red hair holds more melanin than blond.
    """
    color = np.asarray(hair_color, dtype=np.float64)
    brown = 1 - np.asarray(redness)
    melanin = _MELANIN_OF_BLACK * np.exp(-_DECADES * color) * brown
    of_blond = melanin * _PHEOMELANIN_OF_BLOND * color
    of_red = _RED * np.exp(-_RED_DECADES * color) * (1 - brown)
    absorption = (melanin - of_blond)[:, None] * _EUMELANIN + of_blond[:, None] * _PHEOMELANIN
    absorption = absorption + of_red[:, None] * _PHEOMELANIN_OF_RED
    pigmented = _SURFACE + _BODY * np.exp(-_SCATTERING * np.sqrt(absorption))
    return np.asarray(pigmented + np.asarray(grey)[:, None] * (_GREY - pigmented))
