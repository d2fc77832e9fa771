"""The λ_D and λ_D(F1) columns of Table 1 for imSitu (Wang et al. 2019), by their attacker and by the closed form.

python -m examples.replications.imsitu_published_code FILE.parquet [original in_alpha3 in_alpha2 in_alpha1]

The labels are not part of this repository. Per split: five rounds of the released network on dataset labels, five on
labels with bits flipped to the published F1, both by the published protocol; five by the default protocol (last epoch,
nothing folded, all test items); and the closed form. About ten minutes a split on one core.
"""

import sys
import time
from pathlib import Path

import torch

from transect.attacks import Settings
from transect.attacks.attackers import Bayes, Mlp
from transect.attacks.estimation import Plan, attack, estimate
from transect.attacks.perturbation import solve_rate
from transect.attacks.tables import labelled_data, read_labels

PUBLISHED = {  # split: F1 of the model without gender, λ_D and its SD, λ_D(F1)
    "original": (40.11, 68.26, 0.31, 56.46),
    "in_alpha3": (37.64, 68.11, 0.55, 55.98),
    "in_alpha2": (36.41, 68.15, 0.32, 55.74),
    "in_alpha1": (33.94, 53.99, 0.69, 53.20),
}
SIZES = {"train_per_class": 7300, "test_per_class": 3000}


def measure(data, attacker, settings, f1=None):
    """λ_D, and λ_D(F1) by bit flips where an F1 is given, all networks together."""
    plan = Plan.of(data, attacker, settings)
    asked = [plan.evidence(data.labels)]
    if f1 is not None:
        asked.append(plan.noisy("flips", solve_rate("flips", f1, data.labels, plan.scored)))
    return [estimate(plan, rounds) for rounds in attack(attacker, asked)]


def shown(found):
    """Mean ± SD over rounds."""
    return f"{found.estimate:.2f} ± {found.sd:.2f}" if found.rounds > 1 else f"{found.estimate:.2f}"


def main(path, splits):
    """One row for each split as soon as it is there."""
    torch.set_num_threads(1)
    table = read_labels(path)
    head = ["split", "λ_D published", "network", "closed form, 200 draws", "network, default protocol"]
    head += ["λ_D(F1) published", "network, flips", "closed form, flips", "CPU seconds"]
    print("| " + " | ".join(head) + " |\n|" + " --- |" * len(head), flush=True)
    for split in splits:
        start = time.process_time()
        f1, published, sd, published_at = PUBLISHED[split]
        where = None if split == "original" else split
        data = labelled_data(table, ["verb_id"], "gender", split="split", where=where, where_train_only=True)
        settings = Settings(rounds=5, published=True, **SIZES)
        network, flipped = measure(data, Mlp(), settings, f1)
        (default,) = measure(data, Mlp(), Settings(rounds=5, train_per_class=7300))
        (bayes,) = measure(data, Bayes(), Settings(rounds=200, published=True, **SIZES))
        _, bayes_flipped = measure(data, Bayes(), Settings(rounds=20, published=True, **SIZES), f1)
        cells = [split, f"{published} ± {sd}", shown(network), shown(bayes), shown(default), f"{published_at}"]
        cells += [shown(flipped), shown(bayes_flipped), f"{time.process_time() - start:.0f}"]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or list(PUBLISHED))
