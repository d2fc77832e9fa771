"""The commands `transect audit` and `transect demo`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.options import (
    AllowDownload,
    AtThreshold,
    Batch,
    Bins,
    Boundary,
    By,
    ClassNames,
    Covariates,
    Device,
    Directions,
    Dtype,
    Engine,
    FaceMask,
    InvertedLatents,
    InvertedSources,
    Isolate,
    Json,
    Margin,
    MaxFailures,
    ModelDevice,
    Out,
    OutputKind,
    OutputName,
    Perceived,
    Population,
    PositiveClass,
    PreprocessFile,
    Prune,
    Ratings,
    RequireValidation,
    Seed,
    TaskName,
    Templates,
    Threshold,
    Timeout,
    Workers,
    checks_option,
    images_option,
    on_command_line,
    option_of,
    verification_option,
)
from transect.console.results import show, table
from transect.errors import BadInput
from transect.texts import say

if TYPE_CHECKING:
    from transect.analysis.requirements.records import Requirement
    from transect.jobs.audit.request import AuditRequest

_experiment, _observation, _outcomes, _limits = map(option_of, ("Experiment", "Observation", "Outcomes", "Limits"))


def demo(
    out: Annotated[Path, typer.Option(help="The folder of the report and its studies.")] = Path("runs/demo"),
    subjects: Annotated[int, typer.Option(help="Subjects of each study; fewer take less time and show less.")] = 150,
    seed: Seed = 0,
    device: Device = "cpu",
    json: Json = False,
) -> None:
    """Audit OpenCV's stock face and smile detectors on rendered faces, in about a minute."""
    from transect.jobs.audit import run

    result = run.demo(out, subjects=subjects, seed=seed, device=device)
    show(result, json, *result.blocks(), page=result.page)


def audit(
    context: typer.Context,
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="TARGET…", help="The models to audit; see: transect targets.")
    ] = None,
    questions: Annotated[
        str | None,
        typer.Option(
            help="Of models that answer in words: what to ask, a TOML file or a set that ships (hiring, occupation, "
            "traits, pairs, alt-text, appearance); each question about one image is a target."
        ),
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(
            help="Of free texts whose codes the questions leave to a judge: the model that says yes or no to them, "
            "vlm:FOLDER or the TOML file of a chat interface; it sees the text alone."
        ),
    ] = None,
    scorers: Annotated[
        list[str] | None,
        typer.Option(
            "--scorer",
            help="Of free texts: NAME=module:function, your own function from a list of texts to a number for each, "
            "as toxicity; it runs with your rights; repeatable.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--name",
            help="Your own name of a target, for tables and headings; repeatable, in the order of targets.",
        ),
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option(help="A TOML file with any of these settings; options on the command line override it."),
    ] = None,
    preset: Annotated[
        str | None,
        typer.Option(
            help="Settings for a kind of model: face-detector, face-attribute, face-recognition or classifier; other "
            "options override them."
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        _experiment(
            help="Set this attribute: NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…, where little and much are the ends; "
            "repeatable."
        ),
    ] = None,
    steps: Annotated[
        list[str] | None,
        _experiment(
            help="Move this attribute by λ half-ranges from each subject's own value: NAME or NAME=-1:1:5; repeatable."
        ),
    ] = None,
    step_unit: Annotated[
        str,
        _experiment(
            help="What λ = 1 of --steps is: half-range, or direction: G(z + λ d) with the unit direction d of a fitted "
            "attribute, as published; other attributes may move along, and no range stops it."
        ),
    ] = "half-range",
    subjects: Annotated[int, _experiment(help="Subjects, each shown at every combination of levels.")] = 100,
    hold: Annotated[
        list[str] | None,
        _experiment(
            help="Keep a downstream attribute at the subject's own value, e.g. exposure, to estimate a direct effect."
        ),
    ] = None,
    replicate: Annotated[
        list[str] | None,
        _experiment(
            help="Also set the attributes of --vary in this generator, as in --generator, and say for each effect in "
            "how many worlds it was seen; repeatable."
        ),
    ] = None,
    interpolate: Annotated[
        int | None,
        _experiment(help="Interpolate between N pairs of subjects and check that the class stays; 11 images a pair."),
    ] = None,
    control: Annotated[
        bool,
        _experiment(help="Also vary the background's hue, which cannot matter, on some subjects (20 % more images)."),
    ] = True,
    images: Annotated[
        int | None,
        _observation(help="Run an observational study on N images drawn from --population, without an experiment."),
    ] = None,
    observe: Annotated[
        int | None, _observation(help="Also run an observational study on N images drawn from --population.")
    ] = None,
    dataset: Annotated[
        str | None,
        _observation(
            help="Also audit labelled photographs: READER:PATH, as folder:faces or celeba:data?split=test; see: "
            "transect datasets."
        ),
    ] = None,
    max_unreadable: Annotated[
        int | None,
        _observation(
            help="Of --dataset: leave out up to N photographs that cannot be read, and refuse more; default: refuse "
            "the first."
        ),
    ] = None,
    compare: Annotated[
        list[str] | None,
        _observation(
            help="With --observe, --images or --dataset: compare by this attribute or nuisance; repeatable; default "
            "every attribute."
        ),
    ] = None,
    pairs: Annotated[
        Path | None,
        _observation(
            help="With --dataset or --images, and --compare NAME: ask questions about two images of matched pairs: the "
            "table that transect match wrote, of pairs that differ in NAME."
        ),
    ] = None,
    truth: Annotated[
        list[str] | None,
        _outcomes(
            help="The right answer: 'smile>0.5', an attribute, or face (every image shows one); TARGET=face is of one "
            "target; repeatable."
        ),
    ] = None,
    outcomes: Annotated[
        list[str] | None,
        _outcomes(
            "--outcome",
            help="What to measure: answer, score, miss, false_alarm, error, loss, distance, non_match; of words "
            "also refusal, hedge, unreadable, likelihood, words, option:, code:, list:, score:NAME; repeatable.",
        ),
    ] = None,
    generator: Annotated[
        str, images_option(help="The image generator: a name, or a network's FILE.safetensors.")
    ] = "faceworld",
    population: Population = "balanced",
    image_size: Annotated[
        int | None,
        images_option(
            "--size",
            help="Width and height of the images in pixels; default 128, or that of the network or photographs.",
        ),
    ] = None,
    directions: Directions = None,
    latents: InvertedLatents = None,
    photographs: InvertedSources = None,
    mask: FaceMask = None,
    device: Device = "cpu",
    seed: Seed = 0,
    task: TaskName = None,
    preprocess: PreprocessFile = None,
    labels: ClassNames = None,
    positive: PositiveClass = None,
    threshold: Threshold = None,
    output: OutputKind = None,
    output_name: OutputName = None,
    isolate: Isolate = None,
    templates: Templates = None,
    dtype: Dtype = None,
    model_device: ModelDevice = None,
    allow_download: AllowDownload = None,
    false_match_rate: Annotated[
        float | None,
        verification_option(
            help="For embeddings: choose the threshold with this false match rate between different subjects."
        ),
    ] = None,
    within: Annotated[
        list[str] | None,
        verification_option(
            help="For embeddings: a varied attribute that changes who is shown, e.g. skin_tone; repeatable."
        ),
    ] = None,
    timeout: Timeout = 10.0,
    batch: Batch = 16,
    max_failures: MaxFailures = 0.05,
    attributes: Annotated[
        list[str] | None,
        checks_option(
            "--check-attribute",
            help="NAME=TARGET: a model that reads an attribute from images, to check what was set; repeatable.",
        ),
    ] = None,
    identity: Annotated[
        str | None,
        checks_option("--check-identity", help="A TARGET with embeddings, to check that an edit keeps the person."),
    ] = None,
    realism: Annotated[
        str | None,
        checks_option(
            "--check-realism", help="A TARGET with a score of realism (higher is more real), to check the images."
        ),
    ] = None,
    redraw: Annotated[
        int,
        checks_option(help="Replace a subject whose images fail a check up to N times; 0: only count the failures."),
    ] = 0,
    shipped: Annotated[
        bool,
        checks_option(
            "--check-shipped",
            help="Let the network that ships read what no --check-… target does; it has seen rendered faces alone.",
        ),
    ] = False,
    perceived: Perceived = None,
    ratings: Ratings = None,
    prune: Prune = None,
    require_validation: RequireValidation = None,
    by: By = None,
    bins: Bins = None,
    covariates: Covariates = None,
    margin: Margin = None,
    boundary: Boundary = None,
    at_thresholds: AtThreshold = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print the number of images and calls, with the negative control, and the maximum cost, and stop.",
        ),
    ] = False,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Judge the run by the requirements in the --config file. Exit code 1: one is violated; 4: not shown.",
        ),
    ] = False,
    engine: Engine = "local",
    workers: Workers = None,
    out: Out = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Delete a run with other settings that is in the way in --out.")
    ] = False,
    json: Json = False,
) -> None:
    """Set attributes, ask the models, estimate what each attribute causes, and write the report.

    Rerun the command to resume; the output is byte-identical.
    """
    settings = on_command_line(context, locals())
    from transect.experiment import costs
    from transect.jobs.audit import run
    from transect.jobs.audit.init import read_settings
    from transect.jobs.audit.presets import with_preset
    from transect.jobs.audit.request import AuditRequest, with_settings

    if isinstance(classes := settings.get("labels"), str):
        settings["labels"] = tuple(name.strip() for name in classes.split(","))
    stored = {} if config is None else read_settings(config)
    checked = bool(settings.pop("check", False))
    stated = {**stored, **{name: value for name, value in settings.items() if name != "config"}}
    request = with_settings(AuditRequest(), with_preset(stated))
    required = _required(config, request) if checked else ()
    if request.run.dry_run:
        costs.show(run.audit_cost(None, request).numbers, request.run.json)
        return
    result = run.audit(None, request)
    show(result, request.run.json, *result.blocks(), page=result.page)
    if required:
        _check(result.folder, required, request.run.json)


def _required(config: Path | None, request: AuditRequest) -> Sequence[Requirement]:
    """The requirements beside the settings. Raises BadInput or UnknownName before anything is rendered."""
    from transect.analysis.requirements import records

    if config is None:
        raise BadInput("--check: expected --config FILE with tables [[require]], got no file; give --config")
    required = records.read(config)
    if request.images is None and request.observe is None and request.dataset is None and not request.steps:
        varied = [str(text).partition("=")[0].strip() for text in request.vary]
        records.check_attributes(required, varied)
    return required


def _check(folder: Path, required: Sequence[Requirement], as_json: bool) -> None:
    from transect.analysis.requirements.result import check_run, requirements_table, summary, write_outputs

    numbers = check_run(folder, required)
    write_outputs(numbers)
    say(summary(numbers.requirements), error=as_json)
    if not as_json:
        table(*requirements_table(numbers.requirements).texts())
    raise typer.Exit(numbers.exit_code)
