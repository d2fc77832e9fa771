"""Open models in folders: their files, the settings of a user, and networks, processors and tokenizers loaded from
them without running code of theirs.
"""

from __future__ import annotations

import copy
import importlib
import math
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Final, final

import numpy as np
from jaxtyping import UInt8

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.records import Task
from transect.runs import model_files, model_folders
from transect.runs.environment import check_torchvision
from transect.runs.json_records import loads
from transect.runs.pictures import MOST_PIXELS
from transect.targets.preprocess import Preprocess
from transect.targets.settings import (
    ALLOW_DOWNLOAD,
    DEVICE,
    DTYPE,
    LABELS,
    POSITIVE,
    PREPROCESS,
    TASK,
    TEMPLATES,
    THRESHOLD,
)
from transect.texts import words_of

DTYPES: Final = ("float32", "float16", "bfloat16")
PLACE: Final = "{}"
"""Where a template takes the label."""
TEMPLATE: Final = "This is a photo of {}."
"""What Transformers' own pipeline asks without a template."""


@dataclass(frozen=True, slots=True)
class NetworkOptions:
    """None or empty: what the model's files say. device: as PyTorch names it. dtype: of weights and inputs."""

    task: Annotated[Task | None, TASK] = None
    labels: Annotated[tuple[str, ...], LABELS] = ()
    positive: Annotated[str | None, POSITIVE] = None
    threshold: Annotated[float | None, THRESHOLD] = None
    preprocess: Annotated[Preprocess | None, PREPROCESS] = None
    device: Annotated[str, DEVICE] = "cpu"
    dtype: Annotated[str, DTYPE] = "float32"

    def __post_init__(self) -> None:
        if self.dtype not in DTYPES:
            raise UnknownName("dtype", str(self.dtype), DTYPES)


@final
@dataclass(frozen=True, slots=True)
class Options(NetworkOptions):
    """As NetworkOptions. labels: names in words, which make a model of images and texts a classifier. templates:
    sentences with {} for the label; of several, the scores are averaged.
    """

    templates: Annotated[tuple[str, ...], TEMPLATES] = ()
    allow_download: Annotated[bool, ALLOW_DOWNLOAD] = False

    def __post_init__(self) -> None:
        NetworkOptions.__post_init__(self)
        for template in self.templates:
            if template.count(PLACE) != 1:
                raise BadInput(f"template: expected one {PLACE} for the label, got {template!r}; add it")
        if self.templates and not self.labels:
            raise BadInput("template: no labels to put into it; add --labels, or leave templates out")
        for name, values in (("labels", self.labels), ("template", self.templates)):
            twice = sorted({value for value in values if values.count(value) > 1})
            if twice or "" in values:
                raise BadInput(f"{name}: expected unique, non-empty texts, got {(twice or [''])[0]!r}")


CONFIG: Final = "config.json"
PROCESSOR: Final = "preprocessor_config.json"
WEIGHTS: Final = "*.safetensors"
_WHOLE_PROCESSOR: Final = "processor_config.json"
"""Where later versions of Transformers keep the processors of images and texts together."""
_TOKENIZER: Final = ("tokenizer.json", "tokenizer_config.json")
_DOWNLOADED: Final = ("*.jinja", "*.json", "*.model", WEIGHTS, "*.spm", "*.txt")
_READ: Final = (*_DOWNLOADED, "additional_chat_templates/*", "*tokenizer/*")
"""All that Transformers may read of a model."""
_ID: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")


@final
@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with config and safetensors, and no code of its own. config: what config.json says."""

    path: Path
    config: Mapping[str, Any]

    @property
    def architecture(self) -> str:
        """The class that was saved; "" where the config names none."""
        return str(next(iter(self.config.get("architectures") or ()), ""))

    @property
    def model_type(self) -> str:
        """The kind of network, as Transformers names it; "" where the config names none."""
        return str(self.config.get("model_type") or "")

    def check_processor(self) -> None:
        """Raises BadInput where no image processor was saved with the model."""
        whole = self.path / _WHOLE_PROCESSOR
        if not (self.path / PROCESSOR).is_file() and not (
            whole.is_file() and "image_processor" in model_folders.settings_of(whole)
        ):
            raise BadInput(_lacking(self.path, (CONFIG, WEIGHTS, PROCESSOR), [PROCESSOR]))

    def check_tokenizer(self) -> None:
        """Raises BadInput where no tokenizer was saved with the model."""
        if not any((self.path / name).is_file() for name in _TOKENIZER):
            raise BadInput(
                f"model folder {self.path}: found no tokenizer for the labels ({_TOKENIZER[0]}): save it with "
                "save_pretrained"
            )

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file that the library may read, by name."""
        return digests_of(self.path)


def digests_of(folder: Path) -> dict[str, str]:
    """SHA-256 of every file of a folder that the library may read, by name."""
    return {file.relative_to(folder).as_posix(): model_files.sha256(file) for file in checked_files(folder)}


def checked_files(folder: Path) -> list[Path]:
    """The files that the library may read. Raises BadInput for a folder that leads it elsewhere, or to code."""
    files = sorted({file for pattern in _READ for file in folder.glob(pattern) if not file.is_dir()})
    model_folders.check_files(folder, files)
    return files


def open_folder(argument: str, *, allow_download: bool = False, scheme: str = "hf") -> ModelFolder:
    """The folder of that path, or the cached one of that id. Refuses a model with code of its own."""
    path = _located(argument, allow_download, scheme)
    needed = {CONFIG: (path / CONFIG).is_file(), WEIGHTS: any(path.glob(WEIGHTS))}
    if missing := [name for name, there in needed.items() if not there]:
        raise BadInput(_lacking(path, (CONFIG, WEIGHTS, PROCESSOR), missing))
    checked_files(path)
    return ModelFolder(path, model_folders.settings_of(path / CONFIG))


def shown_name(argument: str) -> str:
    """The model as tables show it: an id whole, a folder by its name alone."""
    return Path(argument).name if Path(argument).is_dir() or not _ID.fullmatch(argument) else argument


def _located(argument: str, allow_download: bool, scheme: str) -> Path:
    path = Path(argument)
    if path.is_dir():
        return path
    if path.exists() or not _ID.fullmatch(argument):
        raise BadInput(f"model folder {argument}: no such folder with {CONFIG}; check the path")
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(argument, local_files_only=not allow_download, allow_patterns=list(_DOWNLOADED))
    except Exception as error:  # the hub's client raises many kinds
        if not allow_download:
            offered = ", or download it with --allow-download" if scheme == "hf" else ""
            raise BadInput(
                f"{scheme}:{argument}: expected a folder, or the id of a model in the local cache, found neither: "
                f"check the path{offered}"
            ) from None
        raise BadInput(f"hf:{argument}: cannot be downloaded: {words_of(error, 160)}; check id and network") from None
    return Path(found)


def _lacking(folder: Path, needed: tuple[str, ...], missing: list[str]) -> str:
    return (
        f"model folder {folder}: expected {', '.join(needed)}, found no {' and no '.join(missing)}: save model and "
        "processor with save_pretrained"
    )


EXTRA: Final = "huggingface"


@contextmanager
def quiet(argument: str, scheme: str = "hf") -> Iterator[None]:
    """Without the library's progress bars and warnings. Raises MissingExtra where it is not installed."""
    try:
        logging = importlib.import_module("transformers.utils.logging")
    except ModuleNotFoundError:
        raise MissingExtra(EXTRA, f"{scheme}:{argument}") from None
    check_torchvision()
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


def library() -> ModuleType:
    """Transformers."""
    return importlib.import_module("transformers")


def load_network(
    folder: ModelFolder, kind: str, what: str, options: NetworkOptions, *, unused: str = ""
) -> tuple[Any, tuple[str, ...]]:
    """The network of Transformers' class `kind`, and the weights that it lacks, whose names have `unused` in them."""
    import torch

    try:
        with offline(), _bounded(folder):
            loaded, report = getattr(library(), kind).from_pretrained(
                folder.path,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                dtype=getattr(torch, options.dtype),
                output_loading_info=True,
            )
    except BadInput:
        raise
    except Exception as error:  # the library raises many kinds for folders that do not fit
        raise BadInput(
            f"model folder {folder.path}: expected {what}, got: {words_of(error, 160)}: save the model again with "
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
    # The library maps the file into memory: without a copy, later writing to it would change the weights.
    network = copy.deepcopy(loaded) if options.device.startswith("cpu") else loaded
    return on_device(network, options.device).eval(), tuple(missing)


_LAYERS: Final = re.compile(r"(?:.*_)?(?:n_layer|layers|depths?|blocks)")
_SPARE: Final = 1000
"""Parameters beside those of the weights: of a head that is new."""
_TIED: Final = 4
"""Times that a tensor may be made before it is shared."""


@contextmanager
def _bounded(folder: ModelFolder) -> Iterator[None]:
    """Ends the building of a network that is far larger than the folder's weights: a config of a few bytes can name
    millions of layers. Raises BadInput.
    """
    from torch.nn.modules.module import register_module_parameter_registration_hook

    tensors, size = _weights_of(folder.path)
    _check_layers(folder.path, folder.config, tensors)
    made, numbers, here = 0, 0, threading.get_ident()

    def count(_module: object, _name: str, parameter: Any) -> None:
        nonlocal made, numbers
        if parameter is None or threading.get_ident() != here:
            return
        made, numbers = made + 1, numbers + parameter.numel()
        # Of four bits at least is a number of the weights.
        if made > _TIED * tensors + _SPARE or numbers > _TIED * 2 * size + (_SPARE << 10):
            raise _larger(folder.path, f"{made:,} parameters of {numbers:,} numbers and more", tensors)

    hook = register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


def _weights_of(folder: Path) -> tuple[int, int]:
    """How many tensors the weights have, and their bytes."""
    from safetensors import safe_open

    files, tensors = list(folder.glob(WEIGHTS)), 0
    for path in files:
        with safe_open(path, "numpy") as file:
            tensors += len(file.keys())
    return tensors, sum(path.stat().st_size for path in files)


def _check_layers(folder: Path, config: Mapping[str, object], tensors: int) -> None:
    for key, value in config.items():
        if isinstance(value, Mapping):
            _check_layers(folder, value, tensors)
        elif _LAYERS.fullmatch(str(key)):
            counts = value if isinstance(value, list) else [value]
            layers = sum(count for count in counts if isinstance(count, int))
            if layers > tensors + _SPARE:
                raise _larger(folder, f"{layers:,} {key}", tensors)


def _larger(folder: Path, named: str, tensors: int) -> BadInput:
    return BadInput(
        f"model folder {folder}: {CONFIG} does not fit the weights of {tensors:,} tensors ({named} in it): save "
        "the model again with save_pretrained"
    )


def on_device(network: Any, device: str, dtype: Any = None) -> Any:
    """The network where it is to compute. Raises BadInput for a device that is not there."""
    try:
        return network.to(device, dtype)
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device: expected one that PyTorch can use, got {device!r} ({words_of(error, 160)})") from None


def load_saved(folder: ModelFolder, kind: str, what: str) -> Any:
    """What was saved with the model, of Transformers' class `kind`. Raises BadInput where it cannot be used."""
    try:
        with offline():
            return getattr(library(), kind).from_pretrained(folder.path, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # as above
        raise BadInput(f"model folder {folder.path}: {what} cannot be used: {words_of(error, 160)}") from None


def load_processor(folder: ModelFolder) -> Any:
    """The image processor that was saved with the model. Raises BadInput where it is missing or cannot be used."""
    folder.check_processor()
    return checked_processor(folder, load_saved(folder, "AutoImageProcessor", PROCESSOR))


def checked_processor(folder: ModelFolder, ready: Any) -> Any:
    """The image processor. Raises BadInput for one that makes pictures of more pixels than a picture may have."""
    settings = loads(ready.to_json_string())
    for name, size in settings.items():
        if name not in ("size", "crop_size", "pad_size") or not isinstance(size, Mapping):
            continue
        try:
            least = int(size.get("shortest_edge") or 0)
            if settings.get("merge_size") is not None:  # of these processors it is a number of pixels
                least = math.isqrt(least)
            height, width = (int(size.get(side) or least) for side in ("height", "width"))
        except (TypeError, ValueError):
            raise BadInput(
                f"model folder {folder.path}: expected whole numbers in {name}; save it again with save_pretrained"
            ) from None
        if height * width > MOST_PIXELS:
            raise BadInput(
                f"model folder {folder.path}: expected pictures of at most {MOST_PIXELS:,} pixels, got one with "
                f"{name} {height:,} x {width:,}: save it again with save_pretrained"
            )
    return ready


def inputs_by(ready: Any) -> Callable[[UInt8[np.ndarray, "n h w 3"]], np.ndarray]:
    """What an image processor makes of uint8 pixels: the network's input. Pillow images leave no doubt about layout."""

    def processed(pixels: UInt8[np.ndarray, "n h w 3"]) -> np.ndarray:
        from PIL import Image

        pictures = [Image.fromarray(np.ascontiguousarray(picture)) for picture in pixels]
        made = ready(images=pictures, return_tensors="pt")
        mask = made.get("pixel_mask")
        if mask is not None and not bool(mask.all()):
            raise BadInput("the saved processor pads images, which is not supported; give --preprocess FILE")
        return np.asarray(made["pixel_values"].numpy())

    return processed


def model_facts(folder: ModelFolder, options: NetworkOptions, ready: Any) -> dict[str, Any]:
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


def input_tensor(inputs: np.ndarray, options: NetworkOptions) -> Any:
    """Inputs on the device, in the type of the weights."""
    import torch

    return torch.from_numpy(np.ascontiguousarray(inputs)).to(options.device, getattr(torch, options.dtype))
