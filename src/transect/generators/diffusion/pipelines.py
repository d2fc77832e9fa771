"""Opens a saved diffusion pipeline without running code that it contains: safetensors, known classes, no network.

A folder that holds program text, pickled weights without safetensors next to them, or a component from any library but
diffusers and transformers is refused before a library reads it.
"""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from transect.datasets.labelled import digest
from transect.errors import BadInput, MissingExtra
from transect.runs.plain_json import loads
from transect.texts import words_of

Pipeline: TypeAlias = Any
"""A pipeline of diffusers, which has no common class for what is used here."""

_PICKLED: Final = (".bin", ".ckpt", ".pt", ".pth", ".pkl", ".pickle", ".joblib", ".npy", ".npz", ".h5", ".msgpack")
_PROGRAMS: Final = (".py", ".pyc", ".so", ".dll", ".sh")
_LIBRARIES: Final = ("diffusers", "transformers")
_INDEX: Final = "model_index.json"
LOADERS: Final = {
    "text": "AutoPipelineForText2Image",
    "edit": "AutoPipelineForImage2Image",
    "instruct": "DiffusionPipeline",
    "inpaint": "AutoPipelineForInpainting",
}
"""diffusers' class that opens a folder for each mode."""


def check_folder(folder: Path) -> dict[str, object]:
    """The pipeline's index; raises BadInput for a folder that is none, or that holds what could run."""
    if not (folder / _INDEX).is_file():
        raise BadInput(
            f"{folder}: expected a folder of a saved diffusers pipeline with {_INDEX}, found none; check the path"
        )
    for file in sorted(folder.rglob("*")):
        _check_file(file)
    index = _json(folder / _INDEX)
    if not isinstance(index.get("_class_name"), str):
        raise BadInput(
            f"{folder / _INDEX}: expected a pipeline's name, found {index.get('_class_name')!r}; take another"
        )
    for name, part in index.items():
        if isinstance(part, list) and part[:1] not in ([None], *([library] for library in _LIBRARIES)):
            raise BadInput(f"{folder / _INDEX}: {name} is of {part[0]!r}: expected {' or '.join(_LIBRARIES)} alone")
    for file in sorted(folder.rglob("*.json")):
        if "auto_map" in (settings := _json(file)) or "custom_pipelines" in settings:
            raise BadInput(f"{file}: expected settings, found a reference to custom code; it is not run")
    return index


def _check_file(file: Path) -> None:
    if file.suffix.lower() in _PROGRAMS:
        raise BadInput(f"{file}: expected weights and settings, found a program; pipelines with code are not run")
    if file.suffix.lower() in _PICKLED and not any(file.parent.glob("*.safetensors")):
        raise BadInput(f"{file}: expected safetensors, found {file.suffix}; save with safe_serialization=True")
    if file.is_symlink() and not file.resolve().exists():
        raise BadInput(f"{file}: expected a file, found a broken link; copy the pipeline again")


def open_pipeline(folder: Path, mode: str, device: str, half: bool) -> Pipeline:
    """The pipeline on its device, quiet. Raises MissingExtra, or BadInput for a pipeline of another kind."""
    index = check_folder(folder)
    try:
        import diffusers
        import transformers  # noqa: F401  (a missing package is reported here, not in the middle of loading)
    except ImportError:
        raise MissingExtra("diffusers", "a diffusion generator") from None
    import torch

    _check_device(device, half)
    options: dict[str, object] = {"use_safetensors": True, "local_files_only": True}
    if importlib.util.find_spec("accelerate") is None:
        options["low_cpu_mem_usage"] = False
    options |= {"torch_dtype": torch.float16 if half else torch.float32, "trust_remote_code": False}
    if "safety_checker" in index:  # it would black out images, and the report would not count them
        options |= {"safety_checker": None, "requires_safety_checker": False}
    with _quiet():
        try:
            pipeline = getattr(diffusers, LOADERS[mode]).from_pretrained(folder, **options)
        except (ValueError, OSError, TypeError, KeyError, AttributeError, ImportError) as error:
            reason = words_of(error, 200)
            raise BadInput(f"{folder}: {index['_class_name']} cannot be opened for mode {mode}: {reason}") from None
    _check_kind(pipeline, mode, folder)
    pipeline.set_progress_bar_config(disable=True)
    return pipeline.to(device)


def check_prompts(pipeline: Pipeline, prompts: list[str]) -> None:
    """Raises BadInput for a prompt that the text encoder would truncate, which could lose an attribute."""
    tokenizer = getattr(pipeline, "tokenizer", None)
    longest = getattr(tokenizer, "model_max_length", 0)
    if tokenizer is None or not 0 < longest < 10_000:
        return
    for prompt in prompts:
        with _quiet():
            count = len(tokenizer(prompt).input_ids)
        if count > longest:
            raise BadInput(
                f"prompt of {count} tokens: expected at most {longest}, the rest is cut off: {prompt[:60]!r}…"
            )


def facts_of(folder: Path) -> dict[str, object]:
    """Libraries and a digest of every weight and setting, for a run's spec."""
    import diffusers
    import transformers

    files = [file for file in sorted(folder.rglob("*")) if file.suffix in (".safetensors", ".json", ".txt", ".model")]
    return {
        "pipeline": _json(folder / _INDEX)["_class_name"],
        "pipeline_sha256": digest(files),
        "diffusers": diffusers.__version__,
        "transformers": transformers.__version__,
    }


def own_size(pipeline: Pipeline) -> int:
    """Default width and height of the pipeline's images, in pixels."""
    model = getattr(pipeline, "unet", None) or getattr(pipeline, "transformer", None)
    size = getattr(getattr(model, "config", None), "sample_size", None)
    size = getattr(pipeline, "default_sample_size", None) if size is None else size
    factor = getattr(pipeline, "vae_scale_factor", 8)
    return int(size) * int(factor) if isinstance(size, int) else 512


def _check_device(device: str, half: bool) -> None:
    import torch

    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = words_of(error, 120)
        raise BadInput(f"device: expected one that PyTorch has here, got {device!r} ({reason}); change it") from None
    if half and device == "cpu":
        raise BadInput("half: expected a GPU for half precision, got the CPU; drop it or give --device cuda")


def _check_kind(pipeline: Pipeline, mode: str, folder: Path) -> None:
    takes = inspect.signature(type(pipeline).__call__).parameters
    arguments = {
        "text": ("prompt", "generator"),
        "edit": ("image", "strength"),
        "instruct": ("image", "image_guidance_scale"),
        "inpaint": ("image", "mask_image", "strength"),
    }
    if missing := [name for name in arguments[mode] if name not in takes]:
        kind = type(pipeline).__name__
        raise BadInput(f"{folder}: expected a pipeline for mode {mode}, got {kind}, which takes no {missing[0]}")


def _json(path: Path) -> dict[str, object]:
    try:
        content = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{path}: expected JSON, got {words_of(error, 80)}; copy the pipeline again") from None
    return content if isinstance(content, dict) else {}


@contextmanager
def _quiet() -> Iterator[None]:
    """Hides the libraries' progress bars and advice on standard error; errors are still raised."""
    import warnings

    import transformers
    from diffusers.utils import logging as of_diffusers

    of_transformers = transformers.utils.logging
    loggers = (of_diffusers, of_transformers)
    before = [logger.get_verbosity() for logger in loggers]
    for logger in loggers:
        logger.set_verbosity_error()
        logger.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.set_verbosity(level)
            logger.enable_progress_bar()
