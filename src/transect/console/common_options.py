"""Options that many commands share: the seed, the device, the population, the folder, JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")]
Out = Annotated[Path | None, typer.Option(help="The run folder; default runs/<target>.")]
Seed = Annotated[int, typer.Option(help="Seed of the run; the same seed gives the same subjects.")]
Device = Annotated[str, typer.Option(help="Where images are computed: cpu, cuda, cuda:1 and so on.")]
Population = Annotated[
    str, typer.Option(help="A shipped population or a TOML file: where subjects come from. See the how-to.")
]
