"""One photograph's face, and what is composited on it: each part is taken apart and drawn once, whatever is set."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, final

import numpy as np
from jaxtyping import Bool, UInt8

from transect.generators.photographs.appearance import shades, skin_colors, tone
from transect.generators.photographs.appearance.cameras import Camera, camera_of
from transect.generators.photographs.appearance.faces import Face
from transect.generators.photographs.appearance.layers import Layer, laid
from transect.generators.photographs.appearance.scene_light import pixels_of, scene_of
from transect.generators.photographs.attributes import NEUTRAL, Edits

if TYPE_CHECKING:
    from transect.generators.photographs.appearance.heads import Head

_WORN = ("beard_shadow", "face_mask", "glasses", "bangs", "hat")
_STUBBLE = 0.15
VERSION = 2
"""Another compositing makes other pictures: raised whenever a pixel changes."""


@final
class Sitting:
    """A photograph with its face. key: of its own noise.

    known: the tone of the skin where it is known; else it is read from the picture.
    """

    def __init__(
        self, picture: UInt8[np.ndarray, "h w 3"], face: Face, key: int = 0, known: float | None = None
    ) -> None:
        self.picture, self.face, self.key, self.known = picture, face, key, known
        self._drawn: dict[tuple[str, float, float], Layer] = {}

    @functools.cached_property
    def skin(self) -> tone.Skin:
        """The skin, taken apart."""
        return tone.skin_of(self.picture, self.face, self.known)

    @functools.cached_property
    def hair(self) -> shades.Hair:
        """The hair, taken apart."""
        return shades.hair_of(self.picture, self.face, self.skin.tone)

    @functools.cached_property
    def hair_level(self) -> float:
        """The color of the hair from black (0) to blond (1), by its luminance."""
        return shades.read_hair(self.hair) if (self.face.masks["hair"] > 0).any() else _STUBBLE

    @functools.cached_property
    def lips(self) -> shades.Lips:
        """Where the lips are."""
        return shades.lips_of(self.face)

    @functools.cached_property
    def head(self) -> Head:
        """FaceWorld's head in the place of the face, in its light."""
        from transect.engines.one_thread import one_thread_per_operation
        from transect.generators.photographs.appearance.heads import head_of, lit

        with one_thread_per_operation():
            return lit(head_of(self.face), self.face, self.picture)

    @functools.cached_property
    def camera(self) -> Camera:
        """The camera that took the photograph."""
        return camera_of(self.picture, self.face, self.skin.tone)

    def worn(self, name: str, level: float, color: float = NEUTRAL["hair_color"]) -> Layer:
        """What lies before the photograph at that level of one of _WORN; it is drawn once. color: that of a fringe."""
        from transect.engines.one_thread import one_thread_per_operation

        if (name, level, color) not in self._drawn:
            with one_thread_per_operation():
                self._drawn[name, level, color] = self._draw(name, level, color)
        return self._drawn[name, level, color]

    def _draw(self, name: str, level: float, color: float) -> Layer:
        from transect.generators.photographs.appearance import fringe, worn

        place = (self.head, self.face, self.camera, self.key)
        if name == "glasses":
            return worn.glasses_of(*place, int(level))
        if name == "face_mask":
            return worn.face_mask_of(*place)
        if name == "hat":
            return worn.hat_of(*place, worn.HATS_WORN[int(level) - 1])
        if name == "bangs":
            dyed = color != NEUTRAL["hair_color"]
            shown = shades.color_of(self.hair, color) if dyed else self.hair.middle
            return fringe.fringe_of(*place, level, shown, color if dyed else self.hair_level)
        return worn.beard_of(*place, level, self.hair_level)

    def dressed(self, edits: Edits) -> UInt8[np.ndarray, "h w 3"]:
        """The photograph with what these edits composite; itself, not a copy, where that is nothing."""
        picture = self.picture
        if edits.skin_tone != NEUTRAL["skin_tone"]:
            picture = self._toned(edits.skin_tone, self.stops(edits))
        if edits.hair_color != NEUTRAL["hair_color"]:
            picture = self._colored(picture, edits)
        if edits.lipstick:
            picture = self._painted(picture, edits)
        for layer in self._layers(edits):
            shown = picture.copy()
            part = picture[layer.rows, layer.columns]
            shown[layer.rows, layer.columns] = laid(part, layer, 2.0 ** self.stops(edits))
            picture = shown
        return picture

    def _layers(self, edits: Edits) -> list[Layer]:
        """What is worn, from back to front."""
        levels = {name: level for name in _WORN if (level := getattr(edits, name))}
        colors = {"bangs": edits.hair_color}
        return [self.worn(name, level, colors.get(name, NEUTRAL["hair_color"])) for name, level in levels.items()]

    def stops(self, edits: Edits) -> float:
        """Stops that the camera adds for skin of the tone that is set; 0 where its exposure is held."""
        if edits.skin_tone == NEUTRAL["skin_tone"]:
            return 0.0
        return skin_colors.remetered(self.skin.tone, edits.skin_tone, int(edits.metering))

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
        return tone.median_ita(self.dressed(edits)[skin.rows, skin.columns], skin.sure)

    def _toned(self, level: float, stops: float) -> UInt8[np.ndarray, "h w 3"]:
        shown = pixels_of(scene_of(self.picture) * np.float32(2.0**stops)) if stops else self.picture.copy()
        shown[self.skin.rows, self.skin.columns] = tone.toned_skin(self.skin, level, stops)
        return shown

    def _painted(self, picture: UInt8[np.ndarray, "h w 3"], edits: Edits) -> UInt8[np.ndarray, "h w 3"]:
        lips, shown = self.lips, picture.copy()
        part = picture[lips.rows, lips.columns]
        of_skin = edits.skin_tone or self.skin.tone
        shown[lips.rows, lips.columns] = shades.painted_lips(part, lips, edits.lipstick, of_skin)
        return shown

    def _colored(self, picture: UInt8[np.ndarray, "h w 3"], edits: Edits) -> UInt8[np.ndarray, "h w 3"]:
        """Hair is colored on the photograph as it is, so that its border is told from the skin that was there."""
        hair, shown = self.hair, picture.copy()
        part = shown[hair.rows, hair.columns]
        shown[hair.rows, hair.columns] = shades.colored_hair(hair, part, edits.hair_color, self.stops(edits))
        return shown
