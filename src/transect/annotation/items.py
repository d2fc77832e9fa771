"""Which images are put to which question: every image, or pairs of them, and those whose answer is known."""

from __future__ import annotations

import csv
import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from transect.annotation.pictures import Picture, Pictures
from transect.annotation.questions import Plan, Questionnaire, RaterQuestion
from transect.errors import BadInput


class Unit(NamedTuple):
    """An image, or two of one study."""

    study: str
    first: str
    second: str = ""


def rows_of(asked: Questionnaire, pictures: Pictures) -> list[dict[str, Any]]:
    """Rows of the table of items, in an order that depends on the plan's seed alone.

    Raises BadInput for pairs or known answers of images that are not there.
    """
    made: list[dict[str, Any]] = []
    for block, question in enumerate(asked.question):
        gold = _gold(question, pictures)
        chosen = None if question.pairs or not asked.plan.per_cell else _sampled(pictures, asked.plan)
        units = [one for one in dict.fromkeys(_units(question, pictures)) if one not in gold]
        units = units if chosen is None else [one for one in units if one in chosen]
        random.Random(f"{asked.plan.seed}/{question.name}").shuffle(units)  # noqa: S311  (an order, no secret)
        for position, unit in enumerate([*units, *gold]):
            made.append(
                {
                    **unit._asdict(),
                    "question": question.name,
                    "block": block,
                    "position": position,
                    "gold": gold.get(unit),
                    "wanted": asked.plan.ratings,
                    "taken": 0,
                    "done": False,
                }
            )
    return made


def _sampled(pictures: Pictures, plan: Plan) -> set[Unit]:
    """So many images of each cell of each study, the same for all questions; all where there are fewer."""
    cells: dict[tuple[str, int], list[Unit]] = {}
    for one in pictures.all:
        cells.setdefault((one.study, one.cell), []).append(Unit(one.study, one.id))
    made: set[Unit] = set()
    for (study, cell), units in cells.items():
        draw = random.Random(f"{plan.seed}/{study}/{cell}")  # noqa: S311  (a sample, no secret)
        made |= set(draw.sample(units, min(plan.per_cell, len(units))))
    return made


def _units(question: RaterQuestion, pictures: Pictures) -> Iterator[Unit]:
    if not question.pairs:
        yield from (Unit(one.study, one.id) for one in pictures.all)
    elif question.pairs in ("ends", "neighbours"):
        yield from _within_subjects(pictures.all, question.pairs == "ends", question.name)
    else:
        yield from _from_file(Path(question.pairs), pictures)


def _within_subjects(pictures: Sequence[Picture], ends: bool, name: str) -> Iterator[Unit]:
    """The first and the last image of each subject, or each and the next."""
    found = False
    for _, group in itertools.groupby(sorted(pictures), key=lambda one: (one.study, one.subject)):
        row = sorted(group, key=lambda one: one.cell)
        chosen: Iterable[tuple[Picture, Picture]] = [(row[0], row[-1])] if ends else itertools.pairwise(row)
        for one, other in chosen:
            if one.id != other.id:
                found = True
                yield Unit(one.study, one.id, other.id)
    if not found:
        raise BadInput(
            f"question {name}: expected subjects with several images, since it is about pairs, got one image of each; "
            "name a CSV file of pairs, or another question"
        )


def _from_file(path: Path, pictures: Pictures) -> Iterator[Unit]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"pairs {path}: expected a readable CSV, got {error}; fix it") from None
    if not rows:
        raise BadInput(f"pairs {path}: expected rows of first and second, got none; list the pairs")
    for line, row in enumerate(rows, start=2):
        unit = Unit(row.get("study") or "", row.get("first") or "", row.get("second") or "")
        for image in unit[1:]:
            _check(unit.study, image, pictures, f"pairs {path}, line {line}")
        if unit.first == unit.second:
            raise BadInput(f"pairs {path}, line {line}: expected two images, got {unit.first} twice; fix it")
        yield unit


def _gold(question: RaterQuestion, pictures: Pictures) -> dict[Unit, int]:
    names = [one.name for one in question.levels]
    made = {}
    for one in question.gold:
        for image in filter(None, (one.image, one.second)):
            _check(one.study, image, pictures, f"gold of question {question.name}")
        made[Unit(one.study, one.image, one.second)] = names.index(one.answer)
    return made


def _check(study: str, image: str, pictures: Pictures, where: str) -> None:
    if (study, image) not in pictures:
        some = pictures.all[0]
        like = f"{some.id} of study {some.study}" if some.study else some.id
        raise BadInput(f"{where}: expected ids of this run's images, such as {like}, got {image or 'none'!r}; fix it")
