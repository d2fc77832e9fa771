"""From images and a text to what a vision-language model reads: tokens and pixels, and batches of them."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from transect.runs.kept import Kept
from transect.said import Pixels

if TYPE_CHECKING:
    from torch import Tensor

_PADDED: Final = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")
"""What a processor gives for each token."""
_UNUSED: Final = ("labels",)
_PREPARED: Final = 256 << 20
"""Bytes of prepared pixels that are kept."""


@final
@dataclass(frozen=True, slots=True)
class Prompt:
    """Images and a text as a model reads them.

    key: digest of the images. tokens: numbers of tokens, images included. words: tensors [1, tokens] by name.
    images: the processor's other tensors, of one or more images.
    """

    key: str
    tokens: int
    words: Mapping[str, Tensor]
    images: Mapping[str, Tensor]


def digest(images: Sequence[Pixels]) -> str:
    """SHA-256 of the images' sizes and pixels, in order.

    >>> digest([np.zeros((2, 3, 3), np.uint8)]) == digest([np.zeros((3, 2, 3), np.uint8)])
    False
    """
    found = hashlib.sha256()
    for pixels in images:
        found.update(repr(pixels.shape).encode())
        found.update(np.ascontiguousarray(pixels).tobytes())
    return found.hexdigest()


@final
class Prompts:
    """A processor and its chat template; each image is prepared once, however many texts it is asked."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._images = processor.image_processor = _OncePerImage(processor.image_processor)

    def of(self, key: str, images: Sequence[Pixels], system: str, prompt: str) -> Prompt:
        """The prompt of the images, one after the other, and then the text. key: the images' digest.

        Raises what the processor and the template raise: for instance where the text holds the mark of an image.
        """
        from PIL import Image

        self._images.key = key
        pictures = [{"type": "image", "image": Image.fromarray(np.ascontiguousarray(each))} for each in images]
        asked = [{"role": "user", "content": [*pictures, {"type": "text", "text": prompt}]}]
        told = [{"role": "system", "content": [{"type": "text", "text": system}]}] if system else []
        ready = self._processor.apply_chat_template(
            [[*told, *asked]], add_generation_prompt=True, tokenize=True, return_dict=True, return_tensors="pt"
        )
        words = {name: ready[name] for name in _PADDED if name in ready}
        others = {name: value for name, value in ready.items() if name not in (*_PADDED, *_UNUSED)}
        return Prompt(key, int(words["input_ids"].shape[1]), words, others)


@final
class _OncePerImage:
    """An image processor that remembers what it made, by the key that was set before the call."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._made: Kept[Any] = Kept(_PREPARED, _bytes)
        self.key = ""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        made = self._made.get((self.key, repr(settings)), lambda: self._processor(*args, **settings))
        return copy.copy(made)  # processors take entries out

    def __getattr__(self, name: str) -> Any:
        return getattr(self._processor, name)


def _bytes(made: Mapping[str, Any]) -> int:
    return sum(int(getattr(value, "nbytes", 0)) for value in made.values())


def padded(prompts: Sequence[Prompt], pad: int) -> dict[str, Tensor]:
    """The words of a batch [prompts, longest], shorter ones with `pad` on their left, where no word attends."""
    longest = max(prompt.tokens for prompt in prompts)
    return {name: _left([prompt.words[name] for prompt in prompts], longest, name, pad) for name in prompts[0].words}


def _left(rows: Sequence[Tensor], longest: int, name: str, pad: int) -> Tensor:
    import torch

    value = pad if name == "input_ids" else 0
    padding = torch.nn.functional.pad
    return torch.cat([padding(row, (longest - row.shape[1], 0), value=value) for row in rows])


def stacked(prompts: Sequence[Prompt], without: tuple[str, ...] = ()) -> dict[str, Tensor]:
    """The other tensors of a batch, one below the other; without those whose names begin with one of `without`."""
    import torch

    names = [name for name in prompts[0].images if not name.startswith(without)]
    return {name: torch.cat([torch.as_tensor(prompt.images[name]) for prompt in prompts]) for name in names}


def shapes(prompt: Prompt) -> tuple[object, ...]:
    """What has to be equal in two prompts whose pixels are stacked in one batch."""
    return tuple((name, tuple(value.shape)) for name, value in sorted(prompt.images.items()))
