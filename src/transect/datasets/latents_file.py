"""The file of an inversion, latents.safetensors: a code for each image, and its id; reading it runs no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.runs import model_files
from transect.runs.plain_json import loads
from transect.runs.tensor_files import Arrays, Facts, content_of, read_content
from transect.runs.wording import spaced

KIND: Final = "transect.latents"
_SPACES: Final = ("z", "w", "w+")
LATENTS: Final = "latents.safetensors"
"""The file in the folder of an inversion."""
_AGAIN: Final = "make them: transect invert (the command of a finished run only rewrites this file)"


@final
@dataclass(frozen=True, slots=True)
class InvertedCodes:
    """Codes float64 [n, d] of images by id, NaN where the search failed; codes of w+ are the layers' w in a row.

    layers: of w+; 1 in other spaces. generator: the description of the one that renders them; empty in files of older
    versions. sha256: of the file.
    """

    ids: tuple[str, ...]
    codes: Float[np.ndarray, "n d"]
    space: str
    generator: Mapping[str, object]
    sha256: str = ""
    layers: int = 1


def content_of_codes(
    ids: Sequence[str], codes: Float[np.ndarray, "n ..."], space: str, generator: Mapping[str, object]
) -> bytes:
    """The content of the file."""
    return content_of(KIND, {"codes": codes}, space=space, ids=list(ids), generator=dict(generator))


def read_codes(path: Path) -> InvertedCodes:
    """The codes of a file that an inversion wrote, or of its folder. Raises BadInput for others."""
    path = path / LATENTS if path.is_dir() else path
    codes = read_content(path, {KIND: _parse}, expected="latents of an inversion", remedy=_AGAIN)
    return replace(codes, sha256=model_files.sha256(path))


def _parse(tensors: Arrays, facts: Facts) -> InvertedCodes:
    ids, space, codes = loads(facts["ids"]), facts["space"], tensors["codes"]
    generator = loads(facts.get("generator", "{}"))
    if not (isinstance(ids, list) and all(isinstance(name, str) for name in ids) and isinstance(generator, dict)):
        raise ValueError("ids must be texts, and generator must be an object")
    if space not in _SPACES or codes.ndim < 2 or len(codes) != len(ids) or codes.dtype.kind != "f":
        raise ValueError(f"{len(ids)} ids and codes {codes.dtype} {list(codes.shape)} of space {space}")
    layers = codes.shape[1] if codes.ndim == 3 else 1
    flat = codes.reshape(len(codes), -1).astype(np.float64)
    return InvertedCodes(tuple(ids), flat, space, generator, layers=layers)


def check_generator(inverted: InvertedCodes, described: Mapping[str, object], path: Path) -> None:
    """Refuse codes of another generator than the one described: its images would show other faces."""
    if not inverted.generator:
        raise BadInput(f"{path}: expected latents that name their generator, got an older file; {_AGAIN}")
    mapped = ("truncation", "label") if inverted.space == "z" else ()
    for key in ("architecture", "weights_sha256", "image_size", "noise", *mapped):
        if inverted.generator.get(key) != described.get(key):
            raise BadInput(
                f"{path}: expected latents of generator {described.get('name')}, got ones of"
                f" {inverted.generator.get('name')} (another {spaced(key)}); invert into this one"
            )
