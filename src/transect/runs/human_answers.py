"""What people answered about a run: the questions behind ratings, and how far a judge model's codes agree with
people's.

Questions stand by column in the metadata of a Parquet file of ratings. Files without them (written before, or by
hand, or CSV, which has no room for it) are read without: a column is about the attribute of its name, and its
answers are the scale. RUN/judge_agreement.json holds the agreement of a judge.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Final, Literal, final

import pyarrow as pa

from transect.errors import BadInput
from transect.records import Attribute
from transect.runs.folder import write_json
from transect.runs.json_records import loads, plain, record_in, record_of
from transect.texts import words_of

QUESTIONS_KEY: Final = b"transect.questions"
"""Metadata of a table of ratings: column -> question, as JSON."""
Scale = Literal["nominal", "ordinal", "interval"]


@final
@dataclass(frozen=True, slots=True)
class RatedQuestion:
    """What a column's numbers are answers to.

    attribute: what it is about, "" if nothing named. scale: whether levels have an order. levels, values: what each
    answer is called, and its number in the column. places: where each lies from 0 to 1. unsure: the number of unsure
    answers by study ("" where there is one); empty: not known.
    """

    text: str
    attribute: str
    scale: Scale
    levels: tuple[str, ...]
    values: tuple[float, ...]
    places: tuple[float, ...]
    unsure: Mapping[str, int] = field(default_factory=dict)

    def as_attribute(self, name: str) -> Attribute | None:
        """Levels in no order as an attribute of those values; None where they have an order, or other values."""
        if not self.unordered or self.values != tuple(range(len(self.levels))):
            return None
        return Attribute(name, "categorical", self.text, levels=self.levels)

    @property
    def unordered(self) -> bool:
        """Whether the numbers have no mean; that of two levels is the share of the second."""
        return self.scale == "nominal" and len(self.levels) > 2


def with_questions(table: pa.Table, questions: Mapping[str, RatedQuestion]) -> pa.Table:
    """The table with the questions added to its metadata."""
    content = json.dumps({name: asdict(question) for name, question in questions.items()}, ensure_ascii=False).encode()
    return table.replace_schema_metadata({**(table.schema.metadata or {}), QUESTIONS_KEY: content})


def questions_of(table: pa.Table) -> dict[str, RatedQuestion]:
    """The questions in a table's metadata, by column; none where there is none. Raises BadInput for other content."""
    content = (table.schema.metadata or {}).get(QUESTIONS_KEY, b"{}")
    try:
        return {str(name): _question(fields) for name, fields in loads(content).items()}
    except (ValueError, AttributeError, BadInput) as error:
        reason = words_of(error)
        raise BadInput(
            f"ratings: expected questions in {QUESTIONS_KEY.decode()}, as transect annotate export writes "
            f"them ({reason:.80}); export them again"
        ) from None


def _question(fields: object) -> RatedQuestion:
    question = record_of(RatedQuestion, fields)
    if not 1 <= len(question.levels) == len(question.values) == len(question.places):
        raise ValueError("a level without its value")
    return question


def questions_for_study(table: pa.Table, study: str) -> pa.Table:
    """The table with the questions as one study of several has them."""
    questions = questions_of(table)
    mine = {
        name: replace(question, unsure={"": question.unsure.get(study, 0)} if question.unsure else {})
        for name, question in questions.items()
    }
    return with_questions(table, mine) if questions else table


def names_by_attribute(
    columns: Collection[str], questions: Mapping[str, RatedQuestion], known: Mapping[str, Attribute]
) -> dict[str, str]:
    """Column -> the run's attribute that it is about; none where a column has that name, or its levels no order."""
    names: dict[str, str] = {}
    for name in columns:
        question = questions.get(name)
        if question is None or name in known or question.attribute not in known or question.attribute in columns:
            continue
        if question.attribute not in names.values() and (known[question.attribute].nominal or not question.unordered):
            names[name] = question.attribute
    return names


AGREEMENT_FILE: Final = "judge_agreement.json"


@final
@dataclass(frozen=True, slots=True)
class Figure:
    """An estimate and its 95 % interval; null where there is none, for the reason."""

    estimate: float | None
    low: float | None
    high: float | None
    reason: str = ""


@final
@dataclass(frozen=True, slots=True)
class Agreement:
    """A judge's codes against people's, on some texts. yes: texts to which most people say yes.

    sensitivity: of these, the share to which the judge says yes; specificity: of the others, the share to which it says
    no. excess: the judge's rate of yes minus people's.
    """

    texts: int
    yes: int
    sensitivity: Figure
    specificity: Figure
    excess: Figure


@final
@dataclass(frozen=True, slots=True)
class LevelAgreement:
    """The same on the texts about one level of an attribute."""

    attribute: str
    level: str
    figures: Agreement


@final
@dataclass(frozen=True, slots=True)
class CorrectedEffect:
    """An effect of an attribute on the rate of a code: by the judge alone, and corrected with people's codes."""

    attribute: str
    first: str
    level: str
    judged: float | None
    corrected: Figure


@final
@dataclass(frozen=True, slots=True)
class CodeAgreement:
    """One judged code of one target. judge_sha256: of the judge's description in run.json.

    raters: people who coded; answers: that they gave; undecided: texts on which they are evenly split; unjudged: texts
    that people coded and the judge did not. simulated: answers of simulated raters.
    """

    target: str
    code: str
    question: str
    judge: str
    judge_sha256: str
    raters: int
    answers: int
    undecided: int
    unjudged: int
    simulated: int
    figures: Agreement
    levels: tuple[LevelAgreement, ...] = ()
    effects: tuple[CorrectedEffect, ...] = ()


@final
@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """All judged codes of one run that people coded."""

    codes: tuple[CodeAgreement, ...]


def write_agreement(folder: Path, found: JudgeAgreement) -> Path:
    """Write the file into a run's folder; returns its path."""
    write_json(folder / AGREEMENT_FILE, plain(found), indent=1)
    return folder / AGREEMENT_FILE


def read_agreement(folder: Path) -> JudgeAgreement | None:
    """What a run's folder holds; None without a file. Raises BadInput for a broken one."""
    path = folder / AGREEMENT_FILE
    try:
        return record_in(path, JudgeAgreement) if path.is_file() else None
    except BadInput as error:  # also one of an earlier version, which had more figures
        raise BadInput(f"{error}, or run transect annotate judge again") from None
