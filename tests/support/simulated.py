"""Simulated raters answer, as `python examples/simulated_raters.py`, in this process."""

import contextlib
import io

import typer
from examples import simulated_raters

_APP = typer.Typer()
_APP.command()(simulated_raters.command)


def simulated(*given):
    """Standard output of the script."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        _APP(list(map(str, given)), standalone_mode=False)
    return out.getvalue()
