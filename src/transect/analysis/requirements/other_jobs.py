"""Requirements of a recognition benchmark and of a leakage analysis, judged on the numbers that they wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from scipy.special import ndtri

from transect.analysis.requirements.judging import conclude
from transect.analysis.requirements.reading import named
from transect.analysis.requirements.records import Checked, Requirement
from transect.effects.requirements import ERROR, Bound
from transect.errors import BadInput
from transect.runs.json_records import read_json

RECOGNITION: Final = "recognition.json"
LEAKAGE: Final = "leakage.json"
_KINDS: Final = {RECOGNITION: "ratio", LEAKAGE: "leakage"}
_ADVICE: Final = "run the command again"


def numbers_in(folder: Path) -> str:
    """The file of numbers in a folder of a recognition benchmark or a leakage analysis; "" in another folder."""
    return next((name for name in _KINDS if (folder / name).is_file()), "")


def judge(folder: Path, requirements: Sequence[Requirement]) -> tuple[Checked, ...]:
    """What a recognition benchmark or a leakage analysis says about each requirement.

    Their stored intervals have 95 %, so that each end errs in at most 2.5 %, less than the 5 % of other requirements.

    Raises BadInput for a requirement of another job, or numbers that are not there.
    """
    file = numbers_in(folder)
    numbers = read_json(folder / file, "the numbers of that job", _ADVICE)
    rows = []
    for name, sound in named(requirements):
        if sound.kind != _KINDS[file]:
            raise BadInput(f"{name}: expected a requirement that {file} can show, got another; check it elsewhere")
        try:
            rows.append(_ratio(name, sound, numbers) if file == RECOGNITION else _leakage(name, sound, numbers))
        except (KeyError, TypeError, IndexError, ValueError, AttributeError):
            raise BadInput(f"{folder / file}: expected the numbers of that job, got other ones; {_ADVICE}") from None
    return tuple(rows)


def _ratio(name: str, requirement: Requirement, numbers: Mapping[str, Any]) -> Checked:
    """The ratio of every group's FNMR to the geometric mean, at every threshold of all images."""
    sample = numbers["samples"]["all"]
    people = {group["group"]: group["identities"] for group in sample["groups"]}
    rows = [row for row in sample["differentials"] if row["rate"] == "fnmr"]
    groups, bounds = [], []
    for row in rows:
        for ratio in row["ratios"] or [{"group": row["reason"], "ratio": None, "low": None, "high": None}]:
            groups.append(f"{ratio['group']} at threshold {row['threshold']:.3g}")
            bounds.append(_bound(ratio, "ratio", people.get(ratio["group"], 0)))
    limit = requirement.max_fnmr_ratio or math.nan
    together = [_held_together(bound, len(bounds)) for bound in bounds]
    return conclude(name, str(numbers["embeddings"]), groups, together, limit, points=False)


def _held_together(bound: Bound, quantities: int) -> Bound:
    """The bound with a lower end that holds for all ratios together: further below on the scale of logarithms, on which
    the intervals of ratios are symmetric.
    """
    if not (bound.lower > 0 and bound.estimate > 0):
        return bound
    wider = float(ndtri(1 - ERROR / quantities) / ndtri(1 - 0.025))
    return replace(bound, lower=bound.estimate * (bound.lower / bound.estimate) ** max(wider, 1.0))


def _leakage(name: str, requirement: Requirement, numbers: Mapping[str, Any]) -> Checked:
    """Amplification, the model's leakage less that of the labels at the model's accuracy."""
    figure = numbers["amplification"]
    if figure is None:
        raise BadInput(f"{name}: leakage_delta_max: expected an analysis with predictions, got one without")
    bound = _bound(figure, "estimate", int(figure["n"]))
    limit = requirement.leakage_delta_max or math.nan
    return conclude(name, str(numbers["model"]), ["amplification in points"], [bound], limit, points=False)


def _bound(row: Mapping[str, Any], estimate: str, n: int) -> Bound:
    return Bound(_number(row[estimate]), _number(row["low"]), _number(row["high"]), n)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
