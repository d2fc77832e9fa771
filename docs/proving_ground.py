"""Writes the table of docs/explanation/proving-ground.md: python docs/proving_ground.py [--seeds 500]."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from transect.verify.estimators import CLAIMS, SEEDS, as_rows, prove
from transect.verify.planted import WORLDS

PAGE = Path(__file__).parent / "explanation" / "proving-ground.md"
START, END = "<!-- table -->", "<!-- end of table -->"
COLUMNS = ("method", "expected", "bias", "RMSE", "covers %", "type I %", "power %", "why")
HEAD = f"| {' | '.join(COLUMNS)} |\n| {' | '.join('---' for _ in COLUMNS)} |\n"


def table(seeds: int) -> str:
    """A section per world: what is planted, and what each method made of it."""
    rows = as_rows(prove(seeds, progress=lambda world: print(world, flush=True)))
    why = {(claim.method, claim.world): claim.why for claim in CLAIMS}
    sections = []
    for world in WORLDS:
        lines = [
            f"| {method} | {expected} | {bias} | {rmse} | {covers} | {one} | {power} | {why[method, name]} |\n"
            for method, name, bias, rmse, covers, one, power, expected, _ in rows
            if name == world.name
        ]
        sections.append(f"### {world.name}\n\n{world.meaning[0].upper()}{world.meaning[1:]}.\n\n{HEAD}{''.join(lines)}")
    return f"{seeds} tables per world and row.\n\n" + "\n".join(sections)


def main() -> None:
    """Replaces what stands between the two marks of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    made = f"{START}\n\n{table(parser.parse_args().seeds)}\n{END}"
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(f"{START}.*{END}", lambda _: made, text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
