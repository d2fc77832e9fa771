"""Tables of ratings as crowds leave them: yes and no as texts, skips, several choices at once, Label Studio's exports.

Yes and no become 1 and 0, and a skip no answer. A question that takes several choices becomes a column for each choice,
`question_choice`, which is 1 where it is ticked and 0 where others are. Label Studio's users become numbers, in the
order of their names, so that no run folder holds addresses of people.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from transect.annotation.exchange import label_studio
from transect.annotation.exchange.label_studio import OF_IMAGE, Annotation, cell
from transect.errors import BadInput
from transect.texts import words_of

_YES_NO: Final = {"yes": 1.0, "y": 1.0, "true": 1.0, "no": 0.0, "n": 0.0, "false": 0.0}
SKIPS: Final = ("", "skip", "skipped", "cannot tell", "can't tell", "don't know", "not sure", "unsure")
_NO_LETTER: Final = re.compile(r"[\W_]+")
_UPLOADED: Final = re.compile(r"[0-9a-f]{8}-(?=.)")
"""What Label Studio puts before the name of a file that was uploaded to it."""


def from_label_studio(source: object) -> dict[str, list[Any]] | None:
    """Columns id, rater and one per question of its JSON or CSV export; None for anything else."""
    path = Path(source) if isinstance(source, str | Path) else None
    if path is None or path.suffix.lower() not in (".json", ".csv") or not path.is_file():
        return None
    try:
        answers = [(_image(each), _user(each), each.answers) for each in label_studio.read(path)]
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise BadInput(
            f"{path}: expected a JSON export of Label Studio, got {words_of(error, 100)}; export the project again, or "
            "give a CSV table"
        ) from None
    if not answers:
        return None
    raters = {name: f"rater-{number}" for number, name in enumerate(sorted({rater for _, rater, _ in answers}), 1)}
    names = dict.fromkeys(name for *_, values in answers for name in values)
    columns = {name: _alike([values.get(name) for *_, values in answers]) for name in names}
    return {"id": [image for image, *_ in answers], "rater": [raters[rater] for _, rater, _ in answers], **columns}


def _alike(values: list[object]) -> list[Any]:
    """Lists all, where some answers are several choices."""
    if not any(isinstance(value, list) for value in values):
        return values
    return [value if value is None or isinstance(value, list) else [value] for value in values]


def _user(annotation: Annotation) -> str:
    if annotation.user is None:
        raise BadInput(f"{annotation.where}: no completed_by, who answered; export with annotators")
    return str(annotation.user)


def _image(annotation: Annotation) -> str:
    """The image's id: as a field says it, or the name of the file that the task shows, without its ending."""
    data = annotation.data
    name = next((name for name in OF_IMAGE if data.get(name)), "")
    if not name:
        raise BadInput(
            f"{annotation.where}: expected the image in a field {', '.join(OF_IMAGE)}, got "
            f"{', '.join(map(str, data)) or 'none'}; rename the field"
        )
    text = str(data[name])
    if name in OF_IMAGE[:2]:
        return text
    address = urlsplit(text)
    stem = PurePosixPath(unquote(address.path)).stem
    return _UPLOADED.sub("", stem, count=1) if "/upload/" in text else stem


def in_numbers(table: pa.Table, beside: Sequence[str], path: str) -> pa.Table:
    """The table with numbers for yes, no and skips, and a column for each of several choices. beside: no questions."""
    columns: dict[str, object] = {}
    for name in table.column_names:
        column = table[name]
        made = {name: column} if name in beside else _numbered(name, column)
        if twice := [each for each in made if each in columns]:
            raise BadInput(f"{path}: expected unique column names, got {twice[0]} twice; rename one")
        columns |= made
    return pa.table(columns).replace_schema_metadata(table.schema.metadata)


def _numbered(name: str, column: pa.ChunkedArray) -> dict[str, object]:
    if pa.types.is_boolean(column.type):
        return {name: pc.cast(column, pa.float64())}
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        return _by_choice(name, column.to_pylist())
    if not (pa.types.is_string(column.type) or pa.types.is_large_string(column.type)):
        return {name: column}
    texts = [None if text is None or text.lower() in SKIPS else text for text in column.to_pylist()]
    if any(text is not None and text.startswith(("[", '{"choices"')) for text in texts):
        with suppress(ValueError):  # a comment that begins with a bracket is text
            return _by_choice(name, [None if text is None else cell(text) for text in texts])
    numbers = [None if text is None else _YES_NO.get(text.lower(), _number(text)) for text in texts]
    known = all((text is None) == (number is None) for text, number in zip(texts, numbers, strict=True))
    return {name: pa.array(numbers, pa.float64())} if known else {name: pa.array(texts, pa.string())}


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _by_choice(name: str, answers: Sequence[Any]) -> dict[str, object]:
    """A column for each choice that anybody ticked; null where nobody answered."""
    ticked = [None if each is None else [each] if isinstance(each, str) else list(map(str, each)) for each in answers]
    columns: dict[str, object] = {}
    for choice in sorted({choice for each in ticked or () for choice in each or ()}):
        column = f"{name}_{_NO_LETTER.sub('_', choice.lower()).strip('_')}"
        if column in columns:
            raise BadInput(f"column {name}: expected choices of different names, got two that are {column}; rename one")
        columns[column] = pa.array([None if each is None else float(choice in each) for each in ticked], pa.float64())
    return columns
