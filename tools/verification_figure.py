"""Draws docs/images/verification.jpg for docs/research/counterfactual-recognition.md.

python -m tools.verification_figure

A row per subject and skin tone: the image before any edit, then one edit at a time.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from PIL import Image, ImageDraw, ImageFont

from transect.generators import load
from transect.training.loop import tiled

IMAGE = Path(__file__).parents[1] / "docs" / "images" / "verification.jpg"
REFERENCE = {"facial_hair": 0.0, "age": 25.0, "glasses": 0.0, "smile": 0.0, "bangs": 0.0, "hair_color": 0.0,
             "hair_length": 0.1, "makeup": 0.0}  # fmt: skip
EDITS = {
    "reference": {},
    "facial hair": {"facial_hair": 1.0},
    "age 70": {"age": 70.0},
    "glasses": {"glasses": 1.0},
    "bangs": {"bangs": 1.0},
    "hair colour": {"hair_color": 0.9},
    "hair length": {"hair_length": 0.9},
    "smile": {"smile": 1.0},
    "make-up": {"makeup": 1.0},
    "light -6": {"light_level": -6.0},
}
SUBJECTS, TONES, SIZE, HEADING = (0, 1), (2.0, 9.0), 128, 18


def pictures() -> np.ndarray:
    """[rows x edits, h, w, 3]: each subject at each tone, edit by edit."""
    world = load("faceworld", image_size=SIZE)
    rows = []
    for subject in SUBJECTS:
        for tone in TONES:
            one = world.sample([subject]).repeat(len(EDITS))
            values = [{**REFERENCE, "light_level": 0.0, "skin_tone": tone, **edit} for edit in EDITS.values()]
            rows.append(world.render(world.set(one, pa.Table.from_pylist(values))).pixels)
    return np.concatenate(rows)


def main() -> None:
    """Writes the picture with the names of the edits above it."""
    sheet = Image.fromarray(tiled(pictures(), len(EDITS)))
    made = Image.new("RGB", (sheet.width, sheet.height + HEADING), "white")
    made.paste(sheet, (0, HEADING))
    draw, font = ImageDraw.Draw(made), ImageFont.load_default(13)
    for place, name in enumerate(EDITS):
        draw.text((place * SIZE + SIZE // 2, HEADING // 2), name, fill="black", font=font, anchor="mm")
    made.save(IMAGE, quality=85)
    print(f"wrote {IMAGE}")


if __name__ == "__main__":
    main()
