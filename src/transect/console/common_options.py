"""Options that many commands share: the seed, the device, the population, the folder, JSON; and which were given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of text.")]
Out = Annotated[
    str | None,
    typer.Option(
        metavar="PLACE",
        help="The run folder, also on object storage, as s3://bucket/path; default runs/<target>.",
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed; the same seed gives the same subjects.")]
Device = Annotated[str, typer.Option(help="Where images are computed: cpu, cuda, cuda:1, …")]
Population = Annotated[
    str, typer.Option(help="Where subjects are drawn from: a shipped population or a TOML file; see the how-to.")
]
Engine = Annotated[
    str,
    typer.Option(
        help="Where parts are made: local (this machine), ray (Ray on this machine) or ray://HOST:PORT (a Ray "
        "cluster). HOST:PORT is the head node of ray start --head, port 6379 by default, not Ray Client's port 10001. "
        "No result depends on it.",
        rich_help_panel="Engine",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="Parts made at the same time, each in a process of its own; default: local 1, which uses all cores by "
        "threads; ray as many as there is room for.",
        rich_help_panel="Engine",
    ),
]


def on_command_line(context: typer.Context, values: Mapping[str, object]) -> dict[str, object]:
    """The values that the user typed, without those that are defaults."""
    sources = {name: context.get_parameter_source(name) for name in values}
    return {n: value for n, value in values.items() if (source := sources[n]) and source.name == "COMMANDLINE"}
