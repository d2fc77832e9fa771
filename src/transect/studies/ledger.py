"""`ledger.json`: which steps are finished, with which arguments and which inputs, and what they answered."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, final

from transect.errors import BadInput
from transect.runs.file_digests import digest
from transect.runs.folder import write_json
from transect.runs.json_records import read_json, record_in
from transect.studies.plan import Planned

FILE: Final = "ledger.json"
ANSWER: Final = "answer.json"


@final
@dataclass(frozen=True, slots=True)
class Finished:
    """A finished step: its command line, with {step} for folders, and a digest of each input."""

    command: tuple[str, ...]
    inputs: Mapping[str, str] = field(default_factory=dict)


@final
@dataclass(frozen=True, slots=True)
class Ledger:
    """What a study's folder records. study: the title of the file."""

    study: str
    profile: str
    steps: Mapping[str, Finished] = field(default_factory=dict)

    @classmethod
    def of(cls, out: Path, study: str, profile: str) -> Ledger:
        """The record of a folder, or a new one. Raises BadInput for a folder of another study, or a damaged record."""
        if not (out / FILE).exists():
            return cls(study, profile)
        ledger = record_in(out / FILE, Ledger)
        if ledger.study != study:
            raise BadInput(f"{out}: expected a folder of {study!r}, got one of {ledger.study!r}; choose another --out")
        there = {name: each for name, each in ledger.steps.items() if _folders(out, name)}
        return replace(ledger, profile=profile, steps=there)

    def finished(self, step: Planned, inputs: Mapping[str, str], following: Sequence[Planned]) -> bool:
        """Whether a step is finished. Raises BadInput where it finished with other arguments or other inputs."""
        before = self.steps.get(step.name)
        if before is None or not step.folder.exists():  # another number is another folder
            return False
        differing = _differing(before, Finished(words_of(step), inputs))
        if differing:
            folders = [each.folder for each in (step, *following) if each.folder.exists()]
            shown = shlex.join(str(folder) for folder in folders)
            raise BadInput(
                f"step {step.name}: it finished with other {differing}; put that back, choose another --out, or "
                f"delete {shown} and rerun"
            )
        return True

    def with_step(self, step: Planned, inputs: Mapping[str, str]) -> Ledger:
        """The record with one more finished step."""
        return replace(self, steps={**self.steps, step.name: Finished(words_of(step), dict(inputs))})

    def write(self, out: Path) -> None:
        """Write `ledger.json`."""
        write_json(out / FILE, self)


def words_of(step: Planned) -> tuple[str, ...]:
    """What is recorded of a step's arguments; of a wait, what it waits for."""
    if step.wait is None:
        written = [f"{name}={hashlib.sha256(text.encode()).hexdigest()[:12]}" for name, text in step.files.items()]
        return (*step.command.split(), *step.symbolic, *written)
    return ("ratings", str(step.wait.raters), *step.wait.questions)


def inputs_of(step: Planned, planned: Sequence[Planned], out: Path) -> dict[str, str]:
    """A digest of each earlier step's folder and of each file or folder of the user's that a step's words name."""
    folders = {each.name: each.folder for each in planned}
    inputs = {name: digest(folders[name], besides=(ANSWER,)) for name in step.refers}
    for word, symbolic in zip(step.words, step.symbolic, strict=True):
        if word == symbolic and (path := _path_in(word)) is not None and not path.is_relative_to(out):
            inputs[word] = digest(path, own=False, besides=(ANSWER,))
    return inputs


def store_answer(folder: Path, answer: object) -> None:
    """Keep what a step printed."""
    write_json(folder / ANSWER, answer)


def answer_of(folder: Path) -> Any:
    """What a step printed; None where there is nothing."""
    path = folder / ANSWER
    if not path.exists():
        return None
    return read_json(path, "what a step printed", "delete the step's folder and rerun")


def _folders(out: Path, name: str) -> list[Path]:
    return [path for path in out.glob(f"[0-9][0-9]*-{name}") if path.name.partition("-")[2] == name]


def _path_in(word: str) -> Path | None:
    """The file or folder that a word names, also after a reader's name or an equals sign.

    A bare word such as "mcduff2019" is none, even where a folder has that name.
    """
    texts = (word, word.partition(":")[2].partition("?")[0], word.partition("=")[2])
    try:
        return next((Path(text) for text in texts if set(text) & set("./\\") and Path(text).exists()), None)
    except (OSError, ValueError):  # too long, or a null character: no path
        return None


def _differing(before: Finished, now: Finished) -> str:
    """What differs, in words; "" where nothing does."""
    if before.command != now.command:
        return f"arguments ({shlex.join(before.command)})"
    changed = [name for name in {**before.inputs, **now.inputs} if before.inputs.get(name) != now.inputs.get(name)]
    return f"content of {', '.join(changed)}" if changed else ""
