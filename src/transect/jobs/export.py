"""Hand a finished run to other tools: tables, a paper, a model card, a technical file, MLflow, W&B, figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Literal, final

import pyarrow as pa

from transect.errors import BadInput
from transect.job import Content, Job, Option, function
from transect.reports.columns import Column, Table
from transect.reports.exports import formats, model_card, performance_variation, technical_file
from transect.reports.exports.result_texts import content_of, results_of, tables_of
from transect.runs import working_folders
from transect.runs.folder import begun, parquet_of, write_atomically
from transect.runs.table_inputs import csv_of
from transect.runs.wording import counted
from transect.texts import encodable

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
            "Folder of a finished audit. figures accepts any job or page; iso-19795-10 also accepts `transect "
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
    project: Annotated[str, Option("MLflow experiment or Weights & Biases project to log to.")] = "transect"
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
        files = self._files(run)
        for name, content in files.items():
            path, whole = out / name, encodable(content).encode() if isinstance(content, str) else content
            if not self.overwrite and path.is_file() and path.read_bytes() != whole:
                other = "choose another --out, or replace it with --overwrite"
                raise BadInput(f"{path}: expected a new file, found one; {other}")
        for name, content in files.items():
            write_atomically(out / name, content)
        return ExportNumbers(str(run), self.to, str(out), tuple(files))

    def _logged(self, run: Path, out: Path) -> str:
        """Where the run is in the service."""
        results = results_of(run)
        if self.to == "mlflow":
            return formats.to_mlflow(results, run, out, self.project)
        return formats.to_wandb(results, tables_of(content_of(run)), run, out, self.project)

    def _files(self, run: Path) -> Mapping[str, str | bytes]:
        """What the files hold, by name; of a CSV no text runs as a formula of a spreadsheet."""
        if self.to == "figures":
            return formats.figures(run)
        if self.to == "pdf":
            return formats.pdf(run)
        if self.to == "iso-19795-10":
            return performance_variation.variation(run)
        results = results_of(run)
        if self.to == "model-card":
            return model_card.cards(results, self.model)
        if self.to == "technical-file":
            return technical_file.files(results, self.model, begun(run))
        if self.to == "latex":
            return formats.latex(results)
        data_of = csv_of if self.to == "csv" else parquet_of
        return {f"{name}.{self.to}": data_of(table) for name, table in tables_of(content_of(run)).items()}

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
