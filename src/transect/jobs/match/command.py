"""The command `transect match`."""

from __future__ import annotations

import json as json_format
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from transect.errors import BadInput, UnknownName

_MOST_SHOWN = 15


def match(
    features: Annotated[
        list[str],
        typer.Option(help="Where distance is measured: .npy or Parquet, FILE or FILE=WEIGHT; repeatable."),
    ],
    treatment: Annotated[str, typer.Option(help="Column of the table that tells the groups apart: 0 and 1, or names.")],
    table: Annotated[
        Path | None, typer.Option(help="Parquet with a row per image; by default the features, if they are Parquet.")
    ] = None,
    method: Annotated[
        str,
        typer.Option(
            help="greedy, optimal, propensity, propensity-published, mahalanobis, coarsened, cardinality, entropy "
            "or overlap."
        ),
    ] = "greedy",
    metric: Annotated[str, typer.Option(help="euclidean, standardized or mahalanobis.")] = "euclidean",
    layers: Annotated[str, typer.Option(help="Latents of several layers (w+): flatten or average.")] = "flatten",
    columns: Annotated[list[str] | None, typer.Option(help="Feature columns of Parquet; default all numeric.")] = None,
    exact: Annotated[list[str] | None, typer.Option(help="Column in which the images of a pair are equal.")] = None,
    caliper: Annotated[
        float | None, typer.Option(help="Largest distance of a pair; standard deviations of log odds for propensity.")
    ] = None,
    identity: Annotated[str | None, typer.Option(help="Column of identities; each is in one pair at most.")] = None,
    second: Annotated[
        Path | None, typer.Option(help="Another embedding, of face recognition for example, near in every pair.")
    ] = None,
    second_threshold: Annotated[float | None, typer.Option(help="How near: distances in --second are below.")] = None,
    references: Annotated[
        bool, typer.Option("--references", help="Give each image of a pair another image of its identity.")
    ] = False,
    default: Annotated[
        list[str] | None, typer.Option(help="What reference images must be like, NAME=VALUE, as Eyeglasses=0.")
    ] = None,
    covariate: Annotated[
        list[str] | None, typer.Option(help="Column whose balance is measured; default all numeric ones of the table.")
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(help="Column to compare within pairs, as a target's errors: difference, bounds of hidden bias."),
    ] = None,
    experiment: Annotated[
        Path | None,
        typer.Option(help="A finished audit's folder: with --outcome, does its effect differ from that of the pairs?"),
    ] = None,
    experiment_attribute: Annotated[
        str | None, typer.Option(help="The attribute of --experiment, where it is not called as --treatment.")
    ] = None,
    ratio: Annotated[int, typer.Option(help="Controls for each treated image, with --method optimal.")] = 1,
    tolerance: Annotated[float, typer.Option(help="Standard deviations that cardinality matching leaves.")] = 0.1,
    bins: Annotated[int | None, typer.Option(help="Bins of a covariate, coarsened; default by Sturges.")] = None,
    dose_gap: Annotated[
        float, typer.Option(help="Continuous treatment: pairs differ in it by at least this; a is the higher.")
    ] = 0.0,
    base: Annotated[str | None, typer.Option(help="With more than two groups, the one to match to.")] = None,
    gate: Annotated[float, typer.Option(help="Standard deviations up to which a covariate is balanced.")] = 0.1,
    approximate: Annotated[
        bool, typer.Option("--approximate", help="Look for neighbours in an index (the extra ann); recall is stated.")
    ] = False,
    seed: Annotated[int, typer.Option(help="Seed of random order, of folds and of drawn images.")] = 0,
    out: Annotated[Path, typer.Option(help="Parquet to write: pairs a, b, distance, or row, weight.")] = Path(
        "pairs.parquet"
    ),
    report: Annotated[Path | None, typer.Option(help="Folder for a page with balance, overlap and pairs.")] = None,
    pictures: Annotated[
        str | None, typer.Option(help="Column of the table with pictures (bytes or paths) for the page.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")] = False,
) -> None:
    """Find pairs of real images that differ in one attribute and are alike in the rest, and show their balance."""
    from transect.datasets.features import parse_weighted
    from transect.jobs.match import run
    from transect.jobs.match.sample import METHODS, Options
    from transect.runs.folder import write_table

    _known("method", method, list(METHODS))
    _known("metric", metric, ["euclidean", "standardized", "mahalanobis"])
    _known("layers", layers, ["flatten", "average"])
    options: dict[str, Any] = {
        "features": features,
        "treatment": treatment,
        "table": table,
        "method": method,
        "metric": metric,
        "layers": layers,
        "columns": columns or (),
        "exact": exact or (),
        "caliper": caliper,
        "identity": identity,
        "second": second,
        "second_threshold": second_threshold,
        "defaults": default or (),
        "references": references,
        "covariates": covariate or (),
        "outcomes": outcome or (),
        "experiment": experiment,
        "experiment_attribute": experiment_attribute,
        "ratio": ratio,
        "tolerance": tolerance,
        "bins": bins,
        "dose_gap": dose_gap,
        "base": base,
        "gate": gate,
        "approximate": approximate,
        "seed": seed,
    }
    if pictures is not None and report is None:
        raise BadInput("--pictures go onto the page: give --report DIR too")
    _writable(out, [*(parse_weighted(one)[0] for one in features), *filter(None, [table, second])])
    given = Options(**options)
    made = run.match(given)
    write_table(out, made.rows)
    if json:
        print(json_format.dumps(made.summary, indent=1, allow_nan=False))
    else:
        _show(made.summary, out)
    if report is not None:
        from transect.jobs.match.figures import write
        from transect.jobs.match.page import page_of

        page = write(page_of(made, given, pictures), report)
        print(f"report: {page}", file=sys.stderr if json else sys.stdout)


def _known(kind: str, name: str, names: list[str]) -> None:
    if name not in names:
        raise UnknownName(kind, name, names)


def _writable(out: Path, inputs: Sequence[Path]) -> None:
    """Told before the work: the folder of --out must be there, and the file none of those that are read."""
    if out.resolve() in [one.resolve() for one in inputs]:
        raise BadInput(f"--out {out}: expected another file than those that are read, got one of them; name another")
    if not out.parent.is_dir() or out.is_dir():
        raise BadInput(f"--out {out}: expected a file name in a folder that exists; make {out.parent} first")


def _show(summary: dict[str, Any], out: Path) -> None:
    """The answer in words: counts, reasons, the verdict, the farthest covariates."""
    from transect.jobs.match.outcomes import lines

    print(_headline(summary))
    for reason, count in summary["refused"].items():
        print(f"  refused: {count} ({reason})")
    if summary["missing"]:
        listed = ", ".join(map(str, summary["missing_rows"]))
        images = "1 image, row" if summary["missing"] == 1 else f"{summary['missing']} images, rows"
        print(f"  missing values: {images} {listed}{_more(summary)}")
    for note in [*summary["notes"], *filter(None, [summary["facts"].get("warning")])]:
        print(f"  note: {note}")
    for name in ("accuracy_in_sample", "accuracy_cross_validated", "recall"):
        if name in summary["facts"]:
            print(f"  {name.replace('_', ' ')}: {summary['facts'][name]:.4f}")
    print(summary["verdict"])
    for line in _balance_lines(summary["balance"]):
        print(line)
    for one in summary.get("outcomes", ()):
        for line in [*outcome_lines(one), *lines(one)]:
            print(line)
    print(f"wrote {out}")


def _headline(summary: dict[str, Any]) -> str:
    """How many pairs, of which images, by what."""
    of = f"{summary['treated']} treated and {summary['control']} control images"
    if "dose_gap" in summary:  # every image may be the higher or the lower one
        of = f"{summary['treated']} images whose {summary['treatment']} differs by {summary['dose_gap']:g} or more"
    pairs = "1 pair" if summary["pairs"] == 1 else f"{summary['pairs']} pairs"
    what = f"{summary['weighted']} images weighted" if "weighted" in summary else pairs
    return f"{what} from {of} ({summary['method']})"


def _balance_lines(balance: list[dict[str, Any]]) -> list[str]:
    """The covariates that differed most before, and how many more there are."""
    ranked = sorted(balance, key=lambda one: -abs(one["before"] or 0.0))[:_MOST_SHOWN]
    if not ranked:
        return []
    width = max(len(one["covariate"]) for one in ranked)
    lines = [f"{'covariate':<{width}}  SMD before   after"]
    for one in ranked:
        numbers = ["unknown" if one[side] is None else f"{one[side]:+.3f}" for side in ("before", "after")]
        lines.append(f"{one['covariate']:<{width}}  {numbers[0]:>10} {numbers[1]:>7}")
    left = len(balance) - len(ranked)
    return [*lines, *([f"{left} more covariates differed less before: --json has all"] if left else [])]


def _more(summary: dict[str, Any]) -> str:
    return " …" if summary["missing"] > len(summary["missing_rows"]) else ""


def outcome_lines(one: dict[str, Any]) -> list[str]:
    """The difference of an outcome within pairs, and what hidden bias could do to it, in words."""
    missing = f", {one['n_missing']} without both outcomes left out" if one["n_missing"] else ""
    if one["estimate"] is None:
        return [f"{one['outcome']}: not estimable: {one['reason']}{missing}"]
    scale, unit = (100, " points") if one["is_binary"] else (1, "")
    ends = one["reason"]
    if one["low"] is not None:
        ends = f"{scale * one['low']:+.3g} to {scale * one['high']:+.3g}"
    lines = [
        f"{one['outcome']}: {scale * one['estimate']:+.3g}{unit} within {one['n_pairs']} pairs ({ends}), "
        f"p = {one['p']:.2g}{missing}"
    ]
    if "tolerated" not in one:
        return [*lines, f"  hidden bias: {one['no_bounds']}"]
    if not one["discordant"]:
        return [*lines, "  hidden bias: no pair differs"]
    if one["tolerated"] is None:
        return [*lines, f"  hidden bias: not significant even without hidden bias (p = {one['largest_p'][0]:.2g})"]
    least = "at least" if one["tolerated"] >= 100 else "up to"
    return [
        *lines,
        "  hidden bias: stays significant where two images of a pair differ in their odds of the treatment by a factor "
        f"of {least} {one['tolerated']:g} (Rosenbaum, {one['bounds_method']}, {one['discordant']} pairs that differ)",
    ]
