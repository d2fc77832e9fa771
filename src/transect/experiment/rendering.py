"""The images of one part of a study: rendered, and where edits are checked, judged; the same wherever that is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from transect.designs import transect_latents
from transect.experiment import edits
from transect.protocols import World
from transect.records import Design, Images
from transect.runs import tables as columns
from transect.runs.capabilities import landmarks, truths


@final
@dataclass(frozen=True, slots=True)
class Rendered:
    """Images of whole subjects, with the seeds of the subjects and the true values by image.

    checked: the part of the table of edits; None where edits are not checked.
    """

    seeds: Int[np.ndarray, " s"]
    images: Images
    true: pa.Table
    checked: pa.Table | None

    def ids(self, design: Design) -> list[str]:
        """The identifier of each image."""
        return columns.image_ids(design, self.seeds)

    def table(self, design: Design) -> pa.Table:
        """The part of the table of images."""
        return columns.images_table(design, self.seeds, self.true, self.images)


def render_part(
    world: World, design: Design, keeper: edits.Gatekeeper | None, subjects: range, *, with_landmarks: bool = False
) -> Rendered:
    """Render these subjects of a design.

    keeper: judges edits, and draws subjects again where it is asked to. with_landmarks: whether a target needs them.
    """
    seeds = design.subject_seeds(subjects.start, subjects.stop)
    checked = None
    if keeper is None:
        latents = transect_latents(design, world.sample(seeds), world)
        images = world.render(latents)
    else:
        seeds, latents, images, checked = edits.passing(keeper, seeds, subjects.start)
    points = landmarks(world, latents) if with_landmarks else None
    images = Images(images.pixels.copy(), images.face_boxes, points)  # a generator may reuse its array
    return Rendered(seeds, images, truths(world, latents), checked)
