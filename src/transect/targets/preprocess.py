"""What a model gets of an image: size, range, channels, and faces that landmarks align."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, final

import numpy as np
import PIL
from jaxtyping import Float, Float32, UInt8
from PIL import Image

from transect.errors import BadInput, did_you_mean
from transect.marks.records import five_points
from transect.records import DECLARED, Images
from transect.runs import toml_files

if TYPE_CHECKING:
    from transect.targets.face_readers import FaceFinder, FaceLandmarks


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
"""Settings of faces."""
OPTIONAL = (*OF_FACES, "letterbox")
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
    on, as `transect.targets.preprocess` has them: arcface-112, ffhq or box; then `apply` gets such crops. landmarks:
    dlib's shape predictor of 68 points, by which faces are found; None for landmarks that come with the images.
    letterbox: the gray, 0 to 255, of a border that keeps the shape of the image within `size`; None stretches it.

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
    letterbox: int | None = None

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
        for key in OPTIONAL:
            if settings[key] is None:
                del settings[key]
        if self.landmarks is not None:
            settings["landmarks"] = Path(self.landmarks).name
        return {**settings, "resized_by": f"Pillow {PIL.__version__}", "text": str(self)}

    def __str__(self) -> str:
        crop = "whole image" if self.crop is None else f"central square ({self.crop:g} of the shorter side)"
        points = "of the images" if self.landmarks is None else f"by {Path(self.landmarks).name}"
        crop = crop if self.align is None else f"face aligned as {self.align}, landmarks {points}"
        size = f", resized to {self.size[0]}x{self.size[1]} ({self.filter})" if self.size else ""
        size += "" if self.letterbox is None else f" in a border of gray {self.letterbox}"
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

    def boxes_to_image(self, boxes: Float[np.ndarray, "m 5"], image_shape: tuple[int, int]) -> Float[np.ndarray, "m 5"]:
        """Boxes (x0, y0, x1, y1, confidence) of the model's input, in pixels of the image (height, width) given."""
        top, left, height, width = self._window(*image_shape)
        above, beside, rows, columns = self._placed(height, width)
        boxes = boxes - np.array([beside, above, beside, above, 0.0])
        x_scale, y_scale = width / columns, height / rows
        scale, shift = [x_scale, y_scale, x_scale, y_scale, 1.0], [left, top, left, top, 0.0]
        return np.asarray(boxes * np.array(scale) + np.array(shift))

    def _window(self, height: int, width: int) -> tuple[int, int, int, int]:
        if self.crop is None:
            return 0, 0, height, width
        side = max(1, round(self.crop * min(height, width)))
        return (height - side) // 2, (width - side) // 2, side, side

    def _placed(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Where the window lies in the model's input: top, left, height and width; within a border of letterboxes."""
        rows, columns = self.size or (height, width)
        if self.letterbox is None:
            return 0, 0, rows, columns
        factor = min(rows / height, columns / width)
        inner = max(1, round(height * factor)), max(1, round(width * factor))
        return (rows - inner[0]) // 2, (columns - inner[1]) // 2, *inner

    def _channels(self, image: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "a b c"]:
        picture = Image.fromarray(np.ascontiguousarray(image))
        if self.channel_order == "gray":
            picture = picture.convert("L")
        top, left, height, width = self._placed(picture.height, picture.width)
        if (picture.height, picture.width) != (height, width):
            picture = picture.resize((width, height), _FILTERS[self.filter])
        if self.size and picture.size != (self.size[1], self.size[0]):
            border = Image.new(picture.mode, (self.size[1], self.size[0]), (self.letterbox or 0,) * self.channels)
            border.paste(picture, (left, top))
            picture = border
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
    gray = settings["letterbox"]
    if gray is not None and not (type(gray) is int and 0 <= gray <= 255 and settings["align"] is None):
        return f"letterbox: expected a whole number from 0 to 255 (and no align), got {gray!r}"
    return _align_fault(settings) or _channel_fault(settings)


def _align_fault(settings: _Table) -> str:
    align, size, filter_name = settings["align"], settings["size"], settings["filter"]
    if align is None:
        return "" if settings["landmarks"] is None else "landmarks: needs align; add align, or leave landmarks out"
    if align not in SIZES:
        return f"align: expected one of {', '.join(SIZES)}, got {align!r}"
    if settings["crop"] is not None or (size is not None and size[0] != size[1]):
        return f"align: expected no crop and a square size, got crop {settings['crop']} and size {size}"
    if filter_name not in _ALIGNING:
        return f"filter: expected one of {', '.join(_ALIGNING)} with align, got {filter_name!r}"
    landmarks = settings["landmarks"]
    return "" if landmarks is None or isinstance(landmarks, str) else f"landmarks: expected a path, got {landmarks!r}"


def _channel_fault(settings: _Table) -> str:
    allowed = (1,) if settings["channel_order"] == "gray" else (1, 3)
    for key in ("mean", "std"):
        values = settings[key]
        if not any(_all(values, count, _number) for count in allowed):
            return f"{key}: expected {' or '.join(map(str, allowed))} numbers, got {values!r}"
    return f"std: expected numbers above 0, got {settings['std']!r}" if min(settings["std"]) <= 0 else ""


def _all(values: object, count: int, good: Callable[[object], bool]) -> bool:
    return isinstance(values, tuple) and len(values) == count and all(map(good, values))


def _number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


ARCFACE: Final = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)
"""Eyes, tip of the nose and corners of the mouth in a crop of 112 pixels, left in the picture first.

The template of ArcFace (Deng et al. 2019, arXiv:1801.07698) as InsightFace publishes it, which SphereFace and CosFace
share; its coordinates are of the middles of pixels, pixel 0 at 0.
"""
SIZES: Final = {"arcface-112": 112, "ffhq": 256, "box": 160}
"""The crops that `align` names, and their side in pixels where no size is stated."""
_ALIGNING: Final = ("nearest", "bilinear", "bicubic")
"""The filters that Pillow has for a turned crop."""
_WIDER: Final = 1.25
"""Side of the crop "box" over the longer side of the face's box."""


def similarity(points: Float[np.ndarray, "n k 2"], template: Float[np.ndarray, "k 2"]) -> Float[np.ndarray, "n 2 3"]:
    """The turn, scale and shift of each set of points that come nearest to the template, by least squares.

    NaN where points are NaN or all in one place. In the plane the least squares over all complex factors are those of
    Umeyama 1991, doi:10.1109/34.88573, without a reflection.
    """
    z, w = points[..., 0] + 1j * points[..., 1], template[:, 0] + 1j * template[:, 1]
    z_mean, w_mean = z.mean(axis=1, keepdims=True), w.mean()
    spread = (np.abs(z - z_mean) ** 2).sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        factor = (np.conj(z - z_mean) * (w - w_mean)).sum(axis=1) / np.where(spread > 0, spread, np.nan)
    return _maps(factor, w_mean - factor * z_mean[:, 0])


def from_crop(
    name: str, points: Float[np.ndarray, "n 5 2"], boxes: Float[np.ndarray, "n 4"], size: int
) -> Float[np.ndarray, "n 2 3"]:
    """The maps from pixels of a square crop of that size to pixels of the image; NaN where there can be none.

    "arcface-112": `similarity` to ARCFACE, scaled to the size. "ffhq": the oriented square by eyes and mouth of Karras
    et al. 2019, arXiv:1812.04948, appendix A. "box": the upright square around the face's box, 1.25 times its longer
    side; boxes are x0, y0, x1, y1.
    """
    if name == "arcface-112":
        to_crop = similarity(points, (ARCFACE + 0.5) * (size / SIZES[name]))
        turned, shift = to_crop[:, 0, 0] + 1j * to_crop[:, 1, 0], to_crop[:, 0, 2] + 1j * to_crop[:, 1, 2]
        with np.errstate(divide="ignore", invalid="ignore"):
            back = 1 / np.where(turned == 0, np.nan, turned)
        return _maps(back, -back * shift)
    middle, half = _oriented(points) if name == "ffhq" else _upright(boxes)
    return _maps(2 * np.where(half == 0, np.nan, half) / size, middle - half - 1j * half)


def cropped(
    pixels: UInt8[np.ndarray, "h w 3"], to_image: Float[np.ndarray, "2 3"], size: int, filter_name: str
) -> UInt8[np.ndarray, "s s 3"]:
    """The crop of a map of `from_crop`, by Pillow, which reads the nearest pixels alone; black outside the image."""
    picture = Image.fromarray(np.ascontiguousarray(pixels))
    data = tuple(map(float, to_image.ravel()))
    return np.asarray(picture.transform((size, size), Image.Transform.AFFINE, data, _FILTERS[filter_name]))


def _maps(factor: np.ndarray, shift: np.ndarray) -> Float[np.ndarray, "n 2 3"]:
    """From z' = factor z + shift in the complex plane."""
    rows = [[factor.real, -factor.imag, shift.real], [factor.imag, factor.real, shift.imag]]
    return np.moveaxis(np.array(rows), 2, 0)


def _oriented(points: Float[np.ndarray, "n 5 2"]) -> tuple[np.ndarray, np.ndarray]:
    """Middle of FFHQ's square, and half of its upper side as a vector to the right."""
    z = points[..., 0] + 1j * points[..., 1]
    eyes, mouth = z[:, :2].mean(axis=1), z[:, 3:].mean(axis=1)
    across, down = z[:, 1] - z[:, 0], mouth - eyes
    half = across - 1j * down  # down, turned a quarter towards the right, as the eyes' axis
    length = np.abs(half)
    with np.errstate(divide="ignore", invalid="ignore"):
        unit = half / np.where(length > 0, length, np.nan)
    return eyes + 0.1 * down, unit * np.maximum(2.0 * np.abs(across), 1.8 * np.abs(down))


def _upright(boxes: Float[np.ndarray, "n 4"]) -> tuple[np.ndarray, np.ndarray]:
    middle = (boxes[:, 0] + boxes[:, 2]) / 2 + 1j * (boxes[:, 1] + boxes[:, 3]) / 2
    return middle, _WIDER * np.maximum(boxes[:, 2] - boxes[:, 0], boxes[:, 3] - boxes[:, 1]) / 2


NO_FACE: Final = f"no face: {DECLARED}"
NO_LANDMARKS: Final = f"no landmarks: {DECLARED}"
NOT_ALIGNED: Final = f"landmarks in one place: {DECLARED}"


@final
class Aligner:
    """Cuts out faces as `preprocess.align` says.

    With `preprocess.landmarks`, a shape predictor of dlib's for 68 points, OpenCV's face cascade finds the most certain
    face and the predictor its points; else the landmarks come with the images.
    """

    def __init__(self, preprocess: Preprocess) -> None:
        if preprocess.align is None:
            raise BadInput("align: expected the name of a crop, got none")
        self.name, self._filter = preprocess.align, preprocess.filter
        self.size = preprocess.size[0] if preprocess.size else SIZES[preprocess.align]
        self._found: tuple[FaceFinder, FaceLandmarks] | None = None
        if preprocess.landmarks is not None:
            self._found = _detector(preprocess.landmarks)

    @property
    def wants_landmarks(self) -> bool:
        """Whether landmarks must come with the images."""
        return self._found is None

    def facts(self) -> dict[str, object]:
        """The detector and the file of points, as JSON values; nothing where landmarks come with the images."""
        if self._found is None:
            return {}
        finder, points = self._found
        return {"detector": finder.describe(), "landmarks_sha256": points.sha256}

    def crops(self, images: Images) -> tuple[UInt8[np.ndarray, "n s s 3"], tuple[str, ...]]:
        """A crop of each image, black where there is none, and the reasons ("" where there is one)."""
        points, boxes, reasons = self._places(images) if self._found is None else self._search(images, *self._found)
        maps = from_crop(self.name, points, boxes, self.size)
        crops = np.zeros((len(images), self.size, self.size, 3), dtype=np.uint8)
        lost = []
        for row, (to_image, reason) in enumerate(zip(maps, reasons, strict=True)):
            lost.append(reason or ("" if np.isfinite(to_image).all() else NOT_ALIGNED))
            if not lost[-1]:
                crops[row] = cropped(images.pixels[row], to_image, self.size, self._filter)
        return crops, tuple(lost)

    def _places(self, images: Images) -> tuple[Float[np.ndarray, "n 5 2"], Float[np.ndarray, "n 4"], tuple[str, ...]]:
        """Points, boxes and reasons from what comes with the images."""
        if images.landmarks is None:
            raise BadInput(
                f"align = {self.name}: needs landmarks; set landmarks = FILE (dlib's shape predictor of 68 "
                "points) in the preprocessing"
            )
        extent = np.hstack([images.landmarks.min(axis=1), images.landmarks.max(axis=1)])
        boxes = extent if images.face_boxes is None else images.face_boxes
        known = np.isfinite(boxes if self.name == "box" else images.landmarks.reshape(len(images), -1)).all(axis=1)
        reasons = tuple("" if there else NO_LANDMARKS for there in known)
        return five_points(images.landmarks), boxes, reasons

    def _search(
        self, images: Images, finder: FaceFinder, predictor: FaceLandmarks
    ) -> tuple[Float[np.ndarray, "n 5 2"], Float[np.ndarray, "n 4"], tuple[str, ...]]:
        """Points, boxes and reasons by the detector."""
        points, boxes = np.full((len(images), 68, 2), np.nan), np.full((len(images), 4), np.nan)
        found = finder.boxes(images.pixels)
        for row, faces in enumerate(found):
            if len(faces):
                boxes[row], points[row] = faces[0], predictor.of(images.pixels[row], faces[0])
        return five_points(points), boxes, tuple("" if len(faces) else NO_FACE for faces in found)


def _detector(file: str) -> tuple[FaceFinder, FaceLandmarks]:
    from transect.targets.face_readers import FaceFinder, FaceLandmarks

    predictor = FaceLandmarks(file)
    if predictor.points == len(ARCFACE):
        raise BadInput(
            f"landmarks {file}: expected a shape predictor of 68 points, got {predictor.points}; choose another"
        )
    return FaceFinder(), predictor
