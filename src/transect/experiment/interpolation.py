"""A small study alongside an audit: do images between two subjects of one class keep that class? In a separate folder.

The sanity check of Denton et al. 2019 on the latent space that an audit moves in, and on the target's classes there.
"""

from __future__ import annotations

from collections.abc import Sequence

from transect.errors import BadInput
from transect.protocols import Target
from transect.records import Task


def check(pairs: int | None, targets: Sequence[Target], *, world: bool) -> None:
    """Raises BadInput where an interpolation is requested and there is no world, or no target that has classes."""
    if pairs is None:
        return
    if not world:
        raise BadInput(
            "--interpolate: expected --vary, --steps or --observe as well, whose world has latents to "
            "interpolate between, got none; give one"
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
