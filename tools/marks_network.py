"""Train the network of marks again: `python -m tools.marks_network --out FOLDER`.

Renders FaceWorld's pictures into FOLDER (parts of 250), trains on lessons that are drawn anew for every step, with a
state every 100 steps, fits the confidence on pictures of their own, measures on held-out subjects, and writes
marks.safetensors (half precision) and marks.json (settings, confidence and its reliability). `--start built-in`
continues from the weights that ship, `--start FILE` from others. The same command resumes. `--figures` adds
what `transect verify marks` says of the network that ships to OUT/marks.json. Sources: Loshchilov and Hutter 2019,
arXiv:1711.05101 (AdamW); Smith and Topin 2018, arXiv:1708.07120 (one cycle); Sun et al. 2018, arXiv:1711.08229 (points
as means of heat maps).
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, cast, final

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from tools.marks_lessons import ONE, Lesson, lesson
from tools.marks_pictures import PARTS, Lessons, lessons
from tools.marks_pictures import SIZE as DRAWN
from transect.errors import BadInput
from transect.experiment.marks_accuracy import MarksSettings, measure_marks
from transect.generators.faceworld.world import FaceWorld
from transect.marks.shipped import IS_WORN, KIND, LIMIT, SIZE, WEIGHTS, WORN, Answers, MarksNetwork, Taught, load, look
from transect.runs import model_files
from transect.runs.folder import write_atomically
from transect.runs.model_files import content_of
from transect.runs.parts import Progress
from transect.training.loop import load_state, save_state

HELD_OUT_SEED: Final = 700_000_000
"""Subjects from this seed on are never trained on."""
FIRST_SEED: Final = 30_000_000
_STATE_EVERY: Final = 100
_WARM_UP, _SLOWEST, _CLIP = 0.1, 0.01, 2.0
_SHOWN: Final = 96
"""Width of the pictures that the card's figures are of."""
_BINS: Final = (0.0, 0.2, 0.4, 0.6, 0.8, 0.9, 1.0)
_FITTED: Final = 256
"""Pictures from which a start's norms get their statistics."""
_CELLS: Final = 1.0
"""Spread of the place that a heat map should have, in its cells."""
WANTED: Final = 0.95
"""Share of the kept pictures whose error is below LIMIT."""
_RARE: Final = {"eyes": 3.0, "mouth": 2.0, "glasses": 3.0, "hat": 1.5}
"""Weights of small masks."""
_WORN_WEIGHT: Final = 2.0
_WORN_SHARE: Final = 0.002
"""Least share of a picture that glasses or a hat cover where they are worn."""


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """Settings of the training. images, held_out: subjects. seed: of weights, order and lessons.

    start: SHA-256 of the weights that training continues from, "" for none.
    """

    images: int = 14_000
    held_out: int = 500
    steps: int = 18_000
    batch: int = 16
    rate: float = 2e-3
    decay: float = 0.05
    seed: int = 0
    start: str = ""

    def __post_init__(self) -> None:
        for name in ("images", "held_out", "steps", "batch"):
            if getattr(self, name) < 2:
                raise BadInput(f"{name}: expected 2 or more, got {getattr(self, name)}; give more")


def as_input(pixels: np.ndarray) -> Tensor:
    """Pictures 0..255 as float32 [b, 3, s, s] in 0..1."""
    tensor = torch.from_numpy(np.ascontiguousarray(pixels)).permute(0, 3, 1, 2).float() / 255
    return tensor.contiguous(memory_format=torch.channels_last)


def loss_of(answers: Answers, truth: Lesson) -> Tensor:
    """Heat maps' cross entropy, points' distance in eye distances, expected errors, masks, and counts of faces."""
    points = torch.from_numpy(truth.points)
    shown = ((points > 0) & (points < 1)).all(dim=2)  # NaN is neither
    faces = torch.from_numpy(truth.faces)
    total = functional.cross_entropy(answers.faces.float(), faces)
    masks = torch.from_numpy(truth.bits[:, None] >> np.arange(len(PARTS), dtype=np.uint8)[:, None, None] & 1).float()
    total = total + _mask_loss(answers.masks.float(), masks)
    one = faces == ONE
    if bool(one.any()):
        worn = torch.stack([masks[one, PARTS.index(name)].mean(dim=(1, 2)) > _WORN_SHARE for name in WORN], dim=1)
        total = total + _WORN_WEIGHT * functional.binary_cross_entropy_with_logits(
            answers.worn.float()[one], worn.float()
        )
    if not bool(shown.any()):
        return total
    where = points[shown]
    side = answers.heat.shape[-1]
    wanted = _blot(where, side)
    heat = answers.heat.float().flatten(2)[shown]
    crossed = -(wanted * heat.log_softmax(dim=1)).sum(dim=1).mean()
    across = (points[:, 36:42].mean(dim=1) - points[:, 42:48].mean(dim=1)).norm(dim=1)
    unit = across.nan_to_num(1.0).clamp(min=0.05)[:, None].expand_as(shown)[shown]
    distance = (answers.points[shown] - where).norm(dim=1)
    known = answers.errors.float()[shown]
    expected = distance.detach() * torch.exp(-known) + known  # of an exponential distribution, by its mean
    return total + 0.3 * crossed + (distance / unit).mean() + 0.05 * expected.mean()


def _blot(where: Tensor, side: int) -> Tensor:
    """Shares [m, side * side] of the cells around places in widths."""
    middles = (torch.arange(side) + 0.5) / side
    near = [torch.exp(-((middles - where[:, axis : axis + 1]) * side / _CELLS).square() / 2) for axis in (0, 1)]
    blot = (near[1][:, :, None] * near[0][:, None, :]).flatten(1)
    return blot / blot.sum(dim=1, keepdim=True)


def _mask_loss(logits: Tensor, truth: Tensor) -> Tensor:
    """Cross entropies and soft Dice (Milletari et al. 2016, arXiv:1606.04797), the mean over masks."""
    weights = torch.tensor([_RARE.get(name, 1.0) for name in PARTS])
    crossed = functional.binary_cross_entropy_with_logits(logits, truth, reduction="none").mean(dim=(0, 2, 3))
    shares = logits.sigmoid()
    both = (shares * truth).sum(dim=(0, 2, 3))
    dice = 1 - (2 * both + 1) / (shares.sum(dim=(0, 2, 3)) + truth.sum(dim=(0, 2, 3)) + 1)
    return (weights * (crossed + 0.1 * dice)).mean()


def train(
    plan: Plan, taught: Lessons, states: Path, start: Taught | None = None, *, quiet: bool = False
) -> MarksNetwork:
    """The network after all steps; steps in the folder `states` are not repeated, and the result is the same.

    start: what training continues from; the plan has its SHA-256.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(plan.seed)
        network = MarksNetwork()
    if start is not None:
        rows = np.arange(min(_FITTED, len(taught)))
        unfold(network, start.network, as_input(lesson(taught, rows, (plan.seed, 1 << 30)).pixels))
    network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
    optimizer = torch.optim.AdamW(network.parameters(), lr=plan.rate, weight_decay=plan.decay)
    facts = load_state(states, {"network": network}, {"adam": optimizer})
    if facts is not None and facts["plan"] != asdict(plan):
        raise BadInput(f"{states}: expected a state of {asdict(plan)}, got {facts['plan']}; choose another --out")
    done = 0 if facts is None else int(facts["step"])
    network.train()
    with Progress("training", plan.steps, done=done, quiet=quiet) as progress:
        for step in range(done, plan.steps):
            for group in optimizer.param_groups:
                group["lr"] = plan.rate * pace(step / plan.steps)
            draws = np.random.Generator(np.random.Philox(key=np.array([plan.seed, step], dtype=np.uint64)))
            truth = lesson(taught, draws.integers(0, len(taught), plan.batch), (plan.seed, step))
            with torch.autocast("cpu", torch.bfloat16, enabled=has_bfloat16()):
                answers = network(as_input(truth.pixels))
            loss = loss_of(answers, truth)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(network.parameters(), _CLIP)
            optimizer.step()
            progress.advance(1)
            if (step + 1) % _STATE_EVERY == 0 or step + 1 == plan.steps:
                note = {"step": step + 1, "plan": asdict(plan)}
                save_state(states, {"network": network}, {"adam": optimizer}, note)
    return network.eval()


def unfold(network: MarksNetwork, folded: MarksNetwork, pictures: Tensor) -> None:
    """Give a network the weights of a folded one; norms get the statistics of these pictures and change no answer."""
    left = network.load_state_dict(folded.state_dict(), strict=False)
    biases = {name.removesuffix("0.bias") + "1": folded.get_parameter(name).detach() for name in left.unexpected_keys}
    norms = {module: biases[name] for name, module in network.named_modules() if isinstance(module, nn.BatchNorm2d)}

    def fit(norm: nn.BatchNorm2d, given: tuple[Tensor]) -> None:
        variance, mean = torch.var_mean(given[0], dim=(0, 2, 3), correction=0)
        for own, value in (
            (norm.running_mean, mean),
            (norm.running_var, variance),
            (norm.weight, (variance + norm.eps).sqrt()),
            (norm.bias, norms[norm] + mean),
        ):
            cast("Tensor", own).data.copy_(value)

    hooks = [norm.register_forward_pre_hook(fit) for norm in norms]
    with torch.no_grad():
        network.train()(pictures)
    for hook in hooks:
        hook.remove()
    for norm in norms:  # the pass itself moved them by a tenth of nothing
        norm.num_batches_tracked = torch.zeros((), dtype=torch.long)


def has_bfloat16() -> bool:
    """Whether this processor multiplies bfloat16 in hardware."""
    supported = getattr(torch.ops.mkldnn, "_is_mkldnn_bf16_supported", None)
    return bool(supported and supported())


def pace(share: float) -> float:
    """Learning rate at a share of the training, of its largest: a rise, then half a cosine."""
    if share < _WARM_UP:
        return max(_SLOWEST, share / _WARM_UP)
    return max(_SLOWEST, 0.5 * (1 + math.cos(math.pi * (share - _WARM_UP) / (1 - _WARM_UP))))


@final
@dataclass(frozen=True, slots=True)
class Confidence:
    """How the expected error e becomes a probability of an error below LIMIT, and from where on pictures are kept.

    share: of the kept pictures, those whose error is below LIMIT; kept: of all pictures with one face.
    """

    bend: float
    slope: float
    threshold: float
    share: float
    kept: float
    pictures: int


@final
@dataclass(frozen=True, slots=True)
class Looked:
    """What the finder saw on spoiled pictures of one face: expected and true error, chance of one face, answers [n, 2]
    to what is worn, and whether it is [n, 2].
    """

    expected: np.ndarray
    wrong: np.ndarray
    one: np.ndarray
    worn: np.ndarray
    wears: np.ndarray

    def sure(self, bend: float, slope: float) -> np.ndarray:
        """Confidence as the finder computes it."""
        return np.asarray(self.one / (1 + np.exp(-(bend - slope * np.log(self.expected)))))


def looked(network: MarksNetwork, held_out: Lessons, rounds: int = 2) -> Looked:
    """Spoiled pictures of these subjects, each drawn `rounds` times, as the finder sees them."""
    rows: list[tuple[float, float, float, np.ndarray, np.ndarray]] = []
    bits = [PARTS.index(name) for name in WORN]
    for turn in range(rounds):
        truth = lesson(held_out, np.arange(len(held_out)), (1 << 40, turn))
        for row in np.flatnonzero(truth.faces == ONE):
            found = look(network, truth.pixels[row])
            points = truth.points[row] * SIZE
            apart = np.linalg.norm(points[36:42].mean(axis=0) - points[42:48].mean(axis=0))
            wrong = float(np.linalg.norm(found.points - points, axis=1).mean() / apart)
            one = float(found.faces[ONE]) if found.faces.argmax() == ONE else 0.0
            wears = np.array([(truth.bits[row] >> bit & 1).mean() > _WORN_SHARE for bit in bits])
            rows.append((found.expected, wrong, one, found.worn, wears))
    return Looked(*(np.array(part) for part in zip(*rows, strict=True)))


def fit_confidence(seen: Looked) -> Confidence:
    """The threshold is the lowest at which 95 % of the kept pictures have an error below LIMIT."""
    from sklearn.linear_model import LogisticRegression

    right = seen.wrong < LIMIT
    bend, slope = math.log(LIMIT), 1.0
    if right.any() and not right.all():
        fitted = LogisticRegression(C=1e6).fit(-np.log(seen.expected)[:, None], right)
        bend, slope = float(fitted.intercept_[0]), float(fitted.coef_[0, 0])
    sure = seen.sure(bend, slope)
    order = np.argsort(-sure)
    shares = np.cumsum(right[order]) / np.arange(1, len(order) + 1)
    good = np.flatnonzero(shares >= WANTED)
    last = int(good[-1]) if len(good) else 0
    threshold = math.floor(1000 * float(sure[order[last]])) / 1000  # none of the kept falls below it
    kept = sure >= threshold
    return Confidence(bend, slope, threshold, float(right[kept].mean()), float(kept.mean()), len(right))


def reliability(seen: Looked, confidence: Confidence) -> list[dict[str, float]]:
    """By confidence: how many pictures, its mean, and the share whose error is below LIMIT."""
    sure, rows = seen.sure(confidence.bend, confidence.slope), []
    for low, high in itertools.pairwise(_BINS):
        inside = (sure >= low) & ((sure < high) | (high == _BINS[-1]))
        if inside.any():
            claimed, right = float(sure[inside].mean()), float((seen.wrong[inside] < LIMIT).mean())
            rows.append({"from": low, "to": high, "pictures": int(inside.sum()), "confidence": claimed, "right": right})
    return rows


def worn_rates(seen: Looked) -> dict[str, dict[str, float]]:
    """By what is worn: spoiled pictures with and without it, and the shares of them on which it is seen."""
    rates = {}
    for column, name in enumerate(WORN):
        wears, counts = seen.wears[:, column], seen.worn[:, column] >= IS_WORN[name]
        shares = (float(counts[who].mean()) if who.any() else 0.0 for who in (wears, ~wears))
        rates[name] = dict(zip(("with", "without", "seen", "wrongly_seen"), (*_counts(wears), *shares), strict=True))
    return rates


def _counts(wears: np.ndarray) -> tuple[int, int]:
    return int(wears.sum()), int((~wears).sum())


def write(network: MarksNetwork, plan: Plan, held_out: Lessons, folder: Path) -> None:
    """marks.safetensors in half precision, and marks.json with its confidence and its figures on FaceWorld.

    The confidence is fitted on the first half of the held-out subjects, and its reliability is of the second.
    """
    half = network.folded().half().float()
    first, second = (
        looked(half, Lessons(*(getattr(held_out, name)[rows] for name in ("pixels", "points", "bits", "tones"))))
        for rows in (slice(plan.held_out // 2), slice(plan.held_out // 2, None))
    )
    confidence = fit_confidence(first)
    tensors = {name: tensor.half().contiguous().numpy() for name, tensor in half.state_dict().items()}
    fitted = {name: getattr(confidence, name) for name in ("bend", "slope", "threshold")}
    file = folder / "marks.safetensors"
    write_atomically(file, content_of(KIND, tensors, masks=list(PARTS), **fitted))
    figures = {
        "plan": asdict(plan),
        "weights": sum(tensor.size for tensor in tensors.values()),
        "sha256": model_files.sha256(file),
        "world": FaceWorld(image_size=DRAWN).describe(),
        "confidence": asdict(confidence),
        "reliability": reliability(second, confidence),
        "worn": worn_rates(second),
    }
    write_atomically(folder / "marks.json", json.dumps(figures, indent=1, allow_nan=False).encode() + b"\n")


def add_figures(folder: Path, subjects: int = 100) -> None:
    """Write to the marks.json of the folder what `transect verify marks` says of the network that ships."""
    figures = measure_marks(MarksSettings(subjects=subjects, image_size=_SHOWN), quiet=True)
    file, whole, error = folder / "marks.json", figures.groups[0], figures.differences[0]
    parts = {
        kind: {p.part: _short(p.value) for p in figures.parts if p.measure == kind} for kind in ("error", "overlap")
    }
    stated = {
        "subjects": subjects,
        "size": _SHOWN,
        "pictures": whole.pictures,
        "left_out": whole.left_out,
        "errors": parts["error"],
        "overlaps": parts["overlap"],
        "tones": [
            {"tone": group.level, "left_out": group.left_out, **_interval(group.value, group.low, group.high)}
            for group in figures.groups[1:]
        ],
        "darkest_less_lightest": _interval(error.value, error.low, error.high),
    }
    content = json.loads(file.read_text(encoding="utf-8")) | {"faceworld": stated}
    write_atomically(file, json.dumps(content, indent=1, allow_nan=False).encode() + b"\n")


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def _interval(value: float | None, low: float | None, high: float | None) -> dict[str, float | None]:
    return {"error": _short(value), "low": _short(low), "high": _short(high)}


def main(arguments: list[str] | None = None) -> None:
    """Render, train, fit, write."""
    parser = argparse.ArgumentParser(prog="python -m tools.marks_network", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder of pictures, states and result")
    for name, value in asdict(Plan()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=type(value), default=value)
    parser.add_argument(
        "--figures", action="store_true", help="only measure the network that ships, into OUT/marks.json"
    )
    options = vars(parser.parse_args(arguments))
    out, given = options.pop("out"), options.pop("start")
    if options.pop("figures"):
        add_figures(out)
        return
    start = load(WEIGHTS if given == "built-in" else Path(given)) if given else None
    plan = Plan(**options, start=start.sha256 if start else "")
    taught = lessons(out, FIRST_SEED + plan.seed * 10_000_000, plan.images)
    held_out = lessons(out, HELD_OUT_SEED, plan.held_out)
    write(train(plan, taught, out / f"states-{plan.seed}", start), plan, held_out, out)


if __name__ == "__main__":
    main()
