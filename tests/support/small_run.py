"""A finished run of tiny images, and questionnaires over it."""

import hashlib
import io
import itertools

import numpy as np
import pyarrow as pa
from PIL import Image

from transect.runs.folder import RunFolder


def png(seed: int, size: int = 16) -> bytes:
    """A picture of noise."""
    pixels = np.random.default_rng(seed).integers(0, 256, (size, size, 3), dtype=np.uint8)
    sink = io.BytesIO()
    Image.fromarray(pixels).save(sink, "PNG")
    return sink.getvalue()


def make_run(folder, subjects=6, cells=2, per_part=4, seed=0, without_picture=(), size=16):
    """A run folder with subjects x cells images and no predictions, as `transect audit` writes images."""
    values = np.linspace(0, 1, cells).tolist()
    spec = {
        "name": "run",
        "design": {"subjects": subjects, "seed": seed, "levels": [{"attribute": "smile", "values": values}]},
        "subjects_per_part": per_part,
    }
    with RunFolder(folder, spec) as run:
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
