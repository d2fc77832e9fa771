"""`transect.plan`: how many subjects a study needs for an effect, from assumptions or from a pilot run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Final, final

import pyarrow as pa

from transect.effects.planning import CORRELATION, Plan
from transect.effects.planning import plan as smallest_design
from transect.errors import BadInput
from transect.reports.short_page import ShortPageResult
from transect.runs.wording import counted

LABELS: Final = {
    "subjects": "subjects, each at every level",
    "images": "images",
    "calls": "calls of targets",
    "power": "power",
    "effect": "effect",
    "alpha": "level of all tests together",
    "family": "tests that share it",
    "unpaired_subjects": "subjects, if each were shown once",
    "unpaired_images": "images, if each showed another subject",
    "images_saved": "images saved against one image per subject (negative: extra images)",
    "assumed": "assumed",
    "contrast": "the pilot's contrast that needs the most",
}


@final
@dataclass(frozen=True, slots=True)
class PlanNumbers:
    """The smallest design that detects the effect. contrast: the pilot's that needs the most subjects, if any."""

    subjects: int
    images: int
    calls: int
    power: float
    effect: float
    alpha: float
    family: int
    unpaired_subjects: int
    unpaired_images: int
    images_saved: int
    assumed: str
    contrast: str | None = None


@final
@dataclass(frozen=True, slots=True)
class PlanResult(ShortPageResult[PlanNumbers]):
    """The result of `transect.plan`."""

    JOB: ClassVar[str] = "plan"
    TITLE: ClassVar[str] = "Study plan"
    TABLE: ClassVar[str] = "Plan"

    @property
    def table(self) -> pa.Table:
        """One row, a column per number."""
        return pa.Table.from_pylist([self.to_json()])

    def headline(self) -> str:
        """The subjects that are needed."""
        plan = self.numbers
        return (
            f"{counted(plan.subjects, 'subject')} detect an effect of {plan.effect:g} with a power of {plan.power:.3g}"
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Each number with what it is."""
        entries = [(field.name, getattr(self.numbers, field.name)) for field in fields(self.numbers)]
        texts = [(LABELS[name], f"{value:,}" if isinstance(value, int) else str(value)) for name, value in entries]
        return ["what", "plan"], [[*text] for text, (_, value) in zip(texts, entries, strict=True) if value is not None]


def plan(
    effect: float,
    base: float | None = None,
    *,
    power: float = 0.9,
    alpha: float = 0.05,
    family: int | None = None,
    correlation: float | None = None,
    cells: int | None = None,
    targets: int = 1,
    pilot: str | Path | None = None,
) -> PlanResult:
    """How many subjects, images and calls an effect needs, and what a transect saves against unpaired images.

    effect: the smallest difference worth detecting, of rates, or in the unit of the pilot's outcome. base: the rate at
    the first level. power: the chance to detect the effect. family: tests that share alpha; default 1, or those of the
    pilot. correlation: of a subject's answers, from 0 to below 1; default 0.5. cells: combinations of other attributes
    at which each subject is shown; default 1. targets: models that see each image. pilot: a finished run that shows
    how much subjects differ, in place of base, correlation, cells and targets.

    Raises BadInput for values out of range, both or neither of base and pilot, or a pilot without a contrast.

    >>> plan(0.05, 0.1, power=0.9).numbers.subjects
    715
    """
    if pilot is not None:
        stated = {"--base": base, "--correlation": correlation, "--cells": cells}
        unused = [name for name, value in stated.items() if value is not None] + ["--targets"] * (targets != 1)
        if unused:
            raise BadInput(f"--pilot replaces {', '.join(unused)}: drop {'it' if len(unused) == 1 else 'them'}")
        return _from_pilot(Path(pilot), effect, power, alpha, family)
    if base is None:
        raise BadInput("expected --base, the rate at the first level, or --pilot, a finished run; give one")
    assumed = smallest_design(
        effect,
        base,
        power=power,
        alpha=alpha,
        family=1 if family is None else family,
        correlation=CORRELATION if correlation is None else correlation,
        cells=1 if cells is None else cells,
        targets=targets,
    )
    return PlanResult(_numbers(assumed))


def _from_pilot(pilot: Path, effect: float, power: float, alpha: float, family: int | None) -> PlanResult:
    from transect.analysis.pilots import plan_next

    design, contrast = plan_next(pilot, effect, power=power, alpha=alpha, family=family)
    return PlanResult(_numbers(design, f"{contrast.name} ({contrast.outcome} of {contrast.target})"))


def _numbers(design: Plan, contrast: str | None = None) -> PlanNumbers:
    """The plan as numbers; the power with four decimals."""
    same = [field.name for field in fields(PlanNumbers) if field.name not in ("power", "contrast")]
    return PlanNumbers(
        **{name: getattr(design, name) for name in same}, power=round(design.power, 4), contrast=contrast
    )
