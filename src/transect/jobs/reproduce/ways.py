"""How each job is made again. A job that keeps its command (`console.kept_command.keep`) needs a row in `WAYS`, and
nothing else; an audit is made from its run.json (`rerunning`). What is not made again has its reason in `REASONS`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, final

from transect.errors import BadInput
from transect.runs import command_record
from transect.runs.folder import read_record
from transect.runs.places import is_one_run, studies_of


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
