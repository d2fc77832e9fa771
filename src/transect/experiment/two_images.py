"""Asks about two images at once, of one subject or of two matched ones, into the tables `pairs/<target>` of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

import numpy as np

from transect.designs.pairs import MatchedPairs, cell_pairs
from transect.protocols import World
from transect.records import Design, Images
from transect.runs.folder import RunFolder, slug
from transect.runs.layout import pairs_table
from transect.runs.parts import Background
from transect.runs.spec import PairsEntry, TargetDescription
from transect.runs.tables import pairs_table as rows_of
from transect.runs.tables import said_by_pair
from transect.spoken_answers import Said
from transect.targets.guard import Limits
from transect.targets.words.asked import PairwiseQuestion, TwoImages, pair_failure_of

if TYPE_CHECKING:
    from transect.targets.guard import FailureBudget

Named = tuple[int, int, int]
"""A subject and two of its cells; or the number of a matched pair and its two images."""


def entry(asked: PairwiseQuestion, matched: MatchedPairs | None = None) -> PairsEntry:
    """What run.json holds of a question about two images, and of the pairs where they are of two subjects."""
    facts = asked.describe()
    if matched is not None:
        of_pairs = {"attribute": matched.attribute, "from": matched.name, "pairs": len(matched)}
        facts = {**facts, "matched": {**of_pairs, "sha256": matched.sha256}}
    return PairsEntry(asked.name, slug(asked.name), TargetDescription(facts))


def count(design: Design, matched: MatchedPairs | None) -> int:
    """How many pairs a study shows.

    >>> count(Design({"hat": (0.0, 1.0)}, subjects=9), None)
    9
    """
    return design.subjects * len(cell_pairs(design)) if matched is None else len(matched)


@final
@dataclass(frozen=True, slots=True)
class Asking:
    """The questions about two images of one study; matched: pairs of two subjects, else those of each subject."""

    asked: tuple[PairwiseQuestion, ...]
    world: World
    design: Design
    matched: MatchedPairs | None
    limits: Limits
    folder: RunFolder
    budgets: tuple[FailureBudget, ...]

    @staticmethod
    def of(
        asked: tuple[PairwiseQuestion, ...],
        world: World,
        design: Design,
        matched: MatchedPairs | None,
        limits: Limits,
        folder: RunFolder,
    ) -> Asking:
        """The questions of a study."""
        from transect.targets.guard import FailureBudget

        planned = count(design, matched)
        share = limits.max_failures
        budgets = tuple(FailureBudget(each.name, planned, limit_share=share, in_words=True) for each in asked)
        return Asking(asked, world, design, matched, limits, folder, budgets)

    def fill(
        self,
        part: int,
        subjects: range,
        ids: Callable[[], Sequence[str]],
        images: Callable[[], Images],
        storing: Background,
    ) -> None:
        """Ask and store what a part's pairs lack; a matched pair is in its first's part. ids, images: called late."""
        for asked, budget in zip(self.asked, self.budgets, strict=True):
            table = pairs_table(slug(asked.name))
            if self.folder.has_part(table, part):
                budget.add([pair_failure_of(of_pair) for of_pair in said_by_pair(self.folder.read_part(table, part))])
                continue
            if self.matched is None:
                whole = [int(name.rpartition("-")[0]) for name in ids()[:: self.design.n_cells]]
                names = [(subject, *pair) for subject in whole for pair in cell_pairs(self.design)]
                shown = self._of_subjects(images())
            else:
                names, shown = self.matched.of_images(subjects), self._of_two
            said = self._ask(asked, budget, names, shown)
            storing.submit(partial(self.folder.write_part, table, part, rows_of(names, said)))

    def _of_subjects(self, images: Images) -> Callable[[int, Named], TwoImages]:
        """The images of the part's pairs, by their place."""
        each = len(cell_pairs(self.design))

        def shown(place: int, named: Named) -> TwoImages:
            start = place // each * self.design.n_cells
            return images.pixels[start + named[1]].copy(), images.pixels[start + named[2]].copy()

        return shown

    def _of_two(self, _: int, named: Named) -> TwoImages:
        """The images of two subjects, wherever their parts are."""
        seeds = np.array([self.design.subject_seeds(image, image + 1)[0] for image in named[1:]])
        first, second = self.world.render(self.world.sample(seeds)).pixels.copy()
        return first, second

    def _ask(
        self,
        asked: PairwiseQuestion,
        budget: FailureBudget,
        names: Sequence[Named],
        shown: Callable[[int, Named], TwoImages],
    ) -> list[tuple[Said, ...]]:
        """What is said about each pair. Copies are shown, since a model may write into them."""
        said: list[tuple[Said, ...]] = []
        for start in range(0, len(names), self.limits.batch):
            rows = [shown(start + place, name) for place, name in enumerate(names[start : start + self.limits.batch])]
            found = _guarded(asked, rows, self.limits.timeout)
            budget.add([pair_failure_of(of_pair) for of_pair in found])
            said += found
        return said


def _guarded(asked: PairwiseQuestion, pairs: Sequence[TwoImages], timeout: float) -> list[tuple[Said, ...]]:
    """What was said; a call that raises or takes too long is repeated pair by pair, and a pair may fail alone."""
    from transect.targets.guard import attempt, short

    seconds = max(timeout * asked.asks, asked.patience) * len(pairs)
    found, reason = attempt(lambda: asked.ask(pairs), seconds)
    if found is not None:
        return list(found)
    if len(pairs) == 1:
        return [asked.failed(short(reason))]
    return [one for pair in pairs for one in _guarded(asked, [pair], timeout)]
