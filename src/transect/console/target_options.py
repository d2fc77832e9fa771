"""What a command line says of a target beside its name: one reading for every command that takes a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def given(
    *,
    task: str | None,
    preprocess: Path | None,
    labels: str | None,
    positive: str | None,
    threshold: float | None,
    output: str | None,
) -> dict[str, Any]:
    """The options that were given, as `resolve_targets` takes them; labels separated by commas.

    >>> given(task="binary", preprocess=None, labels="no, yes", positive=None, threshold=None, output=None)
    {'task': 'binary', 'labels': ('no', 'yes')}
    """
    options = {
        "task": task,
        "preprocess": preprocess,
        "labels": tuple(name.strip() for name in labels.split(",")) if labels else None,
        "positive": positive,
        "threshold": threshold,
        "output": output,
    }
    return {name: value for name, value in options.items() if value is not None}
