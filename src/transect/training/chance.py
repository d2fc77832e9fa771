"""Random draws of a training: every step draws from the run's seed and its number, so that a resumed run is equal."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Int

_ORDER, _STEP = 1, 2


def rows_of(shown: int, batch: int, count: int, seed: int) -> Int[np.ndarray, " batch"]:
    """The rows that come after `shown` pictures: every picture once an epoch, in a separate order for each epoch."""
    places = np.arange(shown, shown + batch)
    orders = {epoch: _generator(seed, _ORDER, int(epoch)).permutation(count) for epoch in np.unique(places // count)}
    return np.array([orders[place // count][place % count] for place in places.tolist()])


def step_generator(seed: int, step: int, device: str | torch.device = "cpu", process: int = 0) -> torch.Generator:
    """The generator of one step (of one process)."""
    state = np.random.SeedSequence([seed, _STEP, step, process]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


def _generator(seed: int, stream: int, number: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([seed, stream, number])))
