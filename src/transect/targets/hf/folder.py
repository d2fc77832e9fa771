"""The folder of an open model, or the cached one that an id names: what it must hold before anything is loaded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from transect.errors import BadInput
from transect.runs import model_files
from transect.runs.plain_json import loads
from transect.texts import words_of

CONFIG: Final = "config.json"
PROCESSOR: Final = "preprocessor_config.json"
WEIGHTS: Final = "*.safetensors"
_WHOLE_PROCESSOR: Final = "processor_config.json"
"""Where later versions of Transformers keep the processors of images and texts together."""
_TOKENIZER: Final = ("tokenizer.json", "tokenizer_config.json")
_READ: Final = (CONFIG, PROCESSOR, _WHOLE_PROCESSOR, "tokenizer_config.json")
_FILES: Final = ("*.json", WEIGHTS, "*.txt", "*.model")
"""All that Transformers may read of a model, and all that is downloaded."""
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
        if not (self.path / PROCESSOR).is_file() and not (whole.is_file() and "image_processor" in _object(whole)):
            raise BadInput(_lacking(self.path, (CONFIG, WEIGHTS, PROCESSOR), [PROCESSOR]))

    def check_tokenizer(self) -> None:
        """Raises BadInput where no tokenizer was saved with the model."""
        if not any((self.path / name).is_file() for name in _TOKENIZER):
            raise BadInput(
                f"model folder {self.path}: expected the tokenizer that reads the labels ({_TOKENIZER[0]}), found "
                "none: save it with save_pretrained"
            )

    def digests(self) -> dict[str, str]:
        """SHA-256 of every file that the library may read, by name."""
        files = {file for pattern in _FILES for file in self.path.glob(pattern)}
        return {file.name: model_files.sha256(file) for file in sorted(files)}


def is_folder(path: Path) -> bool:
    """Whether the folder holds a model as `save_pretrained` writes it."""
    return (path / CONFIG).is_file() and any(path.glob(WEIGHTS))


def open_folder(argument: str, *, allow_download: bool = False, scheme: str = "hf") -> ModelFolder:
    """The folder of that path, or the cached one of that id, with its config read. scheme: for messages.

    Raises BadInput where there is none, where config or safetensors are missing, and where it needs code of its own.
    """
    path = _located(argument, allow_download, scheme)
    needed = {CONFIG: (path / CONFIG).is_file(), WEIGHTS: any(path.glob(WEIGHTS))}
    if missing := [name for name, there in needed.items() if not there]:
        raise BadInput(_lacking(path, (CONFIG, WEIGHTS, PROCESSOR), missing))
    contents = {name: _object(path / name) for name in _READ if (path / name).is_file()}
    for name, content in contents.items():
        if "auto_map" in content:
            raise BadInput(
                f"model folder {path}: {name} names code of the model's own, which is never run: wrap it in a Python "
                "function"
            )
    return ModelFolder(path, contents[CONFIG])


def shown_name(argument: str) -> str:
    """The model as tables show it: an id whole, a folder by its name alone.

    >>> shown_name("./models/smiles"), shown_name("openai/clip-vit-base-patch32")
    ('smiles', 'openai/clip-vit-base-patch32')
    """
    return Path(argument).name if Path(argument).is_dir() or not _is_id(argument) else argument


def _is_id(argument: str) -> bool:
    return bool(_ID.fullmatch(argument))


def _located(argument: str, allow_download: bool, scheme: str) -> Path:
    path = Path(argument)
    if path.is_dir():
        return path
    if path.exists() or not _is_id(argument):
        raise BadInput(f"model folder {argument}: expected a folder with {CONFIG}, found none: check the path")
    from huggingface_hub import snapshot_download

    try:
        found = snapshot_download(argument, local_files_only=not allow_download, allow_patterns=list(_FILES))
    except Exception as error:  # the hub's client raises many kinds
        if not allow_download:
            offered = ", or download it with --allow-download" if scheme == "hf" else ""
            raise BadInput(
                f"{scheme}:{argument}: expected a folder, or the id of a model in the local cache, found neither: "
                f"check the path{offered}"
            ) from None
        raise BadInput(
            f"hf:{argument}: could not be downloaded: {words_of(error, 160)}; check id and network"
        ) from None
    return Path(found)


def _lacking(folder: Path, needed: tuple[str, ...], missing: list[str]) -> str:
    return (
        f"model folder {folder}: expected {', '.join(needed)}, found no {' and no '.join(missing)}: save model and "
        "processor with save_pretrained"
    )


def _object(file: Path) -> Mapping[str, Any]:
    try:
        content = loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(
            f"model folder {file.parent}: expected {file.name} to be JSON: {words_of(error)}; save it again"
        ) from None
    if not isinstance(content, dict):
        raise BadInput(
            f"model folder {file.parent}: expected {file.name} to be an object, got {type(content).__name__}"
        )
    return content
