"""What a vision tower makes of images, computed once for each and handed to the language model in place of pixels."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, final

from transect.runs.kept import Kept

if TYPE_CHECKING:
    from torch import Tensor

PIXELS: Final = ("pixel_", "image_patches")
"""How the names of a processor's outputs begin that hold pixels, which nothing but the vision tower reads."""
_HANDED: Final = "mm_encoder_outputs"
_READ: Final = ("pooler_output", "deepstack_features", "visual_indicator_features")
"""What language models read of a tower's output; the rest is large, and dropped."""
_PER_LAYER: Final = "deepstack_features"


def can_be_handed(network: Any) -> bool:
    """Whether the architecture takes a tower's output in place of pixels, as most do from Transformers 5.24 on."""
    takes = _HANDED in inspect.signature(network.forward).parameters
    return takes and hasattr(network.base_model, "get_image_features")


@final
class Features:
    """The tower's output for images, kept in main memory up to `most` bytes."""

    def __init__(self, network: Any, most: int) -> None:
        self._network = network
        self._kept: Kept[Any] = Kept(most, _bytes)

    def of(self, key: str, images: Mapping[str, Tensor]) -> Any:
        """The output for the images that a processor prepared; key: a digest of their pixels.

        Each is computed apart from all others, so that it does not depend on them.
        """
        return self._kept.get(key, lambda: self._made(images))

    def _made(self, images: Mapping[str, Tensor]) -> Any:
        encode = self._network.base_model.get_image_features
        accepted = inspect.signature(encode).parameters
        given = {name: value for name, value in images.items() if name in accepted}
        output = encode(**on_device(given, self._network), return_dict=True)
        return type(output)(**{name: _moved(output[name], "cpu") for name in _READ if name in output})


def handed(outputs: Sequence[Any], device: str) -> dict[str, Any]:
    """The argument of a network that stands for the pixels of the rows of a batch.

    outputs: those of `Features.of`, in the order of the rows.
    """
    first = outputs[0]
    fields = {}
    for name in first:
        each = [output[name] for output in outputs]
        joined = [_joined(layer) for layer in zip(*each, strict=True)] if name == _PER_LAYER else _joined(each)
        fields[name] = _moved(joined, device)
    return {_HANDED: {"image": type(first)(**fields)}}


def on_device(given: Mapping[str, Any], network: Any) -> dict[str, Any]:
    """Tensors where the network is, numbers that are not integers in its precision."""
    import torch

    def moved(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.to(network.device, network.dtype if value.is_floating_point() else None)

    return {name: moved(value) for name, value in given.items()}


def _joined(values: Sequence[Any]) -> Any:
    """Tensors one below the other; lists of one tensor per image one after the other."""
    import torch

    if isinstance(values[0], torch.Tensor):
        return torch.cat(list(values))
    return [tensor for value in values for tensor in value]


def _moved(value: Any, device: str) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.to(device)
    return [_moved(part, device) for part in value]


def _bytes(value: Any) -> int:
    import torch

    if isinstance(value, torch.Tensor):
        return value.nbytes
    return sum(map(_bytes, value.values() if isinstance(value, Mapping) else value))
