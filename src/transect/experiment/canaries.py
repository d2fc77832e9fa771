"""What a run keeps of the images that were asked about again and again, and the page's section about them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, final

from transect.analysis.finished_run import slug
from transect.analysis.sections import steady
from transect.protocols import Target
from transect.runs.folder import canonical_json, write_atomically

FOLDER: Final = "canaries"


def watch(targets: Sequence[Target]) -> None:
    """Let targets with canaries say on standard error, once and at once, that their behaviour seems to have changed."""
    for target in targets:
        if hasattr(target, "on_round"):
            target.on_round = _Watch(target.name)


@final
class _Watch:
    """Looks at one target's canaries after every round; silent once it has spoken."""

    def __init__(self, name: str) -> None:
        self._name, self._said = name, False

    def __call__(self, record: Mapping[str, Any]) -> None:
        if not self._said and (line := steady.alarm({"target": self._name, **record})):
            self._said = True
            print(line, file=sys.stderr, flush=True)


def keep_canaries(folder: Path, targets: Sequence[Target]) -> list[str]:
    """Write what targets say of their canaries into a run folder; a line for each whose behaviour changed.

    Targets without canaries, or with one round alone, leave nothing.
    """
    said = []
    for target in targets:
        record = target.asked_again() if hasattr(target, "asked_again") else None
        if record is None:
            continue
        (folder / FOLDER).mkdir(exist_ok=True)
        kept = {"target": target.name, **record}
        write_atomically(folder / FOLDER / f"{slug(target.name)}.json", (canonical_json(kept) + "\n").encode())
        said += steady.warnings(kept)
    return said


def canary_sections(folder: Path) -> list[dict[str, Any]]:
    """The section of each target of a run that has canaries."""
    paths = sorted((folder / FOLDER).glob("*.json"))
    return [steady.section(json.loads(path.read_text(encoding="utf-8"))) for path in paths]
