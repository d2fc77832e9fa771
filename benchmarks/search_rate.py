"""What active testing says of the overall rate: does it lean, how often does its interval hold the rate, and why so?

    python benchmarks/search_rate.py [--searches 500]

Searches of 400 calls on ten planted targets in six dimensions each. Beside what the searches show stand draws: the
strata of ten of them, each with binomial answers at its true rate, 1,000 times; and the same with the answers of Sobol
points, 1,000 scramblings, where the exploration has them. Their difference is what even exploration does; what is above
95 % without it is the joining of the intervals.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from _records import WIDER, record
from planted_failures import conduct, failing_target

from transect.designs.search import History
from transect.designs.search.history import sobol_points
from transect.designs.search.phases import Phases
from transect.designs.search.rules import whole_cube
from transect.effects.intervals import weighted_sum, wilson

BUDGET, DIMENSIONS, TARGETS, DRAWS = 400, 6, 10, 1000
CELLS = (("one box", 0.08), ("one box", 0.03), ("two boxes", 0.03))


def searched(shape, rate, seed):
    """One search: its strategy, target and history."""
    strategy, target = Phases(seed, BUDGET), failing_target(shape, DIMENSIONS, rate, seed % TARGETS)
    return strategy, target, conduct(strategy, History.empty(DIMENSIONS), target, budget=BUDGET, batch=40)


def stated(strategy, history):
    """Estimate, low and high of one search."""
    strata = strategy.strata(history)
    failures = [float(history.failed[one.rows].sum()) for one in strata]
    return weighted_sum([one.weight for one in strata], failures, [len(one.rows) for one in strata])


def row(shape, rate, searches):
    """Mean estimate, share of intervals that hold the rate, mean width over that of Wilson's for 400 uniform calls."""
    made = []
    for seed in range(searches):
        strategy, _, history = searched(shape, rate, seed)
        made.append(stated(strategy, history))
    estimate, low, high = np.array(made).T
    uniform = np.diff(wilson(rate * BUDGET, BUDGET), axis=0)[0]
    return estimate.mean(), ((low <= rate) & (rate <= high)).mean(), (high - low).mean() / uniform


def inside(target, box, without):
    """True rate of failures in a box less the boxes before it."""
    points = box.spread(np.random.default_rng(0).random((50_000, DIMENSIONS)))
    free = ~np.any([np.zeros(len(points), dtype=bool), *(one.holds(points) for one in without)], axis=0)
    return target.fails(points[free]).mean()


def drawn(shape, rate):
    """Of the strata of ten searches: how often joined intervals of drawn answers hold the rate; and the strata.

    The first number with binomial answers in every stratum, the second with Sobol points' in the exploration.
    """
    held, told = [], []
    for seed in range(TARGETS):
        strategy, target, history = searched(shape, rate, seed)
        strata, rules = strategy.strata(history), strategy.rules(history)
        boxes = [*rules, whole_cube(DIMENSIONS)]
        rates = [rate, *(inside(target, box, boxes[:i]) for i, box in enumerate(boxes))]
        weights, sizes = [one.weight for one in strata], [len(one.rows) for one in strata]
        truth = float(np.dot(weights, rates))  # the boxes' rates were counted on points drawn, the whole is this
        random = np.random.default_rng([seed, 1])
        answers = random.binomial(sizes, rates, (DRAWS, len(sizes)))
        even = answers.copy()
        for i in range(DRAWS):
            even[i, 0] = target.fails(sobol_points(DIMENSIONS, 10_000 + i, 0, sizes[0])).sum()
        for one in (answers, even):
            ends = [weighted_sum(weights, k, sizes)[1:] for k in one.astype(float)]
            held.append(np.mean([low <= truth <= high for low, high in ends]))
        told.append((len(rules), rates[-1], even[:, 0].var() / answers[:, 0].var()))
    return np.mean(held[::2]), np.mean(held[1::2]), np.array(told).mean(axis=0)


def main():
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=20)
    given = parser.parse_args()
    started = time.process_time()
    print("| failures in | rate | mean estimate | hold the rate | width / uniform | drawn: binomial | Sobol |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for shape, rate in CELLS:
        binomial, even, (rules, rest, variance) = drawn(shape, rate)
        mean, held, width = row(shape, rate, given.searches)
        numbers = f"{mean:.2%} | {held:.1%} | {width:.2f} | {binomial:.1%} | {even:.1%}"
        print(f"| {shape} | {rate:.0%} | {numbers} |", flush=True)
        record(f"interval of the rate, {shape}, {rate:.0%}", "uniform points", width, WIDER, given.searches)
        said = f"{rules:.1f} rules, rate outside {rest:.2%}, variance of Sobol points {variance:.2f} of a binomial's"
        print(f"  {shape}, {rate:.0%}: {said}", file=sys.stderr)
    print(f"{given.searches} searches a row, {time.process_time() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
