"""Draws docs/images/same-person.svg, Table 1 of Singh et al. 2021 from their released answers, and prints its rows.

python -m examples.replications.same_person_figure FILE.parquet

FILE: their released answers, one row each: pair_type, ticked_same, ticked_not_same, knows_well and so on.
Plain SVG on a white ground, so that it reads on light and dark pages and the same figures give the same bytes.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from transect.effects.identity_pairs import PUBLISHED_CONFIDENCE, SameRow, same_shares
from validation.text import markdown

TITLE = "Pairs that raters take for one person, by how well they know the person"
IMAGE = Path(__file__).parents[2] / "docs" / "images" / "same-person.svg"
FAMILIARITY = ("well", "moderately", "not at all")
COLUMNS = ("known", "pairs", "published", "found as published, 68 %", "without the unanswered, 95 %", "ratings")
PUBLISHED = {
    ("all", "fake"): "66.7 (64.14, 69.10)", ("all", "real"): "68.3 (65.83, 70.73)", ("well", "fake"): "86.4",
    ("well", "real"): "90.5", ("moderately", "fake"): "68.7", ("moderately", "real"): "65.8",
    ("not at all", "fake"): "49.0", ("not at all", "real"): "46.9",
}  # fmt: skip
_INK, _MUTED, _GRID = "#1f2328", "#57606a", "#d8dee4"
_KINDS = {
    "fake": ("fake: with a reconstruction", "#c2571a"),
    "real": ("real: two photographs", "#1f6f8b"),
    "dup": ("dup: one photograph twice", "#6a3d8f"),
}
_WIDTH, _LEFT, _RIGHT, _TOP, _GROUP, _STEP = 860, 150, 820, 92, 84, 20


def rows_of(path: Path, **options: object) -> list[SameRow]:
    """Shares of "same" by kind of pair and familiarity; a tick of "same" counts also beside one of "not the same"."""
    import pandas as pd

    read = pd.read_parquet(path)
    said = np.where(read["ticked_same"], 1.0, np.where(read["ticked_not_same"], 0.0, np.nan))
    ticks = read[[f"knows_{name.replace(' ', '_')}" for name in FAMILIARITY]].to_numpy()
    known = [next((name for name, on in zip(FAMILIARITY, row, strict=True) if on), "") for row in ticks]
    return list(same_shares(read["pair_type"].tolist(), said, {"familiarity": known}, **options))


def figure(rows: Sequence[SameRow]) -> str:
    """The SVG: a group of rows per familiarity, a dot with its 95 % interval per kind of pair."""
    names = ("all", *FAMILIARITY)
    height = _TOP + _GROUP * len(names) + 46
    bottom = height - 46
    parts = [_text(_LEFT, 24, TITLE, weight="bold")]
    for place, (words, color) in enumerate(_KINDS.values()):
        parts += [_dot(_LEFT + 6 + 240 * place, 48, color), _text(_LEFT + 18 + 240 * place, 52, words)]
    for tick in range(0, 101, 20):
        parts += [
            _line(_x(tick), _TOP - 14, _x(tick), bottom, _GRID),
            _text(_x(tick), bottom + 18, f"{tick}", "middle"),
        ]
    parts.append(_text((_LEFT + _RIGHT) / 2, bottom + 38, "said to be the same person, % (95 % intervals)", "middle"))
    for place, name in enumerate(names):
        top = _TOP + _GROUP * place
        parts.append(_text(_LEFT - 14, top + _STEP + 4, "all raters" if name == "all" else f"known {name}", "end"))
        for step, kind in enumerate(_KINDS):
            found = next((row for row in rows if (row.group, row.kind) == (name, kind) and row.answers), None)
            parts += [] if found is None else _share(found, top + _STEP * step, _KINDS[kind][1])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{TITLE}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{_INK}">'
        f'<title>{TITLE}</title><rect width="{_WIDTH}" height="{height}" rx="6" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def _x(percent: float) -> float:
    return round(_LEFT + (_RIGHT - _LEFT) * percent / 100, 1)


def _share(row: SameRow, y: float, color: str) -> list[str]:
    low, at, high = (_x(100 * value) for value in (row.low, row.share, row.high))
    return [_line(low, y, high, y, color, 2), _dot(at, y, color)]


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}" stroke-width="{width:g}"/>'


def _dot(x: float, y: float, color: str) -> str:
    return f'<circle cx="{x:g}" cy="{y:g}" r="4.5" fill="{color}"/>'


def _text(x: float, y: float, words: str, anchor: str = "start", weight: str = "normal") -> str:
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}">{words}</text>'


def cells(path: Path) -> list[list[str]]:
    """The rows of the page's table: as published, found again, and with 95 % of what was answered."""
    as_published = rows_of(path, unanswered="same", confidence=PUBLISHED_CONFIDENCE)
    answered = {(row.group, row.kind): row for row in rows_of(path)}
    made = []
    for row in as_published:
        key = (row.group, row.kind)
        told = [_told(one) for one in (row, answered[key])]
        made.append([row.group, row.kind, PUBLISHED.get(key, "–"), *told, str(answered[key].answers)])
    return made


def _told(row: SameRow) -> str:
    return "{:.1f} ({:.2f}, {:.2f})".format(*(100 * value for value in (row.share, row.low, row.high)))


if __name__ == "__main__":
    source = Path(sys.argv[1])
    IMAGE.write_text(figure(rows_of(source)), encoding="utf-8")
    print(markdown(COLUMNS, cells(source)))
