"""What a step that waits for people needs, and what to do until then."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import final

from transect.runs.wording import counted
from transect.studies.plan import Planned, Wait


@final
@dataclass(frozen=True, slots=True)
class Waiting:
    """A step that waits. missing: what is missing, in words; lines: what to do now, a command or a sentence each."""

    step: str
    missing: str
    lines: tuple[str, ...]


def waiting(step: Planned, wait: Wait) -> Waiting | None:
    """What a step still waits for; None where the ratings are there. Raises BadInput for ratings of another run."""
    from transect.annotation.enough import ratings_of

    ratings = ratings_of(wait.run, wait.raters)
    if ratings is not None and ratings.enough:
        return None
    missing = f"{counted(wait.raters, 'answer')} to each question about each image; there are none yet"
    if ratings is not None:
        by_question = ", ".join(f"{name} {count:,}" for name, count in ratings.missing.items() if count)
        missing = f"{counted(sum(ratings.missing.values()), 'more answer')} ({by_question})"
    run = shlex.quote(str(wait.run))
    asked = "".join(f" --questions {shlex.quote(name)}" for name in wait.questions)
    asked += f" --photographs {shlex.quote(wait.photographs)}" if wait.photographs else ""
    lines = (
        f"transect annotate serve {run}{asked}",
        f"transect annotate invite {run} --raters {wait.raters}",
        f"transect annotate import {run} FILE   (answers that were given elsewhere)",
    )
    return Waiting(step.name, missing, lines)
