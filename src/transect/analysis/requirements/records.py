"""A requirement that a model must meet, and what a run says about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import final

from transect.effects.requirements import Status


@final
@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One table [[require]] of a file.

    Of an audit, one of: margin with attribute (no difference between levels larger than it), no_worse_than (a finished
    run on the same images: neither the difference, nor without an attribute the rate, exceeds its by more than the
    margin), max_rate (of every group of `by`). Of a recognition benchmark: max_fnmr_ratio (of every group's rate over
    the geometric mean of all). Of a leakage analysis: leakage_delta_max (amplification in percentage points).
    outcome, target, study: of an audit; by default the only ones. name: in outputs; by default its own words.
    """

    name: str = ""
    attribute: str = ""
    outcome: str = ""
    target: str = ""
    study: str = ""
    margin: float | None = None
    no_worse_than: Path | None = None
    max_rate: float | None = None
    by: Sequence[str] = ()
    max_fnmr_ratio: float | None = None
    leakage_delta_max: float | None = None

    @property
    def kind(self) -> str:
        """What it limits: "ratio", "leakage", "rate", "baseline" or "difference"."""
        limits = {
            "ratio": self.max_fnmr_ratio,
            "leakage": self.leakage_delta_max,
            "rate": self.max_rate,
            "baseline": self.no_worse_than,
        }
        return next((kind for kind, limit in limits.items() if limit is not None), "difference")


@final
@dataclass(frozen=True, slots=True)
class Checked:
    """One requirement and what a run says about it.

    name: of the requirement. target: the model. estimate: of the quantity that comes closest to the limit or goes
    beyond it; upper: it is below this with 95 % confidence, NaN where that is not known. n_subjects: behind it; images
    or items where no column says who repeats. subjects_needed: with which it would be shown to be met if the estimates
    stay; None where it is met or violated, or more subjects would not show it. text: the same in a sentence.
    """

    name: str
    target: str
    status: Status
    estimate: float
    upper: float
    limit: float
    n_subjects: int
    subjects_needed: int | None
    text: str
