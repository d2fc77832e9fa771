"""`transect.reproduce`: run again what a run describes, into another folder, and compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Final, final

import pyarrow as pa

from transect.analysis import reporting
from transect.errors import BadInput
from transect.jobs.reproduce import calling, comparing, rerunning
from transect.jobs.reproduce.calling import files_by_name
from transect.jobs.reproduce.comparing import TOLERANCE, ColumnCompared, ReproduceNumbers, TableCompared, compared
from transect.jobs.reproduce.rerunning import Given, Rebuilt, check_names, targets_by_name
from transect.protocols import TargetLike
from transect.reports.blocks import TextTable
from transect.reports.builder import ShortPageResult
from transect.runs import bounds
from transect.runs.folder import FinishedRun
from transect.runs.json_records import plain, read_json
from transect.runs.layout import beside, places_of
from transect.runs.parts import announcing_stages
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
    generator: str | Path | None = None,
    population: str | Path | None = None,
    directions: str | Path | None = None,
    latents: str | Path | None = None,
    dataset: str | None = None,
    budget: int | None = None,
    exact: bool = False,
    quiet: bool = False,
    files: Sequence[str] | Mapping[str, str | Path] = (),
) -> ReproduceResult:
    """Make a run again, into another folder, and compare every value: an audit, or what another command wrote.

    run: the folder of an audit, with one study or several, or of a command that keeps its words in command.json. out:
    the folder of the rerun, by default RUN-again: one that is not there, is empty, or holds a rerun that was
    interrupted, which is resumed.

    Of an audit, targets: what its targets are, by the names that it gives them (texts NAME=SPEC, or specs and objects
    by name), where a name alone does not tell. generator, population, directions, latents, dataset: files that it does
    not locate. budget: the most calls to each target that counts them; without, none of them is asked. Of another
    command, files: where the files lie that it read, by their own names or by the option that they are of (texts
    NAME=PATH, or paths by name); without, they are looked for here and beside the run. exact: allow no difference.

    On the machine and with the versions of the run, every byte is expected to be the same. Elsewhere a pixel may differ
    by 1 of 255, another number by 1e-4 of the larger of the two, or of 1 where both are smaller; answers, reasons and
    counts may not. Returns what differs, by table and column: `numbers.outcome`, `numbers.tables`.

    Raises BadInput, before anything is made, for a folder that cannot be made again, a model or file that is not there
    or is another one; UnknownName for a target or file that the run does not have.

    ```python
    again = transect.reproduce("runs/smile", targets={"ours": "models/smile.onnx"})
    again.numbers.outcome
    ```
    """
    folder = Path(run)
    named_folder = folder if folder.name else folder.absolute()
    again = named_folder.with_name(f"{named_folder.name}-again") if out is None else Path(out)
    _check_apart(folder, again)
    calling.check_rerun_folder(again)
    given = Given(
        targets_by_name(targets),
        None if generator is None else str(generator),
        None if population is None else str(population),
        None if directions is None else Path(directions),
        None if latents is None else Path(latents),
        dataset,
        _checked(budget),
        again,
    )
    tolerance = 0.0 if exact else TOLERANCE
    named = {name: Path(path) for name, path in files.items()} if isinstance(files, Mapping) else files_by_name(files)
    if calling.keeps_command(folder):
        found = calling.remade(folder, again, given, named, tolerance, quiet=quiet)
    elif named:
        raise BadInput("--file: expected the folder of another command than audit, got an audit's; leave it out")
    else:
        found = _audit(folder, again, given, tolerance, quiet=quiet)
    calling.end_rerun(again)
    return ReproduceResult(found)


def _audit(folder: Path, again: Path, given: Given, tolerance: float, *, quiet: bool) -> ReproduceNumbers:
    with ExitStack() as opened:
        rebuilt = []
        for finished, place in _runs(folder, given):
            rebuilt.append(rerunning.rebuild(finished, place, given))
            opened.callback(rerunning.close, rebuilt[-1], given)
        if given.budget is not None and not _metered(rebuilt):
            raise BadInput("--budget: expected a target that counts its calls, the run has none; leave it out")
        calling.begin_rerun(again)
        for part in rebuilt:
            rerunning.make(part, folder, again, quiet=quiet)
    tables = [table for part in rebuilt for table in _of_tables(part, folder, again, tolerance)]
    left_out = _not_asked(rebuilt)
    if not left_out:
        reported, notes = _report(folder, again, tolerance, quiet=quiet)
        tables, left_out = [*reported, *tables], notes
    changed = dict.fromkeys(change for part in rebuilt for change in part.changed)
    return compared((folder, again), tables, tuple(changed), left_out, tolerance)


def _metered(rebuilt: Sequence[Rebuilt]) -> bool:
    return any(is_metered(target) for part in rebuilt for target in part.study.targets)


def _check_apart(folder: Path, again: Path) -> None:
    first, second = folder.resolve(), again.resolve()
    if first == second or first in second.parents or second in first.parents:
        raise BadInput(f"--out {again}: expected a folder outside the run, got one that shares it; choose another")


def _checked(budget: int | None) -> int | None:
    if budget is not None and budget < 1:
        raise BadInput(f"--budget: expected at least 1 call, got {budget}; leave it out to make none")
    return budget


def _runs(folder: Path, given: Given) -> list[tuple[FinishedRun, str]]:
    """Every run of an audit with its place. Raises BadInput where there is none, or one that is no audit's."""
    calling.check_audit(folder)
    places = [*places_of(folder), *beside(folder)]
    runs = [FinishedRun(place) for place in places]
    check_names(given, [run.spec for run in runs])
    relative = [place.relative_to(folder).as_posix() for place in places]
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
    effects = comparing.tables(_EFFECTS, before, after, tolerance, same_bytes=same[0])
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
