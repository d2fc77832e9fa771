"""Photographs as subjects: which can be used, in which order a run draws them, and their pixels."""

from __future__ import annotations

import functools
import hashlib
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8

from transect.datasets import LabelledImages, open_dataset
from transect.datasets.files import size_of
from transect.datasets.labelled import BROKEN, left_out_notes, unnamed_people
from transect.errors import BadInput, MissingExtra
from transect.generators.faceworld.reflectance import LUMINANCE
from transect.generators.photographs import camera
from transect.records import SUBJECTS_PER_SEED
from transect.runs.pictures import content_of, open_rgb, opened
from transect.runs.wording import counted

COLORLESS: Final = "photographs without color"
_SPREAD: Final = 6
"""Difference of a pixel's channels up to which it may be grey that a JPEG file stored as color."""
_COLORED: Final = 0.01
"""Share of pixels with more, from which a photograph has color."""


def is_grey(pixels: UInt8[np.ndarray, "h w 3"]) -> bool:
    """Whether nearly all pixels have channels that are nearly equal.

    >>> is_grey(np.full((4, 4, 3), 90, np.uint8)), is_grey(np.full((4, 4, 3), (120, 90, 80), np.uint8))
    (True, False)
    """
    spread = pixels.max(axis=2).astype(np.int64) - pixels.min(axis=2)
    return bool((spread > _SPREAD).mean() < _COLORED)


def check_opencv(purpose: str) -> None:
    """Raises MissingExtra without OpenCV."""
    try:
        import cv2  # noqa: F401
    except ModuleNotFoundError:
        raise MissingExtra("opencv", purpose) from None


SMALLEST: Final = 32
LARGEST: Final = 80_000_000
TINY: Final = f"photographs with a side below {SMALLEST} pixels"
HUGE: Final = f"photographs of more than {LARGEST // 10**6} million pixels"
MARGIN: Final = 128
"""The sRGB value of what lies beside a photograph that is not square."""
_AT_ONCE: Final = 256
_SEEN: Final = 0.6
"""The least share of a file's size at which what its compression lost is still seen."""


@final
@dataclass(frozen=True, slots=True)
class Look:
    """What was seen of one photograph when it was opened.

    sha256: of its file; pixels_sha256: of what it decodes to. width, height: in pixels, upright. luminance: mean linear
    luminance, 0 to 1; sharpness: variance of the Laplacian of the grey values, 0 to 255, both at the size of a subject.
    reason: why it is left out.
    """

    sha256: str = ""
    width: int = 0
    height: int = 0
    luminance: float = float("nan")
    sharpness: float = float("nan")
    reason: str = ""
    pixels_sha256: str = ""


@final
@dataclass(frozen=True)
class Subjects:
    """The photographs that can be used. rows: of the data set; looks: of these rows.

    left_out: reason -> how many are not; named: reason -> the names of those whose files are at fault.
    """

    labelled: LabelledImages
    rows: Int[np.ndarray, " n"]
    looks: tuple[Look, ...]
    left_out: dict[str, int]
    named: Mapping[str, Sequence[str]]

    @classmethod
    def open(cls, source: str, image_size: int | None = None) -> Subjects:
        """The photographs of READER:PATH in squares of image_size pixels. Raises BadInput where none can be used."""
        labelled = open_dataset(source, image_size=image_size, labelled=False, strict=False)
        looks = tuple(_looks(labelled))
        kept = np.array([row for row, look in enumerate(looks) if not look.reason], dtype=np.int64)
        named = {reason: list(names) for reason, names in labelled.unreadable.items()}
        for row, look in enumerate(looks):
            if look.reason:
                named.setdefault(look.reason, []).append(labelled.ids[row])
        left_out = Counter(labelled.left_out) + Counter(look.reason for look in looks if look.reason)
        if not len(kept):
            found = ", ".join(f"{number} {reason}" for reason, number in left_out.items())
            raise BadInput(f"{labelled.name}: no usable photographs ({found}); add some")
        return cls(labelled, kept, tuple(looks[row] for row in kept), dict(left_out), named)

    def __len__(self) -> int:
        return len(self.rows)

    def only(self, kept: Bool[np.ndarray, " n"], left_out: Mapping[str, int]) -> Subjects:
        """Some of the photographs; left_out: reason -> how many of the others."""
        looks = tuple(look for look, stays in zip(self.looks, kept, strict=True) if stays)
        counted_too = Counter(self.left_out) + Counter(left_out)
        return Subjects(self.labelled, self.rows[kept], looks, dict(counted_too), self.named)

    @property
    def people(self) -> Int[np.ndarray, " n"]:
        """Who is on each photograph, as numbers."""
        return np.asarray(np.array(self.labelled.subjects, dtype=np.int64)[self.rows])

    @property
    def pictures_sha256(self) -> str:
        """SHA-256 over the files, in their order."""
        return hashlib.sha256("".join(look.sha256 for look in self.looks).encode()).hexdigest()

    def drawn(self, seeds: Int[np.ndarray, " m"]) -> Int[np.ndarray, " m"]:
        """The photograph of each seed: subject i of a run's seed is the i-th of all in an order of that seed."""
        runs, places = (seeds // SUBJECTS_PER_SEED).tolist(), (seeds % SUBJECTS_PER_SEED).tolist()
        found = [_order(run, len(self))[place] for run, place in zip(runs, places, strict=True)]
        return np.array(found, dtype=np.int64)

    def key(self, subject: int) -> int:
        """The number from which a photograph's own noise is drawn: it depends on its file alone."""
        return int(self.looks[subject].sha256[:16], 16) >> 1

    def label(self, name: str) -> Float[np.ndarray, " n"]:
        """A label of the data set, NaN where it is not known."""
        return np.asarray(self.labelled.column(name)[self.rows], dtype=np.float64)

    def picture(self, subject: int) -> UInt8[np.ndarray, "h w 3"]:
        """The photograph upright in sRGB, fitted into the square, without margins. Raises BadInput where it broke."""
        row = int(self.rows[subject])
        pictures = self.labelled.pictures
        whole = open_rgb(pictures.encoded(row), pictures.name(row))
        return fitted(self.labelled, np.asarray(whole))

    def tables(self, subject: int) -> Mapping[int, Sequence[int]]:
        """The tables by which its file is quantised; none where it is no JPEG, or is shown much smaller than stored."""
        row, look = int(self.rows[subject]), self.looks[subject]
        if self.labelled.image_size < _SEEN * max(look.width, look.height) or self.labelled.crop is not None:
            return {}
        with opened(self.labelled.pictures.encoded(row), self.labelled.pictures.name(row)) as image:
            tables: Mapping[int, Sequence[int]] = getattr(image, "quantization", {})
            return tables

    def notes(self) -> Iterator[str]:
        """A sentence for each reason for which photographs are left out, and what is not known of who is on them."""
        yield from left_out_notes(self.left_out, self.named)
        yield from unnamed_people(self.people.tolist())

    def copies(self) -> tuple[str, ...]:
        """Photographs whose pixels are those of an earlier one, each as "copy = earlier", by name."""
        first: dict[str, str] = {}
        names = [str(self.labelled.ids[row]) for row in self.rows.tolist()]
        found = [
            (name, first.setdefault(look.pixels_sha256, name)) for name, look in zip(names, self.looks, strict=True)
        ]
        return tuple(f"{name} = {earlier}" for name, earlier in found if name != earlier)

    def check(self, wanted: int) -> None:
        """Raises BadInput for more photographs than can be used, with the reasons why others are left out, counted."""
        if wanted > len(self):
            reasons = "; ".join(f"{reason}: {number:,}" for reason, number in self.left_out.items())
            lost = f" (left out, {reasons})" if reasons else ""
            raise BadInput(
                f"{self.labelled.name}: expected at most {counted(len(self), 'photograph')}, all that are "
                f"usable{lost}, got {wanted:,}; use --subjects {len(self)}, or add photographs"
            )


def fitted(labelled: LabelledImages, whole: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "_ _ 3"]:
    """The picture cut as the data set's are and resized once: area means where it shrinks, bilinear where it grows."""
    import cv2

    height, width = whole.shape[:2]
    if labelled.crop is not None:
        left, top, right, bottom = labelled.crop.box(width, height)
        whole = whole[top:bottom, left:right]
        height, width = whole.shape[:2]
    longest = max(height, width)
    if longest == labelled.image_size:
        return np.ascontiguousarray(whole)
    size = tuple(max(1, round(side * labelled.image_size / longest)) for side in (width, height))
    way = cv2.INTER_AREA if longest > labelled.image_size else cv2.INTER_LINEAR
    return np.asarray(cv2.resize(np.ascontiguousarray(whole), size, interpolation=way))


def inner(square: UInt8[np.ndarray, "s s 3"], picture: UInt8[np.ndarray, "h w 3"]) -> UInt8[np.ndarray, "h w 3"]:
    """Where in a square the picture lies: a view of its middle. What is beside it becomes grey."""
    height, width = picture.shape[:2]
    if (height, width) == square.shape[:2]:
        return square
    square[:] = MARGIN
    top, left = corner(height, width, len(square))
    return square[top : top + height, left : left + width]


def squared(picture: UInt8[np.ndarray, "h w 3"], size: int) -> UInt8[np.ndarray, "s s 3"]:
    """The picture in the middle of a grey square; itself where it is square."""
    if picture.shape[:2] == (size, size):
        return picture
    square: UInt8[np.ndarray, "s s 3"] = np.empty((size, size, 3), dtype=np.uint8)
    np.copyto(inner(square, picture), picture)
    return square


def corner(height: int, width: int, size: int) -> tuple[int, int]:
    """Top and left of a picture in the middle of a square."""
    return (size - height) // 2, (size - width) // 2


@functools.lru_cache(maxsize=8)
def _order(run: int, count: int) -> tuple[int, ...]:
    """All photographs in an order drawn by a run's seed."""
    return tuple(np.random.Generator(np.random.Philox(run)).permutation(count).tolist())


def _looks(labelled: LabelledImages) -> Iterator[Look]:
    """A look at every row, in order; decoding releases the interpreter's lock."""
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for start in range(0, len(labelled), _AT_ONCE):
            yield from pool.map(functools.partial(_look, labelled), range(start, min(start + _AT_ONCE, len(labelled))))


def _look(labelled: LabelledImages, row: int) -> Look:
    import cv2

    name = labelled.pictures.name(row)
    try:
        file = content_of(labelled.pictures.encoded(row), name)
        if reason := _file_fault(file, name):
            return Look(reason=reason)
        whole = np.asarray(open_rgb(file, name))
    except (BadInput, OSError):
        return Look(reason=BROKEN)
    picture = fitted(labelled, whole)
    grey = cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY)
    linear = cv2.LUT(picture, camera.decoding()).reshape(-1, 3).mean(axis=0, dtype=np.float64)
    height, width = whole.shape[:2]
    luminance, sharpness = float(linear @ LUMINANCE), float(cv2.Laplacian(grey, cv2.CV_64F).var())
    pixels = hashlib.sha256(f"{width} x {height}".encode() + whole.tobytes()).hexdigest()
    return Look(hashlib.sha256(file).hexdigest(), width, height, luminance, sharpness, pixels_sha256=pixels)


def _file_fault(file: bytes, name: str) -> str:
    """Why a photograph of that size is left out, by its header alone; "" where it is not, or has none."""
    try:
        return size_fault(*size_of(file, name))
    except BadInput:
        return ""


def size_fault(width: int, height: int) -> str:
    """Why a photograph of that size cannot be used; "" where it can."""
    return TINY if min(width, height) < SMALLEST else HUGE if width * height > LARGEST else ""
