"""The command `transect recognition`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.options import Batch, Engine, Json, MaxFailures, PreprocessFile, Timeout, Workers
from transect.console.results import Block, Rerun, keep, show

if TYPE_CHECKING:
    from transect.jobs.recognition.numbers import RecognitionNumbers
    from transect.jobs.recognition.run import RecognitionResult

RERUN = Rerun(
    values="identity group name pictures threshold false-match-rate metric size timeout batch max-failures",
    data="table embeddings pairs preprocess",
    models="landmarks",
    argument="models",
)


def recognition(
    context: typer.Context,
    table: Annotated[Path, typer.Option(help="Table with a row per image, as for transect match.")],
    identity: Annotated[str, typer.Option(help="Column of the table with the identities.")],
    group: Annotated[str, typer.Option(help="Column of the table with the groups to compare.")],
    targets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[TARGET]...",
            help="Models that embed the --pictures: dlib:face-recognition@FOLDER, FILE.onnx, FILE.toml of a web "
            "address, module:function. Several are compared on one page.",
        ),
    ] = None,
    name: Annotated[
        list[str] | None,
        typer.Option(help="Your own name of the model or embeddings; of several, one each, in their order."),
    ] = None,
    pictures: Annotated[
        str | None, typer.Option(help="Column of pictures for TARGET: bytes, or paths below the table's folder.")
    ] = None,
    landmarks: Annotated[
        str | None,
        typer.Option(
            help="Column of the faces' landmarks, x and y in pixels of the picture in turn, 5 or 68 points; for models "
            "whose preprocessing aligns faces."
        ),
    ] = None,
    embeddings: Annotated[
        list[Path] | None,
        typer.Option(help="Existing embeddings, .npy or a table, instead of TARGET and --pictures; repeatable."),
    ] = None,
    pairs: Annotated[
        Path | None, typer.Option(help="Pairs from transect match: also report the errors among matched images.")
    ] = None,
    threshold: Annotated[
        list[float] | None, typer.Option(help="Distance below which two images match; repeatable.")
    ] = None,
    false_match_rate: Annotated[
        list[float] | None,
        typer.Option(
            help="Set the threshold to accept this share of comparisons of two people; repeatable. Default 0.01."
        ),
    ] = None,
    metric: Annotated[str, typer.Option(help="Distance of embeddings: euclidean or cosine.")] = "euclidean",
    size: Annotated[int | None, typer.Option(help="Fit each picture into this many pixels; default as it is.")] = None,
    preprocess: PreprocessFile = None,
    timeout: Timeout = 10.0,
    batch: Batch = 16,
    max_failures: MaxFailures = 0.05,
    engine: Engine = "local",
    workers: Workers = None,
    out: Annotated[Path, typer.Option(help="Folder for the report, its numbers and the embeddings.")] = Path(
        "recognition"
    ),
    json: Json = False,
) -> None:
    """Compare errors of face recognition between groups: false matches and non-matches, before and after matching."""
    from transect.engines.settings import EngineSettings
    from transect.experiment.opened_targets import check_names
    from transect.jobs.recognition import run
    from transect.jobs.recognition.several import compare_recognizers, measure
    from transect.runs.table_inputs import choice
    from transect.targets.guard import Limits

    sources: list[tuple[str | None, Path | None]] = [(target, None) for target in targets or ()]
    sources += [(None, file) for file in embeddings or ()]
    made_by = EngineSettings(engine, workers)
    own = check_names(name or (), max(1, len(sources)))

    def measured(target: str | None, file: Path | None, folder: Path, own: str | None) -> RecognitionResult:
        return run.recognition(
            table,
            identity,
            group,
            embeddings=file,
            target=target,
            pictures=None if target is None and targets else pictures,
            pairs=pairs,
            thresholds=threshold or (),
            false_match_rates=false_match_rate or (),
            quiet=json,
            metric=choice("metric", metric, run.METRICS),
            options=run.RecognitionOptions(
                image_size=size,
                preprocess=preprocess,
                limits=Limits(timeout=timeout, batch=batch, max_failures=max_failures),
                answers=folder / "answers",
                name=own,
                engine=made_by,
                landmarks=landmarks,
            ),
        )

    if len(sources) < 2:
        target, file = sources[0] if sources else (None, None)
        result = measured(target, file, out, own[0] if own else None)
        page = result.report(out)
        keep(context, out, RERUN)
        show(result, json, *_blocks(result.numbers), page=page)
        return
    names = own or [target or (file.stem if file else "") for target, file in sources]

    def one(place: int, folder: Path) -> RecognitionResult:
        return measured(*sources[place], folder, own[place] if own else None)

    compared = compare_recognizers(measure(names, one, out))
    page = compared.report(out)
    keep(context, out, RERUN)
    show(compared, json, compared.headline(), compared.rows(), page=page)


def _blocks(numbers: RecognitionNumbers) -> list[Block]:
    from transect.jobs.recognition import page, text
    from transect.reports.columns import significant

    blocks: list[Block] = [
        f"threshold {significant(limit.threshold, 4)} ({numbers.metric} distance; {text.origin(numbers, limit)})"
        for limit in numbers.thresholds
    ]
    for table in page.tables(numbers):
        blocks += [f"{table.title}:", table.texts()]
    return [
        *blocks,
        *text.missing_intervals(numbers),
        *(f"left out: {left.images} of {left.group} ({left.reason})" for left in numbers.left_out),
        *(f"note: {note}" for note in numbers.notes),
    ]
