"""What happens to an image before a model sees it, declared once and printed in the report.

In this order: aligned face or central crop, channel order, resize, range, mean and standard deviation, layout.
Resizing is Pillow's: antialiased integer arithmetic on 8-bit channels, the same on every machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, final

import numpy as np
import PIL
from jaxtyping import Float, Float32, UInt8
from PIL import Image

from transect.errors import BadInput, did_you_mean
from transect.runs import toml_files
from transect.targets.alignment import FILTERS, SIZES

_Table = Mapping[str, Any]
"""Settings as TOML holds them, before they are checked."""
_FILTERS = {
    "nearest": Image.Resampling.NEAREST,
    "box": Image.Resampling.BOX,
    "bilinear": Image.Resampling.BILINEAR,
    "bicubic": Image.Resampling.BICUBIC,
    "lanczos": Image.Resampling.LANCZOS,
}
_CHOICES = {"channel_order": ("RGB", "BGR", "gray"), "layout": ("NCHW", "NHWC"), "filter": tuple(_FILTERS)}
OF_FACES = ("align", "landmarks")
"""Settings that are described only where they are stated."""


@final
@dataclass(frozen=True, slots=True)
class Preprocess:
    """How pixels become a model's input.

    size: (height, width) given to the model, None for the image's own. crop: None keeps the whole image (and
    stretches it to `size`); a number c in (0, 1] keeps the central square of side c times the shorter side, so that
    "resize to 256, center crop 224" is size 224, crop .875. range: what 0 and 255 become. mean, std: one number,
    or one per channel in the model's channel order, subtracted and divided after the range. Gray is the luma
    .299 R + .587 G + .114 B (ITU-R BT.601, 8 bit) in one channel. align: the crop of the face that the model was taught
    on, as `transect.targets.alignment` has them: arcface-112, ffhq or box; then `apply` gets such crops. landmarks:
    dlib's shape predictor of 68 points, by which faces are found; None for landmarks that come with the images.

    >>> print(Preprocess(size=(224, 224), mean=(0.485, 0.456, 0.406), std=(0.229, 0.224, 0.225)))
    whole image, RGB, resized to 224x224 (bilinear), range 0 to 1, mean 0.485 0.456 0.406, std 0.229 0.224 0.225, NCHW
    """

    size: tuple[int, int] | None = None
    crop: float | None = None
    channel_order: Literal["RGB", "BGR", "gray"] = "RGB"
    layout: Literal["NCHW", "NHWC"] = "NCHW"
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    range: tuple[float, float] = (0.0, 1.0)
    filter: Literal["nearest", "box", "bilinear", "bicubic", "lanczos"] = "bilinear"
    align: Literal["arcface-112", "ffhq", "box"] | None = None
    landmarks: str | None = None

    def __post_init__(self) -> None:
        fault = _fault({field.name: getattr(self, field.name) for field in fields(self)})
        if fault:
            raise BadInput(f"preprocess: {fault}")

    @classmethod
    def from_toml(cls, path: str | Path) -> Preprocess:
        """Read from the keys of a TOML file, or from its table [preprocess]. Raises BadInput naming file and key."""
        table = toml_files.read(Path(path))
        inner = table.get("preprocess", table)
        if not isinstance(inner, dict):
            raise BadInput(f"{path}: preprocess: expected a table [preprocess], got {inner!r}")
        return cls.from_mapping(inner, str(path))

    @classmethod
    def from_mapping(cls, table: _Table, source: str = "preprocess") -> Preprocess:
        """Read from plain values (lists for tuples). Raises BadInput naming `source` and key."""
        defaults = {field.name: field.default for field in fields(cls)}
        for key in table:
            if key not in defaults:
                raise BadInput(f"{source}: unknown key {key!r}: {did_you_mean(key, defaults, most=1)}")
        values: _Table = {key: _plain(key, value) for key, value in table.items()}
        fault = _fault({**defaults, **values})
        if fault:
            raise BadInput(f"{source}: {fault}")
        return cls(**values)

    @property
    def channels(self) -> int:
        """Channels that the model gets: 1 for gray, 3 otherwise."""
        return 1 if self.channel_order == "gray" else 3

    def describe(self) -> dict[str, object]:
        """Every setting as a JSON value, with the resizing library and the line of text; a file by its name alone."""
        settings = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        for key in OF_FACES:
            if settings[key] is None:
                del settings[key]
        if self.landmarks is not None:
            settings["landmarks"] = Path(self.landmarks).name
        return {**settings, "resized_by": f"Pillow {PIL.__version__}", "text": str(self)}

    def __str__(self) -> str:
        crop = "whole image" if self.crop is None else f"central square ({self.crop:g} of the shorter side)"
        crop = crop if self.align is None else f"face aligned as {self.align}, landmarks {self._landmarks_of()}"
        size = f", resized to {self.size[0]}x{self.size[1]} ({self.filter})" if self.size else ""
        low, high = self.range
        scaled = [f"mean {_numbers(self.mean)}"] if any(self.mean) else []
        scaled += [f"std {_numbers(self.std)}"] if any(value != 1 for value in self.std) else []
        return ", ".join([f"{crop}, {self.channel_order}{size}", f"range {low:g} to {high:g}", *scaled, self.layout])

    def apply(self, pixels: UInt8[np.ndarray, "n h w 3"]) -> Float32[np.ndarray, "n a b c"]:
        """The model's input, float32 [n, channels, height, width] or [n, height, width, channels]; each image alone."""
        top, left, height, width = self._window(pixels.shape[1], pixels.shape[2])
        window = pixels[:, top : top + height, left : left + width]
        ready = np.stack([self._channels(image) for image in window]) if len(window) else self._empty(height, width)
        low, high = self.range
        scaled = low + ready.astype(np.float32) * np.float32((high - low) / 255)
        normal = (scaled - np.asarray(self.mean, np.float32)) / np.asarray(self.std, np.float32)
        return np.ascontiguousarray(normal if self.layout == "NHWC" else normal.transpose(0, 3, 1, 2), dtype=np.float32)

    def _landmarks_of(self) -> str:
        return "of the images" if self.landmarks is None else f"by {Path(self.landmarks).name}"

    def boxes_to_image(self, boxes: Float[np.ndarray, "m 5"], image_shape: tuple[int, int]) -> Float[np.ndarray, "m 5"]:
        """Boxes (x0, y0, x1, y1, confidence) of the model's input, in pixels of the image (height, width) given."""
        top, left, height, width = self._window(*image_shape)
        rows, columns = self.size or (height, width)
        x_scale, y_scale = width / columns, height / rows
        scale, shift = [x_scale, y_scale, x_scale, y_scale, 1.0], [left, top, left, top, 0.0]
        return np.asarray(boxes * np.array(scale) + np.array(shift))

    def _window(self, height: int, width: int) -> tuple[int, int, int, int]:
        if self.crop is None:
            return 0, 0, height, width
        side = max(1, round(self.crop * min(height, width)))
        return (height - side) // 2, (width - side) // 2, side, side

    def _channels(self, image: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "a b c"]:
        picture = Image.fromarray(np.ascontiguousarray(image))
        if self.channel_order == "gray":
            picture = picture.convert("L")
        if self.size and (picture.height, picture.width) != self.size:
            picture = picture.resize((self.size[1], self.size[0]), _FILTERS[self.filter])
        out = np.asarray(picture, dtype=np.uint8).reshape(picture.height, picture.width, self.channels)
        return np.asarray(out[..., ::-1] if self.channel_order == "BGR" else out)

    def _empty(self, height: int, width: int) -> UInt8[np.ndarray, "0 a b c"]:
        return np.zeros((0, *(self.size or (height, width)), self.channels), dtype=np.uint8)


def _numbers(values: tuple[float, ...]) -> str:
    return " ".join(f"{value:g}" for value in values)


def _plain(key: str, value: object) -> object:
    """TOML's lists as tuples; one number for size, mean or std stands for all."""
    if isinstance(value, list):
        return tuple(value)
    if key == "size" and isinstance(value, int):
        return (value, value)
    return (value,) if key in ("mean", "std") and isinstance(value, int | float) else value


def _fault(settings: _Table) -> str:
    """What is wrong with the settings, naming the key; "" for nothing."""
    for key, allowed in _CHOICES.items():
        if settings[key] not in allowed:
            return f"{key}: expected one of {', '.join(allowed)}, got {settings[key]!r}"
    size, crop, span = settings["size"], settings["crop"], settings["range"]
    if size is not None and not _all(size, 2, lambda value: type(value) is int and value > 0):
        return f"size: expected two whole numbers above 0 (height, width), got {size!r}"
    if crop is not None and not (_number(crop) and 0 < crop <= 1):
        return f"crop: expected a number above 0, up to 1, got {crop!r}"
    if not _all(span, 2, _number) or span[0] >= span[1]:
        return f"range: expected two numbers low < high, got {span!r}"
    return _align_fault(settings) or _channel_fault(settings)


def _align_fault(settings: _Table) -> str:
    align, size, filter_name = settings["align"], settings["size"], settings["filter"]
    if align is None:
        return (
            "" if settings["landmarks"] is None else "landmarks: expected align beside it; add align, or leave it out"
        )
    if align not in SIZES:
        return f"align: expected one of {', '.join(SIZES)}, got {align!r}"
    if settings["crop"] is not None or (size is not None and size[0] != size[1]):
        return f"align: expected no crop and a square size beside it, got crop {settings['crop']} and size {size}"
    if filter_name not in FILTERS:
        return f"filter: expected one of {', '.join(FILTERS)} beside align, got {filter_name!r}"
    landmarks = settings["landmarks"]
    return "" if landmarks is None or isinstance(landmarks, str) else f"landmarks: expected a path, got {landmarks!r}"


def _channel_fault(settings: _Table) -> str:
    allowed = (1,) if settings["channel_order"] == "gray" else (1, 3)
    for key in ("mean", "std"):
        values = settings[key]
        if not any(_all(values, count, _number) for count in allowed):
            return f"{key}: expected {' or '.join(map(str, allowed))} numbers, got {values!r}"
    return f"std: expected numbers above 0, got {settings['std']!r}" if min(settings["std"]) <= 0 else ""


def _all(values: object, count: int, good: Callable[[Any], bool]) -> bool:
    return isinstance(values, tuple) and len(values) == count and all(map(good, values))


def _number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
