"""Check that a run's files are unchanged, or measure how accurately facial landmarks are found.

transect verify run RUN compares the files of a run with its manifest; exit code 1: they differ. transect
verify marks READER:PATH measures the marks that a finder gives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar, Final, Literal, final

import pyarrow as pa

from transect.errors import BadInput
from transect.experiment.marks_accuracy import (
    MarksFigures,
    MarksGroup,
    MarksPart,
    MarksSettings,
    ToneDifference,
    measure_marks,
)
from transect.job import Content, Job, Option, function
from transect.reports.blocks import Part
from transect.reports.columns import AnyTable, Column, Table
from transect.runs import folder as unfinished
from transect.runs import manifest, working_folders
from transect.runs.json_records import plain
from transect.runs.layout import SIGNATURE
from transect.runs.manifest import ManifestCheck
from transect.runs.wording import counted
from transect.texts import say

_SIGNED: Final = {
    None: "",
    True: " Signed by the key.",
    False: " The signature does not match: a different key signed it, or manifest.json was changed.",
}
_FOUND: Final = {"changed": "changed", "missing": "missing", "added": "added: the manifest does not list it"}


@final
@dataclass(frozen=True, slots=True)
class RunFiles:
    """What was found of a run's files.

    folder: the run. signature: the file of a signature that was made just now. unchecked: whether there is a signature
    that no key was given for. unfinished: what the run that was stopped did not make.
    """

    folder: str
    files: ManifestCheck
    signature: str = ""
    unchecked: bool = False
    unfinished: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every file is as it was written, and signed by the key where one was given."""
        return self.files.holds

    def headline(self) -> str:
        """The answer in one or two sentences."""
        found = self.files
        faults = [f"{len(names)} {kind}" for kind in _FOUND if (names := getattr(found, kind))]
        whole = ", ".join([f"{counted(found.unchanged, 'file')} as written", *faults])
        signed = _SIGNED[found.signed]
        signed += " A signature is there; check it with --key." if self.unchecked else ""
        made = f" Signed: {self.signature}." if self.signature else ""
        return f"{whole}.{signed}{made}"

    def table(self) -> Table[tuple[str, str]]:
        """A row per file that is not as written."""
        rows = [(name, words) for kind, words in _FOUND.items() for name in getattr(self.files, kind)]
        return Table("A run's files, and its manifest", rows, FILES)


FILES: Final[Sequence[Column[tuple[str, str]]]] = (
    Column("file", lambda row: row[0]),
    Column("what was found", lambda row: row[1], key="found"),
)


@final
@dataclass(frozen=True, slots=True)
class VerifyNumbers:
    """The figures of one check; the other is None. check: marks or run."""

    check: str
    marks: MarksFigures | None = None
    run: RunFiles | None = None


@final
@dataclass(frozen=True)
class Verify(Job[VerifyNumbers]):
    """Check the files of a run, or the marks that a finder gives.

    check: "run" compares the files of the folder `run` with its manifest: `numbers.run.holds`. key: an Ed25519 public
    key that must have signed it. sign: a private key that signs it. "marks" compares the marks that a finder gives with
    those that a data set or FaceWorld knows, by `settings`. The result's table has a row per group of pictures, or per
    file that is not as written.

    Raises UnknownName for another check, BadInput for settings out of range and a run without a manifest, MissingExtra
    for a key without `transect[sign]`, FolderInUse, RunFolderError, and Interrupted when stopped.

    >>> verify("nothing")
    Traceback (most recent call last):
    ...
    transect.errors.UnknownName: unknown check 'nothing'...
    """

    OUT: ClassVar = None
    KEPT: ClassVar = False
    RESUMES_FROM: ClassVar = "finished parts"

    check: Annotated[Literal["run", "marks"], Option("What is checked: run or marks.", metavar="CHECK", argument=True)]
    _: KW_ONLY
    run: Annotated[
        str | Path | None,
        Option(
            "For run: a finished run, a folder of studies, or an address such as s3://…. For marks: photographs "
            "with landmarks or masks; default FaceWorld's pictures.",
            str,
            metavar="[RUN | READER:PATH]",
            argument=True,
            opens="data",
        ),
    ] = None
    key: Annotated[
        str | Path | None,
        Option(
            "For run: an Ed25519 public key, PEM or OpenSSH's FILE.pub, whose owner must have signed the run.",
            opens="data",
        ),
    ] = None
    sign: Annotated[
        str | Path | None,
        Option("For run: sign its manifest with this Ed25519 private key, if all files are unchanged.", opens="data"),
    ] = None
    settings: MarksSettings | None = None

    def compute(self) -> VerifyNumbers:
        """The figures of the check."""
        if self.check == "run":
            return VerifyNumbers(self.check, run=self._files())
        settings = self.settings or MarksSettings()
        if not isinstance(settings, MarksSettings):
            raise BadInput(f"settings: expected MarksSettings, got {type(settings).__name__}")
        if self.key is not None or self.sign is not None:
            raise BadInput("--key and --sign do not apply to marks; leave them out")
        if self.run is not None:
            settings = replace(settings, dataset=str(self.run))
        return VerifyNumbers(self.check, marks=measure_marks(settings, quiet=self.quiet))

    def _files(self) -> RunFiles:
        """A run's files compared with its manifest, which is signed where that is asked for."""
        if self.run is None:
            raise BadInput("RUN: no folder given; for example: transect verify run runs/demo")
        if self.settings not in (None, MarksSettings()):
            raise BadInput("--finder and its options do not apply to a run's files; leave them out")
        folder, key = working_folders.opened(self.run), None if self.key is None else Path(self.key)
        signature = "" if self.sign is None else working_folders.name_of(manifest.sign(folder, Path(self.sign)))
        unchecked = key is None and not signature and (folder / SIGNATURE).is_file()
        found = manifest.check(folder, key)
        stopped = tuple(unfinished.unfinished_sentences(folder))
        for line in () if self.quiet else stopped:
            say(f"warning: {line}", error=True)
        return RunFiles(working_folders.name_of(folder), found, signature, unchecked, stopped)

    def exit_code(self, numbers: VerifyNumbers) -> int:
        """1 where a file is not as written, or the signature is not of the key."""
        return int(numbers.run is not None and not numbers.run.holds)

    def content(self, numbers: VerifyNumbers) -> Content:
        """Whether the files are as written, or the error of the marks."""
        if numbers.marks is not None:
            return _of_marks(numbers.marks)
        if numbers.run is None:
            raise TypeError("expected the numbers of a run or of marks")
        said, table = numbers.run.headline(), numbers.run.table()
        return Content(
            title=table.title, answer=[said], table=table, terminal=[said, *([table] if table.records else [])]
        )


verify = function(Verify)


def _of_marks(figures: MarksFigures) -> Content:
    tables = list(_tables(figures))
    return Content(
        title="Marks of faces compared with those that are known",
        answer=[figures.headline()],
        parts=[Part(f"table-{at}", table.title, (table,)) for at, table in enumerate(tables)],
        rows=pa.Table.from_pylist(plain(figures.groups)),
        terminal=[*(block for table in tables for block in (table.title, table)), figures.headline()],
    )


def _tables(figures: MarksFigures) -> Iterator[AnyTable]:
    """Groups, parts, the difference between tones, and why pictures are left out."""
    measure = figures.measure.strip(" ,")
    columns: list[Column[MarksGroup]] = [
        Column("group", "group"),
        Column("level", "level"),
        Column("pictures", "pictures", "count"),
        Column("left out", "left_out", "count"),
        Column("share", lambda row: _short(row.share), "figure"),
        Column("95 %", lambda row: _ends(row.share_low, row.share_high), "figure"),
        Column(measure, lambda row: _short(row.value), "figure"),
        Column("95 %", lambda row: _ends(row.low, row.high), "figure"),
    ]
    title = f"{figures.source}: pictures that are left out, and the others' {measure}"
    yield Table(title, figures.groups, columns)
    yield Table("Parts", figures.parts, PARTS)
    if figures.differences:
        yield Table("Darkest tone less lightest, same subjects", figures.differences, DIFFERENCES)
    lost = list(figures.reasons.items())
    lost += [("not counted: no marks are known", figures.without_truth)] if figures.without_truth else []
    if lost:
        yield Table("Pictures that are left out", lost, LEFT_OUT)


def _short(value: float | None) -> str:
    return "not estimable" if value is None else f"{value:.3f}"


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"


PARTS: Final[Sequence[Column[MarksPart]]] = (
    Column("part", "part"),
    Column("measure", "measure"),
    Column("pictures", "pictures", "count"),
    Column("mean", lambda row: _short(row.value), "figure"),
    Column("95 %", lambda row: _ends(row.low, row.high), "figure"),
)
DIFFERENCES: Final[Sequence[Column[ToneDifference]]] = (
    Column("what", lambda row: row.what.strip(" ,")),
    Column("subjects", "subjects", "count"),
    Column("difference", lambda row: _short(row.value), "figure"),
    Column("95 %", lambda row: _ends(row.low, row.high), "figure"),
)
LEFT_OUT: Final[Sequence[Column[tuple[str, int]]]] = (
    Column("reason", lambda row: row[0]),
    Column("pictures", lambda row: row[1], "count"),
)
