"""TensorFlow Lite models under audit, run by LiteRT; input and output are read off the model itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np

from transect.errors import BadInput
from transect.marks.mediapipe import interpreter
from transect.runs import model_files
from transect.targets.kinds import Kind
from transect.targets.model import ModelTarget
from transect.targets.network_file import Network, NetworkFileOptions, Tensor, as_model
from transect.texts import words_of

KIND: Final = Kind(
    prefix="tflite",
    trust="code",
    listed=(("tflite:file.tflite", "any", "a TensorFlow Lite model, run by LiteRT"),),
    named=("*.tflite",),
    extra="tflite",
    needs=("ai_edge_litert",),
)


Options = NetworkFileOptions


def load(argument: str, options: Options) -> ModelTarget:
    """The TensorFlow Lite file as a target; one image at a time, on one thread.

    Without `preprocess`, size and channels come from the shape of the model's one input. Quantised inputs get pixels
    over their whole range, float inputs 0 to 1, and `describe()` says that this was assumed; quantised outputs are
    turned into the numbers that they stand for. output_name: as for ONNX models.
    """
    path = model_files.check_readable(Path(argument))
    network = _opened(path)
    inputs, outputs = network.get_input_details(), network.get_output_details()
    places = {each["name"]: each["index"] for each in outputs}

    def run(batch: np.ndarray, names: list[str]) -> list[object]:
        network.set_tensor(inputs[0]["index"], batch)
        network.invoke()
        return [np.array(network.get_tensor(places[each])) for each in names]

    from importlib.metadata import version

    facts = {"library": f"LiteRT {version('ai-edge-litert')}", "file": path.name, "sha256": model_files.sha256(path)}
    found = Network(path, [_tensor(each) for each in inputs], [_tensor(each) for each in outputs], {}, run, facts)
    return as_model(found, KIND.shown(argument), options, unit_boxes=True)


def _opened(path: Path) -> Any:
    try:
        made = interpreter(path.read_bytes())
        made.allocate_tensors()
    except (ValueError, RuntimeError) as error:
        kind = model_files.kind_of(path)
        text = words_of(error, 160)
        raise BadInput(f"model file {path}: expected a TensorFlow Lite model, found {kind}: {text}") from None
    return made


def _tensor(each: Any) -> Tensor:
    scale, zero = each["quantization"]
    return Tensor(each["name"], np.dtype(each["dtype"]).name, tuple(map(int, each["shape"])), scale or 1.0, zero)
