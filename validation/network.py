"""A small network that looks at a face as people do, and how it is trained.

A residual trunk sees the whole picture and says where the parts lie; a few small networks see those parts at full
resolution. An iris of five pixels is lost on a network of this size and training that sees the whole alone. About a
million and a half weights, trained from nothing. Sources: He et al. 2016, Deep residual learning for image recognition,
arXiv:1512.03385; Jaderberg et al. 2015, Spatial transformer networks, arXiv:1506.02025 (sampling at predicted places);
Loshchilov and Hutter 2019, Decoupled weight decay regularization, arXiv:1711.05101; the same 2017, SGDR,
arXiv:1608.03983 (cosine schedule).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from torch import Tensor, nn
from torch.nn import functional

from transect.runs.parts import Progress
from validation.pictures import Pictures

WIDTHS = (20, 40, 80, 160)
"""Channels of the trunk's stages; each halves the picture."""


class Part(NamedTuple):
    """What is looked at closely: its kind, half the window's side in widths of the picture, whether it is turned round.

    Kinds share a network; the right-hand one of a pair is mirrored first.
    """

    kind: str
    reach: float
    turned: bool = False


PARTS: tuple[Part, ...] = (
    Part("eye", 0.10),
    Part("eye", 0.10, turned=True),
    Part("ear", 0.10),
    Part("ear", 0.10, turned=True),
    Part("nose", 0.12),
    Part("mouth", 0.16),
    Part("hair", 0.18),
)
"""The parts, in the order of the predicted places."""

PLACES = 2 * len(PARTS)
"""Answers that say where the parts lie: x and y of each, in widths of the picture."""


def _convolution(inputs: int, outputs: int, stride: int = 1, size: int = 3) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


class _Block(nn.Module):
    """Two convolutions added to the identity."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.first = _convolution(channels, channels)
        self.second = nn.Sequential(nn.Conv2d(channels, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(x + self.second(self.first(x)))


class Network(nn.Module):
    """From pictures [b, 3, h, w] in 0..1 to float32 [b, outputs + PLACES]; h and w of at least 32.

    outputs: the answers; after them come the places of PARTS. places: where the parts lie on average, PLACES numbers,
    from which the network starts.
    """

    GRID, WINDOW = 4, 28

    def __init__(
        self, outputs: int, places: Tensor | None = None, widths: tuple[int, ...] = WIDTHS, hidden: int = 256
    ) -> None:
        super().__init__()
        stages: list[nn.Module] = [_convolution(3, widths[0], 2, 5)]
        for before, after in itertools.pairwise(widths):
            stages += [_convolution(before, after, 2), _Block(after)]
        self.trunk = nn.Sequential(*stages, nn.Conv2d(widths[-1], 32, 1), nn.AdaptiveAvgPool2d(self.GRID))
        seen = 32 * self.GRID**2
        self.where = nn.Linear(seen, PLACES)
        nn.init.zeros_(self.where.weight)
        with torch.no_grad():
            self.where.bias.copy_(torch.full((PLACES,), 0.5) if places is None else places)
        self.close = nn.ModuleDict({kind: _close_look() for kind in dict.fromkeys(part.kind for part in PARTS)})
        self.hidden = nn.Sequential(nn.Linear(seen + CLOSE * len(PARTS), hidden), nn.ReLU(inplace=True))
        self.head = nn.Linear(hidden, outputs)

    def forward(self, pictures: Tensor) -> Tensor:
        """The answers and places; those of a picture do not depend on the others in evaluation mode."""
        pictures = (pictures - 0.45) / 0.25
        whole = self.trunk(pictures).flatten(1).float()
        with torch.autocast(whole.device.type, enabled=False):
            places: Tensor = self.where(whole)
            windows = [
                _window(pictures, places[:, 2 * i : 2 * i + 2].detach(), part, self.WINDOW)
                for i, part in enumerate(PARTS)
            ]
        closely = [self.close[part.kind](window).float() for part, window in zip(PARTS, windows, strict=True)]
        with torch.autocast(whole.device.type, enabled=False):
            answers: Tensor = self.head(self.hidden(torch.cat([whole, *closely], dim=1)))
            return torch.cat([answers, places], dim=1)


CLOSE = 48
"""Numbers that a close look gives."""


def _close_look() -> nn.Sequential:
    return nn.Sequential(
        _convolution(3, 16),
        _convolution(16, 32, 2),
        _convolution(32, 32, 2),
        nn.Flatten(),
        nn.Linear(32 * (Network.WINDOW // 4) ** 2, CLOSE),
        nn.ReLU(inplace=True),
    )


def _window(pictures: Tensor, place: Tensor, part: Part, side: int) -> Tensor:
    """[b, 3, side, side]: the picture around a place, x and y in widths."""
    steps = torch.linspace(-part.reach, part.reach, side, device=pictures.device)
    across = -steps if part.turned else steps
    x = place[:, 0].view(-1, 1, 1) + across.view(1, 1, -1)
    y = place[:, 1].view(-1, 1, 1) + steps.view(1, -1, 1)
    grid = 2 * torch.stack([x.expand(-1, side, -1), y.expand(-1, -1, side)], dim=3) - 1
    return functional.grid_sample(pictures, grid, padding_mode="border", align_corners=False)


def new_network(outputs: int, seed: int, places: Tensor | None = None, widths: tuple[int, ...] = WIDTHS) -> Network:
    """A network whose weights come from the seed, and its first places from those given."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return Network(outputs, places, widths)


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
    network: Network, pixels: Pixels, count: int, loss: Loss, schedule: Schedule, name: str = "", *, quiet: bool = True
) -> Network:
    """Train on rows 0 .. count - 1 and return the network.

    The order of the pictures, their shifts and mirrorings depend on the seed and the epoch alone.
    """
    network = network.to(schedule.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.AdamW(network.parameters(), lr=schedule.rate, weight_decay=schedule.decay)
    batches = math.ceil(count / schedule.batch)
    with Progress(f"training {name}", schedule.epochs * count, quiet=quiet) as progress:
        for epoch in range(schedule.epochs):
            network.train()
            for step, batch in enumerate(_batches(count, epoch, schedule)):
                share = (epoch * batches + step) / (schedule.epochs * batches)
                for group in optimizer.param_groups:
                    group["lr"] = schedule.rate * _pace(share)
                _step(network, optimizer, pixels, loss, batch, schedule.device)
                progress.advance(len(batch.rows))
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


_WEIGHT = 30.0
"""Of a squared distance in widths of the picture, relative to errors of standardized answers."""

_MIRRORED = (1, 0, 3, 2, 4, 5, 6)
"""Which part a mirror shows where another one was."""


class Places:
    """Where the middles of PARTS lie in a sample, in widths of the picture, and how far a network's are from them."""

    def __init__(self, sample: Pictures) -> None:
        p = sample.landmarks() / sample.pixels(np.arange(1)).shape[2]
        bridge, chin, mouth = p[:, 27], p[:, 8], p[:, 48:60].mean(1)
        middles = (p[:, 36:42].mean(1), p[:, 42:48].mean(1), p[:, 2], p[:, 14], p[:, 30], (mouth + chin) / 2)
        self.places = np.stack([*middles, bridge + 0.5 * (bridge - chin)], axis=1).astype(np.float32)

    @property
    def average(self) -> Tensor:
        """Where the parts lie on average: PLACES numbers."""
        return torch.from_numpy(self.places.mean(0).reshape(PLACES))

    def shown(self, batch: Batch) -> Float[np.ndarray, "m parts 2"]:
        """The places in the batch's pictures, as they are moved and mirrored."""
        places = self.places[batch.rows]
        turned = places[:, _MIRRORED] * np.array([-1, 1], dtype=np.float32) + np.array([1, 0], dtype=np.float32)
        places = np.where(batch.mirrored[:, None, None], turned, places)
        return np.asarray(places - batch.shifts[:, None, ::-1].astype(np.float32) / 1000)

    def loss(self, outputs: Tensor, batch: Batch) -> Tensor:
        """Squared distance of the last PLACES answers from the places, on the scale of the other errors."""
        wanted = torch.from_numpy(self.shown(batch).reshape(-1, PLACES)).to(outputs.device)
        return _WEIGHT * ((outputs[:, -PLACES:] - wanted) ** 2).mean()
