"""What a model said in words: about images as arrays (image, paraphrase, repeat), and about two images at once, as
preferences and effects.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, final

import numpy as np
from jaxtyping import Float, Int

from transect.analysis.finished_run import Run
from transect.designs.pairs import Pair, along, cell_pairs, clusters, digest, level_numbers
from transect.effects import preferences, resampling
from transect.effects.analysis import CONFIDENCE
from transect.effects.preferences import PREFERRED, Abilities, Preference
from transect.errors import BadInput
from transect.records import Effect
from transect.runs import human_answers as kept
from transect.runs.folder import spec_hash
from transect.runs.human_answers import CodeAgreement
from transect.runs.layout import pairs_table
from transect.runs.spec import PairsEntry
from transect.runs.tables import pairs_of, said_by_pair
from transect.spoken_answers import Said, Status
from transect.targets.words.asked import asked_of, swapped
from transect.targets.words.questions import Kind, WordQuestion


@final
@dataclass(frozen=True, slots=True)
class Coding:
    """What codes a question's texts beside rules: the judge's name ("" for none), and the names of functions.

    agreement: what people's codes say of this judge, by code; () where they were not asked.
    """

    judge: str = ""
    scorers: tuple[str, ...] = ()
    agreement: tuple[CodeAgreement, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class Asked:
    """A question and all that was said to it. said: of each image, () of one that rules leave out."""

    question: WordQuestion
    said: tuple[tuple[Said, ...], ...]
    coding: Coding = Coding()

    def grid(self, number: Callable[[Said], float]) -> Float[np.ndarray, "n wordings repeats"]:
        """A number of each answer; NaN where there is no such answer."""
        shape = (len(self.said), len(self.question.paraphrases), self.question.repeats)
        numbers = np.full(shape, np.nan)
        for row, of_image in enumerate(self.said):
            for one in of_image:
                numbers[row, one.paraphrase, one.repeat] = number(one)
        return numbers

    def values(self) -> Float[np.ndarray, "n wordings repeats"]:
        """Yes or no as 1 or 0, the number of the option, or the number; NaN without an answer."""
        return self.grid(lambda one: one.value if one.status is Status.ANSWERED else math.nan)

    def places(self) -> Float[np.ndarray, "n wordings repeats"]:
        """At which place the chosen option stood; NaN without a choice."""
        return self.grid(lambda one: math.nan if one.place is None else float(one.place))

    def became(self, status: Status) -> Float[np.ndarray, "n wordings repeats"]:
        """1 where an answer has this status, 0 where it has another; NaN where the call failed or there was none."""
        return self.grid(lambda one: math.nan if one.status is Status.FAILED else float(one.status is status))

    def likelihoods(self) -> Float[np.ndarray, "n options"]:
        """The mean probability of each option, over an image's wordings; NaN where it was not scored."""
        options = len(self.question.options)
        means = np.full((len(self.said), options), np.nan)
        for row, of_image in enumerate(self.said):
            scored = [one.likelihood for one in of_image if len(one.likelihood) == options]
            if scored and len(scored) == len(of_image):
                means[row] = np.mean(scored, axis=0)
        return means

    @property
    def is_choice(self) -> bool:
        """Whether one of several options is chosen."""
        return self.question.kind is Kind.CHOICE


def coding_of(facts: Mapping[str, Any], folder: Path, target: str) -> Coding:
    """What codes the texts of a target, by its description; folder: of the run, which may hold people's codes."""
    judge, scorers = facts.get("judge"), tuple(str(each["name"]) for each in facts.get("scorers") or ())
    if judge is None:
        return Coding(scorers=scorers)
    found, digest = kept.read_agreement(folder), spec_hash(judge)
    codes = () if found is None else found.codes
    checked = tuple(each for each in codes if each.target == target and each.judge_sha256 == digest)
    return Coding(str(judge["name"]), scorers, checked)


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
        return preferences.preference(*self._orders(cells), seed=seed)

    def decided(self, cells: Sequence[Pair]) -> Float[np.ndarray, " n"]:
        """Whom each person's answers prefer, as `decisions` has it; NaN without answers in both orders."""
        return preferences.decisions(*self._orders(cells))

    def abilities(self, places: dict[Pair, Pair], levels: int) -> Abilities:
        """Abilities of levels. places: of a pair of cells, the numbers of its two levels."""
        rows = [(pair, one) for pair in self.pairs if pair.cells in places for one in pair.said]
        first = [places[pair.cells][int(swapped(one.order))] for pair, one in rows]
        second = [places[pair.cells][1 - int(swapped(one.order))] for pair, one in rows]
        chosen = [1 - chosen_of(one) if swapped(one.order) else chosen_of(one) for _, one in rows]
        return preferences.level_abilities(
            first, second, chosen, np.array([pair.person for pair, _ in rows]), levels=levels
        )

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
    facts: Mapping[str, object],
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
    return BadInput(f"{run.folder.path}: pairs of {entry.name} do not belong to these images; rerun the audit")


INCOMPLETE: Final = "no answer in both orders"
"""Why a subject's images are left out."""


def preferred(
    run: Run, entry: PairsEntry, confidence: float = CONFIDENCE
) -> tuple[tuple[Effect, ...], tuple[Float[np.ndarray, " n"], ...]]:
    """An effect for every two levels of each attribute, and each person's preference behind it.

    An effect is the share of subjects that prefer the image at the second level, in both orders, less the share that
    prefer the one at the first: 0 without a preference, from -1 to 1. A choice that follows the place counts for
    neither. p is the exact sign test of the subjects that prefer either. Raises BadInput for unfinished tables.
    """
    return preferred_of(run, read(run, entry), confidence)


def preferred_of(
    run: Run, asked: AskedPairs, confidence: float = CONFIDENCE
) -> tuple[tuple[Effect, ...], tuple[Float[np.ndarray, " n"], ...]]:
    """As `preferred`, of answers that were read already."""
    effects, behind = [], []
    for name in run.design.levels:
        for levels, cells in along(run.design, name).items():
            decided = asked.decided(cells)
            effects.append(_effect(run, asked.name, name, levels, 2 * len(cells), decided, confidence))
            behind.append(decided)
    return tuple(effects), tuple(behind)


def named(run: Run, target: str) -> PairsEntry | None:
    """The question about two images of that name; None where the run asked no such one."""
    return next((entry for entry in run.spec.pairs if entry.name == target), None)


def _effect(
    run: Run, target: str, name: str, levels: Pair, images: int, decided: Float[np.ndarray, " n"], confidence: float
) -> Effect:
    """images: of each subject. decided: whom each of them prefers."""
    found = preferences.net_preference(decided, confidence=confidence)
    left_out = len(decided) - found.subjects
    ends, label = [run.design.levels[name][level] for level in levels], run.attributes[name].label
    sources = [resampling.SOURCES[resampling.MID_P_INTERVAL]] if found.subjects else []
    sources += [resampling.SOURCES[found.test]] if found.subjects and found.test in resampling.SOURCES else []
    return Effect(
        name=f"{name}: {label(ends[0])} to {label(ends[1])}",
        attribute=name,
        target=target,
        outcome=PREFERRED,
        estimate=found.difference.estimate,
        low=found.difference.low,
        high=found.difference.high,
        p=found.p,
        unit="proportion",
        n_subjects=found.subjects,
        n_images=images * found.subjects,
        origin=ends[0],
        to=ends[1],
        excluded={INCOMPLETE: images * left_out} if left_out else {},
        reason=found.difference.reason,
        interval_method=resampling.MID_P_INTERVAL if found.subjects else "",
        test_method=found.test,
        spec={
            "confidence": confidence,
            "seed": run.design.seed,
            "subjects": run.design.subjects,
            "subjects_dropped": left_out,
        },
        sources=tuple(sources),
    )
