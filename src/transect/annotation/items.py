"""The images of each question: every image, or pairs of them, and those whose answer is known."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from transect.annotation.pictures import Picture, Pictures
from transect.annotation.questions import RECONSTRUCTIONS, Plan, Questionnaire, RaterQuestion
from transect.errors import BadInput
from transect.runs import csv_files


class Unit(NamedTuple):
    """An image, or two of one study."""

    study: str
    first: str
    second: str = ""


def rows_of(questionnaire: Questionnaire, pictures: Pictures) -> list[dict[str, object]]:
    """Rows of the table of items, in an order that depends on the plan's seed alone.

    Raises BadInput for pairs or known answers of images that are not there.
    """
    rows: list[dict[str, object]] = []
    for block, question in enumerate(questionnaire.question):
        gold = _gold(question, pictures)
        chosen = None if question.pairs or not questionnaire.plan.per_cell else _sampled(pictures, questionnaire.plan)
        units = [unit for unit in dict.fromkeys(_units(question, pictures)) if unit not in gold]
        units = units if chosen is None else [unit for unit in units if unit in chosen]
        units = [unit for unit in units if not question.studies or unit.study in question.studies]
        random.Random(f"{questionnaire.plan.seed}/{question.name}").shuffle(units)  # noqa: S311  (an order, no secret)
        for position, unit in enumerate([*units, *gold]):
            rows.append(
                {
                    **unit._asdict(),
                    "question": question.name,
                    "block": block,
                    "position": position,
                    "gold": gold.get(unit),
                    "wanted": questionnaire.plan.ratings,
                    "taken": 0,
                    "done": False,
                }
            )
    return rows


def _sampled(pictures: Pictures, plan: Plan) -> set[Unit]:
    """So many images of each cell of each study, the same for all questions; all where there are fewer."""
    cells: dict[tuple[str, int], list[Unit]] = {}
    for picture in pictures.alone:
        cells.setdefault((picture.study, picture.cell), []).append(Unit(picture.study, picture.id))
    sample: set[Unit] = set()
    for (study, cell), units in cells.items():
        draw = random.Random(f"{plan.seed}/{study}/{cell}")  # noqa: S311  (a sample, no secret)
        sample |= set(draw.sample(units, min(plan.per_cell, len(units))))
    return sample


def _units(question: RaterQuestion, pictures: Pictures) -> Iterator[Unit]:
    if not question.pairs:
        yield from (Unit(picture.study, picture.id) for picture in pictures.alone)
    elif question.pairs in ("ends", "neighbours"):
        yield from _within_subjects(pictures.alone, question.pairs == "ends", question.name)
    elif question.pairs == RECONSTRUCTIONS:
        yield from _known(pictures, question.name)
    else:
        yield from _from_file(Path(question.pairs), pictures)


def _within_subjects(pictures: Sequence[Picture], ends: bool, name: str) -> Iterator[Unit]:
    """The first and the last image of each subject, or each and the next."""
    any_pair = False
    for _, group in itertools.groupby(sorted(pictures), key=lambda picture: (picture.study, picture.subject)):
        row = sorted(group, key=lambda picture: picture.cell)
        chosen: Iterable[tuple[Picture, Picture]] = [(row[0], row[-1])] if ends else itertools.pairwise(row)
        for left, other in chosen:
            if left.id != other.id:
                any_pair = True
                yield Unit(left.study, left.id, other.id)
    if not any_pair:
        raise BadInput(
            f"question {name}: expected subjects with several images, since it is about pairs, got one image of each; "
            "name a CSV file of pairs, or another question"
        )


def _known(pictures: Pictures, name: str) -> Iterator[Unit]:
    """Real, fake and duplicate pairs of an inversion."""
    pairs = [Unit(study, pair.first, pair.second) for study, pair in pictures.pairs]
    if not pairs:
        raise BadInput(
            f"question {name}: expected an inversion and its photographs, since it is about pairs of both, got other "
            "images; name the photographs with --photographs, or choose another question"
        )
    yield from pairs


def _from_file(path: Path, pictures: Pictures) -> Iterator[Unit]:
    rows = csv_files.records_of(path, f"pairs {path}")
    if not rows:
        raise BadInput(f"pairs {path}: expected rows of first and second, got none; list the pairs")
    for line, row in rows:
        unit = Unit(row.get("study") or "", row.get("first") or "", row.get("second") or "")
        for image in unit[1:]:
            _check(unit.study, image, pictures, f"pairs {path}, line {line}")
        if unit.first == unit.second:
            raise BadInput(f"pairs {path}, line {line}: expected two images, got {unit.first} twice; fix it")
        yield unit


def _gold(question: RaterQuestion, pictures: Pictures) -> dict[Unit, int]:
    names = [level.name for level in question.levels]
    gold = {}
    for answer in question.gold:
        for image in filter(None, (answer.image, answer.second)):
            _check(answer.study, image, pictures, f"gold of question {question.name}")
        gold[Unit(answer.study, answer.image, answer.second)] = names.index(answer.answer)
    return gold


def _check(study: str, image: str, pictures: Pictures, where: str) -> None:
    if (study, image) not in pictures:
        some = pictures.all[0]
        like = f"{some.id} of study {some.study}" if some.study else some.id
        raise BadInput(f"{where}: expected ids of this run's images, such as {like}, got {image or 'none'!r}; fix it")
