"""The training loop: batches in a seeded order, metrics, contact sheets, states, and resuming after a kill.

A folder holds state-<step>/, metrics.jsonl, sheets/, and at the end generator.safetensors. A resumed run equals an
uninterrupted one: on one device and one process its files are byte-identical. Several processes share a training by
Hugging Face Accelerate (`accelerate launch -m transect train gan ...`). A state is a folder of safetensors in
pieces of at most 15 MiB and an index that is written last; the one before is removed after it. Adam's first moment
is not stored where its decay is 0, since it is then the last gradient.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Int, UInt8
from safetensors.torch import load, save
from torch import Tensor, nn

from transect.errors import BadInput, MissingExtra, RunFolderError
from transect.runs.folder import disk_errors, write_atomically
from transect.runs.json_records import dumps, loads
from transect.runs.locks import refuse_links
from transect.runs.model_files import in_order
from transect.runs.parts import Progress
from transect.runs.pictures import png
from transect.runs.spec_changes import changes, in_plain_words
from transect.texts import say, words_of
from transect.training.distillation import Pairs
from transect.training.pictures import chance

_ORDER, _STEP = 1, 2


def rows_of(shown: int, batch: int, count: int, seed: int) -> Int[np.ndarray, " batch"]:
    """The rows that come after `shown` pictures: every picture once an epoch, in a separate order for each epoch."""
    places = np.arange(shown, shown + batch)
    orders = {epoch: chance(seed, _ORDER, int(epoch)).permutation(count) for epoch in np.unique(places // count)}
    return np.array([orders[place // count][place % count] for place in places.tolist()])


def step_generator(seed: int, step: int, device: str | torch.device = "cpu", process: int = 0) -> torch.Generator:
    """The generator of one step (of one process)."""
    state = np.random.SeedSequence([seed, _STEP, step, process]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


Share = Callable[[Iterable[nn.Parameter]], None]
"""Averages gradients over processes; with one process, nothing."""

_AT_A_TIME = 8


@final
@dataclass(frozen=True, slots=True)
class Batch:
    """Real pictures [b, 3, h, w] in -1..1 with their classes as one-hot [b, k] or None, and the training's place.

    shown: pictures before this batch (of all processes); step: number of the step; chance: its own generator; whole:
    pictures of the step in all processes, of which `images` are this one's. latents: whose pictures these are, or None.
    """

    images: Float[Tensor, "b 3 h w"]
    classes: Float[Tensor, "b k"] | None
    shown: int
    step: int
    chance: torch.Generator
    whole: int
    latents: Float[Tensor, "b d"] | None = None

    def normal(self, *shape: int) -> Tensor:
        """Standard normal numbers of the step's own chance, on the pictures' device."""
        return torch.randn(shape, generator=self.chance, device=self.images.device)

    def uniform(self, *shape: int) -> Tensor:
        """The same, uniform in 0..1."""
        return torch.rand(shape, generator=self.chance, device=self.images.device)


@runtime_checkable
class Recipe(Protocol):
    """An architecture with its objective. parts (with `average`, which is written) and optimizers are its state."""

    parts: dict[str, nn.Module]
    optimizers: dict[str, torch.optim.Adam]

    def step(self, batch: Batch, share: Share) -> dict[str, float]:
        """Train on one batch; returns its metrics by name."""

    def draw(self, seeds: list[int], shown: int) -> Float[Tensor, "b 3 h w"]:
        """The averaged generator's pictures of those seeds, at the size that it has grown to."""

    def metadata(self) -> dict[str, str]:
        """The metadata of the averaged generator's file."""


def adam(
    parameters: Iterable[nn.Parameter], rate: float, second: float, interval: int | None = None
) -> torch.optim.Adam:
    """Adam without a first moment.

    interval: steps between penalties, where one is added lazily; rate and moment are those of more steps (Karras et
    al. 2020, arXiv:1912.04958, appendix B).
    """
    ratio = 1.0 if interval is None else interval / (interval + 1)
    return torch.optim.Adam(parameters, lr=rate * ratio, betas=(0.0, second**ratio), eps=1e-8)


def quicken(optimizer: torch.optim.Adam, parameters: Iterable[nn.Parameter], times: float) -> None:
    """Multiply the learning rate of the parameters, which have to be the optimizer's first: a state keeps its order."""
    (group,) = optimizer.param_groups
    faster = list(parameters)
    rest = group["params"][len(faster) :]
    if any(one is not other for one, other in zip(faster, group["params"], strict=False)):
        raise AssertionError("they are not the optimizer's first parameters")
    optimizer.param_groups[:] = [
        {**group, "params": faster, "lr": times * group["lr"]},
        {**group, "params": rest},
    ]


def in_parts(rows: Tensor) -> list[Tensor]:
    """A few rows at a time, for the pictures of a sheet: large networks do not fit all at once in memory."""
    return [rows[start : start + _AT_A_TIME] for start in range(0, len(rows), _AT_A_TIME)]


@torch.no_grad()
def follow(average: nn.Module, network: nn.Module, batch: int, shown: int, half_life: float) -> None:
    """Move the average towards the network: its weights of `half_life` pictures ago count half.

    Early on the half-life is a twentieth of the pictures shown, so that the first noise is forgotten. Buffers: copied.
    """
    life = min(half_life, 0.05 * shown)
    decay = 0.5 ** (batch / max(life, 1e-8))
    for mean, value in zip(average.parameters(), network.parameters(), strict=True):
        mean.lerp_(value, 1 - decay)
    for averaged, current in zip(average.buffers(), network.buffers(), strict=True):
        averaged.copy_(current)


def descend(optimizer: torch.optim.Adam, loss: Tensor, share: Share) -> int:
    """One optimizer step; NaN gradients count as 0 and infinite ones as large. Returns their number."""
    optimizer.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    parameters = [
        parameter for group in optimizer.param_groups for parameter in group["params"] if parameter.grad is not None
    ]
    share(parameters)
    replaced = _replace_non_finite([parameter.grad for parameter in parameters if parameter.grad is not None])
    optimizer.step()
    return replaced


def replacements(network: str, replaced: int) -> dict[str, float]:
    """The metric of replaced gradients, where there are any."""
    return {f"{network}_gradients_replaced": float(replaced)} if replaced else {}


def _replace_non_finite(gradients: list[Tensor]) -> int:
    """A sum is finite only where every number is, so that only broken steps look at each number."""
    if not gradients or bool(torch.isfinite(torch.stack([gradient.sum() for gradient in gradients])).all()):
        return 0
    count = sum(int((~torch.isfinite(gradient)).sum()) for gradient in gradients)
    for gradient in gradients:
        torch.nan_to_num(gradient, nan=0.0, posinf=1e5, neginf=-1e5, out=gradient)
    return count


def sheet(pictures: Float[Tensor, "b 3 h w"], across: int = 8) -> bytes:
    """The pictures, in -1..1, left to right and down; the last row is filled with grey."""
    pixels = (pictures.float().cpu() * 127.5 + 127.5).clamp(0, 255).round().byte().permute(0, 2, 3, 1).numpy()
    return png(tiled(pixels, across))


def tiled(pixels: UInt8[np.ndarray, "b h w 3"], across: int) -> UInt8[np.ndarray, "y x 3"]:
    """One picture of them all, left to right and down; the last row is filled with grey."""
    b, h, w, _ = pixels.shape
    rows = -(-b // across)
    whole = np.full((rows * across, h, w, 3), 128, dtype=np.uint8)
    whole[:b] = pixels
    return whole.reshape(rows, across, h, w, 3).swapaxes(1, 2).reshape(rows * h, across * w, 3)


@final
@dataclass(frozen=True)
class Processes:
    """A group of processes: how many, the number of this one, where it computes, and Hugging Face's Accelerator."""

    count: int
    number: int
    device: str
    accelerator: Any = None

    @classmethod
    def alone(cls, device: str) -> Processes:
        """One process, without others."""
        return cls(1, 0, device)

    @classmethod
    def from_environment(cls, device: str) -> Processes:
        """The processes that the launcher started. Raises MissingExtra where there are several without Accelerate."""
        if process_count() == 1:
            return cls.alone(device)
        try:
            import accelerate
        except ImportError:
            raise MissingExtra("accelerate", "training in several processes") from None
        accelerator = accelerate.Accelerator(cpu=device == "cpu")
        return cls(accelerator.num_processes, accelerator.process_index, str(accelerator.device), accelerator)

    @property
    def first(self) -> bool:
        """Whether this process writes the files."""
        return self.number == 0

    @contextlib.contextmanager
    def in_turn(self) -> Iterator[None]:
        """The first process runs the block, then the others."""
        if self.accelerator is not None and not self.first:
            self.accelerator.wait_for_everyone()
        yield
        if self.accelerator is not None and self.first:
            self.accelerator.wait_for_everyone()

    def together(self) -> None:
        """Wait until all processes are here."""
        if self.accelerator is not None:
            self.accelerator.wait_for_everyone()

    def part(self, rows: Int[np.ndarray, " n"]) -> Int[np.ndarray, " m"]:
        """The rows of this process. Raises BadInput for a batch that cannot be shared evenly."""
        self.check(len(rows))
        return rows[self.number :: self.count]

    def check(self, batch: int) -> None:
        """Raise BadInput for a batch that cannot be shared evenly."""
        if batch % self.count:
            raise BadInput(f"batch: expected a multiple of {self.count} processes, got {batch}")

    def share(self, parameters: Iterable[nn.Parameter]) -> None:
        """Replace each gradient by its mean over the processes."""
        self.average([parameter.grad for parameter in parameters if parameter.grad is not None])

    @torch.no_grad()
    def average(self, tensors: Sequence[Tensor]) -> None:
        """Replace each tensor's numbers by their mean over the processes."""
        if self.accelerator is None or not tensors:
            return
        mean = self.accelerator.reduce(torch.cat([tensor.flatten() for tensor in tensors]), "mean")
        for tensor, part in zip(tensors, torch.split(mean, [tensor.numel() for tensor in tensors]), strict=True):
            tensor.copy_(part.view_as(tensor))


def process_count() -> int:
    """The number of processes that the launcher started, by WORLD_SIZE. Raises BadInput where it is not a number."""
    text = os.environ.get("WORLD_SIZE", "1")
    if not re.fullmatch(r"0*[1-9][0-9]{0,5}", text):
        raise BadInput(f"WORLD_SIZE: expected the number of processes, got {text[:40]!r}; unset it")
    return int(text)


def steps_of(folder: Path) -> pa.Table:
    """The figures of every step that a training wrote down."""
    from pyarrow import json as json_lines

    file = folder / METRICS
    return json_lines.read_json(file) if file.exists() and file.stat().st_size else pa.table({"step": [], "shown": []})


def last_row(history: pa.Table) -> dict[str, float | None]:
    """The figures of the last step; none where the history was lost."""
    rows: list[dict[str, float | None]] = history.slice(max(history.num_rows - 1, 0)).to_pylist()
    return dict(rows[-1]) if rows else {}


def pictures_before(folder: Path) -> int | None:
    """The number of pictures of the training in a folder; None without one, or for one that is refused."""
    try:
        before = loads((folder / SPEC).read_bytes())["pictures"]
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return before if isinstance(before, int) else None


PIECE = 15 << 20
_INDEX = "index.json"


def save_state(
    folder: Path,
    parts: Mapping[str, nn.Module],
    optimizers: Mapping[str, torch.optim.Optimizer],
    facts: Mapping[str, object],
) -> None:
    """Write the weights, the optimizers' moments and the facts (plain JSON, with the number of the step as `step`)."""
    target = folder / f"state-{facts['step']:09d}"
    shutil.rmtree(target, ignore_errors=True)
    pieces = _pieces(_tensors(parts, optimizers))
    for number, piece in enumerate(pieces):
        write_atomically(target / f"{number:03d}.safetensors", save(piece))
    index = {"pieces": len(pieces), "facts": dict(facts)}
    write_atomically(target / _INDEX, json.dumps(index, sort_keys=True))
    for old in _states(folder):
        if old != target:
            shutil.rmtree(old)


def load_state(
    folder: Path, parts: Mapping[str, nn.Module], optimizers: Mapping[str, torch.optim.Optimizer]
) -> dict[str, Any] | None:
    """Put the newest complete state into the networks and optimizers and return its facts; None where there is none."""
    states = [state for state in _states(folder) if (state / _INDEX).exists()]
    if not states:
        return None
    try:
        index = loads((states[-1] / _INDEX).read_text(encoding="utf-8"))
        tensors: dict[str, Tensor] = {}
        for number in range(int(index["pieces"])):
            tensors |= load((states[-1] / f"{number:03d}.safetensors").read_bytes())
        for name, part in parts.items():
            part.load_state_dict(_under(tensors, f"parts.{name}."))
        for name, optimizer in optimizers.items():
            _restore(optimizer, _under(tensors, f"optimizers.{name}."))
        return dict(index["facts"])
    except Exception as error:
        # safetensors and PyTorch name wrong and damaged files with exceptions of many kinds.
        line = words_of(error, 200)
        raise RunFolderError(
            f"{states[-1]}: expected the state of this training, found a different one ({line}); choose another "
            "--out, or remove that folder"
        ) from None


def _states(folder: Path) -> list[Path]:
    return sorted(state for state in folder.glob("state-*") if re.fullmatch(r"state-\d{9}", state.name))


def _tensors(parts: Mapping[str, nn.Module], optimizers: Mapping[str, torch.optim.Optimizer]) -> dict[str, Tensor]:
    tensors = {f"parts.{name}.{key}": value for name, part in parts.items() for key, value in part.state_dict().items()}
    for name, optimizer in optimizers.items():
        for place, state in optimizer.state_dict()["state"].items():
            for key, value in state.items():
                if key != "exp_avg" or any(group.get("betas", (1.0,))[0] != 0 for group in optimizer.param_groups):
                    tensors[f"optimizers.{name}.{place}.{key}"] = torch.as_tensor(value)
    # By name: a resumed optimizer has its moments in another order, and so would the pieces of a state.
    return {name: value.detach().cpu().contiguous().clone() for name, value in sorted(tensors.items())}


def _restore(optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for name, value in tensors.items():
        place, _, key = name.partition(".")
        state.setdefault(int(place), {})[key] = value
    for moment in state.values():
        if "exp_avg_sq" in moment:
            moment.setdefault("exp_avg", torch.zeros_like(moment["exp_avg_sq"]))
    optimizer.load_state_dict({**optimizer.state_dict(), "state": state})


def _under(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _pieces(tensors: Mapping[str, Tensor]) -> list[dict[str, Tensor]]:
    """In order, each piece as full as possible; a tensor that is larger alone is a separate piece."""
    pieces: list[dict[str, Tensor]] = [{}]
    room = PIECE
    for name, value in tensors.items():
        size = value.numel() * value.element_size()
        if pieces[-1] and size > room:
            pieces.append({})
            room = PIECE
        pieces[-1][name] = value
        room -= size
    return pieces


GENERATOR, METRICS, SPEC = "generator.safetensors", "metrics.jsonl", "training.json"
_ON_A_SHEET = 40
_SHEET_SEED = 1 << 40
_RUNNING = ("w_avg", "path_mean")
_BROKEN = 16
"""Steps in a row without finite figures after which a training stops; fewer are ignored."""


@runtime_checkable
class Data(Protocol):
    """Pictures by row."""

    def __len__(self) -> int:
        """Number of pictures."""

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Pictures of the rows, in that order."""


@final
@dataclass(frozen=True, slots=True)
class Run:
    """images: shown in all; the last step may pass it. every: images between states and sheets. out: the folder.

    spec: what the training depends on; a folder of another one is refused. classes: of the data's rows, one-hot.
    result: the name of the trained network's file.
    """

    images: int
    batch: int
    out: Path
    spec: dict[str, object]
    every: int = 20_000
    seed: int = 0
    device: str = "cpu"
    mirror: bool = False
    classes: Float[np.ndarray, "n k"] | None = None
    result: str = GENERATOR
    quiet: bool = False

    def __post_init__(self) -> None:
        if self.images < 1 or self.batch < 1 or self.every < 1:
            raise BadInput("images, batch and every: expected whole numbers of at least 1; raise them")
        if self.seed < 0:
            raise BadInput(f"seed: expected at least 0, got {self.seed}")


def train(recipe: Recipe, data: Data, run: Run, processes: Processes | None = None) -> Path:
    """Train until `run.images` pictures were shown, from the folder's state on; returns the averaged network.

    Raises RunFolderError when the folder belongs to another training, BadInput when the training diverges: the last
    sound state and file remain.
    """
    crew = processes or Processes.alone(run.device)
    crew.check(run.batch)
    with crew.in_turn():
        claim(run)
    facts = load_state(run.out, recipe.parts, recipe.optimizers) or {"step": 0, "shown": 0, "written": 0}
    crew.together()
    if crew.first:
        _cut(run.out / METRICS, facts["written"])
    step, shown = int(facts["step"]), int(facts["shown"])
    if shown >= run.images and crew.first:
        _finish(recipe, run, shown)
    saved, before, broken = shown, step, 0
    with Progress("training", run.images, done=min(shown, run.images), quiet=run.quiet or not crew.first) as progress:
        while shown < run.images:
            figures = recipe.step(_batch(data, run, step, shown, crew), crew.share)
            parts = (part.named_buffers() for part in recipe.parts.values())  # of which each process knows its own part
            crew.average([value for buffers in parts for name, value in buffers if name.endswith(_RUNNING)])
            step, shown = step + 1, shown + run.batch
            _write_down(run, crew, {"step": step, "shown": shown, **figures})
            broken = 0 if all(map(math.isfinite, figures.values())) else broken + 1
            if broken == _BROKEN or (_due(run, saved, shown) and not _sound(recipe)):
                raise _diverged(step, before)
            progress.advance(run.batch)
            if _due(run, saved, shown):
                _keep(recipe, run, step, shown, crew, before)
                saved, before = shown, step
    return run.out / run.result


def _due(run: Run, saved: int, shown: int) -> bool:
    return shown // run.every > saved // run.every or shown >= run.images


def _sound(recipe: Recipe) -> bool:
    weights = (value for part in recipe.parts.values() for value in part.state_dict().values())
    return all(bool(torch.isfinite(value).all()) for value in weights)


def _diverged(step: int, saved: int) -> BadInput:
    state = f"the state of step {saved} is kept" if saved else "no state is kept"
    return BadInput(f"training: expected finite losses and weights, diverged at step {step}; {state}; lower --rate")


def _finish(recipe: Recipe, run: Run, shown: int) -> None:
    """Nothing is left to train: writes the file where it is missing, and refuses a target below what was trained."""
    if not (run.out / run.result).exists():
        write_file(run.out / run.result, recipe, {"images_shown": str(shown)})
    if shown - run.batch >= run.images:
        say(f"{run.out}: already shown {shown} images, {run.images} were asked for; nothing is done", error=True)


def _batch(data: Data, run: Run, step: int, shown: int, crew: Processes) -> Batch:
    rows = crew.part(rows_of(shown, run.batch, len(data), run.seed))
    chance = step_generator(run.seed, step, run.device, crew.number)
    images = torch.from_numpy(data.pixels(rows)).to(run.device).permute(0, 3, 1, 2).float() / 127.5 - 1
    if run.mirror:
        turned = torch.rand(len(rows), generator=chance, device=run.device) < 0.5
        images = torch.where(turned.view(-1, 1, 1, 1), images.flip(3), images)
    classes = None if run.classes is None else torch.from_numpy(run.classes[rows]).to(run.device, torch.float32)
    latents = torch.from_numpy(data.latents(rows)).to(run.device) if isinstance(data, Pairs) else None
    return Batch(images, classes, shown, step, chance, run.batch, latents)


def check_folder(run: Run) -> None:
    """Raise RunFolderError where the folder holds another training; more images make none, None is a missing key."""
    file = run.out / SPEC
    if run.out.exists() and not run.out.is_dir():
        raise RunFolderError(f"{run.out}: expected a folder, found a file; choose another --out")
    if not file.exists():
        return
    try:
        stored = loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        raise RunFolderError(
            f"{file}: expected a training's settings, found a damaged file; choose another --out"
        ) from None
    asked = loads(json.dumps(run.spec))
    if told := in_plain_words(stored if isinstance(stored, dict) else {}, asked):
        spread = any(change.path.split(".")[-1] == "images" for change in changes(stored, asked))
        why = " (growth, or the rate, is spread over --images)" if spread else ""
        raise RunFolderError(f"{run.out} holds a training with different settings{why}: {told}")


def claim(run: Run) -> None:
    """Write this training's settings into the folder. Raises as `check_folder`."""
    check_folder(run)
    if not (run.out / SPEC).exists():
        write_atomically(run.out / SPEC, json.dumps(run.spec, indent=1, sort_keys=True))


def _write_down(run: Run, crew: Processes, figures: dict[str, float]) -> None:
    if crew.first:
        refuse_links(run.out / METRICS)
        with disk_errors(run.out / METRICS), (run.out / METRICS).open("a", encoding="utf-8") as file:
            file.write(dumps(figures, indent=None) + "\n")


def _cut(metrics: Path, size: int) -> None:
    """Drops lines of steps after the state, which are repeated; warns of lines that are missing."""
    refuse_links(metrics)
    with disk_errors(metrics), metrics.open("a+b") as file:
        file.seek(0)
        content = file.read()
        if len(content) >= size:
            file.truncate(size)
            return
        file.truncate(content.rfind(b"\n") + 1)
    lost = f"expected {size} bytes, found {len(content)}; the training resumes, the lost steps stay missing"
    say(f"{metrics}: {lost}", error=True)


def _keep(recipe: Recipe, run: Run, step: int, shown: int, crew: Processes, before: int) -> None:
    if not crew.first:
        return
    pictures = recipe.draw([_SHEET_SEED + index for index in range(_ON_A_SHEET)], shown)
    if not bool(torch.isfinite(pictures).all()):
        raise _diverged(step, before)
    write_atomically(run.out / "sheets" / f"{shown:09d}.png", sheet(pictures))
    write_file(run.out / run.result, recipe, {"images_shown": str(shown)})
    metrics = run.out / METRICS
    with disk_errors(metrics), metrics.open("rb") as file:  # after a power cut it is at least as long as the state says
        os.fsync(file.fileno())
    facts = {"step": step, "shown": shown, "written": metrics.stat().st_size}
    save_state(run.out, recipe.parts, recipe.optimizers, facts)


def write_file(path: Path, recipe: Recipe, more: dict[str, str]) -> None:
    """The averaged generator as a file that `transect.generators.load` opens."""
    weights = recipe.parts["average"].state_dict().items()
    tensors = {name: value.cpu().contiguous() for name, value in weights if not name.endswith("path_mean")}
    write_atomically(path, in_order(save(tensors, {**recipe.metadata(), **more})))
