"""The command `transect annotate judge`."""

from __future__ import annotations

from contextlib import closing

from transect.console.common_options import Json
from transect.jobs.annotate.command import Address, Run
from transect.runs.plain_json import dumps
from transect.texts import say


def judge(run: Run, database: Address = None, json: Json = False) -> None:
    """Measure how far a run's judge model agrees with people's codes of its texts (RUN: texts:FOLDER).

    Writes judge_agreement.json into the run's folder, which its report reads.
    """
    import transect.annotation.database  # noqa: F401  (says which extra is missing)
    from transect.annotation.project import open_project
    from transect.jobs.annotate.judging import lines, measure

    project = open_project(run, database, create=False)
    with closing(project.database):
        found = measure(project, run)
    say(dumps(found) if json else "\n".join(lines(found)))
