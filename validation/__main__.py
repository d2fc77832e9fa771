"""`python -m validation world|estimators|images|portraits`: world, estimators, methods and finder on known truth."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from transect.errors import BadInput, TransectError
from transect.generators.faceworld.validity import FOLDER
from transect.runs.json_records import plain
from transect.runs.parts import announcing_stages
from validation.text import Table, columns


def world(asked: argparse.Namespace) -> int:
    """Measure FaceWorld: light, sharpness, what detectors find, what networks read, who is distinguished."""
    from validation.outside_readers import Outside, parse_pairs
    from validation.world import PARTS, Settings, keep_readers, publish_facts, validate_world
    from validation.world_tables import tables_of

    parts = asked.only.split(",") if asked.only else PARTS
    if unknown := set(parts) - set(PARTS):
        raise SystemExit(f"--only: expected some of {', '.join(PARTS)}, got {', '.join(sorted(unknown))}")
    labels = dict(parse_pairs("--dataset-label", asked.dataset_label))
    options = dict(parse_pairs("--option", asked.option))
    outside = Outside(parse_pairs("--reader", asked.reader), options, asked.dataset, labels)
    models = asked.landmark_model, asked.recognition_model
    settings = Settings(asked.subjects, asked.size, parts, asked.epochs, asked.device, 1000, *models, outside)
    figures = validate_world(settings, quiet=asked.json)
    if figures.get("readers"):
        keep_readers(asked.out, figures["renderer_version"], figures["readers"])
    if asked.publish is not None:
        publish_facts(figures, asked.publish)
    _show(figures, tables_of(figures), asked.json)
    return 0


def estimators(asked: argparse.Namespace) -> int:
    """Test every estimator in worlds of planted truth: bias, RMSE, coverage, type I error, power."""
    from validation.estimators import CLAIMS, HEADINGS, as_rows, prove, write_page

    claims = [claim for claim in CLAIMS if asked.world in (None, claim.world)]
    with announcing_stages(quiet=asked.json):
        rows = prove(asked.seeds, claims=claims, progress=None if asked.json else _name_world)
    if asked.page:
        write_page(rows, asked.seeds, asked.world)
    title = f"{sum(row.holds() for row in rows)} of {len(rows)} rows show what is expected"
    _show(plain(tuple(rows)), [(title, HEADINGS, as_rows(rows))], asked.json)
    return 0 if all(row.holds() for row in rows) else 1


def images(asked: argparse.Namespace) -> int:
    """Train a model on a confounded population, and compare each method's estimates with its true effects."""
    from validation.image_methods import QUICK, Sizes
    from validation.images import compare_methods, headline, tables_of, write_page

    found = compare_methods(replace(QUICK if asked.quick else Sizes(), seed=asked.seed), quiet=asked.json)
    if asked.page:
        write_page(found)
    _show(found, tables_of(found), asked.json)
    if not asked.json:
        print(headline(found))
    return 0


def portraits(asked: argparse.Namespace) -> int:
    """Measure the built-in finder on portraits that a person marked: points, glasses, hats, who can be edited."""
    from transect.marks.finding import open_marks
    from validation.portraits import choose, measure, measure_points, photographs

    folder = photographs(asked.photographs)
    if asked.marks and asked.choose:
        raise BadInput(
            "portraits: expected --marks or --choose, got both; --choose is of the built-in finder's answers"
        )
    if asked.marks:
        tables = measure_points(folder, open_marks(asked.marks))
    else:
        tables = (choose if asked.choose else measure)(folder, asked.weights)
    _show([dict(zip(("title", "headings", "rows"), table, strict=True)) for table in tables], tables, asked.json)
    return 0


def _name_world(name: str) -> None:
    print(f"estimators: {name}", file=sys.stderr)


def _show(figures: Any, tables: Iterable[Table], as_json: bool) -> None:
    print(json.dumps(figures, indent=1) if as_json else "\n\n".join(map(columns, tables)))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m validation", description=__doc__)
    commands = parser.add_subparsers(required=True)
    for command in (world, estimators, images, portraits):
        sub = commands.add_parser(command.__name__, help=command.__doc__, description=command.__doc__)
        sub.add_argument("--json", action="store_true", help="print the figures as JSON")
        sub.set_defaults(command=command)
        _OPTIONS[command.__name__](sub.add_argument)
    return parser


def _of_world(add: Any) -> None:
    add("--subjects", type=int, default=5000, help="of the photometry; other samples are in proportion")
    add("--only", help="parts, separated by commas; default: all, which takes about an hour")
    add("--size", type=int, default=128, help="width and height of the images, in pixels")
    add("--epochs", type=int, default=14, help="passes over the training images")
    add("--device", default="cpu", help="where networks are trained: cpu, cuda or cuda:N")
    add("--landmark-model", type=Path, help="dlib's shape_predictor_68_face_landmarks.dat; compares its landmarks too")
    add("--recognition-model", type=Path, help="dlib's dlib_face_recognition_resnet_model_v1.dat; identity with it too")
    add("--reader", action="append", default=[], help="ATTRIBUTE=TARGET: how well does this model read the attribute?")
    add("--option", action="append", default=[], help="NAME=VALUE: an option of the readers, as in: transect audit")
    add("--dataset", help="labelled photographs that the readers see too: READER:PATH")
    add("--dataset-label", action="append", default=[], help="ATTRIBUTE=LABEL: the data set's label of an attribute")
    add("--publish", type=Path, help="also write the figures that ship with FaceWorld to this file")
    add("--out", type=Path, default=Path(FOLDER), help="folder in which audits look for what readers read")


def _of_estimators(add: Any) -> None:
    add("--seeds", type=int, default=500, help="tables per world; 500 distinguish a coverage of 93 %% from 95 %%")
    add("--world", help="of this world alone")
    add("--page", action="store_true", help="write the table of docs/research/proving-ground.md")


def _of_images(add: Any) -> None:
    add("--quick", action="store_true", help="a few hundred small images; the figures mean nothing")
    add("--seed", type=int, default=0, help="of the model's training and of the draws")
    add("--page", action="store_true", help="write the tables and the figure of docs/research/proving-ground.md")


def _of_portraits(add: Any) -> None:
    from transect.marks.shipped import WEIGHTS

    add("--photographs", type=Path, help="their folder; default: TRANSECT_PORTRAITS, or ../shared/photographs")
    add("--weights", type=Path, default=WEIGHTS, help="another network of marks, from tools/marks_network.py")
    add("--marks", metavar="FINDER", help="measure the points of another finder instead, as dlib:FILE")
    add("--choose", action="store_true", help="choose IS_WORN of transect.marks.shipped, on the portraits beside these")


_OPTIONS = {"world": _of_world, "estimators": _of_estimators, "images": _of_images, "portraits": _of_portraits}


def main(arguments: list[str] | None = None) -> int:
    """The exit code: 1 where a row of estimators does not show what is expected, 2 for bad input."""
    asked = _parser().parse_args(arguments)
    try:
        return int(asked.command(asked))
    except TransectError as error:
        print(error, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
