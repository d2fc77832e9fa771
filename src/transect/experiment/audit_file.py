"""An audit's settings in TOML, read and checked: what `transect audit --config` takes."""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
from pydantic import ConfigDict, TypeAdapter, ValidationError

from transect.errors import BadInput, UnknownName
from transect.experiment.audit_request import SECTIONS, AuditRequest, places
from transect.runs import toml_files
from transect.runs.wording import expectation, in_words

REQUIREMENTS = "require"
"""The tables of a file that say what the model must meet; `analysis.requirements` reads them."""


def read_settings(path: str | Path) -> dict[str, object]:
    """The settings in a TOML file, by name."""
    return settings_in(toml_files.read_text(Path(path)), str(path))


def settings_in(text: str, path: str) -> dict[str, object]:
    """The settings in the text of a file of that name. Raises as `read_settings`."""
    tables = toml_files.parse(text, f"--config {path}")
    settings: dict[str, object] = {}
    for name, value in tables.items():
        if name == REQUIREMENTS:
            continue
        if name in SECTIONS:
            settings |= _section(path, name, value)
        else:
            settings[name] = _checked(path, "", name, value)
    return settings


def _section(path: str, section: str, table: object) -> dict[str, object]:
    if not isinstance(table, Mapping):
        raise BadInput(f"--config {path}: {section}: expected a table [{section}], got {table!r}")
    return {name: _checked(path, section, name, value) for name, value in table.items()}


def _checked(path: str, section: str, name: str, value: object) -> object:
    place = f"{section}.{name}" if section else name
    if name == "scorers":  # a file may be a stranger's
        raise BadInput(f"--config {path}: scorers: a file may not name code to run; give --scorer on the command line")
    homes = places()
    known = [key for key, home in homes.items() if home == section] + ([] if section else list(SECTIONS))
    if name not in known and name in homes:
        home = f"in the table [{homes[name]}]" if homes[name] else "above the first table"
        raise BadInput(f"--config {path}: {place}: {name} belongs {home}; move it there")
    if name not in known:
        raise UnknownName(f"key in {path}:", place, [f"{section}.{key}" if section else key for key in known])
    try:
        return _typed(section, name, json.dumps(value, default=str))
    except ValidationError as failure:
        raise BadInput(f"--config {path}: {place}: {_reason(failure)}") from None


def _typed(section: str, name: str, text: str) -> object:
    """The value in a JSON text, of the type that the request's field has. Raises ValidationError."""
    hint = typing.get_type_hints(SECTIONS[section] if section else AuditRequest)[name]
    if pa.Table in typing.get_args(hint):  # a table: in a file it is a path
        hint = Path | None
    adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    value: object = adapter.validate_json(text, strict=True)
    return value


def _reason(failure: ValidationError) -> str:
    """What was expected and found, in one line; of a choice of types the first, as TOML has no objects."""
    first = failure.errors()[0]
    expected = "expected more values" if first["type"] == "missing" else expectation(first)
    return f"{expected}, got {in_words(first['input'])}"
