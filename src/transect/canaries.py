"""What a run keeps of the images that were asked about again and again, and the page's section about them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from transect.finished import slug
from transect.protocols import Target
from transect.sections import steady
from transect.store import canonical_json, write_atomically

FOLDER: Final = "canaries"


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
