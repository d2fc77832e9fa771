"""The command `transect recognition`."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from transect.errors import UnknownName
from transect.targets.limits import Limits


def recognition(
    table: Annotated[Path, typer.Option(help="Parquet with a row per image, as transect match takes it.")],
    identity: Annotated[str, typer.Option(help="Column of the table that says who is shown.")],
    group: Annotated[str, typer.Option(help="Column of the table whose groups are compared.")],
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[TARGET]",
            help="What embeds the --pictures: dlib:face-recognition@FOLDER, onnx:FILE, FILE.toml of a web address, "
            "module:function.",
        ),
    ] = None,
    pictures: Annotated[
        str | None, typer.Option(help="Column of pictures for TARGET: bytes, or paths below the table's folder.")
    ] = None,
    embeddings: Annotated[
        Path | None,
        typer.Option(help="Embeddings that are there already, .npy or Parquet, instead of TARGET and --pictures."),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="What transect match wrote: the same errors among matched images alone.")
    ] = None,
    threshold: Annotated[
        list[float] | None, typer.Option(help="A distance below which two images match; repeat for more.")
    ] = None,
    false_match_rate: Annotated[
        list[float] | None,
        typer.Option(
            help="Use the distance that accepts this share of comparisons of two people; repeat. Default .01."
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="Distance of embeddings: euclidean or cosine.")] = "euclidean",
    size: Annotated[int | None, typer.Option(help="Pixels that each picture is fitted into; default as it is.")] = None,
    preprocess: Annotated[Path | None, typer.Option(help="TOML file that says how images enter the model.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that the target may take for an image.")] = 10.0,
    batch: Annotated[int, typer.Option(help="Images that the target gets at a time, at most 64.")] = 16,
    max_failures: Annotated[float, typer.Option(help="Share of failed images above which it stops.")] = 0.05,
    out: Annotated[Path, typer.Option(help="The folder of recognition.html, recognition.json, embeddings.")] = Path(
        "recognition"
    ),
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")] = False,
) -> None:
    """Does face recognition err more on one group? False matches and non-matches, before and after matching."""
    from transect.jobs.recognition import run

    if metric not in ("euclidean", "cosine"):
        raise UnknownName("metric", metric, ["euclidean", "cosine"])
    asked = run.Asked(
        table=table,
        identity=identity,
        group=group,
        embeddings=embeddings,
        pictures=pictures,
        pairs=pairs,
        thresholds=threshold or (),
        rates=false_match_rate or (),
        metric=metric,  # type: ignore[arg-type]
        size=size,
        limits=Limits(timeout=timeout, batch=batch, max_failures=max_failures),
        kept=out / "answers",
    )
    made = run.recognize(asked, None if target is None else _target(target, preprocess), quiet=json)
    from transect.jobs.recognition.page import write

    page = write(made.summary, made.errors, out)
    run.keep_embeddings(made, out)
    if json:
        print(json_format.dumps(made.summary, indent=1, ensure_ascii=False, allow_nan=False))
    else:
        _show(made.summary)
    print(f"report: {page}", file=sys.stderr if json else sys.stdout)


def _target(spec: str, preprocess: Path | None) -> Any:
    """The target of a spec; a model or function that does not say what it answers is taken to embed."""
    from transect.targets import resolve
    from transect.targets.model import ModelTarget

    options: dict[str, Any] = {} if preprocess is None else {"preprocess": preprocess}
    if spec.startswith(("onnx:", "torch:")):
        return resolve(spec, task="embedding", **options)
    made = resolve(spec, **options)
    return resolve(spec, task="embedding", **options) if isinstance(made, ModelTarget) else made


def _show(summary: dict[str, Any]) -> None:
    """Errors by group, the differentials, what is left out."""
    from transect.console.printing import table

    for place, limit in enumerate(summary["thresholds"]):
        print(f"threshold {limit['threshold']:.4g} ({summary['metric']} distance; {_found(limit, summary)})")
        rows = [
            _row(sample, one, one["rates"][place])
            for sample, made in summary["samples"].items()
            for one in made["groups"]
        ]
        head = ["sample", summary["group"], "images", "identities", "mean distance, same person", "FNMR, %", "FMR, %"]
        table(head, rows, False)
        for sample, made in summary["samples"].items():
            for one in made["differentials"][2 * place : 2 * place + 2]:
                print(f"{sample}: {_ratio(one)}")
    for sample, made in summary["samples"].items():
        for one in made["differences"]:
            ends = _ends(one["estimate"], one["low"], one["high"], 1, "+.4g")
            print(f"{sample}: mean distance of one person's images, {one['name']}: {ends}")
    for one in summary["left_out"]:
        print(f"left out: {one['images']} of {one['group']} ({one['reason']})")
    for note in summary["notes"]:
        print(f"note: {note}")


def _found(limit: dict[str, Any], summary: dict[str, Any]) -> str:
    """How a threshold came about: the rate that was asked for, and the one that it has."""
    if limit["false_match_rate"] is None:
        return "stated"
    compared = f"{summary['impostor_comparisons']:,} comparisons of different people"
    return f"at most {100 * limit['false_match_rate']:g} %: {100 * limit['reached']:.3g} % of {compared} match"


def _row(sample: str, one: dict[str, Any], rates: dict[str, Any]) -> list[str]:
    mean = _ends(one["mean_distance"], one["mean_distance_low"], one["mean_distance_high"], 1, ".4g")
    both = [_ends(rates[k], rates[f"{k}_low"], rates[f"{k}_high"], 100, ".3g") for k in ("fnmr", "fmr")]
    return [sample, one["group"], f"{one['images']:,}", f"{one['identities']:,}", mean, *both]


def _ends(value: float | None, low: float | None, high: float | None, scale: int, digits: str) -> str:
    if value is None:
        return "unknown"
    if low is None or high is None:
        return f"{scale * value:{digits}}"
    return f"{scale * value:{digits}} ({scale * low:{digits}} to {scale * high:{digits}})"


def _ratio(one: dict[str, Any]) -> str:
    name = f"{one['rate'].upper()} over the groups' geometric mean"
    gini = "unknown" if one["gini"] is None else f"{one['gini']:.3g}"
    if one["reason"]:
        return f"{name}: not estimable: {one['reason']}; Gini {gini}"
    said = ", ".join(f"{r['group']} {_ends(r['ratio'], r['low'], r['high'], 1, '.3g')}" for r in one["ratios"])
    return f"{name}: {said}; Gini {gini}"
