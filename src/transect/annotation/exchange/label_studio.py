"""Label Studio's exports, JSON or CSV: what each person said of each task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from transect.errors import BadInput
from transect.runs.json_records import loads
from transect.runs.table_inputs import records_of

_OF_CSV: Final = ("annotation_id", "annotator")
"""Columns that its CSV export always has."""
OF_IMAGE: Final = ("first", "transect-id", "image", "img", "url")
"""Fields of a task that say which image it shows, the surest first."""
_NO_ANSWERS: Final = (
    *(*_OF_CSV, "id", "created_at", "updated_at", "lead_time"), *OF_IMAGE,
    *("study", "second", "question", "flipped", "second_image", "text"),
)  # fmt: skip
"""Columns of its CSV that are of the annotation, or of the tasks that `transect annotate export` writes."""
_KINDS: Final = ("choices", "rating", "number", "text")
"""What a control gives, of those that are read."""


class Annotation(NamedTuple):
    """What one person said of one task. where: for messages; data: the task's; user: a name or number, None: not said.

    answers: by control, one choice, a rating, a number or a text, or a list of several choices. cancelled: as the file
    has it. rater: as `transect annotate export` wrote it.
    """

    where: str
    data: Mapping[str, object]
    user: object
    answers: Mapping[str, object]
    cancelled: object = False
    rater: object = None
    seconds: object = None


def read(path: Path) -> Iterator[Annotation]:
    """Each annotation of an export; none of a CSV table that is of something else.

    Raises BadInput, ValueError, LookupError, TypeError or AttributeError for a file that is no export.
    """
    return _of_csv(path) if path.suffix.lower() == ".csv" else _of_json(path)


def _of_json(path: Path) -> Iterator[Annotation]:
    tasks = loads(path.read_text(encoding="utf-8"))
    if not (isinstance(tasks, list) and all(isinstance(task, Mapping) and "data" in task for task in tasks)):
        raise BadInput(
            f"{path}: expected a list of tasks with data, as Label Studio exports, got {type(tasks).__name__}; export "
            "as JSON, or give a CSV table"
        )
    for number, task in enumerate(tasks, start=1):
        where = f"{path}, task {number}"
        for each in task.get("annotations", []):
            by = each.get("completed_by")
            user = (by.get("email") or by.get("id")) if isinstance(by, Mapping) else by
            raters = [result.get("meta", {}).get("rater") for result in each["result"]]
            rater = next(filter(None, raters), None)
            cancelled = each.get("was_cancelled", False)
            answers = {} if cancelled is True else _answers(each["result"], where)
            yield Annotation(where, task["data"], user, answers, cancelled, rater, each.get("lead_time"))


def _answers(results: Sequence[Mapping[str, object]], where: str) -> dict[str, Any]:
    """What each control gives, once."""
    answers: dict[str, object] = {}
    for each in results:
        control, value = str(each["from_name"]), each.get("value")
        if control in answers or not isinstance(value, Mapping) or not any(key in value for key in _KINDS):
            got = "two" if control in answers else ", ".join(map(str, value)) if isinstance(value, Mapping) else "none"
            raise BadInput(
                f"{where}: expected one answer of {control} with {', '.join(_KINDS)}, got {got}; leave that control "
                "or the annotation out of the export"
            )
        answers[control] = _value(value)
    return answers


def _value(value: Mapping[str, object]) -> Any:
    """What one control gives: choices, a rating, a number or texts."""
    found = next((value[key] for key in _KINDS if key in value), None)
    return found[0] if isinstance(found, list) and len(found) == 1 else found


def _of_csv(path: Path) -> Iterator[Annotation]:
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        head = file.readline()
    if not all(name in head for name in _OF_CSV):
        return
    for number, row in records_of(path, str(path), breaks=lambda _: True):
        answers = {name: cell(text) for name, text in row.items() if text and name not in _NO_ANSWERS}
        yield Annotation(f"{path}, line {number}", row, row["annotator"], answers, seconds=row.get("lead_time"))


def cell(text: str) -> Any:
    """Several choices as a list, which a table holds as JSON; any other text as it is."""
    if not text.startswith(("{", "[")):
        return text or None
    found = loads(text)
    return _value(found) if isinstance(found, Mapping) else found
