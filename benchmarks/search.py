"""How many failures, and how many of the regions, do 400 calls find? Strategies on targets that fail where we planted.

    python benchmarks/search.py [--kinds random,sobol,active,…] [--seeds 51] [--shapes …] [--rates …] [--out FILE.json]

Found are failures without label noise that were also answered as failures, at least a tenth of the cube's diagonal
apart; regions are found with one such failure. Seeds go round 4, 8 and 12 dimensions. `regions` is the default goal of
`transect search`, whose last hundred calls confirm rules first, `confirmed` the same with all of the hundred;
`failures` its goal of that name, `eager` its follow-ups alone; `active` the search inside them, `active4` with four
follow-ups for each failure of the exploration in place of eight. The method of McDuff et al. and Optuna take one call
after another, BoTorch batches of eight; Optuna and BoTorch are compared where they are installed. Seeds go up by three
over all rows at a time, and --out keeps each search, so that it can be stopped and resumed. It ends with the tables,
how many searches they rest on, and the seconds that a suggestion takes. Exit 1 where one takes 100 ms or more.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

import numpy as np
from _records import MORE, record
from _search_peers import BoTorch, optuna_search
from planted_failures import SHAPES, conduct, failing_target

from transect.designs.search import ActiveSearch, Harvest, History, Interrogation, Random, Sobol, apart, eager
from transect.designs.search.phases import ConfirmedSearch

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


KINDS = {
    "random": lambda seed: batched(Random(seed)),
    "sobol": lambda seed: batched(Sobol(seed)),
    "mcduff": lambda seed: one_by_one(Interrogation(seed)),
    "mcduff0.2": lambda seed: one_by_one(Interrogation(seed, alpha=0.2)),
    "optuna": lambda seed: optuna_search(seed, BUDGET),
    "botorch": lambda seed: batched(BoTorch(seed)),
    "active": lambda seed: batched(ActiveSearch(seed)),
    "active4": lambda seed: batched(ActiveSearch(seed, earned=4.0)),
    "regions": lambda seed: batched(ConfirmedSearch(seed, BUDGET)),
    "confirmed": lambda seed: batched(ConfirmedSearch(seed, BUDGET, narrow=0.0)),
    "eager": lambda seed: batched(eager(seed)),
    "failures": lambda seed: batched(Harvest(seed)),
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


def more(cells, kind, shape, rate, seeds):
    """Search with the seeds that the cell lacks; what each search found, as lists by seed."""
    cell = cells.setdefault(kind, {"failures": [], "regions": [], "seconds": []})
    for seed in range(len(cell["failures"]), seeds):
        started = time.process_time()
        failures, regions = one(kind, shape, rate, seed)
        for name, value in zip(cell, (failures, regions, round(time.process_time() - started, 3)), strict=True):
            cell[name].append(value)


def table(rows, kinds):
    """Failures apart and their ratio to random points', then regions; a strategy that was not run has a dash."""
    shown = [kind for kind in kinds if any(kind in row for row in rows.values())]
    heads = [["failures in", "rate", *shown], ["regions in", "rate", *shown]]
    lines = [[heads[0], ["---"] * len(heads[0])], [heads[1], ["---"] * len(heads[1])]]
    for name, row in rows.items():
        base = np.mean(row["random"]["failures"]) if "random" in row else np.nan
        lines[0].append([*name.split(" @ "), *(_failures(row, kind, base) for kind in shown)])
        lines[1].append([*name.split(" @ "), *(_regions(row, kind) for kind in shown)])
    return "\n\n".join("\n".join(f"| {' | '.join(line)} |" for line in part) for part in lines)


def _failures(row, kind, base):
    """Mean of the searches, and its ratio to random points'."""
    if kind not in row:
        return "–"
    mean = np.mean(row[kind]["failures"])
    ratio = "" if kind == "random" or not base > 0 else f" ({mean / base:.1f}×)"
    return f"{mean:.1f}{ratio}"


def _regions(row, kind):
    return f"{np.mean(row[kind]['regions']):.3f}" if kind in row else "–"


def searches(rows, kinds):
    """How many searches each strategy's numbers rest on, and the seconds of one core that one took."""
    said = []
    for kind in kinds:
        cells = [row[kind] for row in rows.values() if kind in row]
        if cells:
            counts = sorted({len(one["failures"]) for one in cells})
            seconds = np.mean(np.concatenate([one["seconds"] for one in cells]))
            many = f"{counts[0]} to {counts[-1]}" if len(counts) > 1 else f"{counts[0]}"
            said.append(f"{kind}: {many} searches in each of {len(cells)} rows, {seconds:.2g} s of one core each")
    return "\n".join(said)


def overhead(calls=1000, dimensions=12):
    """Mean seconds of one core for a suggestion in the last batches before so many calls, where failures are common."""
    target = failing_target("ridge", dimensions, 0.08, 0)
    seconds = {}
    for name, strategy in (("active", ActiveSearch(0)), ("failures", Harvest(0))):
        history = conduct(strategy, History.empty(dimensions), target, budget=calls - 5 * BATCH, batch=BATCH)
        started = time.process_time()
        conduct(strategy, history, target, budget=calls, batch=BATCH)
        seconds[name] = (time.process_time() - started) / (5 * BATCH)
    return seconds


def write(path, rows):
    """Keep the numbers; what was there stays until the new file is whole."""
    fresh = path.with_suffix(".part")
    fresh.write_text(json.dumps(rows))
    fresh.replace(path)


def main():
    """Print the table; keep its numbers where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kinds", default="random,sobol,active")
    parser.add_argument("--shapes", default=",".join(shape.replace(",", ";") for shape in SHAPES))
    parser.add_argument("--rates", default=",".join(map(str, RATES)))
    parser.add_argument("--seeds", type=int, default=6)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--no-times", action="store_true", help="do not time suggestions at the end")
    given = parser.parse_args()
    rows = json.loads(given.out.read_text()) if given.out and given.out.exists() else {}
    shapes = [shape.replace(";", ",") for shape in given.shapes.split(",")]
    names = [(shape, float(rate)) for shape in shapes for rate in given.rates.split(",")]
    for seeds in range(len(DIMENSIONS), given.seeds + len(DIMENSIONS), len(DIMENSIONS)):  # rounds, to stop between
        for kind in given.kinds.split(","):
            for shape, rate in names:
                more(rows.setdefault(f"{shape} @ {rate:.1%}", {}), kind, shape, rate, min(seeds, given.seeds))
                if given.out:
                    write(given.out, rows)
    print(table(rows, list(KINDS)))
    print(searches(rows, list(KINDS)))
    for name, row in rows.items():
        base = np.mean(row["random"]["failures"]) if "random" in row else 0.0
        for kind in set(row) - {"random"}:
            ratio = np.mean(row[kind]["failures"]) / base if base > 0 else np.nan
            record(f"{kind}, failures in {name}", "random points", ratio, MORE, len(row[kind]["failures"]))
    seconds = {} if given.no_times else overhead()
    for name, value in seconds.items():
        print(f"{name}: a suggestion takes {1000 * value:.0f} ms after 1,000 calls (12 dimensions, batches of {BATCH})")
    return int(max(seconds.values(), default=0.0) >= SECONDS_ALLOWED)


if __name__ == "__main__":
    sys.exit(main())
