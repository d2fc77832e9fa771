"""Find the latents of photographs by an encoder of the generator, without a search.

Writes what `transect invert` writes, so that match, neighbours, directions fit and audit take it. Rerun the command to
resume; the output is byte-identical.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, final

import pyarrow as pa

from transect.engines import settings as engines
from transect.engines.protocol import Engine
from transect.errors import BadInput
from transect.inversion.codes import ByEncoder, CodesRun, opened, own_space
from transect.inversion.parts import ToolsPlan, medians_of
from transect.inversion.pictures import Pictures
from transect.inversion.settings import CodesFolder, Device, EncodeOptions, Fitted, ImagesToRead
from transect.job import Content, Job, Option, function
from transect.protocols import Generator
from transect.reports.codes import CodesNumbers, write_codes
from transect.runs.folder import write_json


@final
@dataclass(frozen=True, slots=True)
class EncodedMedians:
    """Medians over the images that did not fail; None where all failed.

    perceptual: the distance between image and reconstruction; pixels: mean squared difference of values in 0..1;
    identity_distance: 1 - cosine between identity embeddings of the two.
    """

    perceptual: float | None
    pixels: float | None
    identity_distance: float | None


@final
@dataclass(frozen=True, kw_only=True)
class EncodeNumbers(CodesNumbers):
    """The summary of an encoding, which is also in `summary.json`.

    encoder: trained (a file), or fitted (a regression on the generator's own images).
    """

    encoder: str
    median: EncodedMedians


@final
@dataclass(frozen=True)
class Encode(Job[EncodeNumbers]):
    """The latents of images by an encoder of the generator, without a search: seconds in place of hours.

    The folder `out` has the form that an inversion has; call again to resume, with byte-identical output. The table of
    the result has a row per image: id, failure, perceptual, pixels, identity_distance, codes, image (PNG). An image
    that cannot be read, or whose code is not finite, has NaN latents and a reason, and is counted.

    Raises BadInput and UnknownName for what does not fit, FolderOfAnotherSpec for a folder of something else, and
    Interrupted.

    Source: Denton et al. 2019, arXiv:1906.06439, equation 2.
    """

    OUT: ClassVar = None
    RESUMES_FROM: ClassVar = "finished parts"

    images: ImagesToRead
    generator: Annotated[
        str | Path | Generator,
        Option("reference, or a safetensors file of a StyleGAN2 or progressive GAN.", str, opens="model"),
    ]
    out: CodesFolder
    _: KW_ONLY
    encoder: Annotated[
        str | Path | None,
        Option("A file of `transect train encoder`; without one, a regression is fitted.", opens="model"),
    ] = None
    space: Annotated[
        str | None,
        Option("z, w or w+; default: the encoder's own, of a fitted one w where there is one.", opens="value"),
    ] = None
    fit: Fitted = False
    device: Device = "cpu"
    options: EncodeOptions = field(default_factory=EncodeOptions)

    def planned(self) -> CodesRun:
        """What is encoded and by what, checked before anything is computed."""
        from transect.inversion.encoder import FEWEST, open_encoder
        from transect.inversion.protocol import check_space, invertible

        options, file = self.options, None if self.encoder is None else Path(self.encoder)
        model, named = opened(self.generator, self.device)
        network = invertible(model)
        space = check_space(network, self.space or own_space(network, file))
        if file is not None:
            open_encoder(file, network, space)
        elif options.encoder_samples < FEWEST:
            given = options.encoder_samples
            raise BadInput(f"encoder_samples: expected at least {FEWEST} images, got {given}")
        pictures = Pictures.open(self.images, model.image_size, fit=self.fit)
        tools = space, self.device, options.distance, options.files, file, options.encoder_samples
        plan = ToolsPlan(model, named, *tools)
        return CodesRun(plan, pictures, ByEncoder(space, self.device))

    def compute(self) -> EncodeNumbers:
        """Encode the parts that the folder lacks."""
        with engines.opened(self.options.engine, quiet=self.quiet) as engine:
            return self.found(engine)

    def found(self, engine: Engine) -> EncodeNumbers:
        """The same by an engine."""
        run, out = self.planned(), Path(self.out)

        def finish(table: pa.Table) -> EncodeNumbers:
            numbers = EncodeNumbers(
                **write_codes(out, table, run),
                encoder="fitted" if run.plan.encoder_file is None else "trained",
                median=medians_of(table, EncodedMedians),
            )
            write_json(out / "summary.json", numbers, indent=1)
            return numbers

        return run.find(out, finish, quiet=self.quiet, engine=engine)

    def content(self, numbers: EncodeNumbers) -> Content:
        """How many images have codes, and how near these come."""
        return numbers.content("Encoding", "encoded", numbers.median)


encode = function(Encode)
