"""Mean faces of a finished run, by whether and in which condition the target was right."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import UInt8

from transect.analysis import mean_faces
from transect.analysis.finished_run import Run
from transect.analysis.sections.answers import Answers
from transect.analysis.sections.interrogation import face_groups
from transect.reports.records import MeanFace
from transect.runs.picture_files import pixels_of_png


def mean_faces_of(run: Run, answers: Answers) -> tuple[MeanFace, ...]:
    """Means of at most `mean_faces.MOST` evenly spaced images each; none for steps λ, which have no such section."""
    groups = [] if answers.steps else face_groups(answers)
    if not groups:
        return ()
    chosen = np.array([mean_faces.evenly(rows) for group in groups for rows in (group.right, group.wrong)])
    rows_per_part = run.spec.rows_per_part

    def pictures() -> Iterator[tuple[int, UInt8[np.ndarray, "h w 3"]]]:
        wanted = np.flatnonzero(chosen.any(axis=0))
        for part in range(run.parts):
            rows = wanted[wanted // rows_per_part == part].tolist()
            if rows:
                stored = run.folder.read_part("images", part, only=("image",))["image"]
                yield from ((row, pixels_of_png(stored[row - part * rows_per_part].as_py())) for row in rows)

    pictures_by_group = mean_faces.means(chosen, pictures())
    return tuple(
        MeanFace(
            run.spec.name,
            answers.target,
            group.measure,
            group.by,
            group.group,
            int(group.right.sum()),
            int(group.wrong.sum()),
            *pictures_by_group[2 * i : 2 * i + 2],
        )
        for i, group in enumerate(groups)
    )
