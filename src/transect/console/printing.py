"""A short table on the terminal, or the same rows as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from transect.runs.plain_json import dumps
from transect.texts import say, shown


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], as_json: bool = False) -> None:
    """Print rows of texts under headings, verbatim; as JSON a list of objects whose keys are the headings."""
    if as_json:
        keys = [heading.replace(" ", "_") for heading in headings]
        say(dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        drawn.add_column(Text(shown(heading)))
    for row in rows:
        drawn.add_row(*(Text(shown(cell)) for cell in row))
    console = Console()
    console.print(drawn) if console.is_terminal else Console(width=200).print(drawn)
