"""Where a photograph may be changed: a stated shape, a folder of masks, parts of the face, or people of a data set.

A mask is of the photograph as it is shown: cut and resized as the photograph is, without the grey margins beside it.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final, Protocol, final, runtime_checkable
from urllib.parse import parse_qsl

import numpy as np
from jaxtyping import Bool, Float, UInt8

from transect.datasets import LabelledImages
from transect.datasets.coco import PeopleOnPictures, people_on
from transect.errors import BadInput, UnknownName
from transect.generators.photographs import camera
from transect.generators.photographs.subjects import corner, squared
from transect.marks import FINDERS, MASKS, Finder, open_marks
from transect.runs import pictures

FEATHER: Final = 0.02
"""Width of the rim inside a mask over which a change sets in, as a share of the picture's shorter side."""
_WIDEST: Final = 0.5
_INSIDE: Final = 128
"""The value from which a pixel of a mask's file is inside."""
_SHAPES: Final = {"rectangle": "LEFT,TOP,RIGHT,BOTTOM", "ellipse": "X,Y,HALF_WIDTH,HALF_HEIGHT"}
_FOLDER, _PEOPLE = "folder", "people"
_SHIPPED: Final = "network"
"""The finder of parts where none is named."""
_KNOWN: Final = (*_SHAPES, _FOLDER, _PEOPLE, *MASKS)
_EXPECTED: Final = (
    "rectangle:LEFT,TOP,RIGHT,BOTTOM, ellipse:X,Y,HALF_WIDTH,HALF_HEIGHT (shares of width and height), folder:PATH with"
    f" a PNG for each photograph, parts as face+hair or face+hair@FINDER ({', '.join(FINDERS)}), or people:mask or "
    "people:box of COCO's annotations"
)


@final
@dataclass(frozen=True, slots=True)
class Shown:
    """A photograph as it is shown. frame: cuts and resizes a picture of the file's size as the photograph was.

    name: the file's path inside its folder, or the row's id. row: in the data set. width, height: of the file's
    picture, upright.
    """

    name: str
    row: int
    width: int
    height: int
    picture: UInt8[np.ndarray, "h w 3"]
    frame: Callable[[UInt8[np.ndarray, "a b 3"]], UInt8[np.ndarray, "h w 3"]]


@runtime_checkable
class Region(Protocol):
    """A part of each photograph."""

    def of(self, shown: Shown) -> Bool[np.ndarray, "h w"]:
        """Its pixels on that photograph."""

    def describe(self) -> dict[str, object]:
        """What recreates it, without a path."""


@final
@dataclass(frozen=True, slots=True)
class Mask:
    """A region and the width of the rim inside it over which a change sets in, as a share of the shorter side."""

    region: Region
    feather: float = FEATHER

    def of(self, shown: Shown) -> Bool[np.ndarray, "h w"]:
        """The pixels that may change."""
        return self.region.of(shown)

    def describe(self) -> dict[str, object]:
        """What recreates it, without a path."""
        return {**self.region.describe(), "feather": self.feather}


@final
@dataclass(frozen=True, slots=True)
class Shape:
    """A rectangle (left, top, right, bottom) or an ellipse (middle and half axes), in shares of width and height."""

    kind: str
    numbers: tuple[float, float, float, float]

    def of(self, shown: Shown) -> Bool[np.ndarray, "h w"]:
        """The pixels whose middle is inside."""
        height, width = shown.picture.shape[:2]
        x, y = (np.arange(width) + 0.5)[None] / width, (np.arange(height) + 0.5)[:, None] / height
        a, b, c, d = self.numbers
        if self.kind == "rectangle":
            return np.asarray((a <= x) & (x < c) & (b <= y) & (y < d))
        return np.asarray(((x - a) / c) ** 2 + ((y - b) / d) ** 2 <= 1)

    def describe(self) -> dict[str, object]:
        """Kind and numbers."""
        return {"kind": self.kind, "numbers": list(self.numbers)}


@final
@dataclass(frozen=True)
class MaskFolder:
    """PNGs by the photograph's path in its folder, without suffix, each of the photograph's size; white may change.

    A mask beside no such path is found by its name alone, as a.png for people/a.jpg, where only one photograph is
    called so. shared: names that several photographs have.
    """

    files: dict[str, Path]
    sha256: str
    shared: frozenset[str] = frozenset()

    @classmethod
    def open(cls, folder: Path, photographs: Sequence[str] = ()) -> MaskFolder:
        """The PNGs of a folder and below it. photographs: the path of each in its own folder."""
        found = sorted(path for path in folder.rglob("*") if path.suffix.lower() == ".png") if folder.is_dir() else []
        if not found:
            raise BadInput(f"{folder}: no folder with a PNG for each photograph; check the path")
        files = {path.relative_to(folder).with_suffix("").as_posix(): path for path in found}
        if len(files) < len(found):
            twice = next(path for path in found if path not in files.values())
            other = files[twice.relative_to(folder).with_suffix("").as_posix()]
            raise BadInput(f"{folder}: expected one mask for each name, got {twice.name} and {other.name}; remove one")
        digest = hashlib.sha256()
        for name, path in sorted(files.items()):
            digest.update(name.encode() + b"\0" + hashlib.sha256(pictures.content_of(path)).digest())
        stems = Counter(PurePosixPath(name).stem for name in photographs)
        return cls(files, digest.hexdigest(), frozenset(stem for stem, number in stems.items() if number > 1))

    def of(self, shown: Shown) -> Bool[np.ndarray, "h w"]:
        """The white pixels of the photograph's mask."""
        whole = PurePosixPath(shown.name).with_suffix("").as_posix()
        stem = PurePosixPath(whole).name
        path = self.files.get(whole)
        if path is None and stem in self.shared:
            raise BadInput(
                f"{shown.name}: no mask {whole}.png, and other photographs are called {stem} too; "
                "arrange the masks in the same folders as the photographs"
            )
        path = path or self.files.get(stem)
        if path is None:
            raise BadInput(f"{shown.name}: no mask {whole}.png; add it")
        stored = np.asarray(pictures.open_rgb(path, str(path), pictures.PNG))
        return _framed(shown, stored, str(path))

    def describe(self) -> dict[str, object]:
        """The number of masks and one SHA-256 of all."""
        return {"kind": _FOLDER, "masks": len(self.files), "sha256": self.sha256}


@final
@dataclass(frozen=True)
class Parts:
    """Parts of the face that a finder marks; nothing where it is less sure than its threshold."""

    finder: Finder
    parts: tuple[str, ...]

    def of(self, shown: Shown) -> Bool[np.ndarray, "h w"]:
        """The pixels of these parts. Raises UnknownName for a part that the finder does not mark."""
        height, width = shown.picture.shape[:2]
        size = max(height, width)
        found = self.finder.find(squared(shown.picture, size)[None], np.array([shown.row]))
        if not found.kept(self.finder.threshold)[0]:
            return np.zeros((height, width), dtype=np.bool_)
        top, left = corner(height, width, size)
        masks = [found.mask(part)[0] for part in self.parts]
        return np.asarray(np.any(masks, axis=0)[top : top + height, left : left + width])

    def describe(self) -> dict[str, object]:
        """The parts and the finder."""
        return {"kind": "parts", "parts": list(self.parts), "finder": self.finder.describe()}


@final
@dataclass(frozen=True)
class People:
    """The people that COCO's annotations mark, by outline (mask) or box."""

    people: PeopleOnPictures
    kind: str

    def of(self, shown: Shown) -> Bool[np.ndarray, "h w"]:
        """The pixels of every person on the photograph."""
        there = self.people.stored(self.kind, self.people.images.ids[shown.row])
        return _framed(shown, np.where(there, 255, 0).astype(np.uint8)[..., None].repeat(3, axis=2), shown.name)

    def describe(self) -> dict[str, object]:
        """Which regions; the annotations have no digest but the data set's."""
        return {"kind": f"{_PEOPLE}:{self.kind}"}


def open_mask(text: str, base: Path, labelled: LabelledImages | None = None, photographs: Sequence[str] = ()) -> Mask:
    """The mask of a text; its paths are relative to `base`. labelled: the data set, whose own marks may be named.

    photographs: the path of each photograph inside its own folder; a folder's masks are found by these paths.

    A rim of another width than 0.02 of the shorter side is stated behind it: ellipse:0.5,0.5,0.3,0.4?feather=0.05.
    Raises UnknownName for another kind, BadInput for numbers out of range, a folder without PNGs, a data set without
    marks of people.

    >>> open_mask("rectangle:0,0.5,1,1?feather=0", Path()).describe()
    {'kind': 'rectangle', 'numbers': [0.0, 0.5, 1.0, 1.0], 'feather': 0.0}
    """
    body, mark, query = text.strip().partition("?")
    feather = _feather(query) if mark else FEATHER
    parts, at, finder = body.partition("@")
    named = body.partition(":")[0] in (*_SHAPES, _FOLDER, _PEOPLE)
    if not named and (at or parts.partition("+")[0] in MASKS):
        return Mask(_parts(text, parts, finder if at else _SHIPPED, base, labelled), feather)
    kind, _, rest = body.partition(":")
    if kind in _SHAPES:
        return Mask(Shape(kind, _numbers(kind, rest)), feather)
    if kind == _FOLDER and rest:
        place = Path(rest) if Path(rest).is_absolute() else base / rest
        return Mask(MaskFolder.open(place, photographs), feather)
    if kind == _PEOPLE:
        if labelled is None or labelled.reader != "coco":
            raise BadInput(f"mask {text!r} applies to photographs of coco:PATH; give a folder of masks: folder:PATH")
        return Mask(People(people_on(labelled), rest or "mask"), feather)
    if kind in _KNOWN or not kind:
        raise BadInput(f"mask {text!r}: expected {_EXPECTED}")
    raise UnknownName("mask", kind, _KNOWN, _EXPECTED)


def path_inside(labelled: LabelledImages, row: int) -> str:
    """The path of a photograph in its data set's folder, with forward slashes; its name where it lies in none."""
    name = labelled.pictures.name(row)
    try:
        return Path(name).relative_to(labelled.path).as_posix()
    except ValueError:
        return name


def _parts(text: str, names: str, finder: str, base: Path, labelled: LabelledImages | None) -> Parts:
    """Parts of a face, as face+hair@dlib:FILE."""
    parts = tuple(name.strip() for name in names.split("+"))
    for name in parts:
        if name not in MASKS:
            raise UnknownName("part of a face", name, MASKS, f"mask {text!r}")
    return Parts(open_marks("+".join(_located(each, base) for each in finder.split("+")), labelled), parts)


def _located(finder: str, base: Path) -> str:
    """A finder with its file relative to `base`.

    >>> _located("dlib:68.dat", Path("models")), _located("dataset", Path("models"))
    ('dlib:models/68.dat', 'dataset')
    """
    kind, colon, file = finder.partition(":")
    return f"{kind}:{base / file}" if colon else kind


def _framed(shown: Shown, stored: UInt8[np.ndarray, "a b 3"], name: str) -> Bool[np.ndarray, "h w"]:
    if stored.shape[:2] != (shown.height, shown.width):
        raise BadInput(
            f"{name}: expected a mask of its photograph's {shown.width} x {shown.height} pixels, got "
            f"{stored.shape[1]} x {stored.shape[0]}; save it at that size"
        )
    return np.asarray(shown.frame(stored)[..., 0] >= _INSIDE)


def _numbers(kind: str, text: str) -> tuple[float, float, float, float]:
    try:
        a, b, c, d = (float(number) for number in text.split(","))
        fits = all(math.isfinite(number) and abs(number) <= 2 for number in (a, b, c, d))
    except ValueError:
        fits = False
        a = b = c = d = math.nan
    drawn = fits and ((a < c and b < d) if kind == "rectangle" else (c > 0 and d > 0))
    if not drawn:
        raise BadInput(f"mask {kind}:{text}: expected {kind}:{_SHAPES[kind]} in shares of the sides, with an area")
    return a, b, c, d


def _feather(query: str) -> float:
    options = parse_qsl(query, keep_blank_values=True)
    try:
        (name, text), *more = options
        feather = float(text)
    except ValueError:
        name, feather, more = "", math.nan, []
    if name != "feather" or more or not 0 <= feather <= _WIDEST:
        raise BadInput(f"mask: expected ?feather= and a share of the shorter side from 0 to {_WIDEST}, got {query!r}")
    return feather


def feathered(mask: Bool[np.ndarray, "h w"], feather: float) -> Float[np.ndarray, "h w"]:
    """Float32 shares of the change: 0 outside the mask, rising over the rim inside it to 1; with no rim 0 or 1.

    feather: the rim's width as a share of the shorter side. The frame of the picture is no rim. A mask of everything is
    1 everywhere.
    """
    from scipy.ndimage import distance_transform_edt

    if mask.all():
        return np.ones(mask.shape, dtype=np.float32)
    depth = distance_transform_edt(mask)
    return np.asarray(np.minimum(depth / (feather * min(mask.shape) + 1), 1), dtype=np.float32)


def composite(
    photograph: UInt8[np.ndarray, "h w 3"], changed: UInt8[np.ndarray, "h w 3"], shares: Float[np.ndarray, "h w"]
) -> UInt8[np.ndarray, "h w 3"]:
    """The changed picture where its share is 1, bitwise the photograph where it is 0, and their mixed light between."""
    made = photograph.copy()
    made[shares >= 1] = changed[shares >= 1]
    rim = (shares > 0) & (shares < 1)
    behind, front = camera.decoding()[photograph[rim]], camera.decoding()[changed[rim]]
    mixed = behind + (front - behind) * shares[rim, None].astype(np.float32)
    made[rim] = camera.encoded(np.ascontiguousarray(mixed, dtype=np.float32))
    return made
