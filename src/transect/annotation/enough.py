"""Whether a run's images have as many answers as a study wants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import final

import sqlalchemy as sa

from transect.annotation.database import NotCreated
from transect.annotation.project import Project, open_project
from transect.annotation.schema import items, raters, tasks
from transect.errors import BadInput


@final
@dataclass(frozen=True, slots=True)
class Ratings:
    """Answers in force to items without a known answer. missing: those still wanted, by question."""

    answers: int
    missing: dict[str, int]

    @property
    def enough(self) -> bool:
        """Whether none is missing."""
        return not any(self.missing.values())


def ratings_of(run: Path, each: int) -> Ratings | None:
    """How many answers a run has, and how many are missing until every item has `each`; None before it has a database.

    An item that the questions' own rule closed wants no more. Raises BadInput where the questions ask for fewer than
    `each`, so that raters would never get there.
    """
    try:
        project = open_project(run, create=False)
    except NotCreated:
        return None
    try:
        counted = _counts(project)
        wanted = project.questionnaire.plan.ratings
    finally:
        project.database.close()
    names = [question.name for question in project.questionnaire.question]
    missing = dict.fromkeys(names, 0)
    for question, answers, done in counted:
        missing[question] += 0 if done else max(each - answers, 0)
    if any(missing.values()) and each > wanted:
        raise BadInput(
            f"{run}: expected questions that ask for {each} answers to each item, got {wanted}; wait for {wanted} "
            f"(raters = {wanted}), or write ratings = {each} below [plan] in a questions file"
        )
    return Ratings(sum(answers for _, answers, _ in counted), missing)


def _counts(project: Project) -> list[tuple[str, int, bool]]:
    """Question, answers in force and whether it is closed, of each item without a known answer."""
    given = (
        sa.select(tasks.c.item_id, sa.func.count().label("answers"))
        .join(raters, raters.c.id == tasks.c.rater_id)
        .where(tasks.c.state == "answered", tasks.c.repeat.is_(False), raters.c.state != "excluded")
        .group_by(tasks.c.item_id)
        .subquery()
    )
    query = (
        sa.select(items.c.question, sa.func.coalesce(given.c.answers, 0), items.c.done)
        .select_from(items.outerjoin(given, given.c.item_id == items.c.id))
        .where(items.c.gold.is_(None))
    )
    with project.database.reading() as connection:
        return [(str(name), int(count), bool(done)) for name, count, done in connection.execute(query)]
