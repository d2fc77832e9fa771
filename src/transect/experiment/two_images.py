"""Asks about two images of a subject at once, part by part, into the tables `pairs/<target>` of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, final

from transect.designs.two_at_once import Pair, cell_pairs
from transect.records import Design, Images, Quote
from transect.runs.answer_tables import pairs_table as rows_of
from transect.runs.answer_tables import said_by_pair
from transect.runs.folder import RunFolder, slug
from transect.runs.part_names import pairs_table
from transect.runs.parts import Background
from transect.runs.spec import PairsEntry, TargetDescription
from transect.said import Said
from transect.targets.limits import Limits
from transect.targets.words.paired import AskedOfTwo, TwoImages, failure_of

if TYPE_CHECKING:
    from transect.targets.guard import FailureBudget


def entry(asked: AskedOfTwo) -> PairsEntry:
    """What run.json holds of a question about two images."""
    return PairsEntry(asked.name, slug(asked.name), TargetDescription(asked.describe()))


def quotes(asked: Sequence[AskedOfTwo], designs: Sequence[Design]) -> list[Quote]:
    """The most that each question costs, over all of the designs; no model is called for it."""
    pairs = sum(design.subjects * len(cell_pairs(design)) for design in designs)
    return [each.quote(pairs) for each in asked]


@final
@dataclass(frozen=True, slots=True)
class Asking:
    """The questions about two images of one study. budgets: of their failures, for the whole run."""

    asked: tuple[AskedOfTwo, ...]
    design: Design
    limits: Limits
    folder: RunFolder
    budgets: tuple[FailureBudget, ...]

    @staticmethod
    def of(asked: tuple[AskedOfTwo, ...], design: Design, limits: Limits, folder: RunFolder) -> Asking:
        """The questions of a study."""
        from transect.targets.guard import FailureBudget

        planned = design.subjects * len(cell_pairs(design))
        budgets = tuple(FailureBudget(each.name, planned, limit_share=limits.max_failures) for each in asked)
        return Asking(asked, design, limits, folder, budgets)

    def fill(
        self, part: int, ids: Callable[[], Sequence[str]], images: Callable[[], Images], storing: Background
    ) -> None:
        """Ask about a part's images, subject by subject, what is not stored yet, and have it stored.

        ids, images: of whole subjects, cell by cell; only called where something is asked.
        """
        for asked, budget in zip(self.asked, self.budgets, strict=True):
            table = pairs_table(slug(asked.name))
            if self.folder.has_part(table, part):
                budget.add([failure_of(of_pair) for of_pair in said_by_pair(self.folder.read_part(table, part))])
                continue
            names = self._names(ids())
            said = self._ask(asked, budget, names, images())
            storing.submit(partial(self.folder.write_part, table, part, rows_of(names, said)))

    def _names(self, ids: Sequence[str]) -> list[tuple[int, int, int]]:
        """The subject and the two cells of each pair of a part."""
        subjects = [int(name.rpartition("-")[0]) for name in ids[:: self.design.n_cells]]
        return [(subject, *pair) for subject in subjects for pair in cell_pairs(self.design)]

    def _ask(
        self, asked: AskedOfTwo, budget: FailureBudget, names: Sequence[tuple[int, int, int]], images: Images
    ) -> list[tuple[Said, ...]]:
        pairs = cell_pairs(self.design)
        rows = [
            _shown(images, number // len(pairs) * self.design.n_cells, (first, second))
            for number, (_, first, second) in enumerate(names)
        ]
        said: list[tuple[Said, ...]] = []
        for start in range(0, len(rows), self.limits.batch):
            found = _guarded(asked, rows[start : start + self.limits.batch], self.limits.timeout)
            budget.add([failure_of(of_pair) for of_pair in found])
            said += found
        return said


def _shown(images: Images, start: int, pair: Pair) -> TwoImages:
    """Copies, since a model may write into what it is shown."""
    return images.pixels[start + pair[0]].copy(), images.pixels[start + pair[1]].copy()


def _guarded(asked: AskedOfTwo, pairs: Sequence[TwoImages], timeout: float) -> list[tuple[Said, ...]]:
    """What was said; a call that raises or takes too long is repeated pair by pair, and a pair may fail alone."""
    from transect.targets.guard import attempt, short

    seconds = max(timeout * asked.asks, asked.patience) * len(pairs)
    found, reason = attempt(lambda: asked.ask(pairs), seconds)
    if found is not None:
        return list(found)
    if len(pairs) == 1:
        return [asked.failed(short(reason))]
    return [one for pair in pairs for one in _guarded(asked, [pair], timeout)]
