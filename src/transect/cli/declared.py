"""The commands of declared jobs: each is opened when it is called, so that `transect --help` imports none of them."""

from __future__ import annotations

import pkgutil
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, Final, final

import typer

from transect import jobs
from transect.console.options import Command

_FIRST: Final = re.compile(r'"""(.+?)(?:"""|\n\n)', re.DOTALL)
"""The first paragraph of a module's docstring, which is the help of its command."""


@final
class DeclaredCommand(Command):
    """The command of the job that `transect.jobs.NAME` declares; it has its help without an import."""

    def __init__(self, module: str) -> None:
        self.module = module
        super().__init__(name=module.replace("_", "-"), help=help_of(module))

    @cached_property
    def real(self) -> Any:
        """The command as Typer makes it from the job's options."""
        from transect.job import command, opened

        call = getattr(import_module(f"transect.jobs.{self.module}"), "command", None)
        if call is None:
            if (kind := opened(self.module)) is None:
                raise LookupError(f"transect.jobs.{self.module} has no job and no command")
            call = command(kind)
        app = typer.Typer(add_completion=False)
        app.command(self.name, cls=Command)(call)
        return typer.main.get_command(app)

    @property
    def params(self) -> list[Any]:
        """Its options."""
        return list(self.real.params)

    @params.setter
    def params(self, _: object) -> None:
        """Click sets them to none while the command is not open."""

    def make_context(self, info_name: str | None, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """The context of the opened command, which is what runs."""
        return self.real.make_context(info_name, args, parent=parent, **extra)


def declared() -> list[str]:
    """The modules of `transect.jobs` that declare a job or have a command."""
    found = pkgutil.iter_modules(jobs.__path__)
    return [each.name for each in found if not each.ispkg or "def command(" in _source(each.name)]


def help_of(module: str) -> str:
    """The first paragraph of the docstring of a job's module, in one line, without an import of it."""
    found = _FIRST.match(_source(module))
    return "" if found is None else " ".join(found[1].split())


def _source(module: str) -> str:
    place = Path(jobs.__path__[0]) / module
    file = place.with_suffix(".py")
    return (file if file.is_file() else place / "__init__.py").read_text(encoding="utf-8")
