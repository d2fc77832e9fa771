"""The commands of declared jobs: each is opened when it is called, so that `transect --help` imports none of them.

The module `train_gan` of `transect.jobs` is the command `transect train gan`, since `train` is one of the groups. The
help of a command is the docstring of its module, of which lists of commands show the first paragraph.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

import typer

from transect import jobs
from transect.console.options import Command, Group

_DOCSTRING: Final = re.compile(r'"""(.+?)"""', re.DOTALL)
_RESUMES: Final = re.compile(r'^ *RESUMES_FROM: \w+ = "(.+)"$', re.MULTILINE)

GROUPS: Final = {
    "datasets": "Show what a data set contains, write its labels as a table, or render a small one.",
    "directions": "Fit directions of attributes in a generator's latent space, or show those in a file.",
    "list": "List runs, attributes, data sets, generators or targets.",
    "targets": "Check what a target receives and answers.",
    "train": "Train generators, encoders and classifiers. Rerun the command to resume.",
}
"""Groups of commands by the first word of their modules, with what `transect --help` says of each. A job may be a group
too: the module `match_readings` is `transect match readings`, since there is a job `match`.
"""


@final
class DeclaredCommand(Command):
    """The command of the job that `transect.jobs.NAME` declares; it has its help without an import."""

    def __init__(self, module: str) -> None:
        self.module = module
        self.below: dict[str, DeclaredCommand] = {}
        super().__init__(name=place_of(module)[1], help=_paragraphs(help_of(module)))

    @cached_property
    def real(self) -> Any:
        """The command as Typer makes it from the job's options."""
        from transect.job import opened

        job = getattr(import_module(f"transect.jobs.{self.module}"), "command", None) or opened(self.module)
        if job is None:
            raise LookupError(f"transect.jobs.{self.module} has no job and no command")
        others = ", ".join(f"transect {self.name} {name}" for name in self.below)
        return _made(str(self.name), job, help_of(self.module), f"See also: {others}" if others else None)

    @property
    def params(self) -> list[Any]:
        """Its options."""
        return list(self.real.params)

    @params.setter
    def params(self, _: object) -> None:
        """Click sets them to none while the command is not open."""

    def make_context(self, info_name: str | None, args: list[str], parent: object = None, **extra: object) -> Any:
        """The context of the opened command, which is what runs, or of the one below that the first word names."""
        if args and (below := self.below.get(args[0])):
            return below.make_context(f"{info_name} {args[0]}", args[1:], parent=parent, **extra)
        return self.real.make_context(info_name, args, parent=parent, **extra)


@final
class DeclaredGroup(Group):
    """The jobs that `transect.jobs.NAME` lists in `COMMANDS`; the help of each is its docstring."""

    def __init__(self, module: str) -> None:
        self.module = module
        super().__init__(name=module, help=help_of(module), no_args_is_help=True)

    @cached_property
    def real(self) -> dict[str, object]:
        """Its commands, as Typer makes them from the options of each."""
        jobs_of = import_module(f"transect.jobs.{self.module}").COMMANDS
        return {name: _made(name, job, inspect.getdoc(job) or "") for name, job in jobs_of.items()}

    @property
    def commands(self) -> dict[str, Any]:
        """Its commands."""
        return self.real

    @commands.setter
    def commands(self, _: object) -> None:
        """Click sets them to none while the group is not open."""


def _made(name: str, job: Any, help_: str, epilog: str | None = None) -> object:
    """The command of a job, or of a function whose parameters are options."""
    from transect.job import command

    app = typer.Typer(add_completion=False)
    call = command(job) if isinstance(job, type) else job
    app.command(name, cls=Command, help=_paragraphs(help_), epilog=epilog)(call)
    return typer.main.get_command(app)


@cache
def declared() -> Sequence[str]:
    """The modules of `transect.jobs` that declare a job or have a command."""
    found = pkgutil.iter_modules(jobs.__path__)
    return tuple(each.name for each in found if not each.ispkg or "def command(" in _source(each.name))


def place_of(module: str) -> tuple[str, str]:
    """The group of a module's command, or the job below which it stands, "" for none, and its name there.

    >>> place_of("train_gan"), place_of("match_readings"), place_of("compare")
    (('train', 'gan'), ('match', 'readings'), ('', 'compare'))
    """
    above, _, name = module.partition("_")
    is_below = name and (above in GROUPS or above in declared())
    return (above, name.replace("_", "-")) if is_below else ("", module.replace("_", "-"))


def add_commands(own: Mapping[str, Any]) -> dict[str, Any]:
    """The app's own commands and groups, with those of all declared jobs, by name."""
    found = dict(own)
    for module in declared():  # in alphabetical order, so that `match` comes before `match_readings`
        is_group = "\nCOMMANDS: " in _source(module)
        above, command = place_of(module)[0], DeclaredGroup(module) if is_group else DeclaredCommand(module)
        if not above:
            found[str(command.name)] = command
        elif isinstance(job := found.get(above), DeclaredCommand) and isinstance(command, DeclaredCommand):
            job.below[str(command.name)] = command
        else:
            group = found.setdefault(above, Group(name=above, help=GROUPS[above], no_args_is_help=True))
            group.add_command(command)
    return found


def _paragraphs(text: str) -> str:
    """A docstring whose paragraphs are lines."""
    return "\n\n".join(" ".join(each.split()) for each in text.split("\n\n"))


def help_of(module: str) -> str:
    """The docstring of a job's module, without an import of it."""
    found = _DOCSTRING.match(_source(module))
    return "" if found is None else found[1]


def resumes_from(words: Sequence[str]) -> str:
    """What an interrupted command keeps, as the file of its job states it in RESUMES_FROM; "" for nothing."""
    named = [name.replace("-", "_") for name in ("_".join(words[:2]), *words[:1])]
    found = [_RESUMES.search(_source(module)) for module in named if module in declared()]
    return found[0][1] if found and found[0] else ""


def _source(module: str) -> str:
    place = Path(jobs.__path__[0]) / module
    file = place.with_suffix(".py")
    return (file if file.is_file() else place / "__init__.py").read_text(encoding="utf-8")
