"""Where can an attribute be seen at all? One rule each, from the renderer's masks and the attributes' values.

A value that no pixel shows cannot be read by anybody; a network is neither taught it nor held to it. Areas are shares
of the picture. The rules were set before any network was trained and are the same for training and held-out subjects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from transect.generators.faceworld.attributes import HAIR_STYLES

Truth = Mapping[str, Float[np.ndarray, " n"]]
"""Columns: attributes by name, area.<mask>, seen.earrings, identity.<trait>."""


class Rule(NamedTuple):
    """When an attribute is seen, in words with the reason, and as a function of the truth."""

    words: str
    seen: Callable[[Truth], Bool[np.ndarray, " n"]]


HAIR_AREA = 0.02
"""Share of the picture that hair takes, at the least, for its color to be seen: 330 pixels of 128 x 128."""

EYE_AREA = 0.002
"""The same of both openings of the lids: 33 pixels of 128 x 128."""

EARRING_AREA = 0.0002
"""The same of what earrings change: 3 pixels of 128 x 128."""

GREY_AGE = 48
"""Years from which grey takes the place of the hair's own pigment in more than a few."""

LEAST_BEARD = 0.2
"""Facial hair below this is a shadow without a style."""

_BALD = HAIR_STYLES.index("bald")


def _hair(t: Truth) -> Bool[np.ndarray, " n"]:
    return np.asarray(t["area.hair"] >= HAIR_AREA)


def _no_hat(t: Truth) -> Bool[np.ndarray, " n"]:
    return np.asarray(t["hat"] == 0)


def _grown(t: Truth) -> Bool[np.ndarray, " n"]:
    return np.asarray(t["hair_style"] != _BALD)


ALWAYS = Rule("in every picture", lambda t: np.ones(len(t["skin_tone"]), dtype=bool))

RULES: dict[str, Rule] = {
    "hair_style": Rule(
        "where no hat is worn and hair takes 2 % of the picture, or the style is bald: a hat hides how hair is worn",
        lambda t: _no_hat(t) & (_hair(t) | ~_grown(t)),
    ),
    "hair_length": Rule(
        "where hair takes 2 % of the picture, no hat is worn and the style is not bald",
        lambda t: _hair(t) & _no_hat(t) & _grown(t),
    ),
    "hair_color": Rule(
        f"where hair takes 2 % of the picture, below {GREY_AGE} years: grey replaces the pigment",
        lambda t: _hair(t) & (t["age"] < GREY_AGE),
    ),
    "hair_redness": Rule(
        f"where hair takes 2 % of the picture, below {GREY_AGE} years: grey replaces the pigment",
        lambda t: _hair(t) & (t["age"] < GREY_AGE),
    ),
    "hair_volume": Rule(
        "where hair takes 2 % of the picture and no hat is worn: a hat presses it down",
        lambda t: _hair(t) & _no_hat(t),
    ),
    "baldness": Rule(
        "where no hat is worn and the style is not bald: both hide the hairline", lambda t: _no_hat(t) & _grown(t)
    ),
    "bangs": Rule(
        "where no hat is worn, the style is not bald and hair takes 2 % of the picture",
        lambda t: _no_hat(t) & _grown(t) & _hair(t),
    ),
    "facial_hair_style": Rule(
        f"where facial_hair is at least {LEAST_BEARD}: less is a shadow without a style",
        lambda t: np.asarray(t["facial_hair"] >= LEAST_BEARD),
    ),
    "eye_color": Rule(
        "where no glasses are worn and the openings of the lids take .2 % of the picture",
        lambda t: (t["glasses"] == 0) & (t["area.eyes"] >= EYE_AREA),
    ),
    "earrings": Rule(
        "where putting them on or off changes .02 % of the picture: hair covers many ears",
        lambda t: np.asarray(t["seen.earrings"] >= EARRING_AREA),
    ),
    "identity.frame_shape": Rule("where glasses are worn", lambda t: np.asarray(t["glasses"] > 0)),
    "identity.frame_color": Rule("where glasses are worn", lambda t: np.asarray(t["glasses"] > 0)),
    "identity.hat_hue": Rule("where a hat is worn", lambda t: ~_no_hat(t)),
    "identity.hat_lightness": Rule("where a hat is worn", lambda t: ~_no_hat(t)),
    "identity.hat_height": Rule("where a hat is worn", lambda t: ~_no_hat(t)),
}
"""The rules of what is not always seen."""


def rule(name: str) -> Rule:
    """The rule of an attribute, nuisance or trait of identity.

    >>> rule("skin_tone").words
    'in every picture'
    """
    return RULES.get(name, ALWAYS)
