"""imSitu as it is distributed: what people on a picture do, and whether annotators call the agent a man.

of500_images_resized/ (or resized_256/, images/)    pictures, as cooking_12.jpg
train.json, dev.json, test.json                     verb, and three annotators' frames, by picture
imsitu_space.json                                   what each noun's number means

The label gender is the frames': man where annotators call the agent an adult male and none of them an
adult female, woman where it is the other way round. Sources: Yatskar et al. 2016, Situation recognition; Zhao et al.
2017, Men also like shopping, arXiv:1707.09457.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from transect.datasets.coco import GENDER, read_json, records
from transect.datasets.files import folder_of, images_below, needed
from transect.datasets.labelled import Labelled, LabelledImages, Request, build, divided, joined, levels_in_order
from transect.errors import BadInput, UnknownName
from transect.records import Attribute

ABOUT: Final = "Verbs and gender are annotators' labels of the pictures, not who the people are."
PARTS: Final = ("train", "dev", "test")
SPACE: Final = "imsitu_space.json"
_PICTURES: Final = ("of500_images_resized", "resized_256", "images")
_GLOSSES: Final = {"adult male": "man", "adult female": "woman"}


def read(path: Path, request: Request) -> LabelledImages:
    """The data set below `path`. split: train, dev or test; all three by default."""
    folder_of(path, "imSitu's folder")
    if request.split not in (None, *PARTS):
        raise UnknownName("part of imSitu", str(request.split), PARTS)
    tables = {part: table for part in PARTS if (table := path / f"{part}.json").is_file()}
    chosen = [table for part, table in tables.items() if request.split in (None, part)]
    if not chosen:
        raise BadInput(f"{path}: no train.json, dev.json or test.json; name imSitu's folder")
    space, root = needed(path, (SPACE,), "imSitu"), needed(path, _PICTURES, "imSitu")
    listed = {part: _entries(table) for part, table in tables.items()}
    entries = {name: entry for some in listed.values() for name, entry in some.items()}
    part_of = {name: part for part, some in listed.items() for name in some}
    people, names = _people(space), list(entries)
    rows = joined(
        names,
        {file.name: file for file in images_below(root)},
        lambda kept: _labels([entries[names[row]] for row in kept], people),
        [*chosen, space],
        wanted=[request.split in (None, part_of[name]) for name in names],
        parts=[part_of[name] for name in names],
        about=ABOUT,
    )
    return build("imsitu", path, replace(rows, ids=tuple(Path(name).stem for name in rows.ids)), request)


def label_columns(path: Path, parts: Sequence[str] = PARTS) -> tuple[dict[str, list[object]], int]:
    """Columns id, split, gender and verb of the pictures with a gender, and how many have none; none is opened."""
    folder_of(path, "imSitu's folder")
    people = _people(needed(path, (SPACE,), "imSitu"))
    columns: dict[str, list[object]] = {"id": [], "split": [], GENDER: [], "verb": []}
    lost = 0
    for part in parts:
        for name, entry in _entries(needed(path, (f"{part}.json",), "imSitu")).items():
            gender = _agent(entry, people)
            lost += not gender
            if gender:
                row = {"id": Path(name).stem, "split": part, GENDER: gender, "verb": str(entry["verb"])}
                for column, value in row.items():
                    columns[column].append(value)
    return columns, lost


def _entries(table: Path) -> dict[str, Mapping[str, object]]:
    content = read_json(table, ())
    records(list(content.values()), table, "verb", "frames")
    return content


def _people(space: Path) -> dict[str, str]:
    """The nouns' numbers that mean an adult man and an adult woman."""
    nouns = read_json(space, ("nouns",))["nouns"]
    records(list(nouns.values()) if isinstance(nouns, dict) else None, space, "gloss")
    people = {
        str(number): _GLOSSES[gloss] for number, noun in nouns.items() for gloss in noun["gloss"] if gloss in _GLOSSES
    }
    if set(people.values()) != set(_GLOSSES.values()):
        raise BadInput(f"{space}: expected nouns with both glosses {', '.join(_GLOSSES)}; use another file")
    return people


def _labels(
    entries: list[Mapping[str, object]], people: Mapping[str, str]
) -> tuple[dict[str, Labelled], dict[str, str]]:
    verbs = tuple(sorted({str(entry["verb"]) for entry in entries}))
    values = np.array([verbs.index(str(entry["verb"])) for entry in entries], dtype=np.float64)
    meaning = "label verb: what annotators were asked to find, and saw"
    verb: Labelled | str = "one value only" if verbs else "no value"
    if len(verbs) > 1:
        verb = Attribute("verb", "categorical", meaning, levels=verbs, source="imSitu's annotations"), values
    meaning = "label gender: annotators call the agent an adult male, or an adult female, and never both"
    agents = [_agent(entry, people) for entry in entries]
    gender = levels_in_order(GENDER, agents, ("man", "woman"), meaning, "imSitu's frames")
    return divided({"verb": verb, GENDER: gender})


def _agent(entry: Mapping[str, object], people: Mapping[str, str]) -> str:
    """What the frames call the agent: man, woman, or an empty text where they differ or name neither."""
    frames = entry["frames"] if isinstance(entry["frames"], list) else []
    genders = {people.get(str(frame.get("agent", ""))) for frame in frames if isinstance(frame, dict)} - {None}
    return str(next(iter(genders))) if len(genders) == 1 else ""
