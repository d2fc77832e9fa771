"""Draws what each edit does to a photograph: python -m tools.photograph_sheets writes docs/images/photographs/*.jpg.

The "photographs" are rendered faces; no picture of a person is in the repository. Needs a minute, and two more for the
faces that are inverted.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any, final

import numpy as np
from jaxtyping import Int, UInt8
from PIL import Image, ImageDraw

from transect import InvertOptions, invert
from transect.designs.levels import default_levels
from transect.experiment.worlds import WorldSettings
from transect.generators.faceworld.world import FaceWorld, own_marks
from transect.generators.photographs.appearance.faces import face_of, unsuited
from transect.generators.photographs.attributes import APPEARANCE, LIMITS, LOWEST, USUAL
from transect.generators.photographs.world import Photographs
from transect.marks import Marks
from transect.records import Attribute

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "photographs"
SIZE = 150
FIRST, SHOWN = range(40), 2
INVERTED = (3, 11, 25)
TONES = (3.0, 5.0, 7.0, 9.0)
HEAD = 18


@final
class Drawn:
    """The marks of rendered faces, by their rows."""

    name, threshold = "faceworld", 0.5

    def __init__(self, marks: Marks) -> None:
        self.marks = marks

    def find(self, pixels: UInt8[np.ndarray, "n h w 3"], rows: Int[np.ndarray, " n"] | None = None) -> Marks:
        """The marks of those rows."""
        return self.marks.take(np.arange(len(pixels)) if rows is None else rows)

    def describe(self) -> dict[str, Any]:
        """The name."""
        return {"name": self.name}


def photographs(folder: Path) -> Drawn:
    """The first rendered faces that suit every edit as photographs, and their marks."""
    world = FaceWorld(image_size=SIZE)
    bare = world.set(world.sample(FIRST), {"glasses": 0.0, "hat": 0.0, "facial_hair": 0.0, "bangs": 0.0})
    found, pictures = own_marks(world, bare), world.render(bare).pixels
    suited = []
    for row, picture in enumerate(pictures):
        face = face_of(found.take(np.array([row])), Drawn.threshold, picture)
        if not isinstance(face, str) and not unsuited(face, APPEARANCE):
            suited.append(row)
    bare = bare.take(suited[:SHOWN])
    for place, picture in enumerate(world.render(bare).pixels):
        Image.fromarray(picture).save(folder / f"{place}.png")
    return Drawn(own_marks(world, bare))


def sheet(world: Photographs, attribute: Attribute) -> Image.Image:
    """A row for each photograph, a column for each usual level of the edit, or each with a name; the level is above."""
    levels = default_levels(attribute) if attribute.levels else USUAL.get(attribute.name) or default_levels(attribute)
    count = len(world.subjects)
    subjects = world.sample(np.arange(count)).repeat(len(levels))
    sittings = [world.sitters.sitting(int(row)) for row in subjects.values[:, 0]]
    own = {name: np.array([sitting.own(name) for sitting in sittings]) for name in LIMITS}
    chosen, far = np.tile(levels, count), LIMITS["skin_tone"].usual
    values = {"skin_tone": np.clip(own["skin_tone"] + far, 1, 10)} if attribute.name == "metering" else {}
    if attribute.name in LIMITS:
        far = LIMITS[attribute.name].usual
        levels = (-far, 0.0, far)  # from each photograph's own
        lowest = LOWEST[attribute.name]
        chosen = np.clip(own[attribute.name] + np.resize(levels, len(subjects)), lowest, attribute.high)
    pixels = world.render(world.set(subjects, {**values, attribute.name: chosen})).pixels
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
        marks = photographs(Path(folder))
        world = Photographs(f"folder:{folder}", image_size=SIZE, marks=marks, experimental=True)
        for attribute in world.attributes:
            sheet(world, attribute).save(FOLDER / f"{attribute.name}.jpg", quality=82, subsampling=0)
    with tempfile.TemporaryDirectory() as folder:
        kept_backgrounds(Path(folder)).save(FOLDER / "backgrounds.jpg", quality=82, subsampling=0)


if __name__ == "__main__":
    main()
