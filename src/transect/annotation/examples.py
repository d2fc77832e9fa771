"""Faces that show the levels of a question, rendered once by FaceWorld and stored beside the answers."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import Final

from transect.annotation.questions import Questionnaire
from transect.errors import BadInput
from transect.runs.folder import canonical_json, write_atomically

_SIZE: Final = 96
_SEED: Final = 7
_POSE: Final = {
    "yaw": 0.0, "pitch": 0.0, "roll": 0.0, "hat": 0.0, "glasses": 0.0, "background": 0.0, "light_azimuth": 10.0,
    "baldness": 0.0, "bangs": 0.0, "facial_hair": 0.0, "hair_style": 4.0, "hair_length": 0.3, "age": 32.0, "smile": 0.0,
    "mouth_open": 0.0, "makeup": 0.0, "lipstick": 0.0, "skin_tone": 4.0, "earrings": 0.0,
}  # fmt: skip
"""All examples show one subject from the front, so that a level differs from the next in nothing else."""


def check_examples(questionnaire: Questionnaire) -> None:
    """Raises BadInput in one line for a setting that the world does not have, or out of its range."""
    from transect.generators.faceworld.attributes import attribute

    for question in questionnaire.question:
        try:
            for setting, value in (each for level in question.levels for each in level.example.items()):
                attribute(setting).check(value)
        except BadInput as error:
            raise BadInput(f"question {question.name}: example: {error}") from None


def render_examples(questionnaire: Questionnaire, home: Path) -> Path:
    """The folder of pictures `<question>-<level>.png` below `home`; those of the same settings are made once.

    Raises BadInput as `check_examples` does.
    """
    check_examples(questionnaire)
    wanted = {
        f"{question.name}-{place}": level.example
        for question in questionnaire.question
        for place, level in enumerate(question.levels)
        if level.example
    }
    key = hashlib.sha256(canonical_json([wanted, _POSE, _SIZE, _SEED]).encode()).hexdigest()[:16]
    folder = home / "examples" / key
    missing = {name: settings for name, settings in wanted.items() if not (folder / f"{name}.png").exists()}
    if missing:
        _render(missing, folder)
    return folder


def _render(wanted: dict[str, dict[str, float]], folder: Path) -> None:
    from PIL import Image

    from transect.generators.faceworld.world import FaceWorld

    world = FaceWorld(image_size=_SIZE)
    for name, settings in wanted.items():
        latents = world.set(world.sample([_SEED]), {**_POSE, **settings})
        sink = io.BytesIO()
        Image.fromarray(world.render(latents).pixels[0]).save(sink, "PNG")
        write_atomically(folder / f"{name}.png", sink.getvalue())
