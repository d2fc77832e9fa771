"""The tables of an audit that are handed on: effects, rates, interactions, negative controls, targets."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from transect.errors import BadInput
from transect.reports.results import read
from transect.runs.csv_files import csv_of
from transect.runs.folder import write_atomically, write_table
from transect.runs.plain_json import loads

LISTS: Final = ("effects", "rates", "interactions", "negative_controls")
"""The lists of results.json that become tables; empty ones do not."""


def results_of(run: Path) -> dict[str, Any]:
    """What results.json of an audit holds, checked against its schema. Raises BadInput where there is none to read."""
    path = run / "results.json" if run.is_dir() else run
    try:
        content = loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise BadInput(
            f"{run}: expected the folder of a finished audit, with results.json; other jobs: --to figures"
        ) from None
    if not isinstance(content, dict):
        raise BadInput(f"{path}: expected the results of an audit as a JSON object, got {type(content).__name__}")
    try:
        read(content)
    except BadInput as failure:
        again = f"of another version? write them again: transect report {path.parent}"
        raise BadInput(f"{path}: {failure}; {again}") from None
    return content


def tables_of(results: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Each table by name; settings and lists within a row are JSON texts. targets: a row per study and target."""
    rows: dict[str, Sequence[Mapping[str, Any]]] = {name: results.get(name, []) for name in LISTS}
    rows["targets"] = [
        {"study": study["name"], "subjects": study["subjects"], "seed": study["seed"], **target}
        for study in results["studies"]
        for target in study["targets"]
    ]
    return {name: _table(each) for name, each in rows.items() if each}


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: [_cell(row.get(name)) for row in rows] for name in names})


def _cell(value: object) -> object:
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return value


def write_csv(tables: Mapping[str, pa.Table], out: Path) -> list[Path]:
    """A CSV file per table; a text that a spreadsheet would run as a formula gets an apostrophe in front."""
    for name, table in tables.items():
        write_atomically(out / f"{name}.csv", csv_of(table))
    return [out / f"{name}.csv" for name in tables]


def write_parquet(tables: Mapping[str, pa.Table], out: Path) -> list[Path]:
    """A Parquet file per table."""
    for name, table in tables.items():
        write_table(out / f"{name}.parquet", table)
    return [out / f"{name}.parquet" for name in tables]
