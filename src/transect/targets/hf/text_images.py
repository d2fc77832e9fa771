"""How near images lie to texts by a network of both (CLIP, SigLIP): what a search by words ranks images by."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

import numpy as np
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.targets.hf.dual import DualEncoder, dual_encoder
from transect.targets.hf.folder import open_folder, shown_name
from transect.targets.hf.loading import inputs_by, load_processor, model_facts, quiet
from transect.targets.hf.options import Options

_SCHEME = "hf:"


@final
class TextImages:
    """A network of images and texts with the processor that was saved with it."""

    def __init__(
        self,
        name: str,
        encoder: DualEncoder,
        ready: Callable[[UInt8[np.ndarray, "n h w 3"]], np.ndarray],
        facts: Mapping[str, Any],
    ) -> None:
        self.name, self._encoder, self._ready, self._facts = name, encoder, ready, dict(facts)

    def describe(self) -> dict[str, Any]:
        """Files, versions and preprocessing, as JSON values."""
        return dict(self._facts)

    def texts(self, texts: Sequence[str]) -> Float[np.ndarray, "m d"]:
        """Directions of texts, of length 1. Raises BadInput for a text that is longer than the network reads."""
        return self._encoder.texts(texts)

    def images(self, pixels: UInt8[np.ndarray, "n h w 3"]) -> Float[np.ndarray, "n d"]:
        """Directions of images, of length 1."""
        return self._encoder.images(self._ready(pixels))


def open_text_images(spec: str, options: Options | None = None) -> TextImages:
    """The network of `hf:FOLDER`, `hf:ID` or a folder. Raises as `opening.load`, and for a network without texts."""
    options = options or Options()
    argument = spec.removeprefix(_SCHEME)
    if not argument or (":" in argument and not spec.startswith(_SCHEME)):
        raise BadInput(f"model {spec}: expected hf:FOLDER of a network of images and texts (CLIP, SigLIP), got another")
    with quiet(argument):
        folder = open_folder(argument, allow_download=options.allow_download)
        folder.check_processor()
        encoder = dual_encoder(folder, options)
        ready = load_processor(folder)
        facts = model_facts(folder, options, ready)
    return TextImages(f"{_SCHEME}{shown_name(argument)}", encoder, inputs_by(ready), facts)
