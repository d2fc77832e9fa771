"""The reference generator: a StyleGAN2 trained on FaceWorld that ships, with directions fitted in its space w.

It is small, so that audits of learned generators can be tried and tested on any machine: 64 pixels, 2 MB. How
it was trained, and how near it is to FaceWorld: docs/explanation/reference-generator.md.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final, Unpack

from transect.generators.stylegan2.generator import Options, StyleGAN2

NAME: Final = "reference"
_FOLDER: Final = Path(__file__).with_name("weights")
WEIGHTS: Final = _FOLDER / "reference.safetensors"
DIRECTIONS: Final = _FOLDER / "reference-directions.safetensors"


def reference(device: str = "cpu", **options: Unpack[Options]) -> StyleGAN2:
    """The generator, without its directions. options: truncation and noise, as for `StyleGAN2`.

    >>> reference().image_size
    64
    """
    return StyleGAN2.from_file(WEIGHTS, name=NAME, device=device, **options)
