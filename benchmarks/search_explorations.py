"""Would another exploration hit more regions than Sobol points? Designs without follow-ups, on targets planted.

    python benchmarks/search_explorations.py [--designs 36] [--targets 80]

Designs go round 4, 8 and 12 dimensions; each is put to so many targets of each kind, the same for all rows. A cell is
the mean share of a target's regions that at least one point hits, and its difference from the first row with one
standard error over designs, which are paired by seed. All rows but the first have 388 points: about twelve of 400 calls
follow up where failures are rare.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from planted_failures import failing_target

from transect.designs.search.history import sobol_points, stream

CALLS, LEFT, BEGUN, NEXT = 400, 388, 256, 768
DIMENSIONS = (4, 8, 12)
COLUMNS = (
    ("one box", 0.005),
    ("two boxes", 0.005),
    ("two boxes", 0.01),
    ("ridge", 0.005),
    ("interaction", 0.005),
    ("interaction", 0.01),
)
TARGETS_FROM = 1000
"""Seeds of the targets, none of which benchmarks/search.py has."""
LEVELS, LEVELS_OF_THREE = 20, 6
"""Fields of a pair of attributes have a side of 1/20, those of three of 1/6."""
PRIME = 19
SCRAMBLINGS = 24
BOXES, VOLUME = 4000, 0.005


def sobol(count):
    """The first points of the sequence."""
    return lambda dimensions, seed: sobol_points(dimensions, seed, 0, count)


def fields(points, attributes, levels):
    """The field in which each point lies, for every combination of so many attributes: integers [n, combinations]."""
    at = np.minimum((points * levels).astype(int), levels - 1)
    combinations = itertools.combinations(range(points.shape[1]), attributes)
    return np.stack([at[:, list(one)] @ levels ** np.arange(attributes) for one in combinations], axis=1)


def sweep(*sizes):
    """The first points, then of the next of the sequence, one by one, that which fills most fields still empty."""

    def design(dimensions, seed):
        points = sobol_points(dimensions, seed, 0, BEGUN + NEXT)
        tables = [fields(points, size, {2: LEVELS, 3: LEVELS_OF_THREE}[size]) for size in sizes]
        chosen = list(range(BEGUN))
        empty = [np.ones((table.shape[1], table.max() + 1), dtype=bool) for table in tables]
        for i in range(LEFT):
            if i >= BEGUN:
                pairs = zip(empty, tables, strict=True)
                gain = sum(one[np.arange(len(one)), table].sum(axis=1) for one, table in pairs)
                gain[chosen] = -1
                chosen.append(int(gain.argmax()))
            for one, table in zip(empty, tables, strict=True):
                one[np.arange(len(one)), table[chosen[i]]] = False
        return points[chosen]

    return design


def orthogonal_array(dimensions, seed):
    """Bose's array of 361 points and 19 levels, in which any two attributes have any two levels once; then Sobol's."""
    random, (i, j) = stream(seed, 20), np.divmod(np.arange(PRIME**2), PRIME)
    columns = np.stack([i, *((k * i + j) % PRIME for k in range(PRIME))], axis=1)
    levels = columns[:, random.permutation(PRIME + 1)[:dimensions]]
    renamed = np.stack([random.permutation(PRIME)[column] for column in levels.T], axis=1)
    points = (renamed + random.random(renamed.shape)) / PRIME
    return np.concatenate([points, sobol_points(dimensions, seed, 0, LEFT - len(points))])


def best_scrambling(dimensions, seed):
    """Of 24 scramblings the one whose points hit most fields of pairs."""
    every = [sobol_points(dimensions, SCRAMBLINGS * (seed + 1) + i, 0, LEFT) for i in range(SCRAMBLINGS)]
    return max(every, key=lambda points: sum(len(np.unique(one)) for one in fields(points, 2, LEVELS).T))


def hitting_boxes(dimensions, seed):
    """The first points, then of the next, one by one, that which hits most random boxes that none has hit."""
    points, random = sobol_points(dimensions, seed, 0, BEGUN + NEXT), stream(seed, 21)
    missed = np.ones((BOXES, len(points)), dtype=bool)
    for row, attributes in enumerate(random.integers(2, 5, BOXES)):
        side, which = VOLUME ** (1 / attributes), random.permutation(dimensions)[:attributes]
        low = (1 - side) * random.random(attributes)
        missed[row] = ((points[:, which] >= low) & (points[:, which] <= low + side)).all(axis=1)
    hits = missed[~missed[:, :BEGUN].any(axis=1)].astype(np.float32)
    chosen = list(range(BEGUN))
    while len(chosen) < LEFT:
        gain = hits.sum(axis=0)
        gain[chosen] = -1
        chosen.append(int(gain.argmax()))
        hits = hits[hits[:, chosen[-1]] == 0]
    return points[chosen]


DESIGNS = {
    "Sobol points, all 400": sobol(CALLS),
    "the first 388 of them": sobol(LEFT),
    "256, then those of the next 768 that fill most empty fields of pairs and triples": sweep(2, 3),
    "the same, fields of pairs alone": sweep(2),
    "256, then those of the next 768 that hit most random boxes that none has hit": hitting_boxes,
    "an orthogonal array of 19 levels (361 points), then Sobol points": orthogonal_array,
    "the best of 24 scramblings": best_scrambling,
}


def hit(points, shape, rate, targets):
    """Mean share of the regions that the points hit."""
    made = [failing_target(shape, points.shape[1], rate, TARGETS_FROM + seed) for seed in range(targets)]
    return np.mean([np.mean([region.holds(points).any() for region in one.regions]) for one in made])


def table(shares):
    """shares: of each design's name an array [designs, columns]."""
    heads = [f"{shape} {rate:.1%}" for shape, rate in COLUMNS]
    lines = [["points", *heads], ["---"] * (1 + len(heads))]
    first = next(iter(shares.values()))
    for name, share in shares.items():
        apart, error = (share - first).mean(axis=0), (share - first).std(axis=0, ddof=1) / len(share) ** 0.5
        numbers = zip(share.mean(axis=0), apart, error, strict=True)
        cells = [f"{a:.3f}" if share is first else f"{a:.3f} ({b:+.3f} ± {c:.3f})" for a, b, c in numbers]
        lines.append([name, *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main():
    """Print the table, of all dimensions and of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--designs", type=int, default=6)
    parser.add_argument("--targets", type=int, default=80)
    given = parser.parse_args()
    if given.designs < 2 * len(DIMENSIONS):
        parser.error(f"--designs: expected {2 * len(DIMENSIONS)} or more, two of each number of dimensions")
    shares, started = {name: [] for name in DESIGNS}, time.process_time()
    for seed in range(given.designs):
        for name, design in DESIGNS.items():
            points = design(DIMENSIONS[seed % len(DIMENSIONS)], seed)
            shares[name].append([hit(points, shape, rate, given.targets) for shape, rate in COLUMNS])
    print(table({name: np.array(share) for name, share in shares.items()}))
    for i, dimensions in enumerate(DIMENSIONS):
        print(f"\n{dimensions} dimensions\n\n{table({name: np.array(share)[i::3] for name, share in shares.items()})}")
    print(f"\n{given.designs} designs, {given.targets} targets of each kind, {time.process_time() - started:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
