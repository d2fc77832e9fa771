"""What is exported: which formats there are, and where they go."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from transect.annotation.exchange.answers_table import answers_table, as_parquet, ratings_table
from transect.annotation.exchange.crowd import ground_truth, label_studio, mturk
from transect.annotation.project import Project
from transect.annotation.sources import home_of
from transect.errors import BadInput, UnknownName
from transect.runs.csv_files import csv_of
from transect.runs.folder import write_atomically

_DEFAULT: Final = {
    "answers": "answers.parquet",
    "ratings": "ratings.parquet",
    "pairs": "pairs.csv",
    "mturk": "mturk",
    "ground-truth": "ground-truth",
    "label-studio": "label-studio",
}


def default(place: str | Path, kind: str) -> Path:
    """The default destination of a kind of export. Raises UnknownName for another kind."""
    if kind not in _DEFAULT:
        raise UnknownName("format", kind, _DEFAULT)
    return home_of(place) / _DEFAULT[kind]


def write(project: Project, kind: str, out: Path, scale: str, image_url: str) -> dict[str, Any]:
    """Write one kind of export; returns what was written.

    Raises UnknownName for another kind, BadInput for a file that is neither .csv nor .parquet or another scale.
    """
    if kind not in _DEFAULT:
        raise UnknownName("format", kind, _DEFAULT)
    if kind != "answers" and project.pictures.are_texts:
        raise BadInput(f"--format {kind}: expected answers, the only format of answers about texts; choose it")
    if kind in ("answers", "ratings"):
        return _table(project, kind, out, scale)
    if kind == "pairs":
        return _pairs(project, out)
    makers = {"mturk": mturk, "ground-truth": ground_truth, "label-studio": label_studio}
    return makers[kind](project, out, image_url)


def _table(project: Project, kind: str, out: Path, scale: str) -> dict[str, object]:
    if scale not in ("attribute", "unit"):
        raise UnknownName("scale", scale, ("attribute", "unit"))
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise BadInput(f"--out {out}: expected a name that ends in .csv or .parquet; choose one")
    unit = "unit" if scale == "unit" else "attribute"
    table = answers_table(project) if kind == "answers" else ratings_table(project, unit)  # type: ignore[arg-type]
    write_atomically(out, csv_of(table) if out.suffix.lower() == ".csv" else as_parquet(table))
    summary: dict[str, Any] = {"out": str(out), "rows": len(table)}
    if kind == "ratings" and out.suffix.lower() == ".csv":
        summary["only_in_parquet"] = "attributes, scales and levels of questions, who could not tell, who was shut out"
    return summary


def _pairs(project: Project, out: Path) -> dict[str, object]:
    """The pairs of an inversion and its photographs, as `annotate same-person` reads them: first, second, kind."""
    rows = [{"study": study, **pair._asdict()} for study, pair in project.pictures.pairs]
    if not rows:
        raise BadInput("--format pairs: expected an inversion that is served with --photographs, got other images")
    table = pa.Table.from_pylist(rows)
    write_atomically(out, csv_of(table.drop_columns(["study"]) if not any(table["study"].to_pylist()) else table))
    return {"out": str(out), "rows": len(rows)}
