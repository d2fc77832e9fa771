"""Matched pairs of observed images, `--pairs`: read, and given to the study that observes these images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa

from transect.datasets.folder import UNNAMED
from transect.datasets.ids import as_named
from transect.designs.matched_pairs import MatchedPairs, matched_pairs
from transect.errors import BadInput
from transect.experiment.study import Study
from transect.jobs.audit.request import AuditRequest
from transect.runs.inputs import as_names, as_table
from transect.runs.tables import image_ids
from transect.runs.wording import counted


def with_matched(studies: Sequence[Study], request: AuditRequest) -> list[Study]:
    """The studies, of which the last that observes images has the pairs; as they are where there are none."""
    if request.pairs is None:
        return list(studies)
    observing = [place for place, study in enumerate(studies) if not study.design.levels]
    if not observing:
        raise BadInput("--pairs is of observed images: give --dataset, --images or --observe, or drop it")
    compared = as_names(request.compare)
    if len(compared) != 1:
        raise BadInput(
            f"--pairs: expected --compare NAME once, the attribute in which the images of a pair differ, got "
            f"{' and '.join(compared) or 'none'}; name one"
        )
    whole = list(studies)
    whole[observing[-1]] = replace(studies[observing[-1]], matched=_matched(studies[observing[-1]], request, *compared))
    return whole


def _matched(study: Study, request: AuditRequest, name: str) -> MatchedPairs:
    source = request.pairs
    called = f"--pairs {source}" if isinstance(source, str | Path) else "--pairs"
    table = as_table(source, "--pairs") if source is not None else pa.table({})
    if not {"a", "b"} <= {*table.column_names} or not table.num_rows:
        raise BadInput(
            f"{called}: expected columns a and b with the images of each pair, got "
            f"{', '.join(table.column_names[:6]) or 'no column'} in {counted(table.num_rows, 'row')}; give the table "
            "that transect match wrote"
        )
    a, b = (_images(table[side], study, called) for side in ("a", "b"))
    known = study.world.read(study.world.sample(study.design.subject_seeds()))
    values = np.asarray(known[name].to_numpy(), dtype=np.float64)
    pairs = list(zip(a, b, strict=True))
    return replace(matched_pairs(name, values, pairs, called), name=file_name(source))


def file_name(source: object) -> str:
    """What the report calls the table: no path of this machine."""
    return Path(source).name if isinstance(source, str | Path) else "a table"


def _images(column: pa.ChunkedArray, study: Study, called: str) -> list[int]:
    """Numbers of images: as they are numbered, or by id."""
    given, n = column.to_pylist(), study.design.subjects
    if pa.types.is_integer(column.type):
        gone = getattr(study.world, "left_out", {})
        if left_out := sum(number for reason, number in gone.items() if reason != UNNAMED):
            raise BadInput(
                f"{called}: expected ids of images in a and b, since {counted(left_out, 'image')} of the data set "
                f"{'is' if left_out == 1 else 'are'} left out, got row numbers; put ids there"
            )
        if column.null_count or not all(0 <= row < n for row in given):
            raise BadInput(f"{called}: expected row numbers from 0 to {n - 1}, got others; are they of these images?")
        return [int(row) for row in given]
    ids = list(getattr(study.world, "ids", None) or image_ids(study.design, study.design.subject_seeds()))
    place = {name: row for row, name in enumerate(ids)}
    wanted = list(dict.fromkeys(given))
    named = dict(zip(wanted, as_named(wanted, ids)[0], strict=True))
    if unknown := [image for image in given if named[image] not in place]:
        raise BadInput(f"{called}: expected ids of images such as {ids[0]!r}, got {unknown[0]!r}; put ids there")
    return [place[named[image]] for image in given]
