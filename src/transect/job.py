"""What a job is: one frozen record whose fields are its options, with the computation and what is shown of it.

From this record come the command with its help, the Python function, `--json` and its schema, the terminal's table,
the page, and what `transect reproduce` gives again. `transect/jobs/retrieve.py` is a short example.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
import sys
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Generic, Literal, ParamSpec, TypeVar, cast, final

import pyarrow as pa
import typer

from transect.console.options import Json
from transect.console.results import Rerun, keep, show
from transect.errors import BadInput
from transect.reports import builder
from transect.reports.blocks import Answer, Bullets, Page, Paragraph, Part, summary
from transect.reports.columns import Table
from transect.runs.result import JobResult, json_schema

P = ParamSpec("P")
Numbers = TypeVar("Numbers")


@final
@dataclass(frozen=True, slots=True)
class Option:
    """What a field of a job is on the command line. help: a sentence, with a verb.

    kind: the type there, by default the field's. names: by default the field's own, with dashes. least, most: limits
    of a number. opens: what `transect reproduce` may find in the value, "data" that is only read or a "model".
    argument: stands without a name.
    """

    help: str
    kind: Any = None
    names: tuple[str, ...] = ()
    metavar: str | None = None
    panel: str | None = None
    least: float | None = None
    most: float | None = None
    opens: Literal["", "data", "model"] = ""
    argument: bool = False

    def name(self, field: str) -> str:
        """The option of a field, as --false-match-rate."""
        return self.names[0].partition("/")[0] if self.names else f"--{field.replace('_', '-')}"

    def check(self, field: str, value: object) -> None:
        """Raises BadInput for a number beyond the limits."""
        for item in value if isinstance(value, list | tuple) else (value,):
            if not isinstance(item, int | float):
                continue
            if self.least is not None and not item >= self.least:
                raise BadInput(f"{self.name(field)}: expected at least {self.least:g}, got {item:g}")
            if self.most is not None and not item <= self.most:
                raise BadInput(f"{self.name(field)}: expected at most {self.most:g}, got {item:g}")


@final
@dataclass(frozen=True, slots=True)
class Content:
    """What is shown of a job's numbers.

    answer: sentences, the first of which is the headline; question: that the page answers. remarks: how to read the
    answer; notes: what to know before you use the numbers. table: what the terminal shows; rows: the result's table, by
    default the same. parts: of the page, before the table. sources: works cited.
    """

    title: str
    answer: Sequence[str]
    table: Table[Any]
    rows: Table[Any] | None = None
    question: str = ""
    remarks: Sequence[str] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    parts: Sequence[Part] = ()
    sources: Sequence[str] = ()

    def page(self) -> Page:
        """The page: the answer, what to know, the parts, the table, the sources."""
        first = summary(Answer(self.answer, self.remarks), *(Paragraph(text, "note") for text in self.notes))
        table = Part("table", self.table.title, (self.table,))
        sources = [Part("sources", "Sources", (Bullets(self.sources),))] if self.sources else []
        return Page(self.title, (first, *self.parts, table, *sources), question=self.question)


@dataclass(frozen=True)
class Job(ABC, Generic[Numbers]):
    """A job: a frozen dataclass whose fields are annotated with an `Option`.

    VERSION: of the JSON that its numbers make. OUT: where the command writes the page, None where that must be asked
    for. quiet: no progress on standard error.
    """

    VERSION: ClassVar[int] = 1
    OUT: ClassVar[Path | None] = None
    NUMBERS: ClassVar[Any]

    quiet: bool = dataclasses.field(default=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.NUMBERS = next(kind for base in cls.__orig_bases__ for kind in typing.get_args(base))  # type: ignore[attr-defined]

    def __post_init__(self) -> None:
        for name, option in options(type(self)).items():
            option.check(name, getattr(self, name))

    @abstractmethod
    def compute(self) -> Numbers:
        """The numbers, as a record."""

    @abstractmethod
    def content(self, numbers: Numbers) -> Content:
        """What is shown of them."""

    @final
    def result(self) -> Finished[Numbers]:
        """The numbers, and all that is made of them."""
        return Finished(self.compute(), self)


@final
@dataclass(frozen=True)
class Finished(JobResult[Numbers]):
    """A finished job: its numbers, and the record that asked for them."""

    job: Job[Numbers]

    @functools.cached_property
    def content(self) -> Content:
        """What is shown of the numbers."""
        return self.job.content(self.numbers)

    @property
    def table(self) -> pa.Table:
        """The rows of the result, a column for each of its numbers."""
        return (self.content.rows or self.content.table).arrow()

    def report(self, path: str | Path) -> Path:
        """Write the page and its numbers into the folder `path`; returns the page's path."""
        return builder.write(self.content.page(), Path(path) / f"{name_of(type(self.job))}.html", self.to_json())

    def headline(self) -> str:
        """The answer in one sentence."""
        return self.content.answer[0].removesuffix(".")

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The table of the terminal."""
        return self.content.table.texts()

    def warning_lines(self) -> Sequence[str]:
        """What you have to know before you use the numbers."""
        return self.content.warnings


def opened(module: str) -> type[Job[Any]] | None:
    """The job that the module `transect.jobs.MODULE` declares: its one class that is a `Job`, else None."""
    loaded = import_module(f"transect.jobs.{module}")
    own = (kind for kind in vars(loaded).values() if isinstance(kind, type) and kind.__module__ == loaded.__name__)
    return next((kind for kind in own if issubclass(kind, Job)), None)


def name_of(kind: type[Job[Any]]) -> str:
    """The name of a job: that of its command.

    >>> name_of(type("SampleData", (), {}))
    'sample-data'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def schema(kind: type[Job[Any]]) -> dict[str, object]:
    """The JSON Schema of what a job prints with --json."""
    return json_schema(kind.NUMBERS, name_of(kind), kind.VERSION)


@functools.cache
def options(kind: type[Job[Any]]) -> Mapping[str, Option]:
    """The options of a job by the names of their fields, in order."""
    hints = typing.get_type_hints(kind, include_extras=True)
    found = ((name, option) for name in _fields(kind) for option in getattr(hints[name], "__metadata__", ()))
    return {name: option for name, option in found if isinstance(option, Option)}


def rerun(kind: type[Job[Any]]) -> Rerun:
    """What of a job's command `transect reproduce` gives again."""
    named: dict[str, list[str]] = {"": [], "data": [], "model": []}
    argument = ""
    for name, option in options(kind).items():
        if option.argument:
            argument = {"": "values", "data": "data", "model": "models"}[option.opens]
        else:
            named[option.opens].append(option.name(name).removeprefix("--"))
    values, data, models = (" ".join(names) for names in named.values())
    return Rerun(values, data, models, argument)


def function(kind: Callable[P, Job[Numbers]]) -> Callable[P, Finished[Numbers]]:
    """The Python function of a job: it takes the fields, and returns the finished job."""
    record = cast("type[Job[Numbers]]", kind)

    def call(*given: P.args, **named: P.kwargs) -> Finished[Numbers]:
        return kind(*given, **named).result()

    meant = "\n".join(f"    {name}: {option.help}" for name, option in options(record).items())
    call.__name__ = call.__qualname__ = name_of(record).replace("-", "_")
    call.__module__, call.__doc__ = record.__module__, f"{inspect.getdoc(kind)}\n\nArgs:\n{meant}\n"
    call.__signature__ = inspect.signature(kind)  # type: ignore[attr-defined]
    return call


def command(kind: type[Job[Any]]) -> Callable[..., None]:
    """The function from which Typer makes a job's command."""

    def call(**given: Any) -> None:
        context, out, as_json = (given.pop(name) for name in _OWN)
        job = kind(**{name: value for name, value in given.items() if value not in (None, [])}, quiet=as_json)
        result = job.result()
        page = result.report(out) if out is not None else None
        if out is not None:
            keep(context, out, rerun(kind))
        show(result, as_json, result.headline(), result.rows(), page=page)

    call.__name__, call.__doc__ = name_of(kind), help_of(sys.modules[kind.__module__].__doc__ or "")
    call.__signature__ = inspect.Signature(_parameters(kind))  # type: ignore[attr-defined]
    call.__annotations__ = {}
    return call


def help_of(text: str) -> str:
    """The first paragraph of a docstring in one line: the help of a command is that of its module."""
    return " ".join(text.strip().partition("\n\n")[0].split())


_OWN: Final = ("context", "out", "json")
"""Parameters of every job's command."""


def _fields(kind: type[Job[Any]]) -> list[str]:
    return [field.name for field in dataclasses.fields(kind) if field.name != "quiet"]


def _parameters(kind: type[Job[Any]]) -> list[inspect.Parameter]:
    hints = typing.get_type_hints(kind, include_extras=True)
    defaults = {field.name: field.default for field in dataclasses.fields(kind)}
    own = [_parameter(name, option, hints[name], defaults[name]) for name, option in options(kind).items()]
    out = typer.Option(help="Folder for the page and its numbers.")
    return [
        _keyword("context", typer.Context),
        *own,
        _keyword("out", Annotated[Path | None, out], kind.OUT),
        _keyword("json", Json, default=False),
    ]


def _parameter(name: str, option: Option, hint: Any, default: Any) -> inspect.Parameter:
    """A field as a parameter: of a list the default is that of the field, and its help says it."""
    required = default is dataclasses.MISSING
    plain, *_ = typing.get_args(hint)
    kind = option.kind or plain
    several = typing.get_origin(kind) is list
    made = typer.Argument if option.argument else functools.partial(typer.Option, *option.names)
    shown = made(help=option.help, metavar=option.metavar, rich_help_panel=option.panel)
    if required:
        return _keyword(name, Annotated[kind, shown])
    return _keyword(name, Annotated[kind | None if several else kind, shown], None if several else default)


def _keyword(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)
