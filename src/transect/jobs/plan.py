"""Plan a study: how many subjects, images and calls an effect needs, and what a transect saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, asdict, dataclass, replace
from pathlib import Path
from typing import Annotated, Final, final

from transect.effects import planning
from transect.errors import BadInput
from transect.job import Content, Job, Option, function
from transect.reports.columns import Column, Table, shown
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
    "unpaired_images": "images, if each showed a different subject",
    "images_saved": "images saved against one image per subject (negative: extra images)",
    "assumed": "assumed",
    "contrast": "the pilot's contrast that needs the most",
    "margin": "margin of a requirement",
}


@final
@dataclass(frozen=True)
class Plan(Job[planning.Plan]):
    """How many subjects, images and calls an effect needs, and what a transect saves against unpaired images.

    With a pilot, its answers replace what is otherwise assumed: base, correlation, cells and targets.

    Raises BadInput for values out of range, both or neither of effect and margin, or of base and pilot, or a pilot
    without a contrast.

    >>> plan(0.05, 0.1, power=0.9).numbers.subjects
    679
    """

    effect: Annotated[
        float | None,
        Option("The smallest difference worth detecting: of rates, or in the unit of the pilot's outcome."),
    ] = None
    base: Annotated[float | None, Option("The rate at the first level; not with --pilot.")] = None
    _: KW_ONLY
    margin: Annotated[
        float | None,
        Option(
            "Instead of --effect: plan to show that no difference is larger; with --pilot, also to detect one this "
            "large."
        ),
    ] = None
    power: Annotated[float, Option("Probability of detecting the effect.")] = 0.9
    alpha: Annotated[float, Option("The significance level of all tests together.")] = 0.05
    family: Annotated[int | None, Option("Tests that share alpha; default 1, or the tests of the pilot.")] = None
    correlation: Annotated[
        float | None, Option("Correlation of a subject's answers, 0 to below 1; default 0.5; not with --pilot.")
    ] = None
    cells: Annotated[
        int | None,
        Option("Combinations of other attributes at which each subject is shown; default 1; not with --pilot."),
    ] = None
    targets: Annotated[int, Option("Models that see each image; not with --pilot.")] = 1
    pilot: Annotated[
        str | Path | None,
        Option(
            "A finished run that shows how much subjects differ, instead of --base.", Path, metavar="DIR", opens="data"
        ),
    ] = None
    about: Annotated[
        Sequence[str],
        Option("With --pilot, an attribute, outcome or target that matters; repeatable.", list[str], opens="value"),
    ] = ()

    def compute(self) -> planning.Plan:
        """The smallest design."""
        self._check()
        if self.pilot is not None:
            return self._from_pilot(Path(self.pilot))
        if self.base is None:
            raise BadInput("expected --base, the rate at the first level, or --pilot, a finished run")
        shared = planning.CORRELATION if self.correlation is None else self.correlation
        cells = 1 if self.cells is None else self.cells
        if self.margin is not None:
            equal = planning.plan_equivalence(
                self.margin, self.base, power=self.power, correlation=shared, cells=cells, targets=self.targets
            )
            return _numbers(equal, margin=self.margin)
        assumed = planning.plan(
            self.effect or 0.0,
            self.base,
            power=self.power,
            alpha=self.alpha,
            family=1 if self.family is None else self.family,
            correlation=shared,
            cells=cells,
            targets=self.targets,
        )
        return _numbers(assumed)

    def _check(self) -> None:
        """Raises BadInput for options that exclude each other."""
        if (self.effect is None) == (self.margin is None):
            found = "neither" if self.effect is None else "both"
            raise BadInput(
                f"expected --effect, to detect it, or --margin, to show that no difference is larger, got {found}; "
                "give one of them"
            )
        if self.margin is not None and (self.family is not None or self.alpha != 0.05):
            raise BadInput("--margin is tested at 5 %, or as the pilot's report tests it: drop --alpha and --family")
        stated = {"--base": self.base, "--correlation": self.correlation, "--cells": self.cells}
        unused = [name for name, value in stated.items() if value is not None] + ["--targets"] * (self.targets != 1)
        if self.pilot is None and self.about:
            raise BadInput("--about chooses among the contrasts of a pilot: give --pilot, or drop it")
        if self.pilot is not None and unused:
            raise BadInput(f"--pilot replaces {', '.join(unused)}: drop {' and '.join(unused)}")

    def _from_pilot(self, pilot: Path) -> planning.Plan:
        from transect.analysis.secondary_results import plan_next, plan_next_equivalence

        if self.margin is not None:
            design, contrast = plan_next_equivalence(pilot, self.margin, power=self.power, about=self.about)
        else:
            design, contrast = plan_next(
                pilot, self.effect or 0.0, power=self.power, alpha=self.alpha, family=self.family, about=self.about
            )
        return _numbers(design, f"{contrast.name} ({contrast.outcome} of {contrast.target})", self.margin)

    def content(self, numbers: planning.Plan) -> Content:
        """What is shown of the design."""
        return Content(
            title="Study plan",
            answer=[_headline(numbers)],
            table=Table("Plan", [item for item in asdict(numbers).items() if item[1] is not None], PLAN),
            rows=Table("Plan", [numbers], [Column(name, name) for name in LABELS]),
        )


plan = function(Plan)


PLAN: Final[Sequence[Column[tuple[str, object]]]] = (
    Column("what", lambda item: LABELS[item[0]]),
    Column("plan", lambda item: shown(item[1], "count" if isinstance(item[1], int) else "text")),
)


def _headline(plan: planning.Plan) -> str:
    subjects = counted(plan.subjects, "subject")
    if plan.margin is not None:
        told = "decide whether a difference reaches {:g}" if plan.contrast else "show that no difference exceeds {:g}"
        return f"{subjects} {told.format(plan.margin)}, with a power of {plan.power:.3g}."
    return f"{subjects} detect an effect of {plan.effect:g} with a power of {plan.power:.3g}."


def _numbers(design: planning.Plan, contrast: str | None = None, margin: float | None = None) -> planning.Plan:
    """The plan as numbers; the power with four decimals."""
    return replace(design, power=round(design.power, 4), contrast=contrast, margin=margin)
