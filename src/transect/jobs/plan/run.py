"""`transect.plan`: how many subjects a study needs for an effect, from assumptions or from a pilot run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Final, final

import pyarrow as pa

from transect.effects.planning import CORRELATION, Plan, plan_equivalence
from transect.effects.planning import plan as smallest_design
from transect.errors import BadInput
from transect.reports.builder import ShortPageResult
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
    "margin": "margin of a requirement",
    "contrast": "the pilot's contrast that needs the most",
}


@final
@dataclass(frozen=True, slots=True)
class PlanNumbers:
    """The smallest design that detects the effect, or shows that no difference exceeds the margin.

    contrast: the pilot's that needs the most subjects, if any. margin: None for an effect.
    """

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
    margin: float | None = None


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
        if plan.margin is not None:
            return (
                f"{counted(plan.subjects, 'subject')} show with a power of {plan.power:.3g} that no difference exceeds "
                f"{plan.margin:g}, where there is none"
            )
        return (
            f"{counted(plan.subjects, 'subject')} detect an effect of {plan.effect:g} with a power of {plan.power:.3g}"
        )

    def rows(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Each number with what it is."""
        entries = [(field.name, getattr(self.numbers, field.name)) for field in fields(self.numbers)]
        texts = [(LABELS[name], f"{value:,}" if isinstance(value, int) else str(value)) for name, value in entries]
        return ["what", "plan"], [[*text] for text, (_, value) in zip(texts, entries, strict=True) if value is not None]


def plan(
    effect: float | None = None,
    base: float | None = None,
    *,
    margin: float | None = None,
    power: float = 0.9,
    alpha: float = 0.05,
    family: int | None = None,
    correlation: float | None = None,
    cells: int | None = None,
    targets: int = 1,
    pilot: str | Path | None = None,
) -> PlanResult:
    """How many subjects, images and calls an effect needs, and what a transect saves against unpaired images.

    effect: the smallest difference worth detecting, of rates, or in the unit of the pilot's outcome. margin: what a
    requirement allows, in place of effect: the plan is for showing that there is no larger difference. base: the rate
    at the first level. power: the chance to do so. family: tests that share alpha; default 1, or those of the
    pilot. correlation: of a subject's answers, from 0 to below 1; default 0.5. cells: combinations of other attributes
    at which each subject is shown; default 1. targets: models that see each image. pilot: a finished run that shows
    how much subjects differ, in place of base, correlation, cells and targets.

    Raises BadInput for values out of range, both or neither of effect and margin, or of base and pilot, or a pilot
    without a contrast.

    >>> plan(0.05, 0.1, power=0.9).numbers.subjects
    679
    """
    if (effect is None) == (margin is None):
        raise BadInput("expected --effect, to detect it, or --margin, to show that no difference is larger; give one")
    if margin is not None and (family is not None or alpha != 0.05):
        raise BadInput("--margin is tested at 5 % by itself: drop --alpha and --family")
    if pilot is not None:
        stated = {"--base": base, "--correlation": correlation, "--cells": cells}
        unused = [name for name, value in stated.items() if value is not None] + ["--targets"] * (targets != 1)
        if unused:
            raise BadInput(f"--pilot replaces {', '.join(unused)}: drop {'it' if len(unused) == 1 else 'them'}")
        if margin is not None:
            return _equivalence_from_pilot(Path(pilot), margin, power)
        return _from_pilot(Path(pilot), effect or 0.0, power, alpha, family)
    if base is None:
        raise BadInput("expected --base, the rate at the first level, or --pilot, a finished run; give one")
    shared = CORRELATION if correlation is None else correlation
    shown = 1 if cells is None else cells
    if margin is not None:
        equal = plan_equivalence(margin, base, power=power, correlation=shared, cells=shown, targets=targets)
        return PlanResult(_numbers(equal, margin=margin))
    size = 1 if family is None else family
    assumed = smallest_design(
        effect or 0.0, base, power=power, alpha=alpha, family=size, correlation=shared, cells=shown, targets=targets
    )
    return PlanResult(_numbers(assumed))


def _from_pilot(pilot: Path, effect: float, power: float, alpha: float, family: int | None) -> PlanResult:
    from transect.analysis.secondary_results import plan_next

    design, contrast = plan_next(pilot, effect, power=power, alpha=alpha, family=family)
    return PlanResult(_numbers(design, f"{contrast.name} ({contrast.outcome} of {contrast.target})"))


def _equivalence_from_pilot(pilot: Path, margin: float, power: float) -> PlanResult:
    from transect.analysis.secondary_results import plan_next_equivalence

    design, contrast = plan_next_equivalence(pilot, margin, power=power)
    return PlanResult(_numbers(design, f"{contrast.name} ({contrast.outcome} of {contrast.target})", margin))


def _numbers(design: Plan, contrast: str | None = None, margin: float | None = None) -> PlanNumbers:
    """The plan as numbers; the power with four decimals."""
    same = [field.name for field in fields(PlanNumbers) if field.name not in ("power", "contrast", "margin")]
    return PlanNumbers(
        **{name: getattr(design, name) for name in same}, power=round(design.power, 4), contrast=contrast, margin=margin
    )
