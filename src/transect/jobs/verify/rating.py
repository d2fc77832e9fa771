"""Contenders where people rated few images of a rare outcome and a machine all of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from scipy.special import stdtrit

from transect.effects import PredictionPowered, newcombe, ppi_difference, ppi_mean, wilson
from transect.jobs.verify.contenders import Answers, Tables
from transect.jobs.verify.further_worlds import RATED

_UPPER: Final = 0.975


def people_rate(tables: Tables) -> Answers:
    """The first group's rate by the few ratings, without the machine."""
    return _rates(tables, trust=0.0)


def powered_rate(tables: Tables) -> Answers:
    """The same with the machine's answers on all images."""
    return _rates(tables, trust=None)


def student_rate(tables: Tables) -> Answers:
    """The same with Student's interval, as of means that are no rates."""
    rows = []
    for people, machine in _groups(tables, 0):
        rate = _powered(people, machine, None)
        half = float(stdtrit(rate.freedom, _UPPER)) * rate.standard_error
        rows.append((rate.estimate, rate.estimate - half, rate.estimate + half, np.nan))
    return Answers.of(rows)


def machine_rate(tables: Tables) -> Answers:
    """The machine's answers on the first group, taken as ratings."""
    machine = tables["machine"][:, 0]
    low, high = wilson(machine.sum(axis=1), machine.shape[1])
    return Answers(machine.mean(axis=1), low, high, np.full(len(machine), np.nan))


def people_difference(tables: Tables) -> Answers:
    """The second group minus the first by the few ratings."""
    return _differences(tables, trust=0.0)


def powered_difference(tables: Tables) -> Answers:
    """The same with the machine's answers on all images."""
    return _differences(tables, trust=None)


def machine_difference(tables: Tables) -> Answers:
    """The difference of the machine's answers, taken as ratings."""
    first, second = tables["machine"][:, 0], tables["machine"][:, 1]
    low, high = newcombe((second.sum(axis=1), first.sum(axis=1)), (second.shape[1], first.shape[1]))
    return Answers(second.mean(axis=1) - first.mean(axis=1), low, high, np.full(len(first), np.nan))


def _rates(tables: Tables, trust: float | None) -> Answers:
    return Answers.of([_row(_powered(people, machine, trust)) for people, machine in _groups(tables, 0)])


def _differences(tables: Tables, trust: float | None) -> Answers:
    first, second = ([_powered(*pair, trust) for pair in _groups(tables, group)] for group in (0, 1))
    return Answers.of([_row(ppi_difference(*estimates)) for estimates in zip(first, second, strict=True)])


def _groups(tables: Tables, group: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    return zip(tables["people"][:, group], tables["machine"][:, group], strict=True)


def _powered(people: np.ndarray, machine: np.ndarray, trust: float | None) -> PredictionPowered:
    return ppi_mean(people[:RATED], machine[:RATED], machine[RATED:], trust=trust)


def _row(powered: PredictionPowered) -> tuple[float, float, float, float]:
    return powered.estimate, powered.low, powered.high, np.nan
