"""Train the feature network again: `python -m tools.feature_network --out FOLDER`.

Renders FaceWorld's images into FOLDER (parts of 500), trains with a state after every epoch, measures every answer
on held-out subjects, and writes features.safetensors (half precision) and features.json (the model card's figures). A
stopped run resumes with the same command. Source of the schedule: Smith and Topin 2018, arXiv:1708.07120 (one
cycle); Loshchilov and Hutter 2019, arXiv:1711.05101 (decoupled decay).
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, UInt8
from safetensors.torch import save
from torch import Tensor
from torch.nn import functional

from transect.errors import BadInput
from transect.generators.faceworld.attributes import ATTRIBUTES, IDENTITY
from transect.generators.faceworld.causal_model import IDENTITY_COLUMNS
from transect.generators.faceworld.world import FaceWorld
from transect.perceptual.features import KIND, SIZE, Answer, FeatureNetwork, as_tensor, columns_of, in_columns
from transect.runs.folder import spec_hash, write_atomically
from transect.runs.parts import Progress
from transect.training.loop import load_state, save_state

PER_PART = 500
HELD_OUT_SEED = 500_000_000
"""Subjects from this seed on are never trained on."""

_SHIFT = 2
"""Largest shift of an image while training, in pixels."""

_TURNED_ROUND = ("yaw", "roll", "light_azimuth", "gaze", "mouth_slant", "identity.asymmetry", "identity.hair_parting")
"""Answers whose sign a mirror changes."""

_NO_SPREAD = 1e-9
_WARM_UP, _SLOWEST, _CLIP = 0.15, 0.01, 5.0


def asked() -> tuple[Answer, ...]:
    """All answers of a network that is trained on the present world."""
    named = [(attribute.name, len(attribute.levels)) for attribute in ATTRIBUTES]
    return in_columns([*named, *((f"identity.{trait}", 0) for trait in IDENTITY)])


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of the training. images, held_out: subjects. seed: of weights, order and subjects."""

    images: int = 12_000
    held_out: int = 2_000
    epochs: int = 18
    batch: int = 64
    rate: float = 2e-3
    decay: float = 0.05
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("images", "held_out", "epochs", "batch"):
            if getattr(self, name) < 2:
                raise BadInput(f"{name}: expected 2 or more, got {getattr(self, name)}; give more")


@final
class Lessons:
    """The truths of some subjects [n, answers], as a loss on the network's outputs. Numbers count in spreads."""

    def __init__(self, truths: Float[np.ndarray, "n k"]) -> None:
        self.truths, self.answers = truths, asked()
        self.center, spread = truths.mean(axis=0), truths.std(axis=0)
        self.scale = np.where(spread > _NO_SPREAD, spread, 1.0)
        self._signs = np.array([-1.0 if answer.name in _TURNED_ROUND else 1.0 for answer in self.answers])
        self._numbers = [index for index, answer in enumerate(self.answers) if not answer.levels]
        self._switches = [index for index, answer in enumerate(self.answers) if answer.levels == 2]
        self._choices = [index for index, answer in enumerate(self.answers) if answer.levels > 2]

    def loss(
        self, outputs: Float[Tensor, "b o"], rows: slice | Int[np.ndarray, " b"], mirrored: Bool[np.ndarray, " b"]
    ) -> Tensor:
        """Mean over answers: squared errors of numbers, cross entropies of switches and choices."""
        truth = self.truths[rows] * np.where(mirrored[:, None], self._signs, 1.0)
        numbers = torch.from_numpy(((truth - self.center) / self.scale)[:, self._numbers]).float().to(outputs.device)
        switches = torch.from_numpy(truth[:, self._switches]).float().to(outputs.device)
        errors = [
            (outputs[:, self._starts(self._numbers)] - numbers).square().mean(dim=0),
            functional.binary_cross_entropy_with_logits(
                outputs[:, self._starts(self._switches)], switches, reduction="none"
            ).mean(dim=0),
        ]
        for index in self._choices:
            level = torch.from_numpy(truth[:, index].astype(np.int64)).to(outputs.device)
            errors.append(functional.cross_entropy(outputs[:, self.answers[index].columns], level).view(1))
        return torch.cat(errors).mean()

    def _starts(self, which: list[int]) -> list[int]:
        return [self.answers[index].start for index in which]


def quality(
    outputs: Float[np.ndarray, "n o"], truths: Float[np.ndarray, "n k"], center: np.ndarray, scale: np.ndarray
) -> dict[str, dict[str, str | float | None]]:
    """By name: R2 of numbers (of 1; 0 is no better than the mean), AUC of switches, mean AUC over levels of choices.

    None with a reason where the held-out subjects do not vary.
    """
    figures = {}
    for index, answer in enumerate(asked()):
        measure = "auc" if answer.levels else "r2"
        value = (
            _areas(outputs[:, answer.columns], truths[:, index], answer.levels)
            if answer.levels
            else _r_squared(center[index] + scale[index] * outputs[:, answer.start], truths[:, index])
        )
        finite = bool(np.isfinite(value))
        reason = {} if finite else {"reason": "the held-out subjects do not vary"}
        figures[answer.name] = {"measure": measure, "value": value if finite else None, "n": len(truths), **reason}
    return figures


def _r_squared(predicted: Float[np.ndarray, " n"], truth: Float[np.ndarray, " n"]) -> float:
    spread = truth.var()
    return float(1 - ((predicted - truth) ** 2).mean() / spread) if spread > _NO_SPREAD else float("nan")


def _areas(outputs: Float[np.ndarray, "n l"], truth: Float[np.ndarray, " n"], levels: int) -> float:
    """The area under the ROC curve, each level against the rest where there are several."""
    from sklearn.metrics import roc_auc_score

    columns = {1: outputs[:, 0]} if levels == 2 else {level: outputs[:, level] for level in range(levels)}
    present = [level for level in columns if 0 < (truth == level).sum() < len(truth)]
    areas = [roc_auc_score(truth == level, columns[level]) for level in present]
    return float(np.mean(areas)) if areas else float("nan")


@final
@dataclass(frozen=True, slots=True)
class Pictures:
    """Images uint8 [n, SIZE, SIZE, 3] and their truths float64 [n, answers]."""

    pixels: UInt8[np.ndarray, "n h w 3"]
    truths: Float[np.ndarray, "n k"]


def pictures(folder: Path, first_seed: int, count: int, threads: int, *, quiet: bool = False) -> Pictures:
    """Subjects first_seed, first_seed + 1, ... of the balanced population; rendered unless the folder holds them."""
    world = FaceWorld(image_size=SIZE, threads=threads)
    parts = []
    with Progress(f"images from seed {first_seed}", count, quiet=quiet) as progress:
        for start in range(0, count, PER_PART):
            seeds = first_seed + np.arange(start, min(start + PER_PART, count))
            parts.append(_part(folder, world, seeds))
            progress.advance(len(seeds))
    return Pictures(*(np.concatenate([part[name] for part in parts]) for name in ("pixels", "truths")))


def _part(folder: Path, world: FaceWorld, seeds: Int[np.ndarray, " n"]) -> dict[str, np.ndarray]:
    from safetensors.numpy import load_file
    from safetensors.numpy import save as save_arrays

    key = spec_hash({"world": world.describe(), "first": int(seeds[0]), "count": len(seeds)})
    file = folder / f"images-{key[:16]}.safetensors"
    if not file.exists():
        latents = world.sample(seeds)
        table = world.read(latents)
        truths = [table[attribute.name].to_numpy() for attribute in ATTRIBUTES]
        truths += list(latents.values[:, IDENTITY_COLUMNS].T)
        part = {"pixels": world.render(latents).pixels, "truths": np.stack(truths, axis=1)}
        write_atomically(file, save_arrays(part))
    loaded: dict[str, np.ndarray] = load_file(file)
    return loaded


def new_network(outputs: int, seed: int) -> FeatureNetwork:
    """A network whose weights come from the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return FeatureNetwork(outputs)


def train(plan: Plan, taught: Pictures, states: Path, *, quiet: bool = False) -> FeatureNetwork:
    """The network after all epochs; epochs in the folder `states` are not repeated, and the result is the same.

    The order of the images, their shifts and mirrorings depend on the seed and the epoch alone.
    """
    network = new_network(columns_of(asked()), plan.seed)
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.AdamW(network.parameters(), lr=plan.rate, weight_decay=plan.decay)
    lessons, count = Lessons(taught.truths), len(taught.pixels)
    done = _restore(network, optimizer, states, plan)
    steps = count // plan.batch
    with Progress("training", plan.epochs * count, done=done * count, quiet=quiet) as progress:
        for epoch in range(done, plan.epochs):
            network.train()
            for step, (rows, mirrored, shifts) in enumerate(_batches(plan, count, epoch)):
                for group in optimizer.param_groups:
                    group["lr"] = plan.rate * _pace((epoch * steps + step) / (plan.epochs * steps))
                images = as_tensor(_augment(taught.pixels[rows], mirrored, shifts))
                with torch.autocast("cpu", torch.bfloat16, enabled=_has_bfloat16()):
                    outputs = network(images)
                optimizer.zero_grad(set_to_none=True)
                lessons.loss(outputs.float(), rows, mirrored).backward()  # type: ignore[no-untyped-call]
                torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
                optimizer.step()
                progress.advance(len(rows))
            facts = {"step": epoch + 1, "plan": asdict(plan)}
            save_state(states, {"network": network}, {"adam": optimizer}, facts)
    return network.folded()


def _has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 in hardware."""
    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return bool(supported and supported())


def _batches(
    plan: Plan, count: int, epoch: int
) -> Iterator[tuple[Int[np.ndarray, " b"], Bool[np.ndarray, " b"], Int[np.ndarray, "b 2"]]]:
    draws = np.random.Generator(np.random.Philox(key=np.array([plan.seed, epoch], dtype=np.uint64)))
    order, mirrored = draws.permutation(count), draws.random(count) < 0.5
    shifts = draws.integers(-_SHIFT, _SHIFT + 1, (count, 2))
    for start in range(0, count - plan.batch + 1, plan.batch):  # a smaller last batch is left out of the epoch
        rows = order[start : start + plan.batch]
        yield rows, mirrored[rows], shifts[rows]


def _pace(share: float) -> float:
    """Learning rate at a share of the training, of its largest: a rise, then half a cosine."""
    if share < _WARM_UP:
        return max(_SLOWEST, share / _WARM_UP)
    return max(_SLOWEST, 0.5 * (1 + math.cos(math.pi * (share - _WARM_UP) / (1 - _WARM_UP))))


def _augment(pixels: np.ndarray, mirrored: np.ndarray, shifts: np.ndarray) -> UInt8[np.ndarray, "b h w 3"]:
    """Each image mirrored where wanted and moved by its shift; the edge's pixels fill the gap."""
    places = np.arange(SIZE)
    down = np.clip(places + shifts[:, :1], 0, SIZE - 1)
    across = np.clip(places + shifts[:, 1:], 0, SIZE - 1)
    across = np.where(mirrored[:, None], SIZE - 1 - across, across)
    moved: np.ndarray = pixels[np.arange(len(pixels))[:, None, None], down[:, :, None], across[:, None, :]]
    return moved


def _restore(network: FeatureNetwork, optimizer: torch.optim.Optimizer, folder: Path, plan: Plan) -> int:
    """Finished epochs of the folder's state, which is loaded; 0 where there is none."""
    facts = load_state(folder, {"network": network}, {"adam": optimizer})
    if facts is None:
        return 0
    if facts["plan"] != asdict(plan):
        raise BadInput(f"{folder}: expected a state of {asdict(plan)}, got {facts['plan']}; choose another --out")
    return int(facts["step"])


def outputs_of(network: FeatureNetwork, pixels: UInt8[np.ndarray, "n h w 3"]) -> Float[np.ndarray, "n o"]:
    """The network's answers, float64."""
    with torch.inference_mode():
        parts = [network(as_tensor(pixels[start : start + 128])) for start in range(0, len(pixels), 128)]
    return torch.cat(parts).double().numpy()


def write(network: FeatureNetwork, plan: Plan, taught: Pictures, held_out: Pictures, folder: Path) -> dict[str, object]:
    """features.safetensors in half precision and features.json; returns the latter's figures.

    The quality is that of the half-precision weights.
    """
    network.half().float()
    lessons = Lessons(taught.truths)
    moments = {"center": torch.from_numpy(lessons.center), "scale": torch.from_numpy(lessons.scale)}
    half = {name: value.half().contiguous() for name, value in network.state_dict().items()}
    figures = {
        "plan": asdict(plan),
        "size": SIZE,
        "weights": sum(value.numel() for value in half.values()),
        "world": FaceWorld(image_size=SIZE).describe(),
        "quality": quality(outputs_of(network, held_out.pixels), held_out.truths, lessons.center, lessons.scale),
    }
    write_atomically(
        folder / "features.safetensors",
        save(
            {**half, **moments},
            {"kind": KIND, "answers": json.dumps([[answer.name, answer.levels] for answer in asked()])},
        ),
    )
    text = json.dumps(figures, indent=1, allow_nan=False)
    write_atomically(folder / "features.json", f"{text}\n".encode())
    return figures


def main(arguments: list[str] | None = None) -> None:
    """Render, train, measure, write."""
    parser = argparse.ArgumentParser(prog="python -m tools.feature_network", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of images, states and result")
    parser.add_argument("--threads", type=int, default=1, help="that render")
    for name, value in asdict(Plan()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    options = vars(parser.parse_args(arguments))
    out, threads = options.pop("out"), options.pop("threads")
    plan = Plan(**options)
    taught = pictures(out, plan.seed * 10_000_000, plan.images, threads)
    held_out = pictures(out, HELD_OUT_SEED, plan.held_out, threads)
    network = train(plan, taught, out / f"states-{plan.seed}")
    print(json.dumps(write(network, plan, taught, held_out, out)["quality"], indent=1))


if __name__ == "__main__":
    main()
