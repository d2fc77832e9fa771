"""A vision-language model that Transformers saved: a folder with config, safetensors, processor and chat template.

Everything comes from the folder: nothing is downloaded, no code that came with the model runs, nothing is unpickled.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.runs import model_files
from transect.runs.plain_json import loads
from transect.targets.huggingface import CONFIG, EXTRA
from transect.texts import words_of

DTYPES: Final = ("float32", "float16", "bfloat16")
_READ: Final = ("*.json", "*.safetensors", "*.jinja", "*.model", "*.txt")
"""The files that the library may read."""
_KEPT_SETTINGS: Final = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids")
"""Generation settings of a folder that forbid tokens; those that change probabilities are not used."""


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A network in evaluation mode, its processor, and what a report states about them."""

    network: Any
    processor: Any
    longest: int | None
    """Tokens of prompt and answer together, None where the config does not say."""
    facts: Mapping[str, object]


def opened(argument: str, device: str, dtype: str) -> Opened:
    """The model of a folder. Raises MissingExtra and BadInput as `local.load` says."""
    folder = Path(argument)
    if dtype not in DTYPES:
        raise UnknownName("dtype", dtype, DTYPES)
    config = _config(folder)
    with quiet(argument):
        _check_kind(folder, config)
        processor = _processor(folder)
        network = _network(folder, device, dtype)
        _settle(folder, network, processor.tokenizer)
    text = network.config.get_text_config()
    longest = getattr(text, "max_position_embeddings", None)
    return Opened(network, processor, longest, _facts(folder, config, device, dtype, processor))


@contextmanager
def quiet(argument: str) -> Iterator[None]:
    """Without the library's progress bars and warnings. Raises MissingExtra where it is not installed."""
    try:
        logging: Any = importlib.import_module("transformers.utils.logging")
    except ModuleNotFoundError:
        raise MissingExtra(EXTRA, f"vlm:{argument}") from None
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


def refused(folder: Path | str, expected: str, error: BaseException) -> BadInput:
    """What is said of a folder that the library cannot use, with the first words of its error."""
    return BadInput(f"model folder {folder}: expected {expected}: {words_of(error, 160)}")


def _config(folder: Path) -> Mapping[str, Any]:
    needed = {CONFIG: (folder / CONFIG).is_file(), "*.safetensors": any(folder.glob("*.safetensors"))}
    if missing := [name for name, there in needed.items() if not there]:
        raise BadInput(
            f"model folder {folder}: expected {', '.join(needed)}, found no {' and no '.join(missing)}: save model and "
            "processor with save_pretrained"
        )
    try:
        config = loads((folder / CONFIG).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"model folder {folder}: expected {CONFIG} to be JSON: {words_of(error)}") from None
    if not isinstance(config, dict):
        raise BadInput(f"model folder {folder}: expected {CONFIG} to be an object, got {type(config).__name__}")
    if "auto_map" in config:
        raise BadInput(f"model folder {folder}: the model brings its own code, which is never run: take another model")
    return config


def _check_kind(folder: Path, config: Mapping[str, Any]) -> None:
    auto: Any = importlib.import_module("transformers.models.auto.modeling_auto")
    kind = config.get("model_type")
    if not isinstance(kind, str) or kind not in auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
        raise BadInput(
            f"model folder {folder}: expected an image-text-to-text model of Transformers, such as llava or qwen2_vl, "
            f"got the model type {kind!r}: take another model, or a newer Transformers"
        )


def _processor(folder: Path) -> Any:
    library: Any = importlib.import_module("transformers")
    try:
        processor = library.AutoProcessor.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises many kinds for folders that do not fit
        raise refused(folder, "the model's processor, saved with save_pretrained", error) from None
    missing = [part for part in ("tokenizer", "image_processor") if getattr(processor, part, None) is None]
    if missing:
        raise BadInput(
            f"model folder {folder}: expected the model's processor, found no {' and no '.join(missing)}: save it with "
            "save_pretrained"
        )
    if not getattr(processor, "chat_template", None):
        raise BadInput(
            f"model folder {folder}: expected a chat template (chat_template.jinja), found none: take a model that was "
            "trained to answer, or add its template"
        )
    return processor


def _network(folder: Path, device: str, dtype: str) -> Any:
    import torch

    library: Any = importlib.import_module("transformers")
    settings: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True}
    try:
        network, loading = library.AutoModelForImageTextToText.from_pretrained(
            folder, **settings, dtype=getattr(torch, dtype), output_loading_info=True
        )
    except Exception as error:  # as above
        raise refused(folder, "an image-text-to-text model", error) from None
    unfilled = sorted({str(key) for key in (*loading["missing_keys"], *loading["mismatched_keys"])})
    if unfilled:
        more = f" and {len(unfilled) - 1} more" if len(unfilled) > 1 else ""
        raise BadInput(f"model folder {folder}: the weights lack {unfilled[0]}{more}: expected a trained model")
    if not network.can_generate():
        raise BadInput(f"model folder {folder}: expected a model that generates text, got {type(network).__name__}")
    try:
        # The library maps the file into memory: without a copy, later writing to it would change the weights.
        return (copy.deepcopy(network) if torch.device(device).type == "cpu" else network).to(device).eval()
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device: expected one that PyTorch has, got {device!r} ({words_of(error, 160)})") from None


def _settle(folder: Path, network: Any, tokenizer: Any) -> None:
    """Replace the folder's generation settings by its end tokens and forbidden tokens alone."""
    library: Any = importlib.import_module("transformers")
    stated = network.generation_config
    ends = stated.eos_token_id if stated.eos_token_id is not None else tokenizer.eos_token_id
    if ends is None:
        raise BadInput(f"model folder {folder}: expected a token that ends an answer (eos_token_id), found none")
    ends = [ends] if isinstance(ends, int) else list(ends)
    stated_pad = tokenizer.pad_token_id if stated.pad_token_id is None else stated.pad_token_id
    network.generation_config = library.GenerationConfig(
        do_sample=False,
        num_beams=1,
        bos_token_id=stated.bos_token_id,
        eos_token_id=ends,
        pad_token_id=ends[0] if stated_pad is None else stated_pad,
        **{name: getattr(stated, name, None) for name in _KEPT_SETTINGS},
    )


def _facts(folder: Path, config: Mapping[str, Any], device: str, dtype: str, processor: Any) -> dict[str, object]:
    import tokenizers
    import torch
    import transformers

    versions = {"Transformers": transformers, "PyTorch": torch, "Tokenizers": tokenizers}
    files = sorted({file for pattern in _READ for file in folder.glob(pattern)})
    return {
        "library": ", ".join(f"{name} {module.__version__}" for name, module in versions.items()),
        "device": device,
        "dtype": dtype,
        "architecture": next(iter(config.get("architectures") or ()), str(config.get("model_type", ""))),
        "files": {file.name: model_files.sha256(file) for file in files},
        "chat_template_sha256": hashlib.sha256(str(processor.chat_template).encode()).hexdigest(),
    }
