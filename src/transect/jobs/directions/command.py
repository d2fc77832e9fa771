"""`transect directions`: directions of attributes in a generator's latent space, fitted to labels."""

from __future__ import annotations

import json as json_format
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transect.console.audit_options import InvertedLatents
from transect.console.printing import table
from transect.errors import BadInput, RunFolderError

if TYPE_CHECKING:
    from transect.controls.files import FittedDirections
    from transect.jobs.directions.labels import Labels

directions = typer.Typer(
    name="directions",
    help="Fit directions of attributes in a generator's latent space; show those of a file.",
    no_args_is_help=True,
)

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")]


@directions.command()
def fit(
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The safetensors file of directions to write.")],
    labels: Annotated[
        str,
        typer.Option(
            help="truth (faceworld's own), a CSV or Parquet FILE (column seed, subject or id, and one per attribute; "
            "several rows of a subject are averaged), or target:SPEC, whose answers are the labels."
        ),
    ],
    generator: Annotated[
        str, typer.Option(help="Whose latent space: faceworld (its latent view) or a network's FILE.safetensors.")
    ] = "faceworld",
    attribute: Annotated[
        list[str] | None,
        typer.Option(
            help="What to fit: NAME, or NAME compared with a value, as 'smile>0.5' or 'hat==cap'; repeat. Default: "
            "every column of a table. With target: the name of what the target sees."
        ),
    ] = None,
    balance: Annotated[
        list[str] | None,
        typer.Option(help="Make a binary attribute's classes alike in this other one, as 'face_shape>0.5'; repeat."),
    ] = None,
    method: Annotated[
        str | None, typer.Option(help="For binary attributes: logistic (default) or svm. Continuous ones: ridge.")
    ] = None,
    local: Annotated[
        bool,
        typer.Option("--local", help="Fit a model whose gradient is followed, for attributes that no line reads."),
    ] = False,
    latents: InvertedLatents = None,
    space: Annotated[
        str | None, typer.Option(help="Latent space: the generator's own (z), or w or w+ of a StyleGAN2.")
    ] = None,
    labelled_by: Annotated[
        str, typer.Option(help="Who gave a table's labels, as 'people', or model:NAME (reports then warn).")
    ] = "",
    subjects: Annotated[
        int, typer.Option(help="Subjects to label, with truth and target; a table has its own.")
    ] = 2000,
    seed: Annotated[int, typer.Option(help="Seed of the subjects, and of which labels are held out.")] = 0,
    population: Annotated[
        str, typer.Option(help="FaceWorld's population: a shipped name or a TOML file.")
    ] = "balanced",
    size: Annotated[
        int | None, typer.Option(help="Width and height of the images that a target is shown; default 128 or its own.")
    ] = None,
    device: Annotated[str, typer.Option(help="Where images are computed: cpu, cuda, cuda:1 and so on.")] = "cpu",
    task: Annotated[str | None, typer.Option(help="What a target answers: binary, multiclass, regression …")] = None,
    preprocess: Annotated[Path | None, typer.Option(help="TOML file that says how images enter the target.")] = None,
    classes: Annotated[str | None, typer.Option(help="Names of the target's classes, separated by commas.")] = None,
    positive: Annotated[str | None, typer.Option(help="The target's class or label that counts as yes.")] = None,
    threshold: Annotated[float | None, typer.Option(help="Score from which the target's answer is yes.")] = None,
    output: Annotated[str | None, typer.Option(help="What the target returns: probability or logit.")] = None,
    json: Json = False,
) -> None:
    """Fit a unit normal and an offset per attribute, say how well they predict labels they did not see, and write them.

    Ridge regression for continuous attributes (R²), logistic regression or a linear support vector machine for binary
    ones (balanced accuracy), on 80 % of the labels; with --local, kernel ridge regression for all. With --latents, all
    inverted photographs are the subjects, and a table's column id names them. Use the file with: transect audit
    --directions OUT.
    """
    from transect.experiment import worlds
    from transect.jobs.directions import fit

    if out.suffix != ".safetensors":
        raise BadInput(f"{out}: expected a file to write that ends in .safetensors, got {out.suffix or 'no ending'}")
    name = "faceworld-latent" if generator == "faceworld" else generator
    made_by = worlds.generator_of(name, size, population, device, learned=True)
    if latents is not None:
        made_by = worlds.inverted(made_by, latents)
    if local and (balance or method):
        raise BadInput("--local: expected neither --balance nor --method, which are of straight directions; drop them")
    asked, others = list(attribute or ()), list(balance or ())
    given = {
        "task": task,
        "preprocess": preprocess,
        "labels": tuple(one.strip() for one in classes.split(",")) if classes else None,
        "positive": positive,
        "threshold": threshold,
        "output": output,
    }
    options = {key: value for key, value in given.items() if value is not None}
    rows, found = _labels(labels, made_by, asked, others, subjects, seed, labelled_by, options, quiet=json)
    names, balanced = _names(asked, others, found)
    fitted: FittedDirections
    if local:
        fitted = fit.fit_models(made_by, rows, found, names, space=space or "", seed=seed)
    else:
        fitted = fit.fit_directions(
            made_by, rows, found, names, balance=balanced, method=method, space=space or "", seed=seed
        )
    _write(out, fitted)
    _print(out, fitted, list(found.notes), json)


@directions.command()
def show(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of directions.")],
    json: Json = False,
) -> None:
    """Show the directions of a file: how well they predict, their ranges, where they come from."""
    from transect.controls.files import read_directions

    _print(file, read_directions(file), [], json)


def _labels(
    labels: str,
    generator: Any,
    asked: list[str],
    balance: list[str],
    subjects: int,
    seed: int,
    labelled_by: str,
    options: dict[str, Any],
    *,
    quiet: bool,
) -> tuple[Any, Labels]:
    """The labelled subjects, and their labels."""
    from transect.designs import population_design
    from transect.experiment import study
    from transect.inversion.photographs import InvertedPhotographs
    from transect.jobs.directions import labels as labelling
    from transect.jobs.directions import photograph_labels

    photographs = generator if isinstance(generator, InvertedPhotographs) else None
    if labels != "truth" and not labels.startswith("target:"):
        wanted = [*asked, *balance] if asked else []
        found = (
            labelling.from_table(Path(labels), wanted, labelled_by)
            if photographs is None
            else photograph_labels.labels_of_photographs(Path(labels), photographs, wanted, labelled_by)
        )
        return generator.sample(found.seeds), found
    if labelled_by:
        raise BadInput("--labelled-by is of a table's labels, got truth or a target; drop it")
    subjects = subjects if photographs is None else photographs.subjects
    latents = generator.sample(population_design("", images=subjects, seed=seed).subject_seeds())
    if labels == "truth":
        if not asked:
            raise BadInput("--labels truth: expected --attribute NAME, got none; see: transect attributes")
        return latents, labelling.from_truth(generator, latents, [*asked, *balance])
    if len(asked) != 1 or balance:
        raise BadInput(
            "--labels target: expected one --attribute NAME for what the target sees, and no --balance, whose labels it"
            " does not give; write its answers into a table to balance them"
        )
    target = study.resolve_targets(labels.removeprefix("target:"), options)[0]
    return latents, labelling.from_target(generator, latents, target, asked[0], quiet=quiet)


def _names(asked: list[str], balance: list[str], found: Labels) -> tuple[list[str], list[str]]:
    """Attributes to fit, and those to balance on, by name."""
    from transect.jobs.directions.labels import name_of

    balanced, fitted = [name_of(text) for text in balance], [name_of(text) for text in asked]
    return fitted or [name for name in found.columns if name not in balanced], balanced


def _write(out: Path, fitted: FittedDirections) -> None:
    from transect.controls.files import write_directions

    try:
        write_directions(out, fitted)
    except RunFolderError as error:
        raise BadInput(f"{out}: expected a file that can be written, got: {error}") from None


def _print(path: Path, fitted: FittedDirections, notes: list[str], as_json: bool) -> None:
    from transect.jobs.directions import fit
    from transect.runs import model_files

    kept = replace(fitted, sha256=model_files.sha256(path))
    if as_json:
        print(json_format.dumps(fit.as_json(kept, path, notes), indent=2, allow_nan=False))
        return
    table(list(fit.HEADINGS), fit.rows_of(kept), as_json=False)
    for note in notes:
        print(note)
    for warning in fit.warnings_of(kept):
        print(f"warning: {warning}", file=sys.stderr)
    of = kept.origin.get("generator", {}).get("name", "unknown")
    print(f"{path}: directions of {len(fit.rows_of(kept))} in space {kept.space} of {of}")
