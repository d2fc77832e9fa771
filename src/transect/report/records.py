"""The pictures that a page shows beside its numbers: real images of the run, with what the target answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from transect.errors import BadInput

Box = tuple[float, float, float, float]
"""x0, y0, x1, y1 in pixels of the image."""

_PNG = b"\x89PNG\r\n\x1a\n"


@final
@dataclass(frozen=True, slots=True)
class Example:
    """One image of a run and the target's answer on it.

    png: the image as it was stored. boxes: what a detector drew; expected_box: where the renderer put the face.
    failed: there is no valid answer (then `answer` is the reason); wrong: the answer differs from the truth. said: the
    answer yes or no, None where the task has none or it failed.

    Raises BadInput when `png` is not a PNG image.
    """

    study: str
    target: str
    subject: int
    cell: Mapping[str, float]
    png: bytes = field(repr=False)
    answer: str
    boxes: tuple[Box, ...] = ()
    expected_box: Box | None = None
    failed: bool = False
    wrong: bool = False
    said: bool | None = None

    def __post_init__(self) -> None:
        if self.png[:8] != _PNG or self.png[12:16] != b"IHDR":
            raise BadInput(f"example of subject {self.subject}: expected a PNG image, got {self.png[:8]!r}")

    @property
    def size(self) -> tuple[int, int]:
        """Width and height in pixels, from the PNG header."""
        return int.from_bytes(self.png[16:20], "big"), int.from_bytes(self.png[20:24], "big")


@final
@dataclass(frozen=True, slots=True)
class Strip:
    """One transect: the images of one subject over the levels of an attribute, in order."""

    title: str
    examples: tuple[Example, ...]

    def __post_init__(self) -> None:
        if not self.examples:
            raise BadInput(f"strip {self.title!r}: expected at least one example, got none")
        if len({(example.study, example.target) for example in self.examples}) > 1:
            raise BadInput(f"strip {self.title!r}: expected one study and one target, got several")


@final
@dataclass(frozen=True, slots=True)
class MeanFace:
    """Mean pictures of one group's right and wrong answers (PNG, None without one), and how many answers they are of.

    measure: what is right or wrong; by, group: the condition and the group, "" for all images.
    """

    study: str
    target: str
    measure: str
    by: str
    group: str
    right: int
    wrong: int
    right_png: bytes | None = field(default=None, repr=False)
    wrong_png: bytes | None = field(default=None, repr=False)


@final
@dataclass(frozen=True, slots=True)
class Gallery:
    """The examples of a report. failures_total: how many images failed or were wrong, if more than are given here.

    flips: images two by two, a subject's own and one on which the answer is another; a strip per attribute and way.
    faces: mean faces of right and wrong answers, by study, target and measure.
    """

    strips: tuple[Strip, ...] = ()
    failures: tuple[Example, ...] = ()
    failures_total: int | None = None
    flips: tuple[Strip, ...] = ()
    faces: tuple[MeanFace, ...] = ()

    def __post_init__(self) -> None:
        for strip in self.flips:
            if len(strip.examples) % 2:
                raise BadInput(f"flips {strip.title!r}: expected pairs of examples, got {len(strip.examples)}")

    @property
    def total(self) -> int:
        """How many images failed or were wrong in all; never fewer than are given."""
        return max(len(self.failures), self.failures_total or 0)
