"""Is there a narrower interval of yes-or-no contrasts over many cells than the one that audits have?

python tests/statistical/narrower_averages.py    prints the table of docs/research/proving-ground.md, in two minutes
"""

import itertools

import numpy as np
from test_few_subjects_coverage import drawn

from transect.effects import intervals, mean_difference_interval

TABLES, FLIPS, WEIGHTS = 600, 499, 2000
SUBJECTS, CELLS = (10, 20, 30, 50, 149), (9, 24)
ANSWERS = ((0.02, 0.3), (0.1, 0.8), (0.3, 0.3))
"""Rate of yes, and how alike a subject's answers are."""
SHARES = (0.0, 0.01, 0.03, 0.1)
"""Of subjects that say yes to every image at the second level."""


def allowing(unseen):
    """The paired score interval with Student's quantile, for this much of a subject that was not drawn."""

    def interval(d, cells):
        usual, intervals.UNSEEN = intervals.UNSEEN, unseen
        made = mean_difference_interval(d, binary=True, pairs=np.full(d.shape[1], float(cells)))
        intervals.UNSEEN = usual
        return made.low, made.high

    return interval


def student(d, _):
    """Student's t on subjects' means, moved outwards by Hall's correction, as scores have it."""
    made = mean_difference_interval(d, binary=False)
    return made.low, made.high


def flipped(d, _):
    """Subjects' mean and the 95 % quantile of its Student's statistic under random signs of the residuals."""
    n, mean = len(d), d.mean(axis=0)
    sums = np.random.default_rng(0).choice([-1.0, 1.0], (FLIPS, n)) @ (d - mean) / n
    squares = ((d - mean) ** 2).mean(axis=0)
    statistic = np.abs(sums) / np.sqrt(np.maximum(squares - sums**2, 1e-30) / (n - 1))
    half = np.quantile(statistic, 0.95, axis=0) * d.std(axis=0, ddof=1) / np.sqrt(n)
    return np.where(half > 0, mean - half, np.nan), np.where(half > 0, mean + half, np.nan)


def gaffke(d, _):
    """Random weights of subjects and of one at the end of the range (Gaffke 2005): for any distribution within it."""
    weights = np.random.default_rng(0).dirichlet(np.ones(len(d) + 1), WEIGHTS)
    ends = [
        np.quantile(weights @ np.vstack([d, np.full(d.shape[1], e)]), q, axis=0) for e, q in ((-1, 0.025), (1, 0.975))
    ]
    return ends[0], ends[1]


METHODS = {
    "paired score, half a subject unseen (as audits have it)": allowing(0.5),
    "paired score, a quarter": allowing(0.25),
    "paired score, nothing unseen": allowing(0.0),
    "Student's t with Hall's correction": student,
    "studentised sign flips": flipped,
    "Gaffke's": gaffke,
}


def main():
    found = {name: [] for name in METHODS}
    rng = np.random.default_rng(0)
    for n, cells, (base, alike), share in itertools.product(SUBJECTS, CELLS, ANSWERS, SHARES):
        d, truth = drawn(rng, TABLES, n, cells, base, alike, share), share * (1 - base)
        for name, method in METHODS.items():
            low, high = method(d, cells)
            known = np.isfinite(low)
            held = ((low <= truth + 1e-12) & (truth - 1e-12 <= high))[known].mean()
            found[name].append((n, share, 100 * held, (high - low)[known].mean(), 100 - 100 * known.mean()))
    sizes = " | ".join(f"width, {n}" for n in SUBJECTS)
    print(
        f"| interval | nobody differs: covers % | few do: covers % | withheld % | {sizes} |\n|{' --- |' * (4 + len(SUBJECTS))}"
    )
    usual = np.array(found[next(iter(METHODS))])
    for name, rows in found.items():
        n, share, held, width, withheld = np.array(rows).T
        ranges = (f"{held[some].min():.1f} to {held[some].max():.1f}" for some in (share == 0, share > 0))
        ratios = (f"{width[n == one].mean() / usual[n == one, 3].mean():.2f}" for one in SUBJECTS)
        print(f"| {name} | {' | '.join(ranges)} | {withheld.mean():.1f} | {' | '.join(ratios)} |")


if __name__ == "__main__":
    main()
