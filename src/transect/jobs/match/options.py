"""What a matching takes: the methods by name, the options record, and the request that the steps share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, final, get_args

import pyarrow as pa

from transect.analysis.finished_run import image_table, is_audit
from transect.datasets.features import FeaturesLike, column, is_array
from transect.designs.matching.sample import Layers, Metric
from transect.effects.matched_pairs import GATE
from transect.errors import BadInput
from transect.runs.table_inputs import TableLike, as_table, choice

Method = Literal[
    "greedy",
    "optimal",
    "propensity",
    "propensity-published",
    "mahalanobis",
    "coarsened",
    "cardinality",
    "entropy",
    "overlap",
]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
LAYERS: Final[tuple[Layers, ...]] = get_args(Layers)
WEIGHTING: Final = ("entropy", "overlap")
USING_COVARIATES: Final = ("coarsened", "cardinality", *WEIGHTING)


@final
@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The less common settings of `transect.match`.

    weights: of the squared distance of each block of features, 1 by default. layers: of w+ latents [images, layers,
    512]. columns: of tables of features, by default every numeric one. second, second_threshold: another embedding, and
    the distance below which a pair must be in it. references, defaults: give each image of a pair another image of its
    identity, with these attribute values. experiment, experiment_attribute: a finished audit's folder whose effect is
    compared with the difference within pairs, and the attribute there (by default the treatment's name). ratio:
    controls for each treated image (optimal). tolerance: standardized mean difference that cardinality matching allows.
    bins: of each covariate (coarsened; default by Sturges). dose_gap: least difference in a continuous treatment. base:
    of more than two groups the one that others are matched to. gate: balance threshold on the absolute standardized
    mean difference. approximate: search neighbours in an index, which needs the extra `ann`. pictures: a column with
    PNG or JPEG bytes, or with paths below the table's folder, which the page shows. pairs: a table of pairs (columns a
    and b, rows or ids) that are reported in place of found ones. changes: pairs of outcomes whose differences within
    pairs are compared, the first less the second. difficulty: features in which the distance of reference images is
    measured, by default those of the matching, or the name of a perceptual distance between `pictures`: features, vgg16
    or pixels. difficulty_weights: a file of vgg16, or of another feature network.
    """

    weights: Sequence[float] = ()
    layers: Layers = "flatten"
    columns: Sequence[str] = ()
    second: FeaturesLike | None = field(default=None, repr=False)
    second_threshold: float | None = None
    references: bool = False
    defaults: Mapping[str, float] = field(default_factory=dict)
    experiment: str | Path | None = None
    experiment_attribute: str | None = None
    ratio: int = 1
    tolerance: float = 0.1
    bins: int | None = None
    dose_gap: float = 0.0
    base: str | None = None
    gate: float = GATE
    approximate: bool = False
    pictures: str | None = None
    pairs: TableLike | None = field(default=None, repr=False)
    changes: Sequence[tuple[str, str]] = ()
    difficulty: FeaturesLike | None = field(default=None, repr=False)
    difficulty_weights: str | Path | None = None


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A matching with its inputs opened.

    blocks: the features, one or several side by side; a block that is the table itself is the table here. table: a row
    per image. root: the folder where its paths of pictures begin.
    """

    blocks: tuple[FeaturesLike, ...] = field(repr=False)
    treatment: str
    table: pa.Table = field(repr=False)
    root: Path = Path()
    method: Method = "greedy"
    metric: Metric = "euclidean"
    exact: tuple[str, ...] = ()
    caliper: float | None = None
    identity: str | None = None
    covariates: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    seed: int = 0
    options: MatchOptions = field(default_factory=MatchOptions)


def opened(
    features: FeaturesLike | Sequence[FeaturesLike] | None, table: TableLike | None, *, paired: bool = False
) -> tuple[tuple[FeaturesLike, ...], pa.Table, Path]:
    """The blocks of features, the table, and the folder of its pictures; without a table, the first features' own.

    paired: the pairs are given, so that features may be missing. Raises BadInput without features, without a table, or
    for a table that cannot be read.
    """
    blocks = tuple(features) if isinstance(features, list | tuple) else () if features is None else (features,)
    if not blocks and not paired:
        raise BadInput("nothing to match on: expected --features FILE.npy or FILE.parquet, or --pairs FILE")
    if not blocks and table is None:
        raise BadInput("--pairs: expected --table FILE with the treatment of the images, got none; give it")
    source = blocks[0] if table is None else table
    if table is None and is_array(source):
        raise BadInput("expected --table FILE.parquet with the treatment: an array or .npy file holds features alone")
    rows = image_table(Path(source)) if is_audit(source) else as_table(source, "table")
    root = Path(source).parent if isinstance(source, str | Path) else Path()
    return tuple(rows if _same(block, source) else block for block in blocks), rows, root


def _same(block: FeaturesLike, source: TableLike) -> bool:
    if isinstance(block, str | Path) and isinstance(source, str | Path):
        return Path(block).resolve() == Path(source).resolve()
    return block is source


def check_names(request: Request) -> None:
    """Raises UnknownName for a method, metric, way with layers or column of pictures that does not exist."""
    choice("method", request.method, METHODS)
    choice("metric", request.metric, METRICS)
    choice("layers", request.options.layers, LAYERS)
    if request.options.pictures is not None:
        column(request.table, request.options.pictures, "picture")
