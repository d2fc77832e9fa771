"""The training loop: batches in a seeded order, metrics, contact sheets, and resuming after a kill.

A folder holds state-<step>/, metrics.jsonl, sheets/, and at the end generator.safetensors. A resumed run
equals an uninterrupted one: on one device and one process its files are byte-identical.
"""

from __future__ import annotations

import json
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, final, runtime_checkable

import numpy as np
import torch
from jaxtyping import Float, Int, UInt8

from transect.errors import BadInput, RunFolderError
from transect.runs.folder import disk_errors, write_atomically
from transect.runs.locks import refuse_links
from transect.runs.model_files import in_order
from transect.runs.plain_json import dumps, loads
from transect.runs.progress import Progress
from transect.runs.spec_changes import changes, in_plain_words
from transect.texts import say
from transect.training.chance import rows_of, step_generator
from transect.training.distillation import Pairs
from transect.training.processes import Processes
from transect.training.recipe import Batch, Recipe
from transect.training.sheets import sheet
from transect.training.state import load_state, save_state

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
            raise BadInput(f"seed: expected 0 or more, got {self.seed}; change it")


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
    """Raise RunFolderError where the folder holds another training, naming what differs, or cannot be read.

    More images do not make another training; a setting of None equals a missing one.
    """
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
        raise RunFolderError(f"{run.out} holds a training with other settings{why}: {told}")


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
    from safetensors.torch import save

    weights = recipe.parts["average"].state_dict().items()
    tensors = {name: value.cpu().contiguous() for name, value in weights if not name.endswith("path_mean")}
    write_atomically(path, in_order(save(tensors, {**recipe.metadata(), **more})))
