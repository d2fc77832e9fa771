"""Draws people of a population side by side: python -m tools.people_sheet OUT.jpg --size 512 --people 24.

With --photographs FOLDER, as many portraits of that folder, cut to squares, to compare with.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from transect.generators.faceworld.world import FaceWorld


def sheet(pictures: list[Image.Image], columns: int) -> Image.Image:
    """Pictures of one size in rows."""
    size = pictures[0].width
    found = Image.new("RGB", (columns * size, -(-len(pictures) // columns) * size), "white")
    for number, picture in enumerate(pictures):
        found.paste(picture, (number % columns * size, number // columns * size))
    return found


def rendered(size: int, people: int, seed: int, levels: dict[str, float]) -> list[Image.Image]:
    """The population's people from this seed on, with some attributes set."""
    world = FaceWorld(image_size=size)
    rows = world.sample(range(seed, seed + people))
    pixels = world.render(world.set(rows, levels) if levels else rows).pixels
    return [Image.fromarray(np.asarray(picture)) for picture in pixels]


def portraits(folder: Path, size: int, people: int, seed: int) -> list[Image.Image]:
    """Photographs drawn by the seed."""
    files = sorted(path for path in folder.iterdir() if path.suffix.lower() in {".jpg", ".jpeg", ".png"})
    chosen = [files[number] for number in np.random.default_rng(seed).permutation(len(files))[:people]]
    return [ImageOps.fit(Image.open(path).convert("RGB"), (size, size), centering=(0.5, 0.3)) for path in chosen]


def main() -> None:
    """Reads the arguments and writes the sheet."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--size", type=int, default=256)
    parser.add_argument("--people", type=int, default=24)
    parser.add_argument("--columns", type=int, default=6)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--photographs", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="ATTRIBUTE=LEVEL")
    given = parser.parse_args()
    levels = {name: float(level) for name, level in (text.split("=") for text in given.set)}
    if given.photographs:
        pictures = portraits(given.photographs, given.size, given.people, given.seed)
    else:
        pictures = rendered(given.size, given.people, given.seed, levels)
    sheet(pictures, given.columns).save(given.out, quality=92)


if __name__ == "__main__":
    main()
