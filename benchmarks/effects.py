"""How fast are the estimators, on one core, against SciPy and scikit-learn in the same run?

python benchmarks/effects.py

Prints one table. Exit 1 when 1,000 penalised logistic regressions of 5,335 images x 17 indicators are not 30 times as
fast as a loop over scikit-learn's. Seconds are processor time: a busy machine does not count.
"""

# ruff: noqa: E402 -- numpy reads the number of threads when it is imported

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
from _records import FASTER, QUICK, record
from scipy import stats
from sklearn.linear_model import LogisticRegression

from transect.effects import Measure, analyse_transects, sign_flip
from transect.effects.logistic import logistic_bootstrap
from transect.effects.resampling import resample_counts
from transect.records import Attribute, Design

SUBJECTS, CELLS = (100, 25) if QUICK else (1000, 25)
IMAGES, LEVELS, FITS = 5335, (2, 2, 2, 2, 2, 3, 4), 20 if QUICK else 1000
"""As Balakrishnan et al. 2020: 17 indicators of seven attributes, 1,000 resamples."""
TIMES_FASTER = 30
LOOPED = 2 if QUICK else 100
"""Fits of the scikit-learn loop that are timed; the others would take as long."""


def best_of(times, function):
    """Shortest processor time in seconds, and the result."""
    best, result = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


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
    return analyse_transects(y, np.full(y.shape, "", dtype=object), design, attributes, Measure("t", "answer"))


def audited(indicators):
    """Errors of some 5 % of the images, and 17 columns: indicators as published, or as many numbers."""
    rng = np.random.default_rng(0)
    if indicators:
        x = np.hstack([np.eye(k)[rng.choice(k, IMAGES, p=rng.dirichlet(np.full(k, 5.0)))] for k in LEVELS])
    else:
        x = rng.normal(size=(IMAGES, sum(LEVELS)))
    eta = -3 + x @ rng.normal(0, 0.5, x.shape[1])
    return (rng.random(IMAGES) < 1 / (1 + np.exp(-eta))).astype(np.float64), x


def scikit_learn_loop(y, x):
    """Resamples of images, each fitted at scikit-learn's default settings."""
    rng = np.random.default_rng(0)
    for _ in range(LOOPED):
        drawn = rng.integers(0, len(y), len(y))
        LogisticRegression().fit(x[drawn], y[drawn])


def farthest(y, x, made):
    """Largest difference from scikit-learn's exact solver on a few of the same resamples."""
    judge = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
    counts = next(resample_counts(len(y), FITS, 0))[:5]
    fits = [judge.fit(x, y, sample_weight=weights).coef_[0].copy() for weights in counts]
    return np.abs(np.array(fits) - made.replicates[:5, :-1]).max()


def logistic_row(indicators):
    """One row of the table, and how many times faster than the loop."""
    y, x = audited(indicators)
    ours, made = best_of(3, lambda: logistic_bootstrap(y, x, resamples=FITS))
    theirs = best_of(1, lambda: scikit_learn_loop(y, x))[0] * FITS / LOOPED
    what = f"penalised logit, {FITS:,} x {IMAGES:,} images x {sum(LEVELS)} {'indicators' if indicators else 'numbers'}"
    agreement = f"coefficients {farthest(y, x, made):.0e} from newton-cholesky"
    return (what, ours, f"scikit-learn loop, {LOOPED} fits timed", theirs, agreement), theirs / ours


def main():
    """Runs and prints; returns the exit code."""
    rng = np.random.default_rng(0)
    values = rng.normal(rng.normal(size=(SUBJECTS, 1)), 1, size=(SUBJECTS, CELLS))
    few, many = rng.choice([-1.0, 0.0, 1.0], (16, 1)), rng.choice([-1.0, 0.0, 1.0], (SUBJECTS, 1), p=[0.1, 0.75, 0.15])
    rows = []
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
    indicators, faster = logistic_row(indicators=True)
    rows += [indicators, logistic_row(indicators=False)[0]]
    print("| what | seconds | peer | seconds | ratio | agreement |\n| --- | --- | --- | --- | --- | --- |")
    for what, fast, peer, slow, agreement in rows:
        print(f"| {what} | {fast:.5f} | {peer} | {slow:.3f} | {slow / fast:.0f} x | {agreement} |")
        record(what, peer, slow / fast, FASTER, 3)
    print(f"| a whole 5 x 5 analysis of {SUBJECTS:,} subjects | {whole:.3f} | | | | |")
    return int(not QUICK and faster < TIMES_FASTER)


if __name__ == "__main__":
    sys.exit(main())
