"""What can be read and set in FaceWorld. Nothing heavy is imported here, so that the table prints at once.

Attributes are appearances as an onlooker sees them. Angles are in degrees; stops are factors of two of light.
"""

from __future__ import annotations

from transect.errors import UnknownName
from transect.records import Attribute, Role

_MONK = "Monk 2022, Monk Skin Tone Scale, doi:10.31235/osf.io/pdf4c"
_SHAPE = "Oosterhof & Todorov 2008, doi:10.1073/pnas.0805664105"
_FACS = "Ekman & Friesen 1978, Facial Action Coding System"
_NORWOOD = "Norwood 1975, doi:10.1097/00007611-197511000-00009"
_MELANIN = "d'Eon et al. 2011, doi:10.1111/j.1467-8659.2011.01976.x"
_PHOTOGRAPHY = "photographic convention"
_JPEG = "ITU-T T.81 (JPEG), quality as the Independent JPEG Group scales it"
_FFHQ = "Karras et al. 2019, FFHQ, doi:10.1109/CVPR.2019.00453"
_RATIO = _PHOTOGRAPHY + ", lighting ratio 2:1 at 1"
_PORTRAIT = "defined by the renderer"


def _appearance(
    name: str, meaning: str, low: float = 0, high: float = 1, unit: str = "", source: str = ""
) -> Attribute:
    return Attribute(name, "continuous", meaning, unit, low, high, source=source or _PORTRAIT)


def _measure(name: str, meaning: str) -> Attribute:
    """A shape in standard deviations of this world's people; 0 is its mean."""
    return _appearance(name, meaning, -2.5, 2.5, "SD")


def _switch(name: str, meaning: str) -> Attribute:
    return Attribute(name, "binary", meaning, levels=("off", "on"), source=_PORTRAIT)


def _choice(name: str, meaning: str, *levels: str, role: Role = "attribute") -> Attribute:
    return Attribute(name, "categorical", meaning, levels=levels, role=role, source=_PORTRAIT)


def _nuisance(name: str, meaning: str, low: float = 0, high: float = 1, unit: str = "", source: str = "") -> Attribute:
    return Attribute(name, "continuous", meaning, unit, low, high, role="nuisance", source=source or _PORTRAIT)


HAIR_STYLES = ("bald", "cropped", "coily", "curly", "wavy", "straight", "ponytail", "bun")
FACIAL_HAIR_STYLES = ("stubble", "mustache", "goatee", "full")
BACKGROUNDS = ("studio", "wall", "interior", "outdoors")
CLOTHES = ("crew neck", "v-neck", "shirt", "turtleneck")
GLASSES = ("none", "thin frame", "thick frame", "tinted", "dark")
HATS = ("none", "cap", "beanie", "brimmed hat", "hood", "headscarf")
FACE_MASKS = ("none", "surgical", "cloth")

ATTRIBUTES: tuple[Attribute, ...] = (
    _appearance("skin_tone", "skin from light to dark", 1, 10, "Monk scale", _MONK),
    _choice("hair_style", "how hair is cut and worn; bald: shaven, whatever the other hair attributes", *HAIR_STYLES),
    _appearance("hair_length", "hair from the shortest (0) to the longest (1) of its style: 1 is at the shoulders"),
    _appearance("hair_color", "melanin in the hair from black (0) over brown to blond (1)", source=_MELANIN),
    _appearance(
        "hair_redness", "red melanin (pheomelanin) in place of the brown, from none (0) to all (1)", source=_MELANIN
    ),
    _nuisance("hair_volume", "hair from flat (-1) to full (1)", -1),
    _appearance("baldness", "hair loss from none (0) to a bare scalp (1), in any style", source=_NORWOOD),
    _appearance("bangs", "hair over the forehead, from none (0) to the brows (1)"),
    _choice("hat", "what is worn on the head", *HATS),
    _appearance("facial_hair", "facial hair from shaven (0) to the fullest of its style (1)"),
    _choice("facial_hair_style", "where facial hair is left to grow", *FACIAL_HAIR_STYLES),
    _appearance("makeup", "eye shadow, liner and blush from none (0) to heavy (1)"),
    _appearance("lipstick", "lip color from bare (0) to opaque (1)"),
    _appearance("face_shape", "shape of face from feminine (0) to masculine (1)", source=_SHAPE),
    _measure("face_width", "face from narrow (-) to wide (+)"),
    _appearance("age", "apparent age", 18, 85, "years"),
    _appearance("smile", "smile from neutral (0) to broad (1)", source=_FACS + ", AU 6 + 12"),
    _appearance("mouth_open", "lips from closed (0) to wide apart (1)", source=_FACS + ", AU 25 + 26"),
    _appearance("eye_color", "iris from dark brown (0) over green to blue (1)"),
    _choice("glasses", "what is worn before the eyes", *GLASSES),
    _switch("earrings", "wears earrings (hair may hide them)"),
    _nuisance("yaw", "head turned to the viewer's right (+)", -45, 45, "degrees"),
    _nuisance("pitch", "head raised (+) or bowed (-)", -20, 20, "degrees"),
    _nuisance("roll", "head tilted clockwise (+)", -25, 25, "degrees"),
    _nuisance("light_azimuth", "key light from the viewer's right (+)", -80, 80, "degrees"),
    _nuisance("light_elevation", "key light above the eyes (+)", -20, 75, "degrees"),
    _nuisance("light_level", "scene light around nominal", -6, 1, "stops", _PHOTOGRAPHY),
    _nuisance(
        *("exposure", "camera gain; responds to skin_tone, light_level, metering and fill_light", -4, 7, "stops"),
        source=_PHOTOGRAPHY,
    ),
    _nuisance("white_balance", "picture from cool (-) to warm (+): red over blue", -1, 1, "stops", _PHOTOGRAPHY),
    _choice("background", "what stands behind, out of focus", *BACKGROUNDS, role="nuisance"),
    _nuisance("background_hue", "hue of the background", unit="turns"),
    _nuisance("background_lightness", "background from dark (0) to light (1)"),
    _choice("clothing", "neckline of the clothes", *CLOTHES, role="nuisance"),
    _choice("clothing_pattern", "pattern of the clothes", "plain", "stripes", "checks", role="nuisance"),
    _nuisance("clothing_hue", "hue of the clothes", unit="turns"),
    _nuisance("clothing_lightness", "clothes from dark (0) to light (1)"),
    _nuisance("noise", "sensor noise, 1 for the nominal sensor", 0, 3, source=_PHOTOGRAPHY),
    _nuisance("blur", "standard deviation of the blur, 0 for none", 0, 4, "% of the width", _PHOTOGRAPHY),
    _nuisance("jpeg_quality", "JPEG quality, rounded; 100: not compressed at all", 10, 100, "", _JPEG),
    _nuisance("distance", "camera from near to far; 1: eyes a fifth of the width apart", 0.75, 1.6, "", _FFHQ),
    _nuisance("brow_raise", "brows from lowered (-1) to raised (1)", -1, source=_FACS + ", AU 4, 1 + 2"),
    _nuisance("mouth_slant", "the higher corner of the mouth: the viewer's left (-) or right (+)", -1, source=_FACS),
    _appearance("gaze", "eyes look past the camera to the viewer's left (-1: 24 degrees) or right (1)", -1),
    Attribute(
        *("metering", "binary", "what the meter reads: the scene (skin counts in part) or the face alone (in full)"),
        levels=("scene", "face"),
        role="nuisance",
        source=_PHOTOGRAPHY,
    ),
    _nuisance("fill_light", "soft light on the person, from none (0) to as much as the key light (1)", source=_RATIO),
    _measure("nose_width", "nose and nostrils from narrow (-) to wide (+)"),
    _measure("nose_length", "nose from short (-) to long (+)"),
    _measure("lip_fullness", "lips from thin (-) to full (+)"),
    _measure("eye_fold", "upper lids from a deep crease (-) to a fold over it and the inner corner (+)"),
    _measure("eye_size", "opening of the eyes from small (-) to large (+)"),
    _measure("jaw_width", "angles of the jaw from narrow and high (-) to wide and low (+)"),
    _measure("chin", "chin from short (-) to long (+)"),
    _measure("cheekbones", "cheekbones from flat (-) to high and broad (+)"),
    _measure("brow_ridge", "bone above the eyes from flat (-) to prominent and low (+)"),
    _measure("ear_size", "ears from small (-) to large (+)"),
    _appearance("eyes_closed", "lids from as open as the person's are (0) to closed (1)", source=_FACS + ", AU 43"),
    _appearance("brows_raised", "brows from where they rest (0) to raised (1)", source=_FACS + ", AU 1 + 2"),
    _choice("face_mask", "what is worn over nose, mouth and chin, in a color of the person's own", *FACE_MASKS),
)

TRAITS: tuple[str, ...] = (
    *("nose_width", "nose_length", "nose_bridge", "nose_tip", "eye_spacing", "eye_size", "eye_tilt", "eye_openness"),
    *("eye_fold", "brow_height", "brow_thickness", "brow_arch", "mouth_width", "mouth_height", "lip_fullness"),
    *("jaw_width", "chin_width", "chin", "cheekbones", "cheek_fullness", "forehead_height", "forehead_width"),
    *("face_length", "ear_size", "neck_width", "hairline", "hair_curl", "hair_parting", "greying", "complexion"),
    *("frame_shape", "frame_color", "hair_fall", "hair_tuck", "hat_hue", "hat_lightness", "shape_1", "shape_2"),
    *("shape_3", "shape_4", "shape_5", "shape_6", "shape_7", "hat_height", "nose_hump", "nose_flare", "lip_protrusion"),
    *("brow_ridge", "eye_bags", "relief_1", "relief_2"),
)
"""Standard normal coordinates of u that shape a person, in their order; those that have an attribute's name are one."""
IDENTITY: tuple[str, ...] = (
    *(name for name in TRAITS if name not in {attribute.name for attribute in ATTRIBUTES}),
    "asymmetry",
)
"""The identity code, which identifies a subject. Standard normal, part of u; it cannot be read or set. shape_1 and
so on and relief_1, relief_2 are mixtures of small local shapes: see mesh/shape.py; photographs' drawn heads use them as
the ways in which faces of photographs differ most."""

NAMES: tuple[str, ...] = tuple(attribute.name for attribute in ATTRIBUTES)
_BY_NAME = {attribute.name: attribute for attribute in ATTRIBUTES}


def attribute(name: str) -> Attribute:
    """The attribute or nuisance of that name; raises UnknownName with the nearest names."""
    if name not in _BY_NAME:
        raise UnknownName("attribute", name, NAMES, "see: transect list attributes")
    return _BY_NAME[name]
