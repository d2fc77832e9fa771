"""Writes docs/research/inversion-figures.md and docs/images/inversion.svg: what inversion keeps, by λ.

    python examples/replications/inversion_figures.py --generator reference [--described TEXT] [--faces 32]
        [--steps 200] [--out docs]

Plain SVG on a white ground, so that it reads on light and dark pages and the same figures give the same bytes.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

DOCS = Path(__file__).parents[2] / "docs"
TITLE = "Likeness, identity, restriction and edits after inversion, by λ"
_INK, _MUTED, _GRID = "#1f2328", "#57606a", "#d8dee4"
_WIDTH, _HEIGHT, _TOP, _BOTTOM = 920, 300, 76, 236
_PANEL, _GAP, _LEFT = 172, 52, 48


class Panel(NamedTuple):
    """One curve: the row's key, its heading, color."""

    key: str
    heading: str
    color: str


PANELS = (
    Panel("perceptual", "perceptual distance", "#1f6f8b"),
    Panel("identity_distance", "identity distance", "#c2571a"),
    Panel("restriction", "restriction Σ|w − w̄|²", "#3b7d3b"),
    Panel("edit_gain", "edits: change per asked", "#6a3d8f"),
)


def figure(rows: Sequence[Mapping[str, Any]]) -> str:
    """The SVG: four curves over the settings, restricted on the left, free on the right."""
    body = "".join(_panel(panel, index, rows) for index, panel in enumerate(PANELS))
    words = "Faces of FaceWorld inverted into a StyleGAN2: one w for all layers (w), then w+ by λ"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" '
        f'height="{_HEIGHT}" role="img" aria-label="{TITLE}" font-family="Helvetica, Arial, sans-serif" font-size="12" '
        f'fill="{_INK}"><title>{TITLE}</title><rect width="{_WIDTH}" height="{_HEIGHT}" rx="6" fill="#fff"/>'
        f'<text x="20" y="28" font-size="15">{words}</text>{body}</svg>\n'
    )


def _panel(panel: Panel, index: int, rows: Sequence[Mapping[str, Any]]) -> str:
    left = _LEFT + index * (_PANEL + _GAP)
    values = [row[panel.key] for row in rows]
    known = [value for value in values if value is not None]
    low, high = min(0.0, *known), (max(0.0, *known) or 1.0)
    parts = [f'<text x="{left}" y="{_TOP - 18}" fill="{panel.color}">{panel.heading}</text>']

    def y(value: float) -> float:
        return round(_BOTTOM - (_BOTTOM - _TOP) * (value - low) / (high - low), 1)

    for tick in sorted({low, 0.0, high / 2, high}):
        parts.append(f'<line x1="{left}" y1="{y(tick)}" x2="{left + _PANEL}" y2="{y(tick)}" stroke="{_GRID}"/>')
        label = (f"{tick:.0f}" if abs(tick) >= 10 else f"{tick:.2g}").replace("-", "−")
        parts.append(f'<text x="{left - 5}" y="{y(tick) + 4}" fill="{_MUTED}" text-anchor="end">{label}</text>')
    step, points = _PANEL / max(1, len(rows) - 1), []
    for place, (row, value) in enumerate(zip(rows, values, strict=True)):
        x = round(left + place * step, 1)
        name = "w" if row["penalty"] is None else f"{row['penalty']:g}"
        parts.append(f'<text x="{x}" y="{_BOTTOM + 18}" fill="{_MUTED}" text-anchor="middle">{name}</text>')
        if value is not None:
            points.append(f"{x},{y(value)}")
    parts.append(f'<polyline points="{" ".join(points)}" fill="none" stroke="{panel.color}" stroke-width="2"/>')
    parts += [
        f'<circle cx="{point.split(",")[0]}" cy="{point.split(",")[1]}" r="3.5" fill="{panel.color}"/>'
        for point in points
    ]
    middle = left + _PANEL / 2
    parts.append(f'<text x="{middle}" y="{_BOTTOM + 40}" fill="{_MUTED}" text-anchor="middle">λ</text>')
    return "".join(parts)


def page(found: Mapping[str, Any]) -> str:
    """The page of tables."""
    generator, view = found["generator"], found["latent_view"]
    sizes, fits = generator["sizes"], generator["directions"]
    script = "python examples/replications/inversion_figures.py"
    command = f'{script} --generator {found["asked"]} --described "{found["described"]}"'
    read = ", ".join(f"{one['name']} {one['r2']:.2f}" for one in fits)
    return f"""# Inversion by λ: the figures

Written by the command below; do not edit by hand. What they mean: [inversion](inversion.md).

```sh
{command} {_given(sizes, view)}
```

![{TITLE}](../images/inversion.svg)

## Into a StyleGAN2

Generator: {found["described"]}.

{sizes["faces"]} faces of FaceWorld that it was never shown, {sizes["steps"]} steps each from the mean code. Directions
in w from {sizes["labels"]} of its own images as the feature network reads them; R² held out: {read}.

{_generator_table(generator["rows"])}
Medians over faces; attribute error and edits are means. Attribute error: directions read the mean code, the world knows
the truth, in deviations of the truth. Edits: codes moved along an attribute's way by one deviation; change that is read
per change that is asked, and change of other attributes in deviations; directions with an R² below 0.3 do not count.
Identity and edits are read by the network whose distance is optimised, so that they flatter what that network sees.

## Into FaceWorld's latent view

{view["rows"][0]["faces"]} faces, without derivatives; surrogate of {view["sizes"]["samples"]} images, which explains
{100 * view["explained"]:.0f} % of what the network sees; up to {view["sizes"]["rounds"]} rounds.

{_view_table(view["rows"])}
Attribute and identity error compare latents with the true ones, as the world itself reads them: no network judges.
Perceptual distance after an edit: found and true face with skin tone and smile set alike.
"""


def _given(sizes: Mapping[str, Any], view: Mapping[str, Any]) -> str:
    own = {
        "view-faces": view["rows"][0]["faces"],
        "samples": view["sizes"]["samples"],
        "rounds": view["sizes"]["rounds"],
    }
    asked = {name: sizes[name] for name in ("faces", "steps", "labels")} | own
    return " ".join(f"--{name} {value}" for name, value in asked.items())


def _generator_table(rows: Sequence[Mapping[str, Any]]) -> str:
    keys = ("perceptual", "pixels", "identity_distance", "restriction", "attribute_error", "edit_gain", "off_target")
    head = "| space, λ | perceptual | pixels | identity | restriction | attribute error | edit gain | off target |\n"
    return head + _body([("w" if row["penalty"] is None else f"w+, {row['penalty']:g}", row) for row in rows], keys)


def _view_table(rows: Sequence[Mapping[str, Any]]) -> str:
    keys = ("renders", "perceptual", "attribute_error", "identity_error", "edit_distance")
    head = "| λ | renders an image | perceptual | attribute error | identity error | perceptual after an edit |\n"
    return head + _body(
        [("the mean face" if row["penalty"] is None else f"{row['penalty']:g}", row) for row in rows], keys
    )


def _body(rows: Sequence[tuple[str, Mapping[str, Any]]], keys: Sequence[str]) -> str:
    cells = [" | ".join([name, *(_cell(row[key]) for key in keys)]) for name, row in rows]
    return "| --- " * (len(keys) + 1) + "|\n" + "".join(f"| {row} |\n" for row in cells)


def _cell(value: float | None) -> str:
    return "–" if value is None or value != value else f"{value:.3g}"


def main() -> None:
    """Measure and write; --figures FILE keeps each table, and what it has is not measured again."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--described", help="what the page calls the generator")
    parser.add_argument("--out", type=Path, default=DOCS)
    parser.add_argument("--figures", type=Path, default=Path("inversion-figures.json"))
    names = ("faces", "steps", "labels", "view_faces", "samples", "rounds")
    for name in names:
        parser.add_argument(f"--{name.replace('_', '-')}", type=int)
    given = vars(parser.parse_args())
    kept = given["figures"]
    chosen = {name: given[name] for name in names if given[name] is not None}
    found = json.loads(kept.read_text()) if kept.exists() else {}
    for part, measure in (("latent_view", of_view), ("generator", of_generator)):
        if part not in found:
            found[part] = measure(given["generator"], chosen)
            kept.write_text(json.dumps(found, indent=1))
    found["described"] = given["described"] or Path(given["generator"]).name
    found["asked"] = Path(given["generator"]).name
    (given["out"] / "research" / "inversion-figures.md").write_text(page(found))
    (given["out"] / "images" / "inversion.svg").write_text(figure(found["generator"]["rows"]))


def of_view(path: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The table of FaceWorld's latent view."""
    del path
    from inversion_sweeps import Sizes, sweep_latent_view

    from transect.generators.faceworld.world import FaceWorld

    return sweep_latent_view(FaceWorld(image_size=64, threads=1), Sizes(**chosen))


def of_generator(path: str, chosen: Mapping[str, Any]) -> dict[str, Any]:
    """The table of the generator in that file."""
    from inversion_sweeps import Sizes, sweep_generator

    from transect.generators import load
    from transect.inversion.protocol import invertible

    return sweep_generator(invertible(load(path)), Sizes(**chosen))


if __name__ == "__main__":
    main()
