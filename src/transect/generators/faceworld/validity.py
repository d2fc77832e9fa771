"""How similar FaceWorld is to photographs: the figures that ship, of one version of the renderer.

`transect verify world --publish` writes them. They do not apply to pictures of another version.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import TypedDict, cast

SUBJECTS, IMAGE_SIZE = 5000, 128
"""Subjects and pixels that the conditions apply to."""

MEDIANS = 90
"""Medians of eighteen statistics in five fifths."""

MEDIANS_INSIDE, SHARE_INSIDE, FACES_PER_FIFTH, DARKEST_CHEEK = 81, 0.70, 200, 0.16
"""What the photometry must reach: medians of ninety between the photographs' quartiles; the smallest share of faces
between their p05 and p95; measured faces of every fifth; the median cheek luminance of the darkest tones."""


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
        (
            not outside,
            f"{len(outside)} medians lie beyond the photographs' 5 to 95 % (wanted 0)",
        ),
        (
            share is not None and share >= SHARE_INSIDE,
            f"the smallest share of faces within their 5 to 95 % is {_two(share)} (wanted {SHARE_INSIDE:.2f})",
        ),
        (
            fewest >= FACES_PER_FIFTH,
            f"a fifth has {fewest} measured faces (wanted {FACES_PER_FIFTH})",
        ),
        (
            cheek is not None and cheek >= DARKEST_CHEEK,
            f"the median cheek luminance of the darkest tones is {_two(cheek)} (wanted {DARKEST_CHEEK:.2f})",
        ),
    ]
    return [words for holds, words in checks if not holds]


def _two(value: float | None) -> str:
    return "not known" if value is None else f"{value:.2f}"


def photometry_passes(photometry: Mapping[str, object]) -> bool:
    """Whether rendered faces are lit as photographs are, by every condition."""
    return not shortcomings(cast("Photometry", photometry))


def statement(facts: Facts, version: str) -> tuple[bool, str]:
    """Whether the photometry of that renderer is validated, and the evidence, in one line.

    >>> statement({}, "7")[0]
    False
    """
    evidence = "effects on its faces are evidence about the target, to be confirmed on photographs."
    if not facts:
        return False, f"FaceWorld's photometry is not yet validated against photographs: {evidence}"
    measured_version, photometry = str(facts["renderer_version"]), facts["photometry"]
    if measured_version != version:
        return False, (
            f"FaceWorld's photometry is not yet validated: figures are of renderer version {measured_version}, the"
            f" pictures of version {version}; {evidence}"
        )
    missed, share = shortcomings(photometry), photometry["share_inside"]
    if missed or share is None:
        return False, f"FaceWorld's photometry is measured but not yet validated: {'; '.join(missed)}; {evidence}"
    return True, (
        f"FaceWorld's photometry is validated against photographs (renderer version {version},"
        f" {photometry['subjects']:,} subjects: {photometry['medians_inside']} of 90 medians between the photographs'"
        f" quartiles, none beyond their 5 to 95 %, at least {100 * share:.0f} % of faces within"
        f" those for every statistic and fifth); {evidence}"
    )


def validity_of(facts: Facts, version: str) -> dict[str, object]:
    """What a report states about pictures of that version: a statement, and figures of that version.

    photometry: a summary, None where it was not measured. identity: how well people can be told apart, None likewise.
    readings: by attribute and nuisance, how well a network reads it back from held-out pictures. not_measured: why
    there are no figures, "" where there are.
    """
    validated, words = statement(facts, version)
    facts_of_version = {"photometry_validated": validated, "statement": words, "renderer_version": version}
    if not facts or str(facts["renderer_version"]) != version:
        measured_version = f": figures are of renderer version {facts['renderer_version']}" if facts else ""
        return {
            **facts_of_version,
            "photometry": None,
            "identity": None,
            "readings": {},
            "not_measured": f"not measured for renderer version {version}{measured_version}",
        }
    return {
        **facts_of_version,
        "photometry": _summary(facts["photometry"]),
        "identity": {name: facts["identity"][name] for name in ("value", "low", "high", "n")},
        "readings": {row["attribute"]: row for row in facts["attributes"] if row["role"] != "identity"},
        "not_measured": "",
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
