"""A finished run of tiny images, and questionnaires over it."""

import hashlib
import io
import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
from PIL import Image

from transect.records import Attribute, Design
from transect.runs.folder import RunFolder
from transect.runs.spec import GeneratorDescription, LimitsEntry, RunSpec, WorldEntry


def png(seed: int, size: int = 16) -> bytes:
    """A picture of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "PNG")
    return sink.getvalue()


def small_spec(design, **changes):
    """The spec of a run of a world that states nothing, less what is changed."""
    spec = RunSpec(
        versions={"transect": "0.1.0"},
        name="run",
        generator=GeneratorDescription({"name": "small", "image_size": 16, "class": "Small"}),
        world=WorldEntry("small", False, "The generator small states no validity figures."),
        readings=(),
        attributes=tuple(Attribute(name, "continuous", name) for name in design.levels),
        held=(),
        nominal=(),
        design=design,
        subjects_per_part=4,
        targets=(),
        limits=LimitsEntry(10.0, 16),
    )
    return replace(spec, **changes)


def make_run(folder, subjects=6, cells=2, per_part=4, seed=0, without_picture=(), size=16):
    """A run folder with subjects x cells images and no predictions, as `transect audit` writes images."""
    values = np.linspace(0, 1, cells).tolist()
    spec = small_spec(Design({"smile": tuple(values)}, subjects, seed), subjects_per_part=per_part)
    with RunFolder(folder, spec.to_json()) as run:
        for part, first in enumerate(range(0, subjects, per_part)):
            rows = list(itertools.product(range(first, min(first + per_part, subjects)), range(cells)))
            pictures = [
                None if row in without_picture else png(seed * 1000 + 10 * row[0] + row[1], size) for row in rows
            ]
            run.write_part(
                "images",
                part,
                pa.table(
                    {
                        "id": [f"{subject}-{cell:04d}" for subject, cell in rows],
                        "subject": pa.array([subject for subject, _ in rows], pa.int64()),
                        "cell": pa.array([cell for _, cell in rows], pa.int32()),
                        "intended.smile": [values[cell] for _, cell in rows],
                        "face_box": pa.nulls(len(rows), pa.list_(pa.float64())),
                        "image": pa.array(pictures, pa.binary()),
                        "sha256": [hashlib.sha256(one or b"").hexdigest() for one in pictures],
                    }
                ),
            )
    return folder


ONE = """
[plan]
ratings = {ratings}
{plan}
[[question]]
name = "smile"
text = "Does it smile?"
attribute = "smile"
levels = ["no", "a little", "yes"]
{more}
"""


def write_questions(path, ratings=3, plan="", more=""):
    """A TOML file with one question, and `more`."""
    path.write_text(ONE.format(ratings=ratings, plan=plan, more=more))
    return str(path)
