"""The command `transect match`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from transect.console.options import Json
from transect.console.results import Rerun, keep, show
from transect.errors import BadInput

RERUN = Rerun(
    values="treatment method metric layers columns exact caliper identity second-threshold default "
    "covariate outcome change experiment-attribute ratio dose-gap base gate approximate seed pictures",
    data="features pairs table second references difficulty experiment",
    models="difficulty-weights",
    writes={"report": "", "out": "pairs.parquet"},
)


def match(
    context: typer.Context,
    treatment: Annotated[str, typer.Option(help="Column of the table with the groups: 0 and 1, or names.")],
    features: Annotated[
        list[str] | None,
        typer.Option(
            help="Where distance is measured: .npy, table or inversion, FILE or FILE=WEIGHT; repeatable; not needed "
            "with --pairs."
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="Report these pairs instead of finding some: a table with columns a and b, row numbers or ids of "
            "--table; of more than two groups with the base group in a."
        ),
    ] = None,
    table: Annotated[
        Path | None, typer.Option(help="Table with a row per image; by default the features, if they are a table.")
    ] = None,
    method: Annotated[
        str, typer.Option(help="greedy, optimal, propensity, propensity-published, mahalanobis or overlap.")
    ] = "greedy",
    metric: Annotated[str, typer.Option(help="euclidean, standardized or mahalanobis.")] = "euclidean",
    layers: Annotated[str, typer.Option(help="Latents of several layers (w+): flatten or average.")] = "flatten",
    columns: Annotated[list[str] | None, typer.Option(help="Feature columns of a table; default all numeric.")] = None,
    exact: Annotated[
        list[str] | None, typer.Option(help="Column in which the images of a pair are equal; repeatable.")
    ] = None,
    caliper: Annotated[
        float | None,
        typer.Option(help="Largest distance of a pair; propensity: in standard deviations of log odds."),
    ] = None,
    identity: Annotated[str | None, typer.Option(help="Column of identities; each is in at most one pair.")] = None,
    second: Annotated[
        Path | None,
        typer.Option(help="Another embedding, e.g. of face recognition, in which pairs must be near."),
    ] = None,
    second_threshold: Annotated[float | None, typer.Option(help="Pairs are below this distance in --second.")] = None,
    references: Annotated[
        bool, typer.Option("--references", help="Add to each image of a pair another image of its identity.")
    ] = False,
    difficulty: Annotated[
        str | None,
        typer.Option(
            help="Where reference images are equally far: FILE of features (default those of the matching), or a "
            "perceptual distance between --pictures: features, vgg16, pixels."
        ),
    ] = None,
    difficulty_weights: Annotated[
        Path | None,
        typer.Option(help="VGG16 in torchvision's layout for --difficulty vgg16, or another feature network."),
    ] = None,
    default: Annotated[
        list[str] | None,
        typer.Option(help="Attribute value of reference images, NAME=VALUE; repeatable."),
    ] = None,
    covariate: Annotated[
        list[str] | None,
        typer.Option(help="Column whose balance is measured; default all numeric columns."),
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(help="Column to compare within pairs, e.g. errors: difference, bounds under hidden bias."),
    ] = None,
    change: Annotated[
        list[str] | None,
        typer.Option(
            help="Difference in differences, A=B: is the difference within pairs larger in outcome A than in outcome "
            "B?; repeatable."
        ),
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option(help="A finished audit's folder: does its effect differ from that within pairs (--outcome)?"),
    ] = None,
    experiment_attribute: Annotated[
        str | None, typer.Option(help="The attribute in --experiment, if its name differs from --treatment.")
    ] = None,
    ratio: Annotated[int, typer.Option(help="Controls for each treated image, with --method optimal.")] = 1,
    dose_gap: Annotated[
        float, typer.Option(help="Continuous treatment: least difference within a pair; a is the higher.")
    ] = 0.0,
    base: Annotated[
        str | None, typer.Option(help="With more than two groups, the one that the others are matched to.")
    ] = None,
    gate: Annotated[float, typer.Option(help="Balance threshold on the absolute standardized mean difference.")] = 0.1,
    approximate: Annotated[
        bool,
        typer.Option("--approximate", help="Search neighbours in an index (extra: ann) and report its recall."),
    ] = False,
    seed: Annotated[int, typer.Option(help="Random seed.")] = 0,
    out: Annotated[Path, typer.Option(help="Parquet file to write: a, b, distance; or row, weight.")] = Path(
        "pairs.parquet"
    ),
    report: Annotated[Path | None, typer.Option(help="Folder for the report: balance, overlap, pairs.")] = None,
    pictures: Annotated[
        str | None,
        typer.Option(help="Column of the table with pictures (bytes or paths) for the report and --difficulty."),
    ] = None,
    json: Json = False,
) -> None:
    """Find pairs of real images that differ in one attribute and are similar in the rest, and report their balance."""
    from transect.datasets.features import parse_change, parse_default, parse_weighted
    from transect.jobs.match import run
    from transect.jobs.match.methods import distance_name
    from transect.jobs.match.options import LAYERS, METHODS, METRICS, MatchOptions
    from transect.jobs.match.page import lines
    from transect.runs.folder import write_table
    from transect.runs.parts import announcing_stages
    from transect.runs.table_inputs import choice

    if pictures is not None and report is None and distance_name(difficulty) is None:
        raise BadInput("--pictures go onto the page: give --report DIR too")
    blocks = [parse_weighted(text) for text in features or ()]
    _writable(out, [*(path for path, _ in blocks), *filter(None, [table, second, pairs])])
    with announcing_stages(quiet=json):
        result = run.match(
            [path for path, _ in blocks],
            treatment,
            table,
            method=choice("method", method, METHODS),
            metric=choice("metric", metric, METRICS),
            exact=exact or (),
            caliper=caliper,
            identity=identity,
            covariates=covariate or (),
            outcomes=outcome or (),
            seed=seed,
            options=MatchOptions(
                weights=[weight for _, weight in blocks],
                layers=choice("layers", layers, LAYERS),
                columns=columns or (),
                second=second,
                second_threshold=second_threshold,
                references=references,
                defaults=dict(map(parse_default, default or ())),
                experiment=experiment,
                experiment_attribute=experiment_attribute,
                ratio=ratio,
                dose_gap=dose_gap,
                base=base,
                gate=gate,
                approximate=approximate,
                pictures=pictures,
                pairs=pairs,
                changes=[parse_change(text) for text in change or ()],
                difficulty=difficulty,
                difficulty_weights=difficulty_weights,
            ),
        )
    write_table(out, result.table)
    page = None if report is None else result.report(report)
    if report is not None:
        keep(context, report, RERUN)
    show(result, json, *lines(result.numbers), f"wrote {out}", page=page)


def _writable(out: Path, inputs: Sequence[Path]) -> None:
    """Refuses before the work starts: the folder of --out must exist, and the file must not be an input."""
    if out.resolve() in [path.resolve() for path in inputs]:
        raise BadInput(f"--out {out}: expected another file than those that are read, got one of them; name another")
    if not out.parent.is_dir() or out.is_dir():
        raise BadInput(f"--out {out}: expected a file name in a folder that exists; make {out.parent} first")
