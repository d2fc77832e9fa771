"""The columns of a run folder's tables, and the way there and back.

images:       id, subject (its seed), cell, intended.<varied attribute>, true.<attribute>, face_box, image (PNG), sha256
predictions:  id, failed, reason, scores, boxes
answers:      of targets that answer in words, see `answer_tables`
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float, Int, UInt8

from transect.records import Design, Images, Predictions, Task
from transect.runs.picture_files import pixels_of_png
from transect.runs.plain_json import loads
from transect.runs.png import png

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


PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""How Hugging Face `datasets` stores a picture."""


def data_set_table(
    images: pa.Table,
    masks: Mapping[str, Bool[np.ndarray, "n h w"]] | None = None,
    landmarks: Float[np.ndarray, "n 68 2"] | None = None,
) -> pa.Table:
    """Rows of `images` with `mask.<name>` (PNG, white inside) and landmarks (x, y in pixels, 68 pairs), where known.

    Pictures and masks are of the type PICTURE, and the schema tells Hugging Face `datasets` to decode them.
    """
    pictures = {"image": images["image"].to_pylist()}
    pictures |= {f"mask.{name}": encode(mask.astype(np.uint8) * 255) for name, mask in (masks or {}).items()}
    columns = {name: images[name] for name in images.column_names if name != "image"}
    if landmarks is not None:
        columns["landmarks"] = _points_column(landmarks)
    names = images["id"].to_pylist()
    for name, encoded in pictures.items():
        rows = [{"bytes": png, "path": f"{name}.png"} for png, name in zip(encoded, names, strict=True)]
        columns[name] = pa.array(rows, PICTURE)
    features = {"info": {"features": {name: {"_type": "Image"} for name in pictures}}}
    return pa.table(columns).replace_schema_metadata({"huggingface": json.dumps(features)})


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
