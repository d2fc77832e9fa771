"""How many failures, and how many of the regions, do 400 calls find? Strategies on targets that fail where we planted.

    python benchmarks/search.py [--seeds 51] [--slow-seeds 3] [--out FILE.json]

Found are failures without label noise that were also answered as failures, at least a tenth of the cube's diagonal
apart; regions are found with one such failure. Seeds go round 4, 8 and 12 dimensions. The method of McDuff et al. takes
one call after another, and gets --slow-seeds. It ends with the seconds that a suggestion takes. Exit 1 where a
suggestion takes 100 ms or more.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from transect.designs.search import ActiveSearch, History, Interrogation, Random, Sobol, apart, conduct
from transect.verify.failing import SHAPES, failing_target

BUDGET, BATCH = 400, 8
RATES = (0.005, 0.01, 0.03, 0.08)
DIMENSIONS = (4, 8, 12)
SECONDS_ALLOWED = 0.1


def found(target, history):
    """Failures apart, and the share of the regions found."""
    true = history.failed & target.fails(history.points)
    regions = np.mean([(region.holds(history.points) & true).any() for region in target.regions])
    return len(apart(history.points[true])), float(regions)


def one(kind, shape, rate, seed, **settings):
    """What one search finds."""
    dimensions = DIMENSIONS[seed % len(DIMENSIONS)]
    target = failing_target(shape, dimensions, rate, seed)
    batch = 1 if kind is Interrogation else BATCH
    return found(target, conduct(kind(seed, **settings), History.empty(dimensions), target, budget=BUDGET, batch=batch))


def row(shape, rate, seeds, slow):
    """Mean failures and regions of each strategy."""
    kinds = {
        "random": (Random, seeds),
        "sobol": (Sobol, seeds),
        "paper": (Interrogation, slow),
        "ours": (ActiveSearch, seeds),
    }
    made = {
        name: np.array([one(kind, shape, rate, seed) for seed in range(n)]) for name, (kind, n) in kinds.items() if n
    }
    return {
        "shape": shape,
        "rate": rate,
        **{f"{name}_failures": float(values[:, 0].mean()) for name, values in made.items()},
        **{f"{name}_regions": float(values[:, 1].mean()) for name, values in made.items()},
        "regions_error": float(made["ours"][:, 1].std(ddof=1) / len(made["ours"]) ** 0.5) if seeds > 1 else None,
    }


HEADING = (
    "failures in | rate | random | Sobol | McDuff | ours | ours / random | regions: random | Sobol | McDuff | ours"
)


def line(made):
    """One row of the table."""
    paper = [
        f"{made[f'paper_{what}']:.{digits}f}" if f"paper_{what}" in made else "–"
        for what, digits in (("failures", 1), ("regions", 2))
    ]
    random, ours = made["random_failures"], made["ours_failures"]
    ratio = ours / random if random else float("nan")
    counts = f"{random:.1f} | {made['sobol_failures']:.1f} | {paper[0]} | {ours:.1f} | {ratio:.1f}"
    regions = f"{made['random_regions']:.2f} | {made['sobol_regions']:.2f} | {paper[1]} | {made['ours_regions']:.2f}"
    return f"{made['shape']} | {made['rate']:.1%} | {counts} | {regions}"


def overhead(calls=1000, dimensions=12):
    """Mean seconds of one core for a suggestion in the last batches before so many calls, where failures are common."""
    target = failing_target("ridge", dimensions, 0.08, 0)
    strategy = ActiveSearch(0)
    history = conduct(strategy, History.empty(dimensions), target, budget=calls - 5 * BATCH, batch=BATCH)
    started = time.process_time()
    conduct(strategy, history, target, budget=calls, batch=BATCH)
    return (time.process_time() - started) / (5 * BATCH)


def main():
    """Print the table; keep its numbers where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--slow-seeds", type=int, default=0)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    print(HEADING, flush=True)
    rows = []
    for shape in SHAPES:
        for rate in RATES:
            rows.append(row(shape, rate, given.seeds, given.slow_seeds))
            print(line(rows[-1]), flush=True)
            if given.out:
                given.out.write_text(json.dumps(rows, indent=1))
    seconds = overhead()
    print(f"a suggestion of ours takes {1000 * seconds:.0f} ms after 1,000 calls (12 dimensions, batches of {BATCH})")
    return int(seconds >= SECONDS_ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
