"""The network of marks that ships."""

from __future__ import annotations

import functools
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, cast, final

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from transect.engines.one_thread import one_thread_per_operation
from transect.marks.geometry import Square, brought_back, seen
from transect.marks.records import EYES, MASKS, MIRRORED, NO_FACE, POINTS, SEVERAL, Marks, five_points
from transect.records import Images
from transect.runs import model_files
from transect.runs.model_files import Arrays, Facts, read_content

SIZE: Final = 96
"""Width and height at which the network looks, in pixels."""
FACES: Final = ("none", "one", "several")
"""How many faces a picture shows, the columns of `faces`."""
WORN: Final = ("glasses", "hat")
"""What a face may wear, the columns of `worn`; the mask of what is not worn is empty."""
_CHANNELS: Final = (24, 64, 128, 160)
_DECODED: Final = (48, 64, 96)
_STEM: Final = 16
_CENTER, _SPREAD = 0.45, 0.25


class Answers(NamedTuple):
    """What the network says of each picture.

    heat: logits [b, 68, s/2, s/2]. points: [b, 68, 2], x and y in widths of the picture. errors: logarithms [b, 68] of
    each point's expected distance from the truth, in widths. masks: logits [b, masks, s, s]. faces: logits [b, 3].
    worn: logits [b, 2] that the face wears each of WORN.
    """

    heat: Float[Tensor, "b 68 h w"]
    points: Float[Tensor, "b 68 2"]
    errors: Float[Tensor, "b 68"]
    masks: Float[Tensor, "b m s s"]
    faces: Float[Tensor, "b 3"]
    worn: Float[Tensor, "b 2"]


def _unit(before: int, after: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(before, after, 3, stride, 1, bias=False), nn.BatchNorm2d(after), nn.ReLU(inplace=True)
    )


class MarksNetwork(nn.Module):
    """From pictures [b, 3, SIZE, SIZE] in 0..1 to `Answers`; in evaluation each depends on its own picture alone."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = _unit(3, _STEM)
        stages, before = [], _STEM
        for after in _CHANNELS:
            stages.append(nn.Sequential(_unit(before, after, 2), _unit(after, after)))
            before = after
        self.stages = nn.ModuleList(stages)
        self.beside = nn.ModuleList(nn.Conv2d(c, d, 1) for c, d in zip(_CHANNELS, _DECODED, strict=False))
        coarser = (*_DECODED[1:], _CHANNELS[-1])
        self.down = nn.ModuleList(nn.Conv2d(c, d, 1) for c, d in zip(coarser, _DECODED, strict=True))
        self.mix = nn.ModuleList(_unit(d, d) for d in _DECODED)
        self.heat = nn.Conv2d(_DECODED[0], POINTS, 1)
        self.masks = nn.Conv2d(_DECODED[0], 4 * len(MASKS), 1)
        self.whole = nn.Sequential(nn.Linear(_CHANNELS[-1] * (SIZE // 16) ** 2, 96), nn.ReLU(inplace=True))
        self.errors = nn.Linear(96 + POINTS, POINTS)
        self.faces = nn.Linear(96, len(FACES))
        self.worn = nn.Linear(96, len(WORN))

    def folded(self) -> MarksNetwork:
        """The network with batch norms folded into the convolutions, for evaluation alone; its answers are the same."""
        self.eval()
        for part in self.modules():
            if isinstance(part, nn.Sequential) and len(part) > 1 and isinstance(part[1], nn.BatchNorm2d):
                part[0], part[1] = fuse_conv_bn_eval(cast(nn.Conv2d, part[0]), part[1]), nn.Identity()
        return self

    def forward(self, pictures: Float[Tensor, "b 3 s s"]) -> Answers:
        """The answers."""
        x, seen = self.stem((pictures - _CENTER) / _SPREAD), []
        for stage in self.stages:
            x = stage(x)
            seen.append(x)
        whole = self.whole(x.flatten(1))
        for level in reversed(range(len(_DECODED))):
            larger = functional.interpolate(self.down[level](x), scale_factor=2.0, mode="nearest")
            x = self.mix[level](larger + self.beside[level](seen[level]))
        heat = self.heat(x)
        points, spread = placed(heat.float())
        errors = self.errors(torch.cat([whole.float(), spread.detach()], dim=1).to(whole.dtype))
        masks = functional.pixel_shuffle(self.masks(x), 2)
        return Answers(heat, points, errors, masks, self.faces(whole), self.worn(whole))


def placed(heat: Float[Tensor, "b k h w"]) -> tuple[Float[Tensor, "b k 2"], Float[Tensor, "b k"]]:
    """The mean place under the softmax of each map, in widths, and the logarithm of its spread."""
    side = heat.shape[-1]
    shares = heat.flatten(2).softmax(dim=2).reshape(heat.shape)
    middles = (torch.arange(side, dtype=heat.dtype, device=heat.device) + 0.5) / side
    across, down = shares.sum(dim=2), shares.sum(dim=3)
    x, y = (across * middles).sum(dim=2), (down * middles).sum(dim=2)
    width = (across * (middles - x[..., None]).square()).sum(dim=2)
    height = (down * (middles - y[..., None]).square()).sum(dim=2)
    return torch.stack([x, y], dim=2), (width + height + 1e-6).log() / 2


WEIGHTS: Final = Path(__file__).parent / "weights" / "marks.safetensors"
KIND: Final = "transect.marks"
LOOKS: Final = 3
"""How often it looks at a picture: at all of it, then about the face."""
ABOUT: Final = 1.75
"""Side of the square about the face over the longer side of its points' box."""
CLOSE: Final = 1.25
"""The same at one more look, which gives the points and tells whether glasses are worn: thin frames show only there."""
LIMIT: Final = 0.1
"""Confidence orders pictures by the chance that points are wrong by less than this share of the eyes' distance on
average. It is that chance on spoiled renderings; on photographs it is an order alone."""
IS_WORN: Final = {"glasses": 0.752, "hat": 0.5}
"""The least answer that counts, by `python -m validation portraits --choose` on portraits that measure nothing else."""


@final
@dataclass(frozen=True, slots=True)
class Taught:
    """A trained network and what was fitted after it.

    bend, slope: probability of an error below LIMIT = 1 / (1 + exp(-(bend - slope ln e))), e the expected error in eye
    distances. threshold: of confidence.
    """

    network: MarksNetwork
    bend: float
    slope: float
    threshold: float
    sha256: str = ""


@final
@dataclass(frozen=True, slots=True)
class Found:
    """What was seen on one picture.

    points: in pixels; masks: [m, h, w] 0..1; faces, worn: answers 0..1; expected: error in eye distances.
    """

    points: Float[np.ndarray, "68 2"]
    masks: Float[np.ndarray, "m h w"]
    faces: Float[np.ndarray, " 3"]
    worn: Float[np.ndarray, " 2"]
    expected: float


@functools.lru_cache(maxsize=4)
def load(path: Path = WEIGHTS) -> Taught:
    """The network of a file that tools/marks_network.py wrote; by default the one that ships."""
    with torch.inference_mode(False):
        remedy = "leave the path out to use the built-in one"
        taught = read_content(path, {KIND: _parse}, expected="a file of the network of marks", remedy=remedy)
    return Taught(taught.network, taught.bend, taught.slope, taught.threshold, model_files.sha256(path))


def _parse(arrays: Arrays, facts: Facts) -> Taught:
    weights = {name: torch.from_numpy(array).float() for name, array in arrays.items()}
    if not all(bool(torch.isfinite(tensor).all()) for tensor in weights.values()):
        raise ValueError("its weights are not finite")
    if json.loads(facts["masks"]) != list(MASKS):
        raise ValueError("its masks mark other parts")
    network = MarksNetwork().folded()
    network.load_state_dict(weights)
    bend, slope, threshold = (float(json.loads(facts[name])) for name in ("bend", "slope", "threshold"))
    if not all(map(math.isfinite, (bend, slope, threshold))):
        raise ValueError("its confidence is not finite")
    return Taught(network.requires_grad_(False), bend, slope, threshold)


@final
class NetworkMarks:
    """Points, masks and confidence by the network. The file is one that tools/marks_network.py wrote."""

    name = "network"

    def __init__(self, path: Path = WEIGHTS) -> None:
        self._taught = load(path)
        self.threshold = self._taught.threshold

    def describe(self) -> dict[str, Any]:
        """Name, SHA-256 of the weights and settings, as JSON values."""
        return {"name": self.name, "sha256": self._taught.sha256, "looks": LOOKS, "threshold": self.threshold}

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The marks of each picture; without a face, or with several, no points, and masks of the whole picture."""
        del rows
        Images(pixels)
        with one_thread_per_operation():
            found = [look(self._taught.network, picture) for picture in pixels]
        height, width = pixels.shape[1:3]
        points = np.array([one.points for one in found], dtype=np.float64).reshape(-1, 68, 2)
        shares = np.array([one.masks for one in found], np.float32).reshape(-1, len(MASKS), height, width)
        faces = np.array([one.faces for one in found], dtype=np.float64).reshape(-1, len(FACES))
        reasons = tuple({0: NO_FACE, 2: SEVERAL}.get(int(row.argmax()), "") for row in faces)
        there = np.array([not reason for reason in reasons], dtype=np.bool_)
        points[~there] = np.nan
        odds = self._taught.bend - self._taught.slope * np.log(np.array([one.expected for one in found]))
        sure = faces[:, 1] * (1 / (1 + np.exp(-odds)))
        masks = {name: shares[:, place] for place, name in enumerate(MASKS)}
        return Marks(points, five_points(points), masks, np.where(there, sure, 0.0), reasons, self.name)


def look(network: MarksNetwork, picture: UInt8[np.ndarray, "h w 3"]) -> Found:
    """Look at the picture LOOKS times, then nearer. Masks beyond the last of LOOKS are those of the whole picture."""
    height, width = picture.shape[:2]
    square = Square.whole(width, height)
    points, _, shares, faces, worn = _answers(network, picture, square)
    masks = [brought_back(share, square, width, height)[0] for share in shares]
    for _ in range(LOOKS - 1):
        square = Square.about(square.placed(points), ABOUT)
        points, _, shares, _, worn = _answers(network, picture, square)
    for place, share in enumerate(shares):
        near, inside = brought_back(share, square, width, height)
        masks[place] = np.where(inside, near, masks[place])
    square = Square.about(square.placed(points), CLOSE)
    points, errors, _, _, near_worn = _answers(network, picture, square)
    worn[WORN.index("glasses")] = near_worn[WORN.index("glasses")]
    for name, probability in zip(WORN, worn, strict=True):
        if probability < IS_WORN[name]:
            masks[MASKS.index(name)][:] = 0
    eyes = [points[part].mean(axis=0) for part in EYES]
    across = max(float(np.linalg.norm(eyes[1] - eyes[0])), 1e-3)
    return Found(square.placed(points), np.array(masks, np.float32), faces, worn, float(errors.mean()) / across)


def _answers(network: MarksNetwork, picture: UInt8[np.ndarray, "h w 3"], square: Square) -> tuple[np.ndarray, ...]:
    """Points [68, 2] and expected errors [68] in widths of the square, masks [m, s, s], chances of FACES and WORN.

    A picture and its mirror image are asked together; the answers are the means of both.
    """
    near = seen(picture, square, SIZE)
    with torch.inference_mode():
        answers = network(_as_input(np.stack([near, near[:, ::-1]])))
        faces, worn = answers.faces.softmax(dim=1), answers.worn.sigmoid()
        answers.points[1, :, 0] = 1 - answers.points[1, :, 0]
        answers.points[1], answers.errors[1] = answers.points[1, MIRRORED], answers.errors[1, MIRRORED]
        answers.masks[1] = answers.masks[1].flip(-1)
    parts = (answers.points, answers.errors.exp(), answers.masks.sigmoid(), faces, worn)
    return tuple(part.double().mean(dim=0).numpy() for part in parts)


def _as_input(pixels: UInt8[np.ndarray, "b s s 3"]) -> Float[Tensor, "b 3 s s"]:
    return torch.from_numpy(np.array(pixels)).permute(0, 3, 1, 2).float() / 255
