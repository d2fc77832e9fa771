"""Writes docs/research/published-gans.md: what the papers' GANs and encoders learn on FaceWorld.

python -m validation.published_gans --progressive RUN --conditional RUN --encoder NAME=RUN …
    [--condition TEXT …] [--images 2000]

RUN: a folder of `transect train gan` or `transect train encoder`; NAME: progressive, or reference for the shipped one;
TEXT: as the conditional one was trained.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from transect.effects.intervals import wilson
from transect.generators import load
from transect.perceptual.features import read
from transect.perceptual.judging import judge
from transect.runs.json_records import plain
from transect.runs.model_files import read_safetensors
from transect.training.loop import tiled
from transect.training.pictures import levels_of, parse

DOCS = Path(__file__).parents[1] / "docs"
PAGE, SHEET = DOCS / "research" / "published-gans.md", DOCS / "images" / "published-gans.jpg"
START, END = "<!-- {} -->", "<!-- end of {} -->"
_FIRST_SEED = 1 << 45


def lines_of(run: Path) -> list[dict[str, Any]]:
    """The training's metrics, a line a step."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines()]


def quality(runs: Mapping[str, Path], images: int) -> str:
    """FID, KID, precision and recall of each, and below it FaceWorld's own at the same size."""
    rows = [
        "| | pictures | images shown | FID | KID | precision | recall |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, run in runs.items():
        made = load(run / "generator.safetensors")
        size = int(made.image_size)
        found = plain(judge(load("faceworld", image_size=size), made, images))
        rows.append(f"| {name} | {size} px | {int(lines_of(run)[-1]['shown']):,} | {_figures(found)} |")
        rows.append(f"| FaceWorld again | {size} px | | {_figures(found['floor'])} |")
    return "\n".join(rows)


def _figures(found: Mapping[str, float]) -> str:
    return " | ".join(f"{found[name]:.3g}" for name in ("fid", "kid", "precision", "recall"))


def obedience(run: Path, asked: Sequence[str], images: int) -> str:
    """How often the shipped network sees the condition that was set, beside FaceWorld's pictures of that condition."""
    made: Any = load(run / "generator.safetensors")
    world: Any = load("faceworld", image_size=int(made.image_size))
    seeds = np.arange(_FIRST_SEED, _FIRST_SEED + images)
    drawn = {"made": made.sample(seeds), "world": world.sample(seeds)}
    said = {"made": read(made.render(drawn["made"]).pixels), "world": read(world.render(drawn["world"]).pixels)}
    rows = [
        "| condition | level | pictures | read as set, 95 % interval | FaceWorld's own, read as set |",
        "| --- | --- | --- | --- | --- |",
    ]
    # The network's reading of two levels is the probability of the second, of more the index of the likeliest.
    for one, cuts in (parse(text, world.attributes) for text in asked):
        truth = {"made": np.asarray(made.read(drawn["made"])[one.name])}
        truth["world"] = _place(np.asarray(world.read(drawn["world"])[one.name]), cuts)
        for place, level in enumerate(levels_of(one, cuts)):
            chosen = {side: truth[side] == place for side in truth}
            edges = cuts or (0.5,) * (len(one.levels) == 2)
            looks = {side: _place(values[one.name], edges) for side, values in said.items()}
            seen = {side: looks[side][mask] == place for side, mask in chosen.items()}
            low, high = wilson(seen["made"].sum(), seen["made"].size)
            share = f"{seen['made'].mean():.3f} ({low:.3f} to {high:.3f})"
            rows.append(f"| {one.name} | {level} | {seen['made'].size} | {share} | {seen['world'].mean():.3f} |")
    return "\n".join(rows)


def _place(values: np.ndarray, cuts: Sequence[float]) -> np.ndarray:
    return np.searchsorted(np.asarray(cuts), values, side="right") if cuts else np.asarray(values)


def encoders(runs: Mapping[str, Path], generators: Mapping[str, str]) -> str:
    """The distance to latents that the encoder did not see (its last 200 steps), beside that of a constant answer."""
    rows = [
        "| encoder of | space | images shown | mean distance to the latent | of the mean as answer |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, run in runs.items():
        _, metadata = read_safetensors(run / "encoder.safetensors")
        made: Any = load(generators[name])
        latents = made.sample(np.arange(_FIRST_SEED, _FIRST_SEED + 2000))
        values = made.to_space(latents, "w").values if metadata["space"] == "w" else latents.values
        spread = np.linalg.norm(values - values.mean(axis=0), axis=1).mean()
        lines = lines_of(run)
        reached = np.mean([line["held_out_distance"] for line in lines[-200:]])
        rows.append(f"| {name} | {metadata['space']} | {lines[-1]['shown']:,} | {reached:.3g} | {spread:.3g} |")
    return "\n".join(rows)


def sheet(runs: Sequence[Path]) -> None:
    """Twenty pictures of FaceWorld, then twenty of each, of seeds not chosen; pixels are drawn as squares."""
    made = [load(run / "generator.safetensors") for run in runs]
    size = max(int(one.image_size) for one in made)
    seeds = np.arange(_FIRST_SEED, _FIRST_SEED + 20)
    parts: list[Any] = []
    for one in (load("faceworld", image_size=size), *made):
        pixels = one.render(one.sample(seeds)).pixels.repeat(size // one.image_size, axis=1)
        parts += [tiled(pixels.repeat(size // one.image_size, axis=2), 5), np.full((4 * size, 16, 3), 255, np.uint8)]
    Image.fromarray(np.concatenate(parts[:-1], axis=1)).save(SHEET, quality=88)


def main() -> None:
    """Measure and write the page's tables and its sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--progressive", type=Path, required=True)
    parser.add_argument("--conditional", type=Path, required=True)
    parser.add_argument("--encoder", action="append", default=[], help="NAME=RUN; repeat")
    parser.add_argument("--condition", action="append", default=[], help="as the training had them; repeat")
    parser.add_argument("--images", type=int, default=2000)
    given = parser.parse_args()
    runs = {"progressive, WGAN-GP": given.progressive, "conditional": given.conditional}
    blocks = {
        "quality": quality(runs, given.images),
        "conditions": obedience(given.conditional, given.condition, given.images),
        "encoders": encoders(
            {name: Path(run) for name, _, run in (one.partition("=") for one in given.encoder)},
            {"progressive": str(given.progressive / "generator.safetensors"), "reference": "reference"},
        ),
    }
    sheet(list(runs.values()))
    text = PAGE.read_text(encoding="utf-8")
    for name, block in blocks.items():
        start, end = START.format(name), END.format(name)
        before, _, rest = text.partition(start)
        text = f"{before}{start}\n\n{block}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
