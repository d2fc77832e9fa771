"""`transect mitigate`: train the plain model and the chosen mitigations; what each gains and costs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from transect.console.options import Json
from transect.console.results import Block, Rerun, keep, show

if TYPE_CHECKING:
    from transect.jobs.mitigate.run import MitigateResult

RERUN = Rerun(
    values="device",
    argument="data",
)


def mitigate(
    context: typer.Context,
    config: Annotated[Path, typer.Argument(help="TOML file of data, network, training, mitigations and audit.")],
    out: Annotated[Path, typer.Option(help="The folder of pictures, models, mitigate.json and mitigate.html.")],
    device: Annotated[str, typer.Option(help="Where models train: cpu, cuda or cuda:N.")] = "cpu",
    json: Json = False,
) -> None:
    """Train mitigations, attack their answers with new attackers, and audit them by transects. Rerun it to resume.

    Leakages and F1 are in percent; Δ = λ_M − λ_D and effects are in percentage points, with 95 % intervals over seeds.
    """
    from transect.mitigation.settings import read_config

    chosen = read_config(config)
    from transect.jobs.mitigate import run

    result = run.mitigate(chosen, out, device=device, quiet=json)
    page = result.report(result.folder)
    keep(context, result.folder, RERUN)
    show(result, json, *_blocks(result), page=page)


def _blocks(result: MitigateResult) -> list[Block]:
    numbers = result.numbers
    lines = [f"split: {numbers.split}"] if numbers.split else []
    if any(numbers.left_out.values()):
        lines.append(
            "left out: " + "; ".join(f"{count} {reason}" for reason, count in numbers.left_out.items() if count)
        )
    if numbers.protocol is None:
        lines.append("no audit by transects: it needs FaceWorld, which changes the appearance and nothing else")
    return [result.rows(), *lines, numbers.caveat]
