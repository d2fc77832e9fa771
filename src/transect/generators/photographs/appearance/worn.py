"""What is worn on a photograph's face and head: FaceWorld's, on the fitted head, in the light of the face.

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

from transect.generators.faceworld.attributes import HATS
from transect.generators.faceworld.canvas import canvas_of, spread_over
from transect.generators.faceworld.facial_hair import facial_hair
from transect.generators.faceworld.glasses import glasses
from transect.generators.faceworld.hats import hat
from transect.generators.faceworld.lighting import Illumination
from transect.generators.faceworld.textures import draw_lattices
from transect.generators.faceworld.windows import cut, upright_box
from transect.generators.photographs.appearance.cameras import Camera
from transect.generators.photographs.appearance.face_mask import face_mask
from transect.generators.photographs.appearance.faces import Face, blurred
from transect.generators.photographs.appearance.heads import SIZE, Head
from transect.generators.photographs.appearance.layers import Layer, layer_of

Span: TypeAlias = tuple[float, float]
_FINER: Final = 1.6
"""Pixels of FaceWorld's picture to a pixel of the photograph."""
_COARSER: Final = 0.4
WHOLE_HEAD: Final = ((-1.3, 1.3), (-1.5, 1.6))
"""The upright picture coordinates between which a head with a hat or hair lies."""
HATS_WORN: Final = tuple(HATS.index(name) for name in ("cap", "beanie", "headscarf"))
"""The hats that photographs are given, as FaceWorld's levels: those that hold the hair close to the head."""
_LARGEST: Final = 1024
_HAIRS: Final = 0.05
_DENSEST: Final = 0.7


@final
class Stage:
    """The canvas of a head on which FaceWorld draws what lies before a photograph, and the way back to it.

    across, down: the upright picture coordinates between which that lies.
    finer: pixels of the canvas to a pixel of the photograph.
    """

    def __init__(self, head: Head, face: Face, across: Span, down: Span, finer: float = _FINER) -> None:
        self.head, self.face, self.finer = head, face, finer
        self.canvas = canvas_of(int(np.clip(round(SIZE * head.scale * finer), 32, _LARGEST)))
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

    def layer(self, camera: Camera, key: int, black: Tensor, white: Tensor) -> Layer:
        """What was drawn [3, h, w] over a black and over a white scene, as what lies before the photograph.

        key: of the noise of what hides the photograph, as much as its own.
        """
        dark, bright = (part.permute(1, 2, 0).numpy() for part in (black, white))
        passed = 1 - blurred(self.shown(1 - (bright - dark)), camera.blur)
        added = blurred(self.shown(dark * np.float32(camera.gain)), camera.blur)
        return layer_of(passed, added, camera.noise, key)

    def shown(self, part: Float[np.ndarray, "h w *c"]) -> Float[np.ndarray, "_ _ *c"]:
        """A part of the canvas on the photograph, averaged over its pixels."""
        import cv2

        height, width = self.face.masks["skin"].shape
        smooth = blurred(np.ascontiguousarray(part, dtype=np.float32), 0.35 * self.finer)
        return np.asarray(cv2.warpAffine(smooth, self.matrix, (width, height), flags=cv2.INTER_LINEAR))


def glasses_of(head: Head, face: Face, camera: Camera, key: int, kind: int) -> Layer:
    """The glasses of that kind (index of GLASSES) on a head."""
    stage = Stage(head, face, (-0.98, 0.98), (-0.62, 0.48))
    with torch.inference_mode():
        p = head.rows(glasses=np.array([float(kind)]))
        black = torch.zeros(1, 3, *stage.frame.X.shape[1:])
        hair = stage.seen(face.masks["hair"])
        return stage.layer(camera, key, *(glasses(stage.frame, p, black + light, hair)[0] for light in (0.0, 1.0)))


def beard_of(head: Head, face: Face, camera: Camera, key: int, amount: float, hair_color: float) -> Layer:
    """The shade of stubble, from none (0) to dense (1), on the skin of a face."""
    stage = Stage(head, face, (-0.8, 0.8), (0.0, 1.1))
    with torch.inference_mode():
        p = head.rows(facial_hair=np.array([_DENSEST * amount]), hair_color=np.array([hair_color]))
        white = torch.ones(1, 3, *stage.frame.X.shape[1:])
        lattices = draw_lattices([key], stage.canvas.device)
        light = Illumination(white[:, 0], 0 * white[:, 0])
        shaded = facial_hair(stage.frame, p, white, light, lattices)
        shaded = 1 - (1 - shaded) * (stage.seen(face.masks["skin"]) * stage.frame.head).unsqueeze(1)
        # Hairs return a little grey light, so that what shows between them is not the skin's color alone.
        grey = _HAIRS * (1 - shaded[0])
        return stage.layer(camera, key, grey, grey + shaded[0])


def hat_of(head: Head, face: Face, camera: Camera, key: int, kind: int) -> Layer:
    """The hat of that kind (index of FaceWorld's HATS) on a head, and its shade on skin and hair."""
    stage = Stage(head, face, *WHOLE_HEAD)
    with torch.inference_mode():
        p = head.rows(hat=np.array([float(kind)]))
        lattices = draw_lattices([key], stage.canvas.device)
        folds = stage.window.of(spread_over(stage.canvas, lattices["folds"])).contiguous()
        worn = hat(stage.frame, p, folds)
        person = (stage.seen(face.masks["skin"]) + stage.seen(face.masks["hair"])).clamp(max=1)
        passed = (1 - person * (1 - torch.exp(-worn.shadow))) * (1 - worn.cover)
        shown = worn.radiance[0] * worn.cover
        return stage.layer(camera, key, shown, shown + passed.expand(3, -1, -1))


def face_mask_of(head: Head, face: Face, camera: Camera, key: int) -> Layer:
    """A surgical mask on a head, and its shade on the skin."""
    stage = Stage(head, face, (-0.98, 0.98), (-0.4, 1.25))
    with torch.inference_mode():
        radiance, cover, shadow = face_mask(stage.frame, head.rows(), stage.seen(face.masks["hair"]))
        passed = (1 - stage.seen(face.masks["skin"]) * (1 - torch.exp(-shadow))) * (1 - cover)
        shown = radiance[0] * cover
        return stage.layer(camera, key, shown, shown + passed.expand(3, -1, -1))


def hair_beside(head: Head, face: Face) -> float:
    """How much hair stands out from under a cap, a beanie or a headscarf, over what that covers: the most of the three.

    What hangs down below the eyes counts beside a headscarf alone.
    """
    stage = Stage(head, face, *WHOLE_HEAD, _COARSER)
    rows = np.arange(face.masks["hair"].shape[0])[:, None]
    above = rows < face.points[36:48, 1].mean()
    most = 0.0
    with torch.inference_mode():
        nothing = torch.zeros_like(stage.frame.X)
        for kind in HATS_WORN:
            cover = stage.shown(hat(stage.frame, head.rows(hat=np.array([float(kind)])), nothing).cover[0].numpy())
            beside = face.masks["hair"] * (1 - cover) * (above | (HATS[kind] == "headscarf"))
            most = max(most, float(beside.sum() / max(cover.sum(), 1.0)))
    return most
