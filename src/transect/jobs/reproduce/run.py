"""`transect.reproduce`: run again what a run describes, into another folder, and compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, final

import pyarrow as pa

from transect.analysis import reporting
from transect.errors import BadInput
from transect.jobs.reproduce import calling, comparing, rerunning
from transect.jobs.reproduce.comparing import (
    PIXELS,
    TOLERANCE,
    VERSIONS,
    Change,
    ColumnCompared,
    ReproduceNumbers,
    TableCompared,
    outcome_of,
)
from transect.jobs.reproduce.rerunning import Given, Rebuilt, check_names, of_versions
from transect.protocols import TargetLike
from transect.reports.blocks import TextTable
from transect.reports.builder import ShortPageResult
from transect.runs import bounds, command_record
from transect.runs.folder import FinishedRun, read_record
from transect.runs.json_records import plain, read_json
from transect.runs.layout import beside, is_one_run, places_of, studies_of
from transect.runs.parts import announcing_stages
from transect.runs.trust import only
from transect.runs.wording import counted, shortened
from transect.targets.capabilities import is_metered

_HEADINGS: Final = ("table", "rows", "what was found")
_OF_COLUMNS: Final = ("table", "column", "rows that differ", "beyond tolerance", "largest difference")
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


@final
@dataclass(frozen=True, slots=True)
class ReproduceResult(ShortPageResult[ReproduceNumbers]):
    """A rerun compared with its run. reproduced: `numbers.reproduced`."""

    JOB: ClassVar[str] = "reproduce"
    TITLE: ClassVar[str] = "A run, made again"
    TABLE: ClassVar[str] = "Tables of the run"

    @property
    def table(self) -> pa.Table:
        """A row per table of the run: place, table, rows, same bytes or not, the columns that differ."""
        return pa.Table.from_pylist([dict(plain(row)) for row in self.numbers.tables])

    def headline(self) -> str:
        """Whether the run was reproduced."""
        return _ANSWERS[self.numbers.outcome]

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per table."""
        return _HEADINGS, [(table.name, f"{table.rows:,}", _found(table)) for table in self.numbers.tables]

    def columns(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """A row per column whose values differ."""
        rows = [
            [table.name, column.column, f"{column.differing:,}", f"{column.beyond:,}", _size(column)]
            for table in self.numbers.tables
            for column in table.columns
        ]
        return _OF_COLUMNS, rows

    def title(self) -> str:
        """The run by its folder's name."""
        return f"{Path(self.numbers.run).absolute().name}, made again"

    def tables(self) -> Sequence[TextTable]:
        """The tables of the run, the columns that differ, and what its description has otherwise."""
        settings = [
            [change.name, *(shortened(text, _LONGEST) for text in (change.was, change.is_now))]
            for change in (*self.numbers.versions, *self.numbers.settings)
        ]
        further = [
            TextTable("Columns that differ", *self.columns(), numbers=(2, 3, 4)),
            TextTable("Versions, and what follows from them", ["", "run", "rerun"], settings),
        ]
        return [TextTable(self.TABLE, *self.rows(), numbers=(1,)), *(table for table in further if table.rows)]

    def notes(self) -> Sequence[str]:
        """The tolerances, other versions, and what was left out."""
        return (*self._tolerances(), *self.warning_lines())

    def warning_lines(self) -> Sequence[str]:
        """Other versions, and what was left out."""
        named = [
            f"{change.name.removeprefix('versions.')} {change.was} → {change.is_now}"
            for change in self.numbers.versions
        ]
        return [*([f"Other versions: {', '.join(named)}."] if named else []), *self.numbers.left_out]

    def _tolerances(self) -> Sequence[str]:
        if not self.numbers.pixels:
            return ["No difference was allowed."]
        return [
            f"A pixel may differ by {self.numbers.pixels} of 255, another number by {self.numbers.tolerance:g} of the "
            "larger of the two (or of 1, where both are smaller); answers, reasons and counts must be the same."
        ]


def reproduce(
    run: str | Path,
    *,
    out: str | Path | None = None,
    targets: Sequence[str] | Mapping[str, TargetLike] = (),
    files: Sequence[str] | Mapping[str, str | Path] = (),
    trust: Sequence[str] = (),
    budget: int | None = None,
    exact: bool = False,
    quiet: bool = False,
) -> ReproduceResult:
    """Make a run again, into another folder, and compare every value: an audit, or what another command wrote.

    run: the folder of an audit, with one study or several, or of a command that keeps its words in command.json. out:
    the folder of the rerun, by default RUN-again: one that is not there, is empty, or holds a rerun that was
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
    counts may not. Returns what differs, by table and column: `numbers.outcome`, `numbers.tables`.

    Raises BadInput, before anything is made, for a folder that cannot be made again, a model that is not trusted, a
    model or file that is not there or is another one; UnknownName for a target or file that the run does not have.

    ```python
    again = transect.reproduce("runs/smile", targets={"ours": "models/smile.onnx"})
    again.numbers.outcome
    ```
    """
    folder = Path(run)
    named_folder = folder if folder.name else folder.absolute()
    again = named_folder.with_name(f"{named_folder.name}-again") if out is None else Path(out)
    _check_apart(folder, again)
    _check_rerun_folder(again)
    if budget is not None and budget < 1:
        raise BadInput(f"--budget: expected at least 1 call, got {budget}; leave it out to make none")
    named = {name: str(path) for name, path in _by_name("--file", files, str.partition).items()}
    given = Given(_by_name("--target", targets, str.rpartition), named, trust, budget, again)
    tolerance = 0.0 if exact else TOLERANCE
    make = _command if (folder / command_record.FILE).is_file() else _audit
    found = make(folder, again, given, tolerance, quiet=quiet)
    (again / RERUN_MARK).unlink(missing_ok=True)
    return ReproduceResult(found)


def _by_name(
    option: str, texts: Sequence[str] | Mapping[str, Any], cut: Callable[[str, str], tuple[str, str, str]]
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


def _check_rerun_folder(again: Path) -> None:
    """Raises BadInput for a folder with files that no interrupted rerun left, such as a finished run."""
    if again.is_dir() and any(again.iterdir()) and not (again / RERUN_MARK).is_file():
        raise BadInput(
            f"--out {again}: expected an empty folder, or an interrupted rerun, got other files; choose another folder"
        )


def _begin(again: Path) -> None:
    again.mkdir(parents=True, exist_ok=True)
    (again / RERUN_MARK).touch()


def _command(folder: Path, again: Path, given: Given, tolerance: float, *, quiet: bool) -> ReproduceNumbers:
    for option, value in (("--budget", given.budget), ("--target", given.targets)):
        if value:
            raise BadInput(f"{option}: expected an audit, got what another command wrote; leave it out")
    words, opened = calling.words_of(folder, again, given.files, given.trust)
    _begin(again)
    calling.call(words, opened, quiet=quiet)
    tables, lacking = comparing.compared_folders(folder, again, tolerance)
    if not tables:
        raise BadInput(f"{folder}: expected files to compare with those of {again}, got none; make the run again")
    was, is_now = (command_record.read(place).versions for place in (folder, again))
    changed = [Change(f"{VERSIONS}{name}", was.get(name, ""), is_now.get(name, "")) for name in {**was, **is_now}]
    changed = [change for change in changed if change.was != change.is_now]
    for place in sorted(path.parent.relative_to(folder) for path in folder.rglob("run.json")):
        changed += of_versions(folder / place, read_record(folder / place), read_record(again / place))
    left_out = [f"Not compared: {'; '.join(lacking)}."] if lacking else []
    return _numbers((folder, again), tables, changed, left_out, tolerance)


def _audit(folder: Path, again: Path, given: Given, tolerance: float, *, quiet: bool) -> ReproduceNumbers:
    with ExitStack() as opened:
        opened.enter_context(only(given.opened))
        rebuilt = []
        for finished, place in _runs(folder, given):
            rebuilt.append(rerunning.rebuild(finished, place, given))
            opened.callback(rerunning.close, rebuilt[-1], given)
        metered = any(is_metered(target) for part in rebuilt for target in part.study.targets)
        if given.budget is not None and not metered:
            raise BadInput("--budget: expected a target that counts its calls, the run has none; leave it out")
        _begin(again)
        for part in rebuilt:
            rerunning.make(part, folder, again, quiet=quiet)
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


def _check_apart(folder: Path, again: Path) -> None:
    first, second = folder.resolve(), again.resolve()
    if first == second or first in second.parents or second in first.parents:
        raise BadInput(f"--out {again}: expected a folder outside the run, got one that shares it; choose another")


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
        replace(comparing.table_of_parts(was, is_now, table, part.spec.parts, tolerance), place=part.place)
        for table in rerunning.tables_of(part.spec, part.not_asked)
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
    rerunning.copy_stored(folder, again)
    with announcing_stages(quiet=quiet):
        is_now = reporting.report(again).results
    same = [(folder / name).read_bytes() == (again / name).read_bytes() for name in (_EFFECTS, _RESULTS)]
    before, after = (bounds.read_parquet(place / _EFFECTS) for place in (folder, again))
    effects = comparing.tables(_EFFECTS, [(before, after)], same[:1], tolerance)
    numbers = comparing.numbers(_RESULTS, _comparable(was), _comparable(is_now), tolerance, same_bytes=same[1])
    return [effects, numbers], _added(was)


def _comparable(results: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in results.items() if key not in _NOT_COMPARED}


def _added(was: Mapping[str, Any]) -> list[str]:
    """What the run's report has more of, by options that a run does not keep."""
    if not was.get("projections"):
        return []
    count = counted(len(was["projections"]), "projection")
    return [f"{count} (--shares) not made again: a run does not keep these options of transect report."]


def _found(table: TableCompared) -> str:
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
