"""`transect.train_gan`, `train_encoder`, `train_classifier`: call again to resume; the files are byte-identical.

On several GPUs start the command line with `accelerate launch`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence, Sized
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import numpy as np

from transect.errors import BadInput
from transect.jobs.train.result import (
    ClassifierNumbers,
    ClassifierResult,
    ConditionShare,
    EncoderNumbers,
    EncoderResult,
    GanNumbers,
    GanResult,
    epochs_of,
    last_row,
    steps_of,
)
from transect.protocols import Generator
from transect.records import Images
from transect.runs.json_records import loads
from transect.runs.table_inputs import as_names
from transect.training.options import GanOptions

if TYPE_CHECKING:
    from transect.training.classifier import Schedule
    from transect.training.distillation import Likeness
    from transect.training.pictures import Source

_SIZE: Final = 64
NOT_FACEWORLD: Final = "the shipped network reads FaceWorld's attributes alone; let people judge (the how-to)"
UNREAD: Final = "the shipped network does not read this attribute"


@final
@dataclass(frozen=True, slots=True)
class ClassifierOptions:
    """Changes to a schedule, and how it is trained.

    architecture: resnet18, resnet34 or resnet50; image_size, epochs, batch, balanced: None for the schedule's. weights:
    a safetensors file with torchvision's names to start from. held_out: share of the subjects that only measure.
    precision: full or mixed (bfloat16).
    """

    architecture: str | None = None
    image_size: int | None = None
    epochs: int | None = None
    batch: int | None = None
    balanced: bool | None = None
    weights: Path | None = None
    held_out: float = 0.1
    precision: str = "full"


def train_gan(
    source: str | np.ndarray | Images | Source,
    out: str | Path,
    *,
    architecture: str = "stylegan2",
    image_size: int | None = None,
    images: int = 1_000_000,
    count: int | None = None,
    population: str | Path = "balanced",
    conditions: str | Sequence[str] = (),
    seed: int = 0,
    device: str = "cpu",
    quiet: bool = False,
    options: GanOptions | None = None,
) -> GanResult:
    """Train a generative adversarial network on pictures.

    source: faceworld, READER:PATH of a data set, pixels uint8 [n, h, h, 3], or an object that renders rows. out: the
    folder of states, figures and sheets; call again to resume. architecture: stylegan2, progressive or conditional.
    image_size: width and height, a power of two (default 64, or that of the pixels). images: shown in all. count:
    pictures that FaceWorld draws (default: as many as are shown, at most 50,000). conditions: of a conditional GAN, an
    attribute with levels, NAME!=none for any but the first, or NAME=CUT,CUT.

    Nothing is rendered before all that can be refused is checked. Raises BadInput and UnknownName for settings that do
    not fit, and RunFolderError for a folder of another training. Of a conditional GAN `numbers.conditions` says how
    often each level is obeyed.

    Sources: Karras et al. 2020, arXiv:1912.04958; Karras et al. 2018, arXiv:1710.10196; McDuff et al. 2019.
    """
    from transect.training.gans import Plan, check, fit
    from transect.training.loop import Processes
    from transect.training.pictures import Pictures

    options, folder = options or GanOptions(), Path(out)
    plan = Plan(architecture, images, seed, as_names(conditions), **asdict(options))
    pictures = _source(source, image_size, str(population), device)
    check(plan, pictures)
    crew = Processes.from_environment(device)
    silent = quiet or not crew.first
    drawn = _drawn(folder, images) if count is None else count
    data = Pictures(pictures, _count(pictures, drawn), folder / "pictures", quiet=silent)
    file = fit(plan, data, folder, crew, quiet=silent, likeness=_likeness(device) if plan.distil else None)
    crew.together()
    last = last_row(steps_of(folder))
    shown, step = int(last.pop("shown", 0) or 0), int(last.pop("step", 0) or 0)
    obeyed = _obeyed(file, pictures, plan.conditions) if plan.conditions and crew.first else ()
    return GanResult(GanNumbers(str(file), shown, step, last, obeyed), folder)


def _likeness(device: str) -> Likeness:
    """Activations of the network that ships, which a distilled picture should share with the teacher's."""
    import hashlib

    from transect.perceptual.distance import appearance_of
    from transect.perceptual.features import SIZE, WEIGHTS
    from transect.training.distillation import Likeness

    digest = hashlib.sha256(WEIGHTS.read_bytes()).hexdigest()
    return Likeness(appearance_of("features", device=device), f"{WEIGHTS.name} {digest}", SIZE)


def _obeyed(file: Path, source: Source, conditions: Sequence[str]) -> tuple[ConditionShare, ...]:
    """How often each level of each condition is obeyed, as the shipped network reads the generator's pictures."""
    from transect.effects.intervals import wilson
    from transect.generators.faceworld.world import FaceWorld
    from transect.generators.progressive.generator import Progressive
    from transect.perceptual.judging import obedience

    generator = Progressive.from_file(file)
    if not isinstance(source, FaceWorld):
        levels = [(entry.name, level) for entry in generator.attributes for level in entry.levels]
        nothing = (math.nan, math.nan, math.nan, math.nan)
        return tuple(ConditionShare(name, level, 0, *nothing, NOT_FACEWORLD) for name, level in levels)
    shares = []
    for row in obedience(generator, source, conditions):
        reason = "" if row.read and row.pictures else "no picture of it" if row.read else UNREAD
        low, high = wilson(np.array([float(row.obeyed)]), np.array([float(row.pictures)]))
        share = row.obeyed / row.pictures if not reason else math.nan
        own = row.own_obeyed / row.own_pictures if row.own_pictures and row.read else math.nan
        ends = (math.nan, math.nan) if reason else (float(low[0]), float(high[0]))
        shares.append(ConditionShare(row.condition, row.level, row.pictures, share, *ends, own, reason))
    return tuple(shares)


def train_encoder(
    generator: str | Path | Generator,
    out: str | Path,
    *,
    space: str = "z",
    images: int = 200_000,
    batch: int = 32,
    image_size: int = 64,
    rate: float = 0.002,
    every: int = 20_000,
    seed: int = 0,
    device: str = "cpu",
    quiet: bool = False,
) -> EncoderResult:
    """Train the encoder E of a generator on what it makes: min E‖z − E(G(z))‖.

    generator: a safetensors file, reference, or an opened StyleGAN2 or progressive GAN. space: z, or w of a StyleGAN2.
    images: shown in all; the learning rate falls to 0 over them. image_size: pictures are averaged down to this power
    of two.
    every: images between kept states. Call again to resume. Raises BadInput for settings that do not fit, and
    RunFolderError for a folder of another training.

    Source: Denton et al. 2019, arXiv:1906.06439, equation 2.
    """
    from transect.generators import load
    from transect.training.loop import Run, process_count, train
    from transect.training.recipes import EncoderRecipe, Generated

    if image_size < 16 or image_size & (image_size - 1):
        raise BadInput(f"image_size: expected a power of two from 16, got {image_size}; choose 64")
    if batch < 2:
        raise BadInput(f"--batch: expected at least 2, got {batch}; batches are normalized together")
    if not (math.isfinite(rate) and rate > 0):
        raise BadInput(f"--rate: expected a number above 0, got {rate}; change it")
    if (processes := process_count()) > 1:
        raise BadInput(f"train encoder: expected one process, got {processes}; start it without accelerate launch")
    folder = Path(out)
    Run(images, batch, folder, {}, every, seed)  # refuses numbers before the generator is read
    model = load(generator, device=device) if isinstance(generator, str | Path) else generator
    recipe = EncoderRecipe(model, images, space, image_size, rate=rate, seed=seed)
    facts = {**getattr(model, "facts", {}), **getattr(model, "options", {})}
    spec = {"generator": facts, "space": space, "size": image_size, "images": images, "batch": batch, "seed": seed}
    if rate != EncoderRecipe.rate:  # which folders without this option have
        spec["rate"] = rate
    run = Run(images, batch, folder, spec, every, seed, device, result="encoder.safetensors", quiet=quiet)
    file = train(recipe, Generated(), run)
    last = last_row(steps_of(folder))
    shown, step = int(last.get("shown", 0) or 0), int(last.get("step", 0) or 0)
    numbers = EncoderNumbers(str(file), shown, step, last.get("distance"), last.get("held_out_distance"))
    return EncoderResult(numbers, folder)


def train_classifier(
    source: str | np.ndarray | Images | Source,
    label: str | Sequence[int] | np.ndarray,
    out: str | Path,
    *,
    schedule: str | Schedule = "quick",
    count: int = 10_000,
    population: str | Path = "balanced",
    seed: int = 0,
    device: str = "cpu",
    quiet: bool = False,
    options: ClassifierOptions | None = None,
) -> ClassifierResult:
    """Train a ResNet to predict an attribute, for `transect.audit(["classifier:OUT"])`.

    source: faceworld, READER:PATH, pixels uint8 [n, h, h, 3], or an object that renders rows. label: an attribute with
    levels, a cut as "smile>0.5", or with pixels a class per picture (0, 1, ...; -1 for none). schedule: quick,
    balakrishnan-2020, denton-2019, or a record. count: pictures that FaceWorld draws. Call again to resume after the
    last finished epoch. Raises BadInput and UnknownName for settings that do not fit, and RunFolderError for a folder
    of another training.

    Sources: Balakrishnan et al. 2020, arXiv:2007.06570, §5.1; Denton et al. 2019, arXiv:1906.06439, §5.1.
    """
    from transect.training.classifier import Plan, train
    from transect.training.classifier import schedule_named as named
    from transect.training.pictures import LABEL, Label, Pictures

    options, folder = options or ClassifierOptions(), Path(out)
    names = ("architecture", "epochs", "batch", "balanced")
    changes = {"size": options.image_size, **{name: getattr(options, name) for name in names}}
    chosen = named(schedule, **changes) if isinstance(schedule, str) else schedule.with_settings(**changes)
    classes = None if isinstance(label, str) else np.asarray(label)
    pictures = _source(source, chosen.size, str(population), device, classes)
    text = label if isinstance(label, str) else LABEL
    plan = Plan(
        chosen, Label.parse(text, pictures.attributes), seed, device, options.precision, options.held_out,
        options.weights,
    )  # fmt: skip
    data = Pictures(pictures, _count(pictures, count), folder / "pictures", quiet=quiet)
    card = train(data, plan, folder, quiet=quiet)
    return ClassifierResult(ClassifierNumbers(str(card), **epochs_of(folder).to_pylist()[-1]), folder)


def _source(
    source: str | np.ndarray | Images | Source,
    image_size: int | None,
    population: str,
    device: str,
    classes: np.ndarray | None = None,
) -> Source:
    from transect.training.pictures import PixelSource, open_source

    if classes is not None and not isinstance(source, np.ndarray | Images):
        raise BadInput("label: expected the name of an attribute, got classes by row, which pixels alone can have")
    if isinstance(source, str):
        return open_source(source, image_size or _SIZE, population, device)
    pictures: Source = PixelSource(source, classes) if isinstance(source, np.ndarray | Images) else source
    if image_size not in (None, pictures.image_size):
        raise BadInput(f"image_size: expected pictures of {image_size} pixels, got {pictures.image_size}; resize them")
    return pictures


MOST_DRAWN: Final = 50_000
"""Pictures that FaceWorld draws for a generator, where it is shown as many or more."""


def _drawn(folder: Path, images: int) -> int:
    """How many pictures a world draws: as many as are shown, or those of the training that is resumed."""
    from transect.training.loop import SPEC

    try:
        before = loads((folder / SPEC).read_bytes())["pictures"]
    except (OSError, ValueError, LookupError, TypeError):  # none, or one that the training refuses
        before = None
    return before if isinstance(before, int) else min(images, MOST_DRAWN)


def _count(pictures: Source, count: int) -> int:
    """How many pictures: all of a data set, `count` of a world, which draws any number."""
    return len(pictures) if isinstance(pictures, Sized) else count
