"""A short table on the terminal, or the same rows as JSON."""

from __future__ import annotations

from collections.abc import Sequence

from transect.runs.plain_json import dumps


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], as_json: bool = False) -> None:
    """Print rows of texts under headings; as JSON a list of objects whose keys are the headings."""
    if as_json:
        keys = [heading.replace(" ", "_") for heading in headings]
        print(dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    from rich import box
    from rich.console import Console
    from rich.table import Table

    shown = Table(*headings, box=box.SIMPLE_HEAD, pad_edge=False)
    for row in rows:
        shown.add_row(*row)
    console = Console()
    console.print(shown) if console.is_terminal else Console(width=200).print(shown)
