"""Networks and processors out of a checked folder: in evaluation mode, with safetensors alone, without the network."""

from __future__ import annotations

import copy
import importlib
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np
from jaxtyping import UInt8

from transect.errors import BadInput, MissingExtra
from transect.runs.plain_json import loads
from transect.targets.hf.folder import PROCESSOR, ModelFolder
from transect.targets.hf.options import Options
from transect.texts import words_of

EXTRA: Final = "huggingface"


@contextmanager
def quiet(argument: str, scheme: str = "hf") -> Iterator[None]:
    """Without the library's progress bars and warnings. Raises MissingExtra where it is not installed."""
    try:
        logging: Any = importlib.import_module("transformers.utils.logging")
    except ModuleNotFoundError:
        raise MissingExtra(EXTRA, f"{scheme}:{argument}") from None
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


@contextmanager
def offline() -> Iterator[None]:
    """Without any call of the hub, also for parts of a network that its config would fetch from there."""
    constants: Any = importlib.import_module("huggingface_hub.constants")
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def library() -> Any:
    """Transformers."""
    return importlib.import_module("transformers")


def load_network(
    folder: ModelFolder, kind: str, what: str, options: Options, *, unused: str = ""
) -> tuple[Any, tuple[str, ...]]:
    """The network of Transformers' class `kind`, and the names of weights that it lacks and does not need.

    what: in words. unused: a part of names, of weights that may be missing. Raises BadInput for a folder of another
    kind, weights that do not fill the network, and an unknown device.
    """
    import torch

    try:
        with offline():
            loaded, report = getattr(library(), kind).from_pretrained(
                folder.path,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=getattr(torch, options.dtype),
                output_loading_info=True,
            )
    except Exception as error:  # the library raises many kinds for folders that do not fit
        raise BadInput(
            f"model folder {folder.path}: expected {what}, got: {first_line(error)}: save the model again with "
            "save_pretrained"
        ) from None
    missing = sorted({str(key) for key in (*report["missing_keys"], *report["mismatched_keys"])})
    unfilled = [key for key in missing if not unused or unused not in key]
    if unfilled:
        more = f" and {len(unfilled) - 1} more" if len(unfilled) > 1 else ""
        raise BadInput(
            f"model folder {folder.path}: expected the weights of {what}, found no {unfilled[0]}{more}: save the "
            "trained model again with save_pretrained"
        )
    try:
        # The library maps the file into memory: without a copy, later writing to it would change the weights.
        return copy.deepcopy(loaded).to(options.device).eval(), tuple(missing)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(
            f"device: expected one that PyTorch has, got {options.device!r} ({first_line(error)}): take cpu or cuda"
        ) from None


def load_processor(folder: ModelFolder) -> Any:
    """The image processor that was saved with the model. Raises BadInput where it is missing or cannot be used."""
    folder.check_processor()
    try:
        with offline():
            return library().AutoImageProcessor.from_pretrained(
                folder.path, local_files_only=True, trust_remote_code=False
            )
    except Exception as error:  # as above
        raise BadInput(f"model folder {folder.path}: {PROCESSOR} cannot be used: {first_line(error)}") from None


def load_tokenizer(folder: ModelFolder) -> Any:
    """The tokenizer that was saved with the model. Raises BadInput where it is missing or cannot be used."""
    folder.check_tokenizer()
    try:
        with offline():
            return library().AutoTokenizer.from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # as above
        raise BadInput(f"model folder {folder.path}: its tokenizer cannot be used: {first_line(error)}") from None


def inputs_by(ready: Any) -> Callable[[UInt8[np.ndarray, "n h w 3"]], np.ndarray]:
    """What an image processor makes of uint8 pixels: the network's input, float32.

    Pillow images leave no doubt about layout and range.
    """

    def processed(pixels: UInt8[np.ndarray, "n h w 3"]) -> np.ndarray:
        from PIL import Image

        pictures = [Image.fromarray(np.ascontiguousarray(picture)) for picture in pixels]
        made = ready(images=pictures, return_tensors="pt")
        mask = made.get("pixel_mask")
        if mask is not None and not bool(mask.all()):
            raise BadInput("the saved processor pads images, which is not supported; state --preprocess FILE")
        return np.asarray(made["pixel_values"].numpy())

    return processed


def model_facts(folder: ModelFolder, options: Options, ready: Any) -> dict[str, Any]:
    """What recreates the model: versions, device, type of numbers, architecture, files, the processor."""
    import torch

    known = {
        "library": f"Transformers {library().__version__}, PyTorch {torch.__version__}",
        "device": options.device,
        "dtype": options.dtype,
        "architecture": folder.architecture or folder.model_type,
        "files": folder.digests(),
    }
    if ready is None:
        return known
    text = f"{type(ready).__name__}, as saved with the model"
    return {**known, "preprocess": {"text": text, "processor": loads(ready.to_json_string())}}


def input_tensor(inputs: np.ndarray, options: Options) -> Any:
    """Inputs on the device, in the type of the weights."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(inputs)).to(options.device, getattr(torch, options.dtype))


def first_line(error: BaseException) -> str:
    """What the library says, in one line."""
    return words_of(error, 160)
