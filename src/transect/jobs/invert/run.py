"""`transect.invert`: images ► latents of a generator, part by part; rerun to resume.

The run folder holds inversions/part-*.parquet (a row per image: id, what was reached, codes, reconstruction), and
at the end latents.safetensors (all codes), summary.json and sheet.png (images above what stands for them).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, final

import numpy as np
import pyarrow as pa

from transect.engines import settings as engines
from transect.engines.protocol import HERE, Ahead, Engine, Ready, Work
from transect.engines.settings import EngineSettings
from transect.errors import BadInput, UnknownName
from transect.inversion.parts import (
    TABLE,
    Tools,
    ToolsPlan,
    ToolsRecipe,
    elsewhere,
    identity_distances,
    medians_of,
    rows_of_parts,
    rows_of_run,
    rows_with_quality,
)
from transect.inversion.pictures import Pictures
from transect.protocols import Generator
from transect.records import Images
from transect.reports.codes import SHOWN, CodesResult, write_codes
from transect.runs import model_files
from transect.runs.capabilities import description
from transect.runs.environment import versions
from transect.runs.folder import FinishedRun, RunFolder, write_json
from transect.runs.parts import Progress, announcing_stages, fill_table, resumable, stage
from transect.runs.pictures import png
from transect.runs.wording import counted

if TYPE_CHECKING:
    from transect.inversion.optimisation import Search


@final
@dataclass(frozen=True, slots=True)
class InversionParts:
    """What makes parts. advance: told of steps as they are made."""

    tools: Tools
    search: Search
    batch: int
    device: str
    advance: Callable[[int], None] = lambda _: None

    def make(self, pictures: Pictures) -> pa.Table:
        """The rows of these pictures."""
        from transect.inversion import optimisation

        pixels, encoder = pictures.pixels(range(len(pictures))), self.tools.encoder
        inverted = optimisation.invert(
            self.tools.network, pixels, self.search, self.tools.appearance, encoder=encoder,
            batch=self.batch, device=self.device, advance=self.advance,
        )  # fmt: skip
        apart = identity_distances(pixels, inverted.reconstructions, inverted.failures)
        table = pa.table(
            {
                "id": pa.array(pictures.ids),
                "failure": pa.array(inverted.failures),
                "perceptual": pa.array(inverted.perceptual.astype(np.float64)),
                "pixels": pa.array(inverted.pixels.astype(np.float64)),
                "restriction": pa.array(inverted.restriction.astype(np.float64)),
                "identity_distance": pa.array(apart),
                "steps": pa.array(inverted.steps),
                "objective": pa.array(list(inverted.history.astype(np.float64)), pa.list_(pa.float64())),
                "codes": pa.array(list(inverted.codes.reshape(len(inverted), -1)), pa.list_(pa.float32())),
                "image": pa.array([png(image) for image in inverted.reconstructions], pa.binary()),
            }
        )
        return rows_with_quality(table, encoder)

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class InversionWork:
    """The same for a worker."""

    tools: ToolsRecipe
    search: Search
    batch: int

    @property
    def gpus(self) -> int:
        """As of the tools."""
        return self.tools.gpus

    def open(self) -> InversionParts:
        """Open the tools. Raises as that does."""
        return InversionParts(self.tools.open(), self.search, self.batch, self.tools.device)


@final
@dataclass(frozen=True, slots=True)
class InversionMedians:
    """Medians over the images that did not fail; None where all failed.

    perceptual: the distance without pixels; pixels: mean squared difference of values in 0..1; restriction: Σ |w_j -
    mean|²; identity_distance: 1 - cosine between identity embeddings of image and reconstruction; steps: taken until
    the image stopped.
    """

    perceptual: float | None
    pixels: float | None
    restriction: float | None
    identity_distance: float | None
    steps: float | None


@final
@dataclass(frozen=True, slots=True)
class InversionNumbers:
    """The summary of an inversion, which is also in `summary.json`.

    failed_ids: the first 20. steps: at most, for each image. encoder_r2: held-out R² of the regression at which the
    search began, if it did. notes: what a data set left out.
    """

    out: str
    images: int
    failed: int
    failed_ids: tuple[str, ...]
    space: str
    penalty: float
    steps: int
    distance: str
    start: str
    encoder_r2: float | None
    median: InversionMedians
    latents: str
    sheet: str
    notes: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class InvertResult(CodesResult[InversionNumbers]):
    """The result of `transect.invert`. table: a row per image with its codes, measures and reconstruction (PNG)."""

    JOB: ClassVar[str] = "invert"
    TITLE: ClassVar[str] = "Inversion"
    DONE: ClassVar[str] = "inverted"

    @property
    def table(self) -> pa.Table:
        """id, failure, perceptual, pixels, restriction, identity_distance, steps, objective, codes, image (PNG)."""
        return rows_of_run(Path(self.numbers.out))


STARTS: Final = {
    "mean": "the generator's mean code",
    "encoder": "ridge regression from features, fitted on its own images; or a trained encoder's file",
}
PRECISIONS: Final = ("full", "mixed")
_DEFAULT_PENALTY: Final = 0.1
STEPS: Final = {"mean": 300, "encoder": 150}
"""Steps by start: those of the encoder reach what twice as many reach from the mean code."""
PLATEAU: Final = 0.01
_QUOTED: Final = 3
"""Steps on which the time of the whole is estimated."""


@final
@dataclass(frozen=True, slots=True)
class InvertOptions:
    """Settings that few inversions change.

    distance: features (shipped), vgg16 (with `weights`, and `heads` for LPIPS) or pixels. pixel_weight: of the mean
    squared difference of pixels next to the distance. encoder_samples: images on which the regression is fitted.
    precision: full, or mixed (first half of the steps in bfloat16). batch: images at a time. plateau: an image stops
    where its objective fell by less than this share in 20 steps of the second half; 0 takes all steps. engine: where
    parts are made; no result depends on it.
    """

    distance: str = "features"
    weights: Path | None = None
    heads: Path | None = None
    pixel_weight: float = 1.0
    encoder_samples: int = 2_000
    precision: str = "full"
    batch: int = 16
    plateau: float = PLATEAU
    engine: EngineSettings = field(default_factory=EngineSettings)

    def __post_init__(self) -> None:
        if self.precision not in PRECISIONS:
            raise UnknownName("precision", self.precision, PRECISIONS)
        if self.batch < 1:
            raise BadInput(f"batch: expected 1 image or more, got {self.batch}; give more")


@final
@dataclass(frozen=True, slots=True)
class Inversion:
    """What is inverted, and how. start: mean or encoder."""

    plan: ToolsPlan
    pictures: Pictures
    search: Search
    start: str
    batch: int

    @property
    def parts(self) -> list[range]:
        """The rows of each part."""
        return rows_of_parts(len(self.pictures), self.batch)

    def spec(self) -> dict[str, object]:
        """What the codes depend on."""
        plan, pictures = self.plan, self.pictures
        start: dict[str, str | int] = {"name": self.start}
        if plan.encoder_file is not None:
            start["sha256"] = model_files.sha256(plan.encoder_file)
        elif plan.samples:
            start["samples"] = plan.samples
        return {
            "kind": "inversion",
            "generator": description(plan.generator),
            "images": {"count": len(pictures), "sha256": pictures.sha256, "fitted": pictures.fit},
            "search": asdict(self.search),
            "distance": plan.distance_facts(),
            "start": start,
            "batch": self.batch,
            "versions": versions(),
        }


def invert(
    images: str | Path | np.ndarray | Images,
    generator: str | Path | Generator,
    out: str | Path,
    *,
    space: str = "w+",
    penalty: float | None = None,
    steps: int | None = None,
    start: str = "mean",
    encoder: str | Path | None = None,
    fit: bool = False,
    device: str = "cpu",
    quiet: bool = False,
    options: InvertOptions | None = None,
) -> InvertResult:
    """Find the latents of a generator whose images look like these, by gradient descent.

    images: a folder of image files, a run folder, a data set as READER:PATH, or pixels uint8 [n, h, w, 3]. generator:
    reference, a safetensors file of a StyleGAN2 or progressive GAN, or an object that can be differentiated. out: the
    run folder; call again to resume, with byte-identical output. space: w, w+ or z. penalty: λ in w+ (default 0.1; 0
    leaves the layers free). start: mean or encoder; encoder: a trained encoder's file at which the search begins. fit:
    cut and resize images of another size. steps: at most, for each image; default 300, and 150 from an encoder. device:
    where it computes, unless the generator is an object.

    An image whose search fails has NaN latents and is counted. Raises BadInput and UnknownName for what does not fit,
    FolderOfAnotherSpec for a folder of another inversion, and Interrupted.

    Source: Singh et al. 2021, arXiv:2103.13455, equation 1.
    """
    inversion = plan(
        images, generator, space=space, penalty=penalty, steps=steps, start=start, encoder=encoder, fit=fit,
        device=device, options=options,
    )  # fmt: skip
    with engines.opened((options or InvertOptions()).engine, quiet=quiet) as engine:
        return run(inversion, Path(out), quiet=quiet, engine=engine)


def plan(
    images: str | Path | np.ndarray | Images,
    generator: str | Path | Generator,
    *,
    space: str = "w+",
    penalty: float | None = None,
    steps: int | None = None,
    start: str = "mean",
    encoder: str | Path | None = None,
    fit: bool = False,
    device: str = "cpu",
    options: InvertOptions | None = None,
) -> Inversion:
    """The inversion that these settings mean, checked before anything is computed; arguments as `invert` takes them."""
    from transect.generators import load
    from transect.inversion.encoder import open_encoder
    from transect.inversion.optimisation import Search
    from transect.inversion.protocol import check_space, invertible

    options = options or InvertOptions()
    model = load(generator, device=device) if isinstance(generator, str | Path) else generator
    check_space(invertible(model), space)
    if penalty is not None and penalty != 0 and space != "w+":
        raise BadInput(f"penalty: expected none in space {space}, got {penalty:g}; it holds the layers of w+ together")
    encoder_file = None if encoder is None else Path(encoder)
    if encoder_file is not None:
        start = "encoder"
        open_encoder(encoder_file, invertible(model), space)
    if start not in STARTS:
        raise UnknownName("start", start, STARTS)
    weight = (_DEFAULT_PENALTY if penalty is None else penalty) if space == "w+" else 0.0
    mixed, most = options.precision == "mixed", STEPS[start] if steps is None else steps
    search = Search(space, weight, most, options.pixel_weight, mixed=mixed, plateau=options.plateau)
    pictures = Pictures.open(images, model.image_size, fit=fit)
    named = str(generator) if isinstance(generator, str | Path) else ""
    samples = options.encoder_samples if start == "encoder" else 0
    files = options.weights, options.heads
    chosen = ToolsPlan(model, named, space, device, options.distance, files, encoder_file, samples)
    chosen.appearance  # noqa: B018  (refuses files that do not fit)
    return Inversion(chosen, pictures, search, start, options.batch)


def run(inversion: Inversion, out: Path, *, quiet: bool = False, engine: Engine = HERE) -> InvertResult:
    """Invert the parts that the folder lacks; the engine makes them. Raises as `invert`."""
    count, parts = len(inversion.pictures), inversion.parts
    made_by = elsewhere(engine, inversion.plan.named, "inversion", quiet=quiet)
    with RunFolder(out, inversion.spec()) as folder:
        title = f"inversion of {counted(count, 'image')}, steps"
        with announcing_stages(quiet=quiet):
            missing = [part for part in range(len(parts)) if not folder.has_part(TABLE, part)]
            if missing:
                with resumable(out):
                    inversion.plan.encoder  # noqa: B018  (before the clock of the steps starts)
            progress = Progress(title, inversion.search.steps * len(parts), quiet=quiet, quote=_QUOTED)
            _fill(inversion, folder, missing, progress, made_by)
            stage(f"latents and sheet of {counted(count, 'image')}")
            return InvertResult(_finish(inversion, out, FinishedRun(out).read_table(TABLE, len(parts))))


def _fill(inversion: Inversion, folder: RunFolder, missing: Sequence[int], progress: Progress, engine: Engine) -> None:
    parts, search, batch, plan = inversion.parts, inversion.search, inversion.batch, inversion.plan
    work: Work[Pictures, pa.Table] = Ready(
        lambda: InversionParts(plan.tools, search, batch, plan.device, progress.advance)
    )
    if engine.apart and missing:
        work = InversionWork(plan.recipe(), search, batch)
    with Ahead(engine, work, missing, lambda part: inversion.pictures.carried(parts[part])) as ahead:

        def make(part: int) -> pa.Table:
            rows = ahead(part)
            if engine.apart:  # a worker's steps are counted when its part is here
                progress.advance(search.steps)
            return rows

        steps = [search.steps] * len(parts)
        fill_table(folder, TABLE, steps, make, title=progress.label, progress=progress)


def _finish(inversion: Inversion, out: Path, table: pa.Table) -> InversionNumbers:
    """latents.safetensors, sheet.png and summary.json."""
    plan, search = inversion.plan, inversion.search
    first = inversion.pictures.pixels(range(min(SHOWN, len(table))))
    numbers = InversionNumbers(
        **write_codes(out, table, first, plan),
        penalty=search.penalty,
        steps=search.steps,
        start=inversion.start,
        median=InversionMedians(**medians_of(table, (field.name for field in fields(InversionMedians)))),
        notes=inversion.pictures.notes,
    )
    write_json(out / "summary.json", numbers, indent=1)
    return numbers
