"""What people saw, beside a run: perceived values by image, and rules by which images are left out.

DIR/perceived.parquet   id, and one column per perceived attribute, in the units of the attribute
DIR/ratings.parquet     people's single answers: id, rater, and one column per attribute; an image as often as answered
DIR/pruning.json        the rules, as they were given

All are the user's own and change no image and no answer: with them the same run is analysed anew.
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
from jaxtyping import Float, Int

from transect.effects.perception import mean_ratings
from transect.effects.pruning import Rule, prune
from transect.effects.samples import read_columns
from transect.errors import BadInput
from transect.records import Annotations, Question
from transect.store import FinishedRun, write_atomically

PERCEIVED: Final = "perceived.parquet"
PEOPLE: Final = "ratings.parquet"
PRUNING: Final = "pruning.json"
ID: Final = "id"
RATER: Final = "rater"
_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RULE: Final = re.compile(
    rf"\s*(?:(?P<least>{_NUMBER})\s*<=\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:(?P<sign>>=|<=|<)\s*(?P<value>{_NUMBER}))?\s*"
)


@final
@dataclass(frozen=True, slots=True)
class Ratings:
    """What was seen on each image.

    columns: perceived values by attribute [n]; reasons [n]: why an image is left out, "" where it is not. people: mean
    answers of people by attribute [n], NaN for images that nobody rated.
    """

    columns: Mapping[str, Float[np.ndarray, " n"]]
    reasons: np.ndarray
    rules: tuple[Rule, ...] = field(default=())
    people: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)


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


def attach(folder: Path, perceived: Path | None, rules: Sequence[str], people: Path | None = None) -> None:
    """Put ratings and rules beside a run, after a look at whether they fit it; nothing is written where they do not.

    perceived: one row per image; people: one row per image and rater.

    Raises BadInput for a folder that is not one finished run, a table without ids or of other images, two answers of
    one rater about one image, or a rule that cannot be read; UnknownName for a rule about another column.
    """
    if perceived is None and people is None and not rules:
        return
    parsed = tuple(parse_rule(text) for text in rules)
    ids = _ids(folder)
    table = None if perceived is None else _read_table(perceived)
    answers = None if people is None else _read_table(people)
    columns = _attached(folder, ids) if table is None else _aligned(table, perceived, ids)
    means = _answered(folder, ids) if answers is None else _averaged(answers, people, ids)
    _pruned(folder, columns, means, parsed or _rules(folder), len(ids))
    for name, given in ((PERCEIVED, table), (PEOPLE, answers)):
        if given is not None:
            _write(folder / name, given)
    if parsed:
        write_atomically(folder / PRUNING, json.dumps([rule.text for rule in parsed], indent=1).encode())


def read(folder: Path, ids: Sequence[str]) -> Ratings:
    """The ratings and rules of a run, in the order of its images; nothing where there are none.

    Raises BadInput for an id given twice, for ratings none of which is of these images, or a rule without a column.
    """
    return _pruned(folder, _attached(folder, ids), _answered(folder, ids), _rules(folder), len(ids))


def _write(path: Path, table: Any) -> None:
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    write_atomically(path, sink.getvalue().to_pybytes())


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


def _answered(folder: Path, ids: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
    path = folder / PEOPLE
    return _averaged(_read_table(path), path, ids) if path.exists() else {}


def _pruned(
    folder: Path,
    perceived: Mapping[str, Float[np.ndarray, " n"]],
    people: Mapping[str, Float[np.ndarray, " n"]],
    rules: tuple[Rule, ...],
    n_images: int,
) -> Ratings:
    """The ratings, and which rule left an image out first."""
    reasons = np.full(n_images, "", dtype=object)
    if not rules:
        return Ratings(perceived, reasons, (), people)
    if not (perceived or people):
        raise BadInput(
            f"{folder}: expected ratings for --prune to look at, got none; give --perceived or --ratings too"
        )
    before = np.ones(n_images, dtype=bool)
    made = prune({**people, **perceived}, rules)
    for step, left in zip(made.steps, made.after, strict=True):
        reasons[before & ~left] = f"pruned by {step.name}"
        before = left
    return Ratings(perceived, reasons, rules, people)


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


def _averaged(table: Any, path: Path | None, ids: Sequence[str]) -> dict[str, Float[np.ndarray, " n"]]:
    """Each image's mean answer by attribute, in the order of the ids; NaN for an image that nobody answered."""
    names = [name for name in table.column_names if name not in (ID, RATER)]
    if ID not in table.column_names or not names or len(set(table.column_names)) < len(table.column_names):
        raise BadInput(
            f"{path}: expected a column id, if you like one named rater, and one per attribute, each once, got "
            f"{', '.join(table.column_names)}"
        )
    raters = [str(one) for one in (table[RATER].to_pylist() if RATER in table.column_names else range(len(table)))]
    image = _images_of([str(one) for one in table[ID].to_pylist()], ids, path)
    answered = [(place, rater) for place, rater in zip(image.tolist(), raters, strict=True) if place >= 0]
    if len(set(answered)) < len(answered):
        raise BadInput(f"{path}: expected one row per image and rater, got several of one rater; keep one")
    _, values = read_columns(table.select(names))
    of, chosen = image >= 0, tuple(rater for _, rater in answered)
    return {
        name: mean_ratings(Annotations(Question(name, name), image[of], chosen, values[of, k]), len(ids))
        for k, name in enumerate(names)
    }


def _images_of(named: Sequence[str], ids: Sequence[str], path: Path | None) -> Int[np.ndarray, " r"]:
    """The place of each named image among the ids, -1 for an image of another run."""
    places = {one: place for place, one in enumerate(ids)}
    found = np.array([places.get(one, -1) for one in named], dtype=np.int64)
    if (found < 0).all():
        told = ", ".join(named[:3]) or "no row"
        raise BadInput(f"{path}: expected ratings of this run's images, such as {ids[0]}, got {told}; check the ids")
    return found


def _read_table(path: Path) -> Any:
    try:
        if path.suffix.lower() == ".csv":
            from pyarrow import csv

            return csv.read_csv(
                path, convert_options=csv.ConvertOptions(column_types={ID: pa.string(), RATER: pa.string()})
            )
        import pyarrow.parquet as pq

        return pq.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise BadInput(f"{path}: expected a readable CSV or Parquet of ratings, got {error}; mend the file") from None
