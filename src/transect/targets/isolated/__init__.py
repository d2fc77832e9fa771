"""Targets in a process of their own: one that hangs, crashes or ends its process costs an image and not the run."""

from transect.protocols import Target
from transect.targets.isolated.target import IsolatedTarget
from transect.targets.model import ModelTarget

__all__ = ["IsolatedTarget", "is_model"]


def is_model(target: Target) -> bool:
    """Whether the target is a plain model, here or in a separate process, whose task is set by options."""
    return isinstance(target, ModelTarget) or (isinstance(target, IsolatedTarget) and target.model)
