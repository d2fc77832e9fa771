"""Effects computed the slow way, image by image, from the definitions: judges of the vectorised code."""

import itertools
import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm


def level_difference(first, second):
    """Mean of second - first over the cells where both are there; NaN without any."""
    pairs = [(a, b) for a, b in zip(first, second, strict=True) if not math.isnan(a) and not math.isnan(b)]
    return sum(b - a for a, b in pairs) / len(pairs) if pairs else math.nan


def slope(grid, levels):
    """Least squares of y on level and one indicator per cell, by numpy's solver."""
    rows = [(x, c, grid[i][c]) for i, x in enumerate(levels) for c in range(len(grid[0])) if not math.isnan(grid[i][c])]
    per_cell = {c: len({x for x, cell, _ in rows if cell == c}) for _, c, _ in rows}
    if not any(n >= 2 for n in per_cell.values()):
        return math.nan
    design = np.array([[x, *(float(c == cell) for cell in sorted(per_cell))] for x, c, _ in rows])
    return float(np.linalg.lstsq(design, np.array([y for *_, y in rows]), rcond=None)[0][0])


def sign_flip_p(d):
    """All 2^n signs, one by one."""
    observed = abs(sum(d))
    signs = list(itertools.product([-1, 1], repeat=len(d)))
    sums = [abs(sum(s * x for s, x in zip(flip, d, strict=True))) for flip in signs]
    return sum(value >= observed - 1e-9 for value in sums) / len(signs)


def tango_by_likelihood(b, c, n, confidence=0.95):
    """Tango's interval with the constrained likelihood maximised numerically, and the ends found by Brent's method."""
    z = norm.ppf((1 + confidence) / 2)

    def score(delta):
        # Cells: positive q + delta, negative q, the rest; the likelihood of (b, c, n - b - c) is maximised over q.
        low, high = max(0.0, -delta), (1 - delta) / 2

        def minus_log_likelihood(q):
            terms = [(b, q + delta), (c, q), (n - b - c, 1 - 2 * q - delta)]
            return -sum(k * math.log(max(p, 1e-300)) for k, p in terms if k > 0)

        q = minimize_scalar(minus_log_likelihood, bounds=(low, high), method="bounded", options={"xatol": 1e-13}).x
        return (b - c - n * delta) / math.sqrt(n * max(2 * q + delta - delta**2, 1e-300))

    estimate = (b - c) / n
    low = brentq(lambda delta: score(delta) - z, -1 + 1e-9, estimate - 1e-9)
    high = brentq(lambda delta: score(delta) + z, estimate + 1e-9, 1 - 1e-9)
    return low, high


def rates(values, levels, max_order):
    """(cell items) -> (mean, images, subjects) for every intersection up to `max_order`."""
    names = list(levels)
    table = {}
    for order in range(max_order + 1):
        for chosen in itertools.combinations(names, order):
            for cell in itertools.product(*(levels[name] for name in chosen)):
                wanted = dict(zip(chosen, cell, strict=True))
                kept = []
                for index in np.ndindex(values.shape):
                    setting = {name: levels[name][i] for name, i in zip(names, index[1:], strict=True)}
                    if all(setting[k] == v for k, v in wanted.items()) and not math.isnan(values[index]):
                        kept.append((index[0], values[index]))
                mean = sum(y for _, y in kept) / len(kept) if kept else math.nan
                table[tuple(wanted.items())] = mean, len(kept), len({s for s, _ in kept})
    return table


def holm(p):
    """Step by step: the i-th smallest of m is multiplied by m - i + 1, and never falls below the one before."""
    known = sorted((value, place) for place, value in enumerate(p) if not math.isnan(value))
    result, running = [math.nan] * len(p), 0.0
    for rank, (value, place) in enumerate(known):
        running = max(running, min(1.0, (len(known) - rank) * value))
        result[place] = running
    return result
