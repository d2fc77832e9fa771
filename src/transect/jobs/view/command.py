"""The command `transect view`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.options import Json
from transect.runs.json_records import dumps
from transect.texts import say

if TYPE_CHECKING:
    from transect.jobs.view.run import RunView


def view(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR", help="A run folder, a folder of studies, or a folder with several runs; also an address."
        ),
    ] = "runs",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: any free port.")] = 8010,
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
    json: Json = False,
) -> None:
    """Look through the images of runs in your browser, until you stop the command with Ctrl-C.

    Filter by levels and answers, see one subject's whole transect, compare two runs or two levels, and export what you
    selected. Only this machine can reach the page, and only with the address that is printed.
    """
    from transect.jobs.view import run

    with run.view(folder, port=port, quiet=json) as page:
        try:
            _announce(page, json)
            if browser and not json:
                _open(page.url)
            page.wait()
        except KeyboardInterrupt:
            say("stopped", error=True)


def _announce(page: RunView, as_json: bool) -> None:
    if as_json:
        facts = {"url": page.url, "port": page.port, "images": page.images, "runs": page.runs}
        say(dumps({**facts, "left_out": page.left_out, "unfinished": page.unfinished}, None))
        return
    say(f"{page.headline()}: open {page.url} (this machine alone; Ctrl-C stops it)")
    for name, reason in page.unfinished.items():
        say(f"{name} is not finished: {reason}")
    for name, reason in page.left_out.items():
        say(f"not shown: {name}: {reason}")


def _open(url: str) -> None:
    """Open the page, but in no browser that would take the terminal."""
    import webbrowser

    try:
        found = webbrowser.get()
    except webbrowser.Error:
        return
    if not isinstance(found, webbrowser.GenericBrowser) or isinstance(found, webbrowser.BackgroundBrowser):
        found.open(url)
