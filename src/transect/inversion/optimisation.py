"""Images ► codes by gradient descent, as Singh et al. 2021, arXiv:2103.13455, equation 1.

    Z* = argmin_Z  D(G(Z), x) + λ Σ_j |Z_j - mean(Z)|²

D is a perceptual distance, here with a share of the pixels' mean square; j runs over layers. Space w is their
restricted space, w+ with λ = 0 the expanded one, w+ with λ > 0 theirs. The steps are Adam's (Kingma and Ba 2015,
arXiv:1412.6980) with a rise and fall of the rate as StyleGAN2's projector has it (Karras et al. 2020,
arXiv:1912.04958, appendix D), but twice as large at first, and falling for three quarters of the steps in place of one:
docs/research/inversion.md reports what that saves.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor

from transect.errors import BadInput
from transect.inversion.protocol import Invertible, check_space
from transect.perceptual.distance import Appearance
from transect.perceptual.features import as_tensor

Encoder: TypeAlias = Callable[[Tensor], Tensor]
"""From images [b, 3, h, w] in 0..1 to codes [b, ...] of the space: where the search begins."""

_RISE, _FALL = 0.05, 0.75
_MOMENTS = (0.9, 0.99)
_COARSE = 0.5
"""Share of the steps of a mixed search in bfloat16; near the end its eight bits are too few."""

_LOOK_BACK, _LOOK_FROM = 2, 0.5
"""Entries of the history over which an objective has to fall, and the share of the steps from which on that counts.

Before, while steps are large, an objective rises and falls by several per cent without having reached its end.
"""


@final
@dataclass(frozen=True, slots=True)
class Search:
    """How codes are searched.

    penalty: λ of equation 1, for w+ alone. pixels: weight of the mean squared difference of values in 0..1 added to the
    perceptual distance; 0 as published. rate: the largest step, in spreads of the space's codes. every: steps between
    two entries of the history. mixed: compute images and distances of the first half of the steps in bfloat16, which is
    faster on processors that have it; what is reported is always computed in float32. plateau: an image stops where its
    own objective fell by less than this share over two entries of its history in the second half of the steps; 0 takes
    all steps.
    """

    space: str = "w+"
    penalty: float = 0.1
    steps: int = 300
    pixels: float = 1.0
    rate: float = 0.2
    every: int = 10
    mixed: bool = False
    plateau: float = 0.0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.every < 1:
            raise BadInput(f"steps: expected at least 1, got {self.steps}")
        for name, value in (("penalty", self.penalty), ("pixels", self.pixels)):
            if not (math.isfinite(value) and value >= 0):
                raise BadInput(f"{name}: expected at least 0, got {value}")
        if not 0 <= self.plateau < 1:
            raise BadInput(f"plateau: expected a share from 0 to below 1, got {self.plateau}")
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise BadInput(f"rate: expected a number above 0, got {self.rate}")


@final
@dataclass(frozen=True)
class Inverted:
    """Codes [n, ...] float32 and the terms that they reached, float32 [n] each; NaN where the search failed.

    perceptual: D without pixels. pixels: mean squared difference of values in 0..1. restriction: Σ_j |w_j - mean|² (0
    but in w+). history: the whole objective before the step of `history_steps`, [n, k]; after an image stopped, that of
    its codes. steps: taken until it stopped, int64 [n]. failures: reasons, "" where it did not fail.
    """

    codes: Float[np.ndarray, "n ..."]
    perceptual: Float[np.ndarray, " n"]
    pixels: Float[np.ndarray, " n"]
    restriction: Float[np.ndarray, " n"]
    history: Float[np.ndarray, "n k"]
    history_steps: tuple[int, ...]
    steps: Int[np.ndarray, " n"]
    failures: tuple[str, ...]
    reconstructions: UInt8[np.ndarray, "n h w 3"]

    def __len__(self) -> int:
        return len(self.codes)


def restriction(codes: Tensor, space: str) -> Float[Tensor, " b"]:
    """Σ_j |w_j - mean(w)|² of each code; 0 in spaces with one vector an image."""
    if space != "w+":
        return codes.new_zeros(len(codes))
    return (codes - codes.mean(dim=1, keepdim=True)).square().sum(dim=(1, 2))


def pace(share: float) -> float:
    """The rate at a share of the steps: a linear rise over 5 %, a cosine's fall over the last 75 %.

    >>> pace(0.25), pace(1.0)
    (1.0, 0.0)
    """
    fall = min(1.0, (1 - share) / _FALL)
    return (0.5 - 0.5 * math.cos(math.pi * fall)) * min(1.0, share / _RISE)


def invert(
    generator: Invertible,
    pixels: np.ndarray,
    search: Search,
    appearance: Appearance,
    *,
    encoder: Encoder | None = None,
    batch: int = 16,
    device: str = "cpu",
    advance: Callable[[int], None] = lambda _: None,
) -> Inverted:
    """The codes of images, uint8 [n, image_size, image_size, 3].

    encoder: where the search begins (default: the mean code). batch: images at a time; every batch has this size, the
    last one is filled up, so that an image's result does not depend on the others or their number. advance: called
    with 1 after each step of a batch, which has at most `search.steps`. An image whose objective stops being finite
    fails, and no other. Raises BadInput for images of another size, an unknown space, an encoder that gives other
    codes.
    """
    space = check_space(generator, search.space)
    size = generator.image_size
    if pixels.ndim != 4 or pixels.shape[1:] != (size, size, 3) or pixels.dtype != np.uint8:
        actual = f"{pixels.dtype} {list(pixels.shape)}"
        raise BadInput(
            f"images: expected uint8 [n, {size}, {size}, 3] for {generator.name}, got {actual}; crop and "
            "resize them first"
        )
    if batch < 1:
        raise BadInput(f"batch: expected at least 1 image, got {batch}")
    parts = []
    for start in range(0, len(pixels), batch):
        rows = pixels[start : start + batch]
        filled = np.concatenate([rows, np.repeat(rows[:1], batch - len(rows), axis=0)])
        terms = _search(generator, as_tensor(filled, device), space, search, appearance, encoder, advance)
        parts.append({name: value[: len(rows)] for name, value in terms.items()})
    shape = tuple(generator.codes(space).mean.shape)
    return _together(parts, shape, search, size)


def _search(
    generator: Invertible,
    images: Tensor,
    space: str,
    search: Search,
    appearance: Appearance,
    encoder: Encoder | None,
    advance: Callable[[int], None],
) -> dict[str, np.ndarray]:
    where = generator.codes(space)
    with torch.no_grad():
        features = appearance(images)
        start = where.mean.to(images).expand(len(images), *where.mean.shape) if encoder is None else encoder(images)
    if start.shape != (len(images), *where.mean.shape):
        expected = [len(images), *where.mean.shape]
        raise BadInput(f"encoder: expected codes {expected} of space {space}, got {list(start.shape)}; fit one for it")
    variables = _variables(start.detach().float(), space)
    optimizer = torch.optim.Adam(variables, lr=search.rate * where.spread, betas=_MOMENTS)
    history: list[Tensor] = []
    stops = _Stops(search, len(images))
    for step in range(search.steps):
        for group in optimizer.param_groups:
            group["lr"] = search.rate * where.spread * pace((step + 1) / (search.steps + 1))
        codes = sum(variables[1:], variables[0])
        coarse = search.mixed and step < _COARSE * search.steps
        with torch.autocast(codes.device.type, torch.bfloat16, enabled=coarse):
            rendered = generator.show(codes, space)
            perceptual = (appearance(rendered) - features).square().sum(dim=1)
        terms = (perceptual, (rendered - images).square().mean(dim=(1, 2, 3)), restriction(codes, space))
        objective = terms[0] + search.pixels * terms[1] + search.penalty * terms[2]
        if step % search.every == 0:
            history.append(objective.detach())
            stops.look(step, history, codes.detach())
            if not stops.moving.any():
                break
        optimizer.zero_grad(set_to_none=True)
        # The gradient of each image's code is that of its own objective: the sum separates into them.
        objective.sum().backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        advance(1)
    with torch.no_grad():
        codes = stops.codes_of(sum(variables[1:], variables[0]))
        rendered = generator.show(codes, space)
        perceptual = (appearance(rendered) - features).square().sum(dim=1)
        square, apart = (rendered - images).square().mean(dim=(1, 2, 3)), restriction(codes, space)
        reached = perceptual + search.pixels * square + search.penalty * apart
        pixels = (rendered * 255).round().clamp(0, 255).nan_to_num().to(torch.uint8).permute(0, 2, 3, 1)
    return {
        "codes": codes.detach().cpu().numpy(),
        "perceptual": perceptual.cpu().numpy(),
        "pixels": square.cpu().numpy(),
        "restriction": apart.cpu().numpy(),
        "history": stops.history_of(history, reached).cpu().numpy(),
        "steps": stops.steps.cpu().numpy(),
        "reconstructions": pixels.cpu().numpy(),
    }


@final
class _Stops:
    """Which images of a batch have stopped, after how many steps, and at which codes; each by its own objective."""

    def __init__(self, search: Search, images: int) -> None:
        self._search, self._stopped = search, torch.zeros(0)
        self.moving: Bool[Tensor, " b"] = torch.ones(images, dtype=torch.bool)
        self.steps: Int[Tensor, " b"] = torch.full((images,), search.steps)

    def look(self, step: int, history: list[Tensor], codes: Tensor) -> None:
        """Stop the images whose objective has not fallen enough by this step, the last entry of the history."""
        earliest = _LOOK_BACK * self._search.every + _LOOK_FROM * self._search.steps
        if not self._search.plateau or step < earliest:
            return
        before, now = history[-1 - _LOOK_BACK].cpu(), history[-1].cpu()
        # An objective that is not finite stops too: it fails, and no further step would help.
        stopping = self.moving & ~(before - now > self._search.plateau * before)
        if not len(self._stopped):
            self._stopped = codes.clone()
        self._stopped[stopping] = codes[stopping]
        self.steps[stopping] = step
        self.moving &= ~stopping

    def codes_of(self, last: Tensor) -> Tensor:
        """The codes at which each image stopped, the last ones for the others."""
        still = self.moving.view(-1, *(1,) * (last.dim() - 1)).to(last.device)
        return torch.where(still, last, self._stopped) if len(self._stopped) else last

    def history_of(self, history: list[Tensor], reached: Tensor) -> Tensor:
        """The objectives [b, k], those after an image stopped being what it reached."""
        every = torch.tensor(steps_of(self._search))
        known = torch.stack(history, dim=1)
        padding = reached[:, None].expand(-1, len(every) - known.shape[1])
        after = (every >= self.steps[:, None]).to(reached.device)
        return torch.where(after, reached[:, None], torch.cat([known, padding], dim=1))


def _variables(begin: Tensor, space: str) -> list[Tensor]:
    """What is searched; codes are their sum. In w+ the mean of the layers, and the layers' deviations from it.

    Adam scales steps by coordinate: with one variable for both, a large λ holds back the mean too.
    """
    if space != "w+":
        return [begin.clone().requires_grad_()]
    middle = begin.mean(dim=1, keepdim=True)
    return [tensor.requires_grad_() for tensor in (middle, begin - middle)]


def steps_of(search: Search) -> tuple[int, ...]:
    """The steps before which the history records the objective, and the end."""
    return (*range(0, search.steps, search.every), search.steps)


def _together(parts: list[dict[str, np.ndarray]], shape: tuple[int, ...], search: Search, size: int) -> Inverted:
    empty = {
        "codes": np.zeros((0, *shape), np.float32),
        **{name: np.zeros(0, np.float32) for name in ("perceptual", "pixels", "restriction")},
        "history": np.zeros((0, len(steps_of(search))), np.float32),
        "steps": np.zeros(0, np.int64),
        "reconstructions": np.zeros((0, size, size, 3), np.uint8),
    }
    terms = {name: np.concatenate([none, *(part[name] for part in parts)]) for name, none in empty.items()}
    unsound = ~np.isfinite(terms["history"])
    failures = tuple(
        f"the objective was not finite from step {steps_of(search)[int(row.argmax())]} on" if row.any() else ""
        for row in unsound
    )
    for name in ("codes", "perceptual", "pixels", "restriction"):
        terms[name][unsound.any(axis=1)] = np.nan
    return Inverted(history_steps=steps_of(search), failures=failures, **terms)
