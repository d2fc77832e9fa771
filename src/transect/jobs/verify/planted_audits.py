"""Whole audits of a model in words whose rules are known: one long run, read back and analysed as many short ones.

Subjects do not depend on each other. So one run of the subjects of all tables is made, from pictures to
the tables on disk, and cut into runs of one table each, of which effects and sections are made as a report has them.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, final

import numpy as np
from jaxtyping import Int, UInt8

from transect.jobs.verify.planted import PlantedWorld, Table
from transect.jobs.verify.planted_speaker import (
    ABILITY,
    ABOUT_ONE,
    BY_PLACE,
    HEDGED,
    LEVELS,
    NOISE,
    REFUSED,
    REJECTED,
    SALARY_BY_LEVEL,
    SECOND_PLACE,
    TRUST,
    UNREADABLE,
    YES,
    YES_BY_LEVEL,
    PlantedSpeaker,
    picture,
)
from transect.records import Attribute, Images, Latents

if TYPE_CHECKING:
    import pyarrow as pa

    from transect.analysis.finished_run import Run
    from transect.analysis.two_images import AskedPairs
    from transect.experiment.study import Study
    from transect.records import Effect, Predictions
    from transect.reports.records import Section

NAME: Final = "a model in words, audited"
TABLES: Final = 200
SUBJECTS: Final = 30
SIDE: Final = 6
_TONE: Final = Attribute("tone", "ordinal", "how dark the picture is", low=LEVELS[0], high=LEVELS[-1])


@final
class NoisyPictures:
    """A world of pictures of given noise at three levels, without a renderer. noise: of each subject, 0 to 15."""

    name = "noisy pictures"
    image_size = SIDE
    latent_dim = 1
    attributes = (_TONE,)

    def __init__(self, noise: UInt8[np.ndarray, "n h w 3"]) -> None:
        self._noise = noise

    def sample(self, seeds: Int[np.ndarray, " n"] | Sequence[int]) -> Latents:
        """Latents that hold nothing but whose they are."""
        numbers = np.asarray(seeds, dtype=np.int64)
        return Latents(numbers, np.zeros((len(numbers), 1)))

    def set(self, latents: Latents, values: Mapping[str, Any] | pa.Table, hold: Sequence[str] = ()) -> Latents:
        """The same pictures at other levels. hold: of no effect, since nothing follows from the level."""
        del hold
        names = values.keys() if isinstance(values, Mapping) else values.column_names
        columns = {name: np.asarray(values[name], dtype=np.float64) for name in names}
        settings = {name: np.broadcast_to(column, (len(latents),)) for name, column in columns.items()}
        return Latents(latents.seeds, latents.values, latents.space, {**latents.settings, **settings})

    def read(self, latents: Latents) -> pa.Table:
        """The level of each picture."""
        import pyarrow as pa

        return pa.table({"tone": np.array(latents.settings.get("tone", np.zeros(len(latents))))})

    def render(self, latents: Latents) -> Images:
        """The pictures."""
        levels = self.read(latents)["tone"].to_numpy().astype(int).tolist()
        rows = zip(latents.seeds.tolist(), levels, strict=True)
        return Images(np.stack([picture(self._noise[seed], level) for seed, level in rows]))


@final
@dataclass(frozen=True, slots=True)
class Audited:
    """What a report of one table holds: effects, and sections by target and key."""

    effects: tuple[Effect, ...]
    sections: tuple[Section, ...]

    def effect(self, question: str, outcome: str, origin: float | None, to: float | None) -> Effect:
        """The contrast of two levels; the slope with None."""
        (found,) = [
            each
            for each in self.effects
            if each.target == f"planted/{question}" and each.outcome == outcome
            and (each.kind == "contrast") == (to is not None)
            and (to is None or (each.origin, each.to) == (origin, to))
        ]  # fmt: skip
        return found

    def rows(self, key: str, question: str, title: str) -> list[dict[str, object]]:
        """The rows of a section's first table whose title begins so, by the names of its columns."""
        (section,) = [each for each in self.sections if (each.key, each.target) == (key, f"planted/{question}")]
        table = next(each for each in section.tables if each.title.startswith(title))
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def study(noise: UInt8[np.ndarray, "n h w 3"]) -> Study:
    """The planted model, asked everything about each of n subjects at three levels, and about two images at once."""
    from transect.designs import transect_design
    from transect.experiment.study import Study
    from transect.targets.limits import Limits
    from transect.targets.words.asked import ask
    from transect.targets.words.paired import AskedOfTwo
    from transect.targets.words.speakers import SharedSpeaker

    world, speaker = NoisyPictures(noise), SharedSpeaker(PlantedSpeaker())
    design = transect_design({"tone": LEVELS}, world.attributes, subjects=len(noise), population="noise")
    targets = tuple(ask(speaker, question) for question in ABOUT_ONE)
    pairs = (AskedOfTwo(speaker, TRUST, PlantedSpeaker.name),)
    return Study("audit", world, design, targets, limits=Limits(batch=256, max_failures=1.0), pairs=pairs)


def audits(noise: UInt8[np.ndarray, "tables n h w 3"]) -> list[Audited]:
    """What the reports of the tables hold; a function of the noise alone, kept for the last noise."""
    key = hashlib.sha256(repr(noise.shape).encode() + noise.tobytes()).hexdigest()
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = _made(noise)
    return _KEPT[key]


_KEPT: Final[dict[str, list[Audited]]] = {}


def _made(noise: UInt8[np.ndarray, "tables n h w 3"]) -> list[Audited]:
    from transect.analysis import finished_run, two_images
    from transect.experiment import study as studies

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "run"
        studies.run(study(noise.reshape(-1, *noise.shape[2:])), place, quiet=True)
        run = finished_run.read(place)
        said = [run.predictions(target) for target in run.spec.targets]
        pairs = [two_images.read(run, entry) for entry in run.spec.pairs]
        return [_audited(run, said, pairs, number, noise.shape[1]) for number in range(len(noise))]


def _audited(
    whole: Run, said: Sequence[Predictions], pairs: Sequence[AskedPairs], number: int, subjects: int
) -> Audited:
    """One table of a run. The estimates and sections are made as `findings.analyse` and the report make them."""
    from transect.analysis.findings import answers_of, estimate
    from transect.analysis.preferred import preferred_of
    from transect.analysis.sections.in_words import options, places, prompts, refusals
    from transect.analysis.sections.in_words.two_images import section_of
    from transect.analysis.target_outcomes import TargetOutcomes

    cells = whole.design.n_cells
    rows = slice(number * subjects * cells, (number + 1) * subjects * cells)
    run = _rows_of(whole, rows, subjects)
    effects: list[Effect] = []
    sections: list[Section] = []
    for target, predictions in zip(run.spec.targets, said, strict=True):
        outcomes = TargetOutcomes(run, target, _answers_of(predictions, rows))
        for name in run.outcomes(target):
            effects += estimate(run, target.name, outcomes.outcome(name)).effects
        answers = answers_of(run, target, outcomes)
        if answers.asked is not None:
            built = [part.section(answers, answers.asked) for part in (refusals, options, prompts, places)]
            sections += [each for each in built if each is not None]
    for asked in pairs:
        each = len(asked.pairs) // (len(whole.images) // cells)
        of_table = asked.pairs[number * subjects * each : (number + 1) * subjects * each]
        asked_here = replace(asked, pairs=of_table)
        effects += preferred_of(run, asked_here)[0]
        sections.append(section_of(run, asked_here))
    return Audited(tuple(effects), tuple(sections))


def _rows_of(run: Run, rows: slice, subjects: int) -> Run:
    return replace(
        run,
        design=replace(run.design, subjects=subjects),
        images=run.images.slice(rows.start, rows.stop - rows.start),
        true={name: column[rows] for name, column in run.true.items()},
        seen=replace(run.seen, reasons=run.seen.reasons[rows]),
    )


def _answers_of(predictions: Predictions, rows: slice) -> Predictions:
    said = None if predictions.said is None else predictions.said[rows]
    return replace(predictions, scores=predictions.scores[rows], failures=predictions.failures[rows], said=said)


def _draw(rng: np.random.Generator, on: float) -> Table:
    """The noise of 30 subjects; the first row, which is the model, is that of all of them."""
    del on
    noise = rng.integers(0, NOISE, (SUBJECTS, SIDE, SIDE, 3), dtype=np.uint8)
    noise[:, 0] = noise[0, 0]
    return {"noise": noise}


_SECOND, _FIRST = (float(1 / (1 + np.exp(-(2 * ABILITY + place)))) for place in (SECOND_PLACE, -SECOND_PLACE))
"""How often level 2 is chosen over level 0 where it stands in the second place, and in the first."""
_BOTH, _NEITHER = _SECOND * _FIRST, (1 - _SECOND) * (1 - _FIRST)
"""Shares of subjects that prefer level 2 in both orders, and level 0."""


def heard(level: int) -> float:
    """Share of texts about a picture of this level that are answered."""
    return 1 - REFUSED[level] - HEDGED - UNREADABLE


_YES: Final = (YES, YES + 2 * YES_BY_LEVEL)
TRUTHS: Final = {
    "share": 2 * YES_BY_LEVEL,
    "refusal": REFUSED[2] - REFUSED[0],
    "hedge": 0.0,
    "option": (1 - BY_PLACE) * (REJECTED[2] - REJECTED[0]),
    "place": BY_PLACE,
    "number": 2 * SALARY_BY_LEVEL,
    "slope": SALARY_BY_LEVEL,
    "preferred": _BOTH - _NEITHER,
    "preference": _BOTH / (_BOTH + _NEITHER),
    "log odds": 2 * ABILITY,
    "second place": _SECOND - _FIRST,
    "smallest": heard(2) * _YES[1] - heard(0) * _YES[0] - (1 - heard(0)),
    "largest": heard(2) * _YES[1] + (1 - heard(2)) - heard(0) * _YES[0],
}
AUDITED: Final = (
    PlantedWorld(
        NAME,
        f"a model with known rules answers as text about {SUBJECTS} subjects at three levels, is audited from pictures "
        f"to report, and what the report holds of the third level against the first is compared with its rules "
        f"({TABLES} tables)",
        _draw,
        TRUTHS,
        TRUTHS,
        tested=False,
        most=TABLES,
    ),
)
