"""From an address to what is wanted, and from rows to what the page is sent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np
import pyarrow as pa

from transect.analysis.sections.spoken_answers import read_as
from transect.errors import BadInput, UnknownName
from transect.jobs.view.index import UNASKED, Index, RunColumns
from transect.jobs.view.selection import EFFECT, RUNS, Pairs, Sides, Wanted, difference, kinds_of, sort_key
from transect.runs.tables import said_of
from transect.spoken_answers import Said
from transect.targets.words.asked import asked_of
from transect.targets.words.questions import WordQuestion
from transect.texts import one_line

WHERE: Final = "where."
FROM: Final = "from."
TO: Final = "to."
_LISTS: Final = ("run", "answer", "verdict")
_SINGLE: Final = ("target", "subject", "sort", "down")
_LARGEST: Final = 1 << 63

Parameters = Sequence[tuple[str, str]]
"""Names and values, in the order of the address; a name may come several times."""


def wanted_of(parameters: Parameters, targets: Sequence[str]) -> Wanted:
    """What is looked for. Names that the page uses for something else are passed over; the first target is the default.

    Raises UnknownName for a target that is not there, BadInput for numbers that are none.

    >>> wanted_of([("where.smile", "1"), ("where.smile", "0"), ("down", "1")], ["a", "b"])
    Wanted(runs=(), levels={'smile': (1.0, 0.0)}, ranges={}, target='a', ..., sort='order', descending=True)
    """
    several = {name: tuple(value for key, value in parameters if key == name) for name in _LISTS}
    one = {name: next((value for key, value in parameters if key == name), "") for name in _SINGLE}
    if one["target"] and one["target"] not in targets:
        raise UnknownName("target", one["target"], targets)
    return Wanted(
        runs=several["run"],
        levels=_levels(parameters),
        ranges=_ranges(parameters),
        target=one["target"] or next(iter(targets), ""),
        answers=several["answer"],
        verdicts=several["verdict"],
        subject=whole("subject", one["subject"]) if one["subject"] else None,
        sort=one["sort"] or "order",
        descending=one["down"] == "1",
    )


def sides_of(parameters: Parameters, index: Index) -> Sides:
    """What stands side by side. Raises UnknownName or BadInput where the address does not say."""
    given = dict(parameters)
    by, left, right, target = (given.get(name, "") for name in ("by", "left", "right", "beside"))
    if by == RUNS:
        return Sides(by, left, right, target)
    if by not in index.values:
        raise UnknownName("attribute", by, (RUNS, *index.values))
    return Sides(by, number(by, left), number(by, right), target)


def whole(name: str, text: str) -> int:
    """A whole number. Raises BadInput for another text, or one of more than 64 bits."""
    try:
        value = int(text)
    except ValueError:
        value = _LARGEST
    if not -_LARGEST <= value < _LARGEST or len(text) > 20:
        raise BadInput(f"{name}: expected a whole number, got {text[:40]!r}")
    return value


def number(name: str, text: str) -> float:
    """A finite number. Raises BadInput for another text."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise BadInput(f"{name}: expected a number, got {text[:40]!r}")
    return value


def _levels(parameters: Parameters) -> dict[str, tuple[float, ...]]:
    levels: dict[str, tuple[float, ...]] = {}
    for key, value in parameters:
        if key.startswith(WHERE):
            name = key.removeprefix(WHERE)
            levels[name] = (*levels.get(name, ()), number(name, value))
    return levels


def _ranges(parameters: Parameters) -> dict[str, tuple[float, float]]:
    ranges: dict[str, tuple[float, float]] = {}
    for key, value in parameters:
        if key.startswith((FROM, TO)) and value:
            name = key.partition(".")[2]
            low, high = ranges.get(name, (math.nan, math.nan))
            bound = number(name, value)
            ranges[name] = (bound, high) if key.startswith(FROM) else (low, bound)
    return ranges


MOST_LEVELS: Final = 12
"""Values of an attribute that are listed one by one; of more, a range is asked for."""
DIGITS: Final = 16
"""Of a picture's SHA-256, by which its address changes with it."""
_LONGEST: Final = 300
_LONGEST_TEXT: Final = 4000


def about(index: Index) -> dict[str, object]:
    """The runs, what images are filtered by (attributes that were set come first), and the targets."""
    facets = [_facet(index, name) for name, values in index.values.items() if np.isfinite(values).any()]
    facets.sort(key=lambda facet: not facet["set"])
    return {
        "name": _text(index.folder.resolve().name),
        "images": len(index),
        "runs": [_run(run) for run in index.runs],
        "left_out": [{"name": _text(name), "reason": _text(why)} for name, why in index.left_out.items()],
        "facets": facets,
        "targets": [_target(index, name) for name in index.answers],
        "sorts": [f"{EFFECT}{facet['name']}" for facet in facets if facet["set"]],
    }


def lines(index: Index, rows: np.ndarray, wanted: Wanted) -> list[dict[str, object]]:
    """One entry per image: where it is, what was set, what the target said, and the number that it is sorted by."""
    sorted_by = None if wanted.sort == "order" else sort_key(index, wanted)
    return [_line(index, row, wanted.target, sorted_by) for row in rows.tolist()]


def transcripts(index: Index, rows: np.ndarray, target: str) -> list[dict[str, object]]:
    """One entry per image: where it is, what was set, and each text that the target was sent and gave back."""
    found: dict[tuple[str, int], dict[str, list[dict[str, str]]]] = {}
    lines = []
    for row in rows.tolist():
        run, place = index.place(row)
        part = run.name, int(run.part[place])
        if part not in found:
            found[part] = _texts(run, target, part[1])
        lines.append({**_line(index, row, "", None), "texts": found[part].get(str(run.ids[place]), [])})
    return lines


def _texts(run: RunColumns, target: str, part: int) -> dict[str, list[dict[str, str]]]:
    """By the id of each image of a part: prompt, text, what became of it, and what it was read as."""
    entry = run.targets.get(target)
    table = f"answers/{entry.slug}" if entry else ""
    if not entry or not entry.description.question or part >= run.run.finished_parts(table, part + 1):
        return {}
    question, said = asked_of(entry.description.facts), run.run.read_part(table, part)
    ids = list(dict.fromkeys(said["id"].to_pylist()))
    texts = zip(ids, said_of(said, ids), strict=True)
    return {name: [_spoken(one, question) for one in of_image] for name, of_image in texts}


def _spoken(one: Said, question: WordQuestion) -> dict[str, str]:
    prompt, text = (one_line(each, _LONGEST_TEXT) for each in (one.prompt, one.text))
    return {"prompt": prompt, "text": text, "status": str(one.status), "read": _text(read_as(one, question))}


def pair_lines(index: Index, pairs: Pairs, start: int, stop: int) -> list[dict[str, object]]:
    """One entry per pair: both images, and the difference right less left where both have a score or answer."""
    first, other = pairs.targets
    here = replace(pairs, left=pairs.left[start:stop], right=pairs.right[start:stop])
    both = zip(here.left.tolist(), here.right.tolist(), difference(index, here).tolist(), strict=True)
    return [
        {
            "left": _line(index, left, first, None),
            "right": _line(index, right, other, None),
            "difference": _number(value),
        }
        for left, right, value in both
    ]


def transect_reply(index: Index, name: str, subject: int) -> dict[str, object]:
    """One subject of a run and its neighbours: the axes, and each image, by cell, with the answers of all targets."""
    number = index.named(name)
    run = index.runs[number]
    rows = np.flatnonzero(run.people == subject)
    if not len(rows):
        raise BadInput(f"{name}: expected a subject's number, got {subject}; it may not exist yet")
    everybody = np.unique(run.people)
    place = int(np.searchsorted(everybody, subject))
    return {
        "run": _text(name),
        "subject": str(subject),
        "axes": [
            {"name": _text(axis), "labels": [_text(run.attributes[axis].label(value)) for value in values]}
            for axis, values in run.design.levels.items()
        ],
        "before": str(int(everybody[place - 1])) if place else None,
        "after": str(int(everybody[place + 1])) if place + 1 < len(everybody) else None,
        "images": [_with_answers(index, run, row) for row in (rows + int(index.starts[number])).tolist()],
    }


def image_reply(index: Index, row: int) -> dict[str, object]:
    """One image with every column of its tables: of the image, and of each target's predictions."""
    run, place = index.place(row)
    part, at = int(run.part[place]), int(run.row[place])
    tables = [("image", _columns(run.run.read_part("images", part), at))]
    for name, target in run.targets.items():
        table = f"predictions/{target.slug}"
        if part < run.run.finished_parts(table, part + 1):
            tables.append((name, _columns(run.run.read_part(table, part), at)))
    return {
        **_with_answers(index, run, row),
        "tables": [{"name": _text(name), "columns": columns} for name, columns in tables],
    }


def _with_answers(index: Index, run: RunColumns, row: int) -> dict[str, object]:
    answers = {_text(name): _answer(index, name, row) for name in run.targets}
    return {**_line(index, row, "", None), "answers": answers}


def _answer(index: Index, target: str, row: int) -> dict[str, object]:
    """What a target said of an image: whether it was asked, yes or no, the score, right or not, why no answer."""
    said = index.target(target)
    reason = str(said.reasons[row])
    return {
        "asked": reason not in UNASKED,
        "answer": _yes(said.answer[row]),
        "score": _number(float(said.score[row])),
        "right": _yes(said.right[row]),
        "reason": _text(reason),
    }


def caption(index: Index, row: int) -> str:
    """What was set on an image, in words; of an image on which nothing was set its id."""
    run, place = index.place(row)
    settings = (f"{_words(name)} {run.attributes[name].label(run.values[name][place])}" for name in run.design.levels)
    return ", ".join(settings) or _text(str(run.ids[place]))


def _line(index: Index, row: int, target: str, sorted_by: np.ndarray | None) -> dict[str, object]:
    run, place = index.place(row)
    return {
        "row": row,
        "run": _text(run.name),
        "id": str(run.ids[place]),
        "name": _text(str(run.ids[place])),
        "subject": str(int(run.people[place])),
        "digest": str(run.digests[place])[:DIGITS],
        "caption": caption(index, row),
        "said": _answer(index, target, row) if target else None,
        "by": None if sorted_by is None else _number(float(sorted_by[row])),
    }


def _run(run: RunColumns) -> dict[str, object]:
    return {
        "name": _text(run.name),
        "images": len(run),
        "subjects": len(np.unique(run.people)),
        "first": str(int(run.people[0])),
        "unfinished": run.unfinished,
        "targets": [_text(name) for name in run.targets],
        "photographs": run.run.spec.generator.of_photographs,
        "levels": {
            _text(name): [{"value": value, "label": _text(run.attributes[name].label(value))} for value in values]
            for name, values in run.design.levels.items()
        },
    }


def _facet(index: Index, name: str) -> dict[str, object]:
    """How images are filtered by an attribute: by its levels where there are few, else by a range."""
    attribute = next(run.attributes[name] for run in index.runs if name in run.attributes)
    values = index.values[name]
    found, counts = np.unique(values[np.isfinite(values)], return_counts=True)
    levels = zip(found.tolist(), counts.tolist(), strict=True) if len(found) <= MOST_LEVELS else ()
    return {
        "name": _text(attribute.name),
        "words": _words(attribute.name),
        "unit": _text(attribute.unit),
        "set": any(name in run.design.levels for run in index.runs),
        "levels": [{"value": each, "label": _text(attribute.label(each)), "images": count} for each, count in levels],
        "low": float(found[0]),
        "high": float(found[-1]),
    }


def _target(index: Index, name: str) -> dict[str, object]:
    entry = next(run.targets[name] for run in index.runs if name in run.targets)
    said = index.answers[name]
    return {
        "name": _text(name),
        "task": str(entry.task),
        "words": entry.description.question is not None,
        "truth": None if entry.truth is None else _text(entry.truth.text),
        "score": bool(np.isfinite(said.score).any()),
        "answer": bool(np.isfinite(said.answer).any()),
        "judged": bool(np.isfinite(said.right).any()),
        "counts": {kind: int(images.sum()) for kinds in kinds_of(said) for kind, images in kinds.items()},
        "beside": [_text(each) for each in index.asks_same(name) if each != name],
    }


def _columns(table: pa.Table, at: int) -> list[dict[str, str]]:
    return [{"name": _text(name), "value": _shown(table[name], at)} for name in table.column_names]


def _shown(column: pa.ChunkedArray, at: int) -> str:
    """A value as text; of pictures the number of bytes."""
    value = column[at].as_py()
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return _text(", ".join(_entry(each) for each in value) or "none")
    return "none" if value is None else _text(str(value))


def _entry(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name} {_entry(each)}" for name, each in value.items()) + ")"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _words(name: str) -> str:
    return _text(name).replace("_", " ")


def _text(text: str) -> str:
    return one_line(text, _LONGEST)


def _yes(value: float) -> bool | None:
    return None if np.isnan(value) else bool(value)


def _number(value: float) -> float | None:
    return value if np.isfinite(value) else None
