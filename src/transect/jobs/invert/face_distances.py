"""How far a face network finds reconstructions from their images. Its answers are kept, so that none is asked twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, UInt8

from transect.errors import BadInput
from transect.experiment.embedding import embedding_target
from transect.jobs.invert.run import Inversion
from transect.protocols import Target, TargetLike
from transect.records import Images, Predictions, Task
from transect.runs import tables
from transect.runs.folder import RunFolder, slug
from transect.runs.parts import fill_table
from transect.runs.picture_files import pixels_of_png

_TIMEOUT: Final = 10.0
"""Seconds that a face network may take for an image."""
_NO_FACE: Final = "no face"


@final
@dataclass(frozen=True, slots=True)
class FaceDistances:
    """Euclidean distances of the embeddings of image and reconstruction, NaN where one is missing.

    no_face: images of which the target found no face in either; failed: those of which it failed otherwise. Images
    whose inversion failed are in neither.
    """

    distance: Float[np.ndarray, " n"]
    no_face: int
    failed: int


@final
@dataclass(frozen=True, slots=True)
class FaceNetwork:
    """A target that embeds faces. facts: its description from before it was asked, since a target can keep counts."""

    target: Target
    facts: dict[str, Any]

    @classmethod
    def of(cls, face: TargetLike) -> FaceNetwork:
        """The network of a spec or object. Raises BadInput for a target without embeddings."""
        from transect.targets.description import describe

        target = embedding_target(face, None)
        if Task(target.task) is not Task.EMBEDDING:
            raise BadInput(f"--face-distance {target.name}: expected a target with embeddings, got {target.task}")
        return cls(target, describe(target))

    def distances(self, inversion: Inversion, table: pa.Table, out: Path, *, quiet: bool = False) -> FaceDistances:
        """The distances of one inversion. table: its rows; out: the sweep's folder, which keeps the embeddings.

        Raises FolderOfAnotherSpec for a folder of another target of that name, and Interrupted.
        """
        images = table["image"]

        def reconstructions(rows: range) -> UInt8[np.ndarray, "m h w 3"]:
            return np.stack([pixels_of_png(images[row].as_py()) for row in rows])

        name = f"predictions/penalty-{inversion.search.penalty:g}"
        with RunFolder(out / f"faces-{slug(self.target.name)}", self._spec(inversion)) as folder:
            ask = partial(_answers, folder, inversion, self.target, quiet)
            original = ask("predictions/originals", inversion.pictures.pixels, "images")
            rendered = ask(name, reconstructions, "reconstructions")
        return _compared(original, rendered, [bool(why) for why in table["failure"].to_pylist()])

    def _spec(self, inversion: Inversion) -> dict[str, object]:
        """What the answers depend on, λ apart."""
        search = {name: value for name, value in asdict(inversion.search).items() if name != "penalty"}
        kind = "faces of inversions"
        return {**inversion.spec(), "kind": kind, "search": search, "target": self.facts, "timeout": _TIMEOUT}


def _answers(
    folder: RunFolder,
    inversion: Inversion,
    target: Target,
    quiet: bool,
    name: str,
    pixels: Callable[[range], UInt8[np.ndarray, "m h w 3"]],
    asked: str,
) -> Predictions:
    """The target's answers about all images, part by part; those that the folder has are read back."""
    from transect.targets.guard import guarded

    parts, batch = inversion.parts(), inversion.options.batch

    def ask(part: int) -> pa.Table:
        rows = parts[part]
        answers = guarded(target, Images(pixels(rows)), timeout=_TIMEOUT, batch=batch)
        return tables.predictions_table([inversion.pictures.ids[row] for row in rows], answers)

    fill_table(folder, name, [len(rows) for rows in parts], ask, title=f"{target.name}: {asked}", quiet=quiet)
    answers = [folder.read_part(name, part) for part in range(len(parts))]
    return tables.predictions_of(pa.concat_tables(answers), Task.EMBEDDING)


def _compared(original: Predictions, rendered: Predictions, inversion_failed: list[bool]) -> FaceDistances:
    lost = original.failed | rendered.failed | np.array(inversion_failed)
    distance = np.full(len(lost), np.nan)
    distance[~lost] = np.linalg.norm(original.scores[~lost] - rendered.scores[~lost], axis=1)
    pairs = zip(original.failures, rendered.failures, inversion_failed, strict=True)
    reasons = [(first, second) for first, second, failed in pairs if (first or second) and not failed]
    no_face = sum(any(reason.startswith(_NO_FACE) for reason in pair) for pair in reasons)
    return FaceDistances(distance, no_face, len(reasons) - no_face)
