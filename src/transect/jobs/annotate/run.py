"""`transect.annotate`: have people rate the images of a run, and use their answers."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, NamedTuple, final

import numpy as np
import pyarrow as pa

from transect.analysis import rater_report
from transect.analysis.sections import rated_sets
from transect.analysis.sections.raters import Rated
from transect.annotation.agreement.numbers import Agreement, notice, simulated_count
from transect.annotation.exchange.answer_tables import SCHEMA, read_answers
from transect.annotation.sources import FILE, Pictures, check_place, home_of, is_texts, source_of
from transect.effects.identity_pairs import (
    Distances,
    PairAgreement,
    SameRow,
    against_distance,
    pair_agreement,
    same_shares,
)
from transect.effects.image_validation import Gates
from transect.errors import BadInput, UnknownName
from transect.jobs.annotate import validation
from transect.jobs.annotate.page import write
from transect.jobs.annotate.validation import StudyValidation
from transect.ratings.rating_tables import parse_rules
from transect.reports.builder import ShortPageResult
from transect.runs import table_inputs
from transect.runs.json_records import plain
from transect.runs.layout import is_run
from transect.runs.result import JobResult, Result
from transect.runs.table_inputs import TableLike, as_names, as_table
from transect.runs.wording import counted

if TYPE_CHECKING:
    from transect.annotation.exchange.incoming import Imported
    from transect.annotation.project import Project
    from transect.runs.human_answers import JudgeAgreement


Unanswered = Literal["left out", "same"]
_NEEDED: Final = ("id", "second", "answer", "level")


@final
@dataclass(frozen=True, slots=True)
class SamePersonNumbers:
    """Shares of "same" by kind, familiarity and group, and distances; agreement: also without one-photograph pairs."""

    rows: tuple[SameRow, ...]
    distance: Distances
    answers: int
    simulated: int
    agreement: tuple[PairAgreement, ...]


def numbers_of(
    answers_source: TableLike, pairs_source: TableLike, unanswered: Unanswered = "left out", question: str | None = None
) -> SamePersonNumbers:
    """The shares; see `same_person`."""
    listed, pairs = _listed(pairs_source)
    every_row, answers = _rows(answers_source)
    rows = _of_question(every_row, question, answers)
    studies = {str(row["study"]) for row in rows if row.get("study")}
    if len(studies) > 1 and not any(pair.study for pair in listed):
        names = ", ".join(sorted(studies))
        raise BadInput(f"{pairs}: expected a column study, since {answers} is of {names}, got none; add it")
    if not studies:
        listed = [pair._replace(study="") for pair in listed]
    by_study = any(pair.study for pair in listed)
    known = _once(listed, pairs)
    keys = [(str(row["study"] or "") if by_study else "", row["id"], row["second"]) for row in rows]
    unknown = [key for key in keys if key not in known]
    if unknown or not rows:
        first = ", ".join(filter(None, unknown[0])) if unknown else "no answer"
        raise BadInput(f"{answers}: expected answers about the pairs of {pairs}, got {first}; list every pair")
    place = {key: number for number, key in enumerate(known)}
    pair = np.array([place[key] for key in keys], dtype=np.int64)
    level = np.array([np.nan if row["level"] is None else row["level"] for row in rows])
    same = np.where(np.isfinite(level), level == 0, np.nan)
    about = [known[key] for key in keys]
    groups = {"familiarity": [row.get("follow_up") or "" for row in rows], "group": [entry.group for entry in about]}
    shares = same_shares([entry.kind for entry in about], same, groups, pair, unanswered=unanswered)
    distance = np.array([entry.distance for entry in known.values()])
    simulated = simulated_count(row.get("rater") for row in rows)
    agreed = pair_agreement(same, pair, [entry.kind for entry in about], unanswered=unanswered)
    return SamePersonNumbers(tuple(shares), against_distance(same, pair, distance), len(rows), simulated, agreed)


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
        raise BadInput(f"{path}: expected columns first, second and kind, got {columns}; fix it")
    return [_pair(row, line, path) for line, row in rows], path


def _pair(row: Mapping[str, str | None], line: int, path: str) -> _Pair:
    text = {name: (row.get(name) or "").strip() for name in ("study", "first", "second", "kind", "group", "distance")}
    if not text["kind"]:
        raise BadInput(f"{path}, line {line}: kind: expected one, such as real or fake, got none; fix it")
    try:
        distance = float(text["distance"] or "nan")
    except ValueError:
        distance = np.inf
    if np.isinf(distance):
        entry = text["distance"]
        raise BadInput(f"{path}, line {line}: distance: expected a number or nothing, got {entry!r:.40}; fix it")
    return _Pair(line, text["study"], text["first"], text["second"], text["kind"], text["group"], distance)


def _once(listed: Sequence[_Pair], path: str) -> dict[tuple[str, str, str], _Pair]:
    """Each pair by study and images. Raises BadInput where one is listed with two kinds, groups or distances."""
    pairs: dict[tuple[str, str, str], _Pair] = {}
    for pair in listed:
        before = pairs.setdefault((pair.study, pair.first, pair.second), pair)
        if before[4:6] != pair[4:6] or not np.array_equal(before.distance, pair.distance, equal_nan=True):
            raise BadInput(
                f"{path}, line {pair.line}: expected {pair.first}, {pair.second} once, or with the same kind, group "
                f"and distance as in line {before.line}, got others; fix it"
            )
    return pairs


def _of_question(rows: list[dict[str, Any]], question: str | None, path: str) -> list[dict[str, Any]]:
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


@final
@dataclass(frozen=True)
class SamePersonResult(ShortPageResult[SamePersonNumbers]):
    """How often raters take two images for the same person."""

    JOB: ClassVar[str] = "annotate-same-person"
    TITLE: ClassVar[str] = "Pairs that raters take for the same person"
    TABLE: ClassVar[str] = "Answers by kind of pair and group"

    @property
    def table(self) -> pa.Table:
        """One row per kind of pair and group."""
        return pa.Table.from_pylist(plain(self.numbers.rows))

    def headline(self) -> str:
        """The first row in words."""
        return self.lines()[0]

    def lines(self) -> list[str]:
        """The result in words: a line per row of the table, and one on face distances."""
        numbers, rows = self.numbers, []
        for row in numbers.rows:
            share = "–"
            if math.isfinite(row.share):
                share = f"{100 * row.share:.1f} ({100 * row.low:.1f}, {100 * row.high:.1f})"
            rows.append(f"{row.by}, {row.group}, {row.kind}: {share} % same of {row.answers}")
        rows += map(_agreed, numbers.agreement)
        if numbers.simulated:
            rows.append(notice(numbers.simulated, numbers.answers))
        distance = numbers.distance
        counts = f"{distance.tied} undecided, {distance.missing} without a distance"
        if distance.reason:
            return [*rows, f"face distance: not estimable ({distance.reason}); {counts}"]
        return [
            *rows,
            f"face distance, median: {distance.same:.3f} of {distance.n_same} pairs that most call the same, "
            f"{distance.other:.3f} of {distance.n_other} others; p {distance.p:.3g} (Mann and Whitney); {counts}",
        ]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """One row per kind of pair and group."""
        rows = [(row.group, row.kind, *_share(row), str(row.answers)) for row in self.numbers.rows]
        return ("group", "kind", "share same", "95 % interval", "answers"), rows

    def notes(self) -> Sequence[str]:
        """The lines on agreement and on face distances."""
        return self.lines()[len(self.numbers.rows) :]


def _agreed(found: PairAgreement) -> str:
    about = f"two raters of {', '.join(found.kinds)} agree"
    if not math.isfinite(found.agreement):
        return f"{about}: not estimable ({found.reason})"
    ends = f" ({found.low:.3f} to {found.high:.3f})" if math.isfinite(found.low) else ""
    return f"{about} in {found.agreement:.3f}{ends} of {counted(found.pairs, 'pair')}"


def _share(row: SameRow) -> tuple[str, str]:
    if not math.isfinite(row.share):
        return "not estimable", ""
    return f"{row.share:.3f}", f"{row.low:.3f} to {row.high:.3f}"


@final
@dataclass(frozen=True, slots=True)
class Invitation:
    """A new rater and the link that lets the rater in; only a hash of the link is stored."""

    rater: str
    link: str


@final
@dataclass(frozen=True, slots=True)
class RaterReport:
    """The page on the raters, and its counts; None for a count that is not known."""

    path: Path
    facts: Mapping[str, int | None]


@final
@dataclass(frozen=True)
class AnnotationProject(Result):
    """The annotation of images: a database of questions, raters and answers, which every method opens and closes.

    run: where the images are, as `annotate` takes it. questions: names of shipped questions or TOML files; they are
    fixed when the database is created. database: a file or postgresql://user@host/name; None: annotation.sqlite in
    `home`. photographs: of an inversion, what was inverted; kept in the database.
    """

    run: Path
    questions: tuple[str, ...] = ()
    database: str | None = None
    photographs: str | None = None

    @property
    def home(self) -> Path:
        """The folder of the answers: annotations/ in a run folder, else annotations-NAME in the current folder."""
        return home_of(self.run)

    def open(self, *, create: bool = True) -> Project:
        """The open project; the caller closes its database. create: make the database where there is none yet.

        Raises BadInput for other questions than those in the database, MissingExtra without the extra.
        """
        import transect.annotation.database  # noqa: F401  (names the missing extra)
        from transect.annotation.project import open_project

        return open_project(self.run, self.database, self.questions, create=create, photographs=self.photographs)

    @contextmanager
    def _opened(self, *, create: bool = False) -> Iterator[Project]:
        project = self.open(create=create)
        with closing(project.database):
            yield project

    @property
    def table(self) -> pa.Table:
        """Every answer, a row each, as `export` writes them; no row before the first answer."""
        from transect.annotation.exchange.outgoing import answers_table

        if not self._exists:
            return SCHEMA.empty_table()
        with self._opened() as project:
            return answers_table(project)

    @property
    def _exists(self) -> bool:
        return self.database is not None or (self.home / FILE).exists()

    def headline(self) -> str:
        """How many answers there are."""
        table = self.table
        raters = counted(len(table["rater"].unique()), "rater")
        return f"{counted(table.num_rows, 'answer')} of {raters} about {self.run.name}"

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """One row per question."""
        counts = self.table.group_by("question").aggregate([("answer", "count"), ("rater", "count_distinct")])
        return ("question", "answers", "raters"), [[str(value) for value in row.values()] for row in counts.to_pylist()]

    def import_answers(self, source: TableLike, kind: str = "answers") -> Imported:
        """Import answers: all or none, and none twice.

        source: a file; answers may also be an Arrow table, a data frame or columns by name. kind: answers, mturk,
        ground-truth or label-studio. Raises BadInput, with the row, for a file that does not fit; nothing is imported
        then.
        """
        import transect.annotation.database  # noqa: F401  (as above)
        from transect.annotation.exchange import incoming, reading_files
        from transect.annotation.project import change

        def work(project: Project) -> Imported:
            return incoming.take_in(project, reading_files.read(source, kind, project), time.time())

        return change(self.run, self.database, self.questions, work, self.photographs)

    def agreement(self) -> AgreementResult:
        """How far raters agree with each other, with known answers and with themselves.

        Figures that are not known are NaN.
        """
        from transect.annotation.agreement.summary import summary

        with self._opened() as project:
            return AgreementResult(summary(project), self)

    def validate(
        self, condition: str = "condition", quality: str = "quality", gates: Gates | None = None
    ) -> ValidationResult:
        """Check whether images show the intended condition and look equally good (McDuff et al. 2019).

        condition, quality: names of the two questions. Writes RUN/validation.json, which `--require-validation` reads.
        Raises BadInput where a study has no answer.
        """
        studies = self.studies()
        if empty := [study.name for study in studies if not study.rated] or ([] if studies else [str(self.run)]):
            raise BadInput(f"{', '.join(empty)}: expected images with answers of raters, got none; have them rated")
        entries = {
            study.name: StudyValidation.of_run(
                validation.of_generator(study, condition, quality, gates),
                study.audited.spec.generator.facts,
                validation.simulated_answers(study, condition, quality),
            )
            for study in studies
        }
        validation.store(self.run, entries)
        return ValidationResult(entries, self)

    def export(
        self, out: str | Path | None = None, kind: str = "answers", scale: str = "attribute", image_url: str = ""
    ) -> dict[str, Any]:
        """Write answers, or tasks for other services, to files; returns what was written, with its path as `out`.

        kind: answers, ratings (as `transect report --ratings` reads them), mturk, ground-truth or label-studio. scale:
        of ratings, attribute (its units) or unit (0 to 1).
        """
        from transect.annotation.exchange import outgoing

        place = outgoing.default(self.run, kind) if out is None else Path(out)
        with self._opened(create=kind not in ("answers", "ratings")) as project:
            return outgoing.write(project, kind, place, scale, image_url)

    def invite(self, raters: int = 1, url: str | None = None) -> tuple[Invitation, ...]:
        """Create raters and their links. url: what links begin with; by default where it was served last."""
        import transect.annotation.database  # noqa: F401  (as above)
        from transect.annotation.raters import check_count, invite

        check_count(raters)
        with self._opened(create=True) as project:
            invited = invite(project.database, raters, time.time())
            base = (url or project.database.setting("url") or "http://127.0.0.1:8000").rstrip("/")
        return tuple(Invitation(rater.name, f"{base}/invite/{rater.token}") for rater in invited)

    def report(self, path: str | Path) -> Path:
        """Write annotate.html and annotate.json, the page on the raters, with the defaults of `raters_page`."""
        return self.raters_page(path).path

    def raters_page(
        self,
        out: str | Path | None = None,
        scale: str = "attribute",
        prune: str | Sequence[str] = (),
        beside: str | Sequence[str] = (),
        by: str = "",
    ) -> RaterReport:
        """Write the page on the raters: agreement, answers along transects, faces by score, largest deviations.

        out: a folder, by default RUN/annotations. scale: of answers. prune: rules such as "fakeness>=0.75" whose images
        are marked. beside: other rated images, as `annotate` takes them, whose distributions of answers stand beside
        these. by: the question whose scale splits the images of each in two.

        Raises BadInput for images without answers, UnknownName for a question that was not asked about all.
        """
        rules = [rule for rules in parse_rules(as_names(prune)).values() for rule in rules]
        studies = self.studies(scale)
        page = rater_report.page(studies, rules, self.run.name)
        validated = [
            validation.section(
                study.name, validation.of_generator(study), study.run.attributes, validation.simulated_answers(study)
            )
            for study in (studies if scale == "attribute" else self.studies())  # gates are in the questions' units
            if study.run is not None and {"condition", "quality"} <= {rated.name for rated in study.rated}
        ]
        folder = self.home if out is None else Path(out)
        compared = [rated_sets.section(self._sets(studies, as_names(beside), scale), by)] if beside or by else []
        page = replace(page, sections=[*page.sections, *compared, *validated])
        return RaterReport(write(page, self._pictures().png, folder), page.facts)

    def _sets(
        self, studies: Sequence[rater_report.RatedStudy], others: Sequence[str], scale: str
    ) -> dict[str, Sequence[Rated]]:
        """Answers about these images and others, by the last part of their path, or all of it where two share it."""
        rated = {str(self.run): studies} | {other: annotate(other).studies(scale) for other in others}
        names = [Path(place).name for place in rated]
        if len(rated) <= len(others):
            raise BadInput("--beside: expected each folder once, got one twice; leave it out")
        sets: dict[str, Sequence[Rated]] = {}
        for place, of_place in rated.items():
            name = Path(place).name if names.count(Path(place).name) == 1 else place
            if not any(study.rated for study in of_place):
                raise BadInput(f"--beside {place}: expected answers of raters, got none yet; collect answers")
            sets |= {
                f"{name} {study.name}" if len(of_place) > 1 else name: study.rated for study in of_place if study.rated
            }
        return sets

    def _pictures(self) -> Pictures:
        """The images that were rated; of a run without a database, its own."""
        if not self._exists:
            return Pictures(source_of(self.run))
        with self._opened() as project:
            return project.pictures

    def judge(self) -> dict[str, JudgeAgreement]:
        """How far a run's judge model agrees with people, by study ("" of a single one); run: `texts:FOLDER`.

        Writes judge_agreement.json into the run's folder. Raises BadInput where people coded no text.
        """
        with self._opened() as project:
            from transect.jobs.annotate.judging import measure

            return measure(project, self.run)

    def studies(self, scale: str = "attribute") -> list[rater_report.RatedStudy]:
        """The answers by study: of the database, or, where there is none, of the ratings stored with the run.

        Raises BadInput for the texts of a run, which have no page of pictures.
        """
        if is_texts(self.run):
            raise BadInput(f"{self.run}: expected images, got texts; see transect annotate agreement and judge")
        if not self._exists:
            return rater_report.from_stored(self.run) if is_run(self.run) else []
        with self._opened() as project:
            return rater_report.from_project(project, scale)


@final
@dataclass(frozen=True)
class AgreementResult(JobResult[Agreement]):
    """Agreement between raters, by question."""

    JOB: ClassVar[str] = "annotate-agreement"

    project: AnnotationProject

    @property
    def table(self) -> pa.Table:
        """One row per question and rater."""
        rows = [
            {"question": question.question, **plain(rater)}
            for question in self.numbers.questions
            for rater in question.by_rater
        ]
        return pa.Table.from_pylist(rows)

    def report(self, path: str | Path) -> Path:
        """Write annotate.html and annotate.json, the page on the raters, into the folder `path`."""
        return self.project.report(path)

    def headline(self) -> str:
        """Answers, questions, and Krippendorff's alpha of the first question."""
        first = self.numbers.questions[0]
        simulated = f" ({self.numbers.simulated} of simulated raters)" if self.numbers.simulated else ""
        return (
            f"{self.numbers.answers} answers{simulated}; Krippendorff's alpha of {first.question}: {first.alpha:z.3f}"
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """One row per question."""
        rows = [
            (
                question.question,
                str(question.answers),
                f"{question.percent_agreement:.3f}",
                f"{question.alpha:z.3f}",
                f"{question.alpha_low:z.3f} to {question.alpha_high:z.3f}",
            )
            for question in self.numbers.questions
        ]
        return ("question", "answers", "agreement", "alpha", "95 % interval"), rows


@final
@dataclass(frozen=True)
class ValidationResult(JobResult[Mapping[str, StudyValidation]]):
    """Raters' validation of the images, by study."""

    JOB: ClassVar[str] = "annotate-validation"

    project: AnnotationProject

    @property
    def passed(self) -> bool:
        """Whether every study meets every gate."""
        return all(study.passed for study in self.numbers.values())

    @property
    def table(self) -> pa.Table:
        """One row per study and level; the rows without an attribute are of all images."""
        rows = [{"study": name, **plain(group)} for name, study in self.numbers.items() for group in study.groups]
        return pa.Table.from_pylist(rows)

    def report(self, path: str | Path) -> Path:
        """Write annotate.html and annotate.json, the page on the raters, into the folder `path`."""
        return self.project.report(path)

    def headline(self) -> str:
        """The result of the first study in one line."""
        return self.lines()[0]

    def lines(self) -> list[str]:
        """The result in words, study by study."""
        return [line for name, study in self.numbers.items() for line in validation.words_of(name, study)]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """One row per study."""
        rows = [
            (
                name,
                str(study.groups[0].judged),
                str(study.groups[0].differing),
                f"{study.groups[0].quality:.2f}",
                "yes" if study.passed else "; ".join(study.failures.values()),
            )
            for name, study in self.numbers.items()
        ]
        return ("study", "judged", "seen as another", "quality", "gates met"), rows


def write_questions(run: str | Path, out: str | Path) -> list[str]:
    """Write a TOML file of questions about the conditions that a run set, and return the questions' names.

    Raises BadInput where the run set nothing, or the file cannot be written.
    """
    from transect.annotation.condition_questions import questions_of
    from transect.annotation.questions import parse
    from transect.runs.folder import FinishedRun, write_atomically

    if Path(out).exists():
        raise BadInput(f"{out}: expected a new file, found one, whose wording would be lost; choose another OUT")
    text = questions_of(FinishedRun(Path(run)).spec)
    write_atomically(Path(out), text.encode())
    return [question.name for question in parse(text, str(out)).question]


def annotate(
    run: str | Path,
    *,
    questions: Sequence[str | Path] = (),
    database: str | Path | None = None,
    photographs: str | Path | None = None,
) -> AnnotationProject:
    """The annotation of images: its questions, its raters and their answers.

    run: a run folder (of an audit, an inversion or encoding, or a data set that `render` wrote), a folder of studies, a
    folder of images, a data set as READER:PATH, or as texts:RUN the texts that a judge coded. questions: shipped ones
    (paper, monk, pairs, same-person, quality, edits) or TOML files; by default "paper". They are fixed when
    the first method that needs the database creates it. database: a file or postgresql://user@host/name; by default
    annotation.sqlite in annotations/ of a run folder, or, for other images, in annotations-NAME/ of the current folder.
    photographs: of an inversion, those that were inverted, as a folder or READER:PATH: pairs can then be rated.

    Returns the project, whose methods invite raters, import, export and analyse answers. Raises BadInput where there
    are no images.

    ```python
    project = transect.annotate("runs/smile", questions=["paper"])
    project.import_answers("answers.csv")
    project.agreement().numbers.questions[0].alpha
    ```
    """
    check_place(run)
    texts = (None if each is None else str(each) for each in (database, photographs))
    return AnnotationProject(Path(run), tuple(map(str, questions)), *texts)


def same_person(
    answers: TableLike, pairs: TableLike, *, unanswered: Unanswered = "left out", question: str | None = None
) -> SamePersonResult:
    """Shares of "same" by kind of pair, familiarity and group, and face distances (Singh et al. 2021).

    answers: as `export` writes them, to a question about pairs whose first level is "same". pairs: columns first,
    second, kind and optionally study, group and distance. unanswered: whether no answer is left out or counts as same.
    Both are files, Arrow tables, data frames or columns by name. question: which one, where the answers are to several.
    Pairs are matched by study too where both files have it.

    Raises BadInput for files that cannot be read, pairs with two kinds, answers about pairs that are not listed, or
    answers to several questions; UnknownName for a question without an answer.
    """
    if unanswered not in ("left out", "same"):
        raise BadInput(f'--unanswered: expected "left out" or "same", got {unanswered!r}; choose one')
    return SamePersonResult(numbers_of(answers, pairs, unanswered, question))
