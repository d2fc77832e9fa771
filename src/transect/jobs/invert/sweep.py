"""What λ does to an inversion: the same images inverted at each of several λ (Singh et al. 2021, Fig. 3).

Each λ has a folder of its own below the sweep's, which is that of a `transect invert` with this λ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float
from markupsafe import Markup, escape

from transect.effects.intervals import mean_interval
from transect.engines import settings as engines
from transect.engines.protocol import Engine
from transect.errors import BadInput
from transect.experiment import costs
from transect.jobs.invert.face_distances import FaceNetwork
from transect.jobs.invert.run import Inversion, InvertOptions, plan, run
from transect.protocols import Generator, TargetLike
from transect.records import Images
from transect.reports import builder
from transect.reports.blocks import Answer, Page, Paragraph, Part, Plot, Plots, TextTable, summary
from transect.reports.drawing import svg
from transect.reports.drawing.svg import Tick
from transect.runs.folder import write_json
from transect.runs.result import JobResult
from transect.texts import say

MEASURES: Final = {
    "perceptual": "perceptual distance",
    "face_distance": "face distance",
    "restriction": "restriction",
}
"""The curves of their Fig. 3."""

_HEIGHT: Final = 180.0
SOURCE: Final = "Singh et al. 2021, arXiv:2103.13455, equation 1 and Fig. 3"


@final
@dataclass(frozen=True, slots=True)
class SweepMean:
    """The mean over images and its 95 % interval by image; NaN ends with fewer than two, or where nothing varies."""

    mean: float
    low: float
    high: float
    n: int

    @classmethod
    def of(cls, values: Float[np.ndarray, " n"]) -> SweepMean:
        """Of the images that have a value."""
        known = values[np.isfinite(values)].astype(np.float64)
        if not len(known):
            return cls(np.nan, np.nan, np.nan, 0)
        ends = mean_interval(known[:, None])
        return cls(float(known.mean()), float(ends.low[0]), float(ends.high[0]), len(known))


@final
@dataclass(frozen=True, slots=True)
class SweepRow:
    """One λ. failed: images whose search failed; of the others, the target found no face in either picture (no_face).

    face_failed: other failures of the target, such as a time-out. face_distance: Euclidean distance of the target's
    embeddings of image and reconstruction; None without a target.
    """

    penalty: float
    failed: int
    no_face: int
    face_failed: int
    perceptual: SweepMean
    pixels: SweepMean
    restriction: SweepMean
    identity_distance: SweepMean
    face_distance: SweepMean | None


@final
@dataclass(frozen=True, slots=True)
class SweepNumbers:
    """A sweep over λ. face: the target of the face distance, "" without. rows: in the order of λ."""

    out: str
    images: int
    face: str
    rows: tuple[SweepRow, ...]
    source: str = SOURCE


@final
@dataclass(frozen=True, slots=True)
class SweepResult(JobResult[SweepNumbers]):
    """Inversions by λ. table: a row per λ and measure."""

    JOB: ClassVar[str] = "invert-sweep"

    @property
    def table(self) -> pa.Table:
        """penalty, measure, mean, low, high, n."""
        rows = [
            {"penalty": row.penalty, "measure": name, "mean": m.mean, "low": m.low, "high": m.high, "n": m.n}
            for row in self.numbers.rows
            for name, m in means_of(row).items()
        ]
        return pa.Table.from_pylist(rows)

    def headline(self) -> str:
        """The λ at which each distance is smallest."""
        best = []
        for name in ("perceptual", "face_distance"):
            known = [(m.mean, row.penalty) for row in self.numbers.rows if np.isfinite((m := _mean(row, name)).mean)]
            best += [f"{MEASURES[name]} is smallest at λ = {min(known)[1]:g}"] if known else []
        return f"{self.numbers.images:,} images at {len(self.numbers.rows)} λ: {', '.join(best) or 'all failed'}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per λ with mean and interval of each measure."""
        names = list(means_of(self.numbers.rows[0]))
        shown = [
            [f"{row.penalty:g}", *(_words(_mean(row, name)) for name in names), *map(str, _counts(row))]
            for row in self.numbers.rows
        ]
        return ["λ", *(name.replace("_", " ") for name in names), "failed", "no face", "target failed"], shown

    def report(self, path: str | Path) -> Path:
        """Write invert-sweep.html and invert-sweep.json into the folder `path`; returns the page's path."""
        return builder.write(page_of(self), Path(path) / "invert-sweep.html", self.numbers)


def invert_sweep(
    images: str | Path | np.ndarray | Images,
    generator: str | Path | Generator,
    out: str | Path,
    penalties: Sequence[float],
    *,
    face: TargetLike | None = None,
    steps: int | None = None,
    start: str = "mean",
    encoder: str | Path | None = None,
    fit: bool = False,
    device: str = "cpu",
    quiet: bool = False,
    options: InvertOptions | None = None,
) -> SweepResult:
    """Invert into w+ at each λ and compare: likeness, distance of faces, and how far the layers' w are apart.

    penalties: λ of equation 1, 0 or more, each once. face: a target with embeddings that measures the distance of
    faces, as dlib's in the paper; other arguments as `invert` takes them. Call again to resume.

    Raises BadInput for a λ twice, or a target without embeddings, and what `invert` raises.
    """
    chosen = sorted(penalties)
    if len(set(chosen)) < len(chosen) or not chosen:
        raise BadInput(f"penalty: expected each λ once, got {', '.join(f'{value:g}' for value in penalties) or 'none'}")
    inversion = plan(
        images, generator, penalty=chosen[0], steps=steps, start=start, encoder=encoder, fit=fit, device=device,
        options=options,
    )  # fmt: skip
    for value in chosen:
        inversion.with_penalty(value)  # one that does not fit is refused before any work
    network = None if face is None else FaceNetwork.of(face)
    rows = []
    try:
        with engines.opened(inversion.options.engine, quiet=quiet) as engine:
            for place, value in enumerate(chosen, 1):
                if not quiet:
                    say(f"λ = {value:g} ({place} of {len(chosen)})", error=True)
                inversion = inversion.with_penalty(value)  # of the last one, which has the encoder fitted
                rows.append(_row(inversion, network, Path(out), quiet, engine))
    finally:
        if network is not None and isinstance(face, str):
            costs.close([network.target])
    numbers = SweepNumbers(
        str(out), len(inversion.pictures), "" if network is None else network.target.name, tuple(rows)
    )
    write_json(Path(out) / "sweep.json", numbers, indent=1)
    return SweepResult(numbers)


def _row(inversion: Inversion, network: FaceNetwork | None, out: Path, quiet: bool, engine: Engine) -> SweepRow:
    penalty = inversion.search.penalty
    table = run(inversion, out / f"penalty-{penalty:g}", quiet=quiet, engine=engine).table
    names = ("perceptual", "pixels", "restriction", "identity_distance")
    means = {name: SweepMean.of(table[name].to_numpy()) for name in names}
    faces = None if network is None else network.distances(inversion, table, out, quiet=quiet)
    return SweepRow(
        penalty=penalty,
        failed=sum(bool(why) for why in table["failure"].to_pylist()),
        no_face=0 if faces is None else faces.no_face,
        face_failed=0 if faces is None else faces.failed,
        face_distance=None if faces is None else SweepMean.of(faces.distance),
        **means,
    )


def means_of(row: SweepRow) -> dict[str, SweepMean]:
    """The measures of a row that there are."""
    values = {field.name: getattr(row, field.name) for field in fields(row)}
    return {name: value for name, value in values.items() if isinstance(value, SweepMean)}


def _mean(row: SweepRow, name: str) -> SweepMean:
    return means_of(row).get(name, SweepMean(np.nan, np.nan, np.nan, 0))


def _counts(row: SweepRow) -> tuple[int, int, int]:
    return row.failed, row.no_face, row.face_failed


def _words(mean: SweepMean) -> str:
    if not np.isfinite(mean.mean):
        return "unknown"
    return f"{mean.mean:.4g}" + (f" ({mean.low:.4g} to {mean.high:.4g})" if np.isfinite(mean.low) else "")


def page_of(result: SweepResult) -> Page:
    """The curves of Fig. 3, each between its own smallest and largest mean, and the table of means."""
    numbers = result.numbers
    face = f"face distance: between embeddings of {numbers.face}." if numbers.face else "No face distance was asked."
    text = (
        "Means over the images with 95 % intervals by image. Perceptual distance and pixels: of image "
        "and reconstruction. Restriction: squared distances of the layers' w from their mean; 0 where all are one. "
        f"Identity distance: by the network that ships, which the search sees too; {face} A face distance says how "
        "like a network finds two pictures, not whether people see one person."
    )
    across = [Tick(at, f"{row.penalty:g}", row.penalty) for at, row in zip(_places(numbers), numbers.rows, strict=True)]
    drawn = [name for name in MEASURES if any(np.isfinite(_mean(row, name).mean) for row in numbers.rows)]
    lines = svg.joined(_curve(numbers, name, number) for number, name in enumerate(drawn))
    up = [Tick(_HEIGHT * (1 - at), words, at) for at, words in ((0.0, "smallest"), (1.0, "largest"))]
    drawing = svg.plot("sweep", "Measures by λ", "One line per measure, from its smallest to its largest mean.", lines,
                       up=up, across=across, css="section-plot", height=_HEIGHT)  # fmt: skip
    means = TextTable("Means by λ", *result.rows())
    key = svg.legend([(escape(MEASURES[name]), number) for number, name in enumerate(drawn)])
    return Page(
        "Inversion by λ",
        (
            summary(Answer((f"{result.headline()}.",)), Paragraph(text, "note")),
            Part(
                "curves",
                "Measures by λ",
                (Plots([Plot("each from its smallest to its largest mean", drawing, "λ")], numbers=means, key=key),),
            ),
            Part("means", "Means by λ", (means,)),
        ),
        question="Which λ keeps the likeness and the person, with the layers close together?",
    )


def _places(numbers: SweepNumbers) -> list[float]:
    """Positions of the λ across, in per cent: equal steps, since λ spans 0 and powers of ten."""
    return np.linspace(5, 95, len(numbers.rows)).tolist() if len(numbers.rows) > 1 else [50.0]


def _curve(numbers: SweepNumbers, name: str, number: int) -> Markup:
    means = np.array([_mean(row, name).mean for row in numbers.rows])
    low, span = np.nanmin(means), np.nanmax(means) - np.nanmin(means)
    known = [(x, 100 * (1 - (mean - low) / (span or 1))) for x, mean in zip(_places(numbers), means, strict=True)
             if np.isfinite(mean)]  # fmt: skip
    line = svg.course(" ".join(f"{x:.2f},{y:.2f}" for x, y in known), height=100)
    dots = svg.joined(svg.placed(number, f"{x:.2f}%", f"{y:.2f}%") for x, y in known)
    return svg.tag("g", line + dots, class_=f"series s{number}")
