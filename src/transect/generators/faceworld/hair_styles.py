"""The traits of a hair style: how far hair hangs, how high it lies, how it bends, and whether it is tied.

Traits are numbers, so that every style is the same geometry in other proportions; `hair_length` moves each style
between its own shortest and longest. Lengths are in face units; hanging length is 0 at the ears and 1 below the
shoulders.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, fields

import numpy as np
from jaxtyping import Float

from transect.generators.faceworld.attributes import HAIR_STYLES

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Traits:
    """A style at hair_length 0 and 1.

    hang: how far hair hangs. lift: how high it lies on the skull. wave, curl, coil: shares of S-shaped, ringlet and
    coily texture. tied: swept back. tail, knot: size of ponytail and bun. density: share of the scalp that is hidden.
    fullness: by how much hair_volume changes it.
    """

    hang: Span = (0.0, 0.0)
    lift: Span = (0.02, 0.02)
    wave: Span = (0.0, 0.0)
    curl: Span = (0.0, 0.0)
    coil: Span = (0.0, 0.0)
    tied: Span = (0.0, 0.0)
    tail: Span = (0.0, 0.0)
    knot: Span = (0.0, 0.0)
    density: Span = (1.0, 1.0)
    fullness: Span = (1.0, 1.0)


STYLES: dict[str, Traits] = {
    "bald": Traits(lift=(0.0, 0.0), density=(0.0, 0.0)),
    "cropped": Traits(lift=(0.002, 0.23), density=(0.38, 1.0), fullness=(0.0, 0.4)),
    "coily": Traits(hang=(0.0, 0.26), lift=(0.035, 0.30), coil=(1.0, 1.0), density=(0.985, 1.0)),
    "curly": Traits(hang=(0.0, 0.80), lift=(0.080, 0.16), wave=(0.4, 0.4), curl=(1.0, 1.0)),
    "wavy": Traits(hang=(0.10, 0.90), lift=(0.075, 0.110), wave=(1.0, 1.0)),
    "straight": Traits(hang=(0.10, 0.90), lift=(0.060, 0.090)),
    "ponytail": Traits(lift=(0.016, 0.075), tied=(1.0, 1.0), tail=(0.05, 1.0), fullness=(0.4, 0.4)),
    "bun": Traits(lift=(0.014, 0.030), tied=(1.0, 1.0), knot=(0.08, 0.46), fullness=(0.4, 0.4)),
}
_TABLE = np.array([astuple(STYLES[name]) for name in HAIR_STYLES])
_NAMES = tuple(field.name for field in fields(Traits))


def hair_traits(values: Mapping[str, Float[np.ndarray, " n"]]) -> dict[str, Float[np.ndarray, " n"]]:
    """The traits of each row's style at its length; `scalp`: the share of the scalp that is bare; `short`: of hair that
    is so short that single hairs end all over the head.

    `thinning`: how far the crown is bare. What is left then hangs less far.
    """
    ends = _TABLE[np.asarray(values["hair_style"]).astype(int)]
    at = ends[..., 0] + np.asarray(values["hair_length"])[:, None] * (ends[..., 1] - ends[..., 0])
    traits = {name: at[:, j] for j, name in enumerate(_NAMES)}
    thinning = np.clip((values["baldness"] - 0.35) / 0.40, 0, 1)
    traits["hang"] = traits["hang"] * (1 - 0.15 * thinning)
    hair_loss = np.clip((values["baldness"] - 0.82) / 0.18, 0, 1)
    shaven = (ends[:, _NAMES.index("density"), 1] == 0).astype(np.float64)
    volume = traits["fullness"] * np.asarray(values["hair_volume"])
    flat = (
        np.clip(1 - traits["lift"] / 0.09, 0, 1) * (traits["hang"] == 0) * (traits["tied"] == 0) * (traits["coil"] == 0)
    )
    bare = {"scalp": np.maximum(shaven, hair_loss), "thinning": thinning * (1 - shaven)}
    return traits | bare | {"hair_volume": volume, "short": flat}
