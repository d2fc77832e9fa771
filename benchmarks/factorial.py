"""How fast are the shares of variance of a full factorial, on one core, against SALib in the same run?

python benchmarks/factorial.py

Prints one table; exit 1 when a 5-attribute factorial with 500 resamples takes five seconds or more.
"""

# ruff: noqa: E402 -- numpy reads the number of threads when it is imported

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import sys
import time

import numpy as np
from _records import FASTER, QUICK, record

from transect.effects import sobol

SUBJECTS, LEVELS, ATTRIBUTES, RESAMPLES = 200, 3, 5, 20 if QUICK else 500
SECONDS_ALLOWED = 5.0


def salib(means):
    """Seconds and total indices by SALib's sampling of the same cell means, 500 resamples; None without SALib."""
    try:
        from SALib.analyze import sobol as analysis
        from SALib.sample import sobol as sampling
    except ImportError:
        return None
    problem = {
        "num_vars": ATTRIBUTES,
        "names": [str(k) for k in range(ATTRIBUTES)],
        "bounds": [[0, 1]] * ATTRIBUTES,
    }
    started = time.perf_counter()
    inputs = sampling.sample(problem, 2**12, calc_second_order=False, seed=1)
    cells = np.minimum((inputs * LEVELS).astype(int), LEVELS - 1)
    found = analysis.analyze(problem, means[tuple(cells.T)], calc_second_order=False, num_resamples=RESAMPLES, seed=1)
    return time.perf_counter() - started, found["ST"]


def main():
    """Runs and prints; returns the exit code."""
    rng = np.random.default_rng(0)
    shape = (LEVELS,) * ATTRIBUTES
    axes = np.meshgrid(*[np.arange(LEVELS)] * ATTRIBUTES, indexing="ij")
    planted = sum(axis * 0.5**place for place, axis in enumerate(axes))
    values = planted + rng.normal(size=(SUBJECTS, 1, 1, 1, 1, 1)) + rng.normal(size=(SUBJECTS, *shape))
    started = time.perf_counter()
    ours = sobol(values, resamples=RESAMPLES)
    seconds = time.perf_counter() - started
    judge = salib(values.mean(axis=0))
    print("| what | seconds | peer | seconds | ratio | agreement |\n| --- | --- | --- | --- | --- | --- |")
    what = f"Sobol and Shapley, {LEVELS}^{ATTRIBUTES} cells x {SUBJECTS} subjects, {RESAMPLES} resamples"
    if judge is None:
        print(f"| {what} | {seconds:.3f} | SALib is not installed | | | |")
    else:
        apart = np.abs(judge[1] - ours.total.estimate).max()
        peer = f"SALib, {2**12 * (ATTRIBUTES + 2):,} samples"
        agreement = f"total indices {apart:.3f} apart"
        print(f"| {what} | {seconds:.3f} | {peer} | {judge[0]:.3f} | {judge[0] / seconds:.1f} x | {agreement} |")
        record(what, peer, judge[0] / seconds, FASTER, 1)
    return int(seconds >= SECONDS_ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
