"""The command that wrote a folder, given again in a process of its own without network and environment."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from transect.console.results import Rerun, file_in
from transect.errors import BadInput, Interrupted, UnknownName
from transect.job import opened, rerun
from transect.runs import command_record, trust
from transect.runs.addresses import is_address
from transect.runs.command_record import Word
from transect.runs.model_files import digest_of_input
from transect.targets.kinds import ships

_JOB: Final = re.compile(r"[a-z_]+")
_PAID: Final = (
    "asks a model behind a web address, whose calls may cost money; make the same call again into another folder where "
    "you want that"
)


def words_of(
    folder: Path, again: Path, files: Mapping[str, str | Path], trusted: Sequence[str]
) -> tuple[list[str], list[str]]:
    """The command line that makes a folder again in another one, and the models that it may open."""
    record = command_record.read(folder)
    rerun = _declared(record.job, folder)
    with_files = [word for word in record.words if word.sha256]
    known = {name: None for word in with_files for name in (word.option.removeprefix("--"), str(word.text)) if name}
    for name in files:
        if name not in known:
            raise UnknownName("file of the run", name, known)
    models, options, arguments = [*trusted], [], []
    for word in record.words:
        kind = rerun.kind(word.option)
        if kind == "models":
            _check_model(word, folder, trusted)
        elif not kind:
            raise _damaged(folder, f"no {word.option or 'argument'!r}, got one")
        value = word.text if kind == "values" else _input(word, folder, files)
        if kind == "models":
            models.append(str(value))
        if word.option:
            options.append(word.option if value is None else f"{word.option}={value}")
        else:
            arguments.append(str(value))
    writes = [f"--{option}={again / name if name else again}" for option, name in rerun.writes.items()]
    return [record.job, *options, *writes, *(["--", *arguments] if arguments else [])], models


def _declared(job: str, folder: Path) -> Rerun:
    """What a job declares of its own command. Raises BadInput for one that declares nothing."""
    if _JOB.fullmatch(job) and find_spec(f"transect.jobs.{job}"):
        if kind := opened(job):
            return rerun(kind)
        module = f"transect.jobs.{job}.command"
        declared = getattr(import_module(module), "RERUN", None) if find_spec(module) else None
        if isinstance(declared, Rerun):
            return declared
    raise _damaged(folder, f"a command that is made again, got {job!r}")


def _damaged(folder: Path, expected: str) -> BadInput:
    return BadInput(f"{folder / command_record.FILE}: expected {expected}; put the file back")


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
            f"{folder}: its command reads {word.before}{value}, which no rerun reads on a record's word; call the "
            "command yourself, with another folder"
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
            raise BadInput(f"{path}: expected the {name} of the run, got another one; give it: --file '{name}=PATH'")
    raise BadInput(f"{folder}: expected its {name}, got none; say where it is: --file '{name}=PATH'")


def call(words: Sequence[str], opened: Sequence[str], *, quiet: bool) -> None:
    """Call a command that may open these models. Raises BadInput with its message where it fails, and Interrupted."""
    stderr = subprocess.PIPE if quiet else None
    line = [sys.executable, "-P", "-m", "transect", *words]  # -P: this folder's files shadow no library
    done = subprocess.run(  # noqa: S603  (ours)
        line, stdout=subprocess.DEVNULL, stderr=stderr, text=True, check=False, env=trust.environment(opened)
    )
    if done.returncode == Interrupted.exit_code:
        raise Interrupted("interrupted; rerun the command to resume")
    if done.returncode:
        said = (done.stderr or "").strip().splitlines()
        reason = said[-1].removeprefix("transect: ") if said else "see the message above"
        raise BadInput(f"the rerun failed: {reason}")
