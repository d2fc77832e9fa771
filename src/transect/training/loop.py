"""The loop of a training: batches in an order of their own, figures written down, sheets drawn, resume after a kill.

A folder holds state-<step>/, metrics.jsonl, sheets/, and at the end generator.safetensors. A run that is taken up again
is the run that was not interrupted: on one device and one process its files are byte-identical.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8
from torch import Tensor

from transect.errors import BadInput, RunFolderError
from transect.model_files import in_order
from transect.progress import Progress
from transect.store import canonical_json, differing_keys, write_atomically
from transect.training.chance import rows_of, step_generator
from transect.training.processes import Processes
from transect.training.recipe import Batch, Recipe
from transect.training.sheets import sheet
from transect.training.state import load_state, save_state

GENERATOR, METRICS, SPEC = "generator.safetensors", "metrics.jsonl", "training.json"
_ON_A_SHEET = 40
_SHEET_SEED = 1 << 40


@runtime_checkable
class Data(Protocol):
    """Pictures by row."""

    def __len__(self) -> int:
        """How many."""
        ...

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Those of the rows, in that order."""
        ...


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
    spec: dict[str, Any]
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


def train(recipe: Recipe, data: Data, run: Run, processes: Processes | None = None) -> Path:
    """Train until `run.images` pictures were shown, going on where the folder's state stands; the averaged network.

    Raises RunFolderError when the folder belongs to another training.
    """
    crew = processes or Processes.alone(run.device)
    with crew.in_turn():
        _claim(run)
    facts = load_state(run.out, recipe.parts, recipe.optimizers) or {"step": 0, "shown": 0, "written": 0}
    crew.together()
    if crew.first:
        _cut(run.out / METRICS, facts["written"])
    step, shown = int(facts["step"]), int(facts["shown"])
    kept = shown
    with Progress("training", run.images, done=min(shown, run.images), quiet=run.quiet or not crew.first) as progress:
        while shown < run.images:
            found = recipe.step(_batch(data, run, step, shown, crew), crew.share)
            step, shown = step + 1, shown + run.batch
            _write_down(run, crew, {"step": step, "shown": shown, **found})
            progress.advance(run.batch)
            if shown // run.every > kept // run.every or shown >= run.images:
                _keep(recipe, run, step, shown, crew)
                kept = shown
    return run.out / run.result


def _batch(data: Data, run: Run, step: int, shown: int, crew: Processes) -> Batch:
    rows = crew.part(rows_of(shown, run.batch, len(data), run.seed))
    chance = step_generator(run.seed, step, run.device, crew.number)
    images = torch.from_numpy(data.pixels(rows)).to(run.device).permute(0, 3, 1, 2).float() / 127.5 - 1
    if run.mirror:
        turned = torch.rand(len(rows), generator=chance, device=run.device) < 0.5
        images = torch.where(turned.view(-1, 1, 1, 1), images.flip(3), images)
    classes = None if run.classes is None else torch.from_numpy(run.classes[rows]).to(run.device, torch.float32)
    return Batch(images, classes, shown, step, chance)


def _claim(run: Run) -> None:
    """The folder is this training's; another's is refused with what differs. More images of the same are no other."""
    file = run.out / SPEC
    if file.exists():
        kept = json.loads(file.read_text(encoding="utf-8"))
        if canonical_json(kept) != canonical_json(run.spec):
            keys = ", ".join(differing_keys(kept, run.spec)[:5])
            raise RunFolderError(f"{run.out}: holds another training, which differs in {keys}; choose another --out")
        return
    write_atomically(file, json.dumps(run.spec, indent=1, sort_keys=True).encode())


def _write_down(run: Run, crew: Processes, found: dict[str, float]) -> None:
    if crew.first:
        with (run.out / METRICS).open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")


def _cut(metrics: Path, size: int) -> None:
    """Lines of steps after the state are of steps that are made again."""
    if metrics.exists():
        with metrics.open("r+b") as file:
            file.truncate(size)


def _keep(recipe: Recipe, run: Run, step: int, shown: int, crew: Processes) -> None:
    if not crew.first:
        return
    pictures = recipe.draw([_SHEET_SEED + index for index in range(_ON_A_SHEET)], shown)
    write_atomically(run.out / "sheets" / f"{shown:09d}.png", sheet(pictures))
    write_file(run.out / run.result, recipe, {"images_shown": str(shown)})
    written = (run.out / METRICS).stat().st_size
    facts = {"step": step, "shown": shown, "written": written}
    save_state(run.out, recipe.parts, recipe.optimizers, facts)


def write_file(path: Path, recipe: Recipe, more: dict[str, str]) -> None:
    """The averaged generator as a file that `transect.generators.load` opens."""
    from safetensors.torch import save

    tensors = {name: value.cpu().contiguous() for name, value in _weights(recipe)}
    write_atomically(path, in_order(save(tensors, {**recipe.metadata(), **more})))


def _weights(recipe: Recipe) -> Iterable[tuple[str, Tensor]]:
    return ((k, v) for k, v in recipe.parts["average"].state_dict().items() if not k.endswith("path_mean"))
