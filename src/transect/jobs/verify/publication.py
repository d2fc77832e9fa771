"""Writes the figures that ship with FaceWorld: reports and documents quote them alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from transect.errors import BadInput
from transect.generators.faceworld.validity import IMAGE_SIZE, READERS_FILE, stored_readers
from transect.jobs.verify.cache import Figures
from transect.jobs.verify.figures import WorldFigures
from transect.runs.folder import write_json
from transect.runs.plain_json import plain

_WHERE_MEASURED = (
    "targets", "attributes", "identity", "null_auc", "control_auc", "landmarks", "share_within", "sharpness", "readers",
)  # fmt: skip


def publish_facts(figures: WorldFigures, file: Path) -> None:
    """Write the facts, rounded to four digits, to a file; parts that were not measured are left out.

    Raises BadInput without the photometry, and for pictures of another size.
    """
    if not figures.photometry:
        raise BadInput("--publish: expected the photometry at least, got none; add it to --only, or leave --only out")
    if figures.image_size != IMAGE_SIZE:
        size = figures.image_size
        raise BadInput(f"--publish: expected figures at {IMAGE_SIZE} pixels, got {size}; leave --size out")
    write_json(file, facts(figures), indent=1)


def keep_readers(folder: Path, version: str, rows: Sequence[Figures]) -> None:
    """Put what models from outside read where audits look for it; a reader's new row of an attribute replaces its old.

    version: of the renderer; rows of another version are dropped.
    """
    kept = {(row["attribute"], row["reader"]): row for row in (*stored_readers(version, folder), *rows)}
    write_json(folder / READERS_FILE, {"renderer_version": version, "readers": list(kept.values())}, indent=1)


def facts(figures: WorldFigures) -> Figures:
    """What ships, of the figures of one check; no date, no machine."""
    photometry = ("medians_inside", "medians_outside", "share_inside", "faces_per_fifth", "unmeasured", "darkest_cheek")
    copied = ("renderer_version", "population", "image_size", "sizes", "interval", "found_rule")
    content = {
        **{name: getattr(figures, name) for name in copied},
        "photometry": {
            "subjects": figures.sizes["photometry"],
            **{name: getattr(figures, name) for name in photometry},
            "rows": figures.photometry,
        },
        **{name: known for name in _WHERE_MEASURED if (known := getattr(figures, name))},
    }
    return {name: _rounded(value) for name, value in plain(content).items()}


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.4g}")
    if isinstance(value, Mapping):
        return {name: _rounded(item) for name, item in value.items()}
    return [_rounded(item) for item in value] if isinstance(value, list | tuple) else value
