"""Whether an audit was stopped before its end, by what it left: so that nobody takes its report for the whole.

RUN/unfinished.txt   from when the first study has its tables until all are made, before the report is written
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from transect.errors import TransectError
from transect.runs import mounts
from transect.runs.folder import FinishedRun, write_atomically
from transect.runs.places import MANIFEST, UNFINISHED, beside
from transect.runs.wording import counted

_ADVICE: Final = "rerun its command to finish it"


def begin(folder: Path) -> None:
    """Note that more follows, where no report says that all was made."""
    if not (folder / MANIFEST).exists():
        write_atomically(folder / UNFINISHED, f"This audit is not finished: {_ADVICE}.\n")


def end(folder: Path) -> None:
    """Note that all was made."""
    mounts.discard(folder / UNFINISHED)


def told(folder: Path) -> Iterator[str]:
    """What an audit that was stopped did not make, in a sentence each; nothing of one that was not."""
    parts = [text for place in beside(folder) if (text := _missing(folder, place))]
    if (folder / UNFINISHED).is_file():
        made = f" ({'; '.join(parts)})" if parts else ""
        yield f"The audit was stopped before its end{made}: {_ADVICE}."
        return
    for text in parts:
        yield f"The audit is not complete ({text}): it was stopped, or too many images had no answer; {_ADVICE}."


def _missing(folder: Path, place: Path) -> str:
    """How many parts a small run beside the tables has; "" where it has all, or says nothing that can be read."""
    try:
        run = FinishedRun(place)
        tables = ["images", *(table for target in run.spec.targets for table in target.tables)]
        there = min(run.finished_parts(table, run.spec.parts) for table in tables)
    except TransectError:
        return ""
    if there == run.spec.parts:
        return ""
    return f"{place.relative_to(folder).as_posix()} has {there} of {counted(run.spec.parts, 'part')}"
