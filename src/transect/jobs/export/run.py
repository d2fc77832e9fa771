"""`transect.export`: the numbers of a finished run in the form of another tool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, final, get_args

import pyarrow as pa

from transect.errors import UnknownName
from transect.jobs.export import formats, model_card, variation, words
from transect.reports.builder import ShortPageResult

Format = Literal["csv", "parquet", "latex", "model-card", "iso-19795-10", "mlflow", "wandb", "figures"]
FORMATS: Final[tuple[Format, ...]] = get_args(Format)


@final
@dataclass(frozen=True, slots=True)
class ExportNumbers:
    """What was written. to: the format; out: the folder; files: in it, by name; place: of a logged run, else empty."""

    run: str
    to: str
    out: str
    files: tuple[str, ...]
    place: str = ""


@final
@dataclass(frozen=True)
class ExportResult(ShortPageResult[ExportNumbers]):
    """The files that an export wrote, or where a run was logged."""

    JOB: ClassVar[str] = "export"
    TITLE: ClassVar[str] = "Exported files"
    TABLE: ClassVar[str] = "Files"

    folder: Path = field(default_factory=Path)

    @property
    def table(self) -> pa.Table:
        """A row for each file: its path."""
        return pa.table({"file": pa.array([str(self.folder / name) for name in self.numbers.files], pa.string())})

    def headline(self) -> str:
        """What was written, and where."""
        numbers = self.numbers
        if numbers.place:
            return f"Logged to {numbers.to}: {numbers.place}"
        files = "1 file" if len(numbers.files) == 1 else f"{len(numbers.files)} files"
        return f"{files} as {numbers.to} in {numbers.out}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Headings and a row per file."""
        return ("file",), [(name,) for name in self.numbers.files]


def export(
    run: str | Path, to: Format, out: str | Path | None = None, *, model: str = "", project: str = "transect"
) -> ExportResult:
    """Hand a finished run to another tool.

    run: the folder of an audit; for figures the folder of any job with a page, or a page; for "iso-19795-10" also that
    of `recognition`. to: "csv" or "parquet", a file for each table; "latex", tables for a paper, with booktabs;
    "model-card", the sections of Mitchell et al. 2019, with metadata in the form of the Hugging Face Hub;
    "iso-19795-10", a report in the shape of this standard, without a claim to conform; "mlflow" and "wandb", a run in
    these services, kept on this computer unless MLFLOW_TRACKING_URI or WANDB_MODE say otherwise; "figures", every
    figure as SVG, PNG and numbers. out: the folder, by default `export` in that of the run. model: its name on the
    card, by default the target's. project: the experiment or project that a run is logged to.

    Raises BadInput for a folder without a finished run, UnknownName for another format, MissingExtra where the
    libraries of figures, MLflow or Weights & Biases are not installed.
    """
    if to not in FORMATS:
        raise UnknownName("format", to, list(FORMATS))
    path = Path(run)
    folder = Path(out) if out is not None else (path if path.is_dir() else path.parent) / "export"
    if to == "figures":
        return _result(path, to, folder, formats.write_figures(path, folder))
    if to == "iso-19795-10":
        return _result(path, to, folder, variation.write_variation(path, folder))
    results = words.results_of(path)
    if to in ("mlflow", "wandb"):
        if to == "mlflow":
            place = formats.to_mlflow(results, path, folder, project)
        else:
            place = formats.to_wandb(results, words.tables_of(results), path, folder, project)
        return ExportResult(ExportNumbers(str(path), to, str(folder), (), place), folder)
    writers: dict[str, Callable[[], list[Path]]] = {
        "csv": lambda: words.write_csv(words.tables_of(results), folder),
        "parquet": lambda: words.write_parquet(words.tables_of(results), folder),
        "latex": lambda: formats.write_latex(results, folder),
        "model-card": lambda: model_card.write(results, model or _targets(results), folder),
    }
    return _result(path, to, folder, writers[to]())


def _result(run: Path, to: str, out: Path, files: Sequence[Path]) -> ExportResult:
    return ExportResult(ExportNumbers(str(run), to, str(out), tuple(path.name for path in files)), out)


def _targets(results: dict[str, Any]) -> str:
    return ", ".join(dict.fromkeys(target["name"] for study in results["studies"] for target in study["targets"]))
