"""A small second experiment on something that cannot matter: does the audit find an effect where there is none to find?

The background's hue says nothing about a face. If turning it changes what a target answers, either the target reacts
to something irrelevant, or the images differ in more than was set; the report states both prominently. Lipsitch et al.
2010, Negative controls: a tool for detecting confounding and bias in observational studies.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from transect.protocols import Target, World
from transect.records import Design
from transect.targets.capabilities import is_metered

ATTRIBUTE: Final = "background_hue"
LEVELS: Final = (0.0, 0.5)
"""Opposite hues, in turns of the color wheel."""
FEWEST_SUBJECTS: Final = 20
MOST_SHARE: Final = 0.2
"""Cheap: at most this share of the study's own images, or those of twenty subjects."""


def control_design(design: Design, world: World, targets: Sequence[Target]) -> Design | None:
    """The first subjects of an experiment at two opposite hues of the background; None where that makes no sense.

    None for a population study, a world without such a nuisance, a study that varies or holds it, or a target that
    counts its calls (`metered = True`).
    """
    nuisances = {attribute.name for attribute in world.attributes if attribute.role == "nuisance"}
    metered = any(is_metered(target) for target in targets)
    if not design.levels or ATTRIBUTE not in nuisances or ATTRIBUTE in (*design.levels, *design.hold) or metered:
        return None
    affordable = int(MOST_SHARE * design.n_images) // len(LEVELS)
    subjects = min(design.subjects, max(affordable, FEWEST_SUBJECTS))
    return replace(design, levels={ATTRIBUTE: LEVELS}, subjects=subjects, hold=())
