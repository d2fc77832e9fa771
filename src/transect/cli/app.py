"""The command line: each command reads its options and calls the study or one stage.

Errors are one line on standard error. Exit codes: 0 done, 2 bad input, 3 stopped on too many failures, 130
interrupted, 143 ended by SIGTERM (rerun the command to resume); of requirements 1 violated, 4 not shown; of a
reproduction 1 differs, and of a run's files 1 not as written.
"""

from __future__ import annotations

import io
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Final, final

import typer

from transect import __version__
from transect.cli.declared import add_commands, resumes_from
from transect.cli.listings import datasets, listing, train
from transect.console.options import Group, refuse_repeats
from transect.console.results import command_name
from transect.errors import BadInput, Interrupted, TransectError
from transect.texts import hush_libraries, one_line, say, words_of


def interrupted(arguments: Sequence[str]) -> str:
    """What is kept of the command with these arguments, and what rerunning it does.

    >>> interrupted(["--debug", "audit", "x"])
    'interrupted; finished parts are kept: rerun the command to resume'
    >>> interrupted(["leakage"])
    'interrupted; nothing is kept of an unfinished leakage: rerun the command to start again'
    """
    words = [word for word in arguments if not word.startswith("-")]
    if kept := resumes_from(words):
        return f"interrupted; {kept} are kept: rerun the command to resume"
    name = words[0] if words else "command"
    return f"interrupted; nothing is kept of an unfinished {name}: rerun the command to start again"


@final
class Termination:
    """SIGTERM, by which clusters and clouds end a program, as KeyboardInterrupt. asked: whether it came."""

    CODE: Final = 128 + signal.SIGTERM
    """The exit code by which shells and schedulers know it."""
    _AT_ONCE: Final = 1.0
    """Seconds in which another one is the same: schedulers send it to a process and to its group."""

    def __init__(self) -> None:
        self.asked = False
        self._last = 0.0

    def heard(self) -> None:
        """From now on, in the main thread; where SIGTERM is ignored or handled already it stays so."""
        with suppress(ValueError):  # no main thread
            self.asked = False
            if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
                signal.signal(signal.SIGTERM, self._hear)

    def unheard(self) -> None:
        """No longer."""
        with suppress(ValueError):
            if signal.getsignal(signal.SIGTERM) == self._hear:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _hear(self, *_: object) -> None:
        last, self._last, asked = self._last, time.monotonic(), self.asked
        self.asked = True
        if not asked or self._last - last > self._AT_ONCE:
            raise KeyboardInterrupt


_NO_TORCH: Final = "this needs PyTorch: pip install torch; see the how-to on installing for its small CPU build"

app = typer.Typer(
    name="transect",
    help="Measure bias in vision models by experiment, on images that differ in one attribute and its consequences.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
PANELS: Final[Mapping[str, Sequence[str]]] = {
    "Start": ("demo", "init", "audit", "view", "report"),
    "Decide": ("check", "compare", "replicate"),
    "Find": ("search",),
    "Photographs": ("match", "recognition", "invert"),
    "Labels": ("leakage", "mitigate"),
    "Expert": (),
}
"""The commands of `transect --help` by panel, in order; the last panel has all others."""
for group in (datasets, listing, train):
    app.add_typer(group)
refuse_repeats(app)


@final
class _Commands(Group):
    """All commands, those of declared jobs among the others."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named)
        found = add_commands(self.commands)
        last = list(PANELS)[-1]
        panels = {name: panel for panel, names in PANELS.items() for name in names}
        names = dict.fromkeys((*panels, *sorted(found)))
        self.commands = {name: found[name] for name in names}
        for name, command in self.commands.items():
            command.rich_help_panel = panels.get(name, last)  # type: ignore[attr-defined]


app.info.cls = _Commands


def _print_version(wanted: bool) -> bool:
    if wanted:
        say(__version__)
        raise typer.Exit
    return wanted


@app.callback()
def options(
    debug: Annotated[bool, typer.Option("--debug", help="Show the whole traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001  (its callback does the work)
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    """Measure bias in vision models by experiment, on images that differ in one attribute and its consequences."""
    if debug:
        os.environ["TRANSECT_DEBUG"] = "1"


def _one_line(error: BaseException) -> str:
    """The message in one line; a usage error names the help, and a value of a wrong kind what was expected."""
    if isinstance(error, OSError):
        place = f"{error.filename}: " if isinstance(error.filename, str) else ""
        return one_line(f"{place}{words_of(error)}; check the path and your permissions")
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    text = _with_help(error, text)
    if (faults := getattr(error.__cause__, "errors", None)) and callable(faults):  # pydantic reads values for Typer
        from transect.runs.wording import expectation, in_words

        first = faults()[0]
        text = f"{text.partition(': ')[0]}: {expectation(first)}, got {in_words(first['input'])}"
    return one_line(text)


def _with_help(error: BaseException, text: str) -> str:
    """A usage error with the command that shows its fix; an invalid value has the fix in its words."""
    context = getattr(error, "ctx", None)
    if not text or context is None or text.startswith("Invalid value"):
        return text
    text, help_ = text[0].lower() + text[1:].rstrip("."), f"transect {command_name(context)}".strip()
    return f"{text} See: {help_} --help" if text.endswith("?") else f"{text}; see: {help_} --help"


_termination: Final = Termination()


def main() -> None:
    """Run the command line and leave with its exit code."""
    for stream in (sys.stdout, sys.stderr):  # a terminal that cannot show a character gets another
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    hush_libraries()
    _termination.heard()
    try:
        _run()
    finally:
        _termination.unheard()


def _run() -> None:
    try:
        code = app(standalone_mode=False)
    except TransectError as error:
        _leave(error, error.exit_code)
    except (KeyboardInterrupt, typer.Abort) as error:
        if isinstance(error.__cause__, EOFError):  # Typer takes the end of any file for the end of the terminal
            _leave(BadInput("a file is truncated: replace it; --debug shows which"), 2, error)
        _leave(BadInput(interrupted(sys.argv[1:])), Interrupted.exit_code, error)
    except SystemExit as error:
        if error.code != signal.SIGTERM:
            raise
        _termination.asked = True  # Ray's own handler leaves in this way
        _leave(BadInput(interrupted(sys.argv[1:])), Interrupted.exit_code, error)
    except Exception as error:
        _leave(_in_words(error), 2, error)
    if code == Interrupted.exit_code:  # Typer returns it for Ctrl-C, without a word
        _leave(BadInput(interrupted(sys.argv[1:])), Interrupted.exit_code)
    _end(code if isinstance(code, int) else 0)


def _in_words(error: Exception) -> Exception:
    """What the reader can act on: wrong options, files, memory. Raises the error itself where it is a fault of ours."""
    if isinstance(error, ModuleNotFoundError) and (error.name or "").partition(".")[0] == "torch":
        return BadInput(_NO_TORCH)
    if isinstance(error, MemoryError):
        return BadInput("out of memory: use less data, or a smaller size or model")
    if not hasattr(error, "format_message") and not isinstance(error, OSError):
        raise error
    return error


def _leave(error: BaseException, code: int, cause: BaseException | None = None) -> None:
    if os.environ.get("TRANSECT_DEBUG"):
        raise cause or error
    if message := _one_line(error):  # without arguments the help is already there
        say(f"transect: {message}", error=True)
    _end(Termination.CODE if code == Interrupted.exit_code and _termination.asked else code)


def _end(code: int) -> None:
    """Leave at once when something is left over.

    Python would wait for the threads of an abandoned call, and native threads of libraries have been seen to abort an
    interpreter that ends in the middle of work. Everything that counts is on disk by then.
    """
    guard = sys.modules.get("transect.targets.guard")
    if http := sys.modules.get("transect.targets.http.asking"):
        http.drain()  # what is under way is paid for
    if isolated := sys.modules.get("transect.targets.isolated.target"):
        isolated.end_all()
    if mounts := sys.modules.get("transect.runs.working_folders"):
        mounts.close_all()
    if code or (guard is not None and guard.abandoned):
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError, AttributeError):  # full, closed, or none
                stream.flush()
        os._exit(code)
    sys.exit(code)
