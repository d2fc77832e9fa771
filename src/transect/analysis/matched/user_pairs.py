"""Pairs or sets that you give, instead of those that a method finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.analysis.matched.request import Request
from transect.datasets import features as files
from transect.datasets.features import as_named
from transect.designs.matching import Matching, Sample
from transect.designs.matching.groups import Sets
from transect.designs.matching.sample import absent
from transect.designs.matching.search import distances
from transect.errors import BadInput
from transect.runs.table_inputs import as_table
from transect.runs.wording import counted

METHOD: Final = "as given"
NOT_GIVEN: Final = "in no pair that was given"
_NO_IMAGE: Final = "no image of {} in its set"


@final
@dataclass(frozen=True, slots=True)
class GivenPairs:
    """Rows of the table and the distance of each pair, NaN where none is stated. note: how ids were compared."""

    a: Int[np.ndarray, " m"]
    b: Int[np.ndarray, " m"]
    distance: Float[np.ndarray, " m"]
    name: str
    note: str = ""


def read(request: Request) -> GivenPairs:
    """The pairs of `options.pairs`: columns a and b, rows from 0 or ids of the table; distance if it is there."""
    source = request.options.pairs
    name = f"--pairs {source}" if isinstance(source, str | Path) else "--pairs"
    table = as_table(source, "--pairs")
    if not {"a", "b"} <= {*table.column_names} or not table.num_rows:
        raise BadInput(
            f"{name}: expected columns a and b with the images of each pair, got"
            f" {', '.join(table.column_names[:6]) or 'no column'} in {counted(table.num_rows, 'row')}"
        )
    names, note = _as_in_table(table, request)
    a, b = (_rows(table[side], request, name, names) for side in ("a", "b"))
    stated = "distance" in table.column_names
    distance = files.numbers(table, "distance", "pair") if stated else np.full(len(a), np.nan)
    return GivenPairs(a, b, distance, name, f"{name}: {note}" if note else "")


def notes(request: Request) -> tuple[str, ...]:
    """How the ids of given pairs were compared, where they are not the same texts as the table's."""
    note = "" if request.options.pairs is None else read(request).note
    return (note,) if note else ()


def _as_in_table(pairs: pa.Table, request: Request) -> tuple[dict[object, object], str]:
    """The table's name of each id in either column, so that both are compared in one way, and a sentence on it."""
    ids = files.ids_of(request.table)
    sides = [pairs[side] for side in ("a", "b") if not pa.types.is_integer(pairs[side].type)]
    wanted = list(dict.fromkeys(image for side in sides for image in side.to_pylist()))
    if ids is None or not wanted:
        return {}, ""
    named, note = as_named(wanted, ids)
    return dict(zip(wanted, named, strict=True)), note


def _rows(
    images: pa.ChunkedArray, request: Request, name: str, names: Mapping[object, object]
) -> Int[np.ndarray, " m"]:
    """Rows of the table: as they are numbered, or where their id stands. names: the table's name of each id."""
    n, given = request.table.num_rows, images.to_pylist()
    if pa.types.is_integer(images.type):
        if images.null_count or not all(0 <= row < n for row in given):
            raise BadInput(f"{name}: expected row numbers from 0 to {n - 1}; were the pairs made from this --table?")
        return np.array(given, dtype=np.int64)
    ids = files.ids_of(request.table)
    if ids is None:
        raise BadInput(f"{name}: expected row numbers in a and b, or a column id in the table, got {given[0]!r}")
    place = {image: row for row, image in enumerate(ids)}
    named = [names[image] for image in given]
    if unknown := [image for image in named if image not in place]:
        raise BadInput(
            f"{name}: expected ids of the table such as {ids[0]!r}, got {unknown[0]!r}; were the pairs made "
            "from this table?"
        )
    return np.array([place[image] for image in named], dtype=np.int64)


def pairs(request: Request, sample: Sample) -> Matching:
    """The given pairs with the treated image as a. Treated images in no pair count as refused."""
    given = read(request)
    level = sample.treatment
    alike = np.flatnonzero(~(np.abs(level[given.a] - level[given.b]) == 1))
    if len(alike):
        where = f"pair {alike[0]} (rows {given.a[alike[0]]} and {given.b[alike[0]]})"
        raise BadInput(
            f"{given.name}: expected an image of each group of {request.treatment} in every pair, missing in "
            f"{counted(len(alike), 'pair')}, first {where}; leave them out"
        )
    turned = level[given.a] == 0
    a, b = np.where(turned, given.b, given.a), np.where(turned, given.a, given.b)
    _check_once(request, sample, given.name, a, b)
    without = np.setdiff1d(np.flatnonzero(level == 1), a).tolist()
    return Matching(METHOD, a, b, _distance(request, sample, given, a, b), dict.fromkeys(without, NOT_GIVEN))


def sets(request: Request, sample: Sample, labels: tuple[str, ...]) -> Sets | None:
    """Sets of a base image, a, with one of each other group; those that lack one are refused. None if all do."""
    given, group = read(request), np.array(labels)
    base = request.options.base or str(group[given.a[0]])
    others = sorted({*labels} - {base, ""})
    if (group[given.a] != base).any():
        raise BadInput(f"{given.name}: expected only images of {base} in column a; choose another --base")
    members_of: dict[int, dict[str, tuple[int, float]]] = {}
    distance = _distance(request, sample, given, given.a, given.b)
    for a, b, far in zip(given.a.tolist(), given.b.tolist(), distance.tolist(), strict=True):
        members = members_of.setdefault(a, {})
        if members.setdefault(str(group[b]), (b, far)) != (b, far) or group[b] in (base, ""):
            raise BadInput(f"{given.name}: expected one image of each of {', '.join(others)} for row {a}, got row {b}")
    whole = {a: members for a, members in members_of.items() if len(members) == len(others)}
    refused = {row: NOT_GIVEN for row in np.flatnonzero(group == base).tolist() if row not in members_of}
    refused |= {
        a: _NO_IMAGE.format(next(name for name in others if name not in members))
        for a, members in members_of.items()
        if a not in whole
    }
    if not whole:
        return None
    rows = np.array([[a, *(members[name][0] for name in others)] for a, members in whole.items()], dtype=np.int64)
    _check_once(request, sample, given.name, rows[:, 0], *rows[:, 1:].T)
    apart = np.array([[members[name][1] for name in others] for members in whole.values()])
    return Sets((base, *others), rows, apart, refused)


def _distance(
    request: Request, sample: Sample, given: GivenPairs, a: Int[np.ndarray, " m"], b: Int[np.ndarray, " m"]
) -> Float[np.ndarray, " m"]:
    """As the file states it; where it does not, as the features have it; NaN without features."""
    if request.blocks and np.isnan(given.distance).all():
        return distances(sample.features, a, b)
    return given.distance


def unnamed(request: Request) -> Bool[np.ndarray, " n"]:
    """Images that the column of identities names nobody for; none without such a column."""
    if request.identity is None:
        return np.zeros(request.table.num_rows, dtype=bool)
    return absent(files.objects(request.table, request.identity, "identity"))


def without_identity(request: Request, pairs: pa.Table) -> list[str]:
    """A note on images of given pairs that have no identity; pairs: their rows as columns a and b."""
    if request.options.pairs is None:
        return []
    rows = np.union1d(pairs["a"].to_numpy(), pairs["b"].to_numpy())
    count = int(unnamed(request)[rows].sum())
    if not count:
        return []
    have = "1 image of the given pairs has" if count == 1 else f"{count} images of the given pairs have"
    return [
        f"{have} no {request.identity}: each counts as a separate person; if some show the same person, the intervals "
        "are too narrow"
    ]


def _check_once(
    request: Request, sample: Sample, name: str, a: Int[np.ndarray, " m"], *others: Int[np.ndarray, " m"]
) -> None:
    """With outcomes, refuse an image or person (one by itself without identity) in several pairs, but as their a."""
    if not request.outcomes:
        return
    people = np.where(unnamed(request), len(sample) + np.arange(len(sample)), sample.identity)
    members = {(int(people[row]), int(anchor)) for rows in (a, *others) for row, anchor in zip(rows, a, strict=True)}
    person, times = Counter(person for person, _ in members).most_common(1)[0]
    used = Counter(row for rows in others for row in rows.tolist()).most_common(1)[0]
    if times > 1 or used[1] > 1:
        row = int(np.flatnonzero(people == person)[0]) if times > 1 else used[0]
        who = "a person" if request.identity else "an image"
        raise BadInput(
            f"{name}: expected each image{' and person' if request.identity else ''} in one pair, so that outcomes are"
            f" independent, got {who} in {max(times, used[1])} (row {row}); keep one of them, or leave --outcome out"
        )
