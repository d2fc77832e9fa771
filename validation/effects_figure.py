"""Draws observation, adjustment, experiment and truth of the proving ground with images: see images.py.

Plain SVG on a white ground, so that it reads on light and dark pages and the same figures give the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from transect.generators.faceworld.attributes import attribute
from transect.reports.drawing.svg import covering

TITLE = "What observation, adjustment and experiment say of a model, beside its true causal effects"


class Shown(NamedTuple):
    """A method that is drawn: its words, color and mark."""

    method: str
    words: str
    color: str
    mark: str


HIDDEN_METHOD = "AIPW, no lipstick"
SHOWN = (
    Shown("difference of groups", "observation: difference of groups", "#c2571a", "circle"),
    Shown(HIDDEN_METHOD, "adjustment (AIPW) for all but lipstick", "#9a5b88", "square"),
    Shown("AIPW", "adjustment (AIPW) for the other four attributes", "#6a3d8f", "square"),
    Shown("transects", "experiment: transects", "#1f6f8b", "diamond"),
)
_INK, _MUTED, _GRID = "#1f2328", "#57606a", "#d8dee4"
_WIDTH, _TOP, _ROW, _BOTTOM = 920, 128, 62, 74
_FIRST_MARK, _MARK_STEP = 13, 12
_LEGEND = ((0, 20, 22), (1, 20, 46), (2, 330, 46), (3, 330, 22))
_LEFT, _RIGHT = (150, 540), (636, 890)


def figure(found: Mapping[str, Any]) -> str:
    """The SVG: effects by attribute at the largest budget on the left, error by number of images on the right."""
    height = _TOP + _ROW * len(found["truth"]) + _BOTTOM
    body = "".join((_legend(found), _effects(found), _errors(found), _foot(found, height)))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'role="img" aria-label="{TITLE}" font-family="Helvetica, Arial, sans-serif" font-size="13" fill="{_INK}">'
        f'<title>{TITLE}</title><rect width="{_WIDTH}" height="{height}" rx="6" fill="#fff"/>{body}</svg>\n'
    )


def _legend(found: Mapping[str, Any]) -> str:
    """Observation and experiment above, the adjustments below, the truth at the end."""
    entries = [f'<rect x="640" y="14" width="4" height="16" fill="{_INK}"/>', _text(652, 27, _truth_words(found))]
    for index, x, y in _LEGEND:
        entries += [_mark(SHOWN[index], x + 5, y), _text(x + 17, y + 5, SHOWN[index].words, SHOWN[index].color)]
    return "".join(entries)


def _truth_words(found: Mapping[str, Any]) -> str:
    return f"truth: {found['interventions']:,} interventions"


def _effects(found: Mapping[str, Any]) -> str:
    budget = max(found["sizes"]["budgets"])
    rows = {(r["method"], r["attribute"]): r for r in found["rows"] if r["images"] == budget and r["mean"] is not None}
    drawn = [rows[key] for key in rows if key[0] in {shown.method for shown in SHOWN}]
    ends = [row[end] for row in drawn for end in ("low", "high")]
    scale = covering([row["effect"] for row in found["truth"]] + ends, 7)

    def x(value: float) -> float:
        return round(_LEFT[0] + (_LEFT[1] - _LEFT[0]) * scale.fraction(value), 1)

    bottom = _TOP + _ROW * len(found["truth"])
    parts = [_heading(20, f"What {budget:,} images say", "change in smiles seen where there is none, points")]
    for tick in scale.ticks:
        color = _MUTED if tick == 0 else _GRID
        parts.append(_line(x(tick), _TOP, x(tick), bottom, color))
        parts.append(
            _text(x(tick), bottom + 17, f"{100 * tick:+.0f}".replace("-", "−") if tick else "0", _MUTED, "middle")
        )
    for place, truth in enumerate(found["truth"]):
        top = _TOP + _ROW * place
        parts += [_name(truth, top), _line(20, top + _ROW, _LEFT[1], top + _ROW, _GRID)]
        parts.append(
            f'<rect x="{x(truth["effect"]) - 2:g}" y="{top + 4}" width="4" height="{_ROW - 8}" fill="{_INK}"/>'
        )
        for index, shown in enumerate(SHOWN):
            if row := rows.get((shown.method, truth["attribute"])):
                y = top + _FIRST_MARK + _MARK_STEP * index
                parts.append(_line(x(row["low"]), y, x(row["high"]), y, shown.color, 2))
                parts.append(_mark(shown, x(row["mean"]), y))
    return "".join(parts)


def _name(truth: Mapping[str, Any], top: int) -> str:
    known = attribute(truth["attribute"])
    ends = f"{known.label(truth['origin'])} to {known.label(truth['to'])} {known.unit}".strip()
    words = truth["attribute"].replace("_", " ")
    return _text(20, top + 28, words, weight="bold") + _text(20, top + 45, ends, _MUTED, size=11)


def _errors(found: Mapping[str, Any]) -> str:
    budgets = found["sizes"]["budgets"]
    series = [[r for r in found["overall"] if r["method"] == shown.method] for shown in SHOWN]
    scale = covering([row["rmse"] for rows in series for row in rows])
    bottom = _TOP + _ROW * len(found["truth"])
    low, high = math.log(min(budgets)), math.log(max(budgets))

    def x(images: int) -> float:
        share = (math.log(images) - low) / (high - low) if high > low else 0.5
        return round(_RIGHT[0] + 12 + (_RIGHT[1] - _RIGHT[0] - 24) * share, 1)

    def y(value: float) -> float:
        return round(bottom - (bottom - _TOP) * scale.fraction(value), 1)

    parts = [
        _heading(_RIGHT[0] - 30, "How wrong, by number of images", "root mean squared error, all but lipstick, points")
    ]
    for tick in scale.ticks:
        parts += [_line(_RIGHT[0], y(tick), _RIGHT[1], y(tick), _MUTED if tick == 0 else _GRID)]
        parts += [_text(_RIGHT[0] - 8, y(tick) + 4, f"{100 * tick:g}", _MUTED, "end")]
    parts += [_text(x(n), bottom + 17, f"{n:,}", _MUTED, "middle") for n in budgets]
    for shown, rows in zip(SHOWN, series, strict=True):
        path = " ".join(f"{x(row['images'])},{y(row['rmse'])}" for row in rows)
        dashes = ' stroke-dasharray="6 5"' if shown.method == HIDDEN_METHOD else ""  # it lies on another line
        parts.append(f'<polyline points="{path}" fill="none" stroke="{shown.color}" stroke-width="2"{dashes}/>')
        parts += [_mark(shown, x(row["images"]), y(row["rmse"])) for row in rows]
    return "".join(parts)


def _foot(found: Mapping[str, Any], height: int) -> str:
    sizes = found["sizes"]
    each = len(found["truth"])
    words = (
        f"Marks: mean of {sizes['repeats']} draws; bars: 95 % of the draws. All methods have the same number of images "
        f"for all {each} attributes together;",
        f"an experiment spends two on a subject. A network taught on {sizes['training']:,} images of FaceWorld "
        f"(renderer version {found['renderer_version']}), {sizes['image_size']} pixels.",
    )
    return "".join(_text(20, height - 30 + 17 * line, text, _MUTED, size=11) for line, text in enumerate(words))


def _heading(x: int, words: str, below: str) -> str:
    return _text(x, _TOP - 38, words, weight="bold", size=15) + _text(x, _TOP - 19, below, _MUTED, size=12)


def _mark(shown: Shown, x: float, y: float) -> str:
    around = f'fill="{shown.color}" stroke="#fff" stroke-width="1"'
    if shown.mark == "circle":
        return f'<circle cx="{x:g}" cy="{y:g}" r="5" {around}/>'
    turned = f' transform="rotate(45 {x:g} {y:g})"' if shown.mark == "diamond" else ""
    return f'<rect x="{x - 4.5:g}" y="{y - 4.5:g}" width="9" height="9" {around}{turned}/>'


def _line(x1: float, y1: float, x2: float, y2: float, color: str, width: float = 1) -> str:
    ends = f'x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"'
    return f'<line {ends} stroke="{color}" stroke-width="{width:g}"/>'


def _text(
    x: float, y: float, words: str, color: str = _INK, anchor: str = "start", weight: str = "normal", size: int = 13
) -> str:
    style = f'fill="{color}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}"'
    return f'<text x="{x:g}" y="{y:g}" {style}>{words}</text>'
