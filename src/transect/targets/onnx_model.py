"""ONNX models under audit, run by ONNX Runtime; input and output are read off the model itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, final

import numpy as np

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.records import Task
from transect.runs import model_files
from transect.runs.model_files import external_digests, external_files
from transect.targets.model import ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess
from transect.texts import words_of

if TYPE_CHECKING:
    import onnxruntime

_DTYPES: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(float16)": np.float16,
    "tensor(double)": np.float64,
    "tensor(uint8)": np.uint8,
}
_RANGES = {"nominalrange_0_255": (0.0, 255.0), "normalized_0_1": (0.0, 1.0), "normalized_1_1": (-1.0, 1.0)}
_ORDERS: dict[str, Literal["RGB", "BGR", "gray"]] = {"rgb8": "RGB", "bgr8": "BGR", "gray8": "gray"}


def load(
    argument: str,
    *,
    name: str,
    output: OutputSpec,
    preprocess: Preprocess | None = None,
    output_name: str | None = None,
    threads: int = 1,
) -> ModelTarget:
    """The ONNX file as a target.

    Without `preprocess`, layout, channels and size come from the shape of the model's one input, and channel order
    and range from its image metadata (https://onnx.ai/onnx/repo-docs/MetadataProps.html) where it has them; else RGB,
    0 to 255 for uint8 and 0 to 1 for float inputs, and `describe()` says that this was assumed. A fixed batch is
    filled by repeating its last image. output_name: which of several outputs is read, by default the
    only one whose shape fits the task and labels. threads: of ONNX Runtime within one call; one keeps answers the same
    on any number of cores. Weights beside the model must lie in its folder; a call raises TargetChanged where they
    changed.
    """
    try:
        import onnxruntime
    except ModuleNotFoundError:
        raise MissingExtra("onnx", f"onnx:{argument}") from None
    path = model_files.check_readable(Path(argument))
    mapped = model_files.stamps_of(external_files(path).values())
    external = external_digests(path)
    session = _session(path, threads)
    model_files.check_unchanged(mapped)
    image = _inspect(session, path)
    outputs = {each.name: Output(each.type, list(each.shape)) for each in session.get_outputs()}
    answer = _output_name(outputs, output_name, output, path)
    facts = {
        "library": f"ONNX Runtime {onnxruntime.__version__}",
        "file": path.name,
        "sha256": model_files.sha256(path),
        **({"external_data": external} if external else {}),
        "input": image.name,
        "output_name": answer,
        **({"outputs": {name: _sizes(each) for name, each in outputs.items()}} if len(outputs) > 1 else {}),
        "assumed": [] if preprocess else list(image.assumed),
    }
    agreed = image.agree(preprocess, path) if preprocess else image.preprocess

    def run(inputs: np.ndarray) -> np.ndarray:
        batches = [session.run([answer], {image.name: batch})[0] for batch in image.batches(inputs)]
        model_files.check_unchanged(mapped)  # the runtime maps these files, so that writing to them changes the weights
        return np.concatenate(batches)[: len(inputs)]

    return ModelTarget(name, run, output, agreed, facts)


_MATRIX: Final = 2


class Output(NamedTuple):
    """The type of an output and its sizes; free ones have a name, or None."""

    type: str
    shape: list[int | str | None]


@final
@dataclass(frozen=True, slots=True)
class _ImageInput:
    """The model's one input. batch, height, width: 0 where free. assumed: the settings that the model did not tell."""

    name: str
    dtype: type[np.generic]
    batch: int
    preprocess: Preprocess
    assumed: tuple[str, ...]

    def batches(self, inputs: np.ndarray) -> list[np.ndarray]:
        """The inputs in the model's dtype, cut (and the last one filled up) to its batch size."""
        rounded = np.rint(inputs) if self.dtype is np.uint8 else inputs
        ready = rounded.astype(self.dtype)
        size = self.batch or len(ready)
        cut = [ready[start : start + size] for start in range(0, len(ready), size)]
        return [np.concatenate([batch, batch[-1:].repeat(size - len(batch), axis=0)]) for batch in cut]

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


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 4  # what goes wrong is raised too
    try:
        return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    except Exception as error:  # the runtime's own error classes are private
        kind = model_files.kind_of(path)
        text = words_of(error, 160)
        raise BadInput(f"model file {path}: expected an ONNX model, found {kind}: {text}") from None


def _inspect(session: onnxruntime.InferenceSession, path: Path) -> _ImageInput:
    inputs = session.get_inputs()
    if len(inputs) != 1 or len(inputs[0].shape) != 4 or inputs[0].type not in _DTYPES:
        listing = ", ".join(f"{each.name} {each.type} {each.shape}" for each in inputs)
        raise BadInput(
            f"model file {path}: expected one input of images, [n, 3, h, w] or [n, h, w, 3], found {listing}"
        )
    batch, *rest = (size if isinstance(size, int) else 0 for size in inputs[0].shape)
    layout, channels, height, width = _layout(rest)
    if channels not in (0, 1, 3):
        raise BadInput(f"model file {path}: expected an input of 1 or 3 channels, found {inputs[0].shape}")
    dtype = _DTYPES[inputs[0].type]
    settings, assumed = _metadata(session, path, dtype, channels)
    assumed += ["layout"] if not channels else []
    size = (height, width) if height and width else None
    return _ImageInput(inputs[0].name, dtype, batch, Preprocess(size, layout=layout, **settings), tuple(assumed))


def _layout(sizes: list[int]) -> tuple[Literal["NCHW", "NHWC"], int, int, int]:
    """Layout, channels, height and width; channels are the axis of size 1 or 3, the first if both are."""
    if sizes[0] not in (1, 3) and sizes[2] in (1, 3):
        return "NHWC", sizes[2], sizes[0], sizes[1]
    return "NCHW", sizes[0], sizes[1], sizes[2]


def _metadata(
    session: onnxruntime.InferenceSession, path: Path, dtype: type[np.generic], channels: int
) -> tuple[dict[str, Any], list[str]]:
    """Channel order and range as the model's metadata tell them, and which of them had to be assumed."""
    metadata = {key.lower(): text.lower() for key, text in session.get_modelmeta().custom_metadata_map.items()}
    assumed = []
    if metadata.get("image.colorspacegamma") == "linear":
        raise BadInput(f"model file {path}: expects linear light, Transect gives sRGB: wrap it in a Python function")
    order = _ORDERS.get(metadata.get("image.bitmappixelformat", ""))
    span = _RANGES.get(metadata.get("image.nominalpixelrange", ""))
    if order is None or (order == "gray") != (channels == 1):
        order = "gray" if channels == 1 else "RGB"
        assumed += ["channel_order"] if order == "RGB" else []
    if span is None:
        span = (0.0, 255.0) if dtype is np.uint8 else (0.0, 1.0)
        assumed += ["range"] if dtype is not np.uint8 else []
    return {"channel_order": order, "range": span}, assumed


def _output_name(outputs: Mapping[str, Output], wanted: str | None, spec: OutputSpec, path: Path) -> str:
    """The output to read: the one that is named, or the only one that fits the task and labels."""
    if wanted is not None:
        if wanted not in outputs:
            raise UnknownName("output", wanted, outputs)
        return wanted
    fitting = [name for name, output in outputs.items() if len(outputs) == 1 or _fits(output, spec)]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{name} [{_sizes(output)}]" for name, output in outputs.items())
    fault = f"{len(fitting)} of them fit" if fitting else "none of them fits"
    raise BadInput(
        f"model file {path}: expected one output for a {spec.task.value} target, found {listed}, and {fault}; choose "
        "with --output-name, or state --task and --labels"
    )


def _sizes(output: Output) -> str:
    return ", ".join("any" if size is None else str(size) for size in output.shape)


def _fits(output: Output, spec: OutputSpec) -> bool:
    """Whether an output may hold the scores of the task: floating-point numbers of as many columns."""
    is_detection = spec.task is Task.DETECTION
    if not output.type.startswith(("tensor(float", "tensor(double")) or (len(output.shape) > _MATRIX) != is_detection:
        return False
    width = output.shape[1] if len(output.shape) == _MATRIX else 1
    if is_detection or not isinstance(width, int):
        return True
    if spec.task in (Task.BINARY, Task.REGRESSION):
        return width == 1
    return width == len(spec.labels) if spec.labels else width > 1
