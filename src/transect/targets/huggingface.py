"""Image classifiers saved by Hugging Face Transformers: a folder with config.json, safetensors and the processor.

Everything comes from the folder: nothing is downloaded, no code that came with the model runs, nothing is unpickled.
"""

from __future__ import annotations

import copy
import functools
import importlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from transect.errors import BadInput, MissingExtra
from transect.records import Task
from transect.runs import model_files
from transect.runs.plain_json import loads
from transect.targets.model import ModelTarget
from transect.targets.output import OutputSpec
from transect.targets.preprocess import Preprocess
from transect.texts import words_of

CONFIG: Final = "config.json"
PROCESSOR: Final = "preprocessor_config.json"
EXTRA: Final = "huggingface"


class Options(NamedTuple):
    """What a user may state about the model; None for what its config says."""

    task: Task | None = None
    threshold: float | None = None
    positive: str | None = None
    preprocess: Preprocess | None = None
    device: str = "cpu"


def is_folder(path: Path) -> bool:
    """Whether the folder holds a model as `save_pretrained` writes it."""
    return (path / CONFIG).is_file() and bool(_weights(path))


def load(argument: str, *, name: str, options: Options | None = None) -> ModelTarget:
    """The folder as a target: an image classifier and the processor that was saved with it.

    The labels are those of the config. Two classes make a binary target that scores `positive` (default the second
    class); one output is binary too, or a regression where the config says so; `multi_label_classification` is
    multilabel, everything else multiclass. options.preprocess replaces the saved processor.

    Raises MissingExtra without Transformers, BadInput for a folder that lacks a file, for a model that is no image
    classifier or needs remote code, and for weights that do not fill the network.
    """
    options = options or Options()
    folder = _checked(Path(argument), options.preprocess is None)
    config = _config(folder)
    with _quiet(argument):
        network = _network(folder, options.device)
        processor = None if options.preprocess else _processor(folder)
    labels = _labels(network)
    output, column = _reading(labels, network.config.problem_type, options)

    def run(inputs: np.ndarray) -> np.ndarray:
        import torch

        with torch.inference_mode():
            logits = network(pixel_values=torch.from_numpy(inputs).to(options.device)).logits
            chosen = logits if column is None else torch.softmax(logits.double(), dim=1)[:, column]
        return np.asarray(chosen.cpu().double().numpy())

    facts = _facts(folder, config, options.device, processor)
    facts |= {"classes": list(labels), "positive_class": None if column is None else labels[column]}
    processed = None if processor is None else functools.partial(_processed, processor)
    return ModelTarget(name, run, output, options.preprocess, facts, processed)


def _checked(folder: Path, with_processor: bool) -> Path:
    needed = {CONFIG: (folder / CONFIG).is_file(), "*.safetensors": bool(_weights(folder))}
    if with_processor:
        needed[PROCESSOR] = (folder / PROCESSOR).is_file()
    missing = [file for file, there in needed.items() if not there]
    if missing:
        raise BadInput(
            f"model folder {folder}: expected {', '.join(needed)}, found no {' and no '.join(missing)}: save model and "
            "processor with save_pretrained"
        )
    return folder


def _weights(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.safetensors"))


def _config(folder: Path) -> Mapping[str, object]:
    try:
        config = loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"model folder {folder}: expected {CONFIG} to be JSON: {words_of(error)}") from None
    if not isinstance(config, dict):
        raise BadInput(f"model folder {folder}: expected {CONFIG} to be an object, got {type(config).__name__}")
    if "auto_map" in config:
        raise BadInput(
            f"model folder {folder}: the model brings its own code, which is never run: wrap it in a Python function"
        )
    return config


@contextmanager
def _quiet(argument: str) -> Iterator[None]:
    """Without the library's progress bars and warnings. Raises MissingExtra where it is not installed."""
    try:
        logging: Any = importlib.import_module("transformers.utils.logging")
    except ModuleNotFoundError:
        raise MissingExtra(EXTRA, f"{EXTRA}:{argument}") from None
    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def _network(folder: Path, device: str) -> Any:
    import torch

    library: Any = importlib.import_module("transformers")
    try:
        network, loading = library.AutoModelForImageClassification.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    except Exception as error:  # the library raises many kinds for folders that do not fit
        raise BadInput(f"model folder {folder}: expected an image classifier: {_first_line(error)}") from None
    unfilled = sorted({str(key) for key in (*loading["missing_keys"], *loading["mismatched_keys"])})
    if unfilled:
        more = f" and {len(unfilled) - 1} more" if len(unfilled) > 1 else ""
        raise BadInput(
            f"model folder {folder}: the weights lack {unfilled[0]}{more}: expected a trained image classifier"
        )
    try:
        # The library maps the file into memory: without a copy, later writing to it would change the weights.
        return copy.deepcopy(network).to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device: expected one that PyTorch has, got {device!r} ({_first_line(error)})") from None


def _processor(folder: Path) -> object:
    library: Any = importlib.import_module("transformers")
    try:
        return library.AutoImageProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # as above
        raise BadInput(f"model folder {folder}: {PROCESSOR} cannot be used: {_first_line(error)}") from None


def _processed(processor: Any, pixels: np.ndarray) -> np.ndarray:
    """The processor's input for the network; Pillow images leave no doubt about layout and range."""
    from PIL import Image

    pictures = [Image.fromarray(np.ascontiguousarray(picture)) for picture in pixels]
    ready = processor(images=pictures, return_tensors="pt")["pixel_values"]
    return np.asarray(ready.numpy())


def _labels(network: Any) -> tuple[str, ...]:
    names = network.config.id2label
    return tuple(str(names[number]) for number in sorted(names))


def _reading(labels: tuple[str, ...], problem: str | None, options: Options) -> tuple[OutputSpec, int | None]:
    """How the logits are read, and the column of yes where two classes make a binary target."""
    task = options.task or _task(labels, problem)
    if task is Task.BINARY and len(labels) == 2:
        column = 1 if options.positive is None else _column(options.positive, labels)
        return OutputSpec(task, threshold=options.threshold), column
    if (task in (Task.BINARY, Task.REGRESSION)) != (len(labels) == 1) or task in (Task.DETECTION, Task.EMBEDDING):
        raise BadInput(f"task: the model has {len(labels)} outputs ({', '.join(labels[:4])} …), got {task.value}")
    if len(labels) == 1:
        scale = OutputSpec(task, "logit" if task is Task.BINARY else "probability", threshold=options.threshold)
        return scale, None
    return OutputSpec(task, "logit", labels, options.threshold, options.positive), None


def _column(positive: str, labels: tuple[str, ...]) -> int:
    column = OutputSpec(Task.MULTICLASS, labels=labels, positive=positive).positive_column
    return 1 if column is None else column


def _task(labels: tuple[str, ...], problem: str | None) -> Task:
    if problem == "multi_label_classification":
        return Task.MULTILABEL
    if len(labels) == 1:
        return Task.REGRESSION if problem == "regression" else Task.BINARY
    return Task.BINARY if len(labels) == 2 else Task.MULTICLASS


def _facts(folder: Path, config: Mapping[str, Any], device: str, processor: Any) -> dict[str, Any]:
    import torch
    import transformers

    files = sorted([*folder.glob("*.json"), *_weights(folder)])  # all that the library may read
    facts = {
        "library": f"Transformers {transformers.__version__}, PyTorch {torch.__version__}",
        "device": device,
        "architecture": next(iter(config.get("architectures") or ()), str(config.get("model_type", ""))),
        "files": {file.name: model_files.sha256(file) for file in files},
    }
    if processor is None:
        return facts
    text = f"{type(processor).__name__}, as saved with the model"
    return {**facts, "preprocess": {"text": text, "processor": loads(processor.to_json_string())}}


def _first_line(error: BaseException) -> str:
    return words_of(error, 160)
