"""What a setting of a job is on the command line: declared once, with the field of a record that holds it."""

from __future__ import annotations

import dataclasses
import functools
import re
import types
import typing
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Final, Literal, ParamSpec, TypeVar, final

from transect.errors import BadInput, TransectError, UnknownName

P = ParamSpec("P")
R = TypeVar("R")
_ARGUMENTS: Final = re.compile(r"^\w+(?=: )|`\w+`")
_BEGIN_OPTION: Final = re.compile(r"^--[a-z-]+(?=: )")
_OPTIONS: Final = re.compile(r"transect [^;,()]*|--[a-z-]+")
"""Options in a text, but for those of a command that it tells to run."""
Opens = Literal["", "value", "data", "model", "write", "aside"]


@final
@dataclass(frozen=True, slots=True)
class Option:
    """What a field of a job is on the command line. help: a sentence, with a verb.

    kind: the type there, by default that of the field. names: by default the field's own, with dashes. least, most:
    limits of a number. opens: what `transect reproduce` may find in the value, "data" that is only read, a "model", or
    a "value" that opens nothing; it refuses a text that does not say. "write" is where the command writes, and on what
    stands "aside" no result depends. argument: stands without a name.
    read: from the value of the command line to that of the field. default, needed: of the command, where they are
    others than the field's. rare: shown by --help-all alone. A record whose options stand in one panel, or are all
    rare, says so with its constants PANEL and RARE.
    """

    help: str
    kind: Any = None
    names: tuple[str, ...] = ()
    metavar: str | None = None
    panel: str | None = None
    least: float | None = None
    most: float | None = None
    opens: Opens = ""
    argument: bool = False
    read: Callable[..., object] | None = None
    default: object = None
    needed: bool | None = None
    rare: bool = False


@final
@dataclass(frozen=True, slots=True)
class Setting:
    """A field that is an option, of a job or of a record within it. path: the names of the fields that lead there."""

    path: tuple[str, ...]
    option: Option
    hint: object
    default: object

    @property
    def name(self) -> str:
        """The name of the field."""
        return self.path[-1]

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default is dataclasses.MISSING

    @property
    def needed(self) -> bool:
        """Whether the command cannot do without it."""
        needed = self.option.needed
        return needed if needed is not None else self.required and self.option.default is None

    @property
    def shown(self) -> str:
        """How the command line calls it, as --false-match-rate."""
        names = self.option.names
        return names[0].partition("/")[0] if names else f"--{self.name.replace('_', '-')}"

    @property
    def kind(self) -> Any:
        """The type on the command line: of several possible ones that which has all, as a list of texts."""
        kind = self.option.kind or _on_command_line(self.hint)
        return kind | None if self.default is None and typing.get_origin(kind) is not list else kind

    @property
    def opens(self) -> Opens:
        """What its value opens, "" where that is not known: a number, a flag and a choice open nothing."""
        is_text = {str, Path} & _members(self.kind) and not _choices(self.hint)
        return self.option.opens or ("" if is_text else "value")

    @property
    def several(self) -> bool:
        """Whether it takes a list."""
        return typing.get_origin(self.kind) is list

    def of(self, record: object) -> object:
        """The value in a record; None where another kind of value stands in place of the record within."""
        for name in self.path:
            record = getattr(record, name) if dataclasses.is_dataclass(record) else None
        return record

    def check(self, value: object) -> None:
        """Raises BadInput for a number beyond the limits, UnknownName for another text than those of a choice."""
        if choices := _choices(self.hint):
            if isinstance(value, str) and value not in choices:
                raise UnknownName((self.option.metavar or self.shown.removeprefix("--")).lower(), value, choices)
            return
        is_whole = isinstance(value, Integral) and not isinstance(value, bool)
        if self.hint in (int, int | None) and value is not None and not is_whole:
            raise BadInput(f"{self.shown}: expected a whole number, got {value!r:.40}")
        for item in value if isinstance(value, list | tuple) else (value,):
            if isinstance(item, Real) and not isinstance(item, bool):
                self._check_number(float(item))

    def _check_number(self, number: float) -> None:
        least, most = self.option.least, self.option.most
        if least is not None and not number >= least:
            raise BadInput(f"{self.shown}: expected at least {least:g}, got {number:g}")
        if most is not None and not number <= most:
            raise BadInput(f"{self.shown}: expected at most {most:g}, got {number:g}")


def settings(kind: type[object]) -> Sequence[Setting]:
    """The options of a record, and of the records that are its fields, in order."""
    return _cached(typing.cast("Hashable", kind))


def built(kind: type[R], given: Mapping[str, object]) -> R:
    """The record with these values of its options and other fields by name, and the defaults of all others."""
    places = {setting.name: setting.path for setting in settings(kind)}
    made: R = _built(kind, (), {places.get(name, (name,)): value for name, value in given.items()})
    return made


def read(kind: type[object], given: Mapping[str, object]) -> dict[str, object]:
    """The values of the command line as those of the record's fields, by name."""
    known = {setting.name: setting.option.read for setting in settings(kind)}
    return {name: value if (into := known.get(name)) is None else into(value) for name, value in given.items()}


def asked(kind: type[R], given: Mapping[str, object]) -> R:
    """The record of what the command line gave: what it left out has the default of its field."""
    required = {setting.name for setting in settings(kind) if setting.required}
    stated = {name: value for name, value in given.items() if value not in (None, []) or name in required}
    stated.pop("help_all", None)
    return built(kind, read(kind, stated))


def check(record: object) -> None:
    """Raises BadInput or UnknownName for a value of an option that it may not have."""
    with named_in_python(type(record)):
        for setting in settings(type(record)):
            setting.check(setting.of(record))


@contextmanager
def named_in_python(*kinds: type[object]) -> Iterator[None]:
    """Errors name the fields of these records where they would name their options: `false_match_rate`."""
    try:
        yield
    except TransectError as error:
        known = (setting for kind in kinds for setting in settings(kind) if not setting.option.argument)
        names = {setting.shown: setting.name for setting in known}
        error.rename(_BEGIN_OPTION, names)
        error.rename(_OPTIONS, {shown: f"`{name}`" for shown, name in names.items()})
        raise


def names_fields(method: Callable[P, R]) -> Callable[P, R]:
    """A method of a record whose errors name the fields of the record, which a command names as options again."""

    @functools.wraps(method)
    def call(*given: P.args, **named: P.kwargs) -> R:
        with named_in_python(type(given[0])):
            return method(*given, **named)

    return call


@contextmanager
def named_on_command_line(options: Mapping[str, str]) -> Iterator[None]:
    """Errors name these options where they would name arguments: --false-match-rate."""
    try:
        yield
    except TransectError as error:
        error.rename(_ARGUMENTS, {**options, **{f"`{name}`": shown for name, shown in options.items()}})
        raise


@functools.cache
def _cached(kind: Any) -> Sequence[Setting]:
    return tuple(_settings(kind, ()))


def _settings(kind: type[Any], before: tuple[str, ...]) -> Iterator[Setting]:
    hints = typing.get_type_hints(kind, include_extras=True)
    for field in dataclasses.fields(kind):
        hint = hints[field.name]
        found = [each for each in getattr(hint, "__metadata__", ()) if isinstance(each, Option)]
        path = (*before, field.name)
        if found:
            yield Setting(path, _of_record(kind, found[0]), typing.get_args(hint)[0], _default(field))
        elif (within := _record(hint)) is not None:
            yield from _settings(within, path)


def _of_record(kind: type[object], option: Option) -> Option:
    """The option with the panel of its record, and rare where all of them are."""
    panel, rare = option.panel or getattr(kind, "PANEL", None), option.rare or getattr(kind, "RARE", False)
    return dataclasses.replace(option, panel=panel, rare=rare)


def _record(hint: object) -> type[object] | None:
    """The record that a field holds, or may hold."""
    members = typing.get_args(hint) if typing.get_origin(hint) in _UNIONS else (hint,)
    return next((each for each in members if isinstance(each, type) and dataclasses.is_dataclass(each)), None)


def _default(field: dataclasses.Field[object]) -> object:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def _built(kind: type[object], before: tuple[str, ...], given: Mapping[tuple[str, ...], object]) -> Any:
    values = {path[-1]: value for path, value in given.items() if path[:-1] == before}
    hints = typing.get_type_hints(kind)
    inner = dict.fromkeys(path[len(before)] for path in given if path[: len(before)] == before and path[:-1] != before)
    return kind(
        **values, **{name: _built(_record(hints[name]) or hints[name], (*before, name), given) for name in inner}
    )


_UNIONS: Final = (types.UnionType, typing.Union)


def _on_command_line(hint: object) -> Any:
    """The type of an option: a path where a path may stand, a list where several may, else that of the field.

    >>> _on_command_line(str | Path | None), _on_command_line(str | Sequence[str]), _on_command_line(int)
    (pathlib.Path | None, list[str], <class 'int'>)
    """
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return str
    if origin in _UNIONS:
        none = type(None) in members
        kinds = [_on_command_line(member) for member in members if member is not type(None)]
        several = [kind for kind in kinds if typing.get_origin(kind) is list]
        chosen = several[0] if several else Path if Path in kinds else kinds[0]
        return chosen | None if none and not several else chosen
    if isinstance(origin, type) and issubclass(origin, Sequence) and origin is not tuple:
        return list[members[0]]  # type: ignore[valid-type]
    return hint


def _members(kind: object) -> set[object]:
    """The types that a type is made of."""
    inner = typing.get_args(kind)
    return {kind}.union(*map(_members, inner)) if inner else {kind}


def _choices(hint: object) -> tuple[str, ...]:
    """The texts of which an option takes one; none where it takes any."""
    if typing.get_origin(hint) is Literal:
        return typing.get_args(hint)
    if typing.get_origin(hint) in _UNIONS:
        return next(filter(None, map(_choices, typing.get_args(hint))), ())
    return ()
