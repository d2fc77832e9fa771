"""The columns of a run folder's tables, and the way there and back.

images:       id, subject (its seed), cell, intended.<varied attribute>, true.<attribute>, face_box, image (PNG), sha256
predictions:  id, failed, reason, scores, boxes
answers:      id, paraphrase, order, repeat, system, prompt, text, status, value, codes, likelihood, tokens_sent,
              tokens_received, reason: the fields of `Said`; images stand in the order of `predictions/<target>`
coded:        id, paraphrase, repeat: the answer. by: judge or scorer. name: of the code, or the function. system,
              prompt, text: exactly what the judge was sent, and what it said; empty of a function. The rest as of
              `Judged`; a value that is none is null
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int, UInt8

from transect.records import Design, Images, Predictions, Task
from transect.runs.json_records import loads
from transect.runs.pictures import pixels_of_png, png
from transect.spoken_answers import Judged, Said, Scored, Status
from transect.texts import encodable

_PERSON = "true.subject"
"""The column that identifies the person on a photograph, where several show one person."""
LEFT_OUT = b"transect.left_out"
"""Metadata of a file of single answers: raters who were shut out, and how many answers are theirs, as JSON."""
BOX = pa.struct([(name, pa.float64()) for name in ("x0", "y0", "x1", "y1", "confidence")])
PREDICTIONS = pa.schema(
    [
        ("id", pa.string()),
        ("failed", pa.bool_()),
        ("reason", pa.string()),
        ("scores", pa.list_(pa.float64())),
        ("boxes", pa.list_(BOX)),
    ]
)


def image_id(subject: int, cell: int) -> str:
    """Identifier of the image of one subject at one cell.

    >>> image_id(17, 3)
    '17-0003'
    """
    return f"{subject}-{cell:04d}"


def image_ids(design: Design, subjects: Int[np.ndarray, " s"]) -> list[str]:
    """Identifiers of the images of whole subjects, subject-major.

    >>> image_ids(Design({"glasses": (0.0, 1.0)}, subjects=1), np.array([17]))
    ['17-0000', '17-0001']
    """
    return [image_id(subject, cell) for subject in subjects.tolist() for cell in range(design.n_cells)]


def images_table(design: Design, subjects: Int[np.ndarray, " s"], true: pa.Table, images: Images) -> pa.Table:
    """Rows of `images` for whole subjects, subject-major; `true` has one column per attribute of the world."""
    cells = design.cells()
    subject = np.repeat(subjects, len(cells))
    cell = np.tile(np.arange(len(cells), dtype=np.int32), len(subjects))
    encoded = encode(images.pixels)
    columns: dict[str, object] = {"id": image_ids(design, subjects), "subject": subject, "cell": cell}
    for name in design.levels:
        columns[f"intended.{name}"] = np.array([setting[name] for setting in cells])[cell]
    for name in true.column_names:
        columns[f"true.{name}"] = true[name]
    boxes = images.face_boxes
    columns["face_box"] = pa.array([None] * len(images) if boxes is None else list(boxes), pa.list_(pa.float64()))
    if images.landmarks is not None:
        columns["landmarks"] = _points_column(images.landmarks)
    columns["image"] = pa.array(encoded, pa.binary())
    columns["sha256"] = [hashlib.sha256(png).hexdigest() for png in encoded]
    return pa.table(columns)


def data_set_table(
    images: pa.Table,
    masks: Mapping[str, Bool[np.ndarray, "n h w"]] | None = None,
    landmarks: Float[np.ndarray, "n 68 2"] | None = None,
) -> pa.Table:
    """Rows of `images` with `mask.<name>` (PNG, white inside) and landmarks (x, y in pixels, 68 pairs), where known."""
    columns = {name: images[name] for name in images.column_names}
    if landmarks is not None:
        columns["landmarks"] = _points_column(landmarks)
    for name, mask in (masks or {}).items():
        columns[f"mask.{name}"] = pa.array(encode(mask.astype(np.uint8) * 255), pa.binary())
    return pa.table(columns)


def encode(pixels: UInt8[np.ndarray, "n h w 3"] | UInt8[np.ndarray, "n h w"]) -> list[bytes]:
    """Each image, of three channels or one, as PNG, lossless; the table that holds them compresses them."""
    return [png(image) for image in pixels]


def decode(pngs: Sequence[bytes]) -> UInt8[np.ndarray, "n h w 3"]:
    """Pixels of PNGs of one size."""
    with ThreadPoolExecutor() as pool:
        return np.stack(list(pool.map(pixels_of_png, pngs)))


def images_of(table: pa.Table) -> Images:
    """The images of a table's rows, with face boxes and landmarks where they are known."""
    return Images(decode(table["image"].to_pylist()), face_boxes_of(table), landmarks_of(table))


def landmarks_of(table: pa.Table) -> Float[np.ndarray, "n k 2"] | None:
    """Landmarks in pixels of each row, NaN where there are none; None for a table without them."""
    if "landmarks" not in table.column_names:
        return None
    return _numbers(pc.list_flatten(table["landmarks"])).reshape(table.num_rows, -1, 2)


def _points_column(landmarks: Float[np.ndarray, "n k 2"]) -> pa.Array:
    return pa.array(landmarks.reshape(len(landmarks), -1).tolist(), pa.list_(pa.float64()))


def face_boxes_of(table: pa.Table) -> Float[np.ndarray, "n 4"] | None:
    """Face boxes x0, y0, x1, y1 in pixels; None when the world does not know them."""
    column = table["face_box"]
    return None if column.null_count else _numbers(pc.list_flatten(column)).reshape(-1, 4)


def predictions_table(ids: Sequence[str], predictions: Predictions) -> pa.Table:
    """Rows of `predictions`; scores and boxes are null where the target failed. Labels go into the metadata."""
    failed = predictions.failed
    boxes: list[list[dict[str, float]] | None] = [None] * len(failed)
    if predictions.boxes is not None:
        boxes = [
            None if lost else [dict(zip(BOX.names, row, strict=True)) for row in image_boxes.tolist()]
            for lost, image_boxes in zip(failed, predictions.boxes, strict=True)
        ]
    columns = [
        list(ids),
        failed.tolist(),
        list(predictions.failures),
        [None if lost else row for lost, row in zip(failed, predictions.scores.tolist(), strict=True)],
        boxes,
    ]
    schema = PREDICTIONS.with_metadata({"labels": json.dumps(predictions.labels)})
    return pa.table([pa.array(c, f.type) for c, f in zip(columns, PREDICTIONS, strict=True)], schema=schema)


def predictions_of(table: pa.Table, task: Task) -> Predictions:
    """The predictions that a table holds, row by row."""
    labels = loads((table.schema.metadata or {}).get(b"labels", b"[]"))
    widths, values = _lengths(table["scores"]), _numbers(pc.list_flatten(table["scores"]))
    known = table["scores"].is_valid().to_numpy()
    width = int(widths[known].max(initial=0)) if known.any() else max(len(labels), 1)
    if (widths[known] != width).any():
        raise ValueError(f"expected {width} scores in every row, got fewer in some")
    scores = np.full((len(known), width), np.nan)
    scores[known] = values.reshape(-1, width)
    boxes = _boxes_of(table["boxes"]) if task is Task.DETECTION else None
    return Predictions(task, scores, tuple(table["reason"].to_pylist()), boxes, tuple(labels))


def _boxes_of(column: pa.ChunkedArray) -> tuple[Float[np.ndarray, "_ 5"], ...]:
    """The boxes of each image; none where the target failed."""
    flat = pc.list_flatten(column)
    every = np.stack([_numbers(pc.struct_field(flat, name)) for name in BOX.names], axis=1)
    ends = np.cumsum(_lengths(column)).tolist()
    return tuple(every[start:end] for start, end in zip([0, *ends], ends, strict=False))


def _lengths(column: pa.ChunkedArray) -> Int[np.ndarray, " n"]:
    """How many values each row's list has; 0 where there is none."""
    return np.asarray(pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64))


def _numbers(column: pa.ChunkedArray) -> Float[np.ndarray, " n"]:
    return np.asarray(column.to_numpy().astype(np.float64))


def columns_of(table: pa.Table, prefix: str) -> dict[str, Float[np.ndarray, " n"]]:
    """The float columns `prefix.<name>`, by name."""
    names = [name for name in table.column_names if name.startswith(f"{prefix}.")]
    return {name.removeprefix(f"{prefix}."): table[name].to_numpy().astype(np.float64) for name in names}


def people_of(images: pa.Table) -> Int[np.ndarray, " n"]:
    """Who is on each image: the person where photographs name one, else the subject."""
    column = _PERSON if _PERSON in images.column_names else "subject"
    return np.asarray(images[column].to_numpy().astype(np.int64))


ANSWERS: Final = pa.schema(
    [
        ("id", pa.string()),
        ("paraphrase", pa.int32()),
        ("order", pa.list_(pa.int32())),
        ("repeat", pa.int32()),
        ("system", pa.string()),
        ("prompt", pa.string()),
        ("text", pa.string()),
        ("status", pa.string()),
        ("value", pa.float64()),
        ("codes", pa.list_(pa.float64())),
        ("likelihood", pa.list_(pa.float64())),
        ("tokens_sent", pa.int64()),
        ("tokens_received", pa.int64()),
        ("reason", pa.string()),
    ]
)

PAIRS: Final = pa.schema(
    [("subject", pa.int64()), ("first", pa.int32()), ("second", pa.int32()), *((f.name, f.type) for f in ANSWERS)]
)
"""The rows of `pairs/<target>`: a subject's two cells, and what was said about their images. id names all three."""


def pair_id(subject: int, first: int, second: int) -> str:
    """Identifier of two images of a subject, by their cells.

    >>> pair_id(17, 0, 3)
    '17-0000-0003'
    """
    return f"{subject}-{first:04d}-{second:04d}"


def pairs_table(pairs: Sequence[tuple[int, int, int]], said: Sequence[Sequence[Said]]) -> pa.Table:
    """A row for each answer, pair by pair. pairs: subject and two cells of each.

    >>> one = Said(0, (0, 1), 0, "", "Who?", "First.", Status.ANSWERED, 0.0)
    >>> pairs_table([(17, 0, 3)], [[one]]).select(["subject", "second", "id"]).to_pylist()
    [{'subject': 17, 'second': 3, 'id': '17-0000-0003'}]
    """
    rows = [
        {"subject": pair[0], "first": pair[1], "second": pair[2], **_answer_row(pair_id(*pair), one)}
        for pair, of_pair in zip(pairs, said, strict=True)
        for one in of_pair
    ]
    return pa.Table.from_pylist(rows, schema=PAIRS)


def answers_table(ids: Sequence[str], said: Sequence[Sequence[Said]]) -> pa.Table:
    """A row for each answer, image by image; a value that is none is null."""
    rows = [_answer_row(name, one) for name, of_image in zip(ids, said, strict=True) for one in of_image]
    return pa.Table.from_pylist(rows, schema=ANSWERS)


def said_of(table: pa.Table, ids: Sequence[str]) -> tuple[tuple[Said, ...], ...]:
    """What was said about each image of `ids`, () of one without rows."""
    found: dict[str, list[Said]] = {name: [] for name in ids}
    for row in _answer_rows(table):
        if row["id"] not in found:
            raise ValueError(f"expected answers about the run's images, got one about {row['id']}")
        found[row["id"]].append(_said(row))
    return tuple(tuple(found[name]) for name in ids)


def said_by_pair(table: pa.Table) -> list[tuple[Said, ...]]:
    """What was said about each pair of a table of pairs, in its order."""
    found: dict[str, list[Said]] = {}
    for row in _answer_rows(table):
        found.setdefault(row["id"], []).append(_said(row))
    return [tuple(said) for said in found.values()]


def pairs_of(table: pa.Table) -> list[tuple[int, int, int]]:
    """The subject and the two cells of each pair of a table of pairs, in its order."""
    columns = (table[name].to_pylist() for name in ("subject", "first", "second"))
    return list(dict.fromkeys(zip(*columns, strict=True)))


def _answer_row(name: str, said: Said) -> dict[str, object]:
    return {"id": name, **{field: stored(getattr(said, field)) for field in ANSWERS.names[1:]}}


def stored(value: object) -> object:
    """A value of an answer as tables hold it: texts that UTF-8 can hold, null for what is no number, lists."""
    if isinstance(value, str):
        return encodable(str(value))
    if isinstance(value, float | np.floating):
        return value if math.isfinite(value) else None
    return list(value) if isinstance(value, tuple) else value


def _answer_rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    columns = {name: table[name].to_pylist() for name in ANSWERS.names}
    for values in zip(*columns.values(), strict=True):
        yield dict(zip(columns, values, strict=True))


def _said(row: dict[str, Any]) -> Said:
    lists = {field: tuple(row[field] or ()) for field in ("order", "codes", "likelihood")}
    value = math.nan if row["value"] is None else row["value"]
    fields = {**row, **lists, "status": Status(row["status"]), "value": value}
    return Said(**{field: fields[field] for field in ANSWERS.names[1:]})


JUDGE: Final = "judge"
SCORER: Final = "scorer"
CODED: Final = pa.schema(
    [
        ("id", pa.string()),
        ("paraphrase", pa.int32()),
        ("repeat", pa.int32()),
        ("by", pa.string()),
        ("name", pa.string()),
        ("system", pa.string()),
        ("prompt", pa.string()),
        ("text", pa.string()),
        ("status", pa.string()),
        ("value", pa.float64()),
        ("reason", pa.string()),
        ("tokens_sent", pa.int64()),
        ("tokens_received", pa.int64()),
    ]
)
_JUDGED: Final = ("system", "prompt", "text", "status", "value", "reason", "tokens_sent", "tokens_received")
"""The columns that are a judge's, named as the fields of `transect.spoken_answers.Judged`."""
Answer = tuple[str, int, int]
"""The image, the paraphrase and the repeat of an answer."""


def coded_table(ids: Sequence[str], said: Sequence[Sequence[Said]]) -> pa.Table:
    """A row for each code that a judge gave and each number of a function, answer by answer."""
    rows = [
        row
        for name, of_image in zip(ids, said, strict=True)
        for one in of_image
        for row in _coded_rows((name, one.paraphrase, one.repeat), one)
    ]
    return pa.Table.from_pylist(rows, schema=CODED)


def with_coded(said: Sequence[Sequence[Said]], ids: Sequence[str], table: pa.Table) -> tuple[tuple[Said, ...], ...]:
    """What was said, with what a judge and functions made of it. Raises ValueError for rows of another answer."""
    judged: dict[Answer, list[Judged]] = {}
    scored: dict[Answer, list[Scored]] = {}
    known = {(name, one.paraphrase, one.repeat) for name, some in zip(ids, said, strict=True) for one in some}
    for row in table.select(CODED.names).to_pylist():
        place = (row["id"], row["paraphrase"], row["repeat"])
        if place not in known:
            raise ValueError(f"expected codes of the run's answers, got one of {row['id']}")
        if row["by"] == JUDGE:
            fields = {name: row[name] for name in _JUDGED}
            fields |= {"status": Status(row["status"]), "value": _number_or_nan(row["value"])}
            judged.setdefault(place, []).append(Judged(row["name"], **fields))
        else:
            scored.setdefault(place, []).append(Scored(row["name"], _number_or_nan(row["value"]), row["reason"]))
    return tuple(
        tuple(
            replace(one, judged=tuple(judged.get(place, ())), scored=tuple(scored.get(place, ())))
            for one in of_image
            for place in [(name, one.paraphrase, one.repeat)]
        )
        for name, of_image in zip(ids, said, strict=True)
    )


def _coded_rows(place: Answer, said: Said) -> Iterator[dict[str, object]]:
    answer = dict(zip(("id", "paraphrase", "repeat"), place, strict=True))
    for one in said.judged:
        yield {**answer, "by": JUDGE, "name": one.code, **{name: stored(getattr(one, name)) for name in _JUDGED}}
    for each in said.scored:
        value, reason = stored(each.value), encodable(each.reason)
        status = str(Status.FAILED if value is None else Status.ANSWERED)
        unsent = dict.fromkeys(("system", "prompt", "text"), "")
        scored = {"by": SCORER, "name": each.scorer, "status": status, "value": value, "reason": reason}
        yield {**answer, **unsent, **scored}


def _number_or_nan(value: float | None) -> float:
    return math.nan if value is None else value
