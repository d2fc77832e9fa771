"""The file of an inversion, latents.safetensors: a code for each image, and whose; nothing in it is ever run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.runs import model_files

KIND: Final = "transect.latents"
_AGAIN: Final = "make them: transect invert (where a run is finished, its command only writes this file again)"


@final
@dataclass(frozen=True, slots=True)
class FoundCodes:
    """Codes float64 [n, d] of images by id, NaN where the search failed; codes of w+ are the layers' w in a row.

    generator: the description of the one that renders them; empty in files of older versions. sha256: of the file.
    """

    ids: tuple[str, ...]
    codes: Float[np.ndarray, "n d"]
    space: str
    generator: Mapping[str, Any]
    sha256: str


def encoded(ids: Sequence[str], codes: Float[np.ndarray, "n ..."], space: str, generator: Mapping[str, Any]) -> bytes:
    """The content of such a file."""
    from safetensors.numpy import save

    facts = {"kind": KIND, "space": space, "ids": json.dumps(list(ids))}
    facts["generator"] = json.dumps(dict(generator), sort_keys=True)
    return model_files.in_order(save({"codes": codes}, facts))


def read_codes(path: Path) -> FoundCodes:
    """The codes of a file that an inversion wrote. Raises BadInput for other files."""
    from safetensors import SafetensorError, safe_open

    from transect.inversion.protocol import SPACES

    model_files.check_readable(path)
    try:
        with safe_open(path, "numpy") as file:
            metadata, codes = file.metadata() or {}, file.get_tensor("codes")
        ids, space = json.loads(metadata["ids"]), metadata["space"]
        generator = json.loads(metadata.get("generator", "{}"))
        if not (isinstance(ids, list) and all(isinstance(one, str) for one in ids) and isinstance(generator, dict)):
            raise ValueError("its ids are no texts, or its generator is no object")
        if space not in SPACES or codes.ndim < 2 or len(codes) != len(ids) or codes.dtype.kind != "f":
            raise ValueError(f"{len(ids)} ids and codes {codes.dtype} {list(codes.shape)} of space {space}")
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, RecursionError) as error:
        raise BadInput(
            f"{path}: expected latents of an inversion, found another ({type(error).__name__}: {error}); {_AGAIN}"
        ) from None
    rows = codes.reshape(len(codes), -1).astype(np.float64)
    return FoundCodes(tuple(ids), rows, space, generator, model_files.sha256(path))


def check_generator(found: FoundCodes, described: Mapping[str, Any], path: Path) -> None:
    """Refuse codes of another generator than the one described: its images would be of nobody.

    Raises BadInput, saying in what they differ.
    """
    if not found.generator:
        raise BadInput(f"{path}: expected latents that name their generator, got an older file; {_AGAIN}")
    mapped = ("truncation", "label") if found.space == "z" else ()
    for key in ("architecture", "weights_sha256", "image_size", "noise", *mapped):
        if found.generator.get(key) != described.get(key):
            raise BadInput(
                f"{path}: expected latents of generator {described.get('name')}, got ones of"
                f" {found.generator.get('name')} (another {key.replace('_', ' ')}); invert into this one"
            )
