"""Writes the table of docs/research/directions.md: python -m validation.directions [--repeats 2]."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from validation.latent_directions import REPEATS, WAYS, Scored, score
from validation.text import markdown

PAGE = Path(__file__).parents[1] / "docs" / "research" / "directions.md"
START, END = "<!-- table -->", "<!-- end of table -->"
HEADINGS = (
    "population",
    "labels",
    "fitted by",
    "quality",
    "cosine of normals",
    *[f"{what}, {way}" for way in WAYS for what in ("cosine", "drift")],
    "drift elsewhere, dual",
)


def table(found: list[Scored]) -> str:
    """A row per population, number of labels and fit; the ways to move side by side."""
    rows = []
    for population, labels, fit in dict.fromkeys((one.population, one.labels, one.fit) for one in found):
        ways = {one.way: one for one in found if (one.population, one.labels, one.fit) == (population, labels, fit)}
        dual = ways["dual"]
        cells = [population, f"{labels:,}", fit, f"{dual.quality:.2f}", f"{dual.normal:.3f}"]
        for way in WAYS:
            one = ways.get(way)
            cells += ["", ""] if one is None else [f"{one.direction:.3f}", f"{one.drift:.3f}"]
        rows.append([*cells, f"{dual.elsewhere:.3f}"])
    return markdown(HEADINGS, rows)


def main() -> None:
    """Replaces what stands between two marks of the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    asked = parser.parse_args()
    found = score(repeats=asked.repeats, progress=lambda line: print(line, flush=True))
    text = PAGE.read_text(encoding="utf-8")
    made = f"{START}\n\nMeans over six attributes and {asked.repeats} draws of the labels.\n\n{table(found)}\n{END}"
    PAGE.write_text(re.sub(f"{START}.*{END}", lambda _: made, text, flags=re.S), encoding="utf-8")


if __name__ == "__main__":
    main()
