"""Makes the reference generator's file, figures and page from a training's folder.

python -m tools.reference_generator RUN --command "transect train gan …" [--kept FOLDER] [--images 5000]

RUN: the folder of `transect train gan`. FOLDER: generators kept on the way, <images shown>.safetensors, for the curve.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image
from safetensors.torch import save
from typer.testing import CliRunner

from transect.cli.app import app
from transect.generators import load
from transect.perceptual.features import read
from transect.perceptual.judging import features_of, fid, judge
from transect.reports.drawing.svg import covering
from transect.runs.json_records import plain
from transect.runs.model_files import in_order, read_safetensors
from transect.training.loop import tiled

DOCS = Path(__file__).parents[1] / "docs"
WEIGHTS = DOCS.parent / "src" / "transect" / "generators" / "weights"
PAGE = DOCS / "research" / "reference-generator.md"
SHEET, CURVE = DOCS / "images" / "reference-generator.jpg", DOCS / "images" / "reference-training.svg"
START, END = "<!-- figures -->", "<!-- end of figures -->"
FIT_START, FIT_END = "<!-- directions -->", "<!-- end of directions -->"
_FIRST_SEED = 1 << 45
_LABELLED = 4000
_ON_THE_CURVE = 1000
LABELLED_BY = "model:transect.perceptual"
FITTED = (
    "skin_tone", "age", "face_shape", "face_width", "smile", "mouth_open", "hair_length", "hair_color", "baldness",
    "bangs", "facial_hair", "makeup", "lipstick", "glasses>0.5", "yaw", "pitch", "roll",
)  # fmt: skip


def halved(run: Path) -> Path:
    """The averaged generator in half precision, as it ships."""
    tensors, metadata = read_safetensors(run / "generator.safetensors")
    kept = {name: value.half() if value.is_floating_point() else value for name, value in tensors.items()}
    path = WEIGHTS / "reference.safetensors"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(in_order(save(kept, metadata)))
    return path


def directions(path: Path, folder: Path) -> dict[str, Any]:
    """Directions in w, from what the shipped feature network reads on the generator's pictures; the fit's figures."""
    made = load(path)
    pixels = np.concatenate([made.render(made.sample(np.arange(i, i + 250))).pixels for i in range(0, _LABELLED, 250)])
    said = read(pixels)
    table = pa.table(
        {"seed": np.arange(_LABELLED), **{name.partition(">")[0]: said[name.partition(">")[0]] for name in FITTED}}
    )
    pq.write_table(table, folder / "labels.parquet")
    asked = [option for name in FITTED for option in ("--attribute", name)]
    command = ["directions", "fit", str(WEIGHTS / "reference-directions.safetensors"), "--generator", "reference"]
    command += [
        "--labels",
        str(folder / "labels.parquet"),
        "--labelled-by",
        LABELLED_BY,
        "--space",
        "w",
        *asked,
        "--json",
    ]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    return dict(json.loads(done.stdout))


def measured(path: Path, kept: Path | None, images: int) -> dict[str, Any]:
    """Figures of the shipped file, and FID of those kept on the way."""
    real, made = load("faceworld", image_size=64), load(path)
    found = dict(plain(judge(real, made, images)))
    found["curve"] = []
    seen = features_of(real, 0, _ON_THE_CURVE)
    for file in sorted(kept.glob("*.safetensors")) if kept else []:
        found["curve"].append([int(file.stem), fid(seen, features_of(load(file), 0, _ON_THE_CURVE))])
    return found


def sheet(path: Path) -> None:
    """Twenty of FaceWorld's pictures on the left, twenty of the reference's on the right, of seeds not chosen."""
    seeds = np.arange(_FIRST_SEED, _FIRST_SEED + 40)
    halves = [tiled(one.render(one.sample(seeds)).pixels, 5) for one in (load("faceworld", image_size=64), load(path))]
    gap = np.full((len(halves[0]), 24, 3), 255, dtype=np.uint8)
    picture = Image.fromarray(np.concatenate([halves[0], gap, halves[1]], axis=1))
    picture.resize((picture.width * 3 // 2, picture.height * 3 // 2), Image.Resampling.LANCZOS).save(SHEET, quality=88)


def curve(metrics: Sequence[Mapping[str, float]], fids: Sequence[Sequence[float]]) -> str:
    """Distances and losses, averaged over hundredths of the training, and FID where it was measured."""
    last = metrics[-1]["shown"]
    drawn = [
        ("distance from FaceWorld's picture", {"teacher_distance": _averaged(metrics, "teacher_distance")}),
        ("losses", {name: _averaged(metrics, name) for name in ("generator_loss", "critic_loss")}),
        ("FID (1,000 pictures; features of 64 pixels)", {"fid": fids}),
    ]
    shown = [(title, series) for title, series in drawn if all(series.values())]
    height = 300 * -(-len(shown) // 2)
    panels = [
        f'<g transform="translate(0 {300 * (place // 2)})">{_panel(40 + 460 * (place % 2), title, series, last)}</g>'
        for place, (title, series) in enumerate(shown)
    ]
    words = ", ".join(title.partition(" (")[0] for title, _ in shown)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 920 {height}" width="920" height="{height}" role="img" '
        f'aria-label="Over the training: {words}" font-family="Helvetica, Arial, sans-serif" font-size="13">'
        f'<rect width="920" height="{height}" rx="6" fill="#fff"/>{"".join(panels)}</svg>\n'
    )


def _averaged(metrics: Sequence[Mapping[str, float]], name: str) -> list[tuple[float, float]]:
    """A figure over the images shown, averaged over hundredths of the steps that have it; none where no step has."""
    points = np.array([(line["shown"], line[name]) for line in metrics if name in line])
    parts = np.array_split(points, min(100, len(points))) if len(points) else []
    return [(float(part[:, 0].mean()), float(part[:, 1].mean())) for part in parts]


_COLORS = {"generator_loss": "#c2571a", "critic_loss": "#1f6f8b", "fid": "#6a3d8f", "teacher_distance": "#3f7a36"}
_WORDS = {"generator_loss": "generator", "critic_loss": "discriminator", "fid": "", "teacher_distance": ""}


def _panel(left: float, title: str, series: Mapping[str, Sequence[Sequence[float]]], last: float) -> str:
    values = [value for points in series.values() for _, value in points]
    scale = covering([0.0, *values], 5)
    parts = [f'<text x="{left}" y="26" fill="#1f2328" font-weight="600">{title}</text>']
    for tick in scale.ticks:
        y = 250 - 200 * scale.fraction(tick)
        parts.append(f'<line x1="{left}" x2="{left + 380}" y1="{y:.1f}" y2="{y:.1f}" stroke="#d8dee4"/>')
        parts.append(
            f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#57606a" font-size="11">{tick:g}</text>'
        )
    for share in (0.0, 0.5, 1.0):
        text = f"{share * last / 1000:,.0f} thousand images" if share == 1 else f"{share * last / 1000:,.0f}"
        anchor = "end" if share == 1 else "middle"
        parts.append(f'<text x="{left + 380 * share}" y="270" text-anchor="{anchor}" fill="#57606a">{text}</text>')
    for number, (name, points) in enumerate(series.items()):
        path = " ".join(f"{left + 380 * x / last:.1f},{250 - 200 * scale.fraction(y):.1f}" for x, y in points)
        parts.append(f'<polyline points="{path}" fill="none" stroke="{_COLORS[name]}" stroke-width="2"/>')
        parts.append(f'<text x="{left + 100 * (1 + number)}" y="26" fill="{_COLORS[name]}">{_WORDS[name]}</text>')
    return "".join(parts)


def table(found: Mapping[str, Any]) -> str:
    """The figures as Markdown."""
    names = {
        "fid": "FID",
        "kid": "KID",
        "kid_error": "its standard error",
        "precision": "precision",
        "recall": "recall",
    }
    rows = [f"| {label} | {found[name]:.4g} | {found['floor'][name]:.4g} |" for name, label in names.items()]
    head = f"| {found['images']:,} pictures of 64 pixels | the reference | FaceWorld again |\n| --- | --- | --- |"
    return "\n".join([head, *rows])


def fit_table(fitted: Mapping[str, Any]) -> str:
    """How well each direction reads what it was not fitted to, as Markdown."""
    rows = [
        f"| {one['name']} | {one['quality_measure'].replace('R2', 'R²')} | {one['quality']:.2f} | "
        f"{one['shown_low']:.3g} to {one['shown_high']:.3g} |"
        for one in fitted["attributes"]
    ]
    return "\n".join(["| attribute | measure | held out | range of readings |", "| --- | --- | --- | --- |", *rows])


def main() -> None:
    """Make file, figures and page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--command", required=True, help="what trained it")
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--images", type=int, default=5000)
    given = parser.parse_args()
    path = halved(given.run)
    metrics = [json.loads(line) for line in (given.run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]
    found = measured(path, given.kept, given.images)
    facts = {"command": given.command, "images_shown": int(metrics[-1]["shown"]), **found}
    (WEIGHTS / "reference.json").write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    sheet(path)
    CURVE.write_text(curve(metrics, found["curve"]), encoding="utf-8")
    size = f"{path.stat().st_size / 1e6:.1f} MB, {facts['images_shown']:,} images shown in the training."
    blocks = {
        (START, END): f"{size}\n\n```sh\n{given.command}\n```\n\n{table(found)}",
        (FIT_START, FIT_END): fit_table(directions(path, given.run)),
    }
    text = PAGE.read_text(encoding="utf-8")
    for (start, end), block in blocks.items():
        whole = f"{start}\n\n{block}\n\n{end}"
        text = re.sub(f"{start}.*{end}", lambda _, whole=whole: whole, text, flags=re.DOTALL)
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
