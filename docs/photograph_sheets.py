"""Draws what each edit does to a photograph: python docs/photograph_sheets.py writes docs/images/photographs/*.jpg.

The "photographs" are rendered faces, and scikit-image's astronaut (public domain) where that library is installed; no
picture of a person is in the repository. Needs a minute, and two more for the faces that are inverted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from transect.designs.levels import default_levels
from transect.experiment.world_settings import WorldSettings
from transect.generators.faceworld.world import FaceWorld
from transect.generators.photographs.attributes import USUAL
from transect.generators.photographs.world import Photographs
from transect.jobs.invert.run import InvertOptions, invert
from transect.records import Attribute

FOLDER = Path(__file__).parent / "images" / "photographs"
SIZE = 150
SUBJECTS = (3, 11)
INVERTED = (3, 11, 25)
TONES = (3.0, 5.0, 7.0, 9.0)
HEAD = 18


def photographs(folder: Path) -> None:
    """Two rendered faces, and the astronaut where there is one."""
    world = FaceWorld(image_size=2 * SIZE)
    for place, picture in enumerate(world.render(world.sample(SUBJECTS)).pixels):
        Image.fromarray(picture).save(folder / f"{place}.png")
    try:
        from skimage.data import astronaut  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        return
    Image.fromarray(astronaut()[:300, 80:380]).save(folder / "astronaut.png")


def sheet(world: Photographs, attribute: Attribute) -> Image.Image:
    """A row for each photograph, a column for each usual level of the edit, with the level above it."""
    levels = USUAL.get(attribute.name) or default_levels(attribute)
    count = len(world.subjects)
    subjects = world.sample(np.arange(count)).repeat(len(levels))
    pixels = world.render(world.set(subjects, {attribute.name: np.tile(levels, count)})).pixels
    rows = pixels.reshape(count, len(levels), SIZE, SIZE, 3).swapaxes(1, 2).reshape(count * SIZE, len(levels) * SIZE, 3)
    whole = Image.new("RGB", (len(levels) * SIZE, HEAD + count * SIZE), "white")
    whole.paste(Image.fromarray(rows), (0, HEAD))
    draw = ImageDraw.Draw(whole)
    for place, level in enumerate(levels):
        draw.text((place * SIZE + SIZE // 2, HEAD // 2), attribute.label(level), "black", anchor="mm")
    return whole


def kept_backgrounds(folder: Path) -> Image.Image:
    """Three rendered faces, inverted: each photograph and levels of skin tone, first as they are, then in a mask."""
    faces, inverted = folder / "inverted", folder / "codes"
    faces.mkdir()
    world = FaceWorld(image_size=64)
    pictures = world.render(world.sample(INVERTED)).pixels
    for place, picture in enumerate(pictures):
        Image.fromarray(picture).save(faces / f"{place}.png")
    invert(faces, "reference", inverted, steps=80, quiet=True, options=InvertOptions(distance="pixels"))
    kept = {"photographs": faces, "mask": "face"}
    rows = []
    for options in ({}, kept):
        opened = WorldSettings("reference", latents=inverted / "latents.safetensors", **options).open()
        subjects = opened.sample(np.arange(len(INVERTED))).repeat(len(TONES))
        shown = opened.render(opened.set(subjects, {"skin_tone": np.tile(TONES, len(INVERTED))})).pixels
        shown = shown.reshape(len(INVERTED), len(TONES), *shown.shape[1:])
        rows += [np.concatenate([picture, *row], axis=1) for picture, row in zip(pictures, shown, strict=True)]
    sheet = Image.fromarray(np.concatenate(rows))
    return sheet.resize((2 * sheet.width, 2 * sheet.height), Image.Resampling.BICUBIC)


def main() -> None:
    """Write a sheet for each edit."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        photographs(Path(folder))
        world = Photographs(f"folder:{folder}", image_size=SIZE)
        for attribute in world.attributes:
            sheet(world, attribute).save(FOLDER / f"{attribute.name}.jpg", quality=82, subsampling=0)
    with tempfile.TemporaryDirectory() as folder:
        kept_backgrounds(Path(folder)).save(FOLDER / "backgrounds.jpg", quality=82, subsampling=0)


if __name__ == "__main__":
    main()
