"""`transect search`: where does a target fail, found with few calls?"""

from __future__ import annotations

import json as json_format
from pathlib import Path
from typing import Annotated

import typer

from transect.console.audit_options import RequireValidation


def search(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="What to search; see: transect targets.")],
    budget: Annotated[int, typer.Option(help="Images to ask about, those that confirm included; 20 or more.")] = 400,
    goal: Annotated[
        str,
        typer.Option(help="regions: rules, confirmed on fresh images; failures: as many as can be; rate: the overall."),
    ] = "regions",
    vary: Annotated[
        list[str] | None,
        typer.Option(
            help="An attribute to search along: NAME as the population has it, NAME=LOW:HIGH evenly, or NAME=A,B by "
            "level; repeat. Default every continuous attribute."
        ),
    ] = None,
    space: Annotated[
        str,
        typer.Option(
            help="attributes; conditions: levels alone, each call a fresh subject, as McDuff et al. 2019; latent: "
            "attributes and latent coordinates."
        ),
    ] = "attributes",
    latent_dims: Annotated[int, typer.Option(help="Latent coordinates that --space latent searches.")] = 4,
    method: Annotated[
        str, typer.Option(help="ours, or mcduff2019 (with --goal failures): their Eq. 4, one call at a time.")
    ] = "ours",
    alpha: Annotated[float, typer.Option(help="Weight of diversity in mcduff2019, from 0 to 1.")] = 0.6,
    population: Annotated[str, typer.Option(help="A shipped population or a TOML file. See the how-to.")] = "balanced",
    truth: Annotated[
        str | None,
        typer.Option(help="What the right answer is: 'smile>0.5', an attribute, or face (default for detectors)."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(help="Count errors by the combinations of these searched attributes too; repeat; two or three."),
    ] = None,
    generator: Annotated[str, typer.Option(help="What makes the images.")] = "faceworld",
    directions: Annotated[
        Path | None, typer.Option(help="Fitted directions that set the attributes of a learned generator.")
    ] = None,
    size: Annotated[int | None, typer.Option(help="Width and height of the images, in pixels; default 128.")] = None,
    device: Annotated[str, typer.Option(help="Where images are computed: cpu, cuda, cuda:1 and so on.")] = "cpu",
    seed: Annotated[int, typer.Option(help="Seed of the search: of its points and of its subjects.")] = 0,
    task: Annotated[
        str | None, typer.Option(help="What a model answers: binary, multiclass, multilabel, detection.")
    ] = None,
    preprocess: Annotated[Path | None, typer.Option(help="TOML file that says how images enter the model.")] = None,
    labels: Annotated[str | None, typer.Option(help="Names of the model's classes, separated by commas.")] = None,
    positive: Annotated[str | None, typer.Option(help="The class or label that counts as yes.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Score from which the answer is yes.")] = None,
    output: Annotated[str | None, typer.Option(help="What the model returns: probability or logit.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a target may take for an image.")] = 10.0,
    max_failures: Annotated[float, typer.Option(help="Share of images without a valid answer that stops it.")] = 0.05,
    require_validation: RequireValidation = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how many calls and how much money at most, and stop.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="The run folder; default runs/search-<target>.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of lines.")] = False,
) -> None:
    """Find where a target fails, with few calls: failures far apart, regions in words, or the overall rate.

    A search that was stopped goes on with the same command, and asks about nothing twice.
    """
    from transect.console import target_options
    from transect.designs.search.space import space_of
    from transect.experiment import costs, study, worlds
    from transect.jobs.search import results, run
    from transect.runs.folder import slug
    from transect.targets.limits import Limits

    options = target_options.given(
        task=task, preprocess=preprocess, labels=labels, positive=positive, threshold=threshold, output=output
    )
    resolved = study.resolve_targets(target, options)
    world = worlds.open_world(generator, size, population, device, directions)
    asked = run.search_for(
        world,
        resolved[0],
        space_of(world, vary or (), kind=space, latent_dims=latent_dims),
        truth=truth,
        budget=budget,
        goal=goal,
        seed=seed,
        population=worlds.population_of(world),
        limits=Limits(timeout=timeout, max_failures=max_failures),
        by=by or (),
        method=method,
        alpha=alpha,
        require_validation=require_validation,
    )
    if dry_run:
        costs.show(costs.total(costs.quotes([asked.target], asked.budget)), json)
        costs.close(resolved)
        return
    if not json:
        run.announce(asked)
    found = run.run(asked, out or Path("runs") / f"search-{slug(resolved[0].name)}", quiet=json)
    print(json_format.dumps(found, indent=2, allow_nan=False) if json else "\n".join(results.lines(found)))
    costs.close(resolved)
