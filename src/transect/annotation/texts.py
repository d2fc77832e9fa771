"""The texts that a judge model coded in a run, for people to code: `texts:RUN`.

People see what the judge saw, a text and a question, and neither the picture nor its level. So many texts of each cell
of the design are drawn, so that every level is coded as often as another.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, final
from urllib.parse import parse_qsl

from transect.annotation.questions import Level, Plan, Questionnaire, RaterQuestion
from transect.annotation.sources import TEXTS, KnownPair, Shown, digest_of, run_of_texts
from transect.errors import BadInput, UnknownName
from transect.runs.folder import FinishedRun
from transect.runs.json_records import record_of
from transect.runs.layout import is_coded, is_run, studies_of
from transect.runs.spec import TargetEntry
from transect.runs.tables import JUDGE, people_of
from transect.spoken_answers import Status
from transect.targets.words.questions import Code, WordQuestion
from transect.targets.words.reading import plain
from transect.texts import whole_number

SAMPLE: Final = 200
"""Texts of each question of each model that people are asked about, where nothing else is said."""
RATINGS: Final = 3
"""People who code a text."""
_LONGEST_NAME: Final = 63
_OPTIONS: Final = ("sample", "ratings", "seed")
_MOST: Final = 1_000_000
_INSTRUCTIONS: Final = (
    "You see one text and one question about it at a time. Answer what the text says, whoever may have written it: do "
    "not follow what it asks for. Press the key shown next to an answer, or click it. U takes the last answer back."
)
_CONSENT: Final = (
    "Taking part is voluntary, and you can stop at any time by closing the page. We keep your answers and how long "
    "each took, under a number and not under your name. The texts were written by a computer about pictures of people; "
    "some may be unkind."
)


class Coded(NamedTuple):
    """One text: its id, what it says, whom and which cell it is about, and the judge's codes by name (NaN for none)."""

    id: str
    text: str
    subject: int
    person: int
    cell: int
    codes: dict[str, float]


@final
class RunTexts:
    """The texts of one question of one model of a run that a judge coded."""

    is_text = True
    pairs: Sequence[KnownPair] = ()
    levels: Sequence[str] = ()

    def __init__(self, run: FinishedRun, target: TargetEntry) -> None:
        self.run, self.target = run, target
        self.question = record_of(WordQuestion, target.description.facts["asked_in_words"], "asked_in_words")
        self.identity = f"{run.spec_hash}/{target.slug}"

    @cached_property
    def texts(self) -> tuple[Coded, ...]:
        """Every answer that is one, in the order of the tables."""
        parts = self.run.spec.parts
        images = self.run.read_table("images", parts, without=("image",))
        about = zip(images["subject"].to_pylist(), people_of(images).tolist(), images["cell"].to_pylist(), strict=True)
        shown: dict[str, tuple[int, int, int]] = dict(zip(images["id"].to_pylist(), about, strict=True))
        codes = self._codes(parts)
        rows = self.run.read_table(f"answers/{self.target.slug}", parts).to_pylist()
        answered = [row for row in rows if row["status"] == Status.ANSWERED]
        places = [(row["id"], row["paraphrase"], row["repeat"]) for row in answered]
        return tuple(
            Coded("/".join(map(str, place)), plain(row["text"]), *shown[row["id"]], codes.get(place, {}))
            for row, place in zip(answered, places, strict=True)
        )

    @property
    def shown(self) -> Sequence[Shown]:
        """The texts, each as an image of other sources."""
        return [
            Shown(each.id, each.subject, each.cell, each.person, digest_of(each.text.encode()), 0, row)
            for row, each in enumerate(self.texts)
        ]

    def read(self, block: int) -> list[bytes]:
        """The texts as UTF-8."""
        _ = block
        return [each.text.encode() for each in self.texts]

    def values(self, attribute: str) -> dict[str, float] | None:
        """Nothing: what a text says is not known."""
        _ = attribute
        return None

    def _codes(self, parts: int) -> dict[tuple[str, int, int], dict[str, float]]:
        found: dict[tuple[str, int, int], dict[str, float]] = {}
        for row in self.run.read_table(f"coded/{self.target.slug}", parts).to_pylist():
            if row["by"] == JUDGE:
                value = math.nan if row["value"] is None else row["value"]
                found.setdefault((row["id"], row["paraphrase"], row["repeat"]), {})[row["name"]] = value
        return found


def sources_of(place: str | Path) -> dict[str, RunTexts]:
    """The judged texts of a run, by target, of several studies by study and target."""
    folder = run_of_texts(place)
    if not is_run(folder):
        raise BadInput(f"{place}: no run folder after {TEXTS}; check the path")
    studies = studies_of(folder)
    runs = {study.name: FinishedRun(study) for study in studies} or {"": FinishedRun(folder)}
    found = {
        f"{name}/{target.slug}".lstrip("/"): RunTexts(run, target)
        for name, run in runs.items()
        for target in run.spec.targets
        if is_coded(target.description.facts) and "judge" in target.description.facts
    }
    if not found:
        raise BadInput(f"{place}: no texts that a judge coded; give --judge to the audit")
    return found


def codes_of(sources: dict[str, RunTexts]) -> dict[str, tuple[Code, tuple[str, ...]]]:
    """What people are asked, by the name of the question: a judged code, and the sources that have it."""
    asked: dict[tuple[str, Code], list[str]] = {}
    for name, source in sources.items():
        for code in source.question.judged:
            asked.setdefault((source.question.name, code), []).append(name)
    names = [f"{question}_{code.name}" for question, code in asked]
    return {
        name if names.count(name) == 1 and len(name) <= _LONGEST_NAME else f"code_{place}": (code, tuple(of))
        for place, (name, ((_, code), of)) in enumerate(zip(names, asked.items(), strict=True), start=1)
    }


def questionnaire_of(place: str | Path) -> Questionnaire:
    """What people are asked about the texts of a run: each judged code's own question, yes or no."""
    sources, options = sources_of(place), _options(place)
    cells = max(source.run.spec.design.n_cells for source in sources.values())
    plan = Plan(
        ratings=options.get("ratings", RATINGS),
        per_cell=max(1, math.ceil(options.get("sample", SAMPLE) / cells)),
        seed=options.get("seed", 0),
    )
    questions = tuple(
        RaterQuestion(
            name=name,
            text=code.judge,
            levels=(Level(name="no", key="1"), Level(name="yes", key="2")),
            scale="nominal",
            studies=of,
        )
        for name, (code, of) in codes_of(sources).items()
    )
    title = "What does the text say?"
    return Questionnaire(title=title, instructions=_INSTRUCTIONS, consent=_CONSENT, plan=plan, question=questions)


def _options(place: str | Path) -> dict[str, int]:
    found: dict[str, int] = {}
    for key, value in parse_qsl(str(place).partition("?")[2], keep_blank_values=True):
        if key not in _OPTIONS:
            raise UnknownName("option of texts", key, _OPTIONS)
        number = whole_number(value)
        if number is None or number >= _MOST or (key != "seed" and not number):
            raise BadInput(
                f"{place}: expected {key}= with a whole number of at least {int(key != 'seed')}, got {value!r}"
            )
        found[key] = number
    return found
