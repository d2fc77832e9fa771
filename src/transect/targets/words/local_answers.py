"""What a model on this machine says to prompts, and how likely it finds given answers."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np

from transect.said import End
from transect.targets.words.local_choice import ROUNDING, Chosen, Looked, Prescribed
from transect.targets.words.local_features import PIXELS, Features, handed, on_device
from transect.targets.words.local_prompts import Prompt, padded, shapes, stacked

if TYPE_CHECKING:
    from torch import Tensor

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
        """What the model says to each, `batch` at once, each the same whatever else is asked.

        Where rounding could have led to another token in a batch, the request is answered again by itself.
        """
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

        The probability of an option is that of all its tokens and of the end after them; it is not made up for length.
        Where an option with a space before it is written in other tokens, the answer can be either, and the
        probabilities of both are added. The options of one prompt are one batch, so that no other changes the sums.
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


def _split(values: Sequence[Any], size: int) -> list[list[Any]]:
    return [list(values[start : start + size]) for start in range(0, len(values), size)]
