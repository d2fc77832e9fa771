"""Boxes of detectors as they are exported: which head a network has, and how its numbers become boxes.

Heads are known by the shapes and names of their outputs. YOLO: Redmon et al. 2016, arXiv:1506.02640; SSD: Liu et al.
2016, arXiv:1512.02325; BlazeFace: Bazarevsky et al. 2019, arXiv:1907.05047.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from transect.errors import BadInput, UnknownName
from transect.marks import geometry
from transect.targets.output import AUTOMATIC, OutputSpec

if TYPE_CHECKING:
    from transect.targets.network_file import Tensor

OVERLAP: Final = 0.45
"""Intersection over union above which the less certain of two boxes is left out."""
_BORDER: Final = 114
"""The gray with which YOLO's own code fills a picture up to a square."""
_MOST: Final = 1000
"""Boxes that a head gives at most after its own selection; grids of anchors have more."""
_LONGEST: Final = 1 << 13
"""Pixels of a side that an exporter's metadata may state."""
_CLASSIC: Final = ("detection_boxes", "detection_scores", "detection_classes")
_LITE: Final = (
    "TFLite_Detection_PostProcess", "TFLite_Detection_PostProcess:2", "TFLite_Detection_PostProcess:1",
)  # fmt: skip

Outputs = tuple["Tensor", ...]
Arrays = Sequence[np.ndarray]
Size = tuple[int, int]
_Read = tuple[np.ndarray, np.ndarray]
"""Corners [m, 4] in pixels of the input, and scores [m]."""


@final
@dataclass(frozen=True, slots=True)
class Kind:
    """What a kind of head gives, and what its networks usually get.

    says: its outputs in words, in the order in which they are read. fits: whether outputs in that order may be of it.
    arranged: those outputs among all of a network. letterbox, range: as Preprocess has them; None where they follow
    from the input.
    """

    says: str
    fits: Callable[[Outputs, int], bool]
    read: Callable[[Arrays, Sequence[int], Size], _Read]
    arranged: Callable[[Outputs], Outputs] = lambda outputs: outputs
    classes: Callable[[Outputs], range] = lambda _: range(0)
    letterbox: int | None = None
    range: tuple[float, float] | None = None


@final
@dataclass(frozen=True, slots=True)
class Head:
    """A network's head. wanted: numbers of the classes whose boxes count. classes: their names where they are known."""

    kind: str
    outputs: Outputs
    wanted: tuple[int, ...]
    classes: Mapping[int, str]
    stride: int

    def facts(self) -> dict[str, object]:
        """Classes, those that count, and the overlap of boxes, as JSON values."""
        if self.kind == "boxes":
            return {}
        names = [self.classes.get(number, f"class {number}") for number in self.wanted]
        overlap = geometry.OVERLAP if self.kind == "blazeface" else OVERLAP
        return {"classes": list(self.classes.values()), "kind": " or ".join(names), "overlap": overlap}

    def boxes(self, arrays: Arrays, size: Size, threshold: float, *, unit: bool) -> Float[np.ndarray, "m k"]:
        """The boxes of one image, in pixels of the input of that (height, width), the most certain first.

        arrays: the head's outputs. threshold: confidence below which there is no box. unit: whether a YOLO head gives
        shares of the input's size. NaN where the network gives any.
        """
        parts = [np.asarray(array, dtype=np.float64) for array in arrays]
        if self.kind == "boxes":
            return parts[0].reshape(-1, parts[0].shape[-1])
        if not all(np.isfinite(part).all() for part in parts):
            return np.full((1, 5), np.nan)
        corners, scores = HEADS[self.kind].read(parts, self.wanted, size)
        if unit and self.kind.startswith("yolo"):
            corners = corners * np.array([size[1], size[0]] * 2)
        found = np.column_stack([corners, scores])[~(scores < threshold)]
        return _averaged(found) if self.kind == "blazeface" else _without_overlaps(found)


def recognised(
    outputs: Sequence[Tensor], spec: OutputSpec, named: str | None, metadata: Mapping[str, str], path: Path
) -> Head:
    """The head that a detector's outputs are of, or that `spec` states. named: its outputs, separated by commas.

    Raises BadInput where it is none or could be several, and where it is not known which of several classes count.
    """
    names = _names(metadata)
    kinds = list(HEADS) if spec.head == AUTOMATIC else [spec.head]
    found: dict[str, Outputs] = {}
    for kind in kinds:
        chosen = HEADS[kind].arranged(tuple(outputs)) if named is None else _named(outputs, named)
        if HEADS[kind].fits(chosen, len(names)):
            found[kind] = chosen
    if not found:
        listed = ", ".join(map(str, outputs))
        known = "; ".join(f"{kind}: {HEADS[kind].says}" for kind in kinds)
        raise BadInput(
            f"model file {path}: expected the outputs of a detector ({known}), found {listed}; name them in that order "
            "with --output-name A,B, or wrap the model in a Python function that returns boxes"
        )
    if len(found) > 1:
        raise BadInput(
            f"model file {path}: expected outputs of one kind of detector, found those of {' and '.join(found)}; "
            f"state which: --output {next(iter(found))}"
        )
    ((kind, chosen),) = found.items()
    names = {0: "face"} if kind == "blazeface" else names
    wanted = _wanted(HEADS[kind].classes(chosen), names, spec.positive, known=kind in ("boxes", "blazeface"))
    stride = _literal(metadata.get("stride", ""))
    return Head(kind, chosen, wanted, names, stride if _is_side(stride) else 1)


def is_grid(output: Tensor) -> bool:
    """Whether an output has the numbers of a YOLO detector for each image."""
    return len(output.shape) == 3 and any(HEADS[kind].fits((output,), 0) for kind in ("yolov8", "yolov5"))


def stated_size(metadata: Mapping[str, str]) -> Size | None:
    """Height and width of the input as an exporter of YOLO wrote them; None where it did not."""
    size = _literal(metadata.get("imgsz", ""))
    if isinstance(size, list | tuple) and len(size) == 2 and all(map(_is_side, size)):
        return size[0], size[1]
    return None


def _is_side(value: object) -> bool:
    """Whether a value may be a number of pixels of an input."""
    return type(value) is int and 0 < value <= _LONGEST


def check_size(head: Head, size: Size | None, path: Path) -> None:
    """Raises BadInput where a network of anchors has no size, or one that its stride does not divide."""
    if size is None and head.kind in ("yolov5", "yolov8", "yolov10", "blazeface"):
        raise BadInput(
            f"model file {path}: expected a size, got none, since the network takes any; set size = [640, 640] in "
            "--preprocess"
        )
    if size is not None and any(side % head.stride for side in size):
        nearest = [max(1, round(side / head.stride)) * head.stride for side in size]
        raise BadInput(
            f"preprocess: size: {path.name} expects multiples of its stride {head.stride}, got {list(size)}; set size "
            f"= {nearest}"
        )


def _named(outputs: Sequence[Tensor], named: str) -> Outputs:
    known = {each.name: each for each in outputs}
    parts = [named] if named in known else named.split(",")
    for part in parts:
        if part not in known:
            raise UnknownName("output", part, known)
    return tuple(known[part] for part in parts)


def _wanted(numbers: range, names: Mapping[int, str], positive: str | int | None, *, known: bool) -> tuple[int, ...]:
    """The numbers of the classes that count. known: whether the head has no classes to choose from."""
    names = {number: name for number, name in names.items() if not numbers or number in numbers}
    possible = list(names or numbers)
    if positive is None:
        if known or len(possible) == 1:
            return tuple(possible) or (0,)
        listed = ", ".join(names.values()) or (f"{possible[0]} to {possible[-1]}" if possible else "numbers")
        raise BadInput(
            f"positive: expected the class whose boxes count ({listed}), got none; name one, or several separated by "
            "commas, with --positive"
        )
    numbered = {name: number for number, name in names.items()}
    text = str(positive)
    parts = [text] if text in numbered else [part.strip() for part in text.split(",")]
    for part in parts:
        is_number = bool(re.fullmatch(r"[0-9]{1,6}", part)) and (not possible or int(part) in possible)
        if part not in numbered and not is_number:
            raise UnknownName("positive label", part, list(numbered) or list(map(str, possible)))
    return tuple(numbered[part] if part in numbered else int(part) for part in parts)


def _names(metadata: Mapping[str, str]) -> dict[int, str]:
    """Names of the classes by number, as an exporter of YOLO wrote them: a mapping or a list, as Python writes it."""
    names = _literal(metadata.get("names", ""))
    names = dict(enumerate(names)) if isinstance(names, list | tuple) else names
    if not isinstance(names, dict) or not all(type(key) is int for key in names):
        return {}
    return {key: str(name) for key, name in names.items()}


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None


def _sizes(output: Tensor, axes: int) -> tuple[int, ...]:
    """The last sizes of an output, 0 where they are free; none where it has fewer or over one axis more."""
    if len(output.shape) - axes not in (0, 1):
        return ()
    return tuple(size if isinstance(size, int) and size > 0 else 0 for size in output.shape[len(output.shape) - axes :])


def _is_boxes(outputs: Outputs, _: int) -> bool:
    return len(outputs) == 1 and _sizes(outputs[0], 2)[1:] in ((4,), (5,))


def _is_yolov10(outputs: Outputs, _: int) -> bool:
    return len(outputs) == 1 and _sizes(outputs[0], 2)[1:] == (6,) and _sizes(outputs[0], 2)[0] <= _MOST


def _is_ssd(outputs: Outputs, _: int) -> bool:
    sizes = [_sizes(each, 2) for each in outputs]
    return len(sizes) == 2 and all(sizes) and sizes[0][1] == 4 and sizes[1][1] > 1 and sizes[0][0] == sizes[1][0]


def _is_listed(outputs: Outputs, _: int) -> bool:
    """Boxes, their scores and their classes."""
    return len(outputs) == 3 and _sizes(outputs[0], 2)[1:] == (4,) and all(_sizes(each, 1) for each in outputs[1:])


def _is_blazeface(outputs: Outputs, _: int) -> bool:
    """Numbers and logits of as many anchors as one of its sizes of input has."""
    sizes = [_sizes(each, 2) for each in outputs]
    return any(sizes == [(len(geometry.anchors(size)), each) for each in (16, 1)] for size in geometry.GRIDS)


def _boxes_first(outputs: Outputs) -> Outputs:
    """Of two outputs that of boxes first: the one with 4 numbers, or 16, for each."""
    return tuple(sorted(outputs, key=lambda each: _sizes(each, 2)[1:] not in ((4,), (16,))))


def _of_torchvision(outputs: Outputs) -> Outputs:
    """Boxes, scores and labels of one image, as torchvision's detectors are exported: without an axis of images."""
    kinds = {(len(each.shape), each.dtype == "int64"): each for each in outputs}
    found = [kinds.get(kind) for kind in ((2, False), (1, False), (1, True))]
    return tuple(each for each in found if each is not None) if len(outputs) == 3 else ()


def _of_tensorflow(outputs: Outputs) -> Outputs:
    """By the names that TensorFlow's object detection gives them."""
    for names in (_CLASSIC, _LITE):
        known = {each.name if names is _LITE else each.name.partition(":")[0]: each for each in outputs}
        if set(names) <= known.keys():
            return tuple(known[name] for name in names)
    return ()


def _centered(rows: np.ndarray) -> np.ndarray:
    """Corners from middles and sizes."""
    return np.hstack([rows[:, :2] - rows[:, 2:4] / 2, rows[:, :2] + rows[:, 2:4] / 2])


def _read_nothing(*_: object) -> _Read:
    """Of boxes that need no decoding."""
    return np.zeros((0, 4)), np.zeros(0)


def _read_yolov10(arrays: Arrays, wanted: Sequence[int], _: Size) -> _Read:
    rows = arrays[0].reshape(-1, 6)
    mine = np.isin(rows[:, 5], wanted)
    return rows[mine, :4], rows[mine, 4]


def _read_ssd(arrays: Arrays, wanted: Sequence[int], size: Size) -> _Read:
    scores = arrays[1].reshape(-1, arrays[1].shape[-1])[:, list(wanted)]
    return arrays[0].reshape(-1, 4) * np.array([size[1], size[0]] * 2), scores.max(axis=1, initial=-np.inf)


def _read_blazeface(arrays: Arrays, _: Sequence[int], size: Size) -> _Read:
    numbers, middles = arrays[0].reshape(-1, 16), geometry.anchors(size[0]) * size[0]
    return _centered(np.hstack([middles + numbers[:, :2], numbers[:, 2:4]])), expit(arrays[1].ravel())


def _grid(says: str, first: int) -> Kind:
    """Of YOLO: for each anchor middle and size, of five numbers that come first its own score, then those of classes.

    Anchors are columns where four numbers come first. A box counts where its surest class is a wanted one.
    """

    def sides(output: Tensor) -> tuple[int, ...]:
        """Anchors, and the numbers of each."""
        return _sizes(output, 2)[:: 1 if first == 5 else -1]

    def fits(outputs: Outputs, names: int) -> bool:
        if len(outputs) != 1 or not (sizes := sides(outputs[0])):
            return False
        anchors, numbers = sizes
        least = _MOST if first == 5 and numbers == 6 else numbers
        classes = numbers - first
        return classes > 0 and (not anchors or anchors > least) and classes == (names or classes)

    def read(arrays: Arrays, wanted: Sequence[int], _: Size) -> _Read:
        rows = arrays[0].reshape(arrays[0].shape[-2:])
        rows = rows if first == 5 else rows.T
        scores = rows[:, first:] * (rows[:, 4:5] if first == 5 else 1.0)
        mine = np.isin(scores.argmax(axis=1), wanted)
        return _centered(rows[mine]), scores[mine].max(axis=1, initial=-np.inf)

    return Kind(says, fits, read, classes=lambda outputs: range(sides(outputs[0])[1] - first), letterbox=_BORDER)


def _list(says: str, arranged: Callable[[Outputs], Outputs], *, shares: bool) -> Kind:
    """Boxes, scores and classes in three outputs. shares: corners y0, x0, y1, x1 in shares, else in pixels from x0."""

    def read(arrays: Arrays, wanted: Sequence[int], size: Size) -> _Read:
        mine = np.isin(arrays[2].ravel(), wanted)
        corners = arrays[0].reshape(-1, 4)[mine]
        corners = (corners * np.array([size[0], size[1]] * 2))[:, [1, 0, 3, 2]] if shares else corners
        return corners, arrays[1].ravel()[mine]

    return Kind(says, _is_listed, read, arranged)


HEADS: Final[Mapping[str, Kind]] = {
    "boxes": Kind("[n, m, 4 or 5] corners x0, y0, x1, y1 in pixels, and confidence", _is_boxes, _read_nothing),
    "yolov8": _grid("[n, 4 + classes, anchors], as YOLOv8 and 11 have it", 4),
    "yolov5": _grid("[n, anchors, 5 + classes], as YOLOv5 and 7 have it", 5),
    "yolov10": Kind(
        "[n, m, 6] corners in pixels, score and class, as exports with their own selection have it",
        _is_yolov10,
        _read_yolov10,
        letterbox=_BORDER,
    ),
    "ssd": Kind(
        "[n, m, 4] corners x0, y0, x1, y1 in shares, and [n, m, 1 + classes] with the background first",
        _is_ssd,
        _read_ssd,
        _boxes_first,
        classes=lambda outputs: range(1, _sizes(outputs[1], 2)[1]),
    ),
    "torchvision": _list(
        "[m, 4] corners x0, y0, x1, y1 in pixels, [m] scores and [m] classes", _of_torchvision, shares=False
    ),
    "tensorflow": _list(
        "[n, m, 4] corners y0, x0, y1, x1 in shares, [n, m] scores and [n, m] classes", _of_tensorflow, shares=True
    ),
    "blazeface": Kind(
        "[n, anchors, 16] boxes and points, and [n, anchors, 1] logits",
        _is_blazeface,
        _read_blazeface,
        _boxes_first,
        letterbox=0,
        range=(-1.0, 1.0),
    ),
}
"""By the name that `--output` takes."""


def _without_overlaps(boxes: Float[np.ndarray, "m 5"]) -> Float[np.ndarray, "k 5"]:
    """Each box that overlaps no more certain one that stays: greedy suppression, over all classes that count."""
    left, kept = np.argsort(-boxes[:, 4], kind="stable"), []
    while len(left):
        kept.append(left[0])
        overlaps = geometry.overlaps(boxes[left[0], :4], boxes[left[1:], :4])
        left = left[1:][overlaps <= OVERLAP]
    return boxes[kept]


def _averaged(boxes: Float[np.ndarray, "m 5"]) -> Float[np.ndarray, "k 5"]:
    """One box for each face, as MediaPipe makes it: the mean of those that overlap, weighted by score."""
    ordered = boxes[np.argsort(-boxes[:, 4], kind="stable")]
    faces = geometry.merged(geometry.Boxes(ordered[:, 4], ordered[:, :4], np.zeros((len(boxes), 6, 2))))
    return np.column_stack([faces.boxes, faces.scores])
