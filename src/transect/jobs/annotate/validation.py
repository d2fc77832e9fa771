"""Generators and inversions validated by raters: from answers to `validation.json`, and whether its gates are met."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Float

from transect.analysis.rater_report import Answered
from transect.analysis.sections.answers import table, words
from transect.analysis.sections.raters import Rated
from transect.effects.identity_pairs import against_distance, same_shares
from transect.effects.image_validation import SOURCE, Gates, Validation, validate
from transect.errors import BadInput, UnknownName
from transect.report.records import Section
from transect.runs import tables as columns
from transect.runs.folder import write_atomically

FILE: Final = "validation.json"
_NEEDED: Final = ("id", "second", "answer")
_ANSWERS: Final = pa.schema(
    [
        *((name, pa.string()) for name in ("study", "id", "second", "question", "rater", "answer", "follow_up")),
        *((name, pa.bool_()) for name in ("repeat", "excluded")),
        ("level", pa.float64()),
    ]
)


def of_generator(
    answered: Answered, condition: str = "condition", quality: str = "quality", gates: Gates | None = None
) -> Validation:
    """Whether a study's images show what was asked for and look equally good, by its raters' majority and mean.

    condition, quality: names of questions; what the first asks is an attribute that was varied or is known. Raises
    UnknownName for another question, BadInput where it is about no attribute of the run.
    """
    asked, good = _named(answered, condition), _named(answered, quality)
    run = answered.run
    intended = columns.columns_of(run.images, "intended")
    known = {**run.true, **intended}
    if asked.attribute not in known:
        raise BadInput(
            f"question {condition}: expected one about an attribute of the run ({', '.join(known)}), got "
            f"{asked.attribute or 'none'}; name the attribute in the questions"
        )
    values = np.asarray(asked.values)
    wanted = _nearest(known[asked.attribute], values)
    return validate(
        wanted,
        asked.majority,
        good.mean,
        {name: intended[name] for name in run.design.levels if name in intended},
        run.people,
        answered=np.isfinite(asked.ratings).any(axis=1),
        worst=good.majority == good.values[0],
        gates=gates,
    )


def _nearest(intended: Float[np.ndarray, " n"], values: Float[np.ndarray, " levels"]) -> Float[np.ndarray, " n"]:
    """The answer that comes closest to what was asked for; NaN halfway between two, which no answer calls right.

    >>> _nearest(np.array([0.2, 0.5]), np.array([0.0, 1.0])).tolist()
    [0.0, nan]
    """
    away = np.abs(intended[:, None] - values)
    halfway = np.isclose(away, away.min(axis=1, keepdims=True), rtol=0, atol=1e-9).sum(axis=1) > 1
    return np.where(halfway, np.nan, values[away.argmin(axis=1)])


def _named(answered: Answered, name: str) -> Rated:
    for one in answered.rated:
        if one.name == name:
            return one
    raise UnknownName("question", name, [one.name for one in answered.rated], hint="nobody answered it yet, or another")


def entry(found: Validation, generator: Mapping[str, Any]) -> dict[str, Any]:
    """The validation as JSON values, with the generator that it is about; what cannot be told is null."""
    made = {
        "generator": dict(generator),
        "gates": asdict(found.gates),
        "passed": found.passed,
        "failures": dict(found.failures),
        "groups": [one._asdict() for one in found.groups],
        "equal_quality": [one._asdict() for one in found.equal],
        **{name: getattr(found, name) for name in ("unidentifiable", "undecided", "unrated", "between")},
    }
    return dict(_plain(made))


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value


def keep(folder: Path, found: Sequence[tuple[Answered, Validation]]) -> Path:
    """Write `validation.json`: an entry by study. Returns its path."""
    made = {answered.name: entry(one, answered.run.spec.generator.facts) for answered, one in found}
    write_atomically(folder / FILE, (json.dumps(made, indent=1, allow_nan=False) + "\n").encode())
    return folder / FILE


def require(folder: Path) -> None:
    """Raises BadInput unless the images of a run were validated by raters and met every gate."""
    path = folder / FILE
    if not path.exists():
        raise BadInput(f"{folder}: expected images validated by raters, got none; run transect annotate validate")
    made = json.loads(path.read_text(encoding="utf-8"))
    if not made:
        raise BadInput(f"{path}: expected a validation of every study, got none; run transect annotate validate")
    failed = [f"{study}: {text}" for study, one in made.items() for text in one["failures"].values()]
    if failed:
        raise BadInput(f"{path}: expected every gate to be met, got {'; '.join(failed)}; mend the generator")


def section(study: str, found: Validation, attributes: Any) -> Section:
    """The validation as a section of the page on raters."""
    heads = [
        ("images", "text"),
        ("judged", "count"),
        ("seen as another", "count"),
        ("share", "proportion"),
    ]
    heads += [("low", "proportion"), ("high", "proportion"), ("mean quality", "number"), ("SD", "number")]
    heads += [("rated", "count"), ("halfway", "count"), ("gates not met", "text")]
    rows: list[list[Any]] = []
    for one in found.groups:
        label = attributes[one.attribute].label(one.level) if one.attribute else ""
        name = f"{words(one.attribute)}: {label}" if one.attribute else "all images"
        counts = [one.judged, one.differing, one.share, one.low, one.high, one.quality, one.spread, one.rated]
        rows.append([name, *counts, one.between, "; ".join(one.failures)])
    tests = [[words(e.attribute), e.f, e.p, e.p_ranks, e.reason] for e in found.equal]
    of_tests = [("attribute", "text"), ("F", "number"), ("p", "p"), ("p by ranks", "p"), ("note", "text")]
    return Section(
        key="validation",
        study=study,
        title=f"Do the images show what was asked for: {words(study)}",
        text=[
            "The majority of an image's raters against the condition that was asked for, and how good the pictures "
            "look by group (McDuff et al. 2019: 50 images a condition, five raters). Raters were evenly split on "
            f"{found.undecided:,} images; {found.unrated:,} were not rated; {found.between:,} were asked to lie "
            "halfway between two answers, so that none is right, and are judged by quality alone; of "
            f"{found.unidentifiable:,} most raters say that no face is identifiable."
        ],
        warnings=[f"Gate not met: {text}" for text in found.failures.values()],
        figures=[],
        tables=[
            table("Seen as another condition, and quality", heads, rows),
            table("Equal quality", of_tests, tests),
        ],
        sources=[SOURCE],
    )


def same_person(
    answers: Path, pairs: Path, unanswered: str = "left out", question: str | None = None
) -> dict[str, Any]:
    """Shares of "same" by kind of pair, familiarity and group, and face distances, from files.

    answers: as `transect annotate export` writes it (.csv or .parquet), of a question about pairs whose first level
    says "same"; pairs: a CSV with first, second, kind and, if you like, study, group and distance; question: which one,
    where the answers are to several. Pairs are told apart by study too where both files have it. Raises BadInput for
    files that cannot be read, pairs listed with two kinds, without a kind or with a distance that is no number, answers
    about pairs that are not listed, of several studies without theirs, or to several questions, UnknownName for a
    question that nobody answered.
    """
    rows, listed = _of_question(_rows(answers), question, answers), _listed(pairs)
    names = {str(one["study"]) for one in rows if one.get("study")}
    if len(names) > 1 and not any(one.study for one in listed):
        told = ", ".join(sorted(names))
        raise BadInput(f"{pairs}: expected a column study, since {answers} is of {told}, got none; add it")
    if not names:
        listed = [one._replace(study="") for one in listed]
    by_study = any(one.study for one in listed)
    of = _once(listed, pairs)
    keys = [(str(one["study"] or "") if by_study else "", one["id"], one["second"]) for one in rows]
    unknown = [key for key in keys if key not in of]
    if unknown or not rows:
        told = ", ".join(filter(None, unknown[0])) if unknown else "no answer"
        raise BadInput(f"{answers}: expected answers about the pairs of {pairs}, got {told}; list every pair")
    place = {key: k for k, key in enumerate(of)}
    pair = np.array([place[key] for key in keys], dtype=np.int64)
    level = np.array([np.nan if one["level"] is None else one["level"] for one in rows])
    same = np.where(np.isfinite(level), level == 0, np.nan)
    about = [of[key] for key in keys]
    groups = {"familiarity": [one.get("follow_up") or "" for one in rows], "group": [one.group for one in about]}
    made = same_shares(
        [one.kind for one in about], same, groups, pair, unanswered="same" if unanswered == "same" else "left out"
    )
    distance = np.array([one.distance for one in of.values()])
    found = {"rows": [asdict(one) for one in made], "distance": asdict(against_distance(same, pair, distance))}
    return dict(_plain(found))


def lines(made: Mapping[str, Any]) -> list[str]:
    """What `same_person` returns, for people: a line per row of the table, and one on face distances."""
    told = []
    for one in made["rows"]:
        share = "–"
        if one["share"] is not None:
            share = "{:.1f} ({:.1f}, {:.1f})".format(*(100 * one[name] for name in ("share", "low", "high")))
        told.append(f"{one['by']}, {one['group']}, {one['kind']}: {share} % same of {one['answers']}")
    far = made["distance"]
    left = f"{far['tied']} undecided, {far['missing']} without a distance"
    if far["reason"]:
        return [*told, f"face distance: not told ({far['reason']}); {left}"]
    return [
        *told,
        f"face distance, median: {far['same']:.3f} of {far['n_same']} pairs that most call the same, "
        f"{far['other']:.3f} of {far['n_other']} others; p {far['p']:.3g} (Mann and Whitney); {left}",
    ]


class _Pair(NamedTuple):
    """A listed pair. line: of the file; distance: NaN where it is not known."""

    line: int
    study: str
    first: str
    second: str
    kind: str
    group: str
    distance: float


def _listed(path: Path) -> list[_Pair]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadInput(f"{path}: expected a readable CSV of pairs, got {error}; mend it") from None
    if not rows or not {"first", "second", "kind"} <= rows[0][1].keys():
        got = ", ".join(rows[0][1]) if rows else "no row"
        raise BadInput(f"{path}: expected columns first, second and kind, got {got}; mend it")
    return [_pair(row, line, path) for line, row in rows]


def _pair(row: Mapping[str, str | None], line: int, path: Path) -> _Pair:
    said = {name: (row.get(name) or "").strip() for name in ("study", "first", "second", "kind", "group", "distance")}
    if not said["kind"]:
        raise BadInput(f"{path}, line {line}: kind: expected one, such as real or fake, got none; mend it")
    try:
        distance = float(said["distance"] or "nan")
    except ValueError:
        distance = np.inf
    if np.isinf(distance):
        got = said["distance"]
        raise BadInput(f"{path}, line {line}: distance: expected a number or nothing, got {got!r:.40}; mend it")
    return _Pair(line, said["study"], said["first"], said["second"], said["kind"], said["group"], distance)


def _once(listed: Sequence[_Pair], path: Path) -> dict[tuple[str, str, str], _Pair]:
    """Each pair by study and images. Raises BadInput where one is listed with two kinds, groups or distances."""
    made: dict[tuple[str, str, str], _Pair] = {}
    for one in listed:
        before = made.setdefault((one.study, one.first, one.second), one)
        if before[4:6] != one[4:6] or not np.array_equal(before.distance, one.distance, equal_nan=True):
            raise BadInput(
                f"{path}, line {one.line}: expected {one.first}, {one.second} once, or with the same kind, group and "
                f"distance as in line {before.line}, got others; mend it"
            )
    return made


def _of_question(rows: list[dict[str, Any]], question: str | None, path: Path) -> list[dict[str, Any]]:
    """The answers to one question; all where the table does not say to which they are."""
    asked = sorted({str(one["question"]) for one in rows if one.get("question")})
    if question is None and len(asked) > 1:
        raise BadInput(f"{path}: expected answers to one question, got {', '.join(asked)}; choose one with --question")
    if question is not None and asked and question not in asked:
        raise UnknownName("question", question, asked)
    return [one for one in rows if question is None or one.get("question") in (None, question)]


def _rows(path: Path) -> list[dict[str, Any]]:
    """Answers about pairs that count: no repeats, no raters who were shut out."""
    from transect.annotation.exchange.casting import read_typed

    made: list[dict[str, Any]] = read_typed(path, _ANSWERS).to_pylist()
    if made and (missing := [name for name in (*_NEEDED, "level") if name not in made[0]]):
        raise BadInput(f"{path}: expected columns {', '.join(_NEEDED)} and level, got no {', '.join(missing)}")
    return [
        {**one, "id": str(one["id"]), "second": str(one["second"])}
        for one in made
        if one["second"] and not one.get("repeat") and not one.get("excluded")
    ]
