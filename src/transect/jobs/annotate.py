"""Have people rate images, and use their answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import KW_ONLY, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, TypeVar, final

import pyarrow as pa
import typer

from transect.analysis import rater_report, rater_validation
from transect.analysis import same_person as pairs_of_people
from transect.analysis.rater_page import write
from transect.analysis.rater_validation import StudyValidation
from transect.analysis.same_person import SamePersonNumbers, Unanswered
from transect.analysis.sections import rated_sets
from transect.analysis.sections.raters import Rated
from transect.annotation.agreement.image_validation import Gates
from transect.annotation.agreement.numbers import Agreement
from transect.annotation.sources import FILE, Pictures, check_place, home_of, is_texts, source_of
from transect.console.options import Json, with_options
from transect.errors import BadInput
from transect.job import AnyJob, Content, Finished, Job, Option, function, name_of
from transect.options import asked, check, named_in_python
from transect.ratings.rating_tables import parse_rules
from transect.reports.columns import Table
from transect.runs.human_answers import JudgeAgreement
from transect.runs.json_records import dumps, plain
from transect.runs.layout import is_run
from transect.runs.result import Result
from transect.runs.table_inputs import TableLike, as_names
from transect.runs.wording import counted, spaced
from transect.texts import say

if TYPE_CHECKING:
    from transect.annotation.exchange.incoming import Imported
    from transect.annotation.project import Project

RESUMES_FROM: Final = "answers that were stored"
Numbers = TypeVar("Numbers")


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

    run: where the images are, as `annotate` takes it. questions: names of built-in questions or TOML files; they are
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
        from transect.annotation.exchange.answer_tables import SCHEMA
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

    def agreement(self) -> Finished[Agreement]:
        """How far raters agree with each other, with known answers and with themselves.

        Figures that are not known are NaN.
        """
        import transect.annotation.database  # noqa: F401  (as above)
        from transect.annotation.agreement.summary import summary

        with self._opened() as project:
            return Finished(summary(project), AnnotateAgreement(self.run, database=self.database))

    def validate(
        self, condition: str = "condition", quality: str = "quality", gates: Gates | None = None
    ) -> Finished[Mapping[str, StudyValidation]]:
        """Check whether images show the intended condition and look equally good (McDuff et al. 2019).

        condition, quality: names of the two questions. Writes RUN/validation.json, which `--require-validation` reads.
        Raises BadInput where a study has no answer.
        """
        studies = self.studies()
        if empty := [study.name for study in studies if not study.rated] or ([] if studies else [str(self.run)]):
            raise BadInput(f"{', '.join(empty)}: no answers from raters; have them rated")
        entries = {
            study.name: StudyValidation.of_run(
                rater_validation.of_generator(study, condition, quality, gates),
                study.audited.spec.generator.facts,
                rater_validation.simulated_answers(study, condition, quality),
            )
            for study in studies
        }
        rater_validation.store(self.run, entries)
        return Finished(entries, AnnotateValidation(self.run, database=self.database))

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
        """Write the page about the raters: agreement, answers along transects, faces by score, largest deviations.

        out: a folder, by default RUN/annotations. scale: of answers. prune: rules such as "fakeness>=0.75" whose images
        are marked. beside: other rated images, as `annotate` takes them, whose distributions of answers stand beside
        these. by: the question whose scale splits the images of each in two.

        Raises BadInput for images without answers, UnknownName for a question that was not asked about all.
        """
        rules = [rule for rules in parse_rules(as_names(prune)).values() for rule in rules]
        studies = self.studies(scale)
        page = rater_report.page(studies, rules, self.run.name)
        validated = [
            rater_validation.section(
                study.name,
                rater_validation.of_generator(study),
                study.run.attributes,
                rater_validation.simulated_answers(study),
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
            raise BadInput("--beside: a folder is given twice; leave one out")
        sets: dict[str, Sequence[Rated]] = {}
        for place, of_place in rated.items():
            name = Path(place).name if names.count(Path(place).name) == 1 else place
            if not any(study.rated for study in of_place):
                raise BadInput(f"--beside {place}: no answers from raters yet; collect answers")
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
        import transect.annotation.database  # noqa: F401  (as above)
        from transect.analysis.judge_agreement import measure

        with self._opened() as project:
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


def annotate(
    run: str | Path,
    *,
    questions: Sequence[str | Path] = (),
    database: str | Path | None = None,
    photographs: str | Path | None = None,
) -> AnnotationProject:
    """The annotation of images: its questions, its raters and their answers.

    run: a run folder (of an audit, an inversion or encoding, or a data set that `render` wrote), a folder of studies, a
    folder of images, a data set as READER:PATH, or as texts:RUN the texts that a judge coded. questions: built-in ones
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


RUN: Final = Option(
    "A run folder (audit, inversion, encoding, data set), a folder of studies or images, READER:PATH, or texts:FOLDER.",
    metavar="RUN",
    argument=True,
)
DATABASE: Final = Option(
    "A file or postgresql://user@host/name; default in RUN/annotations/ or annotations-NAME/.",
)
QUESTIONS: Final = Option(
    "paper (default), monk, pairs, same-person, quality, edits or a TOML file; repeatable. Fixed once used."
)
PHOTOGRAPHS: Final = Option(
    "For an inversion: its photographs, a folder or READER:PATH, to rate pairs of original and inverted. Fixed at "
    "first use."
)


@dataclass(frozen=True)
class _Unopened(Job[Numbers]):
    """A job about what people rate."""

    OUT: ClassVar = None
    KEPT: ClassVar = False

    quiet: bool = field(default=False, init=False)

    def place(self) -> None:
        """No page before one asks for it."""

    def content(self, numbers: Numbers) -> Content:
        """What was done, a line for each fact; what is empty is left out."""
        lines = [f"{spaced(name)}: {_words(value)}" for name, value in plain(numbers).items() if value != {}]
        return Content(name_of(type(self)), lines[:1], terminal=lines)


def _words(value: object) -> object:
    texts = [f"{key} {entry}" for key, entry in value.items()] if isinstance(value, dict) else value
    return ", ".join(texts) if isinstance(texts, list) else texts


@dataclass(frozen=True)
class _OfRun(_Unopened[Numbers]):
    """A job about the images of a run that people rate."""

    run: Annotated[Path, RUN]
    _: KW_ONLY
    database: Annotated[str | None, DATABASE] = None

    @property
    def project(self) -> AnnotationProject:
        """The questions, raters and answers about the images."""
        import transect.annotation.database  # noqa: F401  (names the missing extra)

        return AnnotationProject(self.run, (), self.database)


@dataclass(frozen=True)
class _Asking(_OfRun[Numbers]):
    """A job that may make the database, whose questions are fixed from then on."""

    _: KW_ONLY
    questions: Annotated[Sequence[str], QUESTIONS] = ()
    photographs: Annotated[str | None, PHOTOGRAPHS] = None

    @property
    def project(self) -> AnnotationProject:
        """As for a job that asks nothing, with the questions."""
        return replace(super().project, questions=tuple(self.questions), photographs=self.photographs)


@final
@dataclass(frozen=True, slots=True)
class Invitations:
    """Links of new raters, and their names."""

    links: tuple[str, ...]
    raters: tuple[str, ...]


@final
@dataclass(frozen=True)
class AnnotateInvite(_Asking[Invitations]):
    """Create raters and print a link for each. Links are printed once: only their hashes are stored."""

    raters: Annotated[int, Option("Number of new raters.")] = 1
    url: Annotated[
        str | None, Option("Start of the links; default: the last served address, or port 8000 on this machine.")
    ] = None

    def compute(self) -> Invitations:
        """The raters, created."""
        made = self.project.invite(self.raters, self.url)
        return Invitations(tuple(each.link for each in made), tuple(each.rater for each in made))

    def content(self, numbers: Invitations) -> Content:
        """A line for each rater."""
        lines = [f"{rater}  {link}" for rater, link in zip(numbers.raters, numbers.links, strict=True)]
        return Content("Invited raters", [counted(len(lines), "new rater")], terminal=lines)


@final
@dataclass(frozen=True)
class AnnotateExport(_Asking[Mapping[str, Any]]):
    """Write answers, or tasks for other services, to files."""

    out: Annotated[Path | None, Option("Output file; default by format, next to the database.", opens="write")] = None
    kind: Annotated[
        str,
        Option(
            "answers (.csv or .parquet), ratings (for --ratings of report), pairs (for same-person), mturk, "
            "ground-truth, label-studio.",
            names=("--format",),
        ),
    ] = "answers"
    scale: Annotated[str, Option("Scale of ratings: attribute (its units) or unit (0 to 1, as --prune expects).")] = (
        "attribute"
    )
    price: Annotated[float | None, Option("Also print the cost of all answers at this price per answer.")] = None
    image_url: Annotated[
        str, Option("For mturk, ground-truth and label-studio: start of the addresses of pictures.")
    ] = ""

    def compute(self) -> Mapping[str, object]:
        """What was written; bad options are refused before the database is made."""
        rated = self.project
        from transect.annotation import progress
        from transect.annotation.exchange import outgoing
        from transect.annotation.exchange.crowd import check_level_names
        from transect.annotation.questions import load

        outgoing.default(self.run, self.kind)
        if self.price is not None:
            progress.check_price(self.price)
        checked = self.questions if self.kind == "label-studio" else ()
        for question in load([*checked]).question if checked else ():
            check_level_names(question)
        written = rated.export(self.out, self.kind, self.scale, self.image_url)
        if self.price is not None:
            with closing((opened := rated.open()).database):
                written["cost"] = progress.estimate(opened, self.price)
        return written


@final
@dataclass(frozen=True, slots=True)
class ImportedAnswers:
    """Answers of a file: taken, there already, their new raters, and those that were left out, by reason."""

    imported: int
    already_there: int
    new_raters: int
    left_out: Mapping[str, int]


@final
@dataclass(frozen=True)
class AnnotateImport(_Asking[ImportedAnswers]):
    """Import answers from a file, all or none; no answer is imported twice."""

    file: Annotated[Path, Option("The file of answers.", metavar="FILE", argument=True)]
    kind: Annotated[
        str, Option("answers (.csv or .parquet), mturk, ground-truth, label-studio.", names=("--format",))
    ] = "answers"

    def compute(self) -> ImportedAnswers:
        """The answers, imported."""
        found = self.project.import_answers(self.file, self.kind)
        return ImportedAnswers(found.answers, found.duplicates, found.raters, dict(found.left_out))


@final
@dataclass(frozen=True)
class AnnotateAgreement(_OfRun[Agreement]):
    """Measure how well raters agree with each other, with known answers and with themselves."""

    def compute(self) -> Agreement:
        """The figures of every question and rater."""
        return self.project.agreement().numbers

    def content(self, numbers: Agreement) -> Content:
        """A line for each question and rater."""
        from transect.annotation.agreement.summary import lines

        first = numbers.questions[0]
        simulated = f" ({numbers.simulated} of simulated raters)" if numbers.simulated else ""
        said = f"{numbers.answers} answers{simulated}; Krippendorff's alpha of {first.question}: {first.alpha:z.3f}"
        by_rater = [{"question": each.question, **plain(one)} for each in numbers.questions for one in each.by_rater]
        return Content(
            title="Agreement between raters",
            answer=[said],
            table=Table("Agreement by question", numbers.questions, rater_report.QUESTION_COLUMNS),
            rows=pa.Table.from_pylist(by_rater),
            terminal=lines(numbers),
        )


@final
@dataclass(frozen=True)
class AnnotateReport(_OfRun[Mapping[str, Any]]):
    """Write the page about the raters: agreement, answers along transects, faces by score, largest deviations.

    Answers come from the annotation database, or, where the run has none, from the file kept by --ratings.
    """

    out: Annotated[Path | None, Option("The folder of the page; default next to the database.", opens="write")] = None
    scale: Annotated[str, Option("For answers: attribute (its units) or unit (0 to 1).")] = "attribute"
    prune: Annotated[
        Sequence[str], Option("Mark images that this rule leaves out, e.g. 'fakeness>=0.75'; repeatable.")
    ] = ()
    beside: Annotated[
        Sequence[str],
        Option("Compare the distributions of all answers with those of RUN, other rated images; repeatable."),
    ] = ()
    by: Annotated[str, Option("Distributions by this question, in two halves of its scale.")] = ""

    def compute(self) -> Mapping[str, object]:
        """The page, written, and its counts."""
        page = self.project.raters_page(self.out, self.scale, self.prune, self.beside, self.by)
        return {"report": str(page.path), **page.facts}


@final
@dataclass(frozen=True)
class AnnotateMachine(_Unopened[Mapping[str, Any]]):
    """Have a model answer the questions about single images; its answers are marked as machine answers.

    Pass the file to `--perceived` of report, not to `--ratings`, which is for people.
    """

    run: Annotated[Path, RUN]
    _: KW_ONLY
    rater: Annotated[
        str, Option("attributes (the built-in network), or clip:FOLDER of a saved CLIP in safetensors.")
    ] = "attributes"
    questions: Annotated[Sequence[str], QUESTIONS] = ("paper",)
    out: Annotated[
        Path | None, Option("CSV or Parquet; default machine.parquet next to the database.", opens="write")
    ] = None
    device: Annotated[str, Option("Where the network runs: cpu, cuda and so on.")] = "cpu"

    def compute(self) -> Mapping[str, object]:
        """The answers, written."""
        from transect.annotation.machine import write

        return write(self.run, self.rater, tuple(self.questions), self.out, self.device)


@final
@dataclass(frozen=True, slots=True)
class WrittenQuestions:
    """A file of questions, and their names."""

    out: str
    questions: tuple[str, ...]


@final
@dataclass(frozen=True)
class AnnotateQuestions(_Unopened[WrittenQuestions]):
    """Write questions about the quality of a run's images and about each varied attribute (McDuff et al. 2019).

    Read the wording, change it where you like, and give the file to: transect annotate serve RUN --questions OUT.
    """

    run: Annotated[Path, RUN]
    out: Annotated[Path, Option("The TOML file of questions to write.", metavar="OUT", argument=True, opens="write")]

    def compute(self) -> WrittenQuestions:
        """The questions, written."""
        from transect.annotation.condition_questions import write_questions

        return WrittenQuestions(str(self.out), tuple(write_questions(self.run, self.out)))


@final
@dataclass(frozen=True)
class AnnotateValidation(_OfRun[Mapping[str, StudyValidation]]):
    """Check with raters whether images show the intended condition and look equally good (McDuff et al. 2019).

    Writes RUN/validation.json. The questions are those of `--questions quality`, or of `transect annotate questions`.
    """

    condition: Annotated[str, Option("The question about the condition that was set.")] = "condition"
    asked_quality: Annotated[str, Option("The question about the picture's quality.", names=("--quality",))] = "quality"
    gates: Gates = field(default_factory=Gates)
    require: Annotated[bool, Option("Exit with an error if a gate is not met.")] = False

    def compute(self) -> Mapping[str, StudyValidation]:
        """The gates of each study."""
        return self.project.validate(self.condition, self.asked_quality, self.gates).numbers

    def exit_code(self, numbers: Mapping[str, StudyValidation]) -> int:
        """0. Raises BadInput where a gate is required and not met."""
        if self.require:
            rater_validation.require(self.run / rater_validation.FILE, numbers)
        return 0

    def content(self, numbers: Mapping[str, StudyValidation]) -> Content:
        """The result in words, study by study."""
        lines = [line for name, study in numbers.items() for line in rater_validation.words_of(name, study)]
        rows = [{"study": name, **plain(group)} for name, study in numbers.items() for group in study.groups]
        return Content(
            title="Raters' validation of the images",
            answer=lines[:1],
            table=Table("Studies", [*numbers.items()], rater_validation.STUDY_COLUMNS),
            rows=pa.Table.from_pylist(rows),
            terminal=lines,
        )


@final
@dataclass(frozen=True)
class AnnotateSamePerson(_Unopened[SamePersonNumbers]):
    """Count how often raters take two images for the same person, by familiarity and group (Singh et al. 2021)."""

    answers: Annotated[TableLike, Option("Answers about pairs, as exported.", Path, metavar="ANSWERS", argument=True)]
    pairs: Annotated[TableLike, Option("CSV of pairs: first, second, kind; optionally study, group, distance.", Path)]
    _: KW_ONLY
    question: Annotated[str | None, Option("Question to analyse, if the file has several.")] = None
    unanswered: Annotated[Unanswered, Option('How to count a missing answer: "left out" or "same".')] = "left out"

    def compute(self) -> SamePersonNumbers:
        """The shares, by kind of pair, familiarity and group."""
        return pairs_of_people.same_person_numbers(self.answers, self.pairs, self.unanswered, self.question)

    def content(self, numbers: SamePersonNumbers) -> Content:
        """The shares and the face distances."""
        return Content(
            title="Pairs that raters take for the same person",
            answer=pairs_of_people.lines(numbers)[:1],
            remarks=pairs_of_people.notes(numbers),
            table=Table("Answers by kind of pair and group", numbers.rows, pairs_of_people.PAIR_COLUMNS),
            rows=pa.Table.from_pylist(plain(numbers.rows)),
            terminal=pairs_of_people.lines(numbers),
        )


same_person = function(AnnotateSamePerson, "same_person")


@final
@dataclass(frozen=True)
class AnnotateJudge(_OfRun[Mapping[str, JudgeAgreement]]):
    """Measure how well a run's judge model agrees with people's codes of its texts (RUN: texts:FOLDER).

    Writes judge_agreement.json into the run's folder, which its report reads.
    """

    def compute(self) -> Mapping[str, JudgeAgreement]:
        """The agreement of each study's judge."""
        return self.project.judge()

    def content(self, numbers: Mapping[str, JudgeAgreement]) -> Content:
        """A line for each code, level and effect."""
        from transect.analysis.judge_agreement import lines

        said = lines(numbers)
        return Content("A judge model's agreement with people", said[:1], terminal=said)


@final
@dataclass(frozen=True)
class Serving:
    """How the pages for raters and for the organiser are served."""

    run: Annotated[Path, RUN]
    _: KW_ONLY
    host: Annotated[str, Option("Address to listen on; by default only this machine can connect.")] = "127.0.0.1"
    port: Annotated[int, Option("Port to listen on; 0: any free port.", least=0, most=65535)] = 8000
    database: Annotated[str | None, DATABASE] = None
    questions: Annotated[Sequence[str], QUESTIONS] = ()
    public_url: Annotated[
        str | None,
        Option("Public address behind a proxy, such as https://rate.example; requests for other names are refused."),
    ] = None
    examples: Annotated[
        bool, Option("Show rendered example faces next to the levels.", names=("--examples/--no-examples",))
    ] = True
    photographs: Annotated[str | None, PHOTOGRAPHS] = None

    def __post_init__(self) -> None:
        check(self)

    def serve(self, *, json: bool = False) -> None:
        """Serve the pages until the command is stopped; bad input is refused before a database is made."""
        import transect.annotation.database  # noqa: F401  (says which extra is missing)
        from transect.annotation.questions import check_examples, load, render_examples
        from transect.annotation.raters import environment_password, set_password
        from transect.annotation.server.app import create_app
        from transect.annotation.server.listening import check_address, reached, serve

        url, hosts = reached(self.host, self.public_url)
        environment_password()
        if self.examples and self.questions:
            check_examples(load([*self.questions]))
        check_address(self.host, self.port)
        rated = AnnotationProject(self.run, tuple(self.questions), self.database, self.photographs)
        project = rated.open()
        password = set_password(project.database)
        folder = render_examples(project.questionnaire, rated.home) if self.examples else None
        secure = bool(self.public_url and self.public_url.startswith("https://"))
        public = (url or "").partition("://")[2]
        app = create_app(project, hosts, examples=folder, secure=secure, public=public)

        def ready(listening: int) -> None:
            address = url or f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{listening}"
            project.database.set({"url": address})
            _announce(address, self.host, listening, password, json)

        try:
            serve(app, self.host, self.port, ready)
        finally:
            project.database.close()


@with_options(Serving)
def serve(context: typer.Context, json: Json = False, **given: object) -> None:  # noqa: ARG001
    """Serve the pages for raters and for the organiser until you stop the command.

    The organiser's password comes from TRANSECT_ADMIN_PASSWORD; without it, a password is generated and printed once.
    """
    asked(Serving, given).serve(json=json)


def _announce(address: str, host: str, port: int, password: str | None, as_json: bool) -> None:
    from transect.annotation.server.listening import LOOPBACK

    open_to = "only this machine" if host in LOOPBACK else "every machine that reaches this one"
    if as_json:
        facts = {"url": address, "admin": f"{address}/admin", "host": host, "port": port, "password": password}
        say(dumps(facts, None))
        return
    lines = [f"raters and organiser: {address} (open to {open_to}; organiser: {address}/admin)"]
    if password is not None:
        lines.append(f"the organiser's password, shown this once: {password}")
    say("\n".join(lines))
    if host not in LOOPBACK and not address.startswith("https://"):
        say("warning: without HTTPS in front of it, links and answers can be read on their way", error=True)


COMMANDS: Final[Mapping[str, type[AnyJob] | Callable[..., None]]] = {
    "serve": serve,
    "invite": AnnotateInvite,
    "export": AnnotateExport,
    "import": AnnotateImport,
    "agreement": AnnotateAgreement,
    "report": AnnotateReport,
    "machine": AnnotateMachine,
    "questions": AnnotateQuestions,
    "validate": AnnotateValidation,
    "same-person": AnnotateSamePerson,
    "judge": AnnotateJudge,
}

# Methods take the options of several of these jobs, so errors name the arguments of all.
_in_python = named_in_python(*(each for each in COMMANDS.values() if isinstance(each, type)))
for _name, _method in [*vars(AnnotationProject).items()]:
    if callable(_method) and not _name.startswith("_"):
        setattr(AnnotationProject, _name, _in_python(_method))
