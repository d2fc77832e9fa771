"""Writes the figures that ship with FaceWorld: what reports and documents say of the world comes from them alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transect.errors import BadInput
from transect.generators.faceworld.validity import IMAGE_SIZE
from transect.runs.folder import write_atomically

_NUMBERS_OF_A_ROW = ("attribute", "role", "figure", "value", "low", "high", "n", "gate", "met", "seen", "reason")


def publish_facts(figures: Mapping[str, Any], file: Path) -> None:
    """Write the facts, rounded to four digits, to a file.

    Raises BadInput where parts were not measured, naming them, and for pictures of another size.
    """
    missing = [part for part in ("photometry", "targets", "attributes", "identity") if not figures.get(part)]
    missing += [] if figures["null_auc"] else ["groups"]
    if missing:
        raise BadInput(f"--publish: expected every part, {', '.join(missing)} not measured; leave --only out")
    if figures["image_size"] != IMAGE_SIZE:
        size = figures["image_size"]
        raise BadInput(f"--publish: expected figures at {IMAGE_SIZE} pixels, got {size}; leave --size out")
    write_atomically(file, (json.dumps(facts(figures), indent=1, ensure_ascii=False) + "\n").encode())


def facts(figures: Mapping[str, Any]) -> dict[str, Any]:
    """What ships, of the figures of one check; no date, no machine."""
    photometry = ("medians_inside", "medians_outside", "share_inside", "faces_per_fifth", "unmeasured", "darkest_cheek")
    copied = ("renderer_version", "population", "image_size", "sizes", "interval", "found_rule")
    content = {
        **{name: figures[name] for name in copied},
        "photometry": {
            "subjects": figures["sizes"]["photometry"],
            **{name: figures[name] for name in photometry},
            "rows": figures["photometry"],
        },
        "targets": figures["targets"],
        "attributes": [{name: row[name] for name in _NUMBERS_OF_A_ROW} for row in figures["attributes"]],
        "identity": figures["identity"],
        "null_auc": figures["null_auc"],
        "control_auc": figures["control_auc"],
        "landmarks": figures["landmarks"],
    }
    rounded: dict[str, Any] = _rounded(content)
    return rounded


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
