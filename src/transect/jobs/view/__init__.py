"""Browse the images of runs in your browser, until you stop the command with Ctrl-C.

Filter by levels and answers, see one subject's whole transect, compare two runs or two levels, and export what you
selected. Only this machine can reach the page, and only with the address that is printed.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from html import escape
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Final, final
from urllib.parse import urlencode

import numpy as np
import typer

from transect.console.options import Json, with_options
from transect.errors import BadInput, MissingExtra
from transect.job import Option, function
from transect.options import asked
from transect.runs import working_folders
from transect.runs.json_records import dumps
from transect.runs.parts import announcing_stages
from transect.runs.wording import counted
from transect.texts import say

if TYPE_CHECKING:
    from transect.jobs.view.index import Index

HOST: Final = "127.0.0.1"
_SECONDS: Final = 30.0


@final
class RunView:
    """A page that is being served, by a thread of this process, until `close`; a context manager.

    url: the address, with the token that lets a browser in. left_out: by name, why a run is not shown. shown: what the
    page is asked to show first, as parameters.
    """

    def __init__(self, index: Index, port: int, shown: Mapping[str, str]) -> None:
        from transect.annotation.server.listening import Server, config, taken
        from transect.jobs.view.server import create_app

        self._token, self._listening = secrets.token_urlsafe(24), threading.Event()
        self._shown = dict(shown)
        self._server = Server(config(create_app(index, self._token), HOST, port), self._ready)
        self.folder, self.images, self.runs = index.folder, len(index), tuple(run.name for run in index.runs)
        self.left_out, self.port = dict(index.left_out), port
        self.unfinished = {run.name: run.unfinished for run in index.runs if run.unfinished}
        self._thread = threading.Thread(target=self._serve, name="transect-view", daemon=True)
        self._thread.start()
        if not self._listening.wait(_SECONDS) or not self._server.started:
            raise taken(HOST, port)

    @property
    def url(self) -> str:
        """The address to open."""
        return f"http://{HOST}:{self.port}/?{urlencode({'token': self._token, **self._shown})}"

    def wait(self) -> None:
        """Return when the page is no longer served."""
        while self._thread.is_alive():
            self._thread.join(0.5)

    def close(self) -> None:
        """Stop serving; what is under way ends first."""
        self._server.should_exit = True
        self._thread.join()

    def headline(self) -> str:
        """What is shown."""
        where = working_folders.display_name(self.folder)
        return f"{counted(self.images, 'image')} of {counted(len(self.runs), 'run')} in {where}"

    def __enter__(self) -> RunView:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{self.headline()}: {self.url}"

    def _repr_html_(self) -> str:
        return f'<p>{escape(self.headline())}: <a href="{escape(self.url)}" target="_blank">open the page</a></p>'

    def _ready(self, port: int) -> None:
        self.port = port
        self._listening.set()

    def _serve(self) -> None:
        try:
            self._server.run()
        except SystemExit:  # uvicorn's way to say that it could not begin
            pass
        finally:
            self._listening.set()


@final
@dataclass(frozen=True)
class View:
    """Serve a page on which one looks through the images of runs and through what targets answered.

    folder: finished parts of a run that is still being made are shown too. port: 0 takes one that is free. No other
    machine can reach the page, and no browser sees it without the token of its address. quiet: no stages on standard
    error.

    The result is the page that is being served, with `url` and `close()`. Raises BadInput for a folder without images
    or a port in use, MissingExtra without the extra.

    ```python
    with transect.view("runs/demo") as page:
        print(page.url)
        page.wait()
    ```
    """

    folder: Annotated[
        str | Path,
        Option(
            "A run folder, a folder of studies, a folder with several runs, or an address.",
            str,
            metavar="DIR",
            argument=True,
            default="runs",
        ),
    ]
    _: KW_ONLY
    wrong: Annotated[bool, Option("Begin with wrong answers of the first target that has any.")] = False
    port: Annotated[int, Option("Port to listen on; 0: any free port.", default=8010)] = 0
    quiet: bool = False

    def result(self) -> RunView:
        """The page that is being served."""
        try:
            import fastapi  # noqa: F401
            import sqlalchemy  # noqa: F401
            import uvicorn  # noqa: F401
        except ModuleNotFoundError:
            raise MissingExtra("view", "the viewer") from None
        from transect.annotation.server.listening import check_address
        from transect.jobs.view.index import read_folder

        check_address(HOST, self.port)
        with announcing_stages(quiet=self.quiet):
            index = read_folder(working_folders.opened(self.folder))
        return RunView(index, self.port, _wrong(index) if self.wrong else {})


def _wrong(index: Index) -> dict[str, str]:
    """The parameters that show wrong answers. Raises BadInput where there are none."""
    for name, said in index.answers.items():
        if (said.right == 0).any():
            return {"target": name, "verdict": "wrong"}
    known = any(np.isfinite(said.right).any() for said in index.answers.values())
    found = "none is wrong" if known else "no truth is known"
    raise BadInput(f"--wrong: expected a run with a wrong answer, but {found}; leave it out")


view = function(View)


@with_options(View)
def command(
    context: typer.Context,  # noqa: ARG001  (its options are made with it)
    browser: Annotated[bool, typer.Option(help="Open the page in your browser.")] = True,
    json: Json = False,
    **given: object,
) -> None:
    """As the function, until it is stopped."""
    with replace(asked(View, given), quiet=json).result() as page:
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
    say(f"{page.headline()}: open {page.url} (only on this machine; Ctrl-C stops it)")
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
