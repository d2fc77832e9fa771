"""The effect of the protected appearance itself on a model's answers, by one fixed protocol for every model.

The same subjects, none of them in training data, are shown with the attribute low and high and all else held; the
effect on a label is the mean over subjects of the difference of the two answers.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int, UInt8
from pydantic import JsonValue

from transect.effects import Measure, analyse_transects
from transect.errors import BadInput, UnknownName
from transect.mitigation.hiding import WorldRegions
from transect.mitigation.measuring import number
from transect.mitigation.numbers import EffectFigures, LabelEffect
from transect.mitigation.settings import Audit
from transect.records import Attribute, Design
from transect.runs.folder import spec_hash, write_atomically

FIRST_ROW: Final = 10_000_000
"""The first row of the protocol's pictures, and the first subject's seed: beyond every training picture."""


@final
@dataclass(frozen=True)
class Protocol:
    """Pictures of subjects at two levels, the low one first; subject i's rows are FIRST_ROW + 2 i and the next."""

    spec: dict[str, JsonValue]
    pictures: UInt8[np.ndarray, "r h w 3"]
    regions: WorldRegions
    design: Design
    attributes: dict[str, Attribute]

    def pixels(self, rows: Int[np.ndarray, " m"]) -> UInt8[np.ndarray, "m h w 3"]:
        """Pictures of those rows."""
        return np.asarray(self.pictures[rows - FIRST_ROW])

    @property
    def rows(self) -> Int[np.ndarray, " r"]:
        """Every row."""
        return FIRST_ROW + np.arange(len(self.pictures))


def open_protocol(audit: Audit, size: int, folder: Path) -> Protocol:
    """The protocol's pictures, from the folder where it has them."""
    from transect.generators.faceworld.world import FaceWorld

    world = FaceWorld(image_size=size, population=audit.population)
    known = {attribute.name: attribute for attribute in world.attributes}
    if audit.attribute not in known:
        raise UnknownName("attribute", audit.attribute, known, "in audit")
    if audit.low == audit.high:
        raise BadInput(
            f"audit: expected two different levels of {audit.attribute}, got {audit.low:g} twice; change one"
        )
    design = Design({audit.attribute: (audit.low, audit.high)}, audit.subjects, FIRST_ROW, audit.population)
    latents = world.sample(FIRST_ROW + np.arange(audit.subjects)).repeat(2)
    latents = world.set(latents, {audit.attribute: np.tile([audit.low, audit.high], audit.subjects)})
    spec = {**audit.model_dump(), "first_subject": FIRST_ROW, "world": world.describe()}
    file = folder / f"transects-{spec_hash(spec)[:12]}.npy"
    pixels = _read(file, (2 * audit.subjects, size, size, 3))
    if pixels is None:
        pixels = world.render(latents).pixels
        content = io.BytesIO()
        np.save(content, pixels, allow_pickle=False)
        write_atomically(file, content.getvalue())
    attributes = {audit.attribute: known[audit.attribute]}
    return Protocol(spec, pixels, WorldRegions(world, latents, FIRST_ROW), design, attributes)


def effects(protocol: Protocol, scores: Float[np.ndarray, "r k"], names: tuple[str, ...], model: str) -> EffectFigures:
    """The effect on each label's answer in points with its interval, and the share of answers that change.

    mean_size: the mean over labels of the absolute effect, which chance alone keeps above 0. changed: the share of
    answers, over subjects and labels, that differ between the levels, in percent.
    """
    answers: Bool[np.ndarray, "s 2 k"] = (scores >= 0).reshape(-1, 2, len(names))
    none = np.full(answers.shape[:2], "", dtype=object)
    rows, sizes = [], []
    for label, name in enumerate(names):
        table = analyse_transects(
            answers[:, :, label].astype(np.float64),
            none,
            protocol.design,
            protocol.attributes,
            Measure(model, name),
        )
        effect = table.effects[0]
        estimate, low, high = (number(100 * value) for value in (effect.estimate, effect.low, effect.high))
        rows.append(LabelEffect(name, estimate, low, high, number(effect.p)))
        if effect.estimable:
            sizes.append(abs(100 * effect.estimate))
    return EffectFigures(
        tuple(rows),
        mean_size=number(float(np.mean(sizes))) if sizes else None,
        changed=number(float(100 * (answers[:, 0] != answers[:, 1]).mean())) if len(answers) else None,
        subjects=len(answers),
    )


def _read(file: Path, shape: tuple[int, ...]) -> UInt8[np.ndarray, "r h w 3"] | None:
    try:
        pixels = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return pixels if pixels.shape == shape and pixels.dtype == np.uint8 else None
