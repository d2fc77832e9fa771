"""`judge_agreement.json` of a run: how far a judge model's codes of texts agree with people's."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from transect.runs.folder import canonical_json, write_json
from transect.runs.json_records import record_in
from transect.runs.plain_json import plain

FILE: Final = "judge_agreement.json"


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
    no. kappa: Cohen's. excess: the judge's rate of yes minus people's.
    """

    texts: int
    yes: int
    sensitivity: Figure
    specificity: Figure
    kappa: Figure
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


def digest_of(judge: Mapping[str, Any]) -> str:
    """SHA-256 of a judge's description."""
    return hashlib.sha256(canonical_json(judge).encode()).hexdigest()


def store(folder: Path, found: JudgeAgreement) -> Path:
    """Write the file into a run's folder; returns its path."""
    write_json(folder / FILE, plain(found), indent=1)
    return folder / FILE


def read(folder: Path) -> JudgeAgreement | None:
    """What a run's folder holds; None without a file. Raises BadInput for a broken one."""
    path = folder / FILE
    return record_in(path, JudgeAgreement) if path.is_file() else None
