"""Where does a value lie on an axis? Positions are per cent of the axis, so that a figure fits every width."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import final

_MANTISSAS = (1.0, 2.0, 2.5, 5.0, 10.0)
_ROUNDING = 1e-10


@final
@dataclass(frozen=True, slots=True)
class Scale:
    """A linear axis from low to high with ticks at round numbers."""

    low: float
    high: float
    ticks: tuple[float, ...]

    def fraction(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        return (value - self.low) / (self.high - self.low)

    def percent(self, value: float) -> str:
        """The position as an SVG length: '50%'."""
        return f"{100 * self.fraction(value):.2f}".rstrip("0").rstrip(".") + "%"


def covering(values: Iterable[float], about: int = 5) -> Scale:
    """The scale with round ends that covers the values and zero with at most `about` steps.

    Without values, or with zeros alone up to rounding (1e-10), it runs from 0 to 1.

    >>> covering([-0.04, 0.31]).ticks
    (-0.1, 0.0, 0.1, 0.2, 0.3, 0.4)
    >>> covering([0.0, -2e-16]).low, covering([0.0, -2e-16]).high
    (0.0, 1.0)
    """
    low, high = min([0.0, *values]), max([0.0, *values])
    if high - low < _ROUNDING:
        low, high = 0.0, 1.0
    for step in _steps((high - low) / about):
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
        if last - first <= about:
            break
    ticks = tuple(round(index * step, 12) for index in range(first, last + 1))
    return Scale(ticks[0], ticks[-1], ticks)


def _steps(at_least: float) -> list[float]:
    """Round steps from the first that is not below `at_least` on."""
    power = 10.0 ** math.floor(math.log10(at_least))
    candidates = [mantissa * power * lift for lift in (1.0, 10.0) for mantissa in _MANTISSAS]
    return [step for step in candidates if step >= at_least * (1 - 1e-9)]


def tick_text(scale: Scale, value: float, hundredfold: bool, signed: bool = False) -> str:
    """The label of a tick with as many decimals as the steps of the scale need."""
    factor = 100.0 if hundredfold else 1.0
    step = factor * (scale.ticks[1] - scale.ticks[0])
    decimals = next((digits for digits in range(8) if abs(round(step, digits) - step) < 1e-9 * step), 8)
    shown = factor * value
    text = f"{abs(shown):.{decimals}f}"
    sign = "−" if shown < 0 else "+" if signed and shown > 0 else ""
    return sign + text
