"""Folders of models as Transformers and diffusers save them: what may be read of them, before a library opens them.

Libraries follow what a folder names: shards in an index, other settings, links. Only plain files of the folder are
accepted, so that what was read is what its digest covers.
"""

from __future__ import annotations

import stat
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from transect.errors import BadInput
from transect.runs import bounds
from transect.runs.json_records import loads
from transect.runs.model_files import check_real
from transect.texts import words_of

LARGEST_TEXT: Final = 64 << 20
"""Bytes of a file of settings or words; the largest tokenizers have half as many."""

_WEIGHTS: Final = (".safetensors", ".safetensors.index.json")
_TEXTS: Final = (".json", ".txt", ".model", ".spm", ".jinja")
_WORDS: Final = ("tokenizer.json", "vocab.json")
"""JSON files that hold no settings."""
_CODE: Final = ("auto_map", "custom_pipelines")
_ADAPTER: Final = "adapter_config.json"
_LISTS: Final = ("configuration_files", "fast_tokenizer_files")
_BODIES: Final = ("backbone", "architecture")


def check_files(folder: Path, files: Iterable[Path]) -> None:
    """Raises BadInput unless each is a plain file of the folder of a fit size, whose settings name no code and no file
    elsewhere. Links may lead within the folder, and from a snapshot of the hub's cache to its blobs.
    """
    root = folder.resolve()
    root = root.parent.parent if root.parent.name == "snapshots" else root
    for file in files:
        _check_place(file, root)
        if file.name == _ADAPTER:
            raise BadInput(f"{file}: expected full weights, found an adapter; merge it into its base and save again")
        if file.suffix == ".json" and file.name not in _WORDS:
            _check_settings(file, settings_of(file))


def settings_of(file: Path) -> Mapping[str, object]:
    """The object in a JSON file, empty where it holds another value. Raises BadInput for a file that is no JSON."""
    try:
        content = loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadInput(f"{file}: expected JSON, got {words_of(error, 80)}; copy or save the model again") from None
    return content if isinstance(content, dict) else {}


def _check_place(file: Path, root: Path) -> None:
    try:
        place = file.resolve(strict=True)
        status = place.stat()
    except (OSError, RuntimeError):  # a link to itself
        raise BadInput(f"{file}: expected a file, found a broken link; copy the model again") from None
    if not place.is_relative_to(root):
        raise BadInput(f"{file}: expected a file of the model's folder, found a link to {place}; copy the file there")
    if not stat.S_ISREG(status.st_mode):
        raise BadInput(f"{file}: expected a plain file, found a folder, device or pipe of that name; remove it")
    if file.suffix == ".safetensors":
        bounds.check_holes(file)
        check_real(file)
    elif status.st_size > LARGEST_TEXT and file.suffix in _TEXTS:
        raise BadInput(
            f"{file}: expected at most {LARGEST_TEXT >> 20} MiB of settings, got {status.st_size >> 20} MiB; "
            "remove the file"
        )


def _check_settings(file: Path, content: Mapping[str, object]) -> None:
    if named := next((key for key in _CODE if key in content), ""):
        raise BadInput(
            f"{file}: expected only settings, got custom code in {named}, which is never run; wrap the model "
            "in a function"
        )
    for name in _weights(content):
        if not _is_plain(name) or not name.endswith(_WEIGHTS):
            raise BadInput(
                f"{file}: expected weights named .safetensors next to it, got {name!r:.80}; move them there and save "
                "again"
            )
        if not (file.parent / name).is_file():
            raise BadInput(f"{file}: no {name} next to it; copy or save the model again")
    for name in (name for key in _LISTS for name in _listed(file, content, key)):
        if not _is_plain(name):
            raise BadInput(f"{file}: expected names of files in its folder, got {name!r:.80}; save the model again")
    for body in (content.get(key) for key in _BODIES):
        if isinstance(body, str) and (body.startswith("local-dir:") or ("/" in body and _exists(body))):
            raise BadInput(f"{file}: expected a kind of network, got the folder {body!r:.80}; save the model again")


def _listed(file: Path, content: Mapping[str, object], key: str) -> list[Any]:
    """A list of the settings. Raises BadInput for anything else."""
    names = content.get(key) or []
    if not isinstance(names, list):
        raise BadInput(f"{file}: expected a list in {key}, got {type(names).__name__}; save the model again")
    return names


def _weights(content: Mapping[str, object]) -> Iterator[Any]:
    shards = content.get("weight_map")
    if isinstance(shards, Mapping):
        yield from sorted({str(name) for name in shards.values()})
    if (named := content.get("transformers_weights")) is not None:
        yield str(named)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # too long, or a null character: no path
        return False


def _is_plain(name: object) -> bool:
    return isinstance(name, str) and len(name) <= 255 and "\0" not in name and Path(name).name == name != ".."
