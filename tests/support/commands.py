"""The command line, in a process of its own and in this one."""

import contextlib
import io
import os
import subprocess
import sys
from unittest import mock

import pytest
from places import SUPPORT

from transect.cli.app import app, main
from transect.errors import TransectError


def run(*arguments: str, hide: str = "") -> subprocess.CompletedProcess:
    """The installed command in a process of its own; `hide` makes one library unimportable."""
    path = os.pathsep.join([str(SUPPORT), *filter(None, [os.environ.get("PYTHONPATH")])])
    environment = {**os.environ, "PYTHONPATH": path, "COLUMNS": "200"}
    code = f"import sys; sys.modules[{hide!r}] = None; from transect.cli.app import main; main()"
    start = [sys.executable, "-c", code] if hide else [sys.executable, "-m", "transect"]
    return subprocess.run(
        [*start, *arguments], capture_output=True, text=True, env=environment, check=False, timeout=120
    )


def refused(*arguments: str, code: int = 2, hide: str = "", alone: bool = False) -> str:
    """The one line of a refusal; `alone`, or where a library is hidden: in a process of its own."""
    done = run(*arguments, hide=hide) if alone or hide else run_here(*arguments)
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("transect:")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0].removeprefix("transect: ")


def run_here(*arguments: str) -> subprocess.CompletedProcess:
    """As `run`, in this process: three seconds faster."""
    out, err = io.StringIO(), io.StringIO()
    with (
        mock.patch.object(sys, "argv", ["transect", *arguments]),
        mock.patch("transect.cli.app._end", sys.exit),  # which stops all calls of this process over HTTP
        mock.patch.dict(os.environ, COLUMNS="200"),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as end,
    ):
        main()
    return subprocess.CompletedProcess(arguments, end.value.code or 0, out.getvalue(), err.getvalue())


def printed(*given):
    """Standard output of the command, in this process."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        app(list(given), standalone_mode=False)
    return out.getvalue()


def refused_here(*given):
    with pytest.raises(TransectError) as error:
        printed(*given)
    assert error.value.exit_code == 2
    return str(error.value)
