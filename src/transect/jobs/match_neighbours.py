"""Compare distances: how much attributes and identity differ among the nearest images, with standard errors."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, asdict, dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, TypeAlias, final, get_args

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int, UInt8
from markupsafe import Markup
from numpy.typing import NDArray

from transect.datasets import features as files
from transect.datasets.features import FeaturesLike
from transect.datasets.files import pixels_of
from transect.datasets.parquet import PictureColumn
from transect.designs.matching import in_metric, layered
from transect.designs.matching.sample import Layers
from transect.effects.identity_pairs import DYADIC, NEIGHBOURS, NEIGHBOURS_SOURCE, Preserved, preserved
from transect.errors import BadInput
from transect.job import Content, Job, Option, Out, function
from transect.reports.blocks import Block, Paragraph, Part, Picture, TextTable
from transect.reports.columns import Column, Table
from transect.runs.json_records import hidden
from transect.runs.pictures import png
from transect.runs.table_inputs import TableLike, as_names, as_table, choice
from transect.runs.wording import counted, spaced

RANDOM: Final = "images at random"
LAYERS: Final[tuple[Layers, ...]] = get_args(Layers)
_MOST_LEVELS: Final = 2
Kind = Literal["continuous", "categorical"]
Values: TypeAlias = Float[np.ndarray, "n d"]
EXAMPLES: Final = 4
"""Images whose neighbours are shown."""
SHOWN: Final = 4
"""Neighbours of each by each distance, as many as Fig. B2 of Singh et al. has."""
_SIDE: Final = 96
_GAP: Final = 8
_PAPER: Final = 255
_CHANCE: Final = (
    "± is one standard error; it allows for images that are near to several others. A difference counts from three "
    "standard errors on; a smaller one may be chance. Differences of numbers are in the attribute's own unit."
)
_SURE: Final = 3
"""Standard errors of a difference, of both as if they were independent, from which on it is no chance."""
HARDLY: Final = 0.8
"""Share of the difference between images at random, from which on nearest images are hardly more alike."""
_SHARE: Final = {False: "share it", True: "share it hardly more than images at random"}
MOST: Final = 6
"""Attributes that the answer names; the table has all."""


@final
@dataclass(frozen=True, slots=True)
class DistanceErrors:
    """How far each attribute differs among nearest neighbours; without_features: images left out."""

    distance: str
    without_features: int
    attributes: tuple[Preserved, ...]


@final
@dataclass(frozen=True, slots=True)
class NearImage:
    """One of an image's neighbours: its row, and its distance divided by that of the nearest."""

    row: int
    ratio: float


@final
@dataclass(frozen=True, slots=True)
class Nearest:
    """An image's neighbours by one distance, from the nearest; none for an image without features."""

    distance: str
    images: tuple[NearImage, ...]


@final
@dataclass(frozen=True, slots=True)
class Example:
    """An image, by its row, and its neighbours by each distance."""

    row: int
    nearest: tuple[Nearest, ...]


@final
@dataclass(frozen=True, slots=True)
class NeighboursNumbers:
    """Distances compared. images: rows of the table; queries: images whose neighbours were looked up; k: how many each.

    distances: in the order of the features, last `images at random`, the error of a distance that keeps nothing.
    notes: how ids of features and table were compared where they are not the same texts. examples: a few images and
    their neighbours, drawn by the seed.
    """

    images: int
    queries: int
    k: int
    distances: tuple[DistanceErrors, ...]
    source: str
    seconds: float
    notes: tuple[str, ...] = ()
    examples: tuple[Example, ...] = ()
    sheets: tuple[bytes, ...] = hidden(())
    """A PNG of each example and its neighbours."""

    @property
    def of_people(self) -> bool:
        """Whether identity is among the attributes."""
        return any(cell.attribute == "identity" for cell in self.distances[0].attributes)

    @property
    def by_attribute(self) -> list[tuple[Preserved, ...]]:
        """The errors of each attribute, by distance."""
        return list(zip(*(each.attributes for each in self.distances), strict=True))


@final
@dataclass(frozen=True)
class Neighbours(Job[NeighboursNumbers]):
    """How much of each attribute and of identity a distance preserves among the nearest images.

    Features are arrays [images, ...], .npy files, or tables of numeric or list columns: one distance, several in a
    list, or by name in a mapping. The table is a path, an Arrow table, a data frame or columns by name; texts, booleans
    and columns of two values are classes anyway.

    The numbers have for each distance each attribute's error among the nearest images, and its standard error; the last
    distance is images at random, the error of a distance that keeps nothing. Table 2 of Singh et al. 2021 with standard
    errors, turned round: a row per attribute, a column per distance.

    Raises BadInput for inputs or options that cannot be used; UnknownName for a column that does not exist.

    >>> images = {"age": [20.0, 30.0, 60.0, 62.0]}
    >>> result = neighbours({"near": np.array([[0.0], [1.0], [5.0], [6.0]])}, images, k=1)
    >>> result.numbers.distances[0].attributes[0].error  # neighbours 1, 0, 3, 2: (10 + 10 + 2 + 2) / 4
    6.0
    """

    OUT: ClassVar = Out("Folder for the report.", name="--report")

    features: Annotated[
        FeaturesLike | Sequence[FeaturesLike] | Mapping[str, FeaturesLike],
        Option("A distance to compare: latents or embeddings, .npy or a table; repeatable.", list[str], opens="data"),
    ]
    table: Annotated[TableLike, Option("Table with a row per image: its attributes.", Path, opens="data")]
    _: KW_ONLY
    attributes: Annotated[
        str | Sequence[str],
        Option(
            "Column that near images should share; default all numeric columns.", names=("--attribute",), opens="value"
        ),
    ] = ()
    categorical: Annotated[
        str | Sequence[str],
        Option("Numeric attribute whose values are classes; texts and 0/1 always are.", opens="value"),
    ] = ()
    identity: Annotated[
        str | None, Option("Column of identities: is the nearest image of the same person?", opens="value")
    ] = None
    k: Annotated[int, Option("Number of nearest images to look at.", names=("--k",))] = NEIGHBOURS
    layers: Annotated[
        Layers | Sequence[Layers],
        Option(
            "Latents of several layers (w+): flatten or average; repeat for both; default flatten.",
            list[str],
            opens="value",
        ),
    ] = "flatten"
    second: Annotated[
        FeaturesLike | None,
        Option("An embedding in which neighbours must also be near; adds a row per distance.", Path, opens="data"),
    ] = None
    second_threshold: Annotated[float | None, Option("Neighbours are below this distance in --second.")] = None
    queries: Annotated[int | None, Option("Look up the neighbours of N random images instead of all.")] = None
    pictures: Annotated[
        str | None, Option("Column of the table with pictures (bytes or paths) for the report.", opens="value")
    ] = None
    seed: Annotated[int, Option("Random seed.")] = 0
    quiet: bool = field(default=True, init=False)

    def compute(self) -> NeighboursNumbers:
        """The errors of each distance, and a few images with their neighbours."""
        started = time.perf_counter()
        ways = [choice("layers", way, LAYERS) for way in dict.fromkeys(as_names(self.layers))]
        rows = as_table(self.table, "table")
        self._check(rows.num_rows)
        sources = _named(self.features)
        columns, kinds = _attributes(rows, as_names(self.attributes), as_names(self.categorical), self.identity)
        people = None if self.identity is None else files.objects(rows, self.identity, "identity")
        chosen = _queries(self.queries, self.seed, rows.num_rows)
        notes: list[str] = []
        other = None if self.second is None else _flat(self.second, "second", rows, ways[:1], notes)[""]

        def errors(name: str, values: Values, limit: float | None = None) -> DistanceErrors:
            lacking = int((~np.isfinite(values).all(axis=1)).sum())
            cells = preserved(
                values,
                columns,
                kinds,
                identity=people,
                k=self.k,
                queries=chosen,
                second=None if limit is None else other,
                second_threshold=np.inf if limit is None else limit,
            )
            return DistanceErrors(name, lacking, tuple(cells))

        shown: dict[int, list[Nearest]] = {row: [] for row in _drawn(chosen, rows.num_rows, self.seed)}
        distances = []
        for name, source in sources.items():
            role = "features" if isinstance(source, str | Path) else name
            for way, values in _flat(source, role, rows, ways, notes).items():
                distances.append(errors(f"{name}{way}", values))
                for row, near in shown.items():
                    near.append(nearest(f"{name}{way}", values, row, self.k))
                if self.second is not None and not _same(self.second, source):
                    second = Path(self.second).stem if isinstance(self.second, str | Path) else "second"
                    narrowed = f"{name}{way}, {second} < {self.second_threshold:g}"
                    distances.append(errors(narrowed, values, self.second_threshold))
        chance = np.random.default_rng(self.seed).permutation(rows.num_rows).astype(np.float64)[:, None]
        distances.append(errors(RANDOM, chance))
        examples = tuple(Example(row, tuple(near)) for row, near in shown.items())
        return NeighboursNumbers(
            images=rows.num_rows,
            queries=rows.num_rows if chosen is None else len(chosen),
            k=self.k,
            distances=tuple(distances),
            source=NEIGHBOURS_SOURCE,
            seconds=round(time.perf_counter() - started, 3),
            notes=tuple(notes),
            examples=examples,
            sheets=self._sheets(examples, rows),
        )

    def _check(self, images: int) -> None:
        if not 1 <= self.k < images:
            raise BadInput(f"--k: expected 1 to {images - 1} neighbours, got {self.k}")
        if (self.second is None) != (self.second_threshold is None):
            raise BadInput("expected both --second (an embedding) and --second-threshold (its largest distance)")
        if self.queries is not None and self.queries < 1:
            raise BadInput(f"--queries: expected at least 1 image, got {self.queries}")

    def _sheets(self, examples: Sequence[Example], rows: pa.Table) -> tuple[bytes, ...]:
        if self.pictures is None:
            return ()
        folder = Path(self.table).parent if isinstance(self.table, str | Path) else Path()
        column = PictureColumn(rows, self.pictures, folder)
        return tuple(sheet(example, column) for example in examples)

    def content(self, numbers: NeighboursNumbers) -> Content:
        """Which attributes the nearest images share, by which distance; the errors, and a few images."""
        table = _error_table(numbers)
        headline, notes = _headline(numbers), _notes(numbers)
        rows = [{"distance": row.distance, **asdict(cell)} for row in numbers.distances for cell in row.attributes]
        return Content(
            title="What nearest images share",
            question=_question(numbers),
            answer=answers(numbers),
            remarks=(headline, _CHANCE),
            notes=[f"{note[0].upper()}{note[1:]}." for note in notes],
            table=table,
            rows=pa.Table.from_pylist(rows),
            after=[Part("nearest", "Nearest images by each distance", tuple(_examples(numbers)))],
            sources=(numbers.source, DYADIC),
            terminal=[table, headline, *notes],
        )


neighbours = function(Neighbours)


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


def _drawn(queries: Int[np.ndarray, " q"] | None, images: int, seed: int) -> list[int]:
    """At most four of the images whose neighbours are looked up, drawn by the seed; in order."""
    rows = np.arange(images) if queries is None else queries
    drawn = np.random.default_rng(seed).permutation(len(rows))[:EXAMPLES]
    return sorted(int(row) for row in rows[drawn])


def nearest(name: str, values: Float[np.ndarray, "n d"], row: int, k: int) -> Nearest:
    """The nearest images of one image by one distance; none where the image has no features.

    Distances are divided by that to the nearest image, as in the figure; NaN where that is 0.

    >>> near = nearest("line", np.array([[0.0], [1.0], [3.0]]), 0, k=2)
    >>> [(image.row, image.ratio) for image in near.images]
    [(1, 1.0), (2, 3.0)]
    """
    apart = np.sqrt(((values - values[row]) ** 2).sum(axis=1))
    apart = np.where(np.isfinite(apart), apart, np.inf)
    apart[row] = np.inf
    order = np.argsort(apart, kind="stable")[: min(k, SHOWN)]
    near = order[np.isfinite(apart[order])]
    first = float(apart[near[0]]) if len(near) else np.nan
    ratios = apart[near] / first if first > 0 else np.full(len(near), np.nan)
    return Nearest(name, tuple(NearImage(*pair) for pair in zip(near.tolist(), ratios.tolist(), strict=True)))


def sheet(example: Example, pictures: PictureColumn) -> bytes:
    """A PNG: a row for each distance, the image itself at the left, its neighbours from the nearest to the farthest."""
    lines = [[example.row, *(image.row for image in each.images)] for each in example.nearest]
    wide = max(map(len, lines))
    step = _SIDE + _GAP
    paper = np.full((step * len(lines) - _GAP, step * wide, 3), _PAPER, dtype=np.uint8)
    for down, line in enumerate(lines):
        for across, row in enumerate(line):
            left = across * step + (_GAP if across else 0)
            paper[down * step : down * step + _SIDE, left : left + _SIDE] = _picture(pictures, row)
    return png(paper)


def _picture(pictures: PictureColumn, row: int) -> UInt8[np.ndarray, "h w 3"]:
    """The picture in a square; grey where the row has none."""
    stored = pictures.of(row)
    if stored is None:
        return np.full((_SIDE, _SIDE, 3), 128, dtype=np.uint8)
    return pixels_of(stored, f"picture of row {row}", _SIDE)


def _near_table(example: Example) -> TextTable:
    """A row per distance, and each neighbour's row with its distance."""
    most = max(len(each.images) for each in example.nearest)
    ranks = ["nearest", "second", "third", "fourth"][:most]
    rows = [[each.distance, *(_text(image) for image in each.images)] for each in example.nearest]
    rows = [row + [""] * (most + 1 - len(row)) for row in rows]
    return TextTable(f"Nearest images of row {example.row}", ["distance", *ranks], rows)


def _text(image: NearImage) -> str:
    return f"row {image.row}" + (f" ({image.ratio:.2f})" if np.isfinite(image.ratio) else "")


def _headline(numbers: NeighboursNumbers) -> str:
    """What the rows are means of."""
    identity = ", of identity over images of people with another image" if numbers.of_people else ""
    return (
        f"Mean over {numbers.queries:,} of {numbers.images:,} images, and its standard error: of an attribute over "
        f"the {numbers.k} nearest{identity}. Smaller is more alike."
    )


def _question(numbers: NeighboursNumbers) -> str:
    if len(numbers.distances) == 2:
        return "Which attributes do the nearest images share?"
    of_people = " and the identity" if numbers.of_people else ""
    return f"By which distance do the nearest images share each attribute{of_people}?"


def _error_table(numbers: NeighboursNumbers) -> Table[tuple[Preserved, ...]]:
    """A row per attribute, a column per distance: attributes are many, and distances are few."""
    columns = [_of_distance(each.distance, place) for place, each in enumerate(numbers.distances)]
    named: Column[tuple[Preserved, ...]] = Column("attribute", lambda row: _heading(row[0]))
    return Table("Differences by distance", numbers.by_attribute, [named, *columns])


def _of_distance(name: str, place: int) -> Column[tuple[Preserved, ...]]:
    return Column(name, lambda row: _cell(row[place]), "figure")


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


def answers(numbers: NeighboursNumbers) -> list[Markup]:
    """For each attribute whether near images share it, and by which distance most, where that is sure."""
    attributes = numbers.distances[0].attributes
    left = len(attributes) - MOST
    sentences = [_answer(numbers, place) for place in range(min(len(attributes), MOST))]
    return sentences + ([Markup("{} more in the table.").format(left)] if left > 0 else [])


def _answer(numbers: NeighboursNumbers, place: int) -> Markup:
    """One attribute: the claim, then the numbers that it rests on."""
    *distances, chance = numbers.distances
    known = [row for row in distances if math.isfinite(row.attributes[place].error)]
    known.sort(key=lambda row: row.attributes[place].error)
    name = Markup("<b>{}</b>").format(spaced(chance.attributes[place].attribute))
    if not known:
        return Markup("{}: not estimable by any distance.").format(name)
    claim, told = _claim([row.attributes[place] for row in known], chance.attributes[place])
    cell = chance.attributes[place]
    unit = " %" if cell.unit == "proportion" else ""
    by = Markup("{}{} by <b>{}</b>")
    nearest = [by.format(_cell(row.attributes[place]), unit, row.distance) for row in known[: 1 if told else 2]]
    by_chance = Markup("{}{} for {}").format(_cell(cell), unit, chance.distance)
    said = Markup(". {}: {}, {}.").format(_measured(cell), Markup(", ").join(nearest), by_chance)
    return claim.format(name, known[0].distance) + said


def _measured(cell: Preserved) -> str:
    """What the numbers of an attribute are."""
    if cell.attribute == "identity":
        return "Of another person"
    return "Differing" if cell.unit == "proportion" else "Mean difference"


def _claim(nearest: Sequence[Preserved], chance: Preserved) -> tuple[Markup, bool]:
    """What can be said of an attribute, and whether the best distance differs from the others by more than chance."""
    best, *others = nearest
    if _is_less(chance, best):
        return Markup("{}: nearest images share it less often than images at random"), True
    if not _is_less(best, chance):
        return Markup("{}: inconclusive whether nearest images share it"), True
    hardly = best.error > HARDLY * chance.error
    if not others:
        return Markup("{}: nearest images ") + _SHARE[hardly], True
    if all(_is_less(best, other) for other in others):
        return Markup("{}: by <b>{}</b>, more than by the others, nearest images ") + _SHARE[hardly], True
    return Markup("{}: nearest images ") + f"{_SHARE[hardly]}; inconclusive by which distance most", False


def _is_less(one: Preserved, other: Preserved) -> bool:
    """Whether an error is less than another by more than chance; never where one or its standard error is unknown."""
    return other.error - one.error > _SURE * math.hypot(one.standard_error, other.standard_error)


def _examples(numbers: NeighboursNumbers) -> Iterator[Block]:
    """A few images, drawn at random, and their neighbours: pictures where a column has them, and rows."""
    words = "Distances are divided by that to the nearest image; rows are numbered from 0."
    missing = "" if numbers.sheets else " To see the pictures, give --pictures COLUMN."
    yield Paragraph(f"A few images, chosen at random, and those that each distance finds nearest. {words}{missing}")
    for number, example in enumerate(numbers.examples):
        if numbers.sheets:
            names = ", then ".join(each.distance for each in example.nearest)
            caption = (
                f"Row {example.row} at the left, and its neighbours from the nearest on; from top to bottom {names}"
            )
            yield Picture(numbers.sheets[number], caption)
        yield _near_table(example)


def _notes(numbers: NeighboursNumbers) -> list[str]:
    """How ids were compared, and images that a distance leaves out."""
    lacking = [(row.without_features, row.distance) for row in numbers.distances if row.without_features]
    return [*numbers.notes, *(f"left out: {counted(n, 'image')} without features ({name})" for n, name in lacking)]
