"""A network in a file, whatever library runs it: its image input, its outputs, and the target that it makes.

A detector's head is known by the shapes and names of its outputs. YOLO: Redmon et al. 2016, arXiv:1506.02640; SSD: Liu
et al. 2016, arXiv:1512.02325; BlazeFace: Bazarevsky et al. 2019, arXiv:1907.05047.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, final

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from transect.errors import BadInput, UnknownName
from transect.marks import geometry
from transect.records import Task
from transect.targets.model import ModelOptions, ModelTarget
from transect.targets.output import AUTOMATIC, OutputSpec
from transect.targets.preprocess import Preprocess
from transect.targets.settings import OUTPUT_NAME

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
            f"model file {path}: expected the outputs of a detector ({known}), found {listed}; name them in "
            "order with --output-name A,B, or wrap the model in a function that returns boxes"
        )
    if len(found) > 1:
        raise BadInput(
            f"model file {path}: expected outputs of one kind of detector, found those of {' and '.join(found)}; "
            f"choose one: --output {next(iter(found))}"
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
        raise BadInput(f"model file {path}: the network takes any size; set size = [640, 640] in --preprocess")
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
        raise BadInput(f"positive: no class whose boxes count ({listed}); choose one or several (A,B) with --positive")
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
    "boxes": Kind(
        "[n, m, 4 or 5] corners x0, y0, x1, y1 in pixels, and confidence",
        _is_boxes,
        lambda *_: (np.zeros((0, 4)), np.zeros(0)),  # they need no decoding
    ),
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


MAP: Final = "map"
"""The type of an output that holds one mapping from class to probability for each image."""
_FLOATS: Final = ("float16", "float32", "float64")
_INPUTS: Final = (*_FLOATS, "uint8", "int8")
_RANGES: Final = {"nominalrange_0_255": (0.0, 255.0), "normalized_0_1": (0.0, 1.0), "normalized_1_1": (-1.0, 1.0)}
_ORDERS: Final[Mapping[str, Literal["RGB", "BGR", "gray"]]] = {"rgb8": "RGB", "bgr8": "BGR", "gray8": "gray"}
_ROWS, _ONE_IMAGE, _IMAGES = 2, 3, 4
"""Axes of inputs: rows of features, one image, images."""


class Tensor(NamedTuple):
    """An input or output. dtype: NumPy's name, or MAP. shape: free sizes have a name, or None, or -1.

    scale, zero: whole numbers q stand for (q - zero) * scale.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...]
    scale: float = 1.0
    zero: int = 0

    def __str__(self) -> str:
        return f"{self.name} [{self.sizes}]"

    @property
    def sizes(self) -> str:
        """The shape as a text."""
        return ", ".join("any" if size is None else str(size) for size in self.shape)

    @property
    def is_quantized(self) -> bool:
        """Whether its whole numbers stand for others."""
        return (self.scale, self.zero) != (1.0, 0)

    @property
    def is_real(self) -> bool:
        """Whether it holds floating-point numbers, or whole ones that stand for such."""
        return self.dtype in _FLOATS or self.is_quantized

    def real(self, values: Any) -> object:
        """The numbers that the output's values stand for; a mapping for each image as a matrix."""
        if self.dtype == MAP:
            return np.array([list(row.values()) for row in values], dtype=np.float64)
        return (values.astype(np.float64) - self.zero) * self.scale if self.is_quantized else values


@final
@dataclass(frozen=True, slots=True)
class Network:
    """run gets a batch in the input's own type and the names of outputs, and returns those. facts: of the file."""

    path: Path
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    metadata: Mapping[str, str]
    run: Callable[[np.ndarray, list[str]], list[object]]
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class NetworkFileOptions(ModelOptions):
    """As of any model, and which of several outputs is read. Detectors come with their boxes undecoded."""

    output_name: Annotated[str | None, OUTPUT_NAME] = None


def as_model(network: Network, name: str, options: NetworkFileOptions, *, unit_boxes: bool = False) -> ModelTarget:
    """The target of a network. unit_boxes: whether YOLO heads of its kind of file give shares of the input's size."""
    image, output, preprocess = _inspect(network), options.output_spec(HEADS), options.preprocess
    head = None
    if output.head:
        head = recognised(network.outputs, output, options.output_name, network.metadata, network.path)
        image = image.of_head(head.kind, network.metadata)
        output = replace(output, head=head.kind)
    agreed = image.agree(preprocess, network.path) if preprocess else image.preprocess
    chosen = head.outputs if head else [_output_of(network, options.output_name, output)]
    if not head and is_grid(chosen[0]):
        raise BadInput(
            f"model file {network.path}: expected scores of a {output.task.value} target, found {chosen[0]}, the "
            "output of a detector; give --task detection"
        )
    facts = {
        **network.facts,
        "input": image.tensor.name,
        "output_name": ",".join(each.name for each in chosen),
        **({"outputs": {each.name: each.sizes for each in network.outputs}} if len(network.outputs) > 1 else {}),
        "assumed": [] if preprocess else list(image.assumed),
        **(head.facts() if head else {}),
    }
    if head:
        check_size(head, agreed.size, network.path)

    def answers(inputs: np.ndarray) -> list[list[Any]]:
        """The values of the chosen outputs, batch by batch."""
        names = [each.name for each in chosen]
        raw = [network.run(batch, names) for batch in image.batches(inputs, one=head is not None)]
        return [[each.real(values) for each, values in zip(chosen, batch, strict=True)] for batch in raw]

    def run(inputs: np.ndarray) -> object:
        if head:
            height, width = inputs.shape[2:] if agreed.layout == "NCHW" else inputs.shape[1:3]
            least, size = output.threshold or 0.0, (height, width)
            apart = [arrays for batch in answers(inputs) for arrays in image.apart(batch)][: len(inputs)]
            return [head.boxes(arrays, size, least, unit=unit_boxes) for arrays in apart]
        values = [batch[0] for batch in answers(inputs)]
        if len(image.tensor.shape) == _ONE_IMAGE:
            values = [np.asarray(one).reshape(1, -1) for one in values]
        matrix = np.concatenate(values)[: len(inputs)]
        is_pair = _of_scikit_learn(network.outputs) and output.task is Task.BINARY
        matrix = matrix[:, 1] if is_pair and matrix.shape[1:] == (2,) else matrix
        return _summing_to_one(matrix, chosen[0], output)

    return ModelTarget(name, run, output, agreed, facts)


def _summing_to_one(matrix: np.ndarray, tensor: Tensor, output: OutputSpec) -> np.ndarray:
    """Quantised probabilities of classes whose sum is off by no more than their rounding, over that sum."""
    if not tensor.is_quantized or output.task is not Task.MULTICLASS or output.scale == "logit":
        return matrix
    rows = matrix.reshape(len(matrix), -1)
    sums = rows.sum(axis=1, keepdims=True)
    is_near = np.abs(sums - 1) <= tensor.scale * rows.shape[1] / 2
    return rows / np.where(is_near & (sums > 0), sums, 1)


@final
@dataclass(frozen=True, slots=True)
class _ImageInput:
    """The model's one input. batch: 0 where free. assumed: the settings that the model did not tell."""

    tensor: Tensor
    batch: int
    preprocess: Preprocess
    assumed: tuple[str, ...]

    def batches(self, inputs: np.ndarray, *, one: bool) -> list[np.ndarray]:
        """The inputs in the model's type, cut (and the last one filled up) to its batch size, or one by one."""
        kind, scale, zero = np.dtype(self.tensor.dtype), self.tensor.scale, self.tensor.zero
        if kind.kind in "iu":
            limits = np.iinfo(kind)
            inputs = np.clip(np.rint(inputs / scale) + zero, limits.min, limits.max)
        ready, axes = inputs.astype(kind), len(self.tensor.shape)
        if axes == _ONE_IMAGE:
            return list(ready)
        ready = self._rows(ready) if axes == _ROWS else ready
        size = self.batch or (1 if one else len(ready))
        cut = [ready[start : start + size] for start in range(0, len(ready), size)]
        filled = [np.concatenate([batch, batch[-1:].repeat(size - len(batch), axis=0)]) for batch in cut]
        return filled

    def apart(self, arrays: list[Any]) -> list[list[Any]]:
        """A detector's answers of a batch, image by image; outputs of single images have no axis of images to cut."""
        return [[array[row] for array in arrays] for row in range(self.batch)] if self.batch > 1 else [arrays]

    def _rows(self, ready: np.ndarray) -> np.ndarray:
        expected, rows = self.tensor.shape[1], ready.reshape(len(ready), -1)
        if isinstance(expected, int) and rows.shape[1] != expected:
            shape = " × ".join(map(str, ready.shape[1:]))
            raise BadInput(
                f"expected inputs of {expected} features, got {shape} = {rows.shape[1]}: set size and "
                "channel_order of its training in --preprocess"
            )
        return rows

    def of_head(self, kind: str, metadata: Mapping[str, str]) -> _ImageInput:
        """The input as detectors with that head expect it where neither the model nor its metadata say more."""
        letterbox, span = HEADS[kind].letterbox, HEADS[kind].range
        size = self.preprocess.size or stated_size(metadata)
        usual = replace(self.preprocess, size=size, letterbox=letterbox)
        if "range" in self.assumed and span is not None:
            usual = replace(usual, range=span)
        assumed = (*self.assumed, *(["letterbox"] if letterbox is not None else []))
        return replace(self, preprocess=usual, assumed=() if "stride" in metadata else assumed)

    def agree(self, stated: Preprocess, path: Path) -> Preprocess:
        """The given preprocessing with the model's size where it names none; BadInput where they contradict."""
        stored = self.preprocess
        for key in ("size",) if "layout" in self.assumed else ("layout", "channels", "size"):
            wanted, got = getattr(stored, key), getattr(stated, key)
            if None not in (wanted, got) and got != wanted:
                fix = {
                    "size": f"set size = {list(stored.size or ())} or leave size out",
                    "layout": f'set layout = "{stored.layout}"',
                    "channels": f'set channel_order = "{stored.channel_order}"',
                }[key]
                raise BadInput(f"preprocess: {key}: {path.name} expects {wanted}, got {got}; {fix}")
        return replace(stated, size=stated.size or stored.size)


def _inspect(network: Network) -> _ImageInput:
    tensor, path = network.inputs[0], network.path
    axes = len(tensor.shape)
    if len(network.inputs) != 1 or axes not in (_ROWS, _ONE_IMAGE, _IMAGES) or tensor.dtype not in _INPUTS:
        listing = ", ".join(f"{each.name} {each.dtype} [{each.sizes}]" for each in network.inputs)
        raise BadInput(f"model file {path}: expected one input, [n, 3, h, w] or [n, h, w, 3], found {listing}")
    fixed = [size if isinstance(size, int) and size > 0 else 0 for size in tensor.shape]
    batch, *rest = [1, *fixed] if axes == _ONE_IMAGE else [fixed[0], 0, 0, 0] if axes == _ROWS else fixed
    layout, channels, height, width = _layout(rest)
    if channels not in (0, 1, 3):
        raise BadInput(f"model file {path}: expected an input of 1 or 3 channels, found [{tensor.sizes}]")
    settings, assumed = _metadata(network, tensor, channels)
    assumed += ["layout"] if not channels else []
    size = (height, width) if height and width else None
    return _ImageInput(tensor, batch, Preprocess(size, layout=layout, **settings), tuple(assumed))


def _layout(sizes: list[int]) -> tuple[Literal["NCHW", "NHWC"], int, int, int]:
    """Layout, channels, height and width; channels are the axis of size 1 or 3, the first if both are."""
    if sizes[0] not in (1, 3) and sizes[2] in (1, 3):
        return "NHWC", sizes[2], sizes[0], sizes[1]
    return "NCHW", sizes[0], sizes[1], sizes[2]


def _metadata(network: Network, tensor: Tensor, channels: int) -> tuple[dict[str, Any], list[str]]:
    """Channel order and range as the model's metadata tell them, and which of them had to be assumed."""
    metadata = {key.lower(): text.lower() for key, text in network.metadata.items()}
    assumed = []
    if metadata.get("image.colorspacegamma") == "linear":
        raise BadInput(f"model file {network.path}: expects linear light, got sRGB: wrap it in a Python function")
    order = _ORDERS.get(metadata.get("image.bitmappixelformat", ""))
    span = _RANGES.get(metadata.get("image.nominalpixelrange", ""))
    if order is None or (order == "gray") != (channels == 1):
        order = "gray" if channels == 1 else "RGB"
        assumed += ["channel_order"] if order == "RGB" else []
    if span is None:
        span = _usual_range(tensor)
        assumed += [] if tensor.is_quantized or tensor.dtype == "uint8" else ["range"]
    return {"channel_order": order, "range": span}, assumed


def _usual_range(tensor: Tensor) -> tuple[float, float]:
    """All that whole numbers can stand for; 0 to 1 for floating-point ones."""
    if tensor.dtype in _FLOATS:
        return 0.0, 1.0
    limits = np.iinfo(tensor.dtype)
    return (limits.min - tensor.zero) * tensor.scale, (limits.max - tensor.zero) * tensor.scale


def _output_of(network: Network, wanted: str | None, spec: OutputSpec) -> Tensor:
    """The output to read: the one that is named, or the only one that fits the task and labels."""
    outputs = {each.name: each for each in network.outputs}
    if wanted is not None:
        if wanted not in outputs:
            raise UnknownName("output", wanted, outputs)
        return outputs[wanted]
    is_pair = _of_scikit_learn(network.outputs)
    fitting = [each for each in network.outputs if len(outputs) == 1 or _fits(each, spec, is_pair=is_pair)]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(map(str, network.outputs))
    fault = f"{len(fitting)} of them fit" if fitting else "none of them fits"
    raise BadInput(
        f"model file {network.path}: expected one output for a {spec.task.value} target, found {listed}, and "
        f"{fault}; choose with --output-name, or give --task and --labels"
    )


def _of_scikit_learn(outputs: Sequence[Tensor]) -> bool:
    """Whether the outputs are the class and the probabilities, as converters of scikit-learn's models write them."""
    if len(outputs) != _ROWS or outputs[0].dtype not in ("int64", "string") or len(outputs[0].shape) != 1:
        return False
    return outputs[1].dtype == MAP or (outputs[1].is_real and len(outputs[1].shape) == _ROWS)


def _fits(output: Tensor, spec: OutputSpec, *, is_pair: bool) -> bool:
    """Whether an output may hold the scores of the task: floating-point numbers of as many columns."""
    if output.dtype == MAP:
        return True
    wide = [size for size in output.shape[1:] if size != 1]
    if not output.is_real or len(wide) > 1:
        return False
    width = wide[0] if wide else 1
    if not isinstance(width, int) or width < 1:
        return True
    if spec.task in (Task.BINARY, Task.REGRESSION):
        return width == 1 or (is_pair and spec.task is Task.BINARY and width == _ROWS)
    return width == len(spec.labels) if spec.labels else width > 1
