"""The commands `transect audit` and `transect demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from transect.console.audit_options import (
    CHECKS,
    IMAGES,
    MODEL,
    VERIFICATION,
    Boundary,
    By,
    Directions,
    InvertedLatents,
    Perceived,
    Prune,
    Ratings,
    RequireValidation,
    Threshold,
)
from transect.console.common_options import Device, Json, Out, Population, Seed, on_command_line
from transect.console.results import show

_EXPERIMENT = "Experiment"
_OBSERVATION = "Observation"
_OUTCOMES = "Outcomes"
_LIMITS = "Limits"


def demo(
    out: Annotated[Path, typer.Option(help="The folder of the report and its studies.")] = Path("runs/demo"),
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Audit OpenCV's stock face and smile detectors on rendered faces, in about a minute."""
    from transect.jobs.audit import run

    result = run.demo(out, seed=seed, device=device)
    show(result, json, result.page)


def audit(
    context: typer.Context,
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET…", help="The models to audit; see: transect targets.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file with any of these settings; options on the command line override it."),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="Set this attribute: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…; repeatable.", rich_help_panel=_EXPERIMENT
        ),
    ] = None,
    steps: Annotated[
        list[str] | None,
        typer.Option(
            help="Move this attribute by λ half-ranges from each subject's own value: NAME or NAME=-1:1:5; repeatable.",
            rich_help_panel=_EXPERIMENT,
        ),
    ] = None,
    subjects: Annotated[
        int, typer.Option(help="Subjects, each shown at every combination of levels.", rich_help_panel=_EXPERIMENT)
    ] = 100,
    hold: Annotated[
        list[str] | None,
        typer.Option(
            help="Keep a downstream attribute at the subject's own value, e.g. exposure, to estimate a direct effect.",
            rich_help_panel=_EXPERIMENT,
        ),
    ] = None,
    interpolate: Annotated[
        int | None,
        typer.Option(
            help="Interpolate between N pairs of subjects and check that the class stays; 11 images a pair.",
            rich_help_panel=_EXPERIMENT,
        ),
    ] = None,
    control: Annotated[
        bool,
        typer.Option(
            help="Also vary the background's hue, which cannot matter, on some subjects (20 % more images).",
            rich_help_panel=_EXPERIMENT,
        ),
    ] = True,
    images: Annotated[
        int | None,
        typer.Option(
            help="Run an observational study on N images drawn from --population, without an experiment.",
            rich_help_panel=_OBSERVATION,
        ),
    ] = None,
    observe: Annotated[
        int | None,
        typer.Option(
            help="Also run an observational study on N images drawn from --population.", rich_help_panel=_OBSERVATION
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Also audit labelled photographs: READER:PATH, as folder:faces or celeba:data?split=test; see: "
            "transect datasets.",
            rich_help_panel=_OBSERVATION,
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="With --observe, --images or --dataset: compare by this attribute or nuisance; repeatable; default "
            "every attribute.",
            rich_help_panel=_OBSERVATION,
        ),
    ] = None,
    truth: Annotated[
        str | None,
        typer.Option(
            help="The right answer: 'smile>0.5', an attribute, or face (every image shows one).",
            rich_help_panel=_OUTCOMES,
        ),
    ] = None,
    outcomes: Annotated[
        list[str] | None,
        typer.Option(
            "--outcome",
            help="What to measure: answer, score, miss, false_alarm, error, loss, distance, non_match; repeatable.",
            rich_help_panel=_OUTCOMES,
        ),
    ] = None,
    generator: Annotated[
        str,
        typer.Option(help="The image generator: a name, or a network's FILE.safetensors.", rich_help_panel=IMAGES),
    ] = "faceworld",
    population: Population = "balanced",
    image_size: Annotated[
        int | None,
        typer.Option(
            "--size",
            help="Width and height of the images in pixels; default 128, or that of the network or photographs.",
            rich_help_panel=IMAGES,
        ),
    ] = None,
    directions: Directions = None,
    latents: InvertedLatents = None,
    device: Device = "cpu",
    seed: Seed = 0,
    task: Annotated[
        str | None,
        typer.Option(
            help="The model's task: binary, multiclass, multilabel, detection, regression or embedding.",
            rich_help_panel=MODEL,
        ),
    ] = None,
    preprocess: Annotated[
        Path | None, typer.Option(help="TOML file with the model's preprocessing.", rich_help_panel=MODEL)
    ] = None,
    labels: Annotated[
        str | None,
        typer.Option(help="Names of the model's classes, separated by commas.", rich_help_panel=MODEL),
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The class or label that counts as yes.", rich_help_panel=MODEL)
    ] = None,
    threshold: Threshold = None,
    output: Annotated[
        str | None, typer.Option(help="What the model returns: probability or logit.", rich_help_panel=MODEL)
    ] = None,
    false_match_rate: Annotated[
        float | None,
        typer.Option(
            help="For embeddings: choose the threshold with this false match rate between different subjects.",
            rich_help_panel=VERIFICATION,
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        typer.Option(
            help="For embeddings: a varied attribute that changes who is shown, e.g. skin_tone; repeatable.",
            rich_help_panel=VERIFICATION,
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option(help="Seconds that a model may take for an image.", rich_help_panel=_LIMITS)
    ] = 10.0,
    batch: Annotated[int, typer.Option(help="Images in each call of a model.", rich_help_panel=_LIMITS)] = 16,
    max_failures: Annotated[
        float, typer.Option(help="Stop when more than this share of images fails.", rich_help_panel=_LIMITS)
    ] = 0.05,
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--check-attribute",
            help="NAME=TARGET: a model that reads an attribute from images, to check what was set; repeatable.",
            rich_help_panel=CHECKS,
        ),
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option(
            "--check-identity",
            help="A TARGET with embeddings, to check that an edit keeps the person.",
            rich_help_panel=CHECKS,
        ),
    ] = None,
    realism: Annotated[
        str | None,
        typer.Option(
            "--check-realism",
            help="A TARGET with a score of realism (higher is more real), to check the images.",
            rich_help_panel=CHECKS,
        ),
    ] = None,
    redraw: Annotated[
        int,
        typer.Option(
            help="Replace a subject whose images fail a check up to N times; 0: only count the failures.",
            rich_help_panel=CHECKS,
        ),
    ] = 0,
    perceived: Perceived = None,
    ratings: Ratings = None,
    prune: Prune = None,
    require_validation: RequireValidation = None,
    by: By = None,
    boundary: Boundary = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the number of images and calls and the maximum cost, and stop.")
    ] = False,
    out: Out = None,
    json: Json = False,
) -> None:
    """Set attributes, ask the models, estimate what each attribute causes, and write the report.

    Rerun the command to resume; the output is byte-identical.
    """
    settings = on_command_line(context, locals())
    from transect.experiment import costs
    from transect.jobs.audit import run
    from transect.jobs.audit.config import read_settings
    from transect.jobs.audit.request import AuditRequest, with_settings

    if isinstance(names := settings.get("labels"), str):
        settings["labels"] = tuple(name.strip() for name in names.split(","))
    stored = {} if config is None else read_settings(config)
    request = with_settings(AuditRequest(), {**stored, **{k: v for k, v in settings.items() if k != "config"}})
    if request.run.dry_run:
        costs.show(run.audit_cost(None, request).numbers, request.run.json)
        return
    result = run.audit(None, request)
    show(result, request.run.json, result.page)
