"""How the next token is chosen, row by row: the likeliest, one that is drawn, or one that is prescribed.

Each is a logits processor of Transformers: it leaves one token possible in each row, and the library's greedy search
takes it. So the library places the words, the images and the cache, and what is chosen is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, final

if TYPE_CHECKING:
    from torch import Tensor

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
    """Each row says its prescribed tokens and then ends; `logarithm` [rows] sums the logarithms of their probabilities.

    The end counts as likely as all end tokens together.
    """

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
