"""Hand a finished run to other tools: tables, a paper, a model card, a technical file, MLflow, W&B, figures."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, final

import pyarrow as pa

from transect.errors import BadInput
from transect.job import Content, Job, Option, function
from transect.reports.columns import Column, Table
from transect.reports.exports import formats, model_card, performance_variation, technical_file
from transect.reports.exports.result_texts import content_of, results_of, tables_of, write_csv, write_parquet
from transect.runs import working_folders
from transect.runs.folder import begun, write_atomically
from transect.runs.wording import counted

Format = Literal[
    "csv", "parquet", "latex", "model-card", "technical-file", "iso-19795-10", "mlflow", "wandb", "figures", "pdf"
]  # fmt: skip


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
class Export(Job[ExportNumbers]):
    """Hand a finished run to another tool.

    run: the folder of an audit; for figures the folder of any job with a page, or a page; for "iso-19795-10" also that
    of `recognition`. to: "csv" or "parquet", a file for each table; "latex", tables for a paper, with booktabs;
    "model-card", the sections of Mitchell et al. 2019, with metadata in the form of the Hugging Face Hub, and
    "technical-file", two pages for a provider's documentation, of each model;
    "iso-19795-10", a report in the shape of this standard, without a claim to conform; "mlflow" and "wandb", a run in
    these services, kept on this computer unless MLFLOW_TRACKING_URI or WANDB_MODE say otherwise; "figures", every
    figure as SVG, PNG and numbers; "pdf", the first screen of the report as one page. The result's table has a row for
    each file: its path. overwrite: replace files that are there and hold something else, as a card that was filled in.

    Raises BadInput for a folder without a finished run and for such a file, UnknownName for another format,
    MissingExtra where the libraries of figures, MLflow or Weights & Biases are not installed.
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False

    run: Annotated[
        str | Path,
        Option(
            "The folder of a finished audit; for figures of any job, or a page; for iso-19795-10 also of `transect "
            "recognition`.",
            metavar="RUN",
            argument=True,
            opens="data",
        ),
    ]
    to: Annotated[
        Format,
        Option(
            "The format: csv, parquet, latex, model-card, technical-file, iso-19795-10, mlflow, wandb, figures "
            "(SVG, PNG, CSV) or pdf (one page, printed by Chromium).",
            metavar="FORMAT",
        ),
    ]
    out: Annotated[
        str | Path | None, Option("The folder to write; default RUN/export.", metavar="DIR", opens="write")
    ] = None
    _: KW_ONLY
    model: Annotated[str, Option("The model's name on a model card or in a technical file; default the target's.")] = ""
    project: Annotated[str, Option("The experiment of MLflow, or the project of Weights & Biases, to log to.")] = (
        "transect"
    )
    overwrite: Annotated[bool, Option("Replace existing files.")] = False

    def place(self) -> None:
        """No page: the folder holds the files of the other tool alone."""

    def compute(self) -> ExportNumbers:
        """The files, written, or the run, logged."""
        run = Path(self.run)
        out = Path(self.out) if self.out is not None else (run if run.is_dir() else run.parent) / "export"
        working_folders.check_folder(out)
        if self.to in ("mlflow", "wandb"):
            return ExportNumbers(str(run), self.to, str(out), (), self._logged(run, out))
        with tempfile.TemporaryDirectory() as folder:
            files = {path.name: path.read_bytes() for path in self._written(run, Path(folder))}
        self._place(files, out)
        return ExportNumbers(str(run), self.to, str(out), tuple(files))

    def _place(self, files: Mapping[str, bytes], out: Path) -> None:
        """Write the files. Raises BadInput, before any is written, for one that would replace another text."""
        for name, content in files.items():
            if not self.overwrite and (out / name).is_file() and (out / name).read_bytes() != content:
                other = "choose another --out, or replace it with --overwrite"
                raise BadInput(f"{out / name}: expected a new file, found one; {other}")
        for name, content in files.items():
            write_atomically(out / name, content)

    def _logged(self, run: Path, out: Path) -> str:
        """Where the run is in the service."""
        results = results_of(run)
        if self.to == "mlflow":
            return formats.to_mlflow(results, run, out, self.project)
        return formats.to_wandb(results, tables_of(content_of(run)), run, out, self.project)

    def _written(self, run: Path, out: Path) -> list[Path]:
        if self.to == "figures":
            return formats.write_figures(run, out)
        if self.to == "pdf":
            return formats.write_pdf(run, out)
        if self.to == "iso-19795-10":
            return performance_variation.write_variation(run, out)
        results = results_of(run)
        if self.to == "model-card":
            return model_card.write(results, self.model, out)
        if self.to == "technical-file":
            return technical_file.write(results, self.model, out, begun(run))
        if self.to == "latex":
            return formats.write_latex(results, out)
        write_tables = write_csv if self.to == "csv" else write_parquet
        return write_tables(tables_of(content_of(run)), out)

    def content(self, numbers: ExportNumbers) -> Content:
        """What was written, and where."""
        if numbers.place:
            said = f"Logged to {numbers.to}: {numbers.place}"
        else:
            said = f"{counted(len(numbers.files), 'file')} as {numbers.to} in {numbers.out}"
        paths = [str(Path(numbers.out) / name) for name in numbers.files]
        name: Column[str] = Column("file", lambda file: file)
        return Content(
            title="Exported files",
            answer=[said],
            table=Table("Files", numbers.files, [name]),
            rows=pa.table({"file": pa.array(paths, pa.string())}),
            terminal=[said],
        )


export = function(Export)
