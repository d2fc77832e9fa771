"""How two specs differ, in plain words, and the version of the schema that a run.json states.

The version holds for the whole folder: the keys of run.json, and the tables with their columns. Raise `SCHEMA_VERSION`
with each change of either.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, final

from transect.errors import RunFolderError
from transect.runs.wording import in_words

SCHEMA_VERSION: Final = 1
"""The version that this Transect writes."""
VERSION_KEY: Final = "schema_version"


def check_version(version: object, path: Path) -> None:
    """Raise RunFolderError unless a run.json states the version of this Transect.

    >>> check_version(SCHEMA_VERSION, Path("run.json"))
    >>> check_version(9, Path("run.json"))
    Traceback (most recent call last):
    transect.errors.RunFolderError: run.json: expected schema version 1, got 9: open it with the Transect that wrote it
    """
    if version != SCHEMA_VERSION or isinstance(version, bool):
        advice = "open it with the Transect that wrote it"
        raise RunFolderError(f"{path}: expected schema version {SCHEMA_VERSION}, got {version!r}: {advice}")


_MOST: Final = 6
_HASH: Final = re.compile(r"[0-9a-f]{40,}")
_TARGET: Final = re.compile(r"targets\.(\d+)\.(?:description\.)?(.+)")
_DERIVED: Final = re.compile(
    r"(readings|attributes|held|nominal|world|subjects_per_part|design\.basis)\b|targets\.\d+\.(slug|task)$"
    r"|generator\.(images|subjects|fitted)$"
)
"""What follows from settings that are named themselves."""
_PAIRS: Final = "what --questions asks about two images"
_OPTIONS: Final = {
    "design.seed": "--seed",
    "design.subjects": "--subjects or --images",
    "design.levels": "--vary",
    "design.hold": "--hold",
    "design.population": "--population",
    "generator.name": "--generator or --dataset",
    "generator.population": "--population",
    "generator.image_size": "--size",
    "generator.labels_sha256": "the labels of the data set",
    "targets": "the models",
    "pairs": _PAIRS,
    "limits.timeout": "--timeout",
    "limits.batch": "--batch",
    "verification.false_match_rate": "--false-match-rate",
    "verification.within": "--within",
}
"""By the place in a spec, what sets it."""
_OF_PHOTOGRAPHS: Final = {
    "design.subjects": "the number of photographs",
    "design.population": "--dataset",
    "generator.name": "--dataset",
}
"""The same where both specs are of photographs."""
_LEFT_OUT: Final = "generator.left_out."
"""Before a reason, the number of photographs that are left out for it."""
_OF_MODEL: Final = {
    "code_sha256": "the code of {}",
    "sha256": "the file of {}",
    "files": "a file of {}",
    "external_data": "the file of weights of {}",
    "library": "the library of {}",
}
_OF_TARGET: Final = {
    "truth": "--truth of {}",
    "outcomes": "--outcome of {}",
    "threshold": "--threshold of {}",
    "positive": "--positive of {}",
    "labels": "--labels of {}",
    "preprocess": "--preprocess of {}",
    "output": "--output of {}",
    "output_name": "--output-name of {}",
    "asked_in_words": "--questions of {}",
    "question_sha256": "--questions of {}",
    "judge": "--judge of {}",
    "scorers": "--scorer of {}",
    "reading_sha256": "how Transect reads the answers of {}",
    "scale": "--output of {}",
    **_OF_MODEL,
}


@final
@dataclass(frozen=True, slots=True)
class Change:
    """One value of a spec that differs; path: dotted, with numbers for places in lists. None where there is none."""

    path: str
    was: object
    is_now: object

    @property
    def of_model(self) -> bool:
        """Whether a model's own code, file or library changed, which no option sets."""
        place = _TARGET.fullmatch(self.path)
        return place is not None and place[2].split(".")[0] in _OF_MODEL


def changes(was: Any, is_now: Any, path: str = "") -> Iterator[Change]:
    """Every value that differs, lists of tables of one length by their entries, others as a whole.

    >>> [each.path for each in changes({"a": [{"x": 1}, {"x": 2}], "b": [1]}, {"a": [{"x": 1}, {"x": 3}], "b": []})]
    ['a.1.x', 'b']
    """
    if path == "design.levels" and was != is_now:
        yield Change(path, was, is_now)
    elif isinstance(was, Mapping) and isinstance(is_now, Mapping):
        for key in sorted({*was, *is_now}):
            yield from changes(was.get(key), is_now.get(key), f"{path}.{key}".strip("."))
    elif _tables(was) and _tables(is_now) and len(was) == len(is_now):
        for place, (before, after) in enumerate(zip(was, is_now, strict=True)):
            yield from changes(before, after, f"{path}.{place}".strip("."))
    elif was != is_now:
        yield Change(path or "settings", was, is_now)


def in_plain_words(was: Mapping[str, object], is_now: Mapping[str, object]) -> str:
    """What differs (at most six settings) and what to do, as the end of a sentence about a folder; "" if nothing."""
    found = list(changes(was, is_now))
    if not found:
        return ""
    told = [change for change in found if not _DERIVED.match(change.path)] or found
    options = _OPTIONS | _OF_PHOTOGRAPHS if _of_photographs(was) and _of_photographs(is_now) else _OPTIONS
    words = list(dict.fromkeys(_words(change, was, options) for change in told))
    more = [f"{len(words) - _MOST} more settings differ"] if len(words) > _MOST else []
    back = "put the model back" if all(change.of_model for change in told) else "give what was given before"
    return f"{'; '.join([*words[:_MOST], *more])}: choose another --out, or {back}"


def _of_photographs(spec: Mapping[str, object]) -> bool:
    generator = spec.get("generator")
    return isinstance(generator, Mapping) and "labels_sha256" in generator


def _words(change: Change, spec: Mapping[str, object], options: Mapping[str, str]) -> str:
    name = options.get(change.path) or _name(change.path, spec)
    was, now = _value(change.path, change.was), _value(change.path, change.is_now)
    hashed = any(isinstance(value, str) and _HASH.fullmatch(value) for value in (change.was, change.is_now))
    is_record = isinstance(change.was, Mapping) or isinstance(change.is_now, Mapping)
    if (change.of_model and not name.startswith("the library")) or hashed or (is_record and change.path not in options):
        return f"{name} has changed"
    return f"{name} was {was} and is {now}"


def _name(path: str, spec: Mapping[str, object]) -> str:
    if path.startswith(_LEFT_OUT):
        return f"the number of {path.removeprefix(_LEFT_OUT)} left out"
    if path.startswith("versions."):
        return f"the version of {path.removeprefix('versions.')}"
    if path.startswith("pairs."):
        return "--pairs" if ".matched" in path else _PAIRS
    if place := _TARGET.fullmatch(path):
        key = place[2].split(".")[0]
        targets, number = spec.get("targets"), int(place[1])
        entry = targets[number] if isinstance(targets, list) and number < len(targets) else None
        target = str(entry.get("name", number + 1)) if isinstance(entry, Mapping) else str(number + 1)
        return _OF_TARGET[key].format(target) if key in _OF_TARGET else f"{place[2]} of target {target}"
    return path.replace("_", " ").replace(".", ": ")


def _tables(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(entry, Mapping) for entry in value)


def _value(path: str, value: Any) -> str:
    if path.startswith(_LEFT_OUT):
        return str(value or 0)
    if value is None or value in ([], {}):
        return "not given"
    if isinstance(value, Mapping) and "text" in value:  # a truth
        return in_words(value["text"])
    if path == "design.levels" and _tables(value):
        return ", ".join(f"{each.get('attribute')}={_joined(each.get('values'))}" for each in value)
    if isinstance(value, list):
        return ", ".join(str(each.get("name")) if isinstance(each, Mapping) else str(each) for each in value)
    return f"{value:g}" if isinstance(value, float) else in_words(value)


def _joined(values: object) -> str:
    return ",".join(f"{value:g}" for value in values) if isinstance(values, list) else str(values)
