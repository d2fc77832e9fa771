"""A network in a file, whatever library runs it: its image input, its outputs, and the target that it makes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, final

import numpy as np

from transect.errors import BadInput, UnknownName
from transect.records import Task
from transect.targets import box_heads
from transect.targets.model import ModelOptions, ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess
from transect.targets.settings import OUTPUT_NAME

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

    def real(self, values: Any) -> Any:
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
    run: Callable[[np.ndarray, list[str]], list[Any]]
    facts: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class NetworkFileOptions(ModelOptions):
    """As of any model, and which of several outputs is read. Detectors come with their boxes undecoded."""

    output_name: Annotated[str | None, OUTPUT_NAME] = None


def as_model(network: Network, name: str, options: NetworkFileOptions, *, unit_boxes: bool = False) -> ModelTarget:
    """The target of a network. unit_boxes: whether YOLO heads of its kind of file give shares of the input's size."""
    image, output, preprocess = _inspect(network), options.output_spec(box_heads.HEADS), options.preprocess
    head = None
    if output.head:
        head = box_heads.recognised(network.outputs, output, options.output_name, network.metadata, network.path)
        image = image.of_head(head.kind, network.metadata)
        output = replace(output, head=head.kind)
    agreed = image.agree(preprocess, network.path) if preprocess else image.preprocess
    chosen = head.outputs if head else [_output_of(network, options.output_name, output)]
    if not head and box_heads.is_grid(chosen[0]):
        raise BadInput(
            f"model file {network.path}: expected scores of a {output.task.value} target, found {chosen[0]}, as a "
            "detector has them; state --task detection"
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
        box_heads.check_size(head, agreed.size, network.path)

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
                f"expected inputs of {expected} features, got {shape} = {rows.shape[1]}: set size and channel_order in "
                "--preprocess to those that the model was fitted on"
            )
        return rows

    def of_head(self, kind: str, metadata: Mapping[str, str]) -> _ImageInput:
        """The input as detectors with that head expect it where neither the model nor its metadata say more."""
        letterbox, span = box_heads.HEADS[kind].letterbox, box_heads.HEADS[kind].range
        size = self.preprocess.size or box_heads.stated_size(metadata)
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
        raise BadInput(
            f"model file {path}: expected one input of images, [n, 3, h, w] or [n, h, w, 3], found {listing}"
        )
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
        raise BadInput(
            f"model file {network.path}: expects linear light, Transect gives sRGB: wrap it in a Python function"
        )
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
        f"model file {network.path}: expected one output for a {spec.task.value} target, found {listed}, and {fault}; "
        "choose with --output-name, or state --task and --labels"
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
