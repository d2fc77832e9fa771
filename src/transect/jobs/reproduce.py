"""Repeat a run in another folder, and compare every image, answer and number. Exit code 1: something differs."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY, dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, final

import pyarrow as pa

from transect.analysis import reporting
from transect.console.results import Rerun, file_in
from transect.errors import BadInput, Interrupted, UnknownName
from transect.experiment import rebuilt_audits
from transect.experiment.rebuilt_audits import Given, Rebuilt, check_names, of_versions
from transect.job import Content, Job, Option, function, opened, rerun
from transect.protocols import TargetLike
from transect.reports.blocks import Part
from transect.reports.columns import Column, Table
from transect.runs import bounds, command_record, compared_folders, trust, working_folders
from transect.runs.addresses import is_address
from transect.runs.command_record import Word
from transect.runs.compared_folders import (
    PIXELS,
    TOLERANCE,
    VERSIONS,
    Change,
    ColumnCompared,
    Outcome,
    TableCompared,
    outcome_of,
)
from transect.runs.folder import FinishedRun, read_record
from transect.runs.json_records import plain, read_json
from transect.runs.layout import beside, is_one_run, places_of, studies_of
from transect.runs.model_files import digest_of_input
from transect.runs.parts import announcing_stages
from transect.runs.wording import counted, shortened
from transect.targets.capabilities import is_metered
from transect.targets.kinds import ships

_LONGEST: Final = 80
"""Letters of a setting that the page shows."""
_RESULTS, _EFFECTS = "results.json", "effects.parquet"
_NOT_COMPARED: Final = ("transect_version", "world", "sections", "projections")
"""Keys of results.json that follow from versions, or that options of a later report add."""
_ANSWERS: Final = {
    "same bytes": "Reproduced: every table and every number is the same, bit for bit.",
    "within tolerance": "Reproduced within the tolerances, not bit for bit.",
    "differs": "Not reproduced: values differ by more than the tolerances.",
}
RERUN_MARK: Final = ".rerun"
"""The file of a rerun that has not ended."""
_NO_COMMAND: Final = (
    f"expected the command that made it, got none ({command_record.FILE}): a call in Python, and an earlier Transect, "
    "keep none; make the same call again into another folder"
)
REASONS: Final[Mapping[str, str]] = {
    "annotation.sqlite": "holds what people answered, which no command makes again",
    "ratings.csv": "holds what people answered, which no command makes again",
    "validation.json": "holds what people answered, which no command makes again",
    "training.json": "is a training, which can take days: train again with transect train into another folder",
    "ledger.json": "is a study, which is a chain of runs: reproduce the folder of a step",
    "*.json": _NO_COMMAND,
}
"""Why a folder that is neither an audit nor keeps its command is not made again, by the first file that is there."""
_JOB: Final = re.compile(r"[a-z]+(?: [a-z]+)?")
_PAID: Final = (
    "asks an HTTP API, whose calls may cost money; make the same call again into another folder where you want that"
)


@final
@dataclass(frozen=True, slots=True)
class ReproduceNumbers:
    """A rerun compared with its run; versions: that differ; settings: what follows; left_out: what was not compared."""

    run: str
    again: str
    outcome: Outcome
    pixels: int
    tolerance: float
    tables: tuple[TableCompared, ...]
    versions: tuple[Change, ...] = ()
    settings: tuple[Change, ...] = ()
    left_out: tuple[str, ...] = ()

    @property
    def reproduced(self) -> bool:
        """Whether everything that was compared is the same, or within the tolerances."""
        return self.outcome != "differs"


@final
@dataclass(frozen=True)
class Reproduce(Job[ReproduceNumbers]):
    """Make a run again, into another folder, and compare every value: an audit, or the output of another command.

    out: the folder of the rerun, by default RUN-again: one that is not there, is empty, or holds a rerun that was
    interrupted, which is resumed.

    A run can be a stranger's: of what its record names only data is opened, and models that come with Transect. trust:
    other models that may be opened, as the record names them; a Python module or TorchScript is code, and runs with
    your rights. A command is called in a process without a network, with an environment of its own.

    targets: of an audit, what its targets are, by the names that it gives them (texts NAME=SPEC, or specs and objects
    by name), where a name alone does not tell. files: where the files lie that it read (texts NAME=PATH, or paths by
    name): of an audit by the option that names them (generator, population, directions, latents, dataset), of another
    command also by their own names; files of commands are looked for here and beside the run. budget: the most calls
    to each target of an audit that counts them; without, none of them is asked. exact: allow no difference.

    On the machine and with the versions of the run, every byte is expected to be the same. Elsewhere a pixel may differ
    by 1 of 255, another number by 1e-4 of the larger of the two, or of 1 where both are smaller; answers, reasons and
    counts may not. The result has what differs, by table and column: `numbers.outcome`, `numbers.tables`.

    Raises BadInput, before anything is made, for a folder that cannot be made again, a model that is not trusted, a
    model or file that is not there or is another one; UnknownName for a target or file that the run does not have.

    ```python
    again = transect.reproduce("runs/smile", targets={"ours": "models/smile.onnx"})
    again.numbers.outcome
    ```
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False

    run: Annotated[
        str | Path,
        Option("A finished audit, or the output of another command.", metavar="RUN", argument=True, opens="data"),
    ]
    _: KW_ONLY
    out: Annotated[str | Path | None, Option("Folder of the rerun; default: RUN-again.", opens="write")] = None
    targets: Annotated[
        Sequence[str] | Mapping[str, TargetLike],
        Option(
            "NAME=SPEC: the model that the audit calls NAME; repeatable. See: transect list targets.",
            list[str],
            names=("--target",),
            opens="model",
        ),
    ] = ()
    trust: Annotated[
        Sequence[str],
        Option(
            "Open this model, which the run names; repeatable. By default Transect opens only data and its built-in "
            "models, because a model's code runs with your permissions.",
            metavar="MODEL",
            opens="model",
        ),
    ] = ()
    budget: Annotated[
        int | None,
        Option("Maximum number of calls to each target that counts them; default: do not ask these targets."),
    ] = None
    files: Annotated[
        Sequence[str] | Mapping[str, str | Path],
        Option(
            "NAME=PATH: where a file that the run read is now, by its option, such as generator=net.safetensors or "
            "dataset=folder:faces; repeatable. For commands other than audit, file names work too, and files are "
            "looked up here and next to RUN.",
            list[str],
            names=("--file",),
            opens="data",
        ),
    ] = ()
    exact: Annotated[bool, Option("Allow no difference, not even in the last bit.")] = False

    def place(self) -> Path:
        """The folder of the rerun."""
        if self.out is not None:
            return Path(self.out)
        folder = Path(self.run)
        named = folder if folder.name else folder.absolute()
        return named.with_name(f"{named.name}-again")

    def exit_code(self, numbers: ReproduceNumbers) -> int:
        """1 where something differs by more than the tolerances."""
        return int(not numbers.reproduced)

    def compute(self) -> ReproduceNumbers:
        """The run made again, and compared."""
        folder, again = Path(self.run), self.place()
        first, second = folder.resolve(), again.resolve()
        if first == second or first in second.parents or second in first.parents:
            raise BadInput(f"--out {again}: expected a folder outside the run, got one that shares it; choose another")
        # Raises BadInput for a folder with files that no interrupted rerun left, such as a finished run.
        if again.is_dir() and any(again.iterdir()) and not (again / RERUN_MARK).is_file():
            raise BadInput(
                f"--out {again}: expected an empty folder, or an interrupted rerun, got other files; choose another "
                "folder"
            )
        if self.budget is not None and self.budget < 1:
            raise BadInput(f"--budget: expected at least 1 call, got {self.budget}; leave it out to make none")
        files = {name: str(path) for name, path in _by_name("--file", self.files, str.partition).items()}
        given = Given(_by_name("--target", self.targets, str.rpartition), files, self.trust, self.budget, again)
        make = _command if (folder / command_record.FILE).is_file() else _audit
        numbers = make(folder, again, given, 0.0 if self.exact else TOLERANCE, quiet=self.quiet)
        (again / RERUN_MARK).unlink(missing_ok=True)
        return numbers

    def content(self, numbers: ReproduceNumbers) -> Content:
        """Whether the run was reproduced, and what differs."""
        columns = Table("Columns that differ", [(t, c) for t in numbers.tables for c in t.columns], COLUMNS)
        changes = Table("Versions, and what follows from them", [*numbers.versions, *numbers.settings], CHANGES)
        shown = Table("Tables of the run", numbers.tables, TABLES)
        further = [table for table in (columns, changes) if table.records]
        return Content(
            title=f"{working_folders.display_name(numbers.run)}, made again",
            answer=[_ANSWERS[numbers.outcome]],
            remarks=[_tolerances(numbers)],
            warnings=_warnings(numbers),
            parts=[Part(f"table-{at}", table.title, (table,)) for at, table in enumerate([shown, *further])],
            rows=pa.Table.from_pylist([dict(plain(row)) for row in numbers.tables]),
            terminal=[_ANSWERS[numbers.outcome], shown, *([columns] if columns.records else [])],
        )


reproduce = function(Reproduce)


def _tolerances(numbers: ReproduceNumbers) -> str:
    if not numbers.pixels:
        return "No difference was allowed."
    return (
        f"A pixel may differ by {numbers.pixels} of 255, another number by {numbers.tolerance:g} of the larger of the "
        "two (or of 1, where both are smaller); answers, reasons and counts must be the same."
    )


def _warnings(numbers: ReproduceNumbers) -> list[str]:
    """Other versions, and what was left out."""
    named = [f"{each.name.removeprefix(VERSIONS)} {each.was} → {each.is_now}" for each in numbers.versions]
    return [*([f"Other versions: {', '.join(named)}."] if named else []), *numbers.left_out]


def _comparison(table: TableCompared) -> str:
    """What was found of a table, in words."""
    if table.same_bytes:
        return "the same, bit for bit"
    beyond = sum(column.beyond > 0 for column in table.columns)
    if beyond:
        return f"{counted(beyond, 'column')} beyond tolerance"
    within = f"{counted(len(table.columns), 'column')} within tolerance"
    return within if table.columns else "the same values in other bytes"


def _size(column: ColumnCompared) -> str:
    if column.largest is None:
        return ""
    return f"{column.largest:g} of 255" if column.column == "image" else f"{column.largest:.2g}"


TABLES: Final[Sequence[Column[TableCompared]]] = (
    Column("table", "name"),
    Column("rows", "rows", "count"),
    Column("what was found", _comparison),
)
COLUMNS: Final[Sequence[Column[tuple[TableCompared, ColumnCompared]]]] = (
    Column("table", lambda each: each[0].name),
    Column("column", lambda each: each[1].column),
    Column("rows that differ", lambda each: each[1].differing, "count"),
    Column("beyond tolerance", lambda each: each[1].beyond, "count"),
    Column("largest difference", lambda each: _size(each[1]), "figure"),
)
CHANGES: Final[Sequence[Column[Change]]] = (
    Column("what", "name"),
    Column("run", lambda change: shortened(change.was, _LONGEST)),
    Column("rerun", lambda change: shortened(change.is_now, _LONGEST)),
)


def _by_name(
    option: str, texts: Sequence[str] | Mapping[str, object], cut: Callable[[str, str], tuple[str, str, str]]
) -> dict[str, Any]:
    """What an option gives by name, from NAME=VALUE texts. Raises BadInput for another text.

    >>> _by_name("--target", ["ours=models/smile.onnx"], str.rpartition)
    {'ours': 'models/smile.onnx'}
    """
    if isinstance(texts, Mapping):
        return dict(texts)
    named: dict[str, str] = {}
    for text in texts:
        name, equals, value = cut(text, "=")
        if not (name and equals and value) or name in named:
            raise BadInput(f"{option} {text!r}: expected NAME=VALUE, each name once")
        named[name] = value
    return named


def _begin(again: Path) -> None:
    again.mkdir(parents=True, exist_ok=True)
    (again / RERUN_MARK).touch()


def _command(folder: Path, again: Path, given: Given, tolerance: float, *, quiet: bool) -> ReproduceNumbers:
    for option, value in (("--budget", given.budget), ("--target", given.targets)):
        if value:
            raise BadInput(f"{option} applies to audits; leave it out")
    words, models = words_of(folder, again, given.files, given.trust)
    _begin(again)
    call(words, models, quiet=quiet)
    tables, lacking = compared_folders.compared_folders(folder, again, tolerance)
    if not tables:
        raise BadInput(f"{folder}: no files to compare with those of {again}; repeat the run")
    was, is_now = (command_record.read(place).versions for place in (folder, again))
    changed = [Change(f"{VERSIONS}{name}", was.get(name, ""), is_now.get(name, "")) for name in {**was, **is_now}]
    changed = [change for change in changed if change.was != change.is_now]
    for place in sorted(path.parent.relative_to(folder) for path in folder.rglob("run.json")):
        changed += of_versions(folder / place, read_record(folder / place), read_record(again / place))
    left_out = [f"Not compared: {'; '.join(lacking)}."] if lacking else []
    return _numbers((folder, again), tables, changed, left_out, tolerance)


def _audit(folder: Path, again: Path, given: Given, tolerance: float, *, quiet: bool) -> ReproduceNumbers:
    with ExitStack() as stack:
        stack.enter_context(trust.only(given.opened))
        rebuilt = []
        for finished, place in _runs(folder, given):
            rebuilt.append(rebuilt_audits.rebuild(finished, place, given))
            stack.callback(rebuilt_audits.close, rebuilt[-1], given)
        metered = any(is_metered(target) for part in rebuilt for target in part.study.targets)
        if given.budget is not None and not metered:
            raise BadInput("--budget: the run has no metered target; leave it out")
        _begin(again)
        for part in rebuilt:
            rebuilt_audits.make(part, folder, again, quiet=quiet)
    tables = [table for part in rebuilt for table in _of_tables(part, folder, again, tolerance)]
    left_out = _not_asked(rebuilt)
    if not left_out:
        reported, left_out = _report(folder, again, tolerance, quiet=quiet)
        tables = [*reported, *tables]
    changed = [change for part in rebuilt for change in part.changed]
    return _numbers((folder, again), tables, changed, left_out, tolerance)


def _numbers(
    folders: tuple[Path, Path],
    tables: Sequence[TableCompared],
    changed: Sequence[Change],
    left_out: Sequence[str],
    tolerance: float,
) -> ReproduceNumbers:
    """What the tables come to. folders: of run and rerun; changed: what their descriptions have otherwise."""
    changed = tuple(dict.fromkeys(changed))
    versions = tuple(change for change in changed if change.name.startswith(VERSIONS))
    settings = tuple(change for change in changed if change not in versions)
    outcome, pixels = outcome_of(tables, tolerance), PIXELS if tolerance else 0
    run, again = map(str, folders)
    return ReproduceNumbers(run, again, outcome, pixels, tolerance, tuple(tables), versions, settings, tuple(left_out))


def _runs(folder: Path, given: Given) -> list[tuple[FinishedRun, str]]:
    """Every run of an audit with its place. Raises BadInput, in one line, for a folder that no audit made."""
    if not studies_of(folder) and not (is_one_run(folder) and "design" in read_record(folder)):
        for pattern, reason in REASONS.items():
            if any(folder.glob(pattern)):
                raise BadInput(f"{folder}: {reason}")
        raise BadInput(f"{folder} is not a run folder: expected a run.json or {command_record.FILE} in it")
    runs = [FinishedRun(place) for place in (*places_of(folder), *beside(folder))]
    check_names(given, [run.spec for run in runs])
    relative = [run.path.relative_to(folder).as_posix() for run in runs]
    return [(run, "" if place == "." else place) for run, place in zip(runs, relative, strict=True)]


def _of_tables(part: Rebuilt, folder: Path, again: Path, tolerance: float) -> list[TableCompared]:
    was, is_now = FinishedRun(folder / part.place), FinishedRun(again / part.place)
    return [
        replace(compared_folders.table_of_parts(was, is_now, table, part.spec.parts, tolerance), place=part.place)
        for table in rebuilt_audits.tables_of(part.spec, part.not_asked)
    ]


def _not_asked(rebuilt: Sequence[Rebuilt]) -> list[str]:
    names = dict.fromkeys(name for part in rebuilt for name in part.not_asked)
    return [
        f"Not asked again: {name}, whose calls may cost money; give --budget CALLS. Its answers, and the report, were "
        "not compared."
        for name in names
    ]


def _report(folder: Path, again: Path, tolerance: float, *, quiet: bool) -> tuple[list[TableCompared], list[str]]:
    """The effects and every number of the report, compared; and what of the report was not."""
    if not (folder / _RESULTS).is_file():
        return [], [f"The report was not compared: the run has none; write it: transect report {folder}"]
    was = read_json(folder / _RESULTS, "the results of a run", f"write them again: transect report {folder}")
    rebuilt_audits.copy_stored(folder, again)
    with announcing_stages(quiet=quiet):
        is_now = reporting.report(again).results
    same = [(folder / name).read_bytes() == (again / name).read_bytes() for name in (_EFFECTS, _RESULTS)]
    before, after = (bounds.read_parquet(place / _EFFECTS) for place in (folder, again))
    effects = compared_folders.tables(_EFFECTS, [(before, after)], same[:1], tolerance)
    numbers = compared_folders.numbers(_RESULTS, _comparable(was), _comparable(is_now), tolerance, same_bytes=same[1])
    return [effects, numbers], _added(was)


def _comparable(results: Mapping[str, object]) -> dict[str, Any]:
    return {key: value for key, value in results.items() if key not in _NOT_COMPARED}


def _added(was: Mapping[str, Any]) -> list[str]:
    """What the run's report has more of, by options that a run does not keep."""
    if not was.get("projections"):
        return []
    count = counted(len(was["projections"]), "projection")
    return [f"{count} (--shares) not made again: a run does not keep these options of transect report."]


def words_of(
    folder: Path, again: Path, files: Mapping[str, str | Path], trusted: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The command line that makes a folder again in another one, and the models that it may open."""
    record = command_record.read(folder)
    declared = _declared(record.job, folder)
    with_files = [word for word in record.words if word.sha256]
    known = {name: None for word in with_files for name in (word.option.removeprefix("--"), str(word.text)) if name}
    for name in files:
        if name not in known:
            raise UnknownName("file of the run", name, known)
    models, options, arguments = [*trusted], [], []
    for word in record.words:
        kind = declared.kind(word.option)
        if kind == "model":
            _check_model(word, folder, trusted)
        elif not kind:
            raise _damaged(folder, f"no {word.option or 'argument'!r}, got one")
        value = word.text if kind == "value" else _input(word, folder, files)
        if kind == "model":
            models.append(str(value))
        if word.option:
            options.append(word.option if value is None else f"{word.option}={value}")
        else:
            arguments.append(str(value))
    writes = [f"--{option}={again / name if name else again}" for option, name in declared.writes.items()]
    return [*record.job.split(), *options, *writes, *(["--", *arguments] if arguments else [])], models


def _declared(job: str, folder: Path) -> Rerun:
    """What a job declares of its own command. Raises BadInput for one that declares nothing."""
    module = job.replace(" ", "_")
    if _JOB.fullmatch(job) and find_spec(f"transect.jobs.{module}") and (kind := opened(module)) and kind.KEPT:
        return rerun(kind)
    raise _damaged(folder, f"a command that is made again, got {job!r}")


def _damaged(folder: Path, expected: str) -> BadInput:
    return BadInput(f"{folder / command_record.FILE}: expected {expected}; restore the file")


def _check_model(word: Word, folder: Path, trusted: Sequence[str]) -> None:
    spec = f"{word.before}{word.text}{word.after}"
    if spec.lower().endswith(".toml"):
        raise BadInput(f"{folder}: {_PAID}")
    if not ships(spec):
        trust.check_among(trusted, spec)


def _input(word: Word, folder: Path, files: Mapping[str, str | Path]) -> str | None:
    """The value of a word that may name a file, where the file now lies."""
    value = word.text
    if value is None:
        return None
    if is_address(f"{word.before}{value}"):
        raise BadInput(
            f"{folder}: its command reads {word.before}{value}, which a rerun does not open; run the command "
            "yourself, with another folder"
        )
    if word.sha256:
        return f"{word.before}{_found(word, folder, files)}{word.after}"
    if file_in(value) is not None:
        raise _damaged(folder, f"the digest of {value!r}, which names a file here, got none")
    return value


def _found(word: Word, folder: Path, files: Mapping[str, str | Path]) -> Path:
    """The file or folder of a word: where the user says, else of that name here, or beside the run's folder."""
    name = str(word.text)
    if not name or name in (".", "..") or set(name) & set("/\\\0"):
        raise _damaged(folder, f"the name of a file, got {name!r}")
    stated = files.get(name, files.get(word.option.removeprefix("--")))
    for path in (Path(name), folder.parent / name) if stated is None else (Path(stated),):
        if path.exists() and digest_of_input(path) == word.sha256:
            return path
        if path.exists() and stated is not None:
            raise BadInput(f"{path}: not the {name} of the run; give the right file: --file '{name}=PATH'")
    raise BadInput(f"{folder}: its {name} is missing; say where it is: --file '{name}=PATH'")


def call(words: Sequence[str], models: Sequence[str], *, quiet: bool) -> None:
    """Call a command that may open these models. Raises BadInput with its message where it fails, and Interrupted."""
    stderr = subprocess.PIPE if quiet else None
    line = [sys.executable, "-P", "-m", "transect", *words]  # -P: this folder's files shadow no library
    done = subprocess.run(  # noqa: S603  (ours)
        line, stdout=subprocess.DEVNULL, stderr=stderr, text=True, check=False, env=trust.environment(models)
    )
    if done.returncode == Interrupted.exit_code:
        raise Interrupted("interrupted; rerun the command to resume")
    if done.returncode:
        said = (done.stderr or "").strip().splitlines()
        reason = said[-1].removeprefix("transect: ") if said else "see the message above"
        raise BadInput(f"the rerun failed: {reason}")
