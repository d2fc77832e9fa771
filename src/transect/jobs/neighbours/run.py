"""Attributes and identity among the nearest images by each of several distances: `transect.neighbours`.

Table 2 of Singh et al. 2021 with standard errors, turned round: a row per attribute, a column per distance.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import ClassVar, Final, Literal, final, get_args

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int
from numpy.typing import NDArray

from transect.datasets import features as files
from transect.datasets.features import FeaturesLike
from transect.datasets.parquet import PictureColumn
from transect.designs.matching import in_metric, layered
from transect.designs.matching.sample import Layers
from transect.effects.identity_pairs import NEIGHBOURS, NEIGHBOURS_SOURCE, Preserved, preserved
from transect.errors import BadInput
from transect.jobs.neighbours.numbers import DistanceErrors, Example, Nearest, NeighboursNumbers
from transect.jobs.neighbours.page import chosen as chosen_examples
from transect.jobs.neighbours.page import nearest, sheet
from transect.runs.result import JobResult
from transect.runs.table_inputs import TableLike, as_names, as_table, choice

RANDOM: Final = "images at random"
LAYERS: Final[tuple[Layers, ...]] = get_args(Layers)
_MOST_LEVELS: Final = 2
Kind = Literal["continuous", "categorical"]


@final
@dataclass(frozen=True, slots=True)
class NeighboursResult(JobResult[NeighboursNumbers]):
    """Distances compared. table: a row per distance and attribute. sheets: a PNG of each example's neighbours."""

    JOB: ClassVar[str] = "neighbours"

    sheets: tuple[bytes, ...] = field(default=(), repr=False)

    @property
    def table(self) -> pa.Table:
        """distance, attribute, error, standard_error, unit, n_images, n_neighbours."""
        distances = self.numbers.distances
        return pa.Table.from_pylist(
            [{"distance": row.distance, **asdict(cell)} for row in distances for cell in row.attributes]
        )

    def report(self, path: str | Path) -> Path:
        """Write neighbours.html and neighbours.json into the folder `path`; returns the page's path."""
        from transect.jobs.neighbours.page import write

        return write(self, Path(path))

    def headline(self) -> str:
        """What the rows are means of."""
        numbers = self.numbers
        of_people = any(cell.attribute == "identity" for cell in numbers.distances[0].attributes)
        identity = ", of identity over images of people with another image" if of_people else ""
        return (
            f"Mean over {numbers.queries:,} of {numbers.images:,} images, and its standard error: of an attribute over "
            f"the {numbers.k} nearest{identity}. Smaller is more alike."
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per attribute, a column per distance: attributes are many, and distances are few."""
        distances = self.numbers.distances
        cells = zip(*(each.attributes for each in distances), strict=True)
        return ["attribute", *(each.distance for each in distances)], [
            [_heading(row[0]), *map(_cell, row)] for row in cells
        ]


def neighbours(
    features: FeaturesLike | Sequence[FeaturesLike] | Mapping[str, FeaturesLike],
    table: TableLike,
    *,
    attributes: str | Sequence[str] = (),
    categorical: str | Sequence[str] = (),
    identity: str | None = None,
    k: int = NEIGHBOURS,
    layers: Layers | Sequence[Layers] = "flatten",
    second: FeaturesLike | None = None,
    second_threshold: float | None = None,
    queries: int | None = None,
    pictures: str | None = None,
    seed: int = 0,
) -> NeighboursResult:
    """How much of each attribute and of identity a distance preserves among the nearest images.

    features: one distance, several in a list, or by name in a mapping: arrays [images, ...], .npy files, or tables of
    numeric or list columns. table: a row per image (path, Arrow table, data frame, columns by name). attributes:
    columns that near images should share, by default all numeric ones. categorical: numeric attributes whose values are
    classes; texts, booleans and columns of two values are classes anyway. identity: column of people. k: nearest
    images. layers: latents of several layers (w+) side by side or averaged; with both, each such file is two distances.
    second, second_threshold: an embedding in which neighbours must also be nearer than this; adds a row for
    each distance. queries: look up the neighbours of this many random images instead of all. pictures: column of
    pictures, bytes or paths below the table's folder, for the report. seed: of random images and of examples.

    Returns NeighboursResult: for each distance each attribute's error among the nearest images, and its standard error.
    The last row is images at random, the error of a distance that keeps nothing. Source: Singh et al. 2021, Table 2.

    Raises BadInput for inputs or options that cannot be used; UnknownName for a column that does not exist.

    >>> images = {"age": [20.0, 30.0, 60.0, 62.0]}
    >>> result = neighbours({"near": np.array([[0.0], [1.0], [5.0], [6.0]])}, images, k=1)
    >>> result.numbers.distances[0].attributes[0].error  # neighbours 1, 0, 3, 2: (10 + 10 + 2 + 2) / 4
    6.0
    """
    started = time.perf_counter()
    ways = [choice("layers", way, LAYERS) for way in dict.fromkeys(as_names(layers))]
    rows = as_table(table, "table")
    _check(rows.num_rows, k, second, second_threshold, queries)
    sources = _named(features)
    columns, kinds = _attributes(rows, as_names(attributes), as_names(categorical), identity)
    people = None if identity is None else files.objects(rows, identity, "identity")
    chosen = _queries(queries, seed, rows.num_rows)
    threshold = np.inf if second_threshold is None else second_threshold
    notes: list[str] = []
    other = None if second is None else _flat(second, "second", rows, ways[:1], notes)[""]

    def errors(name: str, values: Float[np.ndarray, "n d"], narrowed: bool) -> DistanceErrors:
        constraint = (other, threshold) if narrowed else (None, np.inf)
        lacking = int((~np.isfinite(values).all(axis=1)).sum())
        cells = preserved(
            values,
            columns,
            kinds,
            identity=people,
            k=k,
            queries=chosen,
            second=constraint[0],
            second_threshold=constraint[1],
        )
        return DistanceErrors(name, lacking, tuple(cells))

    shown: dict[int, list[Nearest]] = {row: [] for row in chosen_examples(chosen, rows.num_rows, seed)}
    distances = []
    for name, source in sources.items():
        role = "features" if isinstance(source, str | Path) else name
        for way, values in _flat(source, role, rows, ways, notes).items():
            distances.append(errors(f"{name}{way}", values, narrowed=False))
            for row, near in shown.items():
                near.append(nearest(f"{name}{way}", values, row, k))
            if second is not None and not _same(second, source):
                distances.append(errors(f"{name}{way}, {_label(second)} < {threshold:g}", values, narrowed=True))
    chance = np.random.default_rng(seed).permutation(rows.num_rows).astype(np.float64)[:, None]
    distances.append(errors(RANDOM, chance, narrowed=False))
    count = rows.num_rows if chosen is None else len(chosen)
    seconds = round(time.perf_counter() - started, 3)
    examples = tuple(Example(row, tuple(near)) for row, near in shown.items())
    numbers = NeighboursNumbers(
        rows.num_rows, count, k, tuple(distances), NEIGHBOURS_SOURCE, seconds, tuple(notes), examples
    )
    return NeighboursResult(numbers, _sheets(examples, rows, pictures, table))


def _sheets(examples: Sequence[Example], rows: pa.Table, pictures: str | None, table: TableLike) -> tuple[bytes, ...]:
    if pictures is None:
        return ()
    folder = Path(table).parent if isinstance(table, str | Path) else Path()
    column = PictureColumn(rows, pictures, folder)
    return tuple(sheet(example, column) for example in examples)


def _check(
    images: int, k: int, second: FeaturesLike | None, second_threshold: float | None, queries: int | None
) -> None:
    if not 1 <= k < images:
        raise BadInput(f"--k: expected 1 to {images - 1} neighbours, got {k}")
    if (second is None) != (second_threshold is None):
        raise BadInput("expected --second FILE and --second-threshold together: the embedding and its largest distance")
    if queries is not None and queries < 1:
        raise BadInput(f"--queries: expected 1 image or more, got {queries}")


def _named(features: FeaturesLike | Sequence[FeaturesLike] | Mapping[str, FeaturesLike]) -> dict[str, FeaturesLike]:
    """Features by the name of their distance: the file's, or a number for what is in memory."""
    if isinstance(features, Mapping):
        return dict(features)
    sources = list(features) if isinstance(features, list | tuple) else [features]
    paths = [Path(source) for source in sources if isinstance(source, str | Path)]
    names = [
        _name(Path(source), paths) if isinstance(source, str | Path) else f"features {number}"
        for number, source in enumerate(sources, start=1)
    ]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise BadInput(f"--features: expected files of different names, got {', '.join(repeated)} twice; rename one")
    return dict(zip(names, sources, strict=True))


def _name(path: Path, among: Sequence[Path]) -> str:
    """The file's name; with its folder's where files of several folders share one name.

    >>> _name(Path("a/w.npy"), [Path("a/w.npy"), Path("b/w.npy")]), _name(Path("a/w.npy"), [Path("a/w.npy")])
    ('a/w', 'w')
    """
    sharing = [other for other in among if other.stem == path.stem]
    return path.stem if len(sharing) < 2 else f"{path.parent.name}/{path.stem}"


def _label(second: FeaturesLike) -> str:
    return Path(second).stem if isinstance(second, str | Path) else "second"


def _same(second: FeaturesLike, source: FeaturesLike) -> bool:
    if isinstance(second, str | Path) and isinstance(source, str | Path):
        return Path(second) == Path(source)
    return second is source


def _attributes(
    table: pa.Table, attributes: Sequence[str], categorical: Sequence[str], identity: str | None
) -> tuple[dict[str, NDArray[np.generic]], dict[str, Kind]]:
    """Each attribute's values and kind: texts, booleans, columns of two values and those named are categorical."""
    names = list(attributes) or files.numeric_columns(table, [files.ID, *filter(None, [identity])])
    if not names:
        raise BadInput("nothing to compare: expected --attribute COLUMN, or numeric columns in the table")
    if unknown := [name for name in categorical if name not in names]:
        raise BadInput(f"--categorical {unknown[0]}: expected one of the attributes, {', '.join(names[:8])}")
    columns: dict[str, NDArray[np.generic]] = {}
    kinds: dict[str, Kind] = {}
    for name in names:
        kinds[name] = _kind(table, name, name in categorical)
        read = files.objects if kinds[name] == "categorical" else files.numbers
        columns[name] = read(table, name, "attribute")
    return columns, kinds


def _kind(table: pa.Table, name: str, is_named: bool) -> Kind:
    values = files.column(table, name, "attribute")
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        raise BadInput(f"--attribute {name}: expected numbers or texts, got {kind}")
    is_text = any(check(kind) for check in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view))
    levels = {value for value in values.to_pylist() if value is not None and value == value}
    few = len(levels) <= _MOST_LEVELS
    return "categorical" if is_named or is_text or pa.types.is_boolean(kind) or few else "continuous"


def _queries(count: int | None, seed: int, images: int) -> Int[np.ndarray, " q"] | None:
    """A random part of the images, sorted; None for all."""
    if count is None or count >= images:
        return None
    return np.sort(np.random.default_rng(seed).choice(images, count, replace=False))


def _flat(
    source: FeaturesLike, role: str, table: pa.Table, ways: Sequence[Layers], notes: list[str]
) -> dict[str, Float[np.ndarray, "n d"]]:
    """The features as a matrix for each way to take layers, by its name; notes: gets how ids were compared."""
    features, _, note = files.read_features(source, (), files.ids_of(table), role=role)
    notes += [note] if note else []
    if len(features) != table.num_rows:
        raise BadInput(f"{role}: expected as many rows as the table ({table.num_rows}), got {len(features)}")
    taken = ways if features.ndim > 2 else ways[:1]
    names = [f" ({way})" for way in taken] if len(taken) > 1 else [""]
    flat = (in_metric(layered(features, way), np.zeros(len(features)), "euclidean")[0] for way in taken)
    return dict(zip(names, flat, strict=True))


def _heading(errors: Preserved) -> str:
    if errors.attribute == "identity" and errors.n_neighbours == 1:
        return "identity: nearest is another, %"
    return f"{errors.attribute}: {'differ, %' if errors.unit == 'proportion' else 'mean difference'}"


def _cell(errors: Preserved) -> str:
    if not np.isfinite(errors.error):
        return "unknown"
    scale = 100 if errors.unit == "proportion" else 1
    spread = scale * errors.standard_error
    if not (np.isfinite(spread) and spread > 0):
        return f"{scale * errors.error:.4g} ± {'unknown' if np.isnan(spread) else '0'}"
    digits = max(1 - int(np.floor(np.log10(spread))), 0)
    return f"{scale * errors.error:.{digits}f} ± {spread:.{digits}f}"
