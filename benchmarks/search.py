"""How many failures, and how many of the regions, do 400 calls find? Strategies on targets that fail where we planted.

    python benchmarks/search.py [--kinds random,sobol,active,…] [--seeds 51] [--shapes …] [--rates …] [--out FILE.json]

Found are failures without label noise that were also answered as failures, at least a tenth of the cube's diagonal
apart; regions are found with one such failure. Seeds go round 4, 8 and 12 dimensions. `regions` is the default goal of
`transect search`, whose last hundred calls confirm; `failures` its goal of that name; `active` the search inside them.
The method of McDuff et al. and Optuna take one call after another; optuna (TPE, maximising yes over no) is compared
where it is installed. --out keeps numbers and goes on from those that it has. It ends with the table, and with the
seconds that a suggestion takes. Exit 1 where a suggestion takes 100 ms or more.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

from transect.designs.search import ActiveSearch, History, Interrogation, Random, Sobol, apart, conduct, eager
from transect.designs.search.confirmation import ConfirmedSearch
from transect.verify.failing import SHAPES, failing_target

BUDGET, BATCH = 400, 8
RATES = (0.005, 0.01, 0.03, 0.08)
DIMENSIONS = (4, 8, 12)
SECONDS_ALLOWED = 0.1


def one_by_one(strategy):
    """A search that asks for one point at a time, as the paper does."""
    return lambda target, dimensions: conduct(strategy, History.empty(dimensions), target, budget=BUDGET)


def batched(strategy):
    """A search in batches."""
    return lambda target, dimensions: conduct(strategy, History.empty(dimensions), target, budget=BUDGET, batch=BATCH)


def optuna_search(seed):
    """Optuna's tree-structured Parzen estimator (its default), told 1 for a failure and 0 for none, to maximise."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)

    def search(target, dimensions):
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        points, failures = np.empty((BUDGET, dimensions)), np.empty(BUDGET)
        for i in range(BUDGET):
            trial = study.ask()
            points[i] = [trial.suggest_float(f"x{j}", 0, 1) for j in range(dimensions)]
            failures[i] = target(points[i : i + 1])[0]
            study.tell(trial, failures[i])
        return History(points, failures, np.zeros(BUDGET, dtype=bool))

    return search


KINDS = {
    "random": lambda seed: batched(Random(seed)),
    "sobol": lambda seed: batched(Sobol(seed)),
    "mcduff": lambda seed: one_by_one(Interrogation(seed)),
    "mcduff0.2": lambda seed: one_by_one(Interrogation(seed, alpha=0.2)),
    "optuna": optuna_search,
    "active": lambda seed: batched(ActiveSearch(seed)),
    "regions": lambda seed: batched(ConfirmedSearch(seed, BUDGET)),
    "failures": lambda seed: batched(eager(seed)),
}


def found(target, history):
    """Failures apart, and the share of the regions found."""
    true = history.failed & target.fails(history.points)
    regions = np.mean([(region.holds(history.points) & true).any() for region in target.regions])
    return len(apart(history.points[true])), float(regions)


def one(kind, shape, rate, seed):
    """What one search finds."""
    dimensions = DIMENSIONS[seed % len(DIMENSIONS)]
    target = failing_target(shape, dimensions, rate, seed)
    return found(target, KINDS[kind](seed)(target, dimensions))


def cell(kind, shape, rate, seeds):
    """Mean failures and regions of one strategy on one kind of target, and what they rest on."""
    started = time.process_time()
    made = np.array([one(kind, shape, rate, seed) for seed in range(seeds)])
    return {
        "failures": float(made[:, 0].mean()),
        "regions": float(made[:, 1].mean()),
        "regions_error": float(made[:, 1].std(ddof=1) / seeds**0.5) if seeds > 1 else None,
        "seeds": seeds,
        "seconds": (time.process_time() - started) / seeds,
    }


def table(rows, kinds):
    """The numbers as a table; a strategy that was not run has a dash."""
    shown = [kind for kind in kinds if any(kind in row for row in rows.values())]
    heads = ["failures in", "rate", *shown, *(f"{kind} / random" for kind in shown[1:])]
    lines = [heads + [f"regions: {kind}" for kind in shown], ["---"] * (2 + 3 * len(shown) - 1)]
    for name, row in rows.items():
        counts = [_text(row, kind, "failures", 1) for kind in shown]
        base = row.get("random", {}).get("failures")
        ratios = [
            f"{row[kind]['failures'] / base:.1f}" if base and kind in row else "–" for kind in shown if kind != shown[0]
        ]
        shape, rate = name.split(" @ ")
        lines.append([shape, rate, *counts, *ratios, *(_text(row, kind, "regions", 2) for kind in shown)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(row, kind, what, digits):
    return f"{row[kind][what]:.{digits}f}" if kind in row else "–"


def overhead(calls=1000, dimensions=12):
    """Mean seconds of one core for a suggestion in the last batches before so many calls, where failures are common."""
    target = failing_target("ridge", dimensions, 0.08, 0)
    seconds = {}
    for name, strategy in (("active", ActiveSearch(0)), ("failures", eager(0))):
        history = conduct(strategy, History.empty(dimensions), target, budget=calls - 5 * BATCH, batch=BATCH)
        started = time.process_time()
        conduct(strategy, history, target, budget=calls, batch=BATCH)
        seconds[name] = (time.process_time() - started) / (5 * BATCH)
    return seconds


def main():
    """Print the table; keep its numbers where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="random,sobol,active")
    parser.add_argument("--shapes", default=",".join(shape.replace(",", ";") for shape in SHAPES))
    parser.add_argument("--rates", default=",".join(map(str, RATES)))
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    rows = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    shapes = [shape.replace(";", ",") for shape in given.shapes.split(",")]
    for shape in shapes:
        for rate in map(float, given.rates.split(",")):
            row = rows.setdefault(f"{shape} @ {rate:.1%}", {})
            for kind in given.kinds.split(","):
                if row.get(kind, {}).get("seeds", 0) < given.seeds:
                    row[kind] = cell(kind, shape, rate, given.seeds)
                    print(f"{shape}, {rate:.1%}, {kind}: {row[kind]}", file=sys.stderr, flush=True)
                    if given.out:
                        given.out.write_text(json.dumps(rows, indent=1))
    print(table(rows, list(KINDS)))
    seconds = overhead()
    for name, value in seconds.items():
        print(f"{name}: a suggestion takes {1000 * value:.0f} ms after 1,000 calls (12 dimensions, batches of {BATCH})")
    return int(max(seconds.values()) >= SECONDS_ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
