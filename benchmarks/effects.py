"""How fast are the estimators, on one core, against SciPy in the same run?

python benchmarks/effects.py

Prints one table; exit 1 when 2,000 resamples of 1,000 subjects x 25 cells take a second or more.
"""

# ruff: noqa: E402 -- numpy reads the number of threads when it is imported

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
from scipy import stats

from transect.effects import analyse_transects, bca, sign_flip
from transect.records import Attribute, Design

SUBJECTS, CELLS, RESAMPLES = 1000, 25, 2000
SECONDS_ALLOWED = 1.0


def best_of(times, function):
    """Shortest wall time in seconds, and the result."""
    best, result = float("inf"), None
    for _ in range(times):
        start = time.perf_counter()
        result = function()
        best = min(best, time.perf_counter() - start)
    return best, result


def scipy_bootstrap(values):
    """Low and high [2, cells] of SciPy's BCa interval, one cell after the other."""
    rng = np.random.default_rng(0)
    made = [
        stats.bootstrap((column,), np.mean, n_resamples=RESAMPLES, method="BCa", rng=rng).confidence_interval
        for column in values.T
    ]
    return np.array(made).T


def scipy_sign_flip(d, resamples):
    """SciPy's paired permutation test of a sum; exact where resamples is infinite."""
    rng = np.random.default_rng(0)
    return stats.permutation_test((d,), np.sum, permutation_type="samples", n_resamples=resamples, rng=rng).pvalue


def analysis(values):
    """Contrasts, slopes, tests and rates of a 5 x 5 design."""
    levels = (1.0, 2.0, 3.0, 4.0, 5.0)
    attributes = {name: Attribute(name, "continuous", name, low=1, high=5) for name in ("a", "b")}
    design = Design({"a": levels, "b": levels}, subjects=SUBJECTS)
    y = (values > 0.5).reshape(SUBJECTS, 5, 5).astype(np.float64)
    return analyse_transects(
        y, np.full(y.shape, "", dtype=object), design, attributes, target="t", outcome="answer", resamples=RESAMPLES
    )


def main():
    """Runs and prints; returns the exit code."""
    rng = np.random.default_rng(0)
    values = rng.normal(rng.normal(size=(SUBJECTS, 1)), 1, size=(SUBJECTS, CELLS))
    few, many = rng.choice([-1.0, 0.0, 1.0], (16, 1)), rng.choice([-1.0, 0.0, 1.0], (SUBJECTS, 1), p=[0.1, 0.75, 0.15])
    ours, interval = best_of(3, lambda: np.array(bca(values, resamples=RESAMPLES)))
    theirs, judge = best_of(1, lambda: scipy_bootstrap(values))
    size = f"{RESAMPLES:,} resamples x {SUBJECTS:,} subjects x {CELLS} cells"
    apart = (np.abs(interval - judge) / (judge[1] - judge[0])).mean()
    rows = [
        (
            f"BCa bootstrap, {size}",
            ours,
            "scipy.stats.bootstrap",
            theirs,
            f"ends {apart:.1%} of a width apart on average",
        )
    ]
    for d, resamples, name in ((few, np.inf, "exact, 16 subjects"), (many, 9999, "9,999 flips, 1,000 subjects")):
        fast, (p, methods) = best_of(3, lambda d=d: sign_flip(d))
        slow, judge_p = best_of(1, lambda d=d, resamples=resamples: scipy_sign_flip(d[:, 0], resamples))
        rows.append(
            (
                f"sign flip, {methods[0].split()[0]}",
                fast,
                f"permutation_test, {name}",
                slow,
                f"p {p[0]:.4f}, {judge_p:.4f}",
            )
        )
    whole, _ = best_of(1, lambda: analysis(values))
    print("| what | seconds | peer | seconds | ratio | agreement |\n| --- | --- | --- | --- | --- | --- |")
    for what, fast, peer, slow, agreement in rows:
        print(f"| {what} | {fast:.5f} | {peer} | {slow:.3f} | {slow / fast:.0f} x | {agreement} |")
    print(f"| a whole 5 x 5 analysis of {SUBJECTS:,} subjects | {whole:.3f} | | | | |")
    return int(ours >= SECONDS_ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
