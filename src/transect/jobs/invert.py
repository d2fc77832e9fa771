"""Find the latents of a generator whose images match the given ones, by optimisation.

Writes latents.safetensors, inversions/*.parquet (a row per image), a sheet, a page. Rerun the command to resume; the
output is byte-identical. With --generator faceworld it fits a rendered twin to each photograph, and writes both
pictures of each pair to ask a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Final, Literal, cast, final

import numpy as np
import pyarrow as pa

from transect.engines import settings as engines
from transect.engines.protocol import Engine
from transect.engines.settings import EngineSettings
from transect.errors import BadInput
from transect.inversion.codes import BySearch, CodesRun, opened
from transect.inversion.parts import ToolsPlan, medians_of
from transect.inversion.pictures import Pictures
from transect.inversion.settings import CodesFolder, Device, Fitted, ImagesToRead, InvertOptions
from transect.inversion.twin_runs import (
    APART,
    PAIRS,
    PICTURES,
    ResidualSummary,
    TwinGroup,
    TwinsRun,
    at_bounds,
    groups_of,
    left_out_of,
    summaries,
    tone_open,
    write_pairs,
)
from transect.inversion.twins import SIGNED, difference, rows_of_twins
from transect.job import AnyJob, Content, Job, Option, function
from transect.marks import Finder
from transect.options import settings
from transect.protocols import Generator
from transect.reports.blocks import Paragraph, Part, Picture
from transect.reports.codes import SHEET, CodesNumbers, write_codes
from transect.reports.columns import Column, Table, decimals
from transect.reports.sheets import contact_sheet
from transect.runs.folder import write_atomically, write_json
from transect.runs.pictures import pixels_of_png, saved
from transect.runs.wording import counted, spaced

if TYPE_CHECKING:
    from transect.inversion.optimisation import Search

_DEFAULT_PENALTY: Final = 0.1
STEPS: Final = {"mean": 300, "encoder": 150}
"""Steps by start: those of the encoder reach what twice as many reach from the mean code."""
FACEWORLD: Final = "faceworld"
"""The generator of twins."""
_OF_TWINS: Final = ("generator", "images", "out", "marks", "size", "engine", "workers")
"""Options that a run of twins has."""


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
@dataclass(frozen=True, kw_only=True)
class InversionNumbers(CodesNumbers):
    """The summary of an inversion, which is also in `summary.json`. steps: at most, for each image."""

    penalty: float
    steps: int
    start: str
    median: InversionMedians


@final
@dataclass(frozen=True)
class Invert(Job[InversionNumbers]):
    """Find the latents of a generator whose images look like these, by gradient descent.

    Call again to resume, with byte-identical output. The table of the result has a row per image: id, failure,
    perceptual, pixels, restriction, identity_distance, steps, objective, codes, image (PNG). An image whose search
    fails has NaN latents and is counted.

    Raises BadInput and UnknownName for what does not fit, FolderOfAnotherSpec for a folder of another inversion, and
    Interrupted.

    Source: Singh et al. 2021, arXiv:2103.13455, equation 1.
    """

    OUT: ClassVar = None
    RESUMES_FROM: ClassVar = "finished parts"

    images: ImagesToRead
    generator: Annotated[
        str | Path | Generator,
        Option(
            "reference, a safetensors file of a StyleGAN2 or progressive GAN, or faceworld, for rendered twins.",
            str,
            opens="model",
        ),
    ]
    out: CodesFolder
    _: KW_ONLY
    space: Annotated[
        str,
        Option("w: one w per image; w+: one w per layer, tied by --penalty; z: the prior's.", opens="value"),
    ] = "w+"
    penalty: Annotated[
        float | None, Option("λ of Singh et al. 2021, equation 1, in w+; 0 leaves the layers free; default 0.1.")
    ] = None
    steps: Annotated[
        int | None, Option("Steps of gradient descent for each image, at most; default 300, from an encoder 150.")
    ] = None
    start: Annotated[
        Literal["mean", "encoder"],
        Option("Where the search starts: mean, or encoder (a regression fitted on the generator)."),
    ] = "mean"
    encoder: Annotated[
        str | Path | None,
        Option(
            "Start at the output of this trained encoder (a file of `transect train encoder`) instead.", opens="model"
        ),
    ] = None
    fit: Fitted = False
    device: Device = "cpu"
    options: InvertOptions = field(default_factory=InvertOptions)

    def instead(self) -> AnyJob:
        """With the generator faceworld, rendered twins. Raises BadInput for an option that they do not have."""
        if self.generator != FACEWORLD:
            return self
        for setting in settings(Invert):
            if setting.name not in _OF_TWINS and setting.of(self) != setting.default:
                raise BadInput(f"{setting.shown} does not apply to --generator faceworld; leave it out")
        marks, size, engine = self.options.marks, self.options.size, self.options.engine
        return Twins(self.images, self.out, marks=marks or "network", size=size or 128, engine=engine, quiet=self.quiet)

    def planned(self) -> CodesRun:
        """What is inverted, and how, checked before anything is computed."""
        from transect.inversion.encoder import open_encoder
        from transect.inversion.protocol import check_space, invertible

        options, file = self.options, None if self.encoder is None else Path(self.encoder)
        for name in ("marks", "size"):
            if getattr(options, name) is not None:
                raise BadInput(f"--{name} applies to --generator {FACEWORLD}, got {self.generator}; leave it out")
        model, named = opened(self.generator, self.device)
        check_space(invertible(model), self.space)
        start = self.start if file is None else "encoder"
        if file is not None:
            open_encoder(file, invertible(model), self.space)
        search = self._search(start)
        pictures = Pictures.open(self.images, model.image_size, fit=self.fit)
        samples = options.encoder_samples if start == "encoder" else 0
        tools = self.space, self.device, options.distance, options.files, file, samples
        return CodesRun(ToolsPlan(model, named, *tools), pictures, BySearch(search, start, options.batch, self.device))

    def _search(self, start: str) -> Search:
        from transect.inversion.optimisation import Search

        penalty, options, space = self.penalty, self.options, self.space
        if penalty and space != "w+":
            raise BadInput(f"penalty: expected none in space {space}, got {penalty:g}; it applies to w+")
        weight = (_DEFAULT_PENALTY if penalty is None else penalty) if space == "w+" else 0.0
        steps, mixed = STEPS[start] if self.steps is None else self.steps, options.precision == "mixed"
        return Search(space, weight, steps, options.pixel_weight, mixed=mixed, plateau=options.plateau)

    def compute(self) -> InversionNumbers:
        """Invert the parts that the folder lacks."""
        with engines.opened(self.options.engine, quiet=self.quiet) as engine:
            return self.found(engine)

    def found(self, engine: Engine) -> InversionNumbers:
        """The same by an engine."""
        run, out = self.planned(), Path(self.out)
        method = cast("BySearch", run.method)

        def finish(table: pa.Table) -> InversionNumbers:
            numbers = InversionNumbers(
                **write_codes(out, table, run),
                penalty=method.search.penalty,
                steps=method.search.steps,
                start=method.start,
                median=medians_of(table, InversionMedians),
            )
            write_json(out / "summary.json", numbers, indent=1)
            return numbers

        return run.find(out, finish, quiet=self.quiet, engine=engine)

    def content(self, numbers: InversionNumbers) -> Content:
        """How many images have codes, and how near these come."""
        return numbers.content("Inversion", "inverted", numbers.median)


@final
@dataclass(frozen=True, slots=True)
class TwinsNumbers:
    """The summary of a run of twins. left_out: reason -> photographs. at_bounds: setting -> twins at an end of it.
    tone_open: photographs to which tones fit as well that lie APART or more.

    pictures: a table for `--dataset parquet:`, both pictures of each pair; pairs: their rows there. notes: what a data
    set says.
    """

    out: str
    photographs: int
    fitted: int
    left_out: Mapping[str, int]
    marks: str
    size: int
    residuals: tuple[ResidualSummary, ...]
    groups: tuple[TwinGroup, ...]
    at_bounds: Mapping[str, int]
    tone_open: int
    pictures: str
    pairs: str
    sheet: str


@final
@dataclass(frozen=True)
class Twins(Job[TwinsNumbers]):
    """Fit a rendered twin to each photograph: FaceWorld's subject with its landmarks, tone of skin and light.

    Call again to resume, with byte-identical output. The table of the result has a row per photograph: id, reason,
    confidence, residuals, place, settings, identity code, points, both pictures (PNG). A photograph that cannot be
    read, is too small or large, has no color, or no face that was found with confidence, has no twin and is counted by
    reason.

    Raises BadInput and UnknownName for what does not fit, FolderOfAnotherSpec for a folder of something else, and
    Interrupted.

    Source: Blanz and Vetter 1999, doi:10.1145/311535.311556.
    """

    OUT: ClassVar = None

    images: ImagesToRead
    out: CodesFolder
    _: KW_ONLY
    marks: Annotated[
        str | Finder,
        Option("Who finds the 68 points: network, dataset or dlib:FILE, or an object that finds them.", str),
    ] = "network"
    size: Annotated[int, Option("Width and height of the twins' pictures in pixels; twins do not depend on it.")] = 128
    engine: EngineSettings = field(default_factory=EngineSettings)

    def compute(self) -> TwinsNumbers:
        """Fit the parts that the folder lacks."""
        run, out = TwinsRun.planned(self.images, self.marks, self.size), Path(self.out)

        def finish(table: pa.Table) -> TwinsNumbers:
            fitted = write_pairs(out, table, run.labelled)
            if len(fitted):
                write_atomically(out / SHEET, _sheet(fitted))
            return TwinsNumbers(
                out=str(out),
                photographs=len(table) + sum(run.left_out.values()),
                fitted=len(fitted),
                left_out=left_out_of(table, run.left_out),
                marks=run.finder.name,
                size=run.size,
                residuals=summaries(fitted),
                groups=groups_of(run.labelled, table),
                at_bounds=at_bounds(fitted),
                tone_open=tone_open(fitted),
                pictures=str(out / PICTURES),
                pairs=str(out / PAIRS),
                sheet=str(out / SHEET) if len(fitted) else "",
            )

        with engines.opened(self.engine, quiet=self.quiet) as engine:
            return run.find(out, finish, quiet=self.quiet, engine=engine)

    def content(self, numbers: TwinsNumbers) -> Content:
        """How many photographs have a twin, and what is left between the two."""
        have = "has" if numbers.fitted == 1 else "have"
        headline = f"{numbers.fitted:,} of {counted(numbers.photographs, 'photograph')} {have} a rendered twin"
        table = Table("What is left between photograph and twin", numbers.residuals, RESIDUALS)
        files = [f"{name}: {getattr(numbers, name)}" for name in ("pictures", "pairs", "sheet") if numbers.fitted]
        return Content(
            title="Rendered twins of photographs",
            answer=[f"{headline}, {sum(numbers.left_out.values()):,} left out.", *_points(numbers)],
            remarks=[*_remarks(numbers), _CAPTION],
            table=table,
            rows=lambda: rows_of_twins(Path(numbers.out)),
            parts=list(_parts(numbers)),
            terminal=[headline, table, *_remarks(numbers), *files],
        )


invert = function(Invert)
fit_twins = function(Twins, "fit_twins")


_UNITS: Final = {"tilt": "°", "ita": "°", "lightness": " L*", "side_light": " L*"}
"""Of points in distances between the eyes; of colors 0 to 1."""
_NOT_SHOWN: Final = (
    "A twin is not the person. Pose, proportions, tone and light are fitted; hair, clothes, glasses and background are "
    "those of an average subject, and no residual sees them. A small residual does not say that a model takes the two "
    "for alike: ask it."
)
_CAPTION: Final = (
    "Points in distances between the eyes (all: root mean square; parts: mean), tilt of the line between the eyes, "
    "ITA, L* and color of the skin, L* of the right cheek less that of the left. With a sign: twin minus photograph."
)
_SHEET: Final = (
    "Photograph, twin, and the difference: grey where both are equal, light where the twin is lighter. From the "
    "smallest to the largest residual of points, evenly; the number is in distances between the eyes. Both are grey "
    "where the photograph ends."
)
_BY_LABEL: Final = (
    "If a group loses more photographs, or is fitted worse, comparisons are about the rest of it. Points: the median "
    "residual, in distances between the eyes."
)
_ROWS: Final = 6
"""Pairs on the sheet."""


def _amount(each: ResidualSummary, value: float, *, signed: bool = True) -> str:
    if not np.isfinite(value):
        return "unknown"
    sign = "+z" if signed and each.name in SIGNED else ""
    return f"{value:{sign}.1f}{_UNITS[each.name]}" if each.name in _UNITS else decimals(value)


RESIDUALS: Final[Sequence[Column[ResidualSummary]]] = (
    Column("residual", lambda each: "tone (ITA)" if each.name == "ita" else spaced(each.name)),
    Column("median size", lambda each: _amount(each, each.size, signed=False), "figure"),
    Column("median", lambda each: _amount(each, each.median) if each.name in SIGNED else "–", "figure"),
    Column("largest", lambda each: _amount(each, each.largest), "figure"),
    Column("of", "worst"),
)
GROUPS: Final[Sequence[Column[TwinGroup]]] = (
    Column("label", "label"),
    Column("level", "level"),
    Column("photographs", "photographs", "count"),
    Column("no twin", "left_out", "count"),
    Column("points", lambda group: decimals(group.points), "figure"),
)


def _points(numbers: TwinsNumbers) -> Iterator[str]:
    """How far points lie apart."""
    points = next((each for each in numbers.residuals if each.name == "points"), None)
    if points is not None and numbers.fitted:
        median, largest = decimals(points.size), decimals(points.largest)
        yield f"Points lie {median} distances between the eyes apart (median; at most {largest}, {points.worst})."


def _remarks(numbers: TwinsNumbers) -> Iterator[str]:
    """Who is left out and why, settings at an end of their range, and what a twin is not."""
    if reasons := "; ".join(f"{reason} ({count:,})" for reason, count in numbers.left_out.items()):
        yield f"Left out: {reasons}."
    if ends := ", ".join(f"{spaced(name)} of {count:,}" for name, count in numbers.at_bounds.items()):
        yield f"Settings that stopped at the end of their range: {ends}. There the photograph goes beyond."
    if numbers.tone_open:
        yield (
            f"The tone of the skin is open on {numbers.tone_open:,} of {numbers.fitted:,}: tones {APART:g} or more"
            " apart fit as well, since colors alone do not tell dark skin in much light from light skin in little."
        )
    yield _NOT_SHOWN


def _parts(numbers: TwinsNumbers) -> Iterator[Part]:
    if numbers.groups:
        groups = Table("Twins by label", numbers.groups, GROUPS)
        yield Part("groups", "By label", (Paragraph(_BY_LABEL), groups))
    if numbers.fitted:
        yield Part("sheet", "Pictures", (Picture(Path(numbers.sheet).read_bytes(), _SHEET),))


def _sheet(fitted: pa.Table) -> bytes:
    """Photograph, twin and difference of some photographs, from the best fitted to the worst."""
    order = np.argsort(fitted["points"].to_numpy(), kind="stable")
    chosen = order[np.unique(np.linspace(0, len(order) - 1, _ROWS).round().astype(np.int64))]
    pixels, labels = [], []
    for row in fitted.take(pa.array(chosen)).to_pylist():
        photograph, twin = pixels_of_png(row["photograph"]), pixels_of_png(row["twin"])
        pixels += [photograph, twin, difference(photograph, twin)]
        labels += [row["id"], f"twin, {row['points']:.3f}", "difference"]
    return saved(contact_sheet(np.stack(pixels), columns=3, labels=labels))
