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
from transect.store import FinishedRun, write_atomically

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
    """Put ratings and rules beside a run, after a look at whether they fit it; nothing is written where they do not.

    Raises BadInput for a folder that is not one finished run, a table without ids or of other images, or a rule that
    cannot be read; UnknownName for a rule about another column.
    """
    if perceived is None and not rules:
        return
    parsed = tuple(parse_rule(text) for text in rules)
    ids = _ids(folder)
    table = None if perceived is None else _read_table(perceived)
    columns = _attached(folder, ids) if table is None else _aligned(table, perceived, ids)
    _pruned(folder, columns, parsed or _rules(folder), len(ids))
    if table is not None:
        import pyarrow.parquet as pq

        sink = pa.BufferOutputStream()
        pq.write_table(table, sink)
        write_atomically(folder / PERCEIVED, sink.getvalue().to_pybytes())
    if parsed:
        write_atomically(folder / PRUNING, json.dumps([rule.text for rule in parsed], indent=1).encode())


def read(folder: Path, ids: Sequence[str]) -> Ratings:
    """The ratings and rules of a run, in the order of its images; nothing where there are none.

    Raises BadInput for an id given twice, for ratings none of which is of these images, or a rule without a column.
    """
    return _pruned(folder, _attached(folder, ids), _rules(folder), len(ids))


def _ids(folder: Path) -> list[str]:
    """The ids of one run's images."""
    studies = sorted(path.parent for path in folder.glob("studies/*/run.json"))
    if studies:
        raise BadInput(
            f"{folder}: expected one run, got {len(studies)} studies with images of their own; give ratings to one, "
            f"for example transect report {studies[0]} --perceived FILE, then report {folder} again"
        )
    run = FinishedRun(folder)
    parts = -(-int(run.spec["design"]["subjects"]) // int(run.spec["subjects_per_part"]))
    return [str(one) for one in run.read_table("images", parts, without=("image",))["id"].to_pylist()]


def _attached(folder: Path, ids: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
    path = folder / PERCEIVED
    return _aligned(_read_table(path), path, ids) if path.exists() else {}


def _pruned(
    folder: Path, columns: Mapping[str, Float[np.ndarray, " n"]], rules: tuple[Rule, ...], n_images: int
) -> Ratings:
    """The ratings, and which rule left an image out first."""
    reasons = np.full(n_images, "", dtype=object)
    if not rules:
        return Ratings(columns, reasons)
    if not columns:
        raise BadInput(f"{folder}: expected ratings for --prune to look at, got none; give --perceived too")
    before = np.ones(n_images, dtype=bool)
    made = prune(columns, rules)
    for step, left in zip(made.steps, made.after, strict=True):
        reasons[before & ~left] = f"pruned by {step.name}"
        before = left
    return Ratings(columns, reasons, rules)


def _rules(folder: Path) -> tuple[Rule, ...]:
    path = folder / PRUNING
    return tuple(parse_rule(text) for text in json.loads(path.read_text(encoding="utf-8"))) if path.exists() else ()


def _aligned(table: Any, path: Path | None, ids: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
    """Columns of the table in the order of the ids; NaN for an image that has no row."""
    names = table.column_names
    if "id" not in names or len(names) < 2 or len(set(names)) < len(names):
        raise BadInput(f"{path}: expected a column id and one per attribute, each once, got {', '.join(names)}")
    named = [str(one) for one in table["id"].to_pylist()]
    if len(set(named)) < len(named):
        raise BadInput(f"{path}: expected every id once, got some twice; average an image's ratings")
    place = {one: row for row, one in enumerate(named)}
    rows = np.array([place.get(one, -1) for one in ids])
    if (rows < 0).all():
        told = ", ".join(named[:3]) or "no row"
        raise BadInput(f"{path}: expected ratings of this run's images, such as {ids[0]}, got {told}; check the ids")
    attributes, values = read_columns(table.drop_columns(["id"]))
    found = np.where((rows[:, None] >= 0) & np.isfinite(values[rows]), values[rows], np.nan)
    return {name: found[:, column] for column, name in enumerate(attributes)}


def _read_table(path: Path) -> Any:
    try:
        if path.suffix.lower() == ".csv":
            from pyarrow import csv

            return csv.read_csv(path, convert_options=csv.ConvertOptions(column_types={"id": pa.string()}))
        import pyarrow.parquet as pq

        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: expected a readable CSV or Parquet of ratings, got {error}; mend the file") from None
