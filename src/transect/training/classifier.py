"""Trains classifiers for audits: residual networks, published schedules, resumable after every epoch.

A folder holds pictures/, state-<epoch>/, metrics.csv, and at the end classifier.safetensors with classifier.toml,
which `transect audit classifier:FOLDER` opens. The order of the pictures depends on the seed and the epoch alone.
Networks have the names and shapes of torchvision's weights. What a paper does not state of its schedule is ours,
and marked so.

Sources: He et al. 2016, arXiv:1512.03385, and 2015, arXiv:1502.01852; Balakrishnan et al. 2020, arXiv:2007.06570,
§5.1; Denton et al. 2019, arXiv:1906.06439, §5.1.
"""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
import torch
from jaxtyping import Int
from safetensors.torch import save
from torch import Tensor, nn
from torch.nn import functional

from transect.errors import BadInput, UnknownName
from transect.runs import model_files
from transect.runs.environment import versions
from transect.runs.folder import RunFolder, write_atomically
from transect.runs.model_files import check_weights, read_weights
from transect.runs.parts import Progress
from transect.training.loop import load_state, save_state
from transect.training.pictures import Label, Pictures
from transect.training.schedules import LAYERS, Schedule


def _convolution(inputs: int, outputs: int, size: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False)


class _Basic(nn.Module):
    """Two 3 x 3 convolutions parallel to the identity, or to a projection where the shape changes."""

    widening = 1

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = _convolution(inputs, width, 3, stride), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = _convolution(width, width, 3), nn.BatchNorm2d(width)
        self.downsample = _projection(inputs, width, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + (x if self.downsample is None else self.downsample(x)))


class _Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1 convolutions, the last to four times the width."""

    widening = 4

    def __init__(self, inputs: int, width: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = _convolution(inputs, width, 1), nn.BatchNorm2d(width)
        self.conv2, self.bn2 = _convolution(width, width, 3, stride), nn.BatchNorm2d(width)
        self.conv3, self.bn3 = _convolution(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.downsample = _projection(inputs, 4 * width, stride)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.bn1(self.conv1(x)))
        y = self.bn3(self.conv3(torch.relu(self.bn2(self.conv2(y)))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


def _projection(inputs: int, outputs: int, stride: int) -> nn.Sequential | None:
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(_convolution(inputs, outputs, 1, stride), nn.BatchNorm2d(outputs))


class ResNet(nn.Module):
    """From normalized pictures [b, 3, h, w], h and w of at least 32, to logits [b, outputs]."""

    def __init__(self, architecture: str, outputs: int) -> None:
        super().__init__()
        if architecture not in LAYERS:
            raise UnknownName("architecture", architecture, LAYERS)
        block = _Bottleneck if architecture == "resnet50" else _Basic
        self.conv1, self.bn1 = _convolution(3, 64, 7, 2), nn.BatchNorm2d(64)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        stages, inputs = [], 64
        for place, count in enumerate(LAYERS[architecture]):
            width, blocks = 64 << place, []
            for number in range(count):
                blocks.append(block(inputs, width, 2 if place and not number else 1))
                inputs = width * block.widening
            stages.append(nn.Sequential(*blocks))
        self.layer1, self.layer2, self.layer3, self.layer4 = stages
        self.fc = nn.Linear(inputs, outputs)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, pictures: Tensor) -> Tensor:
        """Logits; those of a picture do not depend on the others in evaluation mode."""
        x = self.maxpool(torch.relu(self.bn1(self.conv1(pictures))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        logits: Tensor = self.fc(x.mean(dim=(2, 3)))
        return logits


def new_resnet(architecture: str, outputs: int, seed: int) -> ResNet:
    """A network whose weights come from the seed; PyTorch's own generator is left unchanged."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return ResNet(architecture, outputs)


def start_from(network: ResNet, weights: Mapping[str, Tensor], path: Path) -> None:
    """Put a trained network's weights in; a last layer of other classes is left unchanged."""
    current = network.state_dict()
    fitting = {
        name: value
        for name, value in weights.items()
        if not name.startswith("fc.") or value.shape == current[name].shape
    }
    body = {name: value for name, value in current.items() if name in fitting or not name.startswith("fc.")}
    check_weights(fitting, body, str(path))
    network.load_state_dict({**current, **fitting})


WEIGHTS, METRICS = "classifier.safetensors", "metrics.csv"
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""Of the channels of ImageNet, which torchvision's weights expect; pictures in 0..1 are normalized by them."""

PRECISIONS: Final = ("full", "mixed")
_HELD_OUT_STREAM, _ORDER_STREAM = 1, 2
_AT_A_TIME = 128


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What is trained. held_out: share of subjects to measure on. precision: full, mixed; weights: to start from."""

    schedule: Schedule
    label: Label
    seed: int = 0
    device: str = "cpu"
    precision: str = "full"
    held_out: float = 0.1
    weights: Path | None = None

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise BadInput(f"precision: expected {' or '.join(PRECISIONS)}, got {self.precision!r}")
        if not 0 < self.held_out < 1:
            raise BadInput(f"held_out: expected a share between 0 and 1, got {self.held_out}")
        if self.seed < 0:
            raise BadInput(f"seed: expected at least 0, got {self.seed}")

    @property
    def outputs(self) -> int:
        """Logits: one for two classes, else one per class."""
        return 1 if len(self.label.classes) == 2 else len(self.label.classes)

    def spec(self, data: Pictures) -> dict[str, object]:
        """Everything that the trained weights depend on, in JSON's types."""
        return {
            "versions": versions(),
            "pictures": {**data.settings, "count": len(data)},
            "schedule": self.schedule.describe(),
            "label": self.label.text,
            "seed": self.seed,
            "device": self.device.partition(":")[0],
            "precision": self.precision,
            "held_out": self.held_out,
            "weights_sha256": None if self.weights is None else model_files.sha256(self.weights),
        }


@final
@dataclass(frozen=True, slots=True)
class Examples:
    """Pictures with a class each. learned, measured: rows of the subjects that train, and of those held out."""

    data: Pictures
    classes: Int[np.ndarray, " n"]
    learned: Int[np.ndarray, " t"]
    measured: Int[np.ndarray, " v"]

    @classmethod
    def of(cls, data: Pictures, plan: Plan) -> Examples:
        """Divided by subject. Raises BadInput for a class with too few pictures on either side."""
        classes = plan.label.of(data.column(plan.label.attribute))
        plan.label.check(classes)
        subjects = getattr(data.source, "subjects", None)
        people = np.arange(len(data)) if subjects is None else np.asarray(subjects)[: len(data)]
        chance = np.random.Generator(np.random.Philox(key=[plan.seed, _HELD_OUT_STREAM]))
        everybody = chance.permutation(np.unique(people))
        measured = np.isin(people, everybody[: max(1, round(plan.held_out * len(everybody)))])
        rows, known = np.arange(len(data)), classes >= 0
        examples = cls(data, classes, rows[known & ~measured], rows[known & measured])
        for name, part in (("trained on", examples.learned), ("held out", examples.measured)):
            if len(np.unique(classes[part])) < len(plan.label.classes):
                raise BadInput(f"--label {plan.label.text}: a class has no picture {name}; use more pictures")
        return examples


def train(data: Pictures, plan: Plan, out: Path, *, quiet: bool = False) -> Path:
    """Train from the folder's last finished epoch; returns the path of classifier.toml. Raises as RunFolder does."""
    examples = Examples.of(data, plan)
    with RunFolder(out, plan.spec(data)):
        data.prepare()
        network = new_resnet(plan.schedule.architecture, plan.outputs, plan.seed)
        if plan.weights is not None:
            start_from(network, read_weights(plan.weights), plan.weights)
        network = network.to(plan.device, memory_format=torch.channels_last)  # type: ignore[call-overload]
        optimizer = torch.optim.AdamW(
            network.parameters(), lr=plan.schedule.rate(0), weight_decay=plan.schedule.decay, foreach=False
        )
        facts = load_state(out, {"network": network}, {"adam": optimizer}) or {"step": 0, "metrics": []}
        done, metrics = int(facts["step"]), [dict(row) for row in facts["metrics"]]
        total, size = plan.schedule.epochs, len(examples.learned)
        with Progress("training", total * size, done=done * size, quiet=quiet) as progress:
            for epoch in range(done, total):
                metrics.append(_epoch(network, optimizer, examples, plan, epoch, progress))
                write_atomically(out / METRICS, _table(metrics))
                # Pairs, since the state's JSON sorts keys and the columns have an order.
                state = {"step": epoch + 1, "metrics": [list(row.items()) for row in metrics]}
                save_state(out, {"network": network}, {"adam": optimizer}, state)
        write_atomically(out / METRICS, _table(metrics))
        return _finish(network, examples, plan, metrics[-1], out)


def scores(network: ResNet, data: Pictures, rows: Int[np.ndarray, " m"], plan: Plan) -> Tensor:
    """Logits of the rows in evaluation mode, float32 on the CPU."""
    network.eval()
    logits = []
    with torch.inference_mode(), _precision(plan):
        for start in range(0, len(rows), _AT_A_TIME):
            batch = network(_pictures(data, rows[start : start + _AT_A_TIME], plan))
            logits.append(batch.float().cpu())
    return torch.cat(logits)


def _epoch(
    network: ResNet,
    optimizer: torch.optim.Optimizer,
    examples: Examples,
    plan: Plan,
    epoch: int,
    progress: Progress,
) -> dict[str, float]:
    """One epoch of as many pictures as there are, and its figures."""
    network.train()
    for group in optimizer.param_groups:
        group["lr"] = plan.schedule.rate(epoch)
    losses = []
    for rows, mirrored in _batches(examples, plan, epoch):
        pictures = _pictures(examples.data, rows, plan)
        turned = torch.from_numpy(mirrored).to(plan.device).view(-1, 1, 1, 1)
        with _precision(plan):
            logits = network(torch.where(turned, pictures.flip(3), pictures))
        loss = _loss(logits.float(), torch.from_numpy(examples.classes[rows]).to(plan.device))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        losses.append(loss.item() * len(rows))
        if not math.isfinite(losses[-1]):
            raise BadInput(f"training: the loss diverged in epoch {epoch + 1}; lower the rate or use full precision")
        progress.advance(len(rows))
    figures = {
        "epoch": epoch + 1,
        "rate": plan.schedule.rate(epoch),
        "training_loss": sum(losses) / len(examples.learned),
    }
    return {**figures, **_held_out_figures(network, examples, plan)}


def _batches(examples: Examples, plan: Plan, epoch: int) -> Iterator[tuple[Int[np.ndarray, " m"], np.ndarray]]:
    """Rows in the epoch's order, and which of them are mirrored."""
    chance = np.random.Generator(np.random.Philox(key=[plan.seed, _ORDER_STREAM + epoch]))
    order = chance.permutation(balanced(examples, chance) if plan.schedule.balanced else examples.learned)
    mirrored = (chance.random(len(order)) < 0.5) & plan.schedule.mirror
    for start in range(0, len(order), plan.schedule.batch):
        rows = order[start : start + plan.schedule.batch]
        if len(rows) > 1:  # a batch of one has no variance to normalize by
            yield rows, mirrored[start : start + plan.schedule.batch]


def balanced(examples: Examples, chance: np.random.Generator) -> Int[np.ndarray, " t"]:
    """As many rows as there are, equally many of each class: small classes repeat rows, large ones drop some.

    Balakrishnan et al. 2020 §5.1 make classes equally probable; equal counts are that without the counts' chance.
    """
    classes = examples.classes[examples.learned]
    present = np.unique(classes)
    shares = np.full(len(present), len(classes) // len(present)) + (
        np.arange(len(present)) < len(classes) % len(present)
    )
    drawn = []
    for number, count in zip(present, shares, strict=True):
        members = examples.learned[classes == number]
        rounds = [chance.permutation(members) for _ in range(-(-int(count) // len(members)))]
        drawn.append(np.concatenate(rounds)[: int(count)])
    return np.concatenate(drawn)


def _held_out_figures(network: ResNet, examples: Examples, plan: Plan) -> dict[str, float]:
    """Loss and accuracy on the subjects held out; of two classes also the rates of both errors at 0.5."""
    logits = scores(network, examples.data, examples.measured, plan)
    truth = torch.from_numpy(examples.classes[examples.measured])
    loss = float(_loss(logits, truth))
    if plan.outputs > 1:
        return {"held_out_loss": loss, "accuracy": float((logits.argmax(dim=1) == truth).double().mean())}
    wrong = ((logits[:, 0] > 0) != (truth == 1)).double()
    rates = {"accuracy": float(1 - wrong.mean()), "false_positive_rate": float(wrong[truth == 0].mean())}
    return {"held_out_loss": loss, **rates, "false_negative_rate": float(wrong[truth == 1].mean())}


def _loss(logits: Tensor, classes: Tensor) -> Tensor:
    if logits.shape[1] == 1:
        return functional.binary_cross_entropy_with_logits(logits[:, 0], classes.float())
    return functional.cross_entropy(logits, classes)


def _pictures(data: Pictures, rows: Int[np.ndarray, " m"], plan: Plan) -> Tensor:
    """[m, 3, h, w], normalized; the memory's order is channels last."""
    raw = torch.from_numpy(data.pixels(rows)).to(plan.device).permute(0, 3, 1, 2).float() / 255
    mean, spread = (torch.tensor(moments, device=plan.device).view(1, 3, 1, 1) for moments in (MEAN, SPREAD))
    return (raw - mean) / spread


def _precision(plan: Plan) -> torch.autocast:
    return torch.autocast(plan.device.partition(":")[0], dtype=torch.bfloat16, enabled=plan.precision == "mixed")


def _table(metrics: list[dict[str, float]]) -> bytes:
    sink = io.StringIO()
    lines = csv.DictWriter(sink, list(metrics[0]), lineterminator="\n")
    lines.writeheader()
    lines.writerows(metrics)
    return sink.getvalue().encode()


def _finish(network: ResNet, examples: Examples, plan: Plan, last: dict[str, float], out: Path) -> Path:
    tensors = {name: value.detach().cpu().contiguous() for name, value in network.state_dict().items()}
    content = save(tensors, {"architecture": plan.schedule.architecture, "label": plan.label.text})
    write_atomically(out / WEIGHTS, model_files.in_order(content))
    write_atomically(out / model_files.CARD, _card(examples, plan, last, out / WEIGHTS))
    return out / model_files.CARD


def _card(examples: Examples, plan: Plan, last: dict[str, float], weights: Path) -> str:
    """What an audit needs to run the model, and what a reader needs to know about it, as TOML."""
    size = plan.schedule.size
    training = {
        "data": str(examples.data.source.describe()["name"]),
        "pictures": len(examples.learned),
        "held_out_pictures": len(examples.measured),
        "unlabelled_pictures": int((examples.classes < 0).sum()),
        "balanced": plan.schedule.balanced,
        "seed": plan.seed,
        "precision": plan.precision,
        "stated": plan.schedule.stated,
        **{name: value for name, value in last.items() if math.isfinite(value)},
    }
    head = {
        "format": 1,
        "architecture": plan.schedule.architecture,
        "weights": weights.name,
        "weights_sha256": model_files.sha256(weights),
        "label": plan.label.text,
        "classes": list(plan.label.classes),
        "threshold": 0.5,
    }
    preprocess = {"size": [size, size], "mean": list(MEAN), "std": list(SPREAD)}
    tables = [_toml(head), "[preprocess]\n" + _toml(preprocess), "[training]\n" + _toml(training)]
    return "\n".join(tables)


def _toml(values: dict[str, object]) -> str:
    """Keys and values; JSON's texts, numbers, lists and truths are TOML's too."""
    return "".join(f"{name} = {json.dumps(value, ensure_ascii=False)}\n" for name, value in values.items())
