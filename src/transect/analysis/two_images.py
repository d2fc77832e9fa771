"""What a model said about two images at once, of one subject or of two matched ones, as the estimators of preferences
take it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.finished_run import Run
from transect.designs.matched_pairs import clusters, digest, level_numbers
from transect.designs.two_at_once import Pair, cell_pairs
from transect.effects.bradley_terry import Abilities, level_abilities
from transect.effects.preferences import Preference, decisions, preference
from transect.errors import BadInput
from transect.runs.answer_tables import pairs_of, said_by_pair
from transect.runs.part_names import pairs_table
from transect.runs.spec import PairsEntry
from transect.said import Said, Status
from transect.targets.words.asked import asked_of
from transect.targets.words.paired import swapped
from transect.targets.words.questions import WordQuestion

_CHOSEN: dict[float, float] = {0.0: 0.0, 1.0: 1.0, 2.0: 0.5}
"""By the value of an answer, how far the second image was chosen: neither is a tie."""


class AskedPair(NamedTuple):
    """Two cells of a subject, who is on its images, and what was said about them.

    said is () where a rule excludes one of the images.

    Of two matched subjects: the number of their pair, the people whom further pairs join to them, and two levels.
    """

    subject: int
    person: int
    cells: Pair
    said: tuple[Said, ...]


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """Pairs of two subjects. attribute: in which they differ; levels: its names; images: rows of each pair's images.

    source: the name of the file of pairs. people: a number for each pair, the same where pairs share a person. alone:
    pairs whose images show one person.
    """

    attribute: str
    levels: tuple[str, ...]
    images: Int[np.ndarray, "m 2"]
    people: Int[np.ndarray, " m"]
    source: str
    alone: int


@final
@dataclass(frozen=True, slots=True)
class AskedPairs:
    """All that was said to one question about two images, in the order of the run. matched: None for one subject's."""

    name: str
    question: WordQuestion
    pairs: tuple[AskedPair, ...]
    matched: Matched | None = None

    def became(self, status: Status, cells: Sequence[Pair]) -> int:
        """How many answers about these cells have a status."""
        return sum(one.status is status for pair in self.pairs if pair.cells in cells for one in pair.said)

    def count(self, cells: Sequence[Pair]) -> int:
        """How many answers there are about these cells."""
        return sum(len(pair.said) for pair in self.pairs if pair.cells in cells)

    def preferred(self, cells: Sequence[Pair], *, seed: int = 0) -> Preference:
        """The preference for the second of two levels. cells: the pairs that differ in them alone, the first first."""
        return preference(*self._orders(cells), seed=seed)

    def decided(self, cells: Sequence[Pair]) -> Float[np.ndarray, " n"]:
        """Whom each person's answers prefer, as `decisions` has it; NaN without answers in both orders."""
        return decisions(*self._orders(cells))

    def abilities(self, places: dict[Pair, Pair], levels: int) -> Abilities:
        """Abilities of levels. places: of a pair of cells, the numbers of its two levels."""
        rows = [(pair, one) for pair in self.pairs if pair.cells in places for one in pair.said]
        first = [places[pair.cells][int(swapped(one.order))] for pair, one in rows]
        second = [places[pair.cells][1 - int(swapped(one.order))] for pair, one in rows]
        chosen = [1 - chosen_of(one) if swapped(one.order) else chosen_of(one) for _, one in rows]
        return level_abilities(first, second, chosen, np.array([pair.person for pair, _ in rows]), levels=levels)

    def _orders(self, cells: Sequence[Pair]) -> tuple[Float[np.ndarray, "n pairs wordings repeats"], ...]:
        """Answers while the second level stood second, and first; a person's further subjects are further pairs."""
        rows = [pair for pair in self.pairs if pair.cells in cells]
        people = {person: row for row, person in enumerate(dict.fromkeys(pair.person for pair in rows))}
        most = max(Counter(pair.person for pair in rows).values(), default=1)
        shape = (2, len(people), most, len(self.question.paraphrases), self.question.repeats)
        answers, met = np.full(shape, np.nan), Counter[int]()
        for pair in rows:
            for one in pair.said:
                place = people[pair.person], met[pair.person], one.paraphrase, one.repeat
                answers[(int(swapped(one.order)), *place)] = chosen_of(one)
            met[pair.person] += 1
        return answers[0], answers[1]


def chosen_of(one: Said) -> float:
    """1 where the second of the two cells was chosen, 0 the first, 1/2 neither; NaN without an answer."""
    return _CHOSEN[one.value] if one.status is Status.ANSWERED else float("nan")


def read(run: Run, entry: PairsEntry) -> AskedPairs:
    """What a run's table of pairs holds. Raises BadInput where it is not finished, or of other images."""
    table = run.folder.read_table(pairs_table(entry.slug), run.parts)
    known, said = pairs_of(table), said_by_pair(table)
    facts = entry.description.facts.get("matched")
    if facts is not None:
        return _of_matched(run, entry, facts, known, said)
    subjects: Int[np.ndarray, " s"] = run.images["subject"].to_numpy()[:: run.design.n_cells]
    expected = [(subject, *cells) for subject in subjects.tolist() for cells in cell_pairs(run.design)]
    if known != expected:
        raise _of_others(run, entry)
    people = dict(zip(subjects.tolist(), run.people[:: run.design.n_cells].tolist(), strict=True))
    shape = (len(subjects), run.design.n_cells)
    kept = dict(zip(subjects.tolist(), (run.seen.reasons == "").reshape(shape), strict=True))
    pairs = [
        AskedPair(subject, people[subject], (first, second), of_pair if kept[subject][[first, second]].all() else ())
        for (subject, first, second), of_pair in zip(known, said, strict=True)
    ]
    return AskedPairs(entry.name, asked_of(entry.description.facts), tuple(pairs))


def _of_matched(
    run: Run,
    entry: PairsEntry,
    facts: Mapping[str, Any],
    known: Sequence[tuple[int, int, int]],
    said: Sequence[tuple[Said, ...]],
) -> AskedPairs:
    """Pairs of two subjects: their levels stand for cells, and who shares a person counts as one."""
    images = [(first, second) for _, first, second in known]
    if digest(images) != facts["sha256"] or [number for number, *_ in known] != list(range(len(known))):
        raise _of_others(run, entry)
    attribute, rows = str(facts["attribute"]), np.array(images, dtype=np.int64).reshape(-1, 2)
    values = {image: float(run.true[attribute][image]) for image in np.unique(rows).tolist()}
    levels, cells = level_numbers(run.attributes[attribute].levels, values, images)
    people = clusters(rows[:, 0], rows[:, 1], run.people)
    kept = run.seen.reasons == ""
    pairs = [
        AskedPair(number, int(people[number]), cells[number], said[number] if kept[list(pair)].all() else ())
        for number, pair in enumerate(images)
    ]
    alone = int((run.people[rows[:, 0]] == run.people[rows[:, 1]]).sum())
    matched = Matched(attribute, levels, rows, people, str(facts["from"]), alone)
    return AskedPairs(entry.name, asked_of(entry.description.facts), tuple(pairs), matched)


def _of_others(run: Run, entry: PairsEntry) -> BadInput:
    return BadInput(f"{run.folder.path}: pairs of {entry.name} are not of these images; rerun the audit")
