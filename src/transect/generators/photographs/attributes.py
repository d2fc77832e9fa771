"""What can be set on a photograph, in the order in which a camera applies it. No image library is imported here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Final, NamedTuple, final

from transect.generators.faceworld.attributes import GLASSES
from transect.records import Attribute

BOARDS: Final = ("none", "left", "right", "top", "bottom", "middle")
_PHOTOGRAPHY = "photographic convention"
_CARD = "ISO 12232, a card that reflects 18 %"
_LENS = "Potmesil and Chakravarty 1981, doi:10.1145/965161.806818"
_NOISE = "Foi et al. 2008, doi:10.1109/TIP.2008.2001399; EMVA 1288"
_WHITE = "Lam 1985, Bradford adaptation; Kim et al. 2002, US 7024034, Planckian locus"
_TONE = "Hurter and Driffield 1890, gamma of the characteristic curve"
_JPEG = "ITU-T T.81 (JPEG), quality as the Independent JPEG Group scales it"


def _set(name: str, meaning: str, low: float, high: float, unit: str = "", source: str = _PHOTOGRAPHY) -> Attribute:
    return Attribute(name, "continuous", meaning, unit, low, high, role="nuisance", source=source)


def _composited(name: str, meaning: str, low: float, high: float, unit: str = "", source: str = "") -> Attribute:
    return Attribute(name, "continuous", meaning, unit, low, high, source=source)


METERING: Final = ("held", "scene", "face")
_METERED = "what the camera does when skin_tone is set: its exposure is held, or it reads the scene or the face again"

_BOARD = "a grey board before that part of the picture, covering half of it or less"
_MONK = "Monk 2022, Monk Skin Tone Scale, doi:10.31235/osf.io/pdf4c"
_MELANIN = "d'Eon et al. 2011, doi:10.1111/j.1467-8659.2011.01976.x"
MASKS: Final = ("none", "surgical")
HATS: Final = ("none", "cap", "beanie", "headscarf")
_TRIED = "experimental"
_OWN = "drawn on a head that is fitted to the landmarks"
_DRAWN = "FaceWorld's, drawn on a head that is fitted to the landmarks"

ATTRIBUTES: Final[tuple[Attribute, ...]] = (
    _composited("skin_tone", "skin from light (1) to dark (10); below 1 as it is", 0, 10, "Monk scale", _MONK),
    Attribute("metering", "categorical", _METERED, levels=METERING, role="nuisance", source=_PHOTOGRAPHY),
    _composited("hair_color", "hair from black (0) over brown to blond (1); below 0 as it is", -1, 1, "", _MELANIN),
    _composited("lipstick", "lipstick from the lips as they are (0) to opaque (1)", 0, 1, "", "FaceWorld's lipstick"),
    _composited("beard_shadow", "shade of stubble from the skin as it is (0) to dense (1)", 0, 1, "", "drawn"),
    Attribute("face_mask", "categorical", "a surgical mask over nose, mouth and chin", levels=MASKS, source=_OWN),
    Attribute("glasses", "categorical", "what is worn before the eyes", levels=GLASSES, source=_DRAWN),
    _composited("bangs", f"a fringe over the forehead from none (0) to the brows (1); {_TRIED}", 0, 1, "", "drawn"),
    Attribute("hat", "categorical", f"worn on the head; cap: {_TRIED}", levels=HATS, source=_DRAWN),
    Attribute("board", "categorical", _BOARD, levels=BOARDS, role="nuisance", source=_CARD),
    _set("rotation", "camera's roll: the picture turned clockwise (+) about its middle", -90, 90, "degrees"),
    _set("scale", "size of what is shown, 1 as it is: larger, or smaller before a grey card", 0.5, 2, "times"),
    _set("defocus", "diameter of the disc that a point becomes", 0, 0.1, "share of the width", _LENS),
    _set("motion", "length of the level line that a point becomes", 0, 0.2, "share of the width", _LENS),
    _set("exposure", "linear light on the sensor, 0 as it is; what is above white is lost", -6, 6, "stops"),
    _set("noise", "sensor noise added, as of that sensitivity; 0: none", 0, 51_200, "ISO", _NOISE),
    _set("white_balance", "color of the picture's white, 6500 as it is; lower: more orange", 2500, 15_000, "K", _WHITE),
    _set("contrast", "slope of the tone curve in stops around middle grey, 1 as it is", 0.25, 3, "", _TONE),
    _set("resolution", "pixels kept, 1 as it is: made smaller, then as large as before", 0.02, 1, "share of the width"),
    _set("crop", "frame kept around the middle, 1 as it is; grey beyond", 0.3, 1, "share of the width"),
    _set("jpeg_quality", "JPEG quality, rounded; 100 as it is: not compressed again", 5, 100, "", _JPEG),
)

APPEARANCE: Final = ("skin_tone", "hair_color", "lipstick", "beard_shadow", "face_mask", "glasses", "bangs", "hat")
"""Edits that are composited on a face, so that a photograph needs one."""


class Limit(NamedTuple):
    """How far an edit may move a photograph from its own level: by default, and at most where `option` asks for it."""

    option: str
    usual: float
    most: float
    wanted: str
    moved: str
    left_out: str
    why: str


LIMITS: Final[Mapping[str, Limit]] = {
    "skin_tone": Limit(
        *("tone_steps", 2.0, 3.0, "a number of tones"),
        "a photograph's skin is moved by at most {:g} of the ten tones",
        "photographs whose skin is more than {:g} tones from a level of skin_tone",
        "a larger edit paints a face: it shows no person with that skin, misleads, and offends",
    ),
    "hair_color": Limit(
        *("hair_steps", 0.3, 0.5, "a number"),
        "a photograph's hair is moved by at most {:g} of the way from black to blond",
        "photographs whose hair is more than {:g} from a level of hair_color",
        "a larger edit looks painted: dark hair becomes blond by way of brown",
    ),
}
EXPERIMENTAL: Final[Mapping[str, tuple[str, ...]]] = {"bangs": (), "hat": ("cap",)}
"""Edits, and levels of them (none: all), that looked fake on more than a third of the portraits to two of three who
looked: on request alone."""
WHY_TRIED: Final = "it looked fake on more than a third of the portraits to two of three who looked"
LOWEST: Final[Mapping[str, float]] = {"skin_tone": 1.0, "hair_color": 0.0}
"""The first level of an edit whose attribute begins below it; at levels below it the photograph is as it is."""

USUAL: Final[Mapping[str, tuple[float, ...]]] = {
    "skin_tone": (5.0, 6.0, 7.0), "hair_color": (0.35, 0.5, 0.65),
    **dict.fromkeys(("lipstick", "beard_shadow", "bangs"), (0.0, 0.5, 1.0)), "hat": (0.0, 2.0, 3.0),
    "rotation": (-20.0, -10.0, 0.0, 10.0, 20.0), "scale": (0.7, 0.85, 1.0, 1.2, 1.4),
    "defocus": (0.0, 0.01, 0.02, 0.04), "motion": (0.0, 0.02, 0.04, 0.08),
    "exposure": (-2.0, -1.0, 0.0, 1.0, 2.0), "noise": (0.0, 800.0, 3200.0, 9600.0),
    "white_balance": (3200.0, 4500.0, 6500.0, 9500.0), "contrast": (0.5, 0.75, 1.0, 1.5, 2.0),
    "resolution": (0.125, 0.25, 0.5, 1.0), "crop": (0.6, 0.7, 0.8, 0.9, 1.0), "jpeg_quality": (10.0, 30.0, 60.0, 100.0),
}  # fmt: skip
"""Levels shown where `--vary` names none; the photograph as it is is among them, but for the color of skin and hair."""


@final
@dataclass(frozen=True, slots=True)
class Edits:
    """The level of each edit on one photograph, in the unit of its attribute; the default of each is "as it is"."""

    skin_tone: float = 0.0
    metering: float = 0.0
    hair_color: float = -1.0
    lipstick: float = 0.0
    beard_shadow: float = 0.0
    face_mask: float = 0.0
    glasses: float = 0.0
    bangs: float = 0.0
    hat: float = 0.0
    board: float = 0.0
    rotation: float = 0.0
    scale: float = 1.0
    defocus: float = 0.0
    motion: float = 0.0
    exposure: float = 0.0
    noise: float = 0.0
    white_balance: float = 6500.0
    contrast: float = 1.0
    resolution: float = 1.0
    crop: float = 1.0
    jpeg_quality: float = 100.0

    def names(self) -> tuple[str, ...]:
        """The edits that are not at "as it is", in the order of the attributes."""
        return tuple(name for name, level in NEUTRAL.items() if getattr(self, name) != level)

    def any_of(self, names: frozenset[str]) -> bool:
        """Whether one of these edits is not at "as it is"."""
        return any(getattr(self, name) != NEUTRAL[name] for name in names)


NEUTRAL: Final[Mapping[str, float]] = {entry.name: float(str(entry.default)) for entry in fields(Edits)}
"""By edit: the level at which the photograph is as it is."""
