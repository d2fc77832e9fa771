"""Vision-language models in folders of this machine: what is loaded, and prompts for it."""

from __future__ import annotations

import copy
import hashlib
import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from transect.errors import BadInput
from transect.runs.byte_cache import ByteCache
from transect.spoken_answers import Pixels
from transect.targets.hf.loading import (
    ModelFolder,
    Options,
    checked_processor,
    library,
    load_network,
    load_saved,
    model_facts,
    open_folder,
    quiet,
)

if TYPE_CHECKING:
    from torch import Tensor


_PROCESSOR: Final = ("processor_config.json", "preprocessor_config.json")
"""The files that a processor is in, of which a folder has one."""
_KEPT_SETTINGS: Final = ("suppress_tokens", "begin_suppress_tokens", "bad_words_ids")
"""Generation settings of a folder that forbid tokens; those that change probabilities are not used."""


@final
@dataclass(frozen=True, slots=True)
class Opened:
    """A network in evaluation mode, its processor, and what a report states about them."""

    network: Any
    processor: Any
    longest: int | None
    """Tokens of prompt and answer together, None where the config does not say."""
    facts: Mapping[str, object]


def opened(argument: str, device: str, dtype: str) -> Opened:
    """The model of a folder. Raises MissingExtra and BadInput as `local.load` says."""
    options = Options(device=device, dtype=dtype)
    folder = open_folder(argument, scheme="vlm")
    with quiet(argument, "vlm"):
        auto: Any = importlib.import_module("transformers.models.auto.modeling_auto")
        if folder.model_type not in auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
            raise BadInput(
                f"model folder {folder.path}: expected an image-text-to-text model of Transformers, such as llava or "
                f"qwen2_vl, got the model type {folder.model_type!r}: take another model, or a newer Transformers"
            )
        processor = _processor(folder)
        network, _ = load_network(folder, "AutoModelForImageTextToText", "an image-text-to-text model", options)
        _settle(folder.path, network, processor.tokenizer)
        facts = _facts(folder, options, processor)
    longest = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    return Opened(network, processor, longest, facts)


def _processor(folder: ModelFolder) -> Any:
    found = f"model folder {folder.path}: expected the model's processor"
    if not any((folder.path / name).is_file() for name in _PROCESSOR):
        raise BadInput(f"{found} ({' or '.join(_PROCESSOR)}), found none: save it into the folder with save_pretrained")
    processor = load_saved(folder, "AutoProcessor", "the model's processor")
    missing = [part for part in ("tokenizer", "image_processor") if getattr(processor, part, None) is None]
    if missing:
        raise BadInput(f"{found}, found no {' and no '.join(missing)}: save it with save_pretrained")
    checked_processor(folder, processor.image_processor)
    if not getattr(processor, "chat_template", None):
        raise BadInput(
            f"model folder {folder.path}: expected a chat template (chat_template.jinja), found none: take a model "
            "that was trained to answer, or add its template"
        )
    return processor


def _settle(folder: Path, network: Any, tokenizer: Any) -> None:
    """Replace the folder's generation settings by its end tokens and forbidden tokens alone."""
    if not network.can_generate():
        raise BadInput(
            f"model folder {folder}: expected a model that generates text, got {type(network).__name__}: take "
            "another model"
        )
    stated = network.generation_config
    ends = stated.eos_token_id if stated.eos_token_id is not None else tokenizer.eos_token_id
    if ends is None:
        raise BadInput(
            f"model folder {folder}: expected a token that ends an answer, found none: add eos_token_id to "
            "generation_config.json"
        )
    ends = [ends] if isinstance(ends, int) else list(ends)
    stated_pad = tokenizer.pad_token_id if stated.pad_token_id is None else stated.pad_token_id
    network.generation_config = library().GenerationConfig(
        do_sample=False,
        num_beams=1,
        bos_token_id=stated.bos_token_id,
        eos_token_id=ends,
        pad_token_id=ends[0] if stated_pad is None else stated_pad,
        **{name: getattr(stated, name, None) for name in _KEPT_SETTINGS},
    )


def _facts(folder: ModelFolder, options: Options, processor: Any) -> dict[str, object]:
    import tokenizers

    facts = model_facts(folder, options, None)
    return {
        **facts,
        "library": f"{facts['library']}, Tokenizers {tokenizers.__version__}",
        "chat_template_sha256": hashlib.sha256(str(processor.chat_template).encode()).hexdigest(),
    }


_PADDED: Final = ("input_ids", "attention_mask", "token_type_ids", "mm_token_type_ids")
"""What a processor gives for each token."""
_UNUSED: Final = ("labels",)
_PREPARED: Final = 256 << 20
"""Bytes of prepared pixels that are kept."""


@final
@dataclass(frozen=True, slots=True)
class Prompt:
    """Images and a text as a model reads them. words: tensors [1, tokens]; images: the processor's other tensors."""

    key: str
    tokens: int
    words: Mapping[str, Tensor]
    images: Mapping[str, Tensor]


@final
class Prompts:
    """A processor and its chat template; each image is prepared once, however many texts it is asked."""

    def __init__(self, processor: Any) -> None:
        self._processor = processor
        self._images = processor.image_processor = _OncePerImage(processor.image_processor)

    def of(self, key: str, images: Sequence[Pixels], system: str, prompt: str) -> Prompt:
        """The prompt of images, whose digest is `key`, and then the text. Raises what processor and template raise."""
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
        self._made: ByteCache[Any] = ByteCache(_PREPARED, _bytes)
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
