"""The pictures of a page as `results.json` lists them; their pixels stand in the page alone."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from transect.reports.entries import OfTarget
from transect.reports.models import Count, Model, Number
from transect.reports.records import Example, MeanFace, Strip


class ExampleEntry(OfTarget):
    """One image that the page shows (its pixels stand in the page alone)."""

    subject: int
    cell: dict[str, Number]
    answer: str
    boxes: list[list[Number]]
    expected_box: list[Number] | None
    failed: bool
    wrong: bool
    answer_yes: bool | None = Field(default=None, description="the answer yes or no, where the task has one")


class StripEntry(Model):
    """One transect that the page shows."""

    title: str
    examples: list[ExampleEntry]


class MeanFaceEntry(OfTarget):
    """Mean faces of one group's right and wrong answers that the page shows, and how many answers there are."""

    measure: str = Field(description="what is right or wrong, as in the tables of errors by condition")
    by: str = Field(description='the condition, "" for all images')
    group: str
    right: Count
    wrong: Count


class GalleryEntry(Model):
    """What the page shows of the images, and of how many."""

    strips: list[StripEntry] = Field(default=[])
    failures: list[ExampleEntry] = Field(default=[])
    flips: list[StripEntry] = Field(default=[], description="images two by two, a subject's own and one that flips")
    flips_shown: Count = Field(default=0, description="attributes and ways whose flips the page shows")
    flips_total: Count = 0
    faces: list[MeanFaceEntry] = Field(default=[])
    faces_total: Count = 0
    strips_shown: Count = 0
    strips_total: Count = 0
    failures_shown: Count = 0
    failures_total: Count = 0


def mean_face_entry(face: MeanFace) -> MeanFaceEntry:
    """Mean faces of one group as an entry."""
    labels = {name: getattr(face, name) for name in ("study", "target", "measure", "by", "group")}
    return MeanFaceEntry(**labels, right=face.right, wrong=face.wrong)


def strip_entries(strips: Sequence[Strip]) -> list[StripEntry]:
    """Strips as entries."""
    return [StripEntry(title=strip.title, examples=example_entries(strip.examples)) for strip in strips]


def example_entries(examples: Sequence[Example]) -> list[ExampleEntry]:
    """Images with their answers as entries."""
    return [
        ExampleEntry(
            study=example.study,
            target=example.target,
            subject=int(example.subject),
            cell={name: float(value) for name, value in example.cell.items()},
            answer=example.answer,
            boxes=[[float(side) for side in box] for box in example.boxes],
            expected_box=None if example.expected_box is None else [float(side) for side in example.expected_box],
            failed=example.failed,
            wrong=example.wrong,
            answer_yes=example.answer_yes,
        )
        for example in examples
    ]
