"""What a job is: one frozen record whose fields are its options, with the computation and what is shown of it.

From this record come the command with its help, the Python function, `--json` and its schema, the terminal's table,
the page, and what `transect reproduce` gives again. `transect/jobs/retrieve.py` is a short example.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, ParamSpec, Protocol, TypeAlias, TypeVar, cast, final

import pyarrow as pa
import typer

from transect import options
from transect.console.options import Json, keyword, parameters
from transect.console.results import Rerun, keep, show
from transect.options import Option, settings
from transect.reports import builder
from transect.reports.columns import Table
from transect.reports.content import Content
from transect.runs import working_folders
from transect.runs.addresses import is_address
from transect.runs.layout import is_run
from transect.runs.parts import announcing_stages
from transect.runs.result import JobResult, json_schema

__all__ = [
    "Content",
    "Finished",
    "Job",
    "Option",
    "Out",
    "command",
    "function",
    "name_of",
    "opened",
    "parameters",
    "rerun",
    "schema",
]

P = ParamSpec("P")
Numbers = TypeVar("Numbers")
Result_co = TypeVar("Result_co", covariant=True)


@final
@dataclass(frozen=True, slots=True)
class Out:
    """Where a command writes the page and its numbers. help: a sentence. default: None writes no page unless asked."""

    help: str = "Folder for the page and its numbers."
    default: str | None = None
    name: str = "--out"


@dataclass(frozen=True)
class Job(ABC, Generic[Numbers]):
    """A job: a frozen dataclass whose fields are annotated with an `Option`, or are records of such fields.

    VERSION: of the JSON that its numbers make. OUT: where the command writes the page; None where a field `out` says
    it, since the work itself writes there, or where there is none. KEPT: whether the command is kept beside the page,
    so that `transect reproduce` gives it again. RESUMES_FROM: what an interrupted command keeps, "" for nothing;
    a literal, since it is read from the file. FIRST_ALONE: of several processes that a launcher starts, the first alone
    prints. quiet: no progress on standard error; a job that has none to show redeclares the field with init=False, so
    that its function does not take it.

    The name of the JSON and of the page is that of the class; that of the command is the module's, whose first job it
    is.
    """

    VERSION: ClassVar[int] = 1
    OUT: ClassVar[Out | None] = Out()
    KEPT: ClassVar[bool] = True
    RESUMES_FROM: ClassVar[str] = ""
    FIRST_ALONE: ClassVar[bool] = False
    NUMBERS: ClassVar[object]

    quiet: bool = dataclasses.field(default=False, kw_only=True)

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.NUMBERS = next(kind for base in cls.__orig_bases__ for kind in typing.get_args(base))  # type: ignore[attr-defined]
        if "__post_init__" in vars(cls):
            cls.__post_init__ = options.names_fields(cls.__post_init__)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        options.check(self)

    @abstractmethod
    def compute(self) -> Numbers:
        """The numbers, as a record."""

    @abstractmethod
    def content(self, numbers: Numbers) -> Content:
        """What is shown of them."""

    def write(self, numbers: Numbers, folder: Path) -> None:
        """Write into the folder of the page what it holds beside the page and the numbers; nothing by default."""

    def place(self) -> str | Path | None:
        """The folder of the page where the command names none, None for no page; before the work, so it may refuse."""
        return getattr(self, "out", None) if self.OUT is None else self.OUT.default

    def instead(self) -> AnyJob:
        """The job that the command does with these options: this one, or another that they ask for."""
        return self

    def exit_code(self, numbers: Numbers) -> int:  # noqa: ARG002  (for those that have one)
        """The exit code of the command."""
        return 0

    @final
    @options.names_fields
    def result(self) -> Finished[Numbers]:
        """The numbers, and all that is made of them."""
        return Finished(self.compute(), self)


AnyJob: TypeAlias = Job[Any]
"""A job with whatever numbers."""


@final
@dataclass(frozen=True)
class Finished(JobResult[Numbers]):
    """A finished job: its numbers, and the record that asked for them."""

    job: Job[Numbers]

    @functools.cached_property
    def content(self) -> Content:
        """What is shown of the numbers."""
        return self.job.content(self.numbers)

    def figure(self) -> builder.Framed:
        """The picture of the answer, for a notebook; empty where the page has none."""
        return builder.framed(self.content.picture)

    def _repr_html_(self) -> str:
        return self.figure().html + super()._repr_html_()

    @property
    def table(self) -> pa.Table:
        """The rows of the result, a column for each of its numbers."""
        rows = self.content.rows or self.content.table
        if isinstance(rows, Table):
            return rows.arrow()
        return rows if isinstance(rows, pa.Table) else rows() if rows else pa.table({})

    def report(self, path: str | Path) -> Path:
        """Write the page and its numbers into the folder `path`; returns the page's path."""
        folder = working_folders.opened(path)
        page = builder.write(self.content.page(), folder / f"{name_of(type(self.job))}.html", self.to_json())
        self.job.write(self.numbers, folder)
        return page

    def headline(self) -> str:
        """The answer in one sentence."""
        return self.content.headline

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """The table of the terminal."""
        shown = (self.content.table, *(self.content.terminal or ()))
        return next((each.texts() for each in shown if isinstance(each, Table)), ((), ()))

    def warning_lines(self) -> Sequence[str]:
        """What you have to know before you use the numbers."""
        return self.content.warnings


def opened(module: str) -> type[AnyJob] | None:
    """The job of the command that the module `transect.jobs.MODULE` declares: the first of its jobs, else None."""
    return next(iter(jobs_of(module)), None)


def jobs_of(module: str) -> list[type[AnyJob]]:
    """The classes of the module `transect.jobs.MODULE` that are jobs."""
    loaded = import_module(f"transect.jobs.{module}")
    own = (kind for kind in vars(loaded).values() if isinstance(kind, type) and kind.__module__ == loaded.__name__)
    return [kind for kind in own if issubclass(kind, Job) and not inspect.isabstract(kind)]


def name_of(kind: type[AnyJob]) -> str:
    """The name of a job: that of its command.

    >>> name_of(type("SampleData", (), {}))
    'sample-data'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", kind.__name__).lower()


def schema(kind: type[AnyJob]) -> dict[str, object]:
    """The JSON Schema of what a job prints with --json."""
    return json_schema(kind.NUMBERS, name_of(kind), kind.VERSION)


def rerun(kind: type[AnyJob]) -> Rerun:
    """What of a job's command `transect reproduce` gives again."""
    kinds, writes = {}, {_out_name(kind): ""}
    for setting in settings(kind):
        option, opens = setting.option, setting.opens
        if opens == "write":
            file = Path(option.default) if isinstance(option.default, str | Path) else Path()
            writes[setting.shown.removeprefix("--")] = file.name if file.suffix else ""
        elif opens != "aside":
            kinds["" if option.argument else setting.shown] = opens
    return Rerun(kinds, writes)


class Asked(Protocol[Result_co]):
    """A record of settings that has a result, as each `Job`."""

    def result(self) -> Result_co:
        """What comes of the settings."""


def function(kind: Callable[P, Asked[Result_co]], name: str = "") -> Callable[P, Result_co]:
    """The Python function of a job: it takes the fields, and returns the finished job, or what else its result is.

    name: by default that of the job.
    """
    record = cast("type[AnyJob]", kind)

    def call(*given: P.args, **named: P.kwargs) -> Result_co:
        with options.named_in_python(record):
            return kind(*given, **named).result()

    meant = "\n".join(f"    {each.name}: {each.option.help}" for each in settings(record) if len(each.path) == 1)
    call.__name__ = call.__qualname__ = name or name_of(record).replace("-", "_")
    call.__module__, call.__doc__ = (
        record.__module__,
        f"{inspect.getdoc(kind)}\n" + (f"\nArgs:\n{meant}\n" if meant else ""),
    )
    call.__signature__, call.job = inspect.signature(kind), kind  # type: ignore[attr-defined]
    return call


def command(kind: type[AnyJob]) -> Callable[..., None]:
    """The function from which Typer makes a job's command."""

    def call(**given: Any) -> None:
        context, as_json = given.pop("context"), given.pop("json")
        asked = given.pop(_out_name(kind), None) if kind.OUT is not None else None
        if any(field.name == "quiet" and field.init for field in dataclasses.fields(kind)):
            given["quiet"] = as_json
        job = options.asked(kind, given).instead()
        folder = job.place() if asked is None else asked
        if folder is not None:
            working_folders.check_folder(folder)
        with announcing_stages(quiet=as_json):
            result = job.result()
        page = None if folder is None else result.report(folder)
        # Kept in a folder of the job's own: no run, and not where `place` put it beside others.
        is_its_own = kind.KEPT and (kind.OUT is None or (asked is not None and not is_run(Path(asked))))
        if folder is not None and not is_address(folder) and is_its_own:
            keep(context, Path(folder), rerun(kind))
        if kind.FIRST_ALONE and os.environ.get("RANK", "0") != "0":
            return
        show(result, as_json, *result.content.lines(), page=page)
        if code := job.exit_code(result.numbers):
            raise typer.Exit(code)

    call.__signature__ = inspect.Signature(_parameters(kind))  # type: ignore[attr-defined]
    call.__annotations__ = {}
    return call


def _out_name(kind: type[AnyJob]) -> str:
    return "out" if kind.OUT is None else kind.OUT.name.removeprefix("--")


def _parameters(kind: type[AnyJob]) -> list[inspect.Parameter]:
    out = kind.OUT
    written = []
    if out is not None:
        said = typer.Option(out.name, help=out.help)
        written = [keyword(_out_name(kind), Annotated[str | None, said], out.default)]
    return [*parameters(kind), *written, keyword("json", Json, default=False)]
