"""A run with pictures of one color each and answers that a test states, in parts, finished or not."""

import hashlib
import itertools

import numpy as np
import pyarrow as pa
from small_run import small_spec

from transect.records import Attribute, Design, Predictions, Task
from transect.runs.folder import RunFolder
from transect.runs.pictures import png
from transect.runs.spec import StatedTruth, TargetDescription, TargetEntry
from transect.runs.tables import predictions_table

NAN = float("nan")
SMILE = Attribute("smile", "continuous", "how far the mouth smiles")
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
HAT = Attribute("hat", "categorical", "what is on the head", levels=("none", "cap", "beanie"))
TRUTH = StatedTruth("smile>0.5", "smile", ">", 0.5)


def color_of(row, seed=0):
    """The color of the picture of a row: red says which."""
    return (10 + row, 100, seed)


def target(name, task=Task.BINARY, truth=TRUTH):
    outcomes = ("answer", "score", "error") if truth else ("answer", "score")
    slug = name.replace(":", "-")
    return TargetEntry(
        name, slug, task, outcomes, TargetDescription({"name": name, "task": str(task), "threshold": 0.5}), truth
    )


def make_viewed(
    folder,
    scores,
    *,
    levels=None,
    subjects=3,
    per_part=2,
    truth=TRUTH,
    attributes=(SMILE, GLASSES),
    people=None,
    ids=None,
    seed=0,
    image_parts=None,
    answer_parts=None,
    size=8,
):
    """scores: by target [n], NaN for an answer that failed. image_parts, answer_parts: how many are finished.

    people: who is on each image, of a run without levels. Without `levels` the true smile is 0, 1, 0, 1 …
    """
    levels = {"smile": (0.0, 1.0), "glasses": (0.0, 1.0)} if levels is None else levels
    design = Design(levels, subjects, seed)
    targets = tuple(target(name, truth=truth) for name in scores)
    spec = small_spec(design, attributes=tuple(attributes), subjects_per_part=per_part, targets=targets)
    rows = list(itertools.product(range(subjects), range(design.n_cells)))
    cells = design.cells()
    with RunFolder(folder, spec.to_json()) as run:
        for part, first in enumerate(range(0, subjects, per_part)):
            here = [n for n, (subject, _) in enumerate(rows) if first <= subject < first + per_part]
            pictures = [png(np.full((size, size, 3), color_of(n, seed), np.uint8)) for n in here]
            names = [(ids or {}).get(n) or f"{rows[n][0]}-{rows[n][1]:04d}" for n in here]
            columns = {
                "id": names,
                "subject": pa.array([rows[n][0] for n in here], pa.int64()),
                "cell": pa.array([rows[n][1] for n in here], pa.int32()),
            }
            columns |= {f"intended.{name}": [cells[rows[n][1]][name] for n in here] for name in levels}
            columns |= {
                f"true.{each.name}": [cells[rows[n][1]].get(each.name, float(n % 2)) for n in here]
                for each in attributes
            }
            if people is not None:
                columns["true.subject"] = [float(people[n]) for n in here]
            columns["face_box"] = pa.nulls(len(here), pa.list_(pa.float64()))
            columns["image"] = pa.array(pictures, pa.binary())
            columns["sha256"] = [hashlib.sha256(one).hexdigest() for one in pictures]
            if image_parts is None or part < image_parts:
                run.write_part("images", part, pa.table(columns))
            for each in targets:
                given = np.array([scores[each.name][n] for n in here], dtype=np.float64)
                failures = tuple("timed out" if np.isnan(value) else "" for value in given)
                answers = Predictions(Task.BINARY, given[:, None], failures)
                if answer_parts is None or part < answer_parts:
                    run.write_part(f"predictions/{each.slug}", part, predictions_table(names, answers))
    return folder
