"""Writes the page and the figure of FaceWorld's measured validity from the facts that ship: see generate.py."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.validity import shortcomings
from validation.detectors import detected_photographs
from validation.photometry import STATISTICS, photograph_quantiles
from validation.reading import rule

HEAD = """# FaceWorld's figures

Written by `python -m tools.generate` from what `python -m validation world` measured; do not edit by hand. What the
figures mean stands in [What FaceWorld can and cannot tell you](faceworld.md).
"""

FIGURE = "../images/photometry.svg"
ALTERNATIVE = "Eighteen luminances of faces by fifth of cheek luminance: quantiles of photographs beside rendered faces"
_ROLES = {"attribute": "Attributes", "nuisance": "Nuisances", "identity": "Traits of the identity code"}
_GATED = "wanted: an area under the ROC curve (AUC) of .95, or a share of variance explained (R²) of .85"


def page(facts: Mapping[str, Any]) -> str:
    """The page; without facts it says that nothing was measured."""
    if not facts:
        return HEAD + "\nNothing was measured yet of this version of the renderer.\n" + _rules()
    parts = [
        _opening(facts),
        _photometry(facts),
        _targets(facts) if "targets" in facts else "",
        _readings(facts) if "attributes" in facts else "",
        _identity(facts) if "identity" in facts and "control_auc" in facts else "",
        _landmarks(facts),
        _lacking(facts),
    ]
    return HEAD + "".join(f"\n{part}" for part in parts if part)


def _lacking(facts: Mapping[str, Any]) -> str:
    words = {"targets": "what detectors find", "attributes": "what a network reads", "identity": "who is distinguished"}
    lacking = [said for part, said in words.items() if part not in facts]
    return f"Not measured of this version: {', '.join(lacking)}.\n" if lacking else ""


def _opening(facts: Mapping[str, Any]) -> str:
    version = facts["renderer_version"]
    stale = (
        ""
        if version == RENDERER_VERSION
        else f" **The renderer is now version {RENDERER_VERSION}: they are not its own.**"
    )
    parts = {"photometry": "photometry", "targets": "targets", "by_attribute": "share_within", "sharpness": "sharpness"}
    every = "attributes" in facts
    measured = {name: n for name, n in facts["sizes"].items() if every or parts.get(name, "attributes") in facts}
    sizes = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in measured.items())
    return (
        f"Renderer version {version}, population `{facts['population']}`, {facts['image_size']} pixels, default "
        f"nuisances.{stale}\n"
        f"Numbers of subjects: {sizes}. Intervals: {facts['interval']}.\n"
    )


def _photometry(facts: Mapping[str, Any]) -> str:
    light = facts["photometry"]
    rows = [
        ["medians between the photographs' quartiles", f"{light['medians_inside']} of 90", "81"],
        ["medians beyond the photographs' 5 to 95 %", str(len(light["medians_outside"])), "0"],
        ["smallest share of faces within the photographs' 5 to 95 %", _number(light["share_inside"]), ".70"],
        ["fewest faces in a fifth", str(min(light["faces_per_fifth"])), "200"],
        ["median cheek luminance of the darkest tones (Monk 9 to 10)", _number(light["darkest_cheek"]), ".16"],
    ]
    missed = shortcomings(light)
    verdict = f"Not reached: {'; '.join(missed)}." if missed else "All conditions hold."
    return (
        f"## Photometry\n\n{_table(['figure', 'rendered', 'wanted'], rows)}\n{verdict}\n\n"
        f"![{ALTERNATIVE}]({FIGURE})\n\n"
        "Each panel is one statistic, each column a fifth of cheek luminance, darkest first.\n"
        "Gray: photographs; orange: rendered faces. Thin: 5 to 95 %; thick: quartiles; mark: median. The scale is\n"
        "logarithmic, its ends in parentheses.\n"
    )


def _targets(facts: Mapping[str, Any]) -> str:
    rows = [
        [f"`{r['target']}`", r["by"], r["group"], _count(r["n"]), _number(r["share"]), _interval(r) or r["reason"]]
        for r in facts["targets"]
    ]
    photographs = [[f"`{r['target']}`", r["group"], str(r["n"]), _number(r["share"])] for r in detected_photographs()]
    return (
        f"## What detectors find\n\nFound: {facts['found_rule']}.\n\n"
        f"{_table(['target', 'by', 'group', 'n', 'share', '95 % interval'], rows)}\n"
        "The same detectors on photographs (UTKFace, adults, by its race label):\n\n"
        f"{_table(['target', 'group', 'n', 'share'], photographs)}"
    )


def _readings(facts: Mapping[str, Any]) -> str:
    parts = [f"## What a network reads\n\nOn held-out subjects, where the picture shows it; {_GATED}.\n"]
    for role, title in _ROLES.items():
        rows = [_reading(row) for row in facts["attributes"] if row["role"] == role]
        parts.append(
            f"### {title}\n\n{_table(['name', 'figure', 'value', '95 % interval', 'n', 'reached', 'seen'], rows)}"
        )
    return "\n".join(parts)


def _reading(row: Mapping[str, Any]) -> list[str]:
    name, kind = row["attribute"].removeprefix("identity."), {"auc": "AUC", "r2": "R²"}[row["figure"]]
    reached = {None: "", True: "yes", False: "**no**"}[row["met"]]
    return [
        name,
        kind,
        _number(row["value"]),
        _interval(row) or row["reason"],
        str(row["n"]),
        reached,
        row["visibility"],
    ]


def _identity(facts: Mapping[str, Any]) -> str:
    one, control = facts["identity"], facts["control_auc"]
    rows = [
        [
            "one identity code, all else drawn anew",
            _figure(one),
            f"{_number(one['gate'])}: {'reached' if one['met'] else '**not reached**'}",
        ],
        ["one person in another pose and light", _figure(one["same_person"]), ""],
    ]
    for name, figure in (one["recognition"] or {}).items():
        if isinstance(figure, Mapping):
            words = "one identity code" if name == "identities" else "one person in another pose and light"
            rows.append([f"the same by dlib's recognition network: {words}", _figure(figure), "no gate"])
    rows += [
        [f"groups that differ in u alone, split {i + 1}", _figure(f), "covers .5"]
        for i, f in enumerate(facts["null_auc"])
    ]
    rows += [[f"pairs that differ in `{control['attribute']}`", _figure(control), "above .5"]]
    table = _table(["pairs of pictures", "AUC (95 % interval, subjects)", "wanted"], rows)
    return f"## Which subjects are distinguished\n\n{table}"


def _landmarks(facts: Mapping[str, Any]) -> str:
    found = facts.get("landmarks")
    if not found:
        return ""
    rows = [
        [
            name,
            f"{100 * error['mean']:.1f} %",
            f"{100 * error['median']:.1f} %",
            *(f"{100 * v:+.1f} %" for v in error["offset"]),
        ]
        for name, error in found["regions"].items()
    ]
    head = ["points", "mean error", "median", "dlib's points lie right by", "and below by"]
    return (
        f"## Landmarks beside dlib's predictor\n\n{found['n']} subjects whose face dlib finds, {found['not_found']} "
        f"that it does not; in shares of the outer eye corners' distance.\n\n{_table(head, rows)}"
    )


def _rules() -> str:
    from transect.generators.faceworld.attributes import ATTRIBUTES

    rows = [[a.name, rule(a.name).words] for a in ATTRIBUTES if a.role == "attribute"]
    return f"\n## Where an attribute is seen\n\n{_table(['name', 'seen'], rows)}"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |\n" for line in lines)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def _count(value: int | None) -> str:
    return "" if value is None else str(value)


def _interval(row: Mapping[str, Any]) -> str:
    return "" if row["low"] is None else f"{_number(row['low'])} to {_number(row['high'])}"


def _figure(row: Mapping[str, Any]) -> str:
    return f"{_number(row['value'])} ({_interval(row)}, {row['n']})" if row["value"] is not None else row["reason"]


# The figure: eighteen panels of five pairs of bars, drawn as plain SVG so that the same facts give the same bytes.

_PANEL_WIDTH, _PANEL_HEIGHT, _COLUMNS = 176, 120, 6
_INNER_WIDTH, _INNER_HEIGHT, _LEFT, _TOP = 150, 84, 12, 22
_COLORS = {"photographs": "#5b6b7b", "rendered": "#c2571a"}


def figure(facts: Mapping[str, Any]) -> str:
    """The SVG of rendered and photographed quantiles side by side."""
    rendered = {(row["fifth"], row["statistic"]): row for row in facts["photometry"]["rows"]}
    width, height = _COLUMNS * _PANEL_WIDTH, -(-len(STATISTICS) // _COLUMNS) * _PANEL_HEIGHT + 24
    title = "Luminances of faces, photographs beside rendered faces"
    panels = "".join(_panel(i, name, rendered) for i, name in enumerate(STATISTICS))
    legend = "".join(
        f'<rect x="{12 + 130 * i}" y="{height - 18}" width="10" height="10" fill="{color}"/>'
        f'<text x="{27 + 130 * i}" y="{height - 9}">{name}</text>'
        for i, (name, color) in enumerate(_COLORS.items())
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-label="{title}" '
        f'font-family="sans-serif" font-size="11" fill="#333"><title>{title}</title>'
        f'<rect width="{width}" height="{height}" fill="#fff"/>{panels}{legend}</svg>\n'
    )


def _panel(index: int, name: str, rendered: Mapping[tuple[int, str], Mapping[str, Any]]) -> str:
    left, top = index % _COLUMNS * _PANEL_WIDTH + _LEFT, index // _COLUMNS * _PANEL_HEIGHT + _TOP
    photographs = [photograph_quantiles()[fifth, name]._asdict() for fifth in range(5)]
    faces = [{q: rendered[fifth, name][f"rendered_{q}"] for q in _QUANTILES} for fifth in range(5)]
    known = [row[q] for row in (*photographs, *faces) for q in _QUANTILES if row[q] is not None]
    low, high = min(known), max(known)

    def y(value: float) -> float:
        return top + _INNER_HEIGHT * (1 - math.log(value / low) / math.log(high / low))

    bars = [
        _bar(left + fifth * _INNER_WIDTH / 5 + 6 + 9 * side, row[fifth], color, y)
        for side, (row, color) in enumerate(((photographs, _COLORS["photographs"]), (faces, _COLORS["rendered"])))
        for fifth in range(5)
    ]
    words = f"{name.replace('_', ' ')} ({low:.2g} to {high:.2g})"
    return f'<text x="{left}" y="{top - 8}">{words}</text>' + "".join(bars)


_QUANTILES = ("p05", "p25", "p50", "p75", "p95")


def _bar(x: float, row: Mapping[str, float | None], color: str, y: Any) -> str:
    if any(row[q] is None for q in _QUANTILES):
        return ""
    p05, p25, p50, p75, p95 = (round(y(row[q]), 1) for q in _QUANTILES)
    thick = f'<line x1="{x:g}" x2="{x:g}" y1="{p25:g}" y2="{p75:g}" stroke="{color}" stroke-width="6"/>'
    thin = f'<line x1="{x:g}" x2="{x:g}" y1="{p05:g}" y2="{p95:g}" stroke="{color}"/>'
    return (
        f'{thin}{thick}<line x1="{x - 4:g}" x2="{x + 4:g}" y1="{p50:g}" y2="{p50:g}" stroke="#fff" stroke-width="1.5"/>'
    )
