"""Train the encoder E of a generator on its images: min E‖z − E(G(z))‖ (Denton et al. 2019)."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, asdict, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, final

from transect.errors import BadInput
from transect.job import Content, Job, Option, function
from transect.protocols import Generator
from transect.reports.trainings import figures_table, samples
from transect.runs.wording import counted
from transect.training.options import Device, Every


@final
@dataclass(frozen=True, slots=True)
class EncoderNumbers:
    """encoder: the file that `transect invert --encoder` takes. Distances are mean lengths in the latent space."""

    encoder: str
    images: int
    steps: int
    distance: float | None
    held_out_distance: float | None


@final
@dataclass(frozen=True)
class TrainEncoder(Job[EncoderNumbers]):
    """Train the encoder E of a generator on its images: min E‖z − E(G(z))‖.

    Call again to resume: the files are byte-identical. The table of the result has a row per step: step, shown, rate
    and losses. Raises BadInput for settings that do not fit, and RunFolderError for a folder of another training.

    Source: Denton et al. 2019, arXiv:1906.06439, equation 2.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False
    RESUMES_FROM: ClassVar = "finished parts"

    generator: Annotated[
        str | Path | Generator,
        Option(
            "The safetensors file of a generator, or reference: the built-in one.",
            str,
            metavar="GENERATOR",
            argument=True,
            opens="model",
        ),
    ]
    out: Annotated[
        str | Path, Option("The folder of states, metrics.jsonl, sheets and encoder.safetensors.", opens="write")
    ]
    _: KW_ONLY
    space: Annotated[str, Option("Latent space of its output: z, or w of a StyleGAN2.")] = "z"
    images: Annotated[
        int, Option("Total training images; the learning rate decays to 0 over them. Fixed when you resume.")
    ] = 200_000
    batch: Annotated[int, Option("Images per step, normalized together.", least=2)] = 32
    image_size: Annotated[
        int, Option("Pictures are averaged down to this many pixels: a power of two.", names=("--size",))
    ] = 64
    rate: Annotated[float, Option("Initial learning rate.")] = 0.002
    every: Every = 20_000
    seed: Annotated[int, Option("Seed of weights, order and latents.")] = 0
    device: Device = "cpu"

    def place(self) -> None:
        """No page before one asks for it."""

    def compute(self) -> EncoderNumbers:
        """Train, or go on."""
        from transect.generators import load
        from transect.training.loop import Run, last_row, steps_of, train
        from transect.training.recipes import EncoderRecipe, Generated

        self._check()
        folder, images, batch, every, seed = Path(self.out), self.images, self.batch, self.every, self.seed
        Run(images, batch, folder, {}, every, seed)  # refuses numbers before the generator is read
        given = self.generator
        model = load(given, device=self.device) if isinstance(given, str | Path) else given
        recipe = EncoderRecipe(model, images, self.space, self.image_size, rate=self.rate, seed=seed)
        spec = self._spec(model)
        run = Run(images, batch, folder, spec, every, seed, self.device, result="encoder.safetensors", quiet=self.quiet)
        file = train(recipe, Generated(), run)
        last = last_row(steps_of(folder))
        shown, step = int(last.get("shown", 0) or 0), int(last.get("step", 0) or 0)
        return EncoderNumbers(str(file), shown, step, last.get("distance"), last.get("held_out_distance"))

    def _check(self) -> None:
        from transect.training.loop import process_count

        size, rate = self.image_size, self.rate
        if size < 16 or size & (size - 1):
            raise BadInput(f"image_size: expected a power of two of at least 16, got {size}; choose 64")
        if not (math.isfinite(rate) and rate > 0):
            raise BadInput(f"--rate: expected a number above 0, got {rate}")
        if (processes := process_count()) > 1:
            raise BadInput(f"train encoder: expected one process, got {processes}; start it without accelerate launch")

    def _spec(self, model: Generator) -> dict[str, object]:
        """What the weights depend on."""
        from transect.training.recipes import EncoderRecipe

        facts = {**getattr(model, "facts", {}), **getattr(model, "options", {})}
        sizes = {"size": self.image_size, "images": self.images, "batch": self.batch, "seed": self.seed}
        spec = {"generator": facts, "space": self.space, **sizes}
        return spec if self.rate == EncoderRecipe.rate else {**spec, "rate": self.rate}  # older folders have no rate

    def content(self, numbers: EncoderNumbers) -> Content:
        """The last figures, and a sheet of samples."""
        from transect.training.loop import steps_of

        table = figures_table(asdict(numbers))
        return Content(
            title=f"Training: {Path(numbers.encoder).stem}",
            answer=[f"Encoder trained on {counted(numbers.images, 'image')}: {numbers.encoder}"],
            table=table,
            rows=lambda: steps_of(Path(self.out)),
            parts=samples(Path(self.out)),
            terminal=[table],
        )


train_encoder = function(TrainEncoder)
