"""Do two models prefer other images, when they see two of a subject at once? Gaps and effects, subject by subject."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

import numpy as np
from jaxtyping import Float

from transect.analysis import two_images
from transect.analysis.compared.measuring import Measured, measured_gap
from transect.analysis.compared.pairing import names_of
from transect.analysis.finished_run import Run
from transect.analysis.two_images import AskedPairs
from transect.designs.two_at_once import along
from transect.effects.paired_models import Gap, gap_between_levels
from transect.effects.preferences import PREFERRED
from transect.runs.spec import PairsEntry


@final
@dataclass(frozen=True, slots=True)
class AskedModel:
    """A question about two images and the runs in which a model was asked it. name: what the comparison calls it."""

    name: str
    folder: Path
    target: str
    studies: tuple[tuple[Run, PairsEntry], ...]

    @property
    def question(self) -> str:
        """The digest of the question."""
        return str(self.studies[0][1].description.facts.get("question_sha256", ""))


def asked_models(runs: Sequence[tuple[Path, Sequence[Run]]], targets: Sequence[str] = ()) -> tuple[AskedModel, ...]:
    """The questions about two images of all folders, in order, or those that are named."""
    found = [
        (folder, studies, target)
        for folder, studies in runs
        for target in dict.fromkeys(entry.name for run in studies for entry in run.spec.pairs)
        if not targets or target in targets
    ]
    names = names_of([(folder, target) for folder, _, target in found])
    return tuple(
        AskedModel(name, folder, target, _studies(studies, target))
        for name, (folder, studies, target) in zip(names, found, strict=True)
    )


def _studies(runs: Sequence[Run], target: str) -> tuple[tuple[Run, PairsEntry], ...]:
    return tuple((run, entry) for run in runs for entry in run.spec.pairs if entry.name == target)


def compared_preferences(models: Sequence[AskedModel]) -> tuple[list[Measured], list[str]]:
    """What is measured of each model and the first that was asked the same, and in words those that have no partner."""
    rows: list[Measured] = []
    notes: list[str] = []
    for place, model in enumerate(models):
        reference = next((each for each in models[:place] if each.question == model.question), None)
        if reference is not None:
            rows += _of_two(reference, model)
        elif not any(each.question == model.question for each in models[place + 1 :]):
            notes.append(f"{model.name} is not compared: no other model was asked its question about two images")
    return rows, notes


def _of_two(reference: AskedModel, model: AskedModel) -> Iterator[Measured]:
    before = {run.spec.name: (run, entry) for run, entry in reference.studies}
    for run, entry in model.studies:
        if run.spec.name in before:
            sides = [two_images.read(*each) for each in (before[run.spec.name], (run, entry))]
            about = run.spec.name, model.name, reference.name, PREFERRED, "proportion"
            for name in run.design.levels:
                gaps = dict(_gaps(run, sides, name))
                for words, gap in gaps.items():
                    yield from measured_gap(about, name, words, gap, list(gaps.values()))


def _gaps(run: Run, sides: Sequence[AskedPairs], name: str) -> Iterator[tuple[str, Gap]]:
    """Of every two levels in words."""
    label, levels = run.attributes[name].label, run.design.levels[name]
    for (low, high), cells in along(run.design, name).items():
        first, second = (side.decided(cells) for side in sides)
        yield f"{label(levels[low])} to {label(levels[high])}", _gap(run, first, second)


def _gap(run: Run, first: Float[np.ndarray, " n"], second: Float[np.ndarray, " n"]) -> Gap:
    """Both models' differences of the shares of subjects that prefer either level, of subjects that both answered."""
    known = np.isfinite(first) & np.isfinite(second)
    tables = [
        np.where(known[:, None], np.stack([decided < 0, decided > 0], axis=1).astype(np.float64), np.nan)
        for decided in (first, second)
    ]
    return gap_between_levels(tables[0], tables[1], 0, (0, 1), True, seed=run.design.seed)
