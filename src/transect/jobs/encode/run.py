"""`transect.encode`: images ► latents of a generator by an encoder alone, part by part; rerun to resume.

The run folder is that of an inversion: inversions/part-*.parquet (a row per image), and at the end
latents.safetensors, summary.json and sheet.png. What reads an inversion reads it too.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final, cast, final

import numpy as np
import pyarrow as pa
from jaxtyping import UInt8

from transect.engines import settings as engines
from transect.engines.protocol import HERE, Ahead, Engine, Ready, Work
from transect.engines.settings import EngineSettings
from transect.errors import BadInput
from transect.inversion.parts import (
    PART,
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
from transect.runs.parts import announcing_stages, fill_table, resumable
from transect.runs.pictures import png

if TYPE_CHECKING:
    from transect.inversion.encoder import RidgeEncoder, TrainedEncoder
    from transect.inversion.protocol import Invertible


NOT_FINITE: Final = "the encoder's code, or the image of it, is not finite"
SCHEMA: Final = pa.schema(
    [("id", pa.string()), ("failure", pa.string())]
    + [(name, pa.float64()) for name in ("perceptual", "pixels", "identity_distance")]
    + [("codes", pa.list_(pa.float32())), ("image", pa.binary())]
)


@final
@dataclass(frozen=True, slots=True)
class EncodingParts:
    """What makes parts, with an encoder among the tools."""

    tools: Tools
    space: str
    device: str

    def make(self, pictures: Pictures) -> pa.Table:
        """The rows of these pictures, each from its own alone: else the last bit would depend on those beside it."""
        pixels, failures = pictures.readable(range(len(pictures)))
        each = zip(pictures.ids, pixels, failures, strict=True)
        rows = [{"id": name, **self._row(image, failure)} for name, image, failure in each]
        return rows_with_quality(pa.Table.from_pylist(rows, schema=SCHEMA), self.tools.encoder)

    def _row(self, pixels: UInt8[np.ndarray, "h w 3"], failure: str) -> dict[str, object]:
        """What an image became. failure: why it could not be read, or ""."""
        import torch

        from transect.perceptual.distance import distance
        from transect.perceptual.features import as_tensor

        if failure:
            return self._failed(pixels, failure)
        tools, image = self.tools, as_tensor(pixels[None], self.device)
        encoder = cast("RidgeEncoder | TrainedEncoder", tools.encoder)
        with torch.no_grad():
            code = encoder(image).float()
            shown = tools.network.show(code, self.space)
            apart, square = float(distance(tools.appearance, image, shown)), float((shown - image).square().mean())
        if not (np.isfinite(apart) and bool(torch.isfinite(code).all())):
            return self._failed(pixels, NOT_FINITE)
        drawn = (shown[0] * 255).round().clamp(0, 255).byte().permute(1, 2, 0).cpu().numpy()
        return {
            "failure": "",
            "perceptual": apart,
            "pixels": square,
            "identity_distance": float(identity_distances(pixels[None], drawn[None], ("",))[0]),
            "codes": code.flatten().cpu().numpy(),
            "image": png(drawn),
        }

    def _failed(self, pixels: UInt8[np.ndarray, "h w 3"], reason: str) -> dict[str, object]:
        """NaN in place of codes and measures, and a black reconstruction."""
        codes = np.full(self.tools.network.codes(self.space).mean.numel(), np.nan, np.float32)
        unknown = dict.fromkeys(("perceptual", "pixels", "identity_distance"), np.nan)
        return {"failure": reason, **unknown, "codes": codes, "image": png(np.zeros_like(pixels))}

    def close(self) -> None:
        """Nothing is held."""


@final
@dataclass(frozen=True, slots=True)
class EncodingWork:
    """The same for a worker."""

    tools: ToolsRecipe

    @property
    def gpus(self) -> int:
        """As of the tools."""
        return self.tools.gpus

    def open(self) -> EncodingParts:
        """Open the tools. Raises as that does."""
        return EncodingParts(self.tools.open(), self.tools.space, self.tools.device)


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
@dataclass(frozen=True, slots=True)
class EncodeNumbers:
    """The summary of an encoding, which is also in `summary.json`.

    failed_ids: the first 20. encoder: trained (a file), or fitted (a regression on the generator's own images).
    encoder_r2: held-out R² of a fitted one on the generator's own images; photographs may be read worse. notes: what a
    data set left out.
    """

    out: str
    images: int
    failed: int
    failed_ids: tuple[str, ...]
    space: str
    encoder: str
    encoder_r2: float | None
    distance: str
    median: EncodedMedians
    latents: str
    sheet: str
    notes: tuple[str, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class EncodeResult(CodesResult[EncodeNumbers]):
    """The result of `transect.encode`. table: a row per image with its codes, measures and reconstruction (PNG)."""

    JOB: ClassVar[str] = "encode"
    TITLE: ClassVar[str] = "Encoding"
    DONE: ClassVar[str] = "encoded"

    @property
    def table(self) -> pa.Table:
        """id, failure, perceptual, pixels, identity_distance, codes, image (PNG)."""
        return rows_of_run(Path(self.numbers.out))


@final
@dataclass(frozen=True, slots=True)
class EncodeOptions:
    """Settings that few encodings change.

    encoder_samples: images of the generator that an encoder is fitted on where no file of one is given. distance,
    weights, heads: the perceptual distance that is reported, as of `transect.InvertOptions`. engine: where parts are
    made; no result depends on it.
    """

    encoder_samples: int = 2_000
    distance: str = "features"
    weights: Path | None = None
    heads: Path | None = None
    engine: EngineSettings = field(default_factory=EngineSettings)


@final
@dataclass(frozen=True, slots=True)
class Encoding:
    """What is encoded, and by what."""

    plan: ToolsPlan
    pictures: Pictures

    def spec(self) -> dict[str, object]:
        """What the codes depend on."""
        plan, pictures = self.plan, self.pictures
        file = plan.encoder_file
        return {
            "kind": "encoding",
            "generator": description(plan.generator),
            "images": {"count": len(pictures), "sha256": pictures.sha256, "fitted": pictures.fit},
            "space": plan.space,
            "encoder": {"samples": plan.samples} if file is None else {"sha256": model_files.sha256(file)},
            "distance": plan.distance_facts(),
            "versions": versions(),
        }


def encode(
    images: str | Path | np.ndarray | Images,
    generator: str | Path | Generator,
    out: str | Path,
    *,
    encoder: str | Path | None = None,
    space: str | None = None,
    fit: bool = False,
    device: str = "cpu",
    quiet: bool = False,
    options: EncodeOptions | None = None,
) -> EncodeResult:
    """The latents of images by an encoder of the generator, without a search: seconds in place of hours.

    images: a folder of image files, a run folder, a data set as READER:PATH, or pixels uint8 [n, h, w, 3]. generator:
    reference, a safetensors file of a StyleGAN2 or progressive GAN, or an object as `transect.invert` takes it. out:
    the run folder, of the form that an inversion has; call again to resume, with byte-identical output. encoder: a file
    of `transect train encoder`; without one, a regression is fitted on images of the generator. space: z, w or w+
    (default: the encoder's own; of a fitted one w where the generator has it). fit: cut and resize images of another
    size.

    An image that cannot be read, or whose code is not finite, has NaN latents and a reason, and is counted. Raises
    BadInput and UnknownName for what does not fit, FolderOfAnotherSpec for a folder of something else, and Interrupted.

    Source: Denton et al. 2019, arXiv:1906.06439, equation 2.
    """
    encoding = plan(images, generator, encoder=encoder, space=space, fit=fit, device=device, options=options)
    with engines.opened((options or EncodeOptions()).engine, quiet=quiet) as engine:
        return run(encoding, Path(out), quiet=quiet, engine=engine)


def plan(
    images: str | Path | np.ndarray | Images,
    generator: str | Path | Generator,
    *,
    encoder: str | Path | None = None,
    space: str | None = None,
    fit: bool = False,
    device: str = "cpu",
    options: EncodeOptions | None = None,
) -> Encoding:
    """The encoding that these settings mean, checked before anything is computed; arguments as `encode` takes them."""
    from transect.generators import load
    from transect.inversion.encoder import open_encoder
    from transect.inversion.protocol import check_space, invertible

    options = options or EncodeOptions()
    model = load(generator, device=device) if isinstance(generator, str | Path) else generator
    network, file = invertible(model), None if encoder is None else Path(encoder)
    where = check_space(network, space or _own_space(network, file))
    if file is not None:
        open_encoder(file, network, where)
    elif options.encoder_samples < 20:
        raise BadInput(
            f"encoder_samples: expected 20 or more images to fit the encoder on, got {options.encoder_samples}; give "
            "more"
        )
    pictures = Pictures.open(images, model.image_size, fit=fit)
    named = str(generator) if isinstance(generator, str | Path) else ""
    files = options.weights, options.heads
    chosen = ToolsPlan(model, named, where, device, options.distance, files, file, options.encoder_samples)
    chosen.appearance  # noqa: B018  (refuses files that do not fit)
    return Encoding(chosen, pictures)


def _own_space(network: Invertible, encoder: Path | None) -> str:
    from transect.generators.encoder import Encoder

    if encoder is not None:
        return Encoder.from_file(encoder).space
    return "w" if "w" in network.spaces else network.spaces[0]


def run(encoding: Encoding, out: Path, *, quiet: bool = False, engine: Engine = HERE) -> EncodeResult:
    """Encode the parts that the folder lacks; the engine makes them. Raises as `encode`."""
    parts = rows_of_parts(len(encoding.pictures), PART)
    made_by = elsewhere(engine, encoding.plan.named, "encoding", quiet=quiet)
    with RunFolder(out, encoding.spec()) as folder, announcing_stages(quiet=quiet):
        missing = [part for part in range(len(parts)) if not folder.has_part(TABLE, part)]
        with resumable(out):
            work = _work(encoding, made_by if missing else HERE)
        with Ahead(made_by, work, missing, lambda part: encoding.pictures.carried(parts[part])) as make:
            fill_table(folder, TABLE, [len(rows) for rows in parts], make, title="encoding", quiet=quiet)
        return EncodeResult(_finish(encoding, out, FinishedRun(out).read_table(TABLE, len(parts))))


def _work(encoding: Encoding, engine: Engine) -> Work[Pictures, pa.Table]:
    if engine.apart:
        return EncodingWork(encoding.plan.recipe())
    return Ready(lambda: EncodingParts(encoding.plan.tools, encoding.plan.space, encoding.plan.device))


def _finish(encoding: Encoding, out: Path, table: pa.Table) -> EncodeNumbers:
    """latents.safetensors, sheet.png and summary.json."""
    plan = encoding.plan
    first, _ = encoding.pictures.readable(range(min(SHOWN, len(table))))
    numbers = EncodeNumbers(
        **write_codes(out, table, first, plan),
        encoder="fitted" if plan.encoder_file is None else "trained",
        median=EncodedMedians(**medians_of(table, (field.name for field in fields(EncodedMedians)))),
        notes=encoding.pictures.notes,
    )
    write_json(out / "summary.json", numbers, indent=1)
    return numbers
