"""The order of the stages, and nothing else: a design is rendered, targets are asked, effects estimated, a report made.

Whatever a run needs to be analysed again stands in its spec (run.json) and its tables: `report` needs no target.
"""

from __future__ import annotations

import io
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import pyarrow as pa

from transect import __version__, findings, publication
from transect import tables as columns
from transect.designs import population_design, transect_design, transect_latents
from transect.effects.truth import Truth
from transect.engine import map_parts
from transect.errors import BadInput, Interrupted
from transect.progress import Progress
from transect.protocols import Target
from transect.records import Attribute, Design, Images
from transect.store import RunFolder, write_atomically

STUDIES = "studies"
SMILE_NEIGHBORS = 20
"""As the smile cascade is commonly used: with the detectors' default of 3 it says yes to almost every face."""

IMAGES_PER_PART = 256
PIXELS_PER_PART = 1 << 24


@final
@dataclass(frozen=True, slots=True)
class Limits:
    """How patiently targets are asked: seconds an image, images a call, share of failed images that stops the run."""

    timeout: float = 10.0
    batch: int = 16
    max_failures: float = 0.05

    def __post_init__(self) -> None:
        if not (self.timeout > 0 and self.batch >= 1 and 0 <= self.max_failures <= 1):
            raise BadInput("expected a timeout above 0, a batch of at least 1 and max failures from 0 to 1")


@final
@dataclass(frozen=True, slots=True)
class Study:
    """One design put to some targets."""

    name: str
    world: Any
    design: Design
    targets: tuple[Target, ...]
    truth: Truth | None = None
    outcomes: tuple[str, ...] = ()
    limits: Limits = Limits()

    @property
    def subjects_per_part(self) -> int:
        """Whole subjects in a part: at most 256 images and 16 million pixels, at least one subject."""
        images = min(IMAGES_PER_PART, PIXELS_PER_PART // int(self.world.image_size) ** 2)
        return max(1, images // self.design.n_cells)

    @property
    def n_parts(self) -> int:
        """Parts of each table."""
        return -(-self.design.subjects // self.subjects_per_part)

    def subjects_of(self, part: int) -> slice:
        """Which subjects a part holds."""
        start = part * self.subjects_per_part
        return slice(start, min(start + self.subjects_per_part, self.design.subjects))

    def spec(self) -> dict[str, Any]:
        """What recreates the run, as run.json holds it."""
        from transect.targets import describe

        # A list, since the order of the attributes is the order of the cells and JSON objects have none.
        levels = [{"attribute": name, "values": list(values)} for name, values in self.design.levels.items()]
        known = {attribute.name: attribute for attribute in self.world.attributes}
        shown = self.design.levels or [name for name, attribute in known.items() if attribute.role == "attribute"]
        return {
            "transect_version": __version__,
            "name": self.name,
            "generator": self.world.describe(),
            "world": _world_entry(self.world),
            "attributes": [asdict(known[name]) for name in shown],
            "design": {**asdict(self.design), "levels": levels, "basis": self.design.basis},
            "subjects_per_part": self.subjects_per_part,
            "truth": self.truth and asdict(self.truth),
            "targets": [
                {
                    "name": target.name,
                    "slug": findings.slug(target.name),
                    "task": str(target.task),
                    "outcomes": findings.choose_outcomes(
                        target.task, self.truth.text if self.truth else None, self.outcomes
                    ),
                    "description": describe(target),
                }
                for target in self.targets
            ],
        }


def _world_entry(world: Any) -> dict[str, Any]:
    """What the report says of the world; a generator that states no validity is not validated."""
    described = world.describe()
    unstated = {"photometry_validated": False, "statement": f"The generator {world.name} states no validity figures."}
    return {
        "name": world.name,
        **(world.validity() if hasattr(world, "validity") else unstated),
        "maximum_gain_stops": described.get("camera", {}).get("maximum_gain", 0.0),
    }


def audit(
    targets: Any,
    *,
    vary: Iterable[str] | Mapping[str, Iterable[float] | None] = (),
    subjects: int = 100,
    images: int | None = None,
    population: str = "balanced",
    hold: Sequence[str] = (),
    truth: str | None = None,
    outcomes: Sequence[str] = (),
    generator: Any = "faceworld",
    image_size: int = 128,
    seed: int = 0,
    target_options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    name: str = "audit",
    out: str | Path | None = None,
    quiet: bool = False,
) -> publication.Result:
    """Set attributes, ask the targets, estimate what each attribute causes, and write the report.

    targets: a spec string (see `transect targets`), a callable, an object with `predict`, or a list of them.
    vary: texts as on the command line, or levels by attribute. With `images` instead of `vary`, an observational
    study of `population`. Returns the Result, whose `effects` are records and whose `report` is the page's path.

    Raises BadInput, UnknownName or MissingExtra before anything is made; TooManyFailures and Interrupted keep what is
    done, and the same call goes on.
    """
    from transect.generators import load
    from transect.targets import as_target, resolve

    world: Any = (
        load(generator, image_size=image_size, population=population) if isinstance(generator, str) else generator
    )
    design = _design(world.attributes, vary, subjects, images, population, hold, seed)
    asked = [targets] if isinstance(targets, str) or not isinstance(targets, Sequence) else list(targets)
    options = dict(target_options or {})
    resolved = [resolve(t, **options) if isinstance(t, str) else as_target(t, **options) for t in asked]
    known = {attribute.name: attribute for attribute in world.attributes}
    stated = None if truth is None else Truth.parse(truth, known)
    study = Study(name, world, design, tuple(resolved), stated, tuple(outcomes), limits or Limits())
    folder = Path(out) if out is not None else Path("runs") / findings.slug(resolved[0].name)
    run(study, folder, quiet=quiet)
    return report(folder)


def _design(
    attributes: Sequence[Attribute],
    vary: Iterable[str] | Mapping[str, Iterable[float] | None],
    subjects: int,
    images: int | None,
    population: str,
    hold: Sequence[str],
    seed: int,
) -> Design:
    if images is None:
        return transect_design(vary, attributes, subjects=subjects, seed=seed, population=population, hold=hold)
    if vary or hold:
        raise BadInput("--images observes a population as it comes: drop --vary and --hold, or use --subjects")
    return population_design(population, images=images, seed=seed)


def run(study: Study, out: Path, *, quiet: bool = False) -> None:
    """Render and ask, part by part, into the run folder `out`; finished parts are kept and skipped."""
    spec = study.spec()
    with RunFolder(out, spec) as folder:
        _announce(study, folder, quiet)
        try:
            _make_parts(study, folder, quiet)
        except KeyboardInterrupt:
            message = f"interrupted; what is done is kept in {out}, and the same command goes on"
            raise Interrupted(message) from None


def _make_parts(study: Study, folder: RunFolder, quiet: bool) -> None:
    from transect.targets.guard import FailureBudget

    budgets = [
        FailureBudget(t.name, study.design.n_images, limit_share=study.limits.max_failures) for t in study.targets
    ]

    def stage(part: int) -> None:
        started = time.monotonic()
        made = _image_part(study, folder, part)
        for target, budget in zip(study.targets, budgets, strict=True):
            _prediction_part(study, folder, part, target, budget, made)
        progress.advance(len(made))
        folder.log("part", part=part, images=len(made), seconds=round(time.monotonic() - started, 3))

    with Progress(study.name, study.design.n_images, quiet=quiet) as progress:
        map_parts(stage, range(study.n_parts))


def _image_part(study: Study, folder: RunFolder, part: int) -> pa.Table:
    if not folder.has_part("images", part):
        span = study.subjects_of(part)
        seeds = study.design.subject_seeds(span.start, span.stop)
        latents = transect_latents(study.design, study.world.sample(seeds), study.world)
        rows = columns.images_table(study.design, seeds, study.world.read(latents), study.world.render(latents))
        folder.write_part("images", part, rows)
    return folder.read_part("images", part)


def _prediction_part(study: Study, folder: RunFolder, part: int, target: Target, budget: Any, images: pa.Table) -> None:
    from transect.targets.guard import guarded

    table = f"predictions/{findings.slug(target.name)}"
    if folder.has_part(table, part):
        budget.add(folder.read_part(table, part)["reason"].to_pylist())
        return
    limits = study.limits
    answers = guarded(target, columns.images_of(images), timeout=limits.timeout, batch=limits.batch, budget=budget)
    folder.write_part(table, part, columns.predictions_table(images["id"].to_pylist(), answers))


def _announce(study: Study, folder: RunFolder, quiet: bool) -> None:
    """Say what the design costs before it starts, timed on the images of one subject."""
    design, calls = study.design, study.design.n_images * len(study.targets)
    started = time.monotonic()
    sample = study.world.sample(design.subject_seeds(0, 1))
    images: Images = study.world.render(transect_latents(design, sample, study.world).take(slice(0, 8)))
    elapsed = time.monotonic() - started
    minutes = elapsed / len(images) * design.n_images / 60
    folder.log("cost", images=design.n_images, calls=calls, render_minutes=round(minutes, 3))
    if not quiet:
        import sys

        grid = " × ".join(f"{len(v)} {k}" for k, v in design.levels.items()) or "as the population has them"
        print(
            f"{study.name}: {design.subjects} subjects, {grid}: {design.n_images} images, {calls} calls to "
            f"{', '.join(t.name for t in study.targets)}; rendering takes about {max(minutes, 0.1):.1f} minutes",
            file=sys.stderr,
        )


def report(folder: Path) -> publication.Result:
    """Analyse a finished run folder, or every study under it, and write its effects, results and page anew."""
    runs = sorted(path.parent for path in (folder / STUDIES).glob("*/run.json")) or [folder]
    return publication.publish(folder, [findings.analyse(path) for path in runs])


def demo(out: Path, *, seed: int = 0, quiet: bool = False) -> publication.Result:
    """The main job: OpenCV's face cascade over skin tone, light and glasses; its smile cascade over smile and beard."""
    from transect.generators import load
    from transect.targets import resolve

    world: Any = load("faceworld", image_size=96)
    known = {attribute.name: attribute for attribute in world.attributes}

    def study(name: str, target: Target, vary: Sequence[str], truth: str | None) -> Study:
        design = transect_design(vary, world.attributes, subjects=150, seed=seed)
        return Study(name, world, design, (target,), Truth.parse(truth, known) if truth else None)

    face = resolve("opencv:haarcascade_frontalface_default")
    smile = resolve("opencv:haarcascade_smile", min_neighbors=SMILE_NEIGHBORS)
    studies = [
        study("face", face, ["skin_tone=1:10:3", "light_level=-4:0:3", "glasses"], "face"),
        study("smile", smile, ["smile=0,1", "facial_hair=0,1"], None),
    ]
    for one in studies:
        run(one, out / STUDIES / one.name, quiet=quiet)
    return report(out)


def render_data_set(
    out: Path,
    *,
    subjects: int,
    seed: int,
    image_size: int,
    population: str,
    generator: str,
    vary: Sequence[str] = (),
    hold: Sequence[str] = (),
    quiet: bool = False,
) -> Path:
    """Render subjects into Parquet parts: pictures, attributes, boxes, landmarks and masks; finished parts are kept.

    The folder is read by pandas, Polars, DuckDB and Hugging Face `datasets`. Returns its path. Raises BadInput when the
    generator knows no masks, and what RunFolder raises of a folder that holds something else.
    """
    from transect.generators import load

    world: Any = load(generator, image_size=image_size, population=population)
    if not hasattr(world, "masks"):
        raise BadInput(f"a data set needs a generator with masks and landmarks, got {generator}; use faceworld")
    design = _rendered(world, vary, hold, subjects, seed, population)
    study = Study("data set", world, design, ())

    def stage(part: int) -> None:
        if not folder.has_part("images", part):
            folder.write_part("images", part, _data_set_part(study, part))
        span = study.subjects_of(part)
        progress.advance((span.stop - span.start) * design.n_cells)

    with RunFolder(out, study.spec()) as folder, Progress("data set", design.n_images, quiet=quiet) as progress:
        try:
            map_parts(stage, range(study.n_parts))
        except KeyboardInterrupt:
            message = f"interrupted; what is done is kept in {out}, and the same command goes on"
            raise Interrupted(message) from None
    return out


def _data_set_part(study: Study, part: int) -> pa.Table:
    span = study.subjects_of(part)
    seeds = study.design.subject_seeds(span.start, span.stop)
    latents = transect_latents(study.design, study.world.sample(seeds), study.world)
    rows = columns.images_table(study.design, seeds, study.world.read(latents), study.world.render(latents))
    return columns.data_set_table(rows, study.world.masks(latents), study.world.landmarks(latents))


def _rendered(
    world: Any, vary: Sequence[str], hold: Sequence[str], subjects: int, seed: int, population: str
) -> Design:
    if vary:
        return transect_design(vary, world.attributes, subjects=subjects, seed=seed, hold=hold)
    return population_design(population, images=subjects, seed=seed)


def render_sheet(
    out: Path,
    *,
    subjects: int,
    seed: int,
    image_size: int,
    population: str,
    generator: str,
    vary: Sequence[str] = (),
    hold: Sequence[str] = (),
    columns: int = 8,
) -> Path:
    """Render subjects as one picture: a contact sheet, or with `vary` a row of levels per subject. Returns its path."""
    from transect.generators import load
    from transect.report import contact_sheet

    world: Any = load(generator, image_size=image_size, population=population)
    design = _rendered(world, vary, hold, subjects, seed, population)
    latents = transect_latents(design, world.sample(design.subject_seeds()), world)
    picture = contact_sheet(world.render(latents).pixels, columns=design.n_cells if vary else columns)
    sink = io.BytesIO()
    picture.save(sink, "PNG")
    write_atomically(out, sink.getvalue())
    return out
