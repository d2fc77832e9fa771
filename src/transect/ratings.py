"""What people saw, beside a run: perceived values by image, and rules by which images are left out.

DIR/perceived.parquet   id, and one column per perceived attribute, in the units of the attribute
DIR/pruning.json        the rules, as they were given

Both are the user's own and change no image and no answer: with them the same run is analysed anew.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.effects.pruning import Rule, prune
from transect.effects.samples import read_columns
from transect.errors import BadInput
from transect.store import write_atomically

PERCEIVED: Final = "perceived.parquet"
PRUNING: Final = "pruning.json"
_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RULE: Final = re.compile(
    rf"\s*(?:(?P<least>{_NUMBER})\s*<=\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:(?P<sign>>=|<=|<)\s*(?P<value>{_NUMBER}))?\s*"
)


@final
@dataclass(frozen=True, slots=True)
class Ratings:
    """columns: perceived values by attribute [n]; reasons [n]: why an image is left out, "" where it is not."""

    columns: Mapping[str, Float[np.ndarray, " n"]]
    reasons: np.ndarray
    rules: tuple[Rule, ...] = field(default=())


def parse_rule(text: str) -> Rule:
    """The rule that a text states: NAME>=A, NAME<=B, NAME<B, or A<=NAME<=B; never evaluated as code.

    Raises BadInput for anything else.

    >>> parse_rule("0.4 <= gender <= 0.6").text, parse_rule("age<0.4").text
    ('0.4 <= gender <= 0.6', 'age < 0.4')
    """
    match = _RULE.fullmatch(text)
    if match is None or not (match["least"] or match["sign"]) or (match["least"] and match["sign"] == ">="):
        raise BadInput(
            f"--prune {text!r}: expected NAME>=A, NAME<=B, NAME<B or A<=NAME<=B, for example 'fakeness>=0.75'"
        )
    low = float(match["value"]) if match["sign"] == ">=" else float(match["least"]) if match["least"] else -np.inf
    high = float(match["value"]) if match["sign"] in ("<=", "<") else np.inf
    return Rule(match["name"], low, high, match["sign"] == "<")


def attach(folder: Path, perceived: Path | None, rules: Sequence[str]) -> None:
    """Put ratings and rules beside a run. Raises BadInput for a table without ids or a rule that cannot be read."""
    parsed = [parse_rule(text) for text in rules]
    if perceived is not None:
        table = _read_table(perceived)
        if "id" not in table.column_names or len(table.column_names) < 2:
            raise BadInput(
                f"{perceived}: expected a column id and one per attribute, got {', '.join(table.column_names)}"
            )
        sink = pa.BufferOutputStream()
        import pyarrow.parquet as pq

        pq.write_table(table, sink)
        write_atomically(folder / PERCEIVED, sink.getvalue().to_pybytes())
    if parsed:
        write_atomically(folder / PRUNING, json.dumps([rule.text for rule in parsed], indent=1).encode())


def read(folder: Path, ids: Sequence[str]) -> Ratings:
    """The ratings and rules of a run, in the order of its images; nothing where there are none.

    Raises BadInput for an id given twice, for ratings none of which is of these images, or a rule without a column.
    """
    columns: dict[str, Float[np.ndarray, " n"]] = {}
    if (folder / PERCEIVED).exists():
        columns = _aligned(folder / PERCEIVED, ids)
    reasons = np.full(len(ids), "", dtype=object)
    rules = _rules(folder)
    if not rules:
        return Ratings(columns, reasons)
    if not columns:
        raise BadInput(f"{folder}: the rules of {PRUNING} need ratings, got none; give --perceived too")
    before = np.ones(len(ids), dtype=bool)
    made = prune(columns, rules)
    for step, left in zip(made.steps, made.after, strict=True):
        reasons[before & ~left] = f"pruned by {step.name}"
        before = left
    return Ratings(columns, reasons, rules)


def _rules(folder: Path) -> tuple[Rule, ...]:
    path = folder / PRUNING
    return tuple(parse_rule(text) for text in json.loads(path.read_text(encoding="utf-8"))) if path.exists() else ()


def _aligned(path: Path, ids: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
    table = _read_table(path)
    named = [str(one) for one in table["id"].to_pylist()]
    if len(set(named)) < len(named):
        raise BadInput(f"{path}: expected every id once, got some twice; average an image's ratings")
    place = {one: row for row, one in enumerate(named)}
    rows = np.array([place.get(one, -1) for one in ids])
    if (rows < 0).all():
        raise BadInput(f"{path}: expected ratings of this run's images, such as {ids[0]}, got {', '.join(named[:3])}")
    names, values = read_columns(table.drop_columns(["id"]))
    found = np.where(rows[:, None] >= 0, values[rows], np.nan)
    return {name: found[:, column] for column, name in enumerate(names)}


def _read_table(path: Path) -> Any:
    try:
        if path.suffix.lower() == ".csv":
            from pyarrow import csv

            return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types={"id": pa.string()}))
        import pyarrow.parquet as pq

        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: expected a readable CSV or Parquet of ratings, got {error}") from None
