"""How many subjects does it take to show that there is no difference above a margin, where there is none?

Two one-sided tests at 5 % each have to reject. The power is that of the normal approximation, and of Tango's interval
over drawn tables where a subject has one pair of yes or no.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import ndtri

from transect.effects.intervals import paired_score_interval
from transect.effects.planning import CORRELATION, MOST_SUBJECTS, WEIGHTS, Plan, check, check_pilot, given_factor
from transect.errors import BadInput
from transect.runs.wording import counted

ONE_SIDED: Final = 0.05
"""Level of each of the two tests."""
_TABLES: Final = 4000
_STEP: Final = 1.05


def plan_equivalence(
    margin: float,
    base: float,
    *,
    power: float = 0.9,
    correlation: float = CORRELATION,
    cells: int = 1,
    targets: int = 1,
) -> Plan:
    """The smallest transect that shows a difference of two rates to be below a margin, where there is none."""
    check(margin, base, power, ONE_SIDED, 1, correlation, cells, targets)
    low, high, _ = given_factor((base, base), correlation)
    discordant = float(WEIGHTS @ (low * (1 - low) + high * (1 - high)))
    subjects = _equivalent(margin, math.sqrt(discordant / cells), power)
    if cells == 1:
        subjects = _with_tango(margin, discordant, power, subjects)
    group = _equivalent(margin, math.sqrt(2 * base * (1 - base)), power)
    shown = counted(cells, "cell")
    assumed = f"no difference; correlation {correlation:g} between a subject's answers, {shown} of a subject"
    images = 2 * cells * subjects
    return Plan(subjects, images, images * targets, power, margin, ONE_SIDED, 1, 2 * group, 2 * group, assumed)


def plan_equivalence_from_pilot(
    margin: float,
    deviation: float,
    *,
    images_per_subject: int,
    unpaired_deviation: float,
    power: float = 0.9,
    targets: int = 1,
    discordant: float | None = None,
) -> Plan:
    """As `plan_equivalence`, by the spread of a pilot's differences; the settings are those of `plan_from_pilot`."""
    check_pilot(margin, deviation, unpaired_deviation, power, ONE_SIDED, 1, targets)
    subjects = _equivalent(margin, deviation, power)
    if discordant is not None:
        subjects = _with_tango(margin, discordant, power, subjects)
    group = _equivalent(margin, math.sqrt(2) * unpaired_deviation, power)
    images = images_per_subject * subjects
    assumed = f"no difference; differences between subjects with the pilot's standard deviation, {deviation:.3g}"
    return Plan(subjects, images, images * targets, power, margin, ONE_SIDED, 1, 2 * group, 2 * group, assumed)


def _equivalent(margin: float, deviation: float, power: float) -> int:
    """Subjects whose 90 % interval lies inside the margin with this chance; where none differs, Tango's must too."""
    z = float(ndtri(1 - ONE_SIDED))
    spread = ((z + float(ndtri((1 + power) / 2))) * deviation / abs(margin)) ** 2
    n = math.ceil(max(spread, z**2 * (1 / abs(margin) - 1) if abs(margin) < 1 else 0.0, 2))
    return _affordable(n)


def _with_tango(margin: float, discordant: float, power: float, start: int) -> int:
    """The first number of subjects, in steps of 5 % from a start, with enough of the drawn tables inside the margin."""
    n = start
    while _share_inside(n, margin, discordant) < power:
        n = _affordable(math.ceil(_STEP * n))
    return n


def _share_inside(n: int, margin: float, discordant: float) -> float:
    share = min(discordant, 1.0)
    drawn = np.random.default_rng(0).multinomial(n, [share / 2, share / 2, 1 - share], _TABLES)
    low, high = paired_score_interval(drawn[:, 0], drawn[:, 1], n, confidence=1 - 2 * ONE_SIDED)
    return float(((low > -abs(margin)) & (high < abs(margin))).mean())


def _affordable(n: int) -> int:
    if n > MOST_SUBJECTS:
        raise BadInput(f"more than {MOST_SUBJECTS:,} subjects would be needed; plan for a larger margin")
    return n
