"""Which way of searching finds most failures of one target? Fig. 4 of McDuff et al. 2019 on a target of your own.

    python benchmarks/search_target.py [TARGET] [--truth 'smile>0.5'] [--vary NAME …] [--budget 80] [--size 64]
        [--methods random,ours,mcduff2019] [--alpha 0.2,0.6,1] [--repeats 5] [--seed 0] [--out FOLDER]

Each repeat has a seed of its own, which all searches share; differences are to random points with the same seed. Each
search is a run folder below FOLDER, so that the command resumes, and more repeats, weights or methods extend it. Seeds
decide what a search comes upon: the median over them has a 95 % interval from six repeats on, which holds whatever the
target (tests/statistical/test_search_comparison_coverage.py); a mean has none. Every search pays for its own calls.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from _medians import median_interval
from _records import MORE, record

import transect

VARY = ("skin_tone", "light_level=-6:0", "smile", "facial_hair", "mouth_open")


def searches(methods, alphas):
    """Name and settings of each search: one for each weight of mcduff2019."""
    for method in methods:
        if method == "mcduff2019":
            yield from ((f"{method}, α = {alpha:g}", {"method": method, "alpha": alpha}) for alpha in alphas)
        else:
            yield method, {"method": method}


def found(given, name, settings):
    """Failures of each repeat, and those far apart."""
    counts = []
    for seed in range(given.seed, given.seed + given.repeats):
        options = transect.SearchOptions(image_size=given.size, **settings)
        folder = given.out / f"{name.replace(', α = ', '-')}-seed-{seed}"
        numbers = transect.search(
            given.target, truth=given.truth, budget=given.budget, goal="failures", vary=given.vary or VARY, seed=seed,
            options=options, out=folder, quiet=True,
        ).numbers  # fmt: skip
        counts.append((numbers.failures, numbers.distinct_failures))
    return np.array(counts, dtype=np.float64).T


def more(counts, chance):
    """The median difference to random points with its interval, which fewer than six repeats do not have."""
    difference = counts - chance
    low, high = (float(end[0]) for end in median_interval(difference[:, None]))
    interval = f" ({low:+g} to {high:+g})" if np.isfinite(low) else ", no interval: fewer than six repeats"
    return f"{np.median(difference):+g}{interval}"


def main():
    """Print a row for each search."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", nargs="?", default="opencv:haarcascade_smile")
    parser.add_argument("--truth", default="smile>0.5")
    parser.add_argument("--vary", action="append")
    parser.add_argument("--methods", default="random,ours,mcduff2019")
    parser.add_argument("--alpha", default="0.2,0.6,1")
    for name, default in (("budget", 80), ("size", 64), ("repeats", 5), ("seed", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, default=Path("search-target"))
    given = parser.parse_args()
    print("| search | failures: mean (fewest to most) | far apart | median more than random |")
    print("| --- | --- | --- | --- |")
    chance = None
    for name, settings in searches(given.methods.split(","), map(float, given.alpha.split(","))):
        failures, apart = found(given, name, settings)
        row = f"| {name} | {failures.mean():g} ({failures.min():g} to {failures.max():g}) | {apart.mean():g} |"
        if name == "random":
            chance = failures
        elif chance is not None:
            row += f" {more(failures, chance)} |"
            base = chance.mean()
            ratio = failures.mean() / base if base > 0 else np.nan
            record(f"{name}, failures of {given.target}", "random points", ratio, MORE, given.repeats)
        print(row, flush=True)


if __name__ == "__main__":
    main()
