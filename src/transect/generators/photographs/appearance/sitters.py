"""Photographs with a face on which appearance is set: what is composited, and who is left out and why."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.errors import BadInput
from transect.generators.faceworld.reflectance import LUMINANCE, skin_reflectance
from transect.generators.photographs.appearance import colors, faces
from transect.generators.photographs.attributes import LIMITS, NEUTRAL, Edits
from transect.generators.photographs.camera import recompressed
from transect.generators.photographs.subjects import COLORLESS, Subjects, corner, is_grey, squared
from transect.marks import Finder, open_marks
from transect.runs.wording import spaced

if TYPE_CHECKING:
    from transect.generators.fitted_heads import Head
    from transect.generators.photographs.appearance.worn import Stage

_WORN = ("beard_shadow", "face_mask", "glasses", "bangs", "hat")
_STUBBLE, _PALE = 0.15, 0.45
"""The color of stubble where no hair is seen, and the reflectance of what is pale among what is worn."""
VERSION = 6
"""Another compositing makes other pictures: raised whenever a pixel changes."""


@final
class Sitting:
    """A photograph with its face. key: the seed of its noise. known: the skin's tone, if it is known. tables: the
    quantisation tables of its JPEG file, applied to what is drawn.
    """

    def __init__(
        self, picture: UInt8[np.ndarray, "h w 3"], face: faces.Face, key: int = 0, known: float | None = None,
        tables: Mapping[int, Sequence[int]] | None = None,
    ) -> None:  # fmt: skip
        self.picture, self.face, self.key, self.known, self.tables = picture, face, key, known, tables
        self._drawn: dict[tuple[str, float, float], faces.Layer] = {}

    @functools.cached_property
    def skin(self) -> colors.Skin:
        """The skin, taken apart."""
        return colors.skin_of(self.picture, self.face, self.known)

    @functools.cached_property
    def hair(self) -> colors.Hair:
        """The hair, taken apart."""
        return colors.hair_of(self.picture, self.face, self.skin.tone)

    @functools.cached_property
    def hair_level(self) -> float:
        """The color of the hair from black (0) to blond (1), by its luminance."""
        return colors.read_hair(self.hair) if (self.face.masks["hair"] > 0).any() else _STUBBLE

    def own(self, name: str) -> float:
        """The tone of the skin, or the color of the hair."""
        return self.skin.tone if name == "skin_tone" else self.hair_level

    @functools.cached_property
    def light(self) -> Float[np.ndarray, " 3"]:
        """Scene light of a white surface in the light of the face."""
        return colors.light_of(self.picture, self.face, self.skin.tone)

    @functools.cached_property
    def lips(self) -> colors.Lips:
        """Where the lips are."""
        return colors.lips_of(self.picture, self.face)

    @functools.cached_property
    def head(self) -> Head:
        """FaceWorld's head in the place of the face, in its light."""
        from transect.engines.one_thread import one_thread_per_operation
        from transect.generators.fitted_heads import head_of
        from transect.generators.photographs.appearance.worn import lit

        with one_thread_per_operation():
            return lit(head_of(self.face.points), self.face, self.picture)

    @functools.cached_property
    def stage(self) -> Stage:
        """Pictures of that head, from which what it wears is taken."""
        from transect.generators.photographs.appearance.worn import Stage

        return Stage(self.head, self.face, self.key)

    @functools.cached_property
    def camera(self) -> colors.Camera:
        """The camera that took the photograph; what is pale is no lighter on it than its lightest parts."""
        radiance, tone = self.stage.radiance(self.skin.tone), self.skin.tone
        found = colors.camera_of(self.picture, self.face, radiance)
        lightest = float(np.quantile(faces.scene_of(self.picture[::4, ::4]) @ LUMINANCE, 0.995))
        pale = _PALE / float(skin_reflectance(np.array([tone]))[0] @ LUMINANCE) * radiance
        return replace(found, gain=min(found.gain, lightest / pale))

    @functools.cached_property
    def background(self) -> Float[np.ndarray, "h w 3"]:
        """The scene light behind the person."""
        from transect.generators.photographs.appearance.worn import background_of

        return background_of(self.face, self.picture)

    def worn(self, name: str, level: float, color: float = NEUTRAL["hair_color"]) -> faces.Layer:
        """What lies before the photograph at that level of one of _WORN; it is drawn once. color: that of a fringe."""
        from transect.engines.one_thread import one_thread_per_operation

        if (name, level, color) not in self._drawn:
            with one_thread_per_operation():
                layer = self._draw(name, level, color)
                self._drawn[name, level, color] = layer.without_color() if is_grey(self.picture) else layer
        return self._drawn[name, level, color]

    def _draw(self, name: str, level: float, color: float) -> faces.Layer:
        from transect.generators.photographs.appearance import worn
        from transect.generators.photographs.appearance.fringe import fringe_of
        from transect.generators.photographs.appearance.stubble import stubble_of

        if name in ("beard_shadow", "bangs"):
            taken = colors.camera_of(self.picture, self.face, 1.0)
            if name == "beard_shadow":
                return stubble_of(self.picture, self.face, self.hair, taken, self.key, level, self.hair_level)
            dyed = colors.color_of(self.hair, color) if color != NEUTRAL["hair_color"] else None
            return fringe_of(self.face, self.picture, taken, self.key, level, dyed)
        place = (self.stage, self.camera)
        if name == "glasses":
            return worn.glasses_of(*place, int(level))
        if name == "face_mask":
            return worn.face_mask_of(*place)
        return worn.hat_of(*place, worn.HATS_WORN[int(level) - 1], self.background)

    def dressed(self, edits: Edits) -> UInt8[np.ndarray, "h w 3"]:
        """The photograph with what these edits composite; itself, not a copy, where that is nothing."""
        picture, stops = self.picture, self.stops(edits)
        if edits.skin_tone != NEUTRAL["skin_tone"]:
            picture = faces.pixels_of(faces.scene_of(picture) * np.float32(2.0**stops)) if stops else picture.copy()
            picture[self.skin.rows, self.skin.columns] = colors.toned_skin(self.skin, edits.skin_tone, stops)
        if edits.hair_color != NEUTRAL["hair_color"]:
            # Hair was told from the photograph as it is, so that its border is that with the skin that was there.
            hair = self.hair
            part = picture[hair.rows, hair.columns]
            picture = _put(picture, hair, colors.colored_hair(hair, part, edits.hair_color, stops))
        if edits.lipstick:
            lips, tone = self.lips, edits.skin_tone or self.skin.tone
            part, light = picture[lips.rows, lips.columns], self.light * 2.0**stops
            picture = _put(picture, lips, colors.painted_lips(part, lips, edits.lipstick, tone, light))
        drawn = np.zeros(picture.shape[:2], dtype=np.bool_)
        for layer in self._layers(edits):
            part = picture[layer.rows, layer.columns]
            picture = _put(picture, layer, faces.laid(part, layer, 2.0**stops))
            drawn[layer.rows, layer.columns] |= layer.touched()
        return recompressed(picture, drawn, self.tables) if self.tables and drawn.any() else picture

    def _layers(self, edits: Edits) -> list[faces.Layer]:
        """What is worn, from back to front."""
        dyed = dict.fromkeys(_WORN, NEUTRAL["hair_color"]) | {"bangs": edits.hair_color}
        return [self.worn(name, level, dyed[name]) for name in _WORN if (level := getattr(edits, name))]

    def stops(self, edits: Edits) -> float:
        """Stops that the camera adds for skin of the tone that is set; 0 where its exposure is held."""
        if edits.skin_tone == NEUTRAL["skin_tone"]:
            return 0.0
        return colors.remetered(self.skin.tone, edits.skin_tone, int(edits.metering))

    def changed(self, edits: Edits) -> Bool[np.ndarray, "h w"]:
        """The pixels that these edits may change."""
        mask = np.zeros(self.picture.shape[:2], dtype=np.bool_)
        if edits.skin_tone != NEUTRAL["skin_tone"]:
            mask[self.skin.rows, self.skin.columns] |= self.skin.weight > 0
            mask |= self.stops(edits) != 0
        if edits.hair_color != NEUTRAL["hair_color"]:
            mask[self.hair.rows, self.hair.columns] |= self.hair.weight > 0
        if edits.lipstick:
            mask[self.lips.rows, self.lips.columns] |= self.lips.weight > 0
        for layer in self._layers(edits):
            mask[layer.rows, layer.columns] |= layer.touched()
        return mask

    def ita(self, edits: Edits) -> float:
        """ITA in degrees of the median color of the skin that is shown; NaN without skin."""
        skin = self.skin
        return colors.median_ita(self.dressed(edits)[skin.rows, skin.columns], skin.sure)


def _put(
    picture: UInt8[np.ndarray, "h w 3"], at: colors.Hair | colors.Lips | faces.Layer, part: UInt8[np.ndarray, "_ _ 3"]
) -> UInt8[np.ndarray, "h w 3"]:
    shown = picture.copy()
    shown[at.rows, at.columns] = part
    return shown


DEFAULT: Final = "network"
_APART: Final = "{}: expected levels at most {:g} apart, got {:g} apart: {}; choose levels nearer to each other"
_FAR: Final = "{}: expected a {} near its own, got {:g} of a photograph of {:.2g}: {}; choose a nearer level"
_KEPT, _LOOKED_AT, _GROUPS, _ROUNDING = 32, 48, 6, 1e-6
"""Photographs whose parts are kept in memory, the first of those with a face by which sizes of masks are stated, the
most values of a label by whose groups photographs that are left out are counted, and an error of levels."""
_TINTED: Final = frozenset({"skin_tone", "hair_color", "lipstick"})
"""Edits that need a photograph's colors."""


@final
class Sitters:
    """The faces on photographs. marks: a finder, or its name; it is opened when a face is first needed.

    steps: by how much each edit of LIMITS may move a photograph from its own level. levels: those that will be set.
    """

    def __init__(
        self, subjects: Subjects, marks: str | Finder = DEFAULT, steps: Mapping[str, float] | None = None,
        levels: Mapping[str, Sequence[float]] | None = None,
    ) -> None:  # fmt: skip
        self.subjects, self._marks, self.levels = subjects, marks, dict(levels or {})
        self.steps = {name: limit.usual for name, limit in LIMITS.items()} | dict(steps or {})
        self.sitting = functools.lru_cache(maxsize=_KEPT)(self._seated)
        self._statements: dict[tuple[str, ...], str] = {}

    @functools.cached_property
    def finder(self) -> Finder:
        """Who finds the faces. Raises as `open_marks`."""
        return open_marks(self._marks, self.subjects.labelled) if isinstance(self._marks, str) else self._marks

    def of(self, subjects: Subjects) -> Sitters:
        """The same finder's faces on some of the photographs."""
        return Sitters(subjects, self.finder, self.steps, self.levels)

    def to_levels(self, levels: Mapping[str, Sequence[float]]) -> Sitters:
        """The same for skin and hair of these levels. Raises BadInput where no photograph can be as near to all."""
        for name, values in levels.items():
            most, apart = 2 * self.steps[name], max(values) - min(values)
            if apart > most + _ROUNDING:
                raise BadInput(_APART.format(name, most, apart, self._limit(name)))
        return Sitters(self.subjects, self.finder, self.steps, levels)

    def _limit(self, name: str) -> str:
        limit, steps = LIMITS[name], self.steps[name]
        more = f"; up to {limit.most:g} on request, as photographs:folder:faces?{limit.option}={limit.most:g}"
        return f"{limit.moved.format(steps)}{more if steps < limit.most else ''}: {limit.why}"

    def dressed(self, subject: int, edits: Edits) -> UInt8[np.ndarray, "h w 3"]:
        """The photograph with what these edits composite. Raises BadInput for skin or hair too far from its own."""
        sitting = self.sitting(subject)
        for name, steps in self.steps.items():
            level = getattr(edits, name)
            if level != NEUTRAL[name] and abs(level - (own := sitting.own(name))) > steps + _ROUNDING:
                file = self.subjects.labelled.pictures.name(int(self.subjects.rows[subject]))
                raise BadInput(_FAR.format(file, name, level, own, self._limit(name)))
        return sitting.dressed(edits)

    def face(self, subject: int) -> faces.Face | str:
        """The face on a photograph, or why there is none that can be used."""
        picture, size = self.subjects.picture(subject), self.subjects.labelled.image_size
        rows = self.subjects.rows[subject : subject + 1]
        marks = self.finder.find(squared(picture, size)[None], rows)
        height, width = picture.shape[:2]
        return faces.face_of(marks, self.finder.threshold, picture, *corner(height, width, size))

    def _seated(self, subject: int) -> Sitting:
        """The photograph with its face. Raises BadInput where there is none that can be used."""
        face = self.face(subject)
        if isinstance(face, str):
            name = self.subjects.labelled.pictures.name(int(self.subjects.rows[subject]))
            raise BadInput(
                f"{name}: expected a face for what is composited on it, got one of the {face}; leave such photographs"
                " out with for_attributes"
            )
        key, tables = self.subjects.key(subject), self.subjects.tables(subject)
        return Sitting(self.subjects.picture(subject), face, key, tables=tables)

    def reasons(self, names: Sequence[str]) -> tuple[str, ...]:
        """Why these cannot all be composited on each photograph; "" where they can."""
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            return tuple(pool.map(lambda subject: self._reason(subject, names), range(len(self.subjects))))

    def _reason(self, subject: int, names: Sequence[str]) -> str:
        face = self.face(subject)
        if isinstance(face, str):
            return face
        picture = self.subjects.picture(subject)
        if not _TINTED.isdisjoint(names) and is_grey(picture):
            return COLORLESS
        why = faces.unsuited(face, names) or (faces.CURLY if "bangs" in names and faces.is_curly(face, picture) else "")
        if why:
            return why
        for name, read in (("skin_tone", colors.own_tone), ("hair_color", colors.own_hair)):
            if name in names and (levels := self.levels.get(name)):
                own = read(picture, face)
                if max(abs(level - own) for level in levels) > self.steps[name]:
                    return LIMITS[name].left_out.format(self.steps[name])
        return ""

    def describe(self) -> dict[str, Any]:
        """What recreates what is composited, as JSON values."""
        limit = {LIMITS[name].option: self.steps[name] for name in self.levels}
        return {"version": VERSION, "marks": self.finder.describe(), **limit}

    def statement(self, names: Sequence[str]) -> str:
        """How what is composited under these names was placed, how large it is, and how it was checked."""
        if tuple(names) not in self._statements:
            some, steps = range(min(len(self.subjects), _LOOKED_AT)), self.steps["skin_tone"]
            looks = [_look(self._seated(one), names, steps) for one in some]
            source = self.finder.describe().get("name", "a finder")
            said = [f"Composited on the face, by marks of {source}, and no photograph of it:"]
            said += [_said(name, looks) for name in names]
            limits = [self._limit(name) for name in LIMITS if name in names]
            self._statements[tuple(names)] = " ".join([*said, *(f"{text[0].upper()}{text[1:]}." for text in limits)])
        return self._statements[tuple(names)]


class _Look(NamedTuple):
    """What a statement says of one photograph: masks' shares, ITA as it is, lighter and darker, the head's error."""

    shares: Mapping[str, float]
    ita: tuple[float, float, float]
    error: float


def _look(sitting: Sitting, names: Sequence[str], steps: float) -> _Look:
    shares = {name: float(sitting.changed(Edits(**{name: _PROBES[name]})).mean()) for name in names}
    ita = (math.nan,) * 3
    if "skin_tone" in names:
        ends = np.clip([sitting.skin.tone - steps, sitting.skin.tone + steps], colors.LIGHTEST, colors.DARKEST).tolist()
        light, dark = (sitting.ita(Edits(skin_tone=tone, metering=1.0)) for tone in ends)
        ita = (sitting.skin.ita, light, dark)
    return _Look(shares, ita, sitting.head.error if set(_WORN) & set(names) else math.nan)


def _said(name: str, looks: Sequence[_Look]) -> str:
    shares = [look.shares[name] for look in looks]
    size = f"its mask holds {np.median(shares):.0%} of a picture (median; at most {max(shares):.0%})"
    return f"{name.replace('_', ' ')}: {size}; {_checked(name, looks)}."


def _checked(name: str, looks: Sequence[_Look]) -> str:
    """How the level was checked."""
    if name == "skin_tone":
        before, light, dark = np.median([look.ita for look in looks], axis=0)
        return (
            f"ITA of the skin is read back: median {before:.0f} degrees before, {light:.0f} at the lightest tone that"
            f" is allowed and {dark:.0f} at the darkest, with the scene metered"
        )
    if name in {"face_mask", "glasses", "hat"}:
        errors = [look.error for look in looks]
        return (
            f"placed by a head whose landmarks lie {np.median(errors):.1%} of the eyes' distance from the face's"
            f" (median; at most {max(errors):.1%}); nothing reads it back"
        )
    return "nothing reads it back"


_PROBES: Final = {
    **{"skin_tone": 5.0, "hair_color": 0.5, "lipstick": 1.0},
    **{"beard_shadow": 1.0, "face_mask": 1.0, "glasses": 2.0, "bangs": 1.0, "hat": 3.0},
}
"""The levels by which the sizes of masks are stated."""


def left_out_by_group(subjects: Subjects, reasons: Sequence[str]) -> Iterator[str]:
    """How many photographs of each value of a label are left out for each reason, "" where it is used."""
    why = np.array(reasons)
    for attribute in subjects.labelled.attributes:
        values = subjects.label(attribute.name)
        levels = np.unique(values[np.isfinite(values)])
        if not 1 < len(levels) <= _GROUPS:
            continue
        for reason in dict.fromkeys(filter(None, reasons)):
            counts = ", ".join(
                f"{attribute.label(float(level))} {np.sum((why == reason) & (values == level)):,} of "
                f"{np.sum(values == level):,}"
                for level in levels
            )
            yield f"Left out by {spaced(attribute.name)}, {reason}: {counts}."
