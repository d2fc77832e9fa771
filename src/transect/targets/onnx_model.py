"""ONNX models under audit, run by ONNX Runtime; input and output are read off the model itself."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, final

import numpy as np

from transect.errors import BadInput
from transect.options import Option
from transect.runs import model_files
from transect.runs.model_files import external_digests, external_files
from transect.targets.kinds import Kind
from transect.targets.model import ModelTarget
from transect.targets.network_file import MAP, Network, NetworkFileOptions, Tensor, as_model
from transect.texts import words_of

if TYPE_CHECKING:
    import onnxruntime

KIND: Final = Kind(
    prefix="onnx",
    trust="code",
    listed=(("onnx:file.onnx", "any", "an ONNX model, run by ONNX Runtime"),),
    named=("*.onnx",),
    extra="onnx",
    needs=("onnxruntime",),
)
_TYPES: Final = {"tensor(float)": "float32", "tensor(double)": "float64"}


@final
@dataclass(frozen=True, slots=True)
class Options(NetworkFileOptions):
    """As of any network in a file; one thread keeps answers the same on any number of cores."""

    threads: Annotated[int, Option("Threads of ONNX Runtime within one call.")] = 1


def load(argument: str, options: Options) -> ModelTarget:
    """The ONNX file as a target.

    Without `preprocess`, layout, channels and size come from the shape of the model's one input, and channel order
    and range from its image metadata (https://onnx.ai/onnx/repo-docs/MetadataProps.html) where it has them; else RGB,
    0 to 255 for uint8, -128 to 127 for int8 and 0 to 1 for float inputs, and `describe()` says that this was assumed.
    A fixed batch is filled by repeating its last image. output_name: which of several outputs is read, by default the
    only one whose shape fits the task and labels; for a detector the outputs of its head, separated by commas.
    Weights beside the
    model must lie in its folder; a call raises TargetChanged where they changed.
    """
    import onnxruntime

    path = model_files.check_readable(Path(argument))
    mapped = model_files.stamps_of(external_files(path).values())
    external = external_digests(path)
    session = _session(path, options.threads)
    model_files.check_unchanged(mapped)
    inputs = [_tensor(each) for each in session.get_inputs()]

    def run(batch: np.ndarray, names: list[str]) -> list[object]:
        answers = session.run(names, {inputs[0].name: batch})
        model_files.check_unchanged(mapped)  # the runtime maps these files, so that writing to them changes the weights
        return list(answers)

    facts = {
        "library": f"ONNX Runtime {onnxruntime.__version__}",
        "file": path.name,
        "sha256": model_files.sha256(path),
        **({"external_data": external} if external else {}),
    }
    outputs = [_tensor(each) for each in session.get_outputs()]
    network = Network(path, inputs, outputs, session.get_modelmeta().custom_metadata_map, run, facts)
    return as_model(network, KIND.shown(argument), options)


def _tensor(each: Any) -> Tensor:
    found = re.fullmatch(r"tensor\((\w+)\)", each.type)
    dtype = _TYPES.get(each.type) or (found[1] if found else MAP if each.type.startswith("seq(map(") else each.type)
    return Tensor(each.name, dtype, tuple(each.shape or ()))


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
