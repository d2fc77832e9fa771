"""What people saw, beside a run: perceived values by image, and rules by which images are left out.

DIR/perceived.parquet   id, and one column per perceived attribute, in the units of the attribute
DIR/pruning.json        the rules, as they were given

Both are the user's own and change no image and no answer: with them the same run is analysed anew. Where a folder
holds several studies, a column `study` says of which each row is, since their images have the same ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.effects.pruning import AS_PUBLISHED, Pruning, Rule, prune
from transect.effects.samples import read_columns
from transect.errors import BadInput
from transect.store import FinishedRun, write_atomically

PERCEIVED: Final = "perceived.parquet"
PRUNING: Final = "pruning.json"
PUBLISHED: Final = "as-published"
"""The rules of Balakrishnan et al. 2020, in their two steps."""
STUDY: Final = "study"
_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RULE: Final = re.compile(
    rf"\s*(?:(?P<least>{_NUMBER})\s*<=\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:(?P<sign>>=|<=|<)\s*(?P<value>{_NUMBER}))?\s*"
)


@final
@dataclass(frozen=True, slots=True)
class Ratings:
    """columns: perceived values by attribute [n]; reasons [n]: why an image is left out, "" where it is not.

    pruning: which images are left after each step of the rules; None without rules. unknown: ids of rows that are of
    no image of the run, and are not used.
    """

    columns: Mapping[str, Float[np.ndarray, " n"]]
    reasons: np.ndarray
    pruning: Pruning | None = None
    unknown: tuple[str, ...] = ()

    def reasons_after(self, steps: int) -> np.ndarray:
        """Why images are left out by the first so many steps of the rules; "" where they are not."""
        reasons = np.full(len(self.reasons), "", dtype=object)
        made = self.pruning
        before = np.ones(len(reasons), dtype=bool)
        for step, left in zip(made.steps[:steps], made.after[:steps], strict=True) if made else ():
            reasons[before & ~left] = f"pruned by {step.name}"
            before = left
        return reasons


def parse_rule(text: str) -> Rule:
    """The rule that a text states: NAME>=A, NAME<=B, NAME<B, or A<=NAME<=B; never evaluated as code.

    Raises BadInput for anything else.

    >>> parse_rule("0.4 <= gender <= 0.6").text, parse_rule("age<0.4").text
    ('0.4 <= gender <= 0.6', 'age < 0.4')
    """
    match = _RULE.fullmatch(text)
    if match is None or not (match["least"] or match["sign"]) or (match["least"] and match["sign"] == ">="):
        raise BadInput(
            f"--prune {text!r}: expected NAME>=A, NAME<=B, NAME<B or A<=NAME<=B, for example 'fakeness>=0.75', or "
            f"{PUBLISHED}"
        )
    low = float(match["value"]) if match["sign"] == ">=" else float(match["least"]) if match["least"] else -np.inf
    high = float(match["value"]) if match["sign"] in ("<=", "<") else np.inf
    return Rule(match["name"], low, high, match["sign"] == "<")


def parse_rules(texts: Sequence[str]) -> dict[str, tuple[Rule, ...]]:
    """Each text as it is kept, and its rules: one, or those of the paper. Raises BadInput for anything else.

    >>> {text: len(rules) for text, rules in parse_rules(["as-published", "age<0.2"]).items()}
    {'as-published': 5, 'age < 0.2': 1}
    """
    made: dict[str, tuple[Rule, ...]] = {}
    for text in texts:
        rules = AS_PUBLISHED if text.strip() == PUBLISHED else (parse_rule(text),)
        made[PUBLISHED if rules is AS_PUBLISHED else rules[0].text] = rules
    return made


def check(perceived: str | Path | None, rules: Sequence[str]) -> None:
    """Raises BadInput for a file that cannot be read or rules that say nothing, before anything is made."""
    parse_rules(rules)
    if perceived is not None:
        _checked(_read_table(Path(perceived)), Path(perceived))


def attach(folder: Path, perceived: Path | None, rules: Sequence[str]) -> list[str]:
    """Put ratings and rules beside a run, or each study of a folder, after a look at whether they fit.

    Nothing is written where they do not. Returns a line for each study some of whose rows are of no image.

    Raises BadInput for a folder without a finished run, a table without ids or of other images, or a rule that cannot
    be read; UnknownName for a rule about another column.
    """
    if perceived is None and not rules:
        return []
    parsed = parse_rules(rules)
    table = None if perceived is None else _checked(_read_table(perceived), perceived)
    fitting = list(_fitting(folder, table, perceived, parsed))
    if not fitting:
        raise BadInput(f"{folder}: expected ratings for --prune to look at, got none; give --ratings too")
    for run, rows, _ in fitting:
        if rows is not None:
            import pyarrow.parquet as pq

            sink = pa.BufferOutputStream()
            pq.write_table(rows, sink)
            write_atomically(run / PERCEIVED, sink.getvalue().to_pybytes())
        if parsed:
            write_atomically(run / PRUNING, json.dumps(list(parsed), indent=1).encode())
    return [line for run, _, made in fitting for line in unknown_lines(run.name, made)]


def unknown_lines(study: str, made: Ratings) -> list[str]:
    """What is said of rows that are of no image; nothing where there are none."""
    if not made.unknown:
        return []
    rated = len(made.unknown)
    shown = ", ".join(made.unknown[:3]) + (", …" if rated > 3 else "")
    return [f"Ratings whose id is of no image of {study}, and that are not used: {rated:,} ({shown})"]


def _fitting(
    folder: Path, table: Any, perceived: Path | None, parsed: Mapping[str, tuple[Rule, ...]]
) -> Iterator[tuple[Path, Any, Ratings]]:
    """Each run that ratings or rules are for, its rows, and what they say. Raises BadInput where they do not fit."""
    for run, rows in _rows_by_run(folder, table, perceived):
        ids = _ids(run)
        columns, unknown = _attached(run, ids) if rows is None else _aligned(rows, perceived, ids)
        if columns:
            yield run, rows, _pruned(columns, unknown, parsed or _rules(run), len(ids))


def _rows_by_run(folder: Path, table: Any, perceived: Path | None) -> Iterator[tuple[Path, Any]]:
    """Runs and the rows of the table that are theirs; None without a table, for the rows that are already there."""
    runs = sorted(path.parent for path in folder.glob("studies/*/run.json"))
    if table is None or STUDY not in table.column_names:
        if len(runs) > 1 and table is not None:
            raise BadInput(
                f"{perceived}: expected a column {STUDY} beside id, since {folder} has {len(runs)} studies with images "
                f"of their own ({', '.join(run.name for run in runs)}), got none; add it"
            )
        yield from ((run, table) for run in runs or [folder])
        return
    named = [str(one) for one in table[STUDY].to_pylist()]
    called = {run: run.name for run in runs} or {folder: str(FinishedRun(folder).spec["name"])}
    if runs and (others := sorted(set(named) - set(called.values()))):
        raise BadInput(
            f"{perceived}: expected studies {', '.join(called.values())}, got {', '.join(others[:3])}; mend them"
        )
    for run, name in called.items():
        rows = table.filter(pa.array([one == name for one in named], pa.bool_())).drop_columns([STUDY])
        # What nobody was asked about a study's images is no rating of them.
        rows = rows.select([one for one in rows.column_names if one == "id" or rows[one].null_count < len(rows)])
        if rows.num_columns > 1:
            yield run, rows
        elif not runs:
            raise BadInput(f"{perceived}: expected ratings of {name}, got none in its column {STUDY}; mend it")


def read(folder: Path, ids: Sequence[str]) -> Ratings:
    """The ratings and rules of a run, in the order of its images; nothing where there are none.

    Raises BadInput for an id given twice, for ratings none of which is of these images, or a rule without a column.
    """
    columns, unknown = _attached(folder, ids)
    rules = _rules(folder)
    if rules and not columns:
        raise BadInput(f"{folder}: expected ratings for --prune to look at, got none; give --ratings too")
    return _pruned(columns, unknown, rules, len(ids))


def _ids(folder: Path) -> list[str]:
    """The ids of one run's images."""
    run = FinishedRun(folder)
    parts = -(-int(run.spec["design"]["subjects"]) // int(run.spec["subjects_per_part"]))
    return [str(one) for one in run.read_table("images", parts, without=("image",))["id"].to_pylist()]


Aligned = tuple[dict[str, Float[np.ndarray, " n"]], tuple[str, ...]]
"""Columns in the order of a run's images, and the ids that are of none."""


def _attached(folder: Path, ids: Sequence[str]) -> Aligned:
    path = folder / PERCEIVED
    return _aligned(_read_table(path), path, ids) if path.exists() else ({}, ())


def _pruned(
    columns: Mapping[str, Float[np.ndarray, " n"]],
    unknown: tuple[str, ...],
    rules: Mapping[str, tuple[Rule, ...]],
    n_images: int,
) -> Ratings:
    """The ratings, and which rule left an image out first."""
    nothing = np.full(n_images, "", dtype=object)
    if not rules:
        return Ratings(columns, nothing, None, unknown)
    if PUBLISHED in rules:
        _as_in_the_paper(columns)
    made = prune(columns, [rule for each in rules.values() for rule in each])
    pruned = Ratings(columns, nothing, made, unknown)
    return Ratings(columns, pruned.reasons_after(len(made.steps)), made, unknown)


def _as_in_the_paper(columns: Mapping[str, Float[np.ndarray, " n"]]) -> None:
    """Raises BadInput where a column that the published rules are about is missing, or is not from 0 to 1."""
    names = list(dict.fromkeys(rule.attribute for rule in AS_PUBLISHED))
    missing = [name for name in names if name not in columns]
    wide = [name for name in names if name in columns and _outside(columns[name])]
    if not (missing or wide):
        return
    got = f"no {', '.join(missing)}" if missing else f"other values of {', '.join(wide)}"
    raise BadInput(
        f"--prune {PUBLISHED}: expected mean ratings from 0 to 1 of {', '.join(names)}, as the paper has them, got "
        f"{got}; add or scale those columns, or state rules of your own"
    )


def _outside(values: Float[np.ndarray, " n"]) -> bool:
    known = values[np.isfinite(values)]
    return bool(((known < 0) | (known > 1)).any())


def _rules(folder: Path) -> dict[str, tuple[Rule, ...]]:
    path = folder / PRUNING
    return parse_rules(json.loads(path.read_text(encoding="utf-8"))) if path.exists() else {}


def _checked(table: Any, path: Path) -> Any:
    """The table, if it has ids, columns, and no name twice. Raises BadInput otherwise."""
    names = table.column_names
    if "id" not in names or not set(names) - {"id", STUDY} or len(set(names)) < len(names):
        raise BadInput(f"{path}: expected a column id and one per attribute, each once, got {', '.join(names)}")
    return table


def _aligned(table: Any, path: Path | None, ids: Sequence[str]) -> Aligned:
    """Columns of the table in the order of the ids, NaN for an image that has no row; ids of no image."""
    named = [str(one) for one in _checked(table, path or Path(PERCEIVED))["id"].to_pylist()]
    if len(set(named)) < len(named):
        raise BadInput(f"{path}: expected every id once, got some twice; average an image's ratings")
    place = {one: row for row, one in enumerate(named)}
    rows = np.array([place.get(one, -1) for one in ids])
    if (rows < 0).all():
        told = ", ".join(named[:3]) or "no row"
        raise BadInput(f"{path}: expected ratings of this run's images, such as {ids[0]}, got {told}; check the ids")
    attributes, values = read_columns(table.drop_columns(["id"]))
    found = np.where((rows[:, None] >= 0) & np.isfinite(values[rows]), values[rows], np.nan)
    known = set(ids)
    unknown = tuple(one for one in named if one not in known)
    return {name: found[:, column] for column, name in enumerate(attributes)}, unknown


def _read_table(path: Path) -> Any:
    try:
        if path.suffix.lower() == ".csv":
            from pyarrow import csv

            return csv.read_csv(
                path, convert_options=csv.ConvertOptions(column_types={"id": pa.string(), STUDY: pa.string()})
            )
        import pyarrow.parquet as pq

        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: expected a readable CSV or Parquet of ratings, got {error}; mend the file") from None
