"""How many subjects does an effect need? The power of the tests of an audit, and the smallest design that has it.

A pair of images of one subject is tested by McNemar's exact test (which the sign-flip test is), whose power is summed
over all tables. The power of averages over several cells, and of many-valued differences of few subjects, is that of
simulated tables; with more subjects it is that of Student's test or of the normal approximation. The power of two
groups of different subjects is that of Fisher's exact test, approximately (Casagrande, Pike and Smith). The images of
one subject are correlated: answers are yes where a normal factor that they share, plus noise, is below a limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from transect.effects import flip_power
from transect.errors import BadInput

SOURCES: Final = (
    "McNemar 1947, Note on the sampling error of the difference between correlated proportions, doi:10.1007/BF02295996",
    "Casagrande, Pike and Smith 1978, An improved approximate formula for calculating sample sizes for comparing two "
    "binomial distributions, doi:10.2307/2530613",
)
MOST_SUBJECTS: Final = 10_000_000
LARGEST_EXACT: Final = 4000
"""Subjects up to which the power of McNemar's test is summed over its tables; beyond, the normal approximation."""
CORRELATION: Final = 0.5
"""Correlation of the factor behind a subject's answers where no pilot says better."""
_NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(64)
WEIGHTS = WEIGHTS / WEIGHTS.sum()


@final
@dataclass(frozen=True, slots=True)
class Plan:
    """What a design costs, and the power that it has.

    subjects: of the transect, each at two levels (times cells); images, calls: in all. unpaired_images: what different
    subjects at each level would take for the same power. power: of the test at the level alpha / family.
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
    assumed: str

    @property
    def images_saved(self) -> int:
        """Images that the transect saves against different subjects at each level; negative where it costs more."""
        return self.unpaired_images - self.images


def plan(
    effect: float,
    base: float,
    *,
    power: float = 0.9,
    alpha: float = 0.05,
    family: int = 1,
    correlation: float = CORRELATION,
    cells: int = 1,
    targets: int = 1,
) -> Plan:
    """The smallest transect that finds a difference of two rates, and what independent subjects would need.

    effect: the smallest difference worth finding, rate at the second level minus `base`, the rate at the first. power:
    the chance to find it. family: tests that share alpha (Holm's first step, alpha / family: cautious). correlation: of
    the factor behind a subject's answers, from 0 (a transect saves nothing) to below 1. cells: combinations of the
    other attributes at which each subject is seen at both levels. targets: how many targets see each image.

    Raises BadInput for values out of range, or where more than ten million subjects would be needed.

    >>> result = plan(0.05, 0.1, power=0.9)
    >>> result.subjects, result.images, result.unpaired_images
    (715, 1430, 1914)
    """
    check(effect, base, power, alpha, family, correlation, cells, targets)
    rates = base, base + effect
    level = alpha / family

    def reached(n: int) -> float:
        return paired_power(n, rates, alpha=level, correlation=correlation, cells=cells)

    subjects = smallest(reached, power)
    group = smallest(lambda n: unpaired_power(n, rates, alpha=level), power)
    images = 2 * cells * subjects
    assumed = f"correlation {correlation:g} between a subject's answers, {cells} cell{'s' * (cells > 1)} of a subject"
    return Plan(
        subjects, images, images * targets, reached(subjects), effect, alpha, family, 2 * group, 2 * group, assumed
    )


def plan_from_pilot(
    effect: float,
    deviation: float,
    *,
    images_per_subject: int,
    unpaired_deviation: float,
    power: float = 0.9,
    alpha: float = 0.05,
    family: int = 1,
    targets: int = 1,
    discordant: float | None = None,
) -> Plan:
    """The smallest transect by the spread of a pilot's differences between subjects, whatever the outcome's unit.

    deviation: standard deviation of the subjects' differences; unpaired_deviation: of single images' outcomes at one
    level. images_per_subject: of the whole design. discordant: where a difference is that of one pair of yes-or-no
    outcomes, the share of subjects whose pair differs; the power is then that of McNemar's exact test, which keeps
    below its level and so needs more subjects than Student's. The pilot's own estimate is not used: it says little and
    flatters.

    Raises BadInput for values out of range.

    >>> plan_from_pilot(0.05, 0.4, images_per_subject=2, unpaired_deviation=0.3).subjects
    673
    """
    check_pilot(effect, deviation, unpaired_deviation, power, alpha, family, targets)
    _check_discordant(effect, discordant)
    level = alpha / family

    def reached(n: int) -> float:
        return _difference_power(effect, deviation, n, level, discordant)

    subjects = max(2, smallest(reached, power))
    ratio = abs(effect) / unpaired_deviation if unpaired_deviation > 0 else math.inf
    group = smallest(lambda n: normal_power(ratio * math.sqrt(n / 2), level), power)
    images = images_per_subject * subjects
    assumed = (
        f"differences between subjects with the pilot's standard deviation, {deviation:.3g}"
        if discordant is None
        else f"pairs that differ in a share of {max(discordant, abs(effect)):.3g} of the subjects, as in the pilot"
    )
    return Plan(
        subjects, images, images * targets, reached(subjects), effect, alpha, family, 2 * group, 2 * group, assumed
    )


def paired_power(
    n: int, rates: tuple[float, float], *, alpha: float = 0.05, correlation: float = CORRELATION, cells: int = 1
) -> float:
    """The chance that the sign-flip test of n subjects' differences of two rates has p <= alpha."""
    low, high, conditional = given_factor(rates, correlation)
    if cells == 1 and n <= LARGEST_EXACT:
        return _mcnemar_power(n, float(WEIGHTS @ (high * (1 - low))), float(WEIGHTS @ (low * (1 - high))), alpha)
    if cells > 1 and n <= flip_power.MOST_SUBJECTS:
        return flip_power.averaged_power(n, rates, correlation, cells, alpha)
    mean = rates[1] - rates[0]
    within = float(WEIGHTS @ (low * (1 - low) + high * (1 - high))) / cells
    square = float(WEIGHTS @ conditional**2) + within  # mean square of a subject's difference: what flips keep
    variance = square - mean**2
    return _flip_power(mean, variance, square, n, alpha)


def unpaired_power(n: int, rates: tuple[float, float], *, alpha: float = 0.05) -> float:
    """The chance that Fisher's exact test of two groups of n subjects has p <= alpha, approximately."""
    difference, mean = abs(rates[1] - rates[0]), (rates[0] + rates[1]) / 2
    spread = rates[0] * (1 - rates[0]) + rates[1] * (1 - rates[1])
    if difference == 0:
        return alpha
    # The n0 without correction that becomes n with it, n = n0 / 4 (1 + sqrt(1 + 4 / (n0 d)))².
    plain = max(n - 1 / difference, 0.0) ** 2 / n
    z = (difference * math.sqrt(plain) + ndtri(alpha / 2) * math.sqrt(2 * mean * (1 - mean))) / math.sqrt(
        spread or 1e-300
    )
    return float(ndtr(z))


def normal_power(shift: float, alpha: float) -> float:
    """The chance that a normal variable of mean `shift` and variance 1 is beyond the two-sided limits of alpha."""
    limit = ndtri(alpha / 2)
    return float(ndtr(shift + limit) + ndtr(-shift + limit))


def smallest(reached: Callable[[int], float], power: float) -> int:
    """The smallest n whose power is enough, and stays so over the next two hundredths (exact tests see-saw)."""
    high = 2
    while reached(high) < power:
        high *= 2
        if high > MOST_SUBJECTS:
            raise BadInput(f"more than {MOST_SUBJECTS:,} subjects would be needed; plan for a larger effect")
    low = max(high // 2, 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    last = high + max(1, high // 50)
    below = [n for n in range(high, last + 1) if reached(n) < power]
    return (below[-1] + 1) if below else high


def given_factor(
    rates: tuple[float, float], correlation: float
) -> tuple[Float[np.ndarray, " q"], Float[np.ndarray, " q"], Float[np.ndarray, " q"]]:
    """Both rates, and their difference, at each node of the shared factor; the nodes' weights sum to 1."""
    noise = math.sqrt(1 - correlation)
    low, high = (ndtr((ndtri(rate) - math.sqrt(correlation) * _NODES) / noise) for rate in rates)
    return low, high, high - low


def _mcnemar_power(n: int, up: float, down: float, alpha: float) -> float:
    """Summed over the number of discordant pairs, and over the splits that the exact test rejects."""
    from scipy.stats import binom

    discordant = up + down
    if discordant <= 0:
        return 0.0
    d = np.arange(1, n + 1)
    limit = binom.ppf(alpha / 2, d, 0.5) - 1  # most of the rarer kind that is still surely rejected
    limit = np.where(binom.cdf(limit + 1, d, 0.5) <= alpha / 2, limit + 1, limit)
    share = up / discordant
    rejected = binom.cdf(limit, d, share) + binom.cdf(limit, d, 1 - share)
    return float(binom.pmf(d, n, discordant) @ np.where(limit >= 0, rejected, 0.0))


def _flip_power(mean: float, variance: float, square: float, n: int, alpha: float) -> float:
    """Normal approximation: the sum has its own variance, the flipped sums that of the mean square."""
    if 2.0 ** (1 - n) > alpha:  # the smallest p-value of all flips of n differences
        return 0.0
    limit, spread = -ndtri(alpha / 2) * math.sqrt(square), math.sqrt(max(variance, 1e-300))
    shift = abs(mean) * math.sqrt(n)
    return float(ndtr((shift - limit) / spread) + ndtr((-shift - limit) / spread))


_MANY: Final = 200
_FAR: Final = 8.0


def _mean_power(effect: float, deviation: float, n: int, alpha: float) -> float:
    """Power of the sign-flip test of many-valued differences, which Student's comes near to."""
    shift = abs(effect) / max(deviation, 1e-300)
    if 2.0 ** (1 - n) <= alpha and (n > _MANY or shift * math.sqrt(n) > _FAR):
        return normal_power(shift * math.sqrt(n), alpha)  # SciPy's noncentral t may fail there
    return flip_power.mean_power(shift, n, alpha)


def _difference_power(effect: float, deviation: float, n: int, alpha: float, discordant: float | None) -> float:
    """McNemar's power where a difference is that of one pair, exact up to 4,000 subjects; else Student's."""
    if discordant is None or n > LARGEST_EXACT:
        return _mean_power(effect, deviation, n, alpha)
    gap = min(abs(effect), 1.0)
    share = max(discordant, gap)
    return _mcnemar_power(n, (share + gap) / 2, (share - gap) / 2, alpha)


def check(
    effect: float, base: float, power: float, alpha: float, family: int, correlation: float, cells: int, targets: int
) -> None:
    """Raises BadInput for a setting of a plan from rates that is out of range."""
    _check_test(power, alpha, family, targets)
    if not 0 <= base <= 1:
        raise BadInput(f"base: expected a rate from 0 to 1, got {base:g}; give the rate at the first level")
    if not (math.isfinite(effect) and effect != 0 and 0 <= base + effect <= 1):
        raise BadInput(
            f"effect: expected a difference other than 0 that keeps {base:g} + effect within 0 and 1, got {effect:g}; "
            "give the smallest difference worth finding"
        )
    if not 0 <= correlation < 1:
        raise BadInput(f"correlation: expected a number from 0 to below 1, got {correlation:g}; see a pilot")
    if cells < 1:
        raise BadInput(f"cells: expected at least 1, got {cells}; count the combinations of the other attributes")


def check_pilot(
    effect: float, deviation: float, unpaired: float, power: float, alpha: float, family: int, targets: int
) -> None:
    """Raises BadInput for a setting of a plan from a pilot that is out of range."""
    _check_test(power, alpha, family, targets)
    if not (math.isfinite(effect) and effect != 0):
        raise BadInput(f"effect: expected a difference other than 0, got {effect:g}; give the smallest worth finding")
    if not (math.isfinite(deviation) and deviation > 0 and math.isfinite(unpaired) and unpaired >= 0):
        raise BadInput(f"expected a positive standard deviation of differences, got {deviation:g}; run a larger pilot")


def _check_discordant(effect: float, discordant: float | None) -> None:
    if discordant is None:
        return
    if not 0 <= discordant <= 1:
        raise BadInput(f"discordant: expected a share from 0 to 1, got {discordant:g}; count the pairs that differ")
    if abs(effect) > 1:
        raise BadInput(f"effect: expected a difference of rates, within -1 and 1, got {effect:g}; give a proportion")


def _check_test(power: float, alpha: float, family: int, targets: int) -> None:
    for name, value, usual in (("power", power, "0.8 or 0.9"), ("alpha", alpha, "0.05")):
        if not 0 < value < 1:
            raise BadInput(f"{name}: expected a number between 0 and 1, got {value:g}; usual: {name} = {usual}")
    if power < alpha:
        raise BadInput(f"power: expected at least alpha, {alpha:g}, got {power:g}; usual are 0.8 and 0.9")
    for name, count in (("family", family), ("targets", targets)):
        if count < 1:
            raise BadInput(f"{name}: expected at least 1, got {count}; count the tests, or the models, of the audit")


def detectable(
    deviation: float, n: int, *, power: float = 0.9, alpha: float = 0.05, discordant: float | None = None
) -> float:
    """The smallest mean difference that the sign-flip test of n subjects' differences finds with this power."""
    low, high = 0.0, deviation

    def reached(effect: float) -> float:
        return _difference_power(effect, deviation, n, alpha, discordant)

    while reached(high) < power:
        high *= 2
        if high > (1e6 * deviation if discordant is None else 2.0):
            return math.inf
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if reached(middle) >= power else (middle, high)
    return high
