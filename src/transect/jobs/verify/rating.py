"""Contenders where people rated some images, and a machine all of them."""

from __future__ import annotations

from typing import Final

import numpy as np
from scipy.special import stdtrit

from transect.effects import PredictionPowered, Transported, newcombe, ppi_difference, ppi_mean, transported
from transect.jobs.verify.contenders import Contender, SimulatedEstimates, Tables, rate
from transect.jobs.verify.further_worlds import RATED, TWINS

_UPPER: Final = 0.975
_HALF: Final = 1.96
_FEW: Final = 50
"""Images of each group that people rated in the world "rater bias"."""
_ALONE: Final = 0.0
"""Trust in the machine where people's ratings alone count; None estimates it (PPI++)."""


def _powered(people: np.ndarray, machine: np.ndarray, rated: int, trust: float | None) -> PredictionPowered:
    return ppi_mean(people[:rated], machine[:rated], machine[rated:], trust=trust)


def _row(powered: PredictionPowered) -> tuple[float, float, float, float]:
    return powered.estimate, powered.low, powered.high, np.nan


def _rate(trust: float | None) -> Contender:
    """The first group's rate."""
    return lambda t: SimulatedEstimates.of(
        [_row(_powered(p[0], m[0], RATED, trust)) for p, m in zip(t["people"], t["machine"], strict=True)]
    )


def _difference(rated: int, trust: float | None, people: str = "people") -> Contender:
    """The second group minus the first."""

    def row(by_people: np.ndarray, by_machine: np.ndarray) -> tuple[float, float, float, float]:
        groups = [_powered(p, m, rated, trust) for p, m in zip(by_people, by_machine, strict=True)]
        return _row(ppi_difference(*groups))

    return lambda t: SimulatedEstimates.of([row(p, m) for p, m in zip(t[people], t["machine"], strict=True)])


people_alone, people_and_machine = _difference(_FEW, _ALONE), _difference(_FEW, None)
machine_alone = _difference(_FEW, 1.0, "machine")
"""The machine's ratings, as if people had made them."""
people_rate, powered_rate = _rate(_ALONE), _rate(None)
people_difference, powered_difference = _difference(RATED, _ALONE), _difference(RATED, None)


def _twins(tables: Tables) -> list[Transported]:
    return [
        transported(photographed[:TWINS], rendered[:TWINS], rendered[TWINS:])
        for photographed, rendered in zip(tables["photographed"], tables["rendered"], strict=True)
    ]


def photographs_alone(tables: Tables) -> SimulatedEstimates:
    """The mean effect on the photographed subjects."""
    return SimulatedEstimates.of([(each.alone, each.alone_low, each.alone_high, np.nan) for each in _twins(tables)])


def corrected_rendering(tables: Tables) -> SimulatedEstimates:
    """That of all subjects as rendered, corrected by those that are photographed too."""
    return SimulatedEstimates.of([(each.estimate, each.low, each.high, np.nan) for each in _twins(tables)])


def rendering_alone(tables: Tables) -> SimulatedEstimates:
    """The mean effect on all rendered subjects."""
    rendered = tables["rendered"]
    half = _HALF * rendered.std(axis=1, ddof=1) / np.sqrt(rendered.shape[1])
    mean = rendered.mean(axis=1)
    return SimulatedEstimates.without_test(mean, mean - half, mean + half)


def student_rate(tables: Tables) -> SimulatedEstimates:
    """The powered rate with Student's interval, as of means that are no rates."""
    rows = []
    for people, machine in zip(tables["people"], tables["machine"], strict=True):
        powered = _powered(people[0], machine[0], RATED, None)
        half = float(stdtrit(powered.freedom, _UPPER)) * powered.standard_error
        rows.append((powered.estimate, powered.estimate - half, powered.estimate + half, np.nan))
    return SimulatedEstimates.of(rows)


def machine_rate(tables: Tables) -> SimulatedEstimates:
    """The machine's answers on the first group, taken as ratings."""
    return rate(tables["machine"][:, 0])


def machine_difference(tables: Tables) -> SimulatedEstimates:
    """The difference of the machine's answers, taken as ratings."""
    first, second = tables["machine"][:, 0], tables["machine"][:, 1]
    low, high = newcombe((second.sum(axis=1), first.sum(axis=1)), (second.shape[1], first.shape[1]))
    return SimulatedEstimates.without_test(second.mean(axis=1) - first.mean(axis=1), low, high)
