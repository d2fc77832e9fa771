"""Train a generative adversarial network. On several GPUs: accelerate launch -m transect train gan …"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, final

import numpy as np

from transect.job import Content, Job, Option, function
from transect.records import Estimate
from transect.reports.blocks import Part
from transect.reports.columns import Column, Table
from transect.reports.trainings import figures_table, samples
from transect.runs.table_inputs import as_names
from transect.runs.wording import counted
from transect.training.options import Device, GanOptions, PicturesSource, Population
from transect.training.pictures import Pictures, Source, count_of, source_of

if TYPE_CHECKING:
    from transect.perceptual.judging import Obedience
    from transect.training.distillation import Likeness

MOST_DRAWN: Final = 50_000
"""Pictures that FaceWorld draws for a generator, where it is shown as many or more."""
NOT_FACEWORLD: Final = "the built-in network reads FaceWorld's attributes alone; let people judge (the how-to)"
UNREAD: Final = "the built-in network does not read this attribute"
_JUDGE: Final = (
    "Conditions are judged by the built-in network, which learned from FaceWorld and took no part in this training. "
    "It errs too: the last column is how often it reads FaceWorld's own pictures of the same size as they are."
)


@final
@dataclass(frozen=True, slots=True)
class ConditionShare:
    """Of `pictures` pictures made with a level of a condition, the share that the built-in network reads so.

    low, high: Wilson's 95 % interval over pictures. own: the same share of FaceWorld's own pictures of that level, NaN
    for another source. NaN with a `reason` where the network does not read the attribute.
    """

    condition: str
    level: str
    pictures: int
    share: float = math.nan
    low: float = math.nan
    high: float = math.nan
    own: float = math.nan
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class GanNumbers:
    """generator: the file that `transect.generators.load` opens. last: the last step's figures. conditions: of a
    conditional GAN, how often each level is obeyed.

    A figure is None where it is not finite, or not measured in every step.
    """

    generator: str
    images: int
    steps: int
    last: Mapping[str, float | None]
    conditions: tuple[ConditionShare, ...] = ()


@final
@dataclass(frozen=True)
class TrainGan(Job[GanNumbers]):
    """Train a generative adversarial network on pictures.

    source: faceworld, READER:PATH of a data set, pixels uint8 [n, h, h, 3], or an object that renders rows. Call again
    to resume: the files are byte-identical. On several GPUs start the command line with `accelerate launch`. The table
    of the result has a row per step: step, shown, losses, scores, penalties.

    Nothing is rendered before all that can be refused is checked. Raises BadInput and UnknownName for settings that do
    not fit, and RunFolderError for a folder of another training. Of a conditional GAN `numbers.conditions` says how
    often each level is obeyed.

    Sources: Karras et al. 2020, arXiv:1912.04958; Karras et al. 2018, arXiv:1710.10196; McDuff et al. 2019.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False
    RESUMES_FROM: ClassVar = "finished parts"
    FIRST_ALONE: ClassVar = True

    source: PicturesSource
    out: Annotated[
        str | Path, Option("The folder of states, metrics.jsonl, sheets and generator.safetensors.", opens="write")
    ]
    _: KW_ONLY
    architecture: Annotated[str, Option("stylegan2, progressive (WGAN-GP) or conditional.", names=("--arch",))] = (
        "stylegan2"
    )
    image_size: Annotated[
        int | None,
        Option(
            "Width and height in pixels: a power of two; default 64, or that of the pixels.",
            names=("--size",),
            default=64,
        ),
    ] = None
    images: Annotated[
        int,
        Option(
            "Total number of images shown; a larger number resumes a training of stylegan2, or with --grow.", least=1
        ),
    ] = 1_000_000
    count: Annotated[
        int | None,
        Option(
            "Pictures that FaceWorld draws; default as many as are shown, at most 50,000. A data set is used whole."
        ),
    ] = None
    population: Population = "balanced"
    conditions: Annotated[
        str | Sequence[str],
        Option(
            "Conditional: an attribute with levels, NAME!=none (as glasses: none or any), or NAME=CUT,CUT for one "
            "with a range; repeatable.",
            names=("--condition",),
        ),
    ] = ()
    seed: Annotated[int, Option("Seed of weights, order and latents.", least=0)] = 0
    device: Device = "cpu"
    options: GanOptions = field(default_factory=GanOptions)

    def place(self) -> None:
        """No page before one asks for it."""

    def compute(self) -> GanNumbers:
        """Train, or go on."""
        from transect.training.gans import Plan, check, fit
        from transect.training.loop import Processes, last_row, steps_of

        folder, options = Path(self.out), asdict(self.options)
        plan = Plan(self.architecture, self.images, self.seed, as_names(self.conditions), **options)
        source = source_of(self.source, self.image_size, str(self.population))
        check(plan, source)
        crew = Processes.from_environment(self.device)
        quiet = self.quiet or not crew.first
        count = self._drawn(folder) if self.count is None else self.count
        data = Pictures(source, count_of(source, count), folder / "pictures", quiet=quiet)
        file = fit(plan, data, folder, crew, quiet=quiet, likeness=_likeness(self.device) if plan.distil else None)
        crew.together()
        last = last_row(steps_of(folder))
        shown, step = int(last.pop("shown", 0) or 0), int(last.pop("step", 0) or 0)
        obeyed = _obeyed(file, source, plan.conditions) if plan.conditions and crew.first else ()
        return GanNumbers(str(file), shown, step, last, obeyed)

    def _drawn(self, folder: Path) -> int:
        """How many pictures a world draws: as many as are shown, or those of the training that is resumed."""
        from transect.training.loop import pictures_before

        before = pictures_before(folder)
        return min(self.images, MOST_DRAWN) if before is None else before

    def content(self, numbers: GanNumbers) -> Content:
        """The last figures, a sheet of samples, and of a conditional GAN the conditions obeyed."""
        from transect.training.loop import steps_of

        headline = f"Generator trained on {counted(numbers.images, 'image')}: {numbers.generator}"
        figures = {"generator": numbers.generator, "images": numbers.images, "steps": numbers.steps, **numbers.last}
        table = figures_table(figures)
        obeyed = [Table("Conditions obeyed", numbers.conditions, CONDITIONS)] if numbers.conditions else []
        judge = [_JUDGE] if obeyed else []
        return Content(
            title=f"Training: {Path(numbers.generator).stem}",
            answer=[headline],
            remarks=judge,
            table=table,
            rows=lambda: steps_of(Path(self.out)),
            parts=[*(Part("conditions", each.title, (each,)) for each in obeyed), *samples(Path(self.out))],
            terminal=[table, *obeyed, *judge],
        )


train_gan = function(TrainGan)

CONDITIONS: Final[Sequence[Column[ConditionShare]]] = (
    Column("condition", "condition"),
    Column("level", "level"),
    Column("pictures", "pictures", "count"),
    Column("read as asked, %", lambda row: Estimate(row.share, row.low, row.high, row.reason), "percent interval"),
    Column("FaceWorld's own, read so, %", lambda row: row.own if math.isfinite(row.own) else None, "percent"),
)


def _likeness(device: str) -> Likeness:
    """Activations of the built-in network, which a distilled picture should share with the teacher's."""
    import hashlib

    from transect.perceptual.distance import appearance_of
    from transect.perceptual.features import SIZE, WEIGHTS
    from transect.training.distillation import Likeness

    digest = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    return Likeness(appearance_of("features", device=device), f"{WEIGHTS.name} {digest}", SIZE)


def _obeyed(file: Path, source: Source, conditions: Sequence[str]) -> tuple[ConditionShare, ...]:
    """How often each level of each condition is obeyed, as the built-in network reads the generator's pictures."""
    from transect.generators.faceworld.world import FaceWorld
    from transect.generators.progressive.generator import Progressive
    from transect.perceptual.judging import obedience

    generator = Progressive.from_file(file)
    if isinstance(source, FaceWorld):
        return tuple(map(_share, obedience(generator, source, conditions)))
    levels = [(entry.name, level) for entry in generator.attributes for level in entry.levels]
    return tuple(ConditionShare(name, level, 0, reason=NOT_FACEWORLD) for name, level in levels)


def _share(row: Obedience) -> ConditionShare:
    from transect.effects.intervals import wilson

    own = row.own_obeyed / row.own_pictures if row.own_pictures and row.read else math.nan
    reason = "" if row.read and row.pictures else "no picture of it" if row.read else UNREAD
    share = ConditionShare(row.condition, row.level, row.pictures, own=own, reason=reason)
    if reason:
        return share
    low, high = wilson(np.array([float(row.obeyed)]), np.array([float(row.pictures)]))
    return dataclasses.replace(share, share=row.obeyed / row.pictures, low=float(low[0]), high=float(high[0]))
