"""How similar FaceWorld is to photographs: the figures that ship, of one version of the renderer.

`python -m validation world --publish` writes them. They do not apply to pictures of another version.
"""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TypedDict, cast

from transect.errors import BadInput

SUBJECTS, IMAGE_SIZE = 5000, 128
"""Subjects and pixels that the conditions apply to."""

MEDIANS = 90
"""Medians of eighteen statistics in five fifths."""

MEDIANS_INSIDE, SHARE_INSIDE, FACES_PER_FIFTH, DARKEST_CHEEK = 81, 0.70, 200, 0.16
"""What the photometry must reach: medians of ninety between the photographs' quartiles; the smallest share of faces
between their p05 and p95; measured faces of every fifth; the median cheek luminance of the darkest tones."""

READERS_FILE, FOLDER, FOLDER_VARIABLE = "readers.json", "runs/verify-world", "TRANSECT_WORLD_FOLDER"
"""Where `python -m validation world` puts what models from outside read, and what names another folder."""

_FIGURES = ("auc", "correlation", "slope")


class Photometry(TypedDict):
    """How rendered faces are lit, compared with photographs; None where a figure could not be measured."""

    subjects: int
    medians_inside: int
    medians_outside: Sequence[object]
    share_inside: float | None
    faces_per_fifth: Sequence[int]
    darkest_cheek: float | None


class Facts(TypedDict, total=False):
    """The figures that ship, of one version of the renderer; empty where none were measured."""

    renderer_version: str
    photometry: Photometry
    identity: Mapping[str, object]
    attributes: Sequence[Mapping[str, object]]
    readers: Sequence[Mapping[str, object]]


@functools.cache
def shipped_facts() -> Facts:
    """The figures that ship; empty where none were measured."""
    file = resources.files("transect.generators.faceworld") / "facts" / "validity.json"
    facts: Facts = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    return facts


def shortcomings(photometry: Photometry) -> list[str]:
    """The conditions that the photometry misses, in words; empty where all hold. A figure of None is a miss."""
    share, cheek = photometry["share_inside"], photometry["darkest_cheek"]
    inside, outside = photometry["medians_inside"], photometry["medians_outside"]
    fewest = min(photometry["faces_per_fifth"])
    checks = [
        (
            photometry["subjects"] >= SUBJECTS,
            f"{photometry['subjects']:,} subjects were measured (wanted {SUBJECTS:,})",
        ),
        (
            inside >= MEDIANS_INSIDE,
            f"{inside} of 90 medians lie between the photographs' quartiles (wanted {MEDIANS_INSIDE})",
        ),
        (not outside, f"{len(outside)} medians lie beyond the photographs' 5 to 95 % (wanted 0)"),
        (
            share is not None and share >= SHARE_INSIDE,
            f"the smallest share of faces within their 5 to 95 % is {_two(share)} (wanted {SHARE_INSIDE:.2f})",
        ),
        (fewest >= FACES_PER_FIFTH, f"a fifth has {fewest} measured faces (wanted {FACES_PER_FIFTH})"),
        (
            cheek is not None and cheek >= DARKEST_CHEEK,
            f"the median cheek luminance of the darkest tones is {_two(cheek)} (wanted {DARKEST_CHEEK:.2f})",
        ),
    ]
    return [words for holds, words in checks if not holds]


def _two(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"


def statement(facts: Facts, version: str) -> tuple[bool, str]:
    """Whether the photometry of that renderer is validated, and the evidence, in one line."""
    evidence = "effects on its faces are evidence about the target, to be confirmed on photographs."
    if not facts:
        return False, f"FaceWorld's photometry is not yet validated against photographs: {evidence}"
    measured_version, photometry = str(facts["renderer_version"]), facts["photometry"]
    if measured_version != version:
        return False, (
            f"FaceWorld's photometry is not yet validated: figures are for renderer version {measured_version}, the"
            f" pictures of version {version}; {evidence}"
        )
    missed, share = shortcomings(photometry), photometry["share_inside"]
    if missed or share is None:
        return False, f"Measured against photographs, {'; '.join(missed)}; {evidence}"
    return True, (
        f"FaceWorld's photometry is validated against photographs (renderer version {version},"
        f" {photometry['subjects']:,} subjects: {photometry['medians_inside']} of 90 medians between the photographs'"
        f" quartiles, none beyond their 5 to 95 %, at least {100 * share:.0f} % of faces within"
        f" those for every statistic and fifth); {evidence}"
    )


def stored_readers(version: str, folder: Path | None = None) -> list[Mapping[str, object]]:
    """What outside models read from pictures of that version on this machine: TRANSECT_WORLD_FOLDER or FOLDER."""
    file = (folder or Path(os.environ.get(FOLDER_VARIABLE) or FOLDER)) / READERS_FILE
    if not file.is_file():
        return []
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        of_version, rows = stored["renderer_version"] == version, list(stored["readers"])
        return [{**row, "attribute": str(row["attribute"])} for row in rows if of_version]
    except (ValueError, TypeError, KeyError) as error:
        raise BadInput(
            f"{file}: expected the output of python -m validation world --reader, got {error!r}; delete it"
        ) from None


def validity_of(
    facts: Facts, version: str, measured: Sequence[Mapping[str, object]] | None = None
) -> dict[str, object]:
    """What a report states about pictures of that version: a statement, and figures of that version.

    photometry: a summary, None where it was not measured. identity: how well people can be told apart, None likewise.
    readings: by attribute and nuisance, how well a network reads it back from held-out pictures. readers: by attribute,
    what models from outside read: of the facts, and as measured on this machine (default: what is stored).
    not_measured: why there are no figures, "" where there are.
    """
    of_version = bool(facts) and str(facts["renderer_version"]) == version
    shipped: Sequence[Mapping[str, object]] = facts.get("readers", ()) if of_version else ()
    known = stored_readers(version) if measured is None else measured
    return {**_figures(facts, version), "readers": _by_attribute([*shipped, *known])}


def _by_attribute(rows: Sequence[Mapping[str, object]]) -> dict[str, list[dict[str, object]]]:
    """Rows of readers by attribute; the later row of a reader counts."""
    latest = {(str(row["attribute"]), str(row["reader"])): row for row in rows}
    found: dict[str, list[dict[str, object]]] = {}
    for (attribute, _), row in latest.items():
        found.setdefault(attribute, []).append(_outside(row))
    return found


def _outside(row: Mapping[str, object]) -> dict[str, object]:
    """What reports keep of one reader: its figures on rendered faces and on photographs."""
    seen = cast("Mapping[str, object]", row.get("photographs") or {})
    kept = {name: row[name] for name in ("reader", "unit", "image_size")} | {n: _figure(row[n]) for n in _FIGURES}
    on_photographs = {f"photographs_{name}": _figure(seen[name]) for name in _FIGURES if name in seen}
    return {**kept, "photographs": seen.get("name", ""), "label": seen.get("label", ""), **on_photographs}


def _figure(figure: object) -> dict[str, object]:
    known = cast("Mapping[str, object]", figure)
    return {name: known[name] for name in ("value", "low", "high", "n")}


def _figures(facts: Facts, version: str) -> dict[str, object]:
    validated, words = statement(facts, version)
    missing = f"not measured for renderer version {version}"
    if facts and str(facts["renderer_version"]) != version:
        missing += f": figures are for renderer version {facts['renderer_version']}"
        facts = {}
    return {
        "photometry_validated": validated,
        "statement": words,
        "renderer_version": version,
        "photometry": _summary(facts["photometry"]) if facts else None,
        "identity": _figure(facts["identity"]) if "identity" in facts else None,
        "readings": {row["attribute"]: row for row in facts.get("attributes", ()) if row["role"] != "identity"},
        "not_measured": "" if "attributes" in facts else missing,
    }


def _summary(photometry: Photometry) -> dict[str, object]:
    return {
        "subjects": photometry["subjects"],
        "medians": MEDIANS,
        "medians_inside": photometry["medians_inside"],
        "medians_outside": len(photometry["medians_outside"]),
        "share_inside": photometry["share_inside"],
        "fewest_of_a_fifth": min(photometry["faces_per_fifth"]),
    }
