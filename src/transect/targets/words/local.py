"""`vlm:FOLDER`: a vision-language model on this machine, asked in batches.

Each image goes through the vision tower once, however many questions, paraphrases and options it is asked. What is said
to one ask depends on that ask and its images alone, never on the batch.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, final

import numpy as np

from transect.errors import BadInput
from transect.spoken_answers import Ask, Pixels, Spoken
from transect.targets.hf.loading import quiet
from transect.targets.kinds import Kind
from transect.targets.python_objects import array_digest
from transect.targets.settings import DEVICE
from transect.targets.words.local_model import (
    ROUNDING,
    Answer,
    Answers,
    Features,
    Opened,
    Prompt,
    Prompts,
    Request,
    can_be_handed,
    opened,
)
from transect.texts import words_of

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
        raise BadInput(f"batch: expected a number of asks from 1, got {batch}")
    model = opened(argument, options.device, dtype)
    with quiet(argument, "vlm"):
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
        with self._lock, quiet(self._folder, "vlm"), torch.inference_mode():
            for start in range(0, len(shown), _IMAGES_AT_ONCE):
                part = slice(start, start + _IMAGES_AT_ONCE)
                try:
                    found += self._spoken(shown[part], asks[part])
                except torch.OutOfMemoryError:
                    raise BadInput(
                        f"{self.name}: memory for {self._batch} asks at once: take a smaller batch"
                    ) from None
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

    def _probed(self, network: Any, rounding: float) -> str:
        """Say whether images are encoded once, after asking about two images in both ways."""
        import torch

        with torch.inference_mode():
            try:
                prompts = [self._prompts.of(array_digest(image), [image], "", _PROBE) for image in _made_up()]
                plain = torch.cat([self._answers.first_logits([prompt]) for prompt in prompts])
            except Exception as error:
                raise BadInput(
                    f"model folder {self._folder}: expected a processor and a model that take an image with a text, "
                    f"got: {words_of(error, 160)}: take processor, chat template and weights of the same model"
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
        with self._lock, quiet(self._folder, "vlm"), torch.inference_mode():
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
