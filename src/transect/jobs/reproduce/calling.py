"""The command that wrote a folder, given again in a process of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias, final

from transect.console.results import LEFT_OUT, file_in
from transect.errors import BadInput, Interrupted, UnknownName
from transect.jobs.reproduce import comparing
from transect.jobs.reproduce.comparing import VERSIONS, Change, ReproduceNumbers, compared
from transect.jobs.reproduce.rerunning import Given, of_versions
from transect.protocols import TargetLike
from transect.runs import command_record
from transect.runs.addresses import is_address
from transect.runs.command_record import CommandRecord, Word
from transect.runs.folder import read_record
from transect.runs.layout import is_one_run, studies_of
from transect.runs.model_files import digest_of_input
from transect.targets.reopening import HTTP, check_code
from transect.targets.resolution import runs_named_code

RERUN_MARK: Final = ".rerun"


def check_rerun_folder(again: Path) -> None:
    """Raises BadInput for a folder with files that no interrupted rerun left, such as a finished run."""
    if again.is_dir() and any(again.iterdir()) and not (again / RERUN_MARK).is_file():
        raise BadInput(
            f"--out {again}: expected an empty folder, or an interrupted rerun, got other files; choose another folder"
        )


def begin_rerun(again: Path) -> None:
    """Mark the folder, which is made where it is not there. Raises as `check`."""
    check_rerun_folder(again)
    again.mkdir(parents=True, exist_ok=True)
    (again / RERUN_MARK).touch()


def end_rerun(again: Path) -> None:
    """Take the mark away, once everything was made and compared."""
    (again / RERUN_MARK).unlink(missing_ok=True)


@final
@dataclass(frozen=True, slots=True)
class Way:
    """How a command is told to write into another folder.

    writes: each option that says where it writes, and what it gets there, "" for the folder itself. models: options and
    arguments ("" for these) that name a model, which may lie behind a web address.
    """

    writes: Mapping[str, str] = field(default_factory=lambda: {"--out": ""})
    models: tuple[str, ...] = ()


WAYS: Final[Mapping[str, Way]] = {
    "search": Way(models=("",)),
    "recognition": Way(models=("",)),
    "match": Way({"--report": "", "--out": "pairs.parquet"}),
    "leakage": Way(),
    "neighbours": Way({"--report": ""}),
    "readings": Way(),
    "retrieve": Way(),
    "invert": Way(models=("--face-distance",)),
    "encode": Way(),
    "render": Way(),
    "mitigate": Way(),
    "replicate": Way(),
}
"""The commands that are called again, by their names."""

_NO_COMMAND: Final = (
    "expected the command that made it, got none ({file}): a call in Python, and an earlier Transect, keep none; make "
    "the same call again into another folder"
)
REASONS: Final[Mapping[str, str]] = {
    "annotation.sqlite": "holds what people answered, which no command makes again",
    "ratings.csv": "holds what people answered, which no command makes again",
    "validation.json": "holds what people answered, which no command makes again",
    "training.json": "is a training, which can take days: train again with transect train into another folder",
    "ledger.json": "is a study, which is a chain of runs: reproduce the folder of a step",
    "run.json": _NO_COMMAND.format(file=command_record.FILE),
    "*.json": _NO_COMMAND.format(file=command_record.FILE),
}
"""Why a folder that is neither an audit nor keeps its command is not made again, by a file in it: the first that is
there.
"""


def keeps_command(folder: Path) -> bool:
    """Whether a folder says by which command it was made."""
    return (folder / command_record.FILE).is_file()


def check_audit(folder: Path) -> None:
    """Raises BadInput, in one line, for a folder that no audit made: why it is not made again."""
    if studies_of(folder) or _is_of_an_audit(folder):
        return
    for pattern, reason in REASONS.items():
        if any(folder.glob(pattern)):
            raise BadInput(f"{folder}: {reason}")
    raise BadInput(f"{folder} is not a run folder: expected a run.json or {command_record.FILE} in it")


def _is_of_an_audit(folder: Path) -> bool:
    return is_one_run(folder) and "design" in read_record(folder)


Files: TypeAlias = Mapping[str, Path]
"""Where files lie: by their own name, or by the option that they are of, without its dashes."""
_OPTION: Final = re.compile(r"--[a-z0-9][a-z0-9-]*")
_PAID: Final = (
    "asks a model behind a web address, whose calls may cost money; make the same call again into another folder where "
    "you want that"
)


def files_by_name(texts: Sequence[str]) -> dict[str, Path]:
    """Files by name, from NAME=PATH texts. Raises BadInput for another text.

    >>> files_by_name(["table=people.csv"])
    {'table': PosixPath('people.csv')}
    """
    named: dict[str, Path] = {}
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path) or name in named:
            raise BadInput(f"--file {text!r}: expected NAME=PATH, each name once")
        named[name] = Path(path)
    return named


def remade(folder: Path, again: Path, given: Given, files: Files, tolerance: float, *, quiet: bool) -> ReproduceNumbers:
    """Call a folder's command again, into another one, and compare what both wrote. Raises as `words_of` and `call`."""
    if given.budget is not None:
        raise BadInput("--budget: expected an audit, got what another command wrote; leave it out")
    stated = {"generator": given.generator, "population": given.population, "directions": given.directions}
    stated |= {"latents": given.latents, "dataset": given.dataset}
    files = {**{name: Path(path) for name, path in stated.items() if path is not None}, **files}
    words = words_of(folder, again, files, given.targets)
    begin_rerun(again)
    call(words, quiet=quiet)
    tables, lacking = comparing.compared_folders(folder, again, tolerance)
    if not tables:
        raise BadInput(f"{folder}: expected files to compare with those of {again}, got none; make the run again")
    was, is_now = (command_record.read(place).versions for place in (folder, again))
    changed = [Change(f"{VERSIONS}{name}", was.get(name, ""), is_now.get(name, "")) for name in {**was, **is_now}]
    changed = [change for change in changed if change.was != change.is_now]
    for place in sorted(path.parent.relative_to(folder) for path in folder.rglob("run.json")):
        changed += of_versions(folder / place, read_record(folder / place), read_record(again / place))
    left_out = [f"Not compared: {'; '.join(lacking)}."] if lacking else []
    return compared((folder, again), tables, tuple(dict.fromkeys(changed)), left_out, tolerance)


def words_of(folder: Path, again: Path, files: Files, trusted: Mapping[str, TargetLike] | None = None) -> list[str]:
    """The command line that makes a folder again, in another one. trusted: specs of code that may run, by the run's."""
    record = command_record.read(folder)
    if record.job not in WAYS:
        raise UnknownName("job to make again", record.job, WAYS)
    way = WAYS[record.job]
    _check(record, way, folder)
    _check_names(record, files)
    code = _code(record, way, trusted or {})
    words = [code[word] if word in code else _of_word(word, folder, files) for word in record.words]
    options = [text for word, text in zip(record.words, words, strict=True) if word.option]
    arguments = [text for word, text in zip(record.words, words, strict=True) if not word.option]
    writes = [f"{option}={again / name if name else again}" for option, name in way.writes.items()]
    return [*record.job.split(), *options, *writes, *(["--", *arguments] if arguments else [])]


def _check(record: CommandRecord, way: Way, folder: Path) -> None:
    for word in record.words:
        if word.option and (not _OPTION.fullmatch(word.option) or word.option in (*way.writes, *LEFT_OUT)):
            raise BadInput(f"{folder / command_record.FILE}: expected no {word.option!r}, got one; put the file back")
        if word.option in way.models and f"{word.text}{word.after}".lower().endswith(".toml"):
            raise BadInput(f"{folder}: {_PAID}")
        if is_address(word.before + str(word.text)):
            raise BadInput(
                f"{folder}: its command reads {word.before}{word.text}, which no rerun reads on a record's word; call "
                "the command yourself, with another folder"
            )
    for place in folder.rglob("run.json"):
        if _is_paid(read_record(place.parent)):
            raise BadInput(f"{folder}: {_PAID}")


def _code(record: CommandRecord, way: Way, trusted: Mapping[str, TargetLike]) -> dict[Word, str]:
    """The arguments and options that name code, as the user confirms them."""
    named = {word: f"{word.before}{word.text}{word.after}" for word in record.words if word.option in way.models}
    named = {word: spec for word, spec in named.items() if runs_named_code(spec)}
    for name in trusted:
        if name not in named.values():
            raise UnknownName("target of the run", name, dict.fromkeys(named.values()))
    for spec in named.values():
        if spec not in trusted:
            check_code(spec, spec)
        elif not isinstance(trusted[spec], str):
            raise BadInput(f"target {spec}: expected its spec as text, got an object; a command takes none")
    return {word: _option(word, str(trusted[spec])) for word, spec in named.items()}


def _is_paid(record: Mapping[str, Any]) -> bool:
    facts = record.get("target")
    return isinstance(facts, Mapping) and facts.get("kind") == HTTP


def _check_names(record: CommandRecord, files: Files) -> None:
    known = [name for word in record.words if word.sha256 for name in (_name(word), str(word.text))]
    for name in files:
        if name not in known:
            raise UnknownName("file of the run", name, dict.fromkeys(known))


def _name(word: Word) -> str:
    """What an option is called in --file; an argument by its file alone."""
    return word.option.removeprefix("--") or str(word.text)


def _of_word(word: Word, folder: Path, files: Files) -> str:
    value = word.text
    if not word.sha256 and value is not None and file_in(value) is not None:
        if set(value) & set("/\\"):
            raise BadInput(f"{folder / command_record.FILE}: expected no path without its digest; put the file back")
        raise BadInput(
            f"{folder}: its command has {value!r}, which was no file and names one here; rerun from another folder"
        )
    if word.sha256:
        value = f"{word.before}{_found(word, folder, files)}{word.after}"
    return word.option if value is None else _option(word, value)


def _option(word: Word, value: str) -> str:
    return f"{word.option}={value}" if word.option else value


def _found(word: Word, folder: Path, files: Files) -> Path:
    """The file or folder of a word: where the user says, else of that name here, or beside the run's folder."""
    name = str(word.text)
    if not name or name in (".", "..") or set(name) & set("/\\\0"):
        raise BadInput(f"{folder / command_record.FILE}: expected the name of a file, got {name!r}; put the file back")
    stated = files.get(name, files.get(_name(word)))
    for path in (Path(name), folder.parent / name) if stated is None else (stated,):
        if path.exists() and digest_of_input(path) == word.sha256:
            return path
        if path.exists() and stated is not None:
            raise BadInput(f"{path}: expected the {name} of the run, got another one; give it: --file '{name}=PATH'")
    raise BadInput(f"{folder}: expected its {name}, got none; say where it is: --file '{name}=PATH'")


def call(words: Sequence[str], *, quiet: bool) -> None:
    """Call a command in a process of its own. Raises BadInput with its message where it fails, and Interrupted."""
    stderr = subprocess.PIPE if quiet else None
    line = [sys.executable, "-P", "-m", "transect", *words]  # -P: this folder's files shadow no library
    done = subprocess.run(line, stdout=subprocess.DEVNULL, stderr=stderr, text=True, check=False)  # noqa: S603  (ours)
    if done.returncode == Interrupted.exit_code:
        raise Interrupted("interrupted; rerun the command to resume")
    if done.returncode:
        said = (done.stderr or "").strip().splitlines()
        reason = said[-1].removeprefix("transect: ") if said else "see the message above"
        raise BadInput(f"the rerun failed: {reason}")
