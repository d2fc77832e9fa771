"""How far a run's judge agrees with people: from their codes of its texts to `judge_agreement.json`."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int

from transect.annotation.agreement.judge_errors import Codes, agreement, corrected_effects, figure_of, majority
from transect.annotation.agreement.numbers import NO_PEOPLE, simulated_count
from transect.annotation.project import Matrix, Project, Row, matrix, rows
from transect.annotation.sources import run_of_texts
from transect.annotation.texts import RunTexts, codes_of
from transect.errors import BadInput
from transect.runs import human_answers as kept
from transect.runs.folder import spec_hash
from transect.runs.human_answers import CodeAgreement, CorrectedEffect, Figure, JudgeAgreement, LevelAgreement
from transect.runs.layout import studies_of
from transect.runs.wording import counted, spaced
from transect.targets.words.questions import Code


def measure(project: Project, place: Path) -> dict[str, JudgeAgreement]:
    """The agreement of each study's judge with people ("" of a run with one study), written into its folder."""
    sources = {name: source for name, source in project.pictures.sources.items() if isinstance(source, RunTexts)}
    if not sources:
        raise BadInput(f"{place}: expected the texts of a run, got images; give texts:RUN")
    answers = rows(project.database)
    found: dict[str, list[CodeAgreement]] = {}
    for question, (code, of) in codes_of(sources).items():
        table = matrix(answers, question)
        mine = [row for row in answers if row.question == question]
        for name in of:
            if any(unit[0] == name for unit in table.units):
                study = name.rpartition("/")[0]
                found.setdefault(study, []).append(_code(sources[name], name, code, table, mine))
    if not found:
        raise BadInput(f"{place}: no texts that people coded; invite raters first")
    folder = run_of_texts(place)
    studies = {study.name: study for study in studies_of(folder)} or {"": folder}
    agreements = {study: JudgeAgreement(tuple(codes)) for study, codes in found.items()}
    for study, each in agreements.items():
        kept.write_agreement(studies[study], each)
    return agreements


def lines(agreements: Mapping[str, JudgeAgreement]) -> list[str]:
    """The result in words, a line for each code, and one for each level and each effect."""
    return [line for each in agreements.values() for code in each.codes for line in _lines(code)]


def _code(source: RunTexts, name: str, code: Code, table: Matrix, answers: Sequence[Row]) -> CodeAgreement:
    units = {first: place for place, (study, first, _) in enumerate(table.units) if study == name}
    texts = source.texts
    people = np.full(len(texts), math.nan)
    said = majority(table.ratings)
    for row, text in enumerate(texts):
        if text.id in units:
            people[row] = said[units[text.id]]
    judge = np.array([text.codes.get(code.name, math.nan) for text in texts])
    codes = Codes(judge, people, np.array([text.person for text in texts]))
    ratings = table.ratings[list(units.values())]
    facts = source.target.description.facts["judge"]
    return CodeAgreement(
        target=source.target.name,
        code=code.name,
        question=code.judge,
        judge=str(facts["name"]),
        judge_sha256=spec_hash(facts),
        raters=int(np.isfinite(ratings).any(axis=0).sum()),
        answers=int(np.isfinite(ratings).sum()),
        undecided=int((np.isnan(majority(ratings)) & np.isfinite(ratings).any(axis=1)).sum()),
        unjudged=int((np.isfinite(people) & np.isnan(judge)).sum()),
        simulated=simulated_count(row.rater for row in answers if row.study == name and not row.excluded),
        figures=agreement(codes),
        levels=tuple(_levels(source, codes)),
        effects=tuple(_effects(source, codes)),
    )


def _each_level(source: RunTexts) -> Iterator[tuple[str, list[str], Int[np.ndarray, " n"]]]:
    """Each attribute that was set, its levels in words, and the level of each text."""
    spec = source.run.spec
    attributes = {attribute.name: attribute for attribute in spec.attributes}
    cells = spec.design.cells()
    for name, values in spec.design.levels.items():
        of_cell = [list(values).index(cell[name]) for cell in cells]
        levels = np.array([of_cell[text.cell] for text in source.texts], dtype=np.int64)
        yield name, [attributes[name].label(value) for value in values], levels


def _levels(source: RunTexts, codes: Codes) -> Iterator[LevelAgreement]:
    for name, labels, levels in _each_level(source):
        for place, label in enumerate(labels):
            yield LevelAgreement(name, label, agreement(codes.take(levels == place)))


def _effects(source: RunTexts, codes: Codes) -> Iterator[CorrectedEffect]:
    for name, labels, levels in _each_level(source):
        for label, (judged, found) in zip(labels[1:], corrected_effects(codes, levels, len(labels)), strict=True):
            own = judged if math.isfinite(judged) else None
            yield CorrectedEffect(name, labels[0], label, own, figure_of(found))


def _lines(code: CodeAgreement) -> Iterator[str]:
    figures = code.figures
    people = f"{counted(code.raters, 'rater')}, {counted(figures.texts, 'text')}"
    yield (
        f"{code.target}, code {code.code}: judge {code.judge} against {people}: sensitivity "
        f"{shown(figures.sensitivity)}, specificity {shown(figures.specificity)}; "
        f"{code.undecided} undecided, {code.unjudged} not judged"
    )
    if code.simulated:
        yield f"  {counted(code.simulated, 'answer')} of simulated raters, {NO_PEOPLE}"
    for level in code.levels:
        each = level.figures
        yield (
            f"  {spaced(level.attribute)} {level.level}: sensitivity {shown(each.sensitivity)}, specificity "
            f"{shown(each.specificity)}, judge's rate minus people's {shown(each.excess)}"
        )
    for effect in code.effects:
        own = "–" if effect.judged is None else f"{effect.judged:+z.3f}"
        yield (
            f"  {spaced(effect.attribute)}, {effect.first} to {effect.level}: {own} by the judge, corrected "
            f"{shown(effect.corrected)}"
        )


def shown(figure: Figure) -> str:
    """A figure with its interval, or why there is none.

    >>> shown(Figure(0.9, 0.8, 0.95)), shown(Figure(None, None, None, "no text"))
    ('0.900 (0.800 to 0.950)', '– (no text)')
    """
    if figure.estimate is None:
        return f"– ({figure.reason})"
    if figure.low is None or figure.high is None:
        return f"{figure.estimate:z.3f} ({figure.reason})"
    return f"{figure.estimate:z.3f} ({figure.low:z.3f} to {figure.high:z.3f})"
