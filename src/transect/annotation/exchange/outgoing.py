"""What is exported: which formats there are, and where they go."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from transect.annotation.exchange.answers_table import answers_table, as_parquet, ratings_table
from transect.annotation.exchange.crowd import ground_truth, label_studio, mturk
from transect.annotation.project import FOLDER, Project
from transect.errors import BadInput, UnknownName
from transect.runs.csv_files import csv_of
from transect.runs.folder import write_atomically

_DEFAULT: Final = {
    "answers": "answers.parquet",
    "ratings": "ratings.parquet",
    "mturk": "mturk",
    "ground-truth": "ground-truth",
    "label-studio": "label-studio",
}


def default(run: Path, kind: str) -> Path:
    """The default destination of a kind of export. Raises UnknownName for another kind."""
    if kind not in _DEFAULT:
        raise UnknownName("format", kind, _DEFAULT)
    return run / FOLDER / _DEFAULT[kind]


def write(project: Project, kind: str, out: Path, scale: str, image_url: str) -> dict[str, Any]:
    """Write one kind of export; returns what was written.

    Raises UnknownName for another kind, BadInput for a file that is neither .csv nor .parquet or another scale.
    """
    if kind not in _DEFAULT:
        raise UnknownName("format", kind, _DEFAULT)
    if kind in ("answers", "ratings"):
        return _table(project, kind, out, scale)
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
