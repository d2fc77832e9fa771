"""Failures by the weight of Eq. 4 where half of the space fails: a weight can find fewer than random points.

    python benchmarks/search_half.py [--seeds 5] [--calls 80]

The target fails where the first attribute is above its median. Means over seeds with 95 % intervals (Student's t).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from _records import MORE, record
from planted_failures import conduct
from scipy.stats import t

from transect.designs.search import History, Interrogation, Random

ALPHAS = (0.0, 0.2, 0.6, 1.0)
DIMENSIONS = (2, 3, 5)


def half(points):
    """1 where the first attribute is above its median, else 0."""
    return (points[:, 0] > 0.5).astype(np.float64)


def interval(counts, calls):
    """Mean of the seeds' counts and its 95 % interval by Student's t, within 0 and the number of calls."""
    mean, error = np.mean(counts), np.std(counts, ddof=1) / len(counts) ** 0.5
    half = t.ppf(0.975, len(counts) - 1) * error
    return mean, max(mean - half, 0.0), min(mean + half, calls)


def main():
    """Print failures in all calls, a row for each strategy, a column for each number of attributes."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=80)
    given = parser.parse_args()
    makers = {"random": Random}
    for alpha in ALPHAS:
        makers[f"α = {alpha:g}"] = lambda seed, alpha=alpha: Interrogation(seed, alpha)
    print(f"| strategy | {' | '.join(f'{d} attributes' for d in DIMENSIONS)} |")
    base = {}
    for name, make in makers.items():
        cells = []
        for dimensions in DIMENSIONS:
            searches = (
                conduct(make(seed), History.empty(dimensions), half, budget=given.calls) for seed in range(given.seeds)
            )
            mean, low, high = interval([float(history.failed.sum()) for history in searches], given.calls)
            cells.append(f"{mean:.1f} [{low:.1f}, {high:.1f}]")
            many = base.setdefault(dimensions, mean)
            if name != "random":
                ratio = mean / many if many > 0 else np.nan
                record(f"{name}, half of {dimensions} attributes", "random points", ratio, MORE, given.seeds)
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
