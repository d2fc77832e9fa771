"""Trains a network on pictures: seeded order, checkpoints after every epoch, the same end after an interruption.

Sources: Loshchilov and Hutter 2019, Decoupled weight decay regularization, arXiv:1711.05101; the same 2017, SGDR,
arXiv:1608.03983 (cosine schedule).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from safetensors import safe_open
from safetensors.torch import save
from torch import Tensor

from transect.jobs.verify.network import Network
from transect.runs.folder import write_atomically
from transect.runs.progress import Progress

Pixels = Callable[[Int[np.ndarray, " m"]], UInt8[np.ndarray, "m h w 3"]]
"""Pictures of the rows, in that order."""


_WARM_UP, _SMALLEST_STEP, _CLIP = 0.06, 0.01, 5.0
_SHIFT = 0.03
"""Pictures are moved by up to this share of their width while training."""


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """Which pictures are shown together, which of them mirrored, and how far each is moved.

    shifts: down and across, in thousandths of the width; the picture's content moves up and to the left by them.
    """

    rows: Int[np.ndarray, " m"]
    mirrored: Bool[np.ndarray, " m"]
    shifts: Int[np.ndarray, "m 2"]


Loss = Callable[[Tensor, Batch], Tensor]
"""From a network's answers to a batch to one number."""


@final
@dataclass(frozen=True, slots=True)
class Schedule:
    """How long and how fast to learn. mirror: also show pictures mirrored, half of the time."""

    epochs: int
    batch: int = 64
    rate: float = 2e-3
    decay: float = 0.05
    seed: int = 0
    device: str = "cpu"
    mirror: bool = True


def train(
    network: Network, pixels: Pixels, count: int, loss: Loss, schedule: Schedule, checkpoint: Path, *, quiet: bool
) -> Network:
    """Train on rows 0 .. count - 1 and return the network; epochs that the checkpoint holds are not repeated.

    The order of the pictures, their shifts and mirrorings depend on the seed and the epoch alone.
    """
    network = network.to(schedule.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.rate, weight_decay=schedule.decay)
    done = _restore(network, optimizer, checkpoint)
    batches = math.ceil(count / schedule.batch)
    label = f"training {checkpoint.stem.partition('-')[0]}"
    with Progress(label, schedule.epochs * count, done=done * count, quiet=quiet) as progress:
        for epoch in range(done, schedule.epochs):
            network.train()
            for step, batch in enumerate(_batches(count, epoch, schedule)):
                share = (epoch * batches + step) / (schedule.epochs * batches)
                for group in optimizer.param_groups:
                    group["lr"] = schedule.rate * _pace(share)
                _step(network, optimizer, pixels, loss, batch, schedule.device)
                progress.advance(len(batch.rows))
            _keep(network, optimizer, epoch + 1, checkpoint)
    return network


def answers(network: Network, pixels: Pixels, count: int, device: str = "cpu") -> Float[np.ndarray, "n k"]:
    """The outputs of the network on rows 0 .. count - 1, float64."""
    network = network.to(device)
    network.eval()
    outputs = []
    with torch.inference_mode(), precision(device):
        for start in range(0, count, 128):
            pictures = _to_tensor(pixels(np.arange(start, min(start + 128, count))), device)
            outputs.append(network(pictures).double().cpu().numpy())
    return np.concatenate(outputs)


def precision(device: str) -> torch.autocast:
    """Half precision in the convolutions where the machine multiplies it in hardware."""
    kind = device.partition(":")[0]
    return torch.autocast(kind, dtype=torch.bfloat16, enabled=kind == "cuda" or has_bfloat16())


def has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 in hardware."""
    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return bool(supported and supported())


def _batches(count: int, epoch: int, schedule: Schedule) -> Iterator[Batch]:
    generator = np.random.Generator(np.random.Philox(key=np.array([schedule.seed, epoch], dtype=np.uint64)))
    order = generator.permutation(count)
    mirrored = generator.random(count) < 0.5 * schedule.mirror
    reach = round(1000 * _SHIFT)
    shifts = generator.integers(-reach, reach + 1, (count, 2))
    for start in range(0, count, schedule.batch):
        rows = order[start : start + schedule.batch]
        if len(rows) > 1 or count == 1:  # a batch of one has no variance to normalize by
            yield Batch(rows, mirrored[rows], shifts[rows])


def _pace(share: float) -> float:
    """Learning rate at a share of the training, of its largest: a short rise, then half a cosine."""
    if share < _WARM_UP:
        return max(_SMALLEST_STEP, share / _WARM_UP)
    return max(_SMALLEST_STEP, 0.5 * (1 + math.cos(math.pi * (share - _WARM_UP) / (1 - _WARM_UP))))


def _step(
    network: Network, optimizer: torch.optim.Optimizer, pixels: Pixels, loss: Loss, batch: Batch, device: str
) -> None:
    pictures = _to_tensor(_moved(pixels(batch.rows), batch), device)
    with precision(device):
        outputs = network(pictures)
    total = loss(outputs, batch)
    optimizer.zero_grad(set_to_none=True)
    total.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
    optimizer.step()


def _moved(pictures: UInt8[np.ndarray, "m h w 3"], batch: Batch) -> UInt8[np.ndarray, "m h w 3"]:
    """Each picture mirrored where it shall be, and moved by its shift; the edge's pixels fill the gap."""
    size = pictures.shape[1]
    shifts = np.rint(batch.shifts * size / 1000).astype(int)
    places = np.arange(size)
    rows = np.clip(places + shifts[:, :1], 0, size - 1)
    columns = np.clip(places + shifts[:, 1:], 0, size - 1)
    columns = np.where(batch.mirrored[:, None], size - 1 - columns, columns)
    return np.asarray(pictures[np.arange(len(pictures))[:, None, None], rows[:, :, None], columns[:, None, :]])


def _to_tensor(pictures: UInt8[np.ndarray, "m h w 3"], device: str) -> Tensor:
    # [m, h, w, 3] seen as [m, 3, h, w] is PyTorch's channels-last order: nothing is copied for it.
    return torch.from_numpy(np.ascontiguousarray(pictures)).to(device).permute(0, 3, 1, 2).float() / 255


def _keep(network: Network, optimizer: torch.optim.Optimizer, epochs: int, checkpoint: Path) -> None:
    tensors = {f"network.{name}": value.contiguous() for name, value in network.state_dict().items()}
    for index, state in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": torch.as_tensor(value).contiguous() for name, value in state.items()}
    write_atomically(checkpoint, save(tensors, metadata={"epochs": str(epochs)}))


def _restore(network: Network, optimizer: torch.optim.Optimizer, checkpoint: Path) -> int:
    """Finished epochs of the checkpoint, whose state is taken over; 0 where there is none."""
    if not checkpoint.exists():
        return 0
    with safe_open(checkpoint, framework="pt") as file:
        tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118  (no mapping)
        epochs = int(file.metadata()["epochs"])
    weights = {name.removeprefix("network."): value for name, value in tensors.items() if name.startswith("network.")}
    network.load_state_dict(weights)
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        kind, _, rest = name.partition(".")
        if kind == "optimizer":
            index, _, field = rest.partition(".")
            state.setdefault(int(index), {})[field] = value
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
    return epochs
