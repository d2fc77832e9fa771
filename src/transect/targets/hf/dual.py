"""Networks of images and texts (CLIP, SigLIP): how near a text lies to an image.

Radford et al. 2021, Learning transferable visual models from natural language supervision, arXiv:2103.00020; Zhai et
al. 2023, Sigmoid loss for language image pre-training, arXiv:2303.15343.
"""

from __future__ import annotations

import hashlib
import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np
from jaxtyping import Float

from transect.errors import BadInput
from transect.targets.hf.embedding import image_features, pooled_of
from transect.targets.hf.folder import ModelFolder
from transect.targets.hf.loading import input_tensor, load_network, load_tokenizer
from transect.targets.hf.options import Options

_WHAT: Final = "a network of images and texts (CLIP, SigLIP)"
_BATCHES: Final = 256
"""Batches of images whose features are kept, so that several templates or queries ask the network once."""
_TEXTS_AT_ONCE: Final = 64
_OPENED: weakref.WeakValueDictionary[tuple[str, ...], DualEncoder] = weakref.WeakValueDictionary()
"""The networks in use: targets of one folder share one."""


@final
class DualEncoder:
    """A network of images and texts, and its tokenizer.

    pairwise: each text is judged by itself (SigLIP's logistic loss); else texts are compared with each other (CLIP).
    """

    def __init__(self, network: Any, tokens: Any, options: Options) -> None:
        self._network, self._tokens, self._options = network, tokens, options
        self._kept: OrderedDict[bytes, Float[np.ndarray, "n d"]] = OrderedDict()
        self._lock = threading.Lock()
        bias = getattr(network, "logit_bias", None)
        self.pairwise = bias is not None
        self._scale = float(network.logit_scale.detach().double().exp())
        self._bias = 0.0 if bias is None else float(bias.detach().double())

    def images(self, inputs: np.ndarray) -> Float[np.ndarray, "n d"]:
        """Directions of images, of length 1, from what the processor made of them; kept for the next question."""
        digest = hashlib.sha256(repr(inputs.shape).encode() + np.ascontiguousarray(inputs).tobytes()).digest()
        with self._lock:
            if digest not in self._kept:
                self._kept[digest] = self._images(inputs)
                while len(self._kept) > _BATCHES:
                    self._kept.popitem(last=False)
            self._kept.move_to_end(digest)
            return self._kept[digest]

    def texts(self, texts: Sequence[str]) -> Float[np.ndarray, "m d"]:
        """Directions of texts, of length 1. Raises BadInput for a text that is longer than the network reads."""
        import torch

        tokens, parts = self._tokenized(texts), []
        with torch.inference_mode():
            for start in range(0, len(texts), _TEXTS_AT_ONCE):
                part = {name: values[start : start + _TEXTS_AT_ONCE] for name, values in tokens.items()}
                parts.append(pooled_of(self._network.get_text_features(**part)).double().cpu().numpy())
        return _directions(np.concatenate(parts))

    def logits(self, images: Float[np.ndarray, "n d"], texts: Float[np.ndarray, "m d"]) -> Float[np.ndarray, "n m"]:
        """How well each text fits each image, on the network's own scale."""
        return np.asarray(self._scale * (images @ texts.T) + self._bias)

    def _images(self, inputs: np.ndarray) -> Float[np.ndarray, "n d"]:
        import torch

        with torch.inference_mode():
            vectors = image_features(self._network, input_tensor(inputs, self._options))
        return _directions(vectors.double().cpu().numpy())

    def _tokenized(self, texts: Sequence[str]) -> dict[str, Any]:
        most = int(self._network.config.text_config.max_position_embeddings)
        lengths = [len(ids) for ids in self._tokens(list(texts))["input_ids"]]
        if max(lengths) > most:  # cut off, two labels could become the same text
            long = texts[int(np.argmax(lengths))]
            raise BadInput(f"text {long!r}: expected at most {most} tokens, got {max(lengths)}; shorten it")
        # SigLIP was taught on texts padded to one length.
        padding = {"padding": "max_length", "max_length": most} if self.pairwise else {"padding": True}
        tokens = self._tokens(list(texts), return_tensors="pt", **padding)
        return {
            name: tokens[name].to(self._options.device) for name in ("input_ids", "attention_mask") if name in tokens
        }


def dual_encoder(folder: ModelFolder, options: Options) -> DualEncoder:
    """The network of a folder, opened once. Raises BadInput for another kind, or where the tokenizer is missing."""
    folder.check_tokenizer()
    key = (options.device, options.dtype, *folder.digests().values())
    known = _OPENED.get(key)
    if known is None:
        network, _ = load_network(folder, "AutoModel", _WHAT, options)
        if not all(hasattr(network, name) for name in ("get_image_features", "get_text_features", "logit_scale")):
            raise BadInput(
                f"model folder {folder.path}: expected {_WHAT} for labels in words, got {folder.architecture}; leave "
                "--labels out"
            )
        known = _OPENED[key] = DualEncoder(network, load_tokenizer(folder), options)
    return known


def _directions(vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n d"]:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
