"""`transect.verify`: the files of a run against its manifest, and marks of faces against those that are known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, final

import pyarrow as pa

from transect.errors import BadInput, UnknownName
from transect.jobs.verify.marks import MarksFigures, MarksSettings, measure_marks, tables_of
from transect.reports.blocks import TextTable
from transect.reports.builder import ShortPageResult
from transect.runs import folder as unfinished
from transect.runs import manifest, working_folders
from transect.runs.json_records import plain
from transect.runs.layout import SIGNATURE
from transect.runs.manifest import ManifestCheck
from transect.runs.wording import counted

HEADINGS: Final = ("file", "what was found")
_SIGNED: Final = {
    None: "",
    True: " Signed by the key.",
    False: " The signature does not match: another key signed it, or manifest.json was changed.",
}
_WORDS: Final = {"changed": "changed", "missing": "missing", "added": "added: the manifest does not list it"}


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
        faults = [
            f"{len(names)} {kind}"
            for kind, names in (("changed", found.changed), ("missing", found.missing), ("added", found.added))
            if names
        ]
        whole = ", ".join([f"{counted(found.unchanged, 'file')} as written", *faults])
        signed = _SIGNED[found.signed]
        signed += " A signature is there; check it with --key." if self.unchecked else ""
        made = f" Signed: {self.signature}." if self.signature else ""
        return f"{whole}.{signed}{made}"

    def rows(self) -> Sequence[Sequence[str]]:
        """A row per file that is not as written."""
        return [(name, words) for kind, words in _WORDS.items() for name in getattr(self.files, kind)]


def check_files(place: str | Path, key: Path | None = None, signing_key: Path | None = None) -> RunFiles:
    """Compare a run's files with its manifest; signing_key: sign it too. Raises as `manifest.check` and `sign`.

    place: a folder, or an address on object storage, whose parts are all fetched.
    """
    folder = working_folders.opened(place)
    signature = "" if signing_key is None else working_folders.name_of(manifest.sign(folder, signing_key))
    unchecked = key is None and not signature and (folder / SIGNATURE).is_file()
    found = manifest.check(folder, key)
    return RunFiles(
        working_folders.name_of(folder), found, signature, unchecked, tuple(unfinished.unfinished_sentences(folder))
    )


TITLES: Final = {
    "marks": "Marks of faces compared with those that are known",
    "run": "A run's files, and its manifest",
}


@final
@dataclass(frozen=True, slots=True)
class VerifyNumbers:
    """The figures of one check; the other is None. check: marks or run."""

    check: str
    marks: MarksFigures | None = None
    run: RunFiles | None = None


@final
@dataclass(frozen=True, slots=True)
class VerifyResult(ShortPageResult[VerifyNumbers]):
    """The result of `transect.verify`.

    table: groups of pictures, or files that are not as written.
    """

    JOB: ClassVar[str] = "verify"

    @property
    def table(self) -> pa.Table:
        """The rows of the check, one per group of pictures, or file."""
        if self.numbers.marks is not None:
            return pa.Table.from_pylist(plain(self.numbers.marks.groups))
        rows = self.numbers.run.rows() if self.numbers.run is not None else ()
        return pa.table({name: [row[n] for row in rows] for n, name in enumerate(("file", "found"))})

    def tables(self) -> list[TextTable]:
        """The figures as short tables of texts."""
        if self.numbers.marks is not None:
            return list(tables_of(self.numbers.marks))
        rows = self.numbers.run.rows() if self.numbers.run is not None else ()
        return [TextTable(TITLES["run"], HEADINGS, rows)]

    def title(self) -> str:
        """What was checked."""
        return TITLES[self.numbers.check]

    def headline(self) -> str:
        """The error of the marks; of a run, whether its files are as written."""
        found = self.numbers.marks or self.numbers.run
        return "" if found is None else found.headline()

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The first table."""
        first = self.tables()[0]
        return first.headings, first.rows


def verify(
    check: str,
    *,
    settings: MarksSettings | None = None,
    run: str | Path | None = None,
    key: str | Path | None = None,
    sign: str | Path | None = None,
    quiet: bool = False,
) -> VerifyResult:
    """Check the files of a run, or the marks that a finder gives.

    check: "run" compares the files of the folder `run` with its manifest: `numbers.run.holds`. key: an Ed25519 public
    key that must have signed it. sign: a private key that signs it. "marks" compares the marks that a finder gives with
    those that a data set or FaceWorld knows, by `settings`.

    Returns the figures as records. Raises UnknownName for another check, BadInput for settings out of range and a run
    without a manifest, MissingExtra for a key without `transect[sign]`, FolderInUse, RunFolderError, and Interrupted
    when stopped.

    >>> verify("nothing")
    Traceback (most recent call last):
    ...
    transect.errors.UnknownName: unknown check 'nothing'...
    """
    if check == "marks":
        if settings is not None and not isinstance(settings, MarksSettings):
            raise BadInput(f"settings: expected MarksSettings, got {type(settings).__name__}; give those of the check")
        return VerifyResult(VerifyNumbers(check, marks=measure_marks(settings or MarksSettings(), quiet=quiet)))
    if check == "run":
        if run is None:
            raise BadInput("run: expected the folder of a run, got none; give run=FOLDER")
        files = check_files(run, *(None if path is None else Path(path) for path in (key, sign)))
        return VerifyResult(VerifyNumbers(check, run=files))
    raise UnknownName("check", check, tuple(TITLES))
