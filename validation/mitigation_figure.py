"""Draws docs/images/mitigation.svg from a run of `transect mitigate`, and prints its table.

python -m validation.mitigation_figure RUN
Plain SVG on a white ground, so that it reads on light and dark pages and the same figures give the same bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transect.jobs.mitigate import LETTERS, covering_tightly
from transect.reports.drawing.svg import covering, tick_text
from validation.text import markdown

TITLE = "Amplification by F1 of each mitigation, over seeds"
IMAGE = Path(__file__).parents[1] / "docs" / "images" / "mitigation.svg"
_INK, _MUTED, _GRID = "#1f2328", "#57606a", "#d8dee4"
_COLORS = {"plain": "#1f2328", "noise": "#8c959f", "adversarial": "#c2571a"}
_OTHER = "#1f6f8b"
_WIDTH, _LEFT, _RIGHT, _TOP, _BOTTOM, _ROW = 900, 70, 560, 40, 420, 22
_RADIUS = 9
COLUMNS = ("", "λ_M", "λ_D(F1)", "Δ", "Δ as published", "mAP", "F1", "answers changed", "attacker")


def figure(found: Mapping[str, Any]) -> str:
    """The SVG: F1 across, Δ up with its interval over seeds, noise dashed, each mitigation by a letter."""
    rows = found["mitigations"]
    xs, ys = [row["f1"]["estimate"] for row in rows], [row["amplification"]["estimate"] for row in rows]
    x_scale, y_scale = covering_tightly(xs), covering(ys)

    def x(value: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * x_scale.fraction(value), 1)

    def y(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * y_scale.fraction(value), 1)

    height = max(_BOTTOM + 60, 50 + _ROW * len(rows))
    parts = [_text(_LEFT, 20, "Δ like for like, percentage points", weight="bold")]
    for tick in y_scale.ticks:
        parts.append(_line(_LEFT, y(tick), _RIGHT, y(tick), _MUTED if tick == 0 else _GRID))
        parts.append(_text(_LEFT - 8, y(tick) + 4, tick_text(y_scale, tick, False), _MUTED, "end"))
    parts += [_text(x(tick), _BOTTOM + 20, tick_text(x_scale, tick, False), _MUTED, "middle") for tick in x_scale.ticks]
    parts.append(_text((_LEFT + _RIGHT) / 2, _BOTTOM + 42, "macro F1, %", anchor="middle", weight="bold"))
    curve = sorted((x(a), y(b)) for row, a, b in zip(rows, xs, ys, strict=True) if row["kind"] in ("plain", "noise"))
    path = " ".join(f"{a:g},{b:g}" for a, b in curve)
    parts.append(f'<polyline points="{path}" fill="none" stroke="{_MUTED}" stroke-width="1.5" stroke-dasharray="6 4"/>')
    for place, (row, a, b) in reversed(list(enumerate(zip(rows, xs, ys, strict=True)))):  # the first ones on top
        color = _COLORS.get(row["kind"], _OTHER)
        parts += [_mark(x(a), y(b), LETTERS[place], color)]
        parts += [_mark(_RIGHT + 40, 50 + _ROW * place, LETTERS[place], color)]
        parts += [_text(_RIGHT + 58, 55 + _ROW * place, row["name"])]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{TITLE}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{_INK}">'
        f'<title>{TITLE}</title><rect width="{_WIDTH}" height="{height}" rx="6" fill="#fff"/>{"".join(parts)}</svg>\n'
    )


def rows_of(found: Mapping[str, Any]) -> str:
    """The table in Markdown, in the shape of the paper's Tables 3 to 5."""
    return markdown(COLUMNS, [_cells(LETTERS[place], row) for place, row in enumerate(found["mitigations"])])


def _cells(letter: str, row: Mapping[str, Any]) -> Sequence[str]:
    names = ("model_leakage", "dataset_leakage", "amplification", "published_amplification")
    figures = [row[name] for name in (*names, "mean_average_precision", "f1", "changed")]
    return (f"{letter} {row['name']}", *(_range(one) for one in figures), row["attacker"])


def _range(one: Mapping[str, Any] | None) -> str:
    if one is None or one["estimate"] is None:
        return "not estimable"
    ends = "" if one["low"] is None else f" ({one['low']:.1f} to {one['high']:.1f})"
    return f"{one['estimate']:.1f}{ends}".replace("-", "−")


def _mark(x: float, y: float, letter: str, color: str) -> str:
    words = _text(x, y + 4, letter, "#fff", "middle", "bold")
    return f'<circle cx="{x:g}" cy="{y:g}" r="{_RADIUS}" fill="{color}" stroke="#fff"/>{words}'


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}" stroke="{color}"/>'


def _text(x: float, y: float, words: str, color: str = _INK, anchor: str = "start", weight: str = "normal") -> str:
    shown = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:g}" y="{y:g}" fill="{color}" text-anchor="{anchor}" font-weight="{weight}">{shown}</text>'


if __name__ == "__main__":
    results = json.loads((Path(sys.argv[1]) / "mitigate.json").read_text(encoding="utf-8"))
    IMAGE.write_text(figure(results), encoding="utf-8")
    print(rows_of(results))
