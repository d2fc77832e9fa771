"""How many subjects does an effect need? Power of the tests that are used, plans from pilots, plans for equivalence."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaincinv, chdtri, ndtr, ndtri, stdtrit

from transect.effects.intervals import paired_score_interval
from transect.errors import BadInput
from transect.runs.wording import counted

CERTAINTY: Final = 0.8


def upper_deviation(differences: Float[np.ndarray, " n"]) -> float:
    """The upper limit of the standard deviation of subjects' differences; 0 where they do not vary."""
    n = len(differences)
    if n < 2:
        raise ValueError(f"expected at least two differences, got {n}")
    variance = float(np.var(differences, ddof=1))
    if variance == 0:
        return 0.0
    centered = differences - differences.mean()
    kurtosis = float(np.mean(centered**4) / np.mean(centered**2) ** 2)
    freedom = min(2 * n / max(kurtosis - 3 + 2 * n / (n - 1), 1e-9), n - 1.0)
    return float(np.sqrt(variance * freedom / chdtri(freedom, CERTAINTY)))


def upper_share(count: int, n: int) -> float:
    """The exact upper limit of the share of pairs that differ, of which `count` of n do. Clopper and Pearson 1934."""
    return 1.0 if count >= n else float(betaincinv(count + 1, n - count, CERTAINTY))


TABLES: Final = 2000
LARGEST_SUM: Final = 1500
"""Largest sum of differences, in steps of one cell, up to which the flips' distribution is computed exactly."""
MOST_SIMULATED: Final = 1000
"""Subjects up to which tables are simulated; beyond, the normal approximation of the sum is as good."""
MOST_FLIPPED: Final = 13
"""Subjects up to which all flips of many-valued differences are tried; beyond, Student's test has the same power."""
_AT_ONCE: Final = 250
_TIE: Final = 1e-9


def averaged_power(
    n: int, rates: tuple[float, float], correlation: float, cells: int, alpha: float, tables: int = TABLES
) -> float:
    """The chance that n subjects' differences of two averages over `cells` answers have p <= alpha."""
    if 2.0 ** (1 - n) > alpha:
        return 0.0
    random, noise = np.random.default_rng(0), math.sqrt(1 - correlation)
    factor = random.standard_normal((n, tables)) * math.sqrt(correlation)
    chance = ndtr((ndtri(np.array(rates))[:, None] - factor[:, None]) / noise)
    yes = np.random.default_rng(1).binomial(cells, chance)
    steps = (yes[:, 1] - yes[:, 0]).T
    exact = n * cells <= LARGEST_SUM
    p = [_exact(part, cells) if exact else _normal(part) for part in np.split(steps, tables // _AT_ONCE)]
    return float((np.concatenate(p) <= alpha + _TIE).mean())


def _exact(steps: Int[np.ndarray, "t n"], cells: int) -> Float[np.ndarray, " t"]:
    """Two-sided p by the characteristic function of the flipped sums, the product of cos(|step| θ)."""
    width = 2 * steps.shape[1] * cells + 1  # odd, so that no cosine is 0
    angles = 2 * np.pi * np.arange(width // 2 + 1) / width
    cosines = np.cos(np.arange(1, cells + 1)[:, None] * angles)
    times = np.stack([(np.abs(steps) == size).sum(axis=1) for size in range(1, cells + 1)], axis=1)
    size = np.exp(times @ np.log(np.abs(cosines)))
    sign = 1 - 2 * ((times @ (cosines < 0)) % 2)
    chances = np.fft.irfft(sign * size, width, axis=1)[:, : width // 2 + 1]  # of the sums 0, 1, …
    beyond = np.cumsum(chances[:, ::-1], axis=1)[:, ::-1]
    observed = np.abs(steps.sum(axis=1))
    return np.where(observed == 0, 1.0, 2 * beyond[np.arange(len(steps)), observed])


def _normal(steps: Int[np.ndarray, "t n"]) -> Float[np.ndarray, " t"]:
    """Two-sided p by the normal distribution of the flipped sums, which are two steps apart (continuity correction)."""
    spread = np.sqrt((steps.astype(np.float64) ** 2).sum(axis=1))
    nearest = np.maximum(np.abs(steps.sum(axis=1)) - 1, 0)
    return np.asarray(2 * ndtr(-nearest / np.maximum(spread, _TIE)))


def mean_power(shift: float, n: int, alpha: float) -> float:
    """The chance that n normal differences have p <= alpha; shift: their mean in standard deviations."""
    from scipy.stats import nct

    if 2.0 ** (1 - n) > alpha:
        return 0.0
    if n <= MOST_FLIPPED:
        low, high = _critical_shifts(n, int((alpha + _TIE) * 2 ** (n - 1)))
        return float(((shift < low) | (shift > high)).mean())
    limit, center = float(stdtrit(n - 1, 1 - alpha / 2)), shift * math.sqrt(n)
    return float(nct.sf(limit, n - 1, center) + nct.cdf(-limit, n - 1, center))


@cache
def _critical_shifts(n: int, allowed: int) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """For each table of n normal differences, the shifts below and above which the test rejects."""
    signs = _signs(n)[:, 1:]  # without the observed one, which is always as large
    totals = signs.sum(axis=0)
    tables = np.random.default_rng(2).standard_normal((MOST_FLIPPED, TABLES))[:n].T
    low, high = np.empty(TABLES), np.empty(TABLES)
    for start in range(0, TABLES, _AT_ONCE):
        rows = slice(start, start + _AT_ONCE)
        flipped, observed = tables[rows] @ signs, tables[rows].sum(axis=1)[:, None]
        same, opposite = (flipped - observed) / (n - totals), (-flipped - observed) / (n + totals)
        low[rows] = np.partition(np.minimum(same, opposite), allowed - 1, axis=1)[:, allowed - 1]
        high[rows] = np.partition(np.maximum(same, opposite), -allowed, axis=1)[:, -allowed]
    return low, high


@cache
def _signs(n: int) -> Float[np.ndarray, "n s"]:
    """All signs of n differences of which the first is positive: the others have the opposite sums."""
    return np.array([(1.0, *others) for others in itertools.product((1.0, -1.0), repeat=n - 1)]).T


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
    subjects at each level would take for the same power; images_saved: against these, negative where it costs more.
    power: of the test at the level alpha / family. contrast: of a pilot, that needs the most; margin: of a plan to show
    that no difference is larger.
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


def _apart(group: int, images: int) -> tuple[int, int, int]:
    """What two groups of different subjects take: subjects, images, and those that a transect of some images saves."""
    return 2 * group, 2 * group, 2 * group - images


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
    (679, 1358, 1914)
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
        subjects, images, images * targets, reached(subjects), effect, alpha, family, *_apart(group, images), assumed
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
    base: float | None = None,
    cells: int = 1,
) -> Plan:
    """The smallest transect by the spread of a pilot's differences between subjects, whatever the outcome's unit.

    deviation: standard deviation of the subjects' differences; unpaired_deviation: of single images' outcomes at one
    level. images_per_subject: of the whole design. discordant: where a difference is that of one pair of yes-or-no
    outcomes, the share of subjects whose pair differs; the power is then that of McNemar's mid-p test, which keeps
    below its level and so needs more subjects than Student's. base, cells: where differences are of averages over
    several yes-or-no answers, the rate at the first level and the number of answers; the power is then that of the
    sign-flip test of such averages, which have the stated deviation. Else it is Student's. The pilot's own estimate is
    not used: it says little and flatters.

    Raises BadInput for values out of range.

    >>> plan_from_pilot(0.05, 0.4, images_per_subject=2, unpaired_deviation=0.3).subjects
    673
    """
    check_pilot(effect, deviation, unpaired_deviation, power, alpha, family, targets)
    _check_discordant(effect, discordant)
    level = alpha / family

    averaged = None if base is None else _power_of_averages(abs(effect), base, deviation, cells, level)

    def reached(n: int) -> float:
        return averaged(n) if averaged else _difference_power(effect, deviation, n, level, discordant)

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
        subjects, images, images * targets, reached(subjects), effect, alpha, family, *_apart(group, images), assumed
    )


def paired_power(
    n: int, rates: tuple[float, float], *, alpha: float = 0.05, correlation: float = CORRELATION, cells: int = 1
) -> float:
    """The chance that the sign-flip test of n subjects' differences of two rates has p <= alpha."""
    low, high, _ = given_factor(rates, correlation)
    if cells == 1 and n <= LARGEST_EXACT:
        return _mcnemar_power(n, float(WEIGHTS @ (high * (1 - low))), float(WEIGHTS @ (low * (1 - high))), alpha)
    if cells > 1 and n <= MOST_SIMULATED:
        return averaged_power(n, rates, correlation, cells, alpha)
    return _approximate_power(n, rates, alpha=alpha, correlation=correlation, cells=cells)


def _approximate_power(n: int, rates: tuple[float, float], *, alpha: float, correlation: float, cells: int) -> float:
    """`paired_power` by the normal approximation of sums."""
    low, high, conditional = given_factor(rates, correlation)
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
    """Summed over the number of discordant pairs, and over the splits that McNemar's mid-p rejects."""
    from scipy.stats import binom

    discordant = up + down
    if discordant <= 0:
        return 0.0
    d = np.arange(1, n + 1)
    limit = binom.ppf(alpha / 2, d, 0.5) - 1  # most of the rarer kind that is still surely rejected
    mid = (binom.cdf(limit, d, 0.5) + binom.cdf(limit + 1, d, 0.5)) / 2
    limit = np.where(mid <= alpha / 2, limit + 1, limit)
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
    return mean_power(shift, n, alpha)


def _power_of_averages(
    effect: float, base: float, deviation: float, cells: int, alpha: float
) -> Callable[[int], float]:
    """By the number of subjects: `paired_power` with the correlation that the deviation tells, few ones simulated."""
    base = min(base, 1 - base)
    rates = base, min(base + effect, 1 - 1e-6)
    correlation, cells = _explained(max(base, 1e-3), deviation, cells)

    def power(n: int) -> float:
        if n <= _SIMULATED and cells > 1:
            return averaged_power(n, rates, correlation, cells, alpha, _FEWER_TABLES)
        return _approximate_power(n, rates, alpha=alpha, correlation=correlation, cells=cells)

    return power


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
        raise BadInput(f"power: expected at least alpha, {alpha:g}, got {power:g}; 0.8 and 0.9 are usual")
    for name, count in (("family", family), ("targets", targets)):
        if count < 1:
            raise BadInput(f"{name}: expected at least 1, got {count}; count the tests, or the models, of the audit")


def detectable(
    deviation: float, n: int, *, power: float = 0.9, alpha: float = 0.05, discordant: float | None = None
) -> float:
    """The smallest mean difference that the sign-flip test of n subjects' differences finds with this power."""
    most = 1e6 * deviation if discordant is None else 2.0
    return _least_effect(lambda effect: _difference_power(effect, deviation, n, alpha, discordant) >= power, most)


def _least_effect(found: Callable[[float], bool], most: float, halvings: int = 60) -> float:
    """The smallest effect that is found, by bisection; infinite where none up to the most is."""
    low, high = 0.0, most
    if not found(high):
        return math.inf
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if found(middle) else (middle, high)
    return high


def detectable_rate(
    n: int, base: float, deviation: float, cells: int, *, power: float = 0.9, alpha: float = 0.05
) -> float:
    """The smallest difference of two rates that the sign-flip test of n subjects' averages over cells finds.

    base: the rate at the first level. deviation: of subjects' differences, which a correlation within subjects
    explains. The power is that of the exact test (`paired_power`); infinite where no difference reaches it.
    """
    base = float(np.clip(min(base, 1 - base), 0.5 / (n * cells), 0.5))
    correlation, cells = _explained(base, deviation, cells)
    most = 1 - base - 1e-6

    def nearly(effect: float) -> bool:
        rates = base, base + effect
        return _approximate_power(n, rates, alpha=alpha, correlation=correlation, cells=cells) >= power

    near = _least_effect(nearly, most)
    if cells > 1 and n > _SIMULATED:
        return near

    def found(effect: float) -> bool:
        rates = base, base + effect
        if cells == 1:
            return paired_power(n, rates, alpha=alpha, correlation=correlation) >= power
        return averaged_power(n, rates, correlation, cells, alpha, _FEWER_TABLES) >= power

    effect = _least_effect(found, min(near, most), _HALVINGS)  # the approximation asks for too much of few subjects
    return effect if math.isfinite(effect) else _least_effect(found, most, _HALVINGS)


def _explained(base: float, deviation: float, cells: int) -> tuple[float, int]:
    """The correlation, and the cells where even independent answers scatter less, that give such differences."""

    def scatter(correlation: float, cells: int) -> float:
        rate = given_factor((base, base), correlation)[0]
        return math.sqrt(2 * float(WEIGHTS @ (rate * (1 - rate))) / cells)

    while cells > 1 and scatter(0.0, cells) < deviation:
        cells -= 1
    least = _least_effect(lambda correlation: scatter(correlation, cells) <= deviation, 0.99)
    return min(least, 0.99), cells


ONE_SIDED: Final = 0.05
"""Level of each of the two tests."""
_TABLES: Final = 4000
_HALVINGS: Final = 6
"""Of the effect by simulated power, to two hundredths of it."""
_FEWER_TABLES: Final = 500
_SIMULATED: Final = 60
"""Subjects up to which the smallest effect that is found is simulated."""
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
        # The first number of subjects, in steps of 5 % from a start, with enough of the drawn tables inside the margin.
        n = subjects
        while _share_inside(n, margin, discordant) < power:
            n = _affordable(math.ceil(_STEP * n))
        subjects = n
    group = _equivalent(margin, math.sqrt(2 * base * (1 - base)), power)
    shown = counted(cells, "cell")
    assumed = f"no difference; correlation {correlation:g} between a subject's answers, {shown} of a subject"
    images = 2 * cells * subjects
    return Plan(subjects, images, images * targets, power, margin, ONE_SIDED, 1, *_apart(group, images), assumed)


def _equivalent(margin: float, deviation: float, power: float) -> int:
    """Subjects whose 90 % interval lies inside the margin with this chance; where none differs, Tango's must too."""
    z = float(ndtri(1 - ONE_SIDED))
    spread = ((z + float(ndtri((1 + power) / 2))) * deviation / abs(margin)) ** 2
    n = math.ceil(max(spread, z**2 * (1 / abs(margin) - 1) if abs(margin) < 1 else 0.0, 2))
    return _affordable(n)


def _share_inside(n: int, margin: float, discordant: float) -> float:
    share = min(discordant, 1.0)
    drawn = np.random.default_rng(0).multinomial(n, [share / 2, share / 2, 1 - share], _TABLES)
    low, high = paired_score_interval(drawn[:, 0], drawn[:, 1], n, confidence=1 - 2 * ONE_SIDED)
    return float(((low > -abs(margin)) & (high < abs(margin))).mean())


def _affordable(n: int) -> int:
    if n > MOST_SUBJECTS:
        raise BadInput(f"more than {MOST_SUBJECTS:,} subjects would be needed; plan for a larger margin")
    return n
