"""What a matching takes: the methods by name, the options, the request that the steps share, and what is refused."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Final, Literal, final, get_args

import pyarrow as pa

from transect.analysis.finished_run import image_table, is_audit
from transect.datasets.features import FeaturesLike, column, is_array, parse_change, parse_default
from transect.designs.matching.sample import Layers, Metric
from transect.effects.matched_pairs import GATE
from transect.errors import BadInput
from transect.options import Option
from transect.runs.table_inputs import TableLike, as_table

Method = Literal["greedy", "optimal", "propensity", "propensity-published", "mahalanobis", "overlap"]
METHODS: Final[tuple[Method, ...]] = get_args(Method)
METRICS: Final[tuple[Metric, ...]] = get_args(Metric)
LAYERS: Final[tuple[Layers, ...]] = get_args(Layers)
WEIGHTING: Final = "overlap"


def _defaults(texts: Sequence[str]) -> dict[str, float]:
    return dict(map(parse_default, texts))


def _changes(texts: Sequence[str]) -> list[tuple[str, str]]:
    return list(map(parse_change, texts))


@final
@dataclass(frozen=True, slots=True)
class MatchOptions:
    """The less common settings of `transect.match`.

    weights: of the squared distance of each block of features, 1 by default. Latents of layers are w+ [images, layers,
    512]. changes: pairs of outcomes whose differences within pairs are compared, the first less the second.
    """

    weights: Sequence[float] = ()
    layers: Annotated[Layers, Option("Latents of several layers (w+): flatten or average.")] = "flatten"
    columns: Annotated[Sequence[str], Option("Feature columns of a table; default all numeric.", opens="value")] = ()
    second: Annotated[
        FeaturesLike | None,
        Option("Another embedding, e.g. of face recognition, in which pairs must be close.", Path, opens="data"),
    ] = field(default=None, repr=False)
    second_threshold: Annotated[float | None, Option("Pairs are below this distance in --second.")] = None
    references: Annotated[
        bool, Option("Add to each image of a pair another image of its identity.", names=("--references",))
    ] = False
    defaults: Annotated[
        Mapping[str, float],
        Option(
            "Attribute value of reference images, NAME=VALUE; repeatable.",
            list[str],
            names=("--default",),
            read=_defaults,
            opens="value",
        ),
    ] = field(default_factory=dict)
    experiment: Annotated[
        str | Path | None,
        Option("A finished audit's folder: does its effect differ from that within pairs (--outcome)?", opens="data"),
    ] = None
    experiment_attribute: Annotated[
        str | None, Option("The attribute in --experiment, if its name differs from --treatment.", opens="value")
    ] = None
    ratio: Annotated[int, Option("Controls for each treated image, with --method optimal.")] = 1
    dose_gap: Annotated[float, Option("Continuous treatment: smallest difference within a pair; a has more.")] = 0.0
    base: Annotated[
        str | None, Option("With more than two groups, the one that the others are matched to.", opens="value")
    ] = None
    gate: Annotated[float, Option("Balance threshold on the absolute standardized mean difference.")] = GATE
    approximate: Annotated[
        bool, Option("Search neighbours in an index (extra: ann) and report its recall.", names=("--approximate",))
    ] = False
    pictures: Annotated[
        str | None,
        Option("Column of the table with pictures (bytes or paths) for the report and --difficulty.", opens="value"),
    ] = None
    pairs: Annotated[
        TableLike | None,
        Option(
            "Report these pairs instead of finding some: a table with columns a and b, row numbers or ids of "
            "--table; with more than two groups, a holds the base group.",
            Path,
            opens="data",
        ),
    ] = field(default=None, repr=False)
    changes: Annotated[
        Sequence[tuple[str, str]],
        Option(
            "Difference in differences, A=B: is the difference within pairs larger in outcome A than in outcome B?; "
            "repeatable.",
            list[str],
            names=("--change",),
            read=_changes,
            opens="value",
        ),
    ] = ()
    difficulty: Annotated[
        FeaturesLike | None,
        Option(
            "Compare pairs whose reference images are equally far apart, by FILE of features (default those of the "
            "matching), or a perceptual distance between --pictures: features, vgg16, pixels.",
            str,
            opens="data",
        ),
    ] = field(default=None, repr=False)
    difficulty_weights: Annotated[
        str | Path | None,
        Option("VGG16 in torchvision's layout for --difficulty vgg16, or another feature network.", opens="model"),
    ] = None
    out: Annotated[
        str | Path | None,
        Option("Parquet file to write: a, b, distance; or row, weight.", opens="write", default=Path("pairs.parquet")),
    ] = None


@final
@dataclass(frozen=True, slots=True)
class Request:
    """A matching with its inputs opened. blocks: of features, the table itself where it is one. root: of paths."""

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
    """The blocks of features, the table, and the folder of its pictures; without a table, the first features' own."""
    blocks = tuple(features) if isinstance(features, list | tuple) else () if features is None else (features,)
    if not blocks and not paired:
        raise BadInput("nothing to match on: expected --features FILE.npy or FILE.parquet, or --pairs FILE")
    if not blocks and table is None:
        raise BadInput("--pairs needs --table FILE with the treatment of the images")
    source = blocks[0] if table is None else table
    if table is None and is_array(source):
        raise BadInput("expected --table FILE.parquet with the treatment: an array or .npy file holds only features")
    rows = image_table(Path(source)) if is_audit(source) else as_table(source, "table")
    root = Path(source).parent if isinstance(source, str | Path) else Path()
    return tuple(rows if _same(block, source) else block for block in blocks), rows, root


def _same(block: FeaturesLike, source: TableLike) -> bool:
    if isinstance(block, str | Path) and isinstance(source, str | Path):
        return Path(block).resolve() == Path(source).resolve()
    return block is source


def check(request: Request, groups: int) -> None:
    """Raises BadInput for options that do not go together, of this many groups; none is ignored silently."""
    for name, (is_set, methods) in _settings(request).items():
        if is_set and request.method not in methods:
            raise BadInput(f"{name} does not apply to --method {request.method}; use {' or '.join(methods)}")
    if request.options.pictures is not None:
        column(request.table, request.options.pictures, "picture")
    if request.options.pairs is not None:
        _check_given(request)
    _check_difficulty(request)
    _check_numbers(request)
    _check_groups(request, groups)
    if request.options.experiment is None and request.options.experiment_attribute is not None:
        raise BadInput("--experiment-attribute names an attribute of --experiment DIR: give both")
    if request.options.experiment is not None and not request.outcomes:
        raise BadInput("--experiment is compared with outcomes within pairs: give them with --outcome")


def _check_given(request: Request) -> None:
    """Pairs that are given are not searched: what steers a search has no part in them."""
    options = request.options
    searching = {
        f"--method {request.method}": request.method != "greedy",
        "--caliper": request.caliper is not None,
        "--exact": bool(request.exact),
        "--second": options.second is not None,
        "--references": options.references,
        "--dose-gap": bool(options.dose_gap),
        "--ratio": options.ratio != 1,
        "--approximate": options.approximate,
    }
    for name, is_set in searching.items():
        if is_set:
            raise BadInput(f"{name} does not apply to pairs given with --pairs: leave it out")


def _check_difficulty(request: Request) -> None:
    options = request.options
    for name, value in (("--difficulty", options.difficulty), ("--difficulty-weights", options.difficulty_weights)):
        if value is not None and not options.references:
            raise BadInput(f"{name} applies to reference images: give --references too")


def _check_numbers(request: Request) -> None:
    """Numbers out of range are refused under the names of their options."""
    options = request.options
    for name, value in (("--caliper", request.caliper), ("--gate", options.gate)):
        if value is not None and not 0 <= value < math.inf:
            raise BadInput(f"{name}: expected at least 0, got {value:g}")
    if options.second_threshold is not None and not options.second_threshold > 0:
        raise BadInput(f"--second-threshold: expected a distance above 0, got {options.second_threshold:g}")


def _check_groups(request: Request, groups: int) -> None:
    several = groups > 2
    if several and request.method not in ("greedy", "optimal", "mahalanobis", "propensity"):
        raise BadInput(f"{groups} groups need --method greedy, optimal, mahalanobis or propensity")
    if request.options.base is not None and not several:
        raise BadInput(f"--base {request.options.base} applies to more than two groups: leave it out")
    pairs_of_two = not several and request.method != WEIGHTING
    if request.options.references and not pairs_of_two:
        raise BadInput("--references needs exactly two groups")
    if request.outcomes and request.method == WEIGHTING:
        raise BadInput(f"--outcome: expected a method that makes pairs, got {request.method}, which weighs images")
    if request.options.experiment is not None and several:
        raise BadInput(f"--experiment: expected two groups of {request.treatment}, got {groups}")


def _settings(request: Request) -> dict[str, tuple[bool, Sequence[str]]]:
    """Options that only some methods use: whether they are set, and those methods."""
    options = request.options
    pairing: list[str] = [name for name in METHODS if name != WEIGHTING]
    return {
        "--caliper": (request.caliper is not None, pairing),
        "--second": (options.second is not None, pairing),
        "--exact": (bool(request.exact), pairing),
        "--identity": (request.identity is not None, pairing),
        "--ratio": (options.ratio != 1, ["optimal"]),
        "--approximate": (options.approximate, ["greedy", "mahalanobis"]),
        "--dose-gap": (bool(options.dose_gap), ["greedy", "mahalanobis"]),
        "--metric": (request.metric != "euclidean", [name for name in METHODS if name != "mahalanobis"]),
    }
