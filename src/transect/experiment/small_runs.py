"""The small runs beside a study: its negative control, and images between subjects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from transect.errors import BadInput
from transect.protocols import Target, World
from transect.records import Design, Task
from transect.targets.capabilities import is_metered

CONTROL_ATTRIBUTE: Final = "background_hue"
CONTROL_LEVELS: Final = (0.0, 0.5)
"""Opposite hues, in turns of the color wheel."""
FEWEST_SUBJECTS: Final = 20
MOST_SHARE: Final = 0.2
"""Cheap: at most this share of the study's own images, or those of twenty subjects."""


def control_design(design: Design, world: World, targets: Sequence[Target]) -> Design | None:
    """The first subjects at two opposite hues of the background; None where that makes no sense or costs calls."""
    nuisances = {attribute.name for attribute in world.attributes if attribute.role == "nuisance"}
    metered = any(is_metered(target) for target in targets)
    if (
        not design.levels
        or CONTROL_ATTRIBUTE not in nuisances
        or CONTROL_ATTRIBUTE in (*design.levels, *design.hold)
        or metered
    ):
        return None
    affordable = int(MOST_SHARE * design.n_images) // len(CONTROL_LEVELS)
    subjects = min(design.subjects, max(affordable, FEWEST_SUBJECTS))
    return replace(design, levels={CONTROL_ATTRIBUTE: CONTROL_LEVELS}, subjects=subjects, hold=())


def check_interpolation(pairs: int | None, targets: Sequence[Target], *, world: bool) -> None:
    """Raises BadInput where an interpolation is requested and there is no world, or no target that has classes."""
    if pairs is None:
        return
    if not world:
        raise BadInput(
            "--interpolate needs --vary, --steps or --observe, whose world has latents to interpolate between"
        )
    if not any(has_classes(target.task) for target in targets):
        raise BadInput(
            "--interpolate: expected a target that answers with a class, got numbers or vectors; leave it out"
        )


def has_classes(task: Task | str) -> bool:
    """Whether a task says yes or no.

    >>> has_classes("detection"), has_classes("regression")
    (True, False)
    """
    return Task(task) not in (Task.REGRESSION, Task.EMBEDDING)
