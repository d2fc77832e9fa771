"""Glasses and the shade of a beard on a photograph: FaceWorld's, on the fitted head, in the light of the face.

A pixel behind glasses is `passed` x its light + `added`: what frame and lenses let through (with the shade that they
cast on the skin), and what they show themselves. Both are drawn by FaceWorld's own glasses over a black and over a
white scene, so that lenses do not bend what is behind them. Their edges are as blurred as the photograph's, and what
they add has its noise.
"""

from __future__ import annotations

from typing import Final, TypeAlias, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from transect.generators.faceworld.canvas import canvas_of, spread_over
from transect.generators.faceworld.facial_hair import facial_hair
from transect.generators.faceworld.glasses import glasses
from transect.generators.faceworld.hats import hat
from transect.generators.faceworld.lighting import Illumination
from transect.generators.faceworld.textures import draw_lattices
from transect.generators.faceworld.windows import cut, upright_box
from transect.generators.photographs.appearance.cameras import Camera
from transect.generators.photographs.appearance.faces import Face, blurred
from transect.generators.photographs.appearance.heads import SIZE, Head
from transect.generators.photographs.appearance.layers import Layer, layer_of

Span: TypeAlias = tuple[float, float]
_FINER: Final = 1.6
"""Pixels of FaceWorld's picture to a pixel of the photograph."""
_LARGEST: Final = 1024
_HAIRS: Final = 0.05
_DENSEST: Final = 0.7


@final
class Stage:
    """The canvas of a head on which FaceWorld draws what lies before a photograph, and the way back to it.

    across, down: the upright picture coordinates between which that lies. key: of the noise, the photograph's own.
    """

    def __init__(self, head: Head, face: Face, camera: Camera, key: int, across: Span, down: Span) -> None:
        self.head, self.face, self.camera, self.key = head, face, camera, key
        self.canvas = canvas_of(int(np.clip(round(SIZE * head.scale * _FINER), 32, _LARGEST)))
        with torch.inference_mode():
            p = head.rows()
            self.window = upright_box(self.canvas, p, across, down)
            self.frame = cut(head.frame(p, self.canvas), self.window)
        self.matrix = head.onto(self.canvas.size)
        self.matrix[:, 2] += self.matrix[:, :2] @ (self.window.columns.start, self.window.rows.start)

    def seen(self, mask: Float[np.ndarray, "h w"]) -> Tensor:
        """A mask of the photograph on the canvas' window, [1, h, w]."""
        import cv2

        height, width = self.frame.X.shape[1:]
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        return torch.from_numpy(cv2.warpAffine(mask, self.matrix, (width, height), flags=flags))[None]

    def layer(self, black: Tensor, white: Tensor) -> Layer:
        """What was drawn [3, h, w] over a black and over a white scene, as what lies before the photograph."""
        dark, bright = (part.permute(1, 2, 0).numpy() for part in (black, white))
        passed = 1 - self._shown(1 - (bright - dark))
        added = self._shown(dark * np.float32(self.camera.gain))
        return layer_of(passed, added, self.camera.noise, self.key)

    def _shown(self, part: Float[np.ndarray, "h w 3"]) -> Float[np.ndarray, "_ _ 3"]:
        """A part of the canvas on the photograph, averaged over its pixels and as blurred as it is."""
        import cv2

        height, width = self.face.masks["skin"].shape
        smooth = blurred(np.ascontiguousarray(part, dtype=np.float32), 0.35 * _FINER)
        placed = cv2.warpAffine(smooth, self.matrix, (width, height), flags=cv2.INTER_LINEAR)
        return blurred(np.asarray(placed), self.camera.blur)


def glasses_of(head: Head, face: Face, camera: Camera, key: int, kind: int) -> Layer:
    """The glasses of that kind (index of GLASSES) on a head."""
    stage = Stage(head, face, camera, key, (-0.98, 0.98), (-0.62, 0.48))
    with torch.inference_mode():
        p = head.rows(glasses=np.array([float(kind)]))
        black = torch.zeros(1, 3, *stage.frame.X.shape[1:])
        hair = stage.seen(face.masks["hair"])
        return stage.layer(*(glasses(stage.frame, p, black + light, hair)[0] for light in (0.0, 1.0)))


def beard_of(head: Head, face: Face, camera: Camera, key: int, amount: float, hair_color: float) -> Layer:
    """The shade of stubble, from none (0) to dense (1), on the skin of a face."""
    stage = Stage(head, face, camera, key, (-0.8, 0.8), (0.0, 1.1))
    with torch.inference_mode():
        p = head.rows(facial_hair=np.array([_DENSEST * amount]), hair_color=np.array([hair_color]))
        white = torch.ones(1, 3, *stage.frame.X.shape[1:])
        lattices = draw_lattices([key], stage.canvas.device)
        light = Illumination(white[:, 0], 0 * white[:, 0])
        shaded = facial_hair(stage.frame, p, white, light, lattices)
        shaded = 1 - (1 - shaded) * (stage.seen(face.masks["skin"]) * stage.frame.head).unsqueeze(1)
        # Hairs return a little grey light, so that what shows between them is not the skin's color alone.
        grey = _HAIRS * (1 - shaded[0])
        return stage.layer(grey, grey + shaded[0])


def hat_of(head: Head, face: Face, camera: Camera, key: int, kind: int) -> Layer:
    """The hat of that kind (index of FaceWorld's HATS) on a head, and its shade on skin and hair."""
    stage = Stage(head, face, camera, key, (-1.3, 1.3), (-1.5, 1.6))
    with torch.inference_mode():
        p = head.rows(hat=np.array([float(kind)]))
        lattices = draw_lattices([key], stage.canvas.device)
        folds = stage.window.of(spread_over(stage.canvas, lattices["folds"])).contiguous()
        worn = hat(stage.frame, p, folds)
        person = (stage.seen(face.masks["skin"]) + stage.seen(face.masks["hair"])).clamp(max=1)
        passed = (1 - person * (1 - torch.exp(-worn.shadow))) * (1 - worn.cover)
        shown = worn.radiance[0] * worn.cover
        return stage.layer(shown, shown + passed.expand(3, -1, -1))
