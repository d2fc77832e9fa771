"""The reference generator: a StyleGAN2 trained on FaceWorld that ships, with directions fitted in its space w.

It is small, so that audits of learned generators can be tried and tested on any machine: 64 pixels, 2 MB. How
it was trained, and how near it is to FaceWorld: docs/research/reference-generator.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Unpack

from transect.generators.stylegan2.generator import Options, StyleGAN2
from transect.protocols import Generator

NAME: Final = "reference"
_FOLDER: Final = Path(__file__).with_name("weights")
WEIGHTS: Final = _FOLDER / "reference.safetensors"
DIRECTIONS: Final = _FOLDER / "reference-directions.safetensors"


def reference(device: str = "cpu", **options: Unpack[Options]) -> StyleGAN2:
    """The generator, without its directions. options: truncation and noise, as for `StyleGAN2`."""
    return StyleGAN2.from_file(WEIGHTS, name=NAME, device=device, **options)


def is_reference(generator: Generator) -> bool:
    """Whether a generator is this one: by the weights, since a user's file may have the same name."""
    from transect.runs import model_files
    from transect.runs.capabilities import description

    weights = description(generator).get("weights_sha256")
    return weights is not None and weights == model_files.sha256(WEIGHTS)
