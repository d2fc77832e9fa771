"""`transect mitigate`: trains the plain model and the chosen mitigations, and says what each buys and what it costs."""

from __future__ import annotations

import json as json_format
import sys
from pathlib import Path
from typing import Annotated, Any, Final

import typer


def mitigate(
    config: Annotated[Path, typer.Argument(help="TOML file of data, network, training, mitigations and audit.")],
    out: Annotated[Path, typer.Option(help="The folder of pictures, models, results.json and mitigation.html.")],
    device: Annotated[str, typer.Option(help="Where models train: cpu, cuda or cuda:N.")] = "cpu",
    json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output instead of tables.")] = False,
) -> None:
    """Train mitigations, attack their answers afresh, and audit them by transects; the same command goes on.

    Leakages and F1 are in percent; Δ = λ_M − λ_D and effects are in percentage points, with 95 % intervals over seeds.
    """
    from transect.mitigation.settings import read_config

    chosen = read_config(config)
    from transect.jobs.mitigate import page, run

    def say(line: str) -> None:
        if not json:
            print(line, file=sys.stderr, flush=True)

    found = run.mitigate(chosen, out, say, device)
    made = page.write(found, out)
    if json:
        print(json_format.dumps(found, ensure_ascii=False, indent=1, allow_nan=False))
        return
    _show(found)
    print(f"report: {made}")


_COLUMNS: Final = {
    "λ_M, %": "model_leakage",
    "λ_D, %": "dataset_leakage",
    "Δ": "amplification",
    "Δ as published": "published_amplification",
    "mAP, %": "mean_average_precision",
    "F1, %": "f1",
}
_AUDITED: Final = {"effect": "effect", "answers changed, %": "changed"}


def _show(found: dict[str, Any]) -> None:
    from transect.console.printing import table

    columns = _COLUMNS if found["protocol"] is None else _COLUMNS | _AUDITED
    rows = [[row["name"], *(_range(row[key]) for key in columns.values())] for row in found["mitigations"]]
    table(["mitigation", *columns], rows, False)
    if left := {reason: count for reason, count in found["left_out"].items() if count}:
        print("left out: " + "; ".join(f"{count} {reason}" for reason, count in left.items()))
    if found["protocol"] is None:
        print("no audit by transects: it needs FaceWorld, which sets the appearance and nothing else")
    print(found["caveat"])


def _range(figure: dict[str, Any] | None) -> str:
    if figure is None or figure["estimate"] is None:
        return "not estimable"
    if figure["low"] is None:
        return f"{figure['estimate']:.1f}"
    return f"{figure['estimate']:.1f} ({figure['low']:.1f} to {figure['high']:.1f})"
