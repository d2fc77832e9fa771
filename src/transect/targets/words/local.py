"""`vlm:FOLDER`: a vision-language model on this machine, asked in batches.

Each image goes through the vision tower once, however many questions, paraphrases and options it is asked. What is said
to one ask depends on that ask and its images alone, never on the batch. What a folder holds is loaded without running
code of its own.
"""

from __future__ import annotations

import copy
import hashlib
import importlib
import inspect
import itertools
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, final

import numpy as np

from transect.errors import BadInput
from transect.runs.byte_cache import ByteCache
from transect.spoken_answers import Ask, End, Pixels, Spoken
from transect.targets.hf import loading
from transect.targets.kinds import Kind
from transect.targets.python_objects import array_digest
from transect.targets.settings import DEVICE
from transect.texts import words_of

if TYPE_CHECKING:
    from torch import Tensor

KIND: Final = Kind(
    prefix="vlm",
    trust="data",
    listed=(("vlm:folder", "any", "a saved vision-language model (--questions)"),),
    extra="huggingface",
    needs=("transformers",),
    in_words=True,
)
BATCH: Final = 32
FEATURE_BYTES: Final = 2 << 30
"""Memory for what the vision tower made of the latest images."""
_IMAGES_AT_ONCE: Final = 32
_PROBE: Final = "Is this a person?"


@final
@dataclass(frozen=True, slots=True)
class Options:
    """Where the model is computed; its question says the rest."""

    device: Annotated[str, DEVICE] = "cpu"


_USUAL: Final = Options()


def load(folder: str | Path, options: Options = _USUAL, *, dtype: str = "float32", batch: int = BATCH) -> LocalSpeaker:
    """The model of a folder that Transformers' `save_pretrained` wrote, with its processor and chat template.

    batch: asks at once. Nothing is downloaded, no code of the model runs, and nothing is unpickled. Loading asks a
    first question about two made-up images, so that a folder that does not fit says so here, in one line of BadInput.
    """
    argument = str(folder)
    if batch < 1:
        raise BadInput(f"batch: expected at least 1 ask, got {batch}")
    model = opened(argument, options.device, dtype)
    with loading.quiet(argument, "vlm"):
        return LocalSpeaker(f"{KIND.prefix}:{Path(argument).name}", argument, model, batch)


@final
@dataclass(slots=True)
class _Call:
    """One call of `speak`: what was prepared and said so far, by what it depends on."""

    prompts: dict[tuple[str, ...], Prompt | str] = field(default_factory=dict)
    requests: dict[tuple[object, ...], Request] = field(default_factory=dict)
    answers: dict[tuple[object, ...], Answer] = field(default_factory=dict)
    likelihoods: dict[tuple[object, ...], tuple[float, ...]] = field(default_factory=dict)


@final
class LocalSpeaker:
    """A `Speaker` whose model runs on this machine; made by `load`. Several targets may share one, also in threads."""

    def __init__(self, name: str, folder: str, model: Opened, batch: int) -> None:
        self.name = name
        self._folder, self._longest, self._batch, self._facts = folder, model.longest, batch, model.facts
        self._prompts = Prompts(model.processor)
        device, dtype = str(model.facts["device"]), str(model.facts["dtype"])
        self._answers = Answers(model.network, model.processor.tokenizer, dtype, device)
        self._lock = threading.Lock()
        self._takes: dict[int, str] = {}
        self._encoding = self._probed(model.network, ROUNDING[dtype])

    def speak(self, shown: Sequence[tuple[Pixels, ...]], asks: Sequence[Sequence[Ask]]) -> list[list[Spoken]]:
        """What it says: row i answers asks[i], in order, about the images shown[i].

        At temperature 0 an answer is the likeliest token each time. Above, it is drawn with random numbers of the
        images, the texts and the repeat alone. An ask that does not fit into the model's context, or that the processor
        refuses, is failed with its reason. tokens_sent counts the image's tokens too, tokens_received the end's.

        likelihoods: of each option as the whole answer, the sum of the logarithms of the probabilities of its tokens
        and of the end of the turn; nothing makes up for length.
        """
        import torch

        for images in shown:
            self.check_takes(len(images))
        found: list[list[Spoken]] = []
        with self._lock, loading.quiet(self._folder, "vlm"), torch.inference_mode():
            for start in range(0, len(shown), _IMAGES_AT_ONCE):
                part = slice(start, start + _IMAGES_AT_ONCE)
                try:
                    found += self._spoken(shown[part], asks[part])
                except torch.OutOfMemoryError:
                    raise BadInput(f"{self.name}: out of memory for {self._batch} requests: reduce batch") from None
        return found

    def check_takes(self, images: int) -> None:
        """Raises BadInput where the model cannot be shown so many images with one text."""
        if images not in self._takes:
            self._takes[images] = self._complaint(images)
        if complaint := self._takes[images]:
            what = f"{images} images at once" if images else "a text without an image"
            raise BadInput(f"{self.name}: expected a model that takes {what}: {complaint}")

    def describe(self) -> dict[str, object]:
        """What a report states: libraries, device, dtype, SHA-256 of each file and of the template, how it is asked."""
        return {
            **self._facts,
            "images": self._encoding,
            "decoding": "greedy at temperature 0, else drawn; penalties and other settings of the folder are not used",
            "likelihood": "of the whole option and the end of the turn, not made up for length",
        }

    def _spoken(self, shown: Sequence[tuple[Pixels, ...]], asks: Sequence[Sequence[Ask]]) -> list[list[Spoken]]:
        call, keys = _Call(), [array_digest(*images) for images in shown]
        for key, images, some in zip(keys, shown, asks, strict=True):
            for ask in some:
                self._prepare(call, key, images, ask)
        answers = self._answers.answer(list(call.requests.values()), self._batch)
        call.answers = dict(zip(call.requests, answers, strict=True))
        return [[self._one(call, key, ask) for ask in some] for key, some in zip(keys, asks, strict=True)]

    def _prepare(self, call: _Call, key: str, images: Sequence[Pixels], ask: Ask) -> None:
        place = (key, ask.system, ask.prompt)
        if place not in call.prompts:
            call.prompts[place] = self._prompt(key, images, ask)
        prompt = call.prompts[place]
        if isinstance(prompt, str) or self._too_long(prompt, ask):
            return
        request = Request(prompt, ask.max_tokens, ask.temperature, _seed(key, ask))
        call.requests.setdefault(_same(key, ask), request)

    def _prompt(self, key: str, images: Sequence[Pixels], ask: Ask) -> Prompt | str:
        """The prompt, or why there is none."""
        try:
            return self._prompts.of(key, images, ask.system, ask.prompt)
        except Exception as error:  # templates and processors raise what they like, each about this text
            return f"the text was refused by the model's processor: {words_of(error, 160)}"

    def _one(self, call: _Call, key: str, ask: Ask) -> Spoken:
        place = (key, ask.system, ask.prompt)
        prompt = call.prompts[place]
        if isinstance(prompt, str):
            return Spoken(failure=prompt)
        if failure := self._too_long(prompt, ask):
            return Spoken(failure=failure, tokens_sent=prompt.tokens)
        if ask.options and (*place, ask.options) not in call.likelihoods:
            call.likelihoods[*place, ask.options] = self._answers.likelihoods(prompt, ask.options)
        answer = call.answers[_same(key, ask)]
        likelihoods = call.likelihoods[*place, ask.options] if ask.options else ()
        return Spoken(
            answer.text, answer.end, likelihoods=likelihoods, tokens_sent=prompt.tokens, tokens_received=answer.tokens
        )

    def _too_long(self, prompt: Prompt, ask: Ask) -> str:
        """Why the ask does not fit, "" where it does."""
        answer, most = max(ask.max_tokens, self._answers.longest(ask.options)), self._longest
        if most is None or prompt.tokens + answer <= most:
            return ""
        return (
            f"context too long: {prompt.tokens} tokens and {answer} for the answer, the model takes {most}; shorten "
            "the prompt or lower max_tokens"
        )

    def _probed(self, network: object, rounding: float) -> str:
        """Say whether images are encoded once, after asking about two images in both ways."""
        import torch

        with torch.inference_mode():
            try:
                prompts = [self._prompts.of(array_digest(image), [image], "", _PROBE) for image in _made_up()]
                plain = torch.cat([self._answers.first_logits([prompt]) for prompt in prompts])
            except Exception as error:
                raise BadInput(
                    f"model folder {self._folder}: expected a processor and a model for an image with a text, "
                    f"got: {words_of(error, 160)}: use the processor, chat template and weights of one model"
                ) from None
            if not can_be_handed(network):
                return "encoded with every batch, since the architecture takes no features in place of pixels"
            self._answers.features = Features(network, FEATURE_BYTES)
            try:
                once = self._answers.first_logits(prompts)
            except Exception as error:  # an architecture that lays its features out in another way
                return self._each_batch(words_of(error, 80))
        if not (plain - once).abs().amax() <= 2 * rounding * plain.abs().amax():
            return self._each_batch("other logits")
        return "encoded once per image"

    def _each_batch(self, reason: str) -> str:
        self._answers.features = None
        return f"encoded with every batch, since features in place of pixels gave: {reason}"

    def _complaint(self, images: int) -> str:
        """Why so many images cannot be shown at once, "" where they can."""
        import torch

        pictures = (list(_made_up()) * max(images, 1))[:images]
        with self._lock, loading.quiet(self._folder, "vlm"), torch.inference_mode():
            try:
                self._answers.first_logits([self._prompts.of(array_digest(*pictures), pictures, "", _PROBE)])
            except Exception as error:
                return words_of(error, 160)
        return ""


def _made_up() -> Iterable[Pixels]:
    """A gray image, and one of noise."""
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    return np.full((64, 64, 3), 128, np.uint8), noise


def _same(key: str, ask: Ask) -> tuple[object, ...]:
    """What the text of an answer depends on: at temperature 0 all repeats are one."""
    repeat = ask.repeat if ask.temperature > 0 else 0
    return key, ask.system, ask.prompt, repeat, ask.temperature, ask.max_tokens


def _seed(key: str, ask: Ask) -> int:
    text = repr((key, ask.system, ask.prompt, ask.repeat))
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")


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
    options = loading.NetworkOptions(device=device, dtype=dtype)
    folder = loading.open_folder(argument, scheme="vlm")
    with loading.quiet(argument, "vlm"):
        auto = importlib.import_module("transformers.models.auto.modeling_auto")
        if folder.model_type not in auto.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES:
            raise BadInput(
                f"model folder {folder.path}: expected an image-text-to-text model, such as llava, got type "
                f"{folder.model_type!r}: use another, or a newer Transformers"
            )
        processor = _processor(folder)
        network, _ = loading.load_network(folder, "AutoModelForImageTextToText", "an image-text-to-text model", options)
        _settle(folder.path, network, processor.tokenizer)
        facts = _facts(folder, options, processor)
    longest = getattr(network.config.get_text_config(), "max_position_embeddings", None)
    return Opened(network, processor, longest, facts)


def _processor(folder: loading.ModelFolder) -> Any:
    if not any((folder.path / name).is_file() for name in _PROCESSOR):
        files = " or ".join(_PROCESSOR)
        raise BadInput(f"model folder {folder.path}: no processor ({files}); save it there with save_pretrained")
    processor = loading.load_saved(folder, "AutoProcessor", "the model's processor")
    missing = [part for part in ("tokenizer", "image_processor") if getattr(processor, part, None) is None]
    if missing:
        raise BadInput(f"model folder {folder.path}: no {' and no '.join(missing)}; save it with save_pretrained")
    loading.checked_processor(folder, processor.image_processor)
    if not getattr(processor, "chat_template", None):
        raise BadInput(
            f"model folder {folder.path}: found no chat template (chat_template.jinja): add it, or use a "
            "model trained to answer"
        )
    return processor


def _settle(folder: Path, network: Any, tokenizer: Any) -> None:
    """Replace the folder's generation settings by its end tokens and forbidden tokens alone."""
    if not network.can_generate():
        raise BadInput(
            f"model folder {folder}: expected a model that generates text, got {type(network).__name__}: use "
            "another model"
        )
    stated = network.generation_config
    ends = stated.eos_token_id if stated.eos_token_id is not None else tokenizer.eos_token_id
    if ends is None:
        raise BadInput(f"model folder {folder}: no token ends an answer: add eos_token_id to generation_config.json")
    ends = [ends] if isinstance(ends, int) else list(ends)
    stated_pad = tokenizer.pad_token_id if stated.pad_token_id is None else stated.pad_token_id
    network.generation_config = loading.library().GenerationConfig(
        do_sample=False,
        num_beams=1,
        bos_token_id=stated.bos_token_id,
        eos_token_id=ends,
        pad_token_id=ends[0] if stated_pad is None else stated_pad,
        **{name: getattr(stated, name, None) for name in _KEPT_SETTINGS},
    )


def _facts(folder: loading.ModelFolder, options: loading.NetworkOptions, processor: Any) -> dict[str, object]:
    import tokenizers

    facts = loading.model_facts(folder, options, None)
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
        self._made: ByteCache[Any] = ByteCache(
            _PREPARED, lambda made: sum(int(getattr(value, "nbytes", 0)) for value in made.values())
        )
        self.key = ""

    def __call__(self, *args: object, **settings: object) -> Any:
        made = self._made.get((self.key, repr(settings)), lambda: self._processor(*args, **settings))
        return copy.copy(made)  # processors take entries out

    def __getattr__(self, name: str) -> object:
        return getattr(self._processor, name)


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


ROUNDING: Final = {"float32": 2e-5, "float16": 8e-3, "bfloat16": 4e-2}
"""By how much a logit may differ between two batches, as a share of the row's largest logit.

More than was measured: 3.5e-6, 6.0e-3 and 2.9e-2 at most, over 720 steps of five networks of random weights each.
"""


@final
class Chosen:
    """The likeliest token where a row's temperature is 0, else one drawn by inverse transform of the row's own numbers.

    The sums inside a network depend on the batch in their last digits. `close` [steps, rows] says where a difference of
    `rounding` could have led to another token.
    """

    def __init__(self, temperatures: Tensor, draws: Tensor, rounding: float) -> None:
        """temperatures: [rows]. draws: uniform in [0, 1), [rows, steps]. rounding: a share, 0: no doubt."""
        self._temperatures, self._draws, self._rounding = temperatures.double(), draws.double(), rounding
        self.close: list[Tensor] = []

    def __call__(self, _ids: Tensor, scores: Tensor) -> Tensor:
        """Scores [rows, tokens] with one token possible in each row."""
        import torch

        logits = scores.double()
        error = self._rounding * logits.masked_fill(logits.isinf(), 0).abs().amax(dim=1)
        best = logits.topk(2, dim=1).values
        token, close = logits.argmax(dim=1), best[:, 0] - best[:, 1] <= 2 * error  # of equal ones the first
        if (drawn := self._temperatures > 0).any():
            other, near = self._drawn(logits, error)
            token, close = torch.where(drawn, other, token), torch.where(drawn, near, close)
        self.close.append(close & (self._rounding > 0))
        return only(scores, token)

    def _drawn(self, logits: Tensor, error: Tensor) -> tuple[Tensor, Tensor]:
        """The token in whose part of the cumulated probabilities the row's number lies, and whether near its edge.

        A change of every logit by at most e moves a cumulated probability by at most e / 2, times 1 / temperature.
        """
        heat = self._temperatures.clamp_min(1e-6)[:, None]
        upto = (logits / heat).softmax(dim=1).cumsum(dim=1)
        number = self._draws[:, min(len(self.close), self._draws.shape[1] - 1)][:, None] * upto[:, -1:]
        token = (upto <= number).sum(dim=1).clamp_max(upto.shape[1] - 1)[:, None]
        above = upto.gather(1, token) - number
        below = number - (upto.gather(1, (token - 1).clamp_min(0)) * (token > 0))
        near = above.minimum(below).squeeze(1) <= error / heat.squeeze(1)
        return token.squeeze(1), near


@final
class Prescribed:
    """Each row says its tokens and any end; `logarithm` [rows] sums the logarithms of their probabilities."""

    def __init__(self, rows: Sequence[Sequence[int]], ends: Sequence[int], device: str) -> None:
        import torch

        self.steps = max(map(len, rows)) + 1
        self._lengths = torch.tensor([len(row) for row in rows], device=device)
        self._tokens = torch.tensor([[*row, *[ends[0]] * (self.steps - len(row))] for row in rows], device=device)
        self._ends = torch.tensor(list(ends), device=device)
        self.logarithm = torch.zeros(len(rows), dtype=torch.float64, device=device)
        self._step = 0

    def __call__(self, _ids: Tensor, scores: Tensor) -> Tensor:
        """Scores [rows, tokens] with the prescribed token possible in each row."""
        import torch

        step = min(self._step, self.steps - 1)
        logs = scores.double().log_softmax(dim=1)
        token = self._tokens[:, step]
        said = logs.gather(1, token[:, None]).squeeze(1)
        ended = logs[:, self._ends].logsumexp(dim=1)
        if self._step < self.steps:
            gained = torch.where(self._lengths > step, said, torch.where(self._lengths == step, ended, 0.0))
            self.logarithm = self.logarithm + gained
        self._step += 1
        return only(scores, token)


@final
class Looked:
    """Keeps the logits [rows, tokens] of the first step."""

    def __init__(self) -> None:
        self.logits: Tensor | None = None

    def __call__(self, _ids: Tensor, scores: Tensor) -> Tensor:
        """The scores as they are."""
        self.logits = scores.double() if self.logits is None else self.logits
        return scores


def only(scores: Tensor, token: Tensor) -> Tensor:
    """Scores [rows, tokens] under which nothing but each row's token [rows] is possible."""
    return scores.new_full(scores.shape, float("-inf")).scatter(1, token[:, None], 0.0)


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
        self._kept: ByteCache[object] = ByteCache(most, _bytes)

    def of(self, key: str, images: Mapping[str, Tensor]) -> Any:
        """The output for images that a processor prepared, by a digest of their pixels; each is computed apart."""
        return self._kept.get(key, lambda: self._made(images))

    def _made(self, images: Mapping[str, Tensor]) -> object:
        encode = self._network.base_model.get_image_features
        accepted = inspect.signature(encode).parameters
        given = {name: value for name, value in images.items() if name in accepted}
        output = encode(**on_device(given, self._network), return_dict=True)
        return type(output)(**{name: _moved(output[name], "cpu") for name in _READ if name in output})


def handed(outputs: Sequence[Any], device: str) -> dict[str, Any]:
    """The argument of a network that stands for the pixels of a batch. outputs: of `Features.of`, row by row."""
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

    def moved(value: object) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.to(network.device, network.dtype if value.is_floating_point() else None)

    return {name: moved(value) for name, value in given.items()}


def _joined(values: Sequence[Any]) -> object:
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


_OPTIONS_AT_ONCE: Final = 32


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A prompt to be answered with at most `longest` tokens: greedily at temperature 0, else drawn from `seed`."""

    prompt: Prompt
    longest: int
    temperature: float = 0.0
    seed: int = 0


@final
@dataclass(frozen=True, slots=True)
class Answer:
    """tokens: how many were made, with the one that ends the turn."""

    text: str
    end: End
    tokens: int


@final
class Answers:
    """A network and its tokenizer."""

    def __init__(self, network: Any, tokenizer: Any, dtype: str, device: str) -> None:
        self._network, self._tokenizer, self._device = network, tokenizer, device
        self._rounding = ROUNDING[dtype]
        settings = network.generation_config
        self._ends, self._pad = list(settings.eos_token_id), int(settings.pad_token_id)
        self._spelled: dict[str, list[tuple[int, ...]]] = {}
        self.features: Features | None = None
        """Where images are encoded once; None where each batch encodes its own."""
        self.alone = 0
        """How many requests were answered a second time, apart from all others."""

    def first_logits(self, prompts: Sequence[Prompt]) -> Tensor:
        """Logits [prompts, vocabulary] of the first token of an answer, in one batch."""
        looked = Looked()
        self._generate(prompts, 1, looked)
        if looked.logits is None:
            raise RuntimeError("generate asked for no token")
        return looked.logits

    def answer(self, requests: Sequence[Request], batch: int) -> list[Answer]:
        """What the model says to each, `batch` at once; alone where rounding could have led to another token."""
        found: dict[int, Answer | None] = {}
        for numbers in self._batches(requests, batch):
            found |= zip(numbers, self._together([requests[number] for number in numbers]), strict=True)
        answers = []
        for number, request in enumerate(requests):
            if (answer := found[number]) is None:
                self.alone += 1
                (answer,) = self._together([request])
            assert answer is not None  # noqa: S101  (alone nothing is too close)
            answers.append(answer)
        return answers

    def likelihoods(self, prompt: Prompt, options: Sequence[str]) -> tuple[float, ...]:
        """Natural logarithm of the probability that the model answers with each option and then ends its turn.

        Where an option with a space before it is written in other tokens, the answer can be either, and both
        probabilities are added. The options of one prompt are one batch, so that no other changes the sums.
        """
        spellings = [self._spellings(option) for option in options]
        rows = [(place, tokens) for place, each in enumerate(spellings) for tokens in each]
        found = np.full(len(options), -np.inf)
        for some in _split(rows, _OPTIONS_AT_ONCE):
            said = Prescribed([tokens for _, tokens in some], self._ends, self._device)
            self._generate([prompt] * len(some), said.steps, said)
            for (place, _), logarithm in zip(some, said.logarithm.tolist(), strict=True):
                found[place] = np.logaddexp(found[place], logarithm)
        return tuple(found.tolist())

    def longest(self, options: Sequence[str]) -> int:
        """Tokens of the longest option and its end; 0 without options."""
        return max((len(tokens) + 1 for option in options for tokens in self._spellings(option)), default=0)

    def _spellings(self, option: str) -> list[tuple[int, ...]]:
        if option not in self._spelled:
            texts = (option, f" {option}")
            tokens = [tuple(self._tokenizer(text, add_special_tokens=False)["input_ids"]) for text in texts]
            self._spelled[option] = list(dict.fromkeys(tokens))
        return self._spelled[option]

    def _batches(self, requests: Sequence[Request], batch: int) -> Iterable[list[int]]:
        """Numbers of requests: those of a batch have nearly the same length, so that little is padding."""

        def like(number: int) -> tuple[Any, ...]:
            request = requests[number]
            fixed = () if self.features else (request.prompt.tokens, shapes(request.prompt))
            return (bool(request.prompt.images), *fixed, request.longest, request.prompt.tokens)

        def kind(number: int) -> tuple[Any, ...]:
            return like(number)[:1] if self.features else like(number)

        order = sorted(range(len(requests)), key=like)
        groups = [list(same) for _, same in itertools.groupby(order, kind)]
        return [some for group in groups for some in _split(group, batch)]

    def _together(self, requests: Sequence[Request]) -> list[Answer | None]:
        """The answers of one batch; None for each that rounding could have changed."""
        import torch

        steps = max(request.longest for request in requests)
        draws = torch.tensor(np.stack([_draws(request, steps) for request in requests]), device=self._device)
        heat = torch.tensor([request.temperature for request in requests], device=self._device)
        chosen = Chosen(heat, draws, self._rounding if len(requests) > 1 else 0.0)
        made = self._generate([request.prompt for request in requests], steps, chosen).cpu().tolist()
        close = torch.stack(chosen.close).cpu().numpy()
        answers = [self._answer(tokens[: request.longest]) for tokens, request in zip(made, requests, strict=True)]
        doubts = [bool(close[: answer.tokens, row].any()) for row, answer in enumerate(answers)]
        return [None if doubt else answer for doubt, answer in zip(doubts, answers, strict=True)]

    def _generate(self, prompts: Sequence[Prompt], steps: int, choice: object) -> Tensor:
        """Tokens [prompts, at most steps] that follow the prompts."""
        from transformers import LogitsProcessorList

        given = padded(prompts, self._pad)
        if self.features is None or not prompts[0].images:
            images = stacked(prompts)
        else:
            outputs = [self.features.of(prompt.key, prompt.images) for prompt in prompts]
            images = stacked(prompts, PIXELS) | handed(outputs, self._device)
        settings = {"logits_processor": LogitsProcessorList([choice]), "max_new_tokens": steps}
        made: Tensor = self._network.generate(**on_device(given | images, self._network), **settings)
        return made[:, given["input_ids"].shape[1] :]

    def _answer(self, tokens: list[int]) -> Answer:
        place = next((place for place, token in enumerate(tokens) if token in self._ends), None)
        said = tokens if place is None else tokens[:place]
        text = self._tokenizer.decode(said, skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return Answer(text, "length" if place is None else "end", len(said) + (place is not None))


def _draws(request: Request, steps: int) -> np.ndarray:
    """Numbers in [0, 1), as many as steps; the first ones are the same whatever the number of steps."""
    if request.temperature == 0:
        return np.zeros(steps)
    return np.random.default_rng(request.seed).random(steps)


def _split(values: Sequence[object], size: int) -> list[list[Any]]:
    return [list(values[start : start + size]) for start in range(0, len(values), size)]
