"""`transect search`: the options of `transect.search`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from transect.console.options import (
    AllowDownload,
    ClassNames,
    Dtype,
    Isolate,
    Json,
    MaxFailures,
    ModelDevice,
    OutputKind,
    OutputName,
    PositiveClass,
    PreprocessFile,
    RequireValidation,
    TaskName,
    Templates,
    Threshold,
    Timeout,
)
from transect.console.results import Rerun, keep, show

RERUN = Rerun(
    values="question outcome name budget goal vary space latent-dims method alpha alpha-weighs truth by size "
    "device seed task labels positive threshold output output-name isolate template dtype model-device allow-download "
    "timeout max-failures",
    data="questions population directions preprocess require-validation",
    models="generator",
    argument="models",
)


def search(
    context: typer.Context,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="The model to search; see: transect targets.")],
    questions: Annotated[
        str | None,
        typer.Option(help="Of a model that answers in words: what to ask, a TOML file or a set that ships."),
    ] = None,
    question: Annotated[
        str | None, typer.Option(help="The one question of --questions that is asked, where there are several.")
    ] = None,
    outcome: Annotated[
        str | None,
        typer.Option(
            help="Of words: what counts as a failure: refusal (default without --truth), hedge, unreadable, answer, "
            "error, option:NAME or code:NAME, in half of an image's wordings or more."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Your own name of the target, for tables and headings.")] = None,
    budget: Annotated[int, typer.Option(help="Calls in all, confirmation included; 20 or more.")] = 400,
    goal: Annotated[
        str | None,
        typer.Option(
            help="regions (default): rules in words, each with its rate on held-back calls; failures: as many failures "
            "as possible, without rules; rate: the overall failure rate."
        ),
    ] = None,
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="An attribute to search along: NAME over the population's values, NAME=LOW:HIGH evenly, or NAME=A,B "
            "by level; repeat. Default: every continuous attribute."
        ),
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            help="attributes; conditions: levels only, each call a new subject, as McDuff et al. 2019; latent: "
            "attributes and latent coordinates."
        ),
    ] = "attributes",
    latent_dims: Annotated[int, typer.Option(help="Number of latent coordinates of --space latent.")] = 4,
    method: Annotated[
        str,
        typer.Option(
            help="ours, random, sobol, or mcduff2019 (with --goal failures): their Eq. 4, one call at a time."
        ),
    ] = "ours",
    alpha: Annotated[float | None, typer.Option(help="The weight in mcduff2019, 0 to 1; default 0.6.")] = None,
    alpha_weighs: Annotated[
        str,
        typer.Option(help="What --alpha is the weight of: diversity (their Eq. 4), or failures (their Fig. 4a)."),
    ] = "diversity",
    population: Annotated[str, typer.Option(help="A shipped population or a TOML file. See the how-to.")] = "balanced",
    truth: Annotated[
        str | None,
        typer.Option(help="The right answer: 'smile>0.5', an attribute, or face (default for detectors)."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Also count errors by all combinations of these searched attributes; repeat for 2 or 3."),
    ] = None,
    generator: Annotated[str, typer.Option(help="The generator of the images.")] = "faceworld",
    directions: Annotated[
        Path | None, typer.Option(help="Fitted directions that set the attributes of a learned generator.")
    ] = None,
    size: Annotated[int | None, typer.Option(help="Width and height of the images, in pixels; default 128.")] = None,
    device: Annotated[str, typer.Option(help="Where images are computed: cpu, cuda, cuda:1 and so on.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of the search: of its points and of its subjects.")] = 0,
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
    timeout: Timeout = 10.0,
    max_failures: MaxFailures = 0.05,
    require_validation: RequireValidation = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the number of calls and their maximum cost, and stop.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/search-<target>.")] = None,
    json: Json = False,
) -> None:
    """Find where a target fails, with few calls: regions in words, as many failures as possible, or the overall rate.

    Rerun the command to resume a stopped search; no call is repeated.
    """
    from transect.console import options as target_options
    from transect.jobs.search import run
    from transect.jobs.search.request import SearchOptions
    from transect.jobs.search.results import lines
    from transect.targets.guard import Limits

    settings = target_options.given(locals())
    options = SearchOptions(
        space=space,
        latent_dims=latent_dims,
        method=method,
        alpha=alpha,
        alpha_weighs=alpha_weighs,
        by=tuple(by or ()),
        directions=directions,
        image_size=size,
        device=device,
        limits=Limits(timeout=timeout, max_failures=max_failures),
        require_validation=require_validation,
        target=settings,
        name=name,
        questions=questions,
        question=question or "",
        outcome=outcome or "",
    )
    arguments: dict[str, Any] = {
        "truth": truth,
        "budget": budget,
        "vary": vary or (),
        "population": population,
        "generator": generator,
        "seed": seed,
        "options": options,
    }
    if dry_run:
        _show_cost(target, arguments, json)
        return
    result = run.search(target, **arguments, goal=goal or "regions", out=out, quiet=json)
    keep(context, result.folder, RERUN)
    show(result, json, *lines(result.numbers), page=result.folder / "search.html")


def _show_cost(target: str, arguments: dict[str, Any], as_json: bool) -> None:
    from transect.experiment import costs
    from transect.jobs.search.request import prepare

    request = prepare(target, **arguments)
    try:
        side = int(request.world.image_size)
        costs.show(costs.total(costs.quotes([request.target], request.budget, side)), as_json)
    finally:
        costs.close([request.target])
