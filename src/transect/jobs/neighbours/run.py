"""Which distance keeps what? Attributes and identity among the nearest images by each of several distances.

The shape of Table 2 of Singh et al. 2021, with standard errors: a row per distance, a column per attribute.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.datasets import features as files
from transect.designs.matching import in_metric, layered
from transect.designs.matching.metrics import Layers
from transect.effects.neighbours import NEIGHBOURS, SOURCE, preserved
from transect.errors import BadInput
from transect.runs.inputs import read_table
from transect.runs.plain_json import plain

RANDOM: Final = "images at random"
_MOST_LEVELS: Final = 2
Kind = Literal["continuous", "categorical"]


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """What `transect neighbours` was asked; its help says what each means."""

    features: Sequence[str]
    table: Path
    attributes: Sequence[str] = ()
    categorical: Sequence[str] = ()
    identity: str | None = None
    k: int = NEIGHBOURS
    layers: Layers = "flatten"
    second: Path | None = None
    second_threshold: float | None = None
    queries: int | None = None
    seed: int = 0


def compare_distances(asked: Asked) -> dict[str, Any]:
    """What --json prints: for each distance, each attribute's error among the nearest images and its standard error.

    The last row is images at random, the error of a distance that keeps nothing. With a second embedding each distance
    has a second row, of the nearest among those within the threshold in it.

    Raises BadInput for files, columns or options that cannot be used.
    """
    started = time.perf_counter()
    table = read_table(asked.table)
    _check(asked, table)
    columns, kinds = _attributes(asked, table)
    identity = None if asked.identity is None else files.objects(table, asked.identity, "identity")
    queries = _queries(asked, table.num_rows)
    options: dict[str, Any] = {"identity": identity, "k": asked.k, "queries": queries}
    rows = []
    for name, features, constraint in _distances(asked, table):
        lacking = int((~np.isfinite(features).all(axis=1)).sum())
        made = preserved(features, columns, kinds, **options, **constraint)
        rows.append({"distance": name, "without_features": lacking, "attributes": [asdict(one) for one in made]})
    facts = {"images": table.num_rows, "asked": table.num_rows if queries is None else len(queries), "k": asked.k}
    seconds = round(time.perf_counter() - started, 3)
    return {**facts, "distances": [_plain(row) for row in rows], "source": SOURCE, "seconds": seconds}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = plain(row)
    return made


def _check(asked: Asked, table: pa.Table) -> None:
    if not 1 <= asked.k < table.num_rows:
        raise BadInput(f"--k: expected 1 to {table.num_rows - 1} neighbours, got {asked.k}")
    if (asked.second is None) != (asked.second_threshold is None):
        raise BadInput("expected --second FILE and --second-threshold together: the embedding and how near it must be")
    if asked.queries is not None and asked.queries < 1:
        raise BadInput(f"--queries: expected 1 image or more, got {asked.queries}")
    names = [_name(Path(one), asked.features) for one in asked.features]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise BadInput(f"--features: expected files of different names, got {', '.join(twice)} twice; rename one")


def _name(path: Path, among: Sequence[str]) -> str:
    """The file's name; with its folder's where files of several folders have one name.

    >>> _name(Path("a/w.npy"), ["a/w.npy", "b/w.npy"]), _name(Path("a/w.npy"), ["a/w.npy"])
    ('a/w', 'w')
    """
    alike = [one for one in among if Path(one).stem == path.stem]
    return path.stem if len(alike) < 2 else f"{path.parent.name}/{path.stem}"


def _attributes(asked: Asked, table: pa.Table) -> tuple[dict[str, np.ndarray], dict[str, Kind]]:
    """Each attribute's values and kind: texts, booleans and columns of two values are categorical, as are those named.

    By default every numeric column but the identity.
    """
    names = list(asked.attributes) or files.numeric_columns(table, [files.ID, *filter(None, [asked.identity])])
    if not names:
        raise BadInput("nothing to compare: expected --attribute COLUMN, or numeric columns in the table")
    if unknown := [name for name in asked.categorical if name not in names]:
        raise BadInput(f"--categorical {unknown[0]}: expected one of the attributes, {', '.join(names[:8])}")
    columns: dict[str, np.ndarray] = {}
    kinds: dict[str, Kind] = {}
    for name in names:
        kind = files.column(table, name, "attribute").type
        kind = kind.value_type if pa.types.is_dictionary(kind) else kind
        listed = pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind) or pa.types.is_large_list(kind)
        if listed or pa.types.is_struct(kind) or pa.types.is_binary(kind):
            raise BadInput(f"--attribute {name}: expected numbers or texts, found {kind}")
        values = files.objects(table, name, "attribute")
        of_text = pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_boolean(kind)
        few = len({one for one in values.tolist() if one is not None and one == one}) <= _MOST_LEVELS
        kinds[name] = "categorical" if of_text or few or name in asked.categorical else "continuous"
        columns[name] = values if kinds[name] == "categorical" else files.numbers(table, name, "attribute")
    return columns, kinds


def _queries(asked: Asked, n: int) -> Int[np.ndarray, " q"] | None:
    """A random part of the images, sorted; None for all."""
    if asked.queries is None or asked.queries >= n:
        return None
    return np.sort(np.random.default_rng(asked.seed).choice(n, asked.queries, replace=False))


def _distances(asked: Asked, table: pa.Table) -> list[tuple[str, Float[np.ndarray, "n d"], dict[str, Any]]]:
    """Name, features and constraint of each row of the table."""
    made: list[tuple[str, Float[np.ndarray, "n d"], dict[str, Any]]] = []
    second = None if asked.second is None else _read(asked, asked.second, table)
    for text in asked.features:
        path = Path(text)
        features = _read(asked, path, table)
        name = _name(path, asked.features)
        made.append((name, features, {}))
        if asked.second is not None and asked.second != path:
            constraint = {"second": second, "second_threshold": asked.second_threshold}
            made.append((f"{name}, {asked.second.stem} < {asked.second_threshold:g}", features, constraint))
    nothing = np.random.default_rng(asked.seed).permutation(table.num_rows).astype(np.float64)[:, None]
    return [*made, (RANDOM, nothing, {})]


def _read(asked: Asked, path: Path, table: pa.Table) -> Float[np.ndarray, "n d"]:
    ids = table[files.ID].to_pylist() if files.ID in table.column_names else None
    features, _ = files.read_features(path, (), ids)
    if len(features) != table.num_rows:
        raise BadInput(f"{path}: expected as many rows as the table ({table.num_rows}), got {len(features)}")
    flat, _ = in_metric(layered(features, asked.layers), np.zeros(len(features)), "euclidean")
    return flat
