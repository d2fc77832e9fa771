"""The command line: each command reads its options and calls the study or one stage.

Errors are one line on standard error. Exit codes: 0 done, 2 bad input, 3 stopped on too many failures,
130 interrupted (the same command goes on).
"""

from __future__ import annotations

import json as json_format
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from transect import __version__
from transect.cli.attributes import attributes
from transect.cli.datasets import datasets
from transect.cli.generators import generators
from transect.cli.targets import targets as targets_group
from transect.console.audit_options import (
    Boundary,
    By,
    CheckAttribute,
    CheckIdentity,
    CheckRealism,
    Directions,
    FalseMatchRate,
    InvertedLatents,
    Perceived,
    Prune,
    Ratings,
    Redraw,
    RequireValidation,
    Threshold,
    Within,
)
from transect.console.printing import table
from transect.errors import BadInput, TransectError
from transect.jobs.annotate.command import annotate
from transect.jobs.directions.command import directions as directions_group
from transect.jobs.invert.command import invert
from transect.jobs.leakage.command import leakage
from transect.jobs.match.command import match
from transect.jobs.mitigate.command import mitigate
from transect.jobs.neighbours.command import neighbours
from transect.jobs.plan.command import plan
from transect.jobs.recognition.command import recognition
from transect.jobs.search.command import search
from transect.jobs.train.classifier_command import classifier
from transect.jobs.train.command import train
from transect.jobs.verify.command import verify
from transect.targets.limits import Limits

app = typer.Typer(
    name="transect",
    help="Measure bias in vision models by experiment: images that differ in one attribute, and what it causes.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(annotate)
app.add_typer(datasets)
app.add_typer(generators)
app.add_typer(targets_group)
app.add_typer(directions_group)
app.command()(plan)
app.add_typer(verify)
for stage in (leakage, match, neighbours, recognition, mitigate, search):
    app.command()(stage)
train.command()(classifier)
app.add_typer(train)
app.command()(attributes)
app.command()(invert)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")]
Out = Annotated[Path | None, typer.Option(help="The run folder; default runs/<target>.")]
Seed = Annotated[int, typer.Option(help="Seed of the run; the same seed gives the same subjects.")]
Device = Annotated[str, typer.Option(help="Where images are computed: cpu, cuda, cuda:1 and so on.")]
Population = Annotated[
    str, typer.Option(help="A shipped population or a TOML file: where subjects come from. See the how-to.")
]


def _print_version(wanted: bool) -> bool:
    if wanted:
        print(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001  (its callback does the work)
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Measure bias in vision models by experiment: images that differ in one attribute, and what it causes."""
    if debug:
        os.environ["TRANSECT_DEBUG"] = "1"


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="The folder of the report and of its studies.")] = Path("runs/demo"),
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Audit OpenCV's stock face and smile detectors on rendered faces: the main job, in a minute or so."""
    from transect.jobs.audit import run

    _show(run.demo(out, seed=seed, device=device), json)


@app.command()
def audit(
    targets: Annotated[list[str], typer.Argument(metavar="TARGET…", help="What to audit; see: transect targets.")],
    vary: Annotated[
        list[str] | None,
        typer.Option(help="An attribute to set: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…; repeat for more."),
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option(
            help="Move an attribute λ half-ranges from each subject's own value: NAME or NAME=-1:1:5; repeat."
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Labelled photographs as they are, READER:PATH, as folder:faces or celeba:data?split=test; see: "
            "transect datasets."
        ),
    ] = None,
    observe: Annotated[
        int | None, typer.Option(help="Beside the experiment, so many images of --population as they come.")
    ] = None,
    interpolate: Annotated[
        int | None,
        typer.Option(help="Also join so many pairs of subjects: do images between keep their class? 11 images each."),
    ] = None,
    subjects: Annotated[int, typer.Option(help="Subjects, each shown at every combination of levels.")] = 100,
    images: Annotated[
        int | None, typer.Option(help="Observe instead of experiment: so many images of --population as they come.")
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="With --observe, --images or --dataset: compare by this attribute or nuisance; repeat; default every "
            "attribute."
        ),
    ] = None,
    population: Population = "balanced",
    hold: Annotated[
        list[str] | None,
        typer.Option(help="Keep a downstream attribute at the subject's own value, e.g. exposure (direct effect)."),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(help="What the right answer is: 'smile>0.5', an attribute, or face (every image shows one)."),
    ] = None,
    outcome: Annotated[
        list[str] | None,
        typer.Option(help="What to count: answer, score, miss, false_alarm, error, loss, distance, non_match."),
    ] = None,
    generator: Annotated[
        str, typer.Option(help="What makes the images: a name, or a network's FILE.safetensors.")
    ] = "faceworld",
    directions: Directions = None,
    latents: InvertedLatents = None,
    size: Annotated[
        int | None,
        typer.Option(help="Width and height of the images, in pixels; default 128, photographs as they are."),
    ] = None,
    device: Device = "cpu",
    seed: Seed = 0,
    task: Annotated[
        str | None,
        typer.Option(help="What a model answers: binary, multiclass, multilabel, detection, regression, embedding."),
    ] = None,
    preprocess: Annotated[Path | None, typer.Option(help="TOML file that says how images enter the model.")] = None,
    labels: Annotated[str | None, typer.Option(help="Names of the model's classes, separated by commas.")] = None,
    positive: Annotated[str | None, typer.Option(help="The class or label that counts as yes.")] = None,
    threshold: Threshold = None,
    false_match_rate: FalseMatchRate = None,
    within: Within = None,
    output: Annotated[str | None, typer.Option(help="What the model returns: probability or logit.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a target may take for an image.")] = 10.0,
    batch: Annotated[int, typer.Option(help="Images that a target gets at a time.")] = 16,
    max_failures: Annotated[float, typer.Option(help="Share of failed images above which the run stops.")] = 0.05,
    control: Annotated[
        bool, typer.Option(help="Also vary the background's hue, which cannot matter, on some subjects (20 % images).")
    ] = True,
    check_attribute: CheckAttribute = None,
    check_identity: CheckIdentity = None,
    check_realism: CheckRealism = None,
    redraw: Redraw = 0,
    boundary: Boundary = None,
    perceived: Perceived = None,
    ratings: Ratings = None,
    prune: Prune = None,
    by: By = None,
    require_validation: RequireValidation = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many images, calls and how much money at most, and stop.")
    ] = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Set attributes, ask the target, estimate what each attribute causes, and write the report."""
    from transect.console import target_options
    from transect.experiment import costs, study
    from transect.experiment.edits import check_of
    from transect.jobs.audit import run

    options = target_options.given(
        task=task, preprocess=preprocess, labels=labels, positive=positive, threshold=threshold, output=output
    )
    resolved = study.resolve_targets(targets, options)
    asked: dict[str, Any] = {
        "vary": vary or (),
        "steps": steps or (),
        "dataset": dataset,
        "observe": observe,
        "lines": interpolate,
        "subjects": subjects,
        "images": images,
        "population": population,
        "hold": hold or (),
        "generator": generator,
        "directions": directions,
        "latents": latents,
        "image_size": size,
        "device": device,
        "seed": seed,
    }
    if dry_run:
        costs.show(run.cost(resolved, **asked), json)
        costs.close(resolved)
        return
    result = run.audit(
        resolved,
        **asked,
        compare=compare or (),
        truth=truth,
        outcomes=outcome or (),
        limits=Limits(timeout=timeout, batch=batch, max_failures=max_failures),
        control=control,
        check_edits=check_of(check_attribute or (), check_identity, check_realism, redraw),
        false_match_rate=false_match_rate,
        within=within or (),
        near=boundary,
        perceived=perceived,
        ratings=ratings,
        prune=prune or (),
        by=by or (),
        require_validation=require_validation,
        out=out,
    )
    _show(result, json, costs.made(resolved))
    costs.close(resolved)


@app.command()
def render(
    subjects: Annotated[int, typer.Option(help="How many subjects.")] = 32,
    seed: Seed = 0,
    size: Annotated[
        int | None, typer.Option(help="Width and height of each image, in pixels; default 128, or a network's own.")
    ] = None,
    population: Population = "balanced",
    generator: Annotated[str, typer.Option(help="What makes the images.")] = "faceworld",
    directions: Directions = None,
    latents: InvertedLatents = None,
    vary: Annotated[
        list[str] | None, typer.Option(help="Show each subject at these levels, a row each; as in audit.")
    ] = None,
    hold: Annotated[list[str] | None, typer.Option(help="Keep a downstream attribute; as in audit.")] = None,
    device: Device = "cpu",
    columns: Annotated[int, typer.Option(help="Images in a row, where no attribute varies.")] = 8,
    data_set: Annotated[
        bool, typer.Option("--data-set", help="Write pictures, attributes, masks as Parquet into the folder --out.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The picture (default sheet.png) or data set to write.")] = None,
    json: Json = False,
) -> None:
    """Render subjects as a contact sheet, with --vary a strip per subject; or as a data set of any size, resumable."""
    from transect.jobs.render import run

    asked: dict[str, Any] = {
        "subjects": subjects,
        "seed": seed,
        "image_size": size,
        "population": population,
        "generator": generator,
        "vary": vary or (),
        "hold": hold or (),
        "device": device,
        "directions": directions,
        "latents": latents,
    }
    if data_set:
        path = run.render_data_set(out or Path("data_set"), **asked, quiet=json)
    else:
        path = run.render_sheet(out or Path("sheet.png"), **asked, columns=columns)
    print(json_format.dumps({"out": str(path)}) if json else f"wrote {path}")


@app.command()
def report(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A finished run folder, or a folder of studies.")],
    shares: Annotated[
        list[Path] | None,
        typer.Option(help="A population's shares (CSV or TOML) to project the rates to; repeat for more."),
    ] = None,
    correction: Annotated[str, typer.Option(help="For many tests: holm, benjamini-hochberg or max-t.")] = "holm",
    model: Annotated[
        list[str] | None,
        typer.Option(help="Adjust errors by this model too: ols, logit, poisson, gee or fractional; repeat for more."),
    ] = None,
    perceived: Perceived = None,
    ratings: Ratings = None,
    prune: Prune = None,
    by: By = None,
    reference: Annotated[
        str | None,
        typer.Option(help="Where the run has no truth: what raters' mean or majority decides, as 'gender>=0.5'; kept."),
    ] = None,
    boundary: Boundary = None,
    require_validation: RequireValidation = None,
    json: Json = False,
) -> None:
    """Build the report of a finished run again from its tables, with other corrections or populations if you like."""
    from transect.analysis import rater_report, reporting, sections
    from transect.ratings import gates

    models = sections.check(model or ())
    reporting.rate(folder, perceived, prune or (), ratings)
    if reference is not None:
        rater_report.judge(folder, reference)
    if require_validation is not None:
        gates.attach(folder, gates.read(require_validation))
    asked: dict[str, Any] = {"shares": shares or (), "correction": correction, "near": boundary, "by": by or ()}
    _show(reporting.report(folder, models=models, **asked), json)


def _show(result: Any, as_json: bool, cost: Any = None) -> None:
    """The effects as a short table and where the report is, or the same as JSON."""
    if as_json:
        print(json_format.dumps({**result.summary(), **(cost or {})}, indent=2, allow_nan=False))
        return
    table(["effect", "target", "outcome", "estimate", "95 % interval", "p (adjusted)"], result.rows(), False)
    print(f"report: {result.report}")


def _one_line(error: BaseException) -> str:
    """The message in one line; a usage error names the help."""
    message = error.format_message() if hasattr(error, "format_message") else str(error)
    return " ".join(message.split())


def main() -> None:
    """Run the command line and leave with its exit code."""
    try:
        code = app(standalone_mode=False)
    except TransectError as error:
        _leave(error, error.exit_code)
    except (KeyboardInterrupt, typer.Abort) as error:
        _leave(BadInput("interrupted; the same command goes on where it stopped"), 130, error)
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        _leave(error, 2)
    _end(code if isinstance(code, int) else 0)


def _leave(error: BaseException, code: int, cause: BaseException | None = None) -> None:
    if os.environ.get("TRANSECT_DEBUG"):
        raise cause or error
    if message := _one_line(error):  # without arguments the help is already there
        print(f"transect: {message}", file=sys.stderr)
    _end(code)


def _end(code: int) -> None:
    """Leave at once when something is left over.

    Python would wait for the threads of an abandoned call, and native threads of libraries have been seen to abort an
    interpreter that ends in the middle of work. Everything that counts is on disk by then.
    """
    guard = sys.modules.get("transect.targets.guard")
    if http := sys.modules.get("transect.targets.http.target"):
        http.drain()  # what is under way is paid for
    if code or (guard is not None and guard.abandoned):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)
