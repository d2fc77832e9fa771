"""The commands `transect audit` and `transect demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

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
from transect.console.common_options import Device, Json, Out, Population, Seed
from transect.console.results import show
from transect.targets.limits import Limits


def demo(
    out: Annotated[Path, typer.Option(help="The folder of the report and of its studies.")] = Path("runs/demo"),
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Audit OpenCV's stock face and smile detectors on rendered faces: the main job, in a minute or so."""
    from transect.jobs.audit import run

    show(run.demo(out, seed=seed, device=device), json)


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
    show(result, json, costs.made(resolved))
    costs.close(resolved)
