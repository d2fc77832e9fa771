"""How fast are attackers together, against one after the other in the same run, on one core in float32?

python benchmarks/leakage.py [imsitu_verb_gender.parquet]

Without a file the labels are made up in imSitu's sizes: 211 verbs, 24,301 + 7,730 + 7,669 items. Times are of the
processor, not of the clock. Exit 1 where 20 networks together are not 1.2 times as fast as one by one, or the
closed form takes a second for λ_D, its null, λ_D(F1) and the learning curve.
"""

# ruff: noqa: E402 -- libraries read the number of threads when they are imported

import os

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import itertools
import sys
import time
from pathlib import Path

import numpy as np
import torch
from _records import FASTER, QUICK, record
from torch import nn

from transect.attacks import analyse, labelled
from transect.attacks.attackers import Bayes
from transect.attacks.attackers.networks import BATCH, HIDDEN, Batch, Networks
from transect.attacks.tables import labelled_data, read_labels

NETWORKS, STEPS = (2, 2) if QUICK else (20, 12)
SIZES = (211, *HIDDEN["mlp"], 2)


def processor_seconds(function, times=3):
    """Shortest processor time of a call, and what it returned."""
    best, result = float("inf"), None
    for _ in range(times):
        start = time.process_time()
        result = function()
        best = min(best, time.process_time() - start)
    return best, result


def made_up():
    """Labels of imSitu's sizes with about its leakage."""
    rng = np.random.default_rng(0)
    n = 24_301 + 7_730 + 7_669
    category = rng.choice(211, n, p=rng.dirichlet(np.full(211, 8.0)))
    share = rng.beta(2, 2.6, 211)[category]
    split = np.repeat(["train", "development", "test"], [24_301, 7_730, 7_669])
    return labelled(category, (rng.random(n) < share).astype(int), split=split)


def released_network():
    """The released attacker as modules."""
    layers = [nn.BatchNorm1d(SIZES[0])]
    for inputs, units in itertools.pairwise(SIZES):
        layers.append(nn.Linear(inputs, units))
        layers += [nn.BatchNorm1d(units), nn.LeakyReLU()] if units != SIZES[-1] else []
    return nn.Sequential(*layers)


def one_by_one(rows, classes, *, fused):
    """STEPS steps of each network, one network after the other."""
    for i in range(NETWORKS):
        model = released_network()
        adam = torch.optim.Adam(model.parameters(), lr=5e-5, weight_decay=1e-5, fused=fused)
        for step in range(STEPS):
            adam.zero_grad()
            nn.functional.cross_entropy(model(rows[step, i]), classes[step, i]).backward()
            adam.step()


def together(batches, classes):
    """STEPS steps of all networks."""
    networks = Networks(SIZES, range(NETWORKS))
    for batch, labels in zip(batches, classes, strict=True):
        networks.train_step(batch, labels)


def network_rows():
    """Seconds per network and step on categories and on rows with flipped bits, and the peers'."""
    rng = np.random.default_rng(1)
    category = torch.from_numpy(rng.integers(0, SIZES[0], (STEPS, NETWORKS, BATCH)))
    classes = torch.from_numpy(rng.integers(0, 2, (STEPS, NETWORKS, BATCH)))
    one_hot = nn.functional.one_hot(category, SIZES[0]).float()
    flips = torch.from_numpy(rng.random(one_hot.shape) < 0.0137)
    bits = (one_hot.bool() ^ flips).float()
    for name, rows, batches in (
        ("categories", one_hot, [Batch(category=own) for own in category]),
        ("flipped bits", bits, [Batch(values=own) for own in bits]),
    ):
        ours, _ = processor_seconds(lambda batches=batches: together(batches, classes))
        for peer, fused in (("one by one", None), ("one by one, fused Adam", True)):
            theirs, _ = processor_seconds(lambda rows=rows, fused=fused: one_by_one(rows, classes, fused=fused))
            yield name, peer, ours / STEPS / NETWORKS, theirs / STEPS / NETWORKS


def main(arguments):
    """Runs and prints; returns the exit code."""
    torch.set_num_threads(1)
    given = [labelled_data(read_labels(Path(a)), ["verb_id"], "gender", split="split") for a in arguments]
    data = given[0] if given else made_up()
    print("| what | ms | peer | ms | ratio |\n| --- | --- | --- | --- | --- |")
    ratios = []
    for name, peer, ours, theirs in network_rows():
        ratios.append(theirs / ours if peer == "one by one" else np.inf)
        what = f"a step of one of {NETWORKS} networks, {name}"
        print(f"| {what} | {1e3 * ours:.2f} | {peer} | {1e3 * theirs:.2f} | {theirs / ours:.2f} x |", flush=True)
        record(what, peer, theirs / ours, FASTER, 3)
    closed, _ = processor_seconds(lambda: analyse(data, Bayes(), noise="flips", f1=[40.11]))
    print(f"| closed form: λ_D, null, λ_D(F1), learning curve | {1e3 * closed:.0f} | | | |")
    return int(not QUICK and (min(ratios) < 1.2 or closed >= 1))


if __name__ == "__main__":
    sys.exit(main([word for word in sys.argv[1:] if word != "--quick"]))
