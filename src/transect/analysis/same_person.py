"""How often raters take two images for the same person (Singh et al. 2021): from answers and pairs to shares."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, final

import numpy as np

from transect.annotation.agreement.numbers import notice, simulated_count
from transect.annotation.exchange.answer_tables import read_answers
from transect.effects import identity_pairs
from transect.errors import BadInput, UnknownName
from transect.reports.columns import Column
from transect.runs import table_inputs
from transect.runs.table_inputs import TableLike, as_table
from transect.runs.wording import counted

Unanswered = Literal["left out", "same"]
_NEEDED: Final = ("id", "second", "answer", "level")


@final
@dataclass(frozen=True, slots=True)
class SamePersonNumbers:
    """Shares of "same" by kind, familiarity and group, and distances; agreement: also without one-photograph pairs."""

    rows: tuple[identity_pairs.SameRow, ...]
    distance: identity_pairs.Distances
    answers: int
    simulated: int
    agreement: tuple[identity_pairs.PairAgreement, ...]


def same_person_numbers(
    answers_source: TableLike, pairs_source: TableLike, unanswered: Unanswered = "left out", question: str | None = None
) -> SamePersonNumbers:
    """Shares of "same" by kind of pair, familiarity and group, and face distances.

    answers_source: as `transect annotate export` writes them, to a question about pairs whose first level is "same".
    pairs_source: columns first, second, kind and optionally study, group and distance. Both are files, Arrow
    tables, data frames or columns by name. unanswered: whether no answer is left out or counts as same. question: which
    one, where the answers are to several. Pairs are matched by study too where both files have it.

    Raises BadInput for files that cannot be read, pairs with two kinds, answers about pairs that are not listed, or
    answers to several questions; UnknownName for a question without an answer.
    """
    listed, pairs = _listed(pairs_source)
    every_row, answers = _rows(answers_source)
    rows = _of_question(every_row, question, answers)
    studies = {str(row["study"]) for row in rows if row.get("study")}
    if len(studies) > 1 and not any(pair.study for pair in listed):
        names = ", ".join(sorted(studies))
        raise BadInput(f"{pairs}: expected a column study, since {answers} covers {names}; add it")
    if not studies:
        listed = [pair._replace(study="") for pair in listed]
    by_study = any(pair.study for pair in listed)
    known = _once(listed, pairs)
    keys = [(str(row["study"] or "") if by_study else "", row["id"], row["second"]) for row in rows]
    unknown = [key for key in keys if key not in known]
    if unknown or not rows:
        first = ", ".join(filter(None, unknown[0])) if unknown else "no answer"
        raise BadInput(f"{answers}: expected answers about the pairs of {pairs}, got {first}; add that pair")
    place = {key: number for number, key in enumerate(known)}
    pair = np.array([place[key] for key in keys], dtype=np.int64)
    level = np.array([np.nan if row["level"] is None else row["level"] for row in rows])
    same = np.where(np.isfinite(level), level == 0, np.nan)
    about = [known[key] for key in keys]
    groups = {"familiarity": [row.get("follow_up") or "" for row in rows], "group": [entry.group for entry in about]}
    shares = identity_pairs.same_shares([entry.kind for entry in about], same, groups, pair, unanswered=unanswered)
    distance = np.array([entry.distance for entry in known.values()])
    simulated = simulated_count(row.get("rater") for row in rows)
    agreed = identity_pairs.pair_agreement(same, pair, [entry.kind for entry in about], unanswered=unanswered)
    return SamePersonNumbers(
        tuple(shares), identity_pairs.against_distance(same, pair, distance), len(rows), simulated, agreed
    )


class _Pair(NamedTuple):
    """A listed pair. line: of the file; distance: NaN where it is not known."""

    line: int
    study: str
    first: str
    second: str
    kind: str
    group: str
    distance: float


def _listed(source: TableLike) -> tuple[list[_Pair], str]:
    """The pairs, and what messages call their table."""
    if isinstance(source, str | Path):
        rows, path = table_inputs.records_of(Path(source), str(source)), str(source)
    else:
        table, path = as_table(source, "pairs").to_pylist(), "pairs"
        texts = [{name: "" if value is None else str(value) for name, value in row.items()} for row in table]
        rows = list(enumerate(texts, start=2))  # as in a CSV, whose first row has line 2
    if not rows or not {"first", "second", "kind"} <= rows[0][1].keys():
        columns = ", ".join(rows[0][1]) if rows else "no row"
        raise BadInput(f"{path}: expected columns first, second and kind, got {columns}")
    return [_pair(row, line, path) for line, row in rows], path


def _pair(row: Mapping[str, str | None], line: int, path: str) -> _Pair:
    text = {name: (row.get(name) or "").strip() for name in ("study", "first", "second", "kind", "group", "distance")}
    if not text["kind"]:
        raise BadInput(f"{path}, line {line}: kind: expected one, such as real or fake, got none")
    try:
        distance = float(text["distance"] or "nan")
    except ValueError:
        distance = np.inf
    if np.isinf(distance):
        entry = text["distance"]
        raise BadInput(f"{path}, line {line}: distance: expected a number or nothing, got {entry!r:.40}")
    return _Pair(line, text["study"], text["first"], text["second"], text["kind"], text["group"], distance)


def _once(listed: Sequence[_Pair], path: str) -> dict[tuple[str, str, str], _Pair]:
    """Each pair by study and images. Raises BadInput where one is listed with two kinds, groups or distances."""
    pairs: dict[tuple[str, str, str], _Pair] = {}
    for pair in listed:
        before = pairs.setdefault((pair.study, pair.first, pair.second), pair)
        if before[4:6] != pair[4:6] or not np.array_equal(before.distance, pair.distance, equal_nan=True):
            raise BadInput(
                f"{path}, line {pair.line}: expected {pair.first}, {pair.second} once, or with the same kind, "
                f"group and distance as in line {before.line}"
            )
    return pairs


def _of_question(rows: list[dict[str, object]], question: str | None, path: str) -> list[dict[str, Any]]:
    """The answers to one question; all where the table does not state the question."""
    questions = sorted({str(row["question"]) for row in rows if row.get("question")})
    if question is None and len(questions) > 1:
        names = ", ".join(questions)
        raise BadInput(f"{path}: expected answers to one question, got {names}; choose one with --question")
    if question is not None and questions and question not in questions:
        raise UnknownName("question", question, questions)
    return [row for row in rows if question is None or row.get("question") in (None, question)]


def _rows(source: TableLike) -> tuple[list[dict[str, Any]], str]:
    """Answers about pairs that count (no repeats, no excluded raters), and what messages call their table."""
    rows, path = read_answers(source, _NEEDED, ("value", "known", "seconds", "given", "place"))
    counted = [
        {**row, "id": str(row["id"]), "second": str(row["second"])}
        for row in rows
        if row["second"] and not row.get("repeat") and not row.get("excluded")
    ]
    return counted, path


def lines(numbers: SamePersonNumbers) -> list[str]:
    """The result in words: a line per row, and those on agreement, simulated raters and face distances."""
    return [*map(_line, numbers.rows), *notes(numbers)]


def notes(numbers: SamePersonNumbers) -> list[str]:
    """The lines on agreement, simulated raters and face distances."""
    said = [*map(_agreed, numbers.agreement)]
    said += [notice(numbers.simulated, numbers.answers)] if numbers.simulated else []
    distance = numbers.distance
    counts = f"{distance.tied} undecided, {distance.missing} without a distance"
    if distance.reason:
        return [*said, f"face distance: not estimable ({distance.reason}); {counts}"]
    return [
        *said,
        f"face distance, median: {distance.same:.3f} of {distance.n_same} pairs that most call the same, "
        f"{distance.other:.3f} of {distance.n_other} others; p {distance.p:.3g} (Mann and Whitney); {counts}",
    ]


def _line(row: identity_pairs.SameRow) -> str:
    share = "–"
    if math.isfinite(row.share):
        share = f"{100 * row.share:.1f} ({100 * row.low:.1f}, {100 * row.high:.1f})"
    return f"{row.by}, {row.group}, {row.kind}: {share} % same of {row.answers}"


def _agreed(found: identity_pairs.PairAgreement) -> str:
    about = f"two raters of {', '.join(found.kinds)} agree"
    if not math.isfinite(found.agreement):
        return f"{about}: not estimable ({found.reason})"
    ends = f" ({found.low:.3f} to {found.high:.3f})" if math.isfinite(found.low) else ""
    return f"{about} in {found.agreement:.3f}{ends} of {counted(found.pairs, 'pair')}"


PAIR_COLUMNS: Final[Sequence[Column[identity_pairs.SameRow]]] = (
    Column("group", "group"),
    Column("kind", "kind"),
    Column("share same", lambda row: f"{row.share:.3f}" if math.isfinite(row.share) else "not estimable", "figure"),
    Column("95 % interval", lambda row: f"{row.low:.3f} to {row.high:.3f}" if math.isfinite(row.low) else "", "figure"),
    Column("answers", "answers", "count"),
)
