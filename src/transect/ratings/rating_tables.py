"""Ratings of a run's images: values by image, people's single answers, and rules by which images are left out.

DIR/perceived.parquet   id, and one column per perceived attribute, in the units of the attribute; a row per image
DIR/ratings.parquet     people's single answers: id, rater, a column per attribute; an image as often as answered
DIR/pruning.json        the rules, as they were given

All come from the user and change no image and no answer: with them the same run is analysed again. Where a folder
holds several studies, a column `study` names the study of each row. In a single run's folder rows of other studies
are not kept; the metadata of the Parquet file holds their number.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.annotation.agreement.image_validation import AS_PUBLISHED, Pruning, Rule, prune
from transect.annotation.exchange import answer_tables
from transect.effects.samples import read_columns
from transect.effects.sensitivity import mean_ratings, most_common_ratings
from transect.errors import BadInput
from transect.ratings.crowd_tables import from_label_studio, in_numbers
from transect.records import Annotations, Attribute, Question
from transect.runs.folder import FinishedRun, write_json, write_table
from transect.runs.human_answers import RatedQuestion, names_by_attribute, questions_for_study, questions_of
from transect.runs.json_records import loads, read_texts
from transect.runs.layout import studies_of
from transect.runs.table_inputs import TableLike, as_table
from transect.runs.tables import LEFT_OUT

PERCEIVED: Final = "perceived.parquet"
PEOPLE: Final = "ratings.parquet"
ID: Final = "id"
STUDY: Final = "study"
RATER: Final = "rater"
Columns = dict[str, Float[np.ndarray, " n"]]
"""Values by attribute, in the order of a run's images."""


def read_table(source: TableLike, role: str, kept_as: str) -> tuple[pa.Table, str]:
    """A table of ratings, its columns checked, and what messages call it: a file's path, or its role.

    Yes, no and skips are numbers in it, and Label Studio's exports are such tables; see `crowd_tables`. So are answers
    a row each, as `transect annotate export` writes them.
    """
    path = str(source) if isinstance(source, str | Path) else role
    exported = from_label_studio(source) if kept_as == PEOPLE else None
    beside = {ID, STUDY} if kept_as == PERCEIVED else {ID, STUDY, RATER}
    table = as_table(source if exported is None else exported, role, text=(ID, STUDY, RATER))
    if kept_as == PEOPLE and {"id", "question", "rater", "value"} <= {*table.column_names}:  # a row for each answer
        table = answer_tables.by_rater(answer_tables.read_answers(source, ("id", "question", "rater", "value"))[0])
    table = in_numbers(table, tuple(beside), path)
    names = table.column_names
    if ID not in names or not set(names) - beside or len(set(names)) < len(names):
        columns = "id" if kept_as == PERCEIVED else "id, if you like one named rater,"
        raise BadInput(
            f"{path}: expected a column {columns} and one per attribute, each once, got {', '.join(names) or 'none'}"
        )
    return table, path


def aligned(table: pa.Table, path: str, ids: Sequence[str]) -> tuple[Columns, tuple[str, ...]]:
    """Columns of the table in the order of the ids, NaN for an image that has no row; ids of no image."""
    named = [str(image) for image in table[ID].to_pylist()]
    if len(set(named)) < len(named):
        raise BadInput(f"{path}: expected unique ids; average an image's ratings, or give single answers as --ratings")
    rows, unknown = _images_of(named, ids, path)
    attributes, values = read_columns(table.drop_columns([ID]))
    ratings = np.full((len(ids), len(attributes)), np.nan)
    ratings[rows[rows >= 0]] = np.where(np.isfinite(values), values, np.nan)[rows >= 0]
    return {name: ratings[:, column] for column, name in enumerate(attributes)}, unknown


def single_answers(table: pa.Table, path: str, ids: Sequence[str]) -> tuple[dict[str, Annotations], tuple[str, ...]]:
    """People's answers by attribute, of the places of their images among the ids; ids of no image."""
    named = [str(image) for image in table[ID].to_pylist()]
    image, unknown = _images_of(named, ids, path)
    raters = [str(rater) for rater in (table[RATER].to_pylist() if RATER in table.column_names else range(len(table)))]
    of = image >= 0
    chosen = tuple(rater for rater, known in zip(raters, of, strict=True) if known)
    if len(set(zip(image[of].tolist(), chosen, strict=True))) < len(chosen):
        raise BadInput(f"{path}: expected one row per image and rater, got several of one rater; keep one")
    names, values = read_columns(
        table.select([column_name for column_name in table.column_names if column_name not in (ID, RATER)])
    )
    answers = {
        name: Annotations(Question(name, name), image[of], chosen, values[of, column])
        for column, name in enumerate(names)
    }
    return answers, unknown


def _images_of(named: Sequence[str], ids: Sequence[str], path: str) -> tuple[Int[np.ndarray, " r"], tuple[str, ...]]:
    """The place of each row's image among the ids, -1 for one of another run; ids of those rows."""
    places = {image: place for place, image in enumerate(ids)}
    rows = np.array([places.get(image, -1) for image in named], dtype=np.int64)
    if (rows < 0).all():
        examples = ", ".join(named[:3]) or "no row"
        raise BadInput(
            f"{path}: expected ratings of this run's images, such as {ids[0]}, got {examples}; check the ids"
        )
    return rows, tuple(image for image, place in zip(named, rows, strict=True) if place < 0)


PRUNING: Final = "pruning.json"
PUBLISHED: Final = "as-published"
"""The rules of Balakrishnan et al. 2020, in their two steps."""
_ELSEWHERE: Final = b"transect.other_studies"
"""Metadata of a kept file: study -> rows of the given file that were of it."""
_NUMBER: Final = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_RULE: Final = re.compile(
    rf"\s*(?:(?P<least>{_NUMBER})\s*<=\s*)?(?P<name>[A-Za-z_]\w*)\s*(?:(?P<sign>>=|<=|<)\s*(?P<value>{_NUMBER}))?\s*"
)


@final
@dataclass(frozen=True, slots=True)
class Ratings:
    """What was seen on each image of n.

    columns: perceived values by attribute; people: people's mean answers, for levels in no order the most common one;
    answers: their single answers. reasons: why an image is left out, "" where it is not; pruning: what each step of the
    rules leaves; gated: why raters' validation does not vouch for an image, empty where none was required. unknown,
    unknown_people: ids of rows that are of no image; elsewhere, elsewhere_people: rows of other studies. left_out:
    raters excluded before, and their answers. asked, asked_people: what columns are answers to, where their own file
    says so.
    """

    columns: Mapping[str, Float[np.ndarray, " n"]]
    reasons: np.ndarray
    pruning: Pruning | None = None
    unknown: tuple[str, ...] = ()
    people: Mapping[str, Float[np.ndarray, " n"]] = field(default_factory=dict)
    unknown_people: tuple[str, ...] = ()
    answers: Mapping[str, Annotations] = field(default_factory=dict)
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    elsewhere_people: Mapping[str, int] = field(default_factory=dict)
    left_out: tuple[int, int] | None = None
    gated: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=object))
    asked: Mapping[str, RatedQuestion] = field(default_factory=dict)
    asked_people: Mapping[str, RatedQuestion] = field(default_factory=dict)

    def about(self, known: Mapping[str, Attribute]) -> Ratings:
        """The same, with answers to questions of other names under the run's attributes that they are about."""
        columns, people = self._called(known)
        return replace(
            self,
            columns={columns[name]: values for name, values in self.columns.items() if name in columns},
            people={people[name]: values for name, values in self.people.items() if name in people},
            answers={people[name]: answers for name, answers in self.answers.items() if name in people},
        )

    def unordered(self, known: Mapping[str, Attribute]) -> dict[str, Attribute]:
        """Questions with levels in no order, about no attribute of the run, as separate attributes."""
        attributes = {
            name: question.as_attribute(name)
            for name, question in {**self.asked, **self.asked_people}.items()
            if name not in known
        }
        return {name: attribute for name, attribute in attributes.items() if attribute is not None}

    def called(self, name: str, known: Mapping[str, Attribute]) -> str:
        """What `about` calls a question: its attribute, or its own name."""
        columns, people = self._called(known)
        return people.get(name, columns.get(name, name))

    def value_of(self, name: str, known: Mapping[str, Attribute]) -> Float[np.ndarray, " n"] | None:
        """What people saw of an attribute or answered to a question, else what the file by image has; None: neither."""
        about = self.about(known)
        kinds = (self.people, about.people, self.columns, about.columns)
        return next((columns[name] for columns in kinds if name in columns), None)

    def _called(self, known: Mapping[str, Attribute]) -> tuple[dict[str, str], dict[str, str]]:
        columns, people = (
            _names(each, questions, known)
            for each, questions in ((self.columns, self.asked), (self.people, self.asked_people))
        )
        return columns, people

    def reasons_after(self, steps: int) -> np.ndarray:
        """Why images are left out by the first `steps` steps of the rules; "" where they are not."""
        reasons = np.full(len(self.reasons), "", dtype=object)
        pruning = self.pruning
        before = np.ones(len(reasons), dtype=bool)
        for step, left in zip(pruning.steps[:steps], pruning.after[:steps], strict=True) if pruning else ():
            reasons[before & ~left] = f"pruned by {step.name}"
            before = left
        return np.where(self.gated == "", reasons, self.gated) if len(self.gated) else reasons

    def gating(self, reasons: np.ndarray) -> Ratings:
        """The same, without the images that have a reason [n] to be left out; "" applies the rules to an image."""
        if not (reasons != "").any():
            return self
        gated = replace(self, gated=reasons)
        return replace(gated, reasons=gated.reasons_after(len(self.pruning.steps) if self.pruning else 0))


def _names(
    columns: Mapping[str, object], questions: Mapping[str, RatedQuestion], known: Mapping[str, Attribute]
) -> dict[str, str]:
    """What the columns of a file are called, by what that file says of its questions; none for what cannot count."""
    called = names_by_attribute(columns, questions, known)
    odd = {
        name for name, question in questions.items() if question.unordered and question.as_attribute(name) is None
    } - set(known)
    return {name: called.get(name, name) for name in columns if name in called or name not in odd}


def parse_rule(text: str) -> Rule:
    """The rule that a text states: NAME>=A, NAME<=B, NAME<B, or A<=NAME<=B; never evaluated as code."""
    match = _RULE.fullmatch(text)
    if match is None or not (match["least"] or match["sign"]) or (match["least"] and match["sign"] == ">="):
        raise BadInput(
            f"--prune {text!r}: expected NAME>=A, NAME<=B, NAME<B or A<=NAME<=B, such as 'fakeness>=0.75', or "
            f"{PUBLISHED}"
        )
    low = float(match["value"]) if match["sign"] == ">=" else float(match["least"]) if match["least"] else -np.inf
    high = float(match["value"]) if match["sign"] in ("<=", "<") else np.inf
    return Rule(match["name"], low, high, match["sign"] == "<")


def parse_rules(texts: Sequence[str]) -> dict[str, tuple[Rule, ...]]:
    """Each text as it is kept, and its rules: one, or those of the paper. Raises BadInput for anything else.

    >>> {text: len(rules) for text, rules in parse_rules(["as-published", "age<0.2"]).items()}
    {'as-published': 5, 'age < 0.2': 1}
    """
    parsed: dict[str, tuple[Rule, ...]] = {}
    for text in texts:
        rules = AS_PUBLISHED if text.strip() == PUBLISHED else (parse_rule(text),)
        parsed[PUBLISHED if rules is AS_PUBLISHED else rules[0].text] = rules
    return parsed


def check(perceived: TableLike | None, rules: Sequence[str], people: TableLike | None = None) -> None:
    """Raises BadInput for tables that cannot be read or rules that say nothing, before anything is made."""
    parse_rules(rules)
    _given(perceived, people)


def attach(
    folder: Path, perceived: TableLike | None, rules: Sequence[str], people: TableLike | None = None
) -> list[str]:
    """Store ratings and rules in a run's folder, or each study's, once all fit; lines tell of rows without an image."""
    if perceived is None and people is None and not rules:
        return []
    parsed = parse_rules(rules)
    fitting = list(_fitting(folder, _given(perceived, people), parsed))
    if not fitting:
        raise BadInput(_nothing_to_prune(folder))
    for run, files, _ in fitting:
        for name, (rows, _path) in files.items():
            write_table(run / name, rows)
        if parsed:
            write_json(run / PRUNING, list(parsed), indent=1)
    return [line for run, _, ratings in fitting for line in unknown_lines(run.name, ratings)]


def unknown_lines(study: str, ratings: Ratings) -> list[str]:
    """Messages on rows of no image or of other studies, a line per file; none where there are no such rows."""
    lines = []
    for kind, rows in (("Ratings", ratings.unknown), ("People's answers", ratings.unknown_people)):
        if rows:
            text = f"{len(rows):,} ({_first(rows)})"
            lines.append(f"{kind} whose id is of no image of {study}, and that are not used: {text}")
    for kind, others in (("Ratings", ratings.elsewhere), ("People's answers", ratings.elsewhere_people)):
        if others:
            text = f"{sum(others.values()):,} ({_first(others)})"
            lines.append(f"{kind} of other studies than {study}, and that are not used: {text}")
    return lines


def _first(names: Iterable[str]) -> str:
    named = list(dict.fromkeys(names))
    return ", ".join(named[:3]) + (", …" if len(named) > 3 else "")


def read(run: FinishedRun, ids: Sequence[str]) -> Ratings:
    """What was seen in a run and its rules, in the order of its images; nothing where there are none."""
    rules, ratings = stored_rules(run.path), _seen(run, ids, _attached(run.path))
    if rules and not (ratings.columns or ratings.people):
        raise BadInput(_nothing_to_prune(run.path))
    return _pruned(ratings, rules)


_Files = dict[str, tuple[pa.Table, str]]
"""Tables by the file of the run folder that they are kept in, and what messages call each: its path, or its role."""


def _given(perceived: TableLike | None, people: TableLike | None) -> _Files:
    """The user's own tables. Raises BadInput for one that cannot be read, or lacks a column."""
    sources = {PERCEIVED: (perceived, "perceived"), PEOPLE: (people, "ratings")}
    return {name: read_table(source, role, name) for name, (source, role) in sources.items() if source is not None}


def _attached(folder: Path) -> _Files:
    """The files that a run's folder holds already."""
    paths = {name: folder / name for name in (PERCEIVED, PEOPLE)}
    return {name: read_table(path, name, name) for name, path in paths.items() if path.exists()}


def _nothing_to_prune(folder: Path) -> str:
    return f"{folder}: no ratings for --prune to look at; give --perceived or --ratings too"


def _fitting(
    folder: Path, files_by_kind: _Files, parsed: Mapping[str, tuple[Rule, ...]]
) -> Iterator[tuple[Path, _Files, Ratings]]:
    """Each run that files or rules are for, its rows, and what they say. Raises BadInput where they do not fit."""
    runs = studies_of(folder)
    parted = {name: (dict(_rows_by_run(folder, runs, *file)), file[1]) for name, file in files_by_kind.items()}
    for run in runs or [folder]:
        files = {name: (rows[run], path) for name, (rows, path) in parted.items() if run in rows}
        if files_by_kind and not files:
            continue
        opened = FinishedRun(run)
        ids = opened.read_table("images", opened.spec.parts, without=("image",))["id"].to_pylist()
        ratings = _seen(opened, list(map(str, ids)), {**_attached(run), **files})
        if ratings.columns or ratings.people:
            yield run, files, _pruned(ratings, parsed or stored_rules(run))


def _rows_by_run(folder: Path, runs: Sequence[Path], table: pa.Table, path: str) -> Iterator[tuple[Path, pa.Table]]:
    """Runs and the rows of the table that are theirs."""
    if STUDY not in table.column_names:
        if len(runs) > 1:
            raise BadInput(
                f"{path}: expected a column {STUDY} next to id, since {folder} has {len(runs)} studies with separate "
                f"images ({', '.join(run.name for run in runs)}), got none; add it"
            )
        yield from ((run, table) for run in runs or [folder])
        return
    named = [str(study) for study in table[STUDY].to_pylist()]
    called = {run: run.name for run in runs} or {folder: FinishedRun(folder).spec.name}
    if runs and (others := sorted(set(named) - set(called.values()))):
        raise BadInput(f"{path}: expected studies {', '.join(called.values())}, got {', '.join(others[:3])}")
    for run, name in called.items():
        rows = table.filter(pa.array([study == name for study in named], pa.bool_())).drop_columns([STUDY])
        # A column without answers about a study's images is no rating of them.
        rows = rows.select([c for c in rows.column_names if c in (ID, RATER) or rows[c].null_count < len(rows)])
        if set(rows.column_names) - {ID, RATER}:
            rows = questions_for_study(rows, name)
            yield run, rows if runs else _counting(rows, Counter(study for study in named if study != name))
        elif not runs:
            raise BadInput(f"{path}: expected ratings of {name}, got none in its column {STUDY}")


def _counting(rows: pa.Table, others: Mapping[str, int]) -> pa.Table:
    """The table, with the number of rows of each other study in its metadata."""
    metadata = {**(rows.schema.metadata or {}), _ELSEWHERE: json.dumps(others).encode()}
    return rows.replace_schema_metadata(metadata) if others else rows


def _seen(run: FinishedRun, ids: Sequence[str], files: _Files) -> Ratings:
    """What the files say of a run's images, before any rule."""
    none: tuple[Columns, tuple[str, ...]] = ({}, ())
    columns, unknown = aligned(*files[PERCEIVED], ids) if PERCEIVED in files else none
    people, unknown_people = none
    answers: dict[str, Annotations] = {}
    questions, asked_people = (questions_of(files[kind][0]) if kind in files else {} for kind in (PERCEIVED, PEOPLE))
    known = {one.name: one for one in (*run.spec.attributes, *run.spec.held, *run.spec.nominal)}
    _check_range({name: values for name, values in columns.items() if name not in questions}, known)
    if PEOPLE in files:
        unordered = {attribute.name for attribute in run.spec.nominal}
        unordered |= {
            name for name, question in asked_people.items() if question.unordered or question.attribute in unordered
        }
        answers, unknown_people = single_answers(*files[PEOPLE], ids)
        _check_range({name: found.value for name, found in answers.items() if name not in asked_people}, known)
        people = {
            name: (most_common_ratings if name in unordered else mean_ratings)(answers_of_one, len(ids))
            for name, answers_of_one in answers.items()
        }
    elsewhere = {
        name: dict(loads((table.schema.metadata or {}).get(_ELSEWHERE, b"{}"))) for name, (table, _) in files.items()
    }
    return Ratings(
        columns, np.full(len(ids), "", dtype=object), None, unknown, people, unknown_people, answers,
        elsewhere.get(PERCEIVED, {}), elsewhere.get(PEOPLE, {}), _left_out(files), asked=questions,
        asked_people=asked_people,
    )  # fmt: skip


def _check_range(ratings: Columns, known: Mapping[str, Attribute]) -> None:
    """Raises BadInput for a rating of an attribute with levels that is none of them; numbers have a scale of raters."""
    for name in [name for name in ratings if name in known and known[name].discrete]:
        low, high = known[name].bounds
        outside = ratings[name][(ratings[name] < low) | (ratings[name] > high)]
        if len(outside):
            levels = ", ".join(known[name].levels)
            raise BadInput(
                f"ratings of {name}: expected values from {low:g} to {high:g} ({levels}), got {outside[0]:g} in "
                f"{len(outside)} of {len(ratings[name])}; rescale them, or rename the column"
            )


def _left_out(files: _Files) -> tuple[int, int] | None:
    counts = loads((files[PEOPLE][0].schema.metadata or {}).get(LEFT_OUT, b"null")) if PEOPLE in files else None
    return None if counts is None else (int(counts[0]), int(counts[1]))


def _pruned(ratings: Ratings, rules: Mapping[str, tuple[Rule, ...]]) -> Ratings:
    """The ratings, and which rule left an image out first."""
    if not rules:
        return ratings
    columns = {**ratings.people, **ratings.columns}
    if PUBLISHED in rules:
        check_published(columns)
    steps = prune(columns, [rule for each in rules.values() for rule in each])
    pruned = replace(ratings, pruning=steps)
    return replace(pruned, reasons=pruned.reasons_after(len(steps.steps)))


def check_published(columns: Mapping[str, Float[np.ndarray, " n"]], rules: Sequence[Rule] = AS_PUBLISHED) -> None:
    """Raises BadInput where a column that the published rules are about is missing, or is not from 0 to 1."""
    names = list(dict.fromkeys(rule.attribute for rule in rules))
    missing = [name for name in names if name not in columns]
    wide = [name for name in names if name in columns and _outside(columns[name])]
    if not (missing or wide):
        return
    got = f"no {', '.join(missing)}" if missing else f"other values of {', '.join(wide)}"
    raise BadInput(
        f"--prune {PUBLISHED}: expected mean ratings from 0 to 1 of {', '.join(names)}, as in the paper, got "
        f"{got}; add or scale those columns (--scale unit of transect annotate), or write your own rules"
    )


def _outside(values: Float[np.ndarray, " n"]) -> bool:
    known = values[np.isfinite(values)]
    return bool(((known < 0) | (known > 1)).any())


def stored_rules(folder: Path) -> dict[str, tuple[Rule, ...]]:
    """The rules stored in a run's folder, each by its text."""
    path = folder / PRUNING
    return parse_rules(read_texts(path, "a list of rules", "delete it, or give --prune again")) if path.exists() else {}
