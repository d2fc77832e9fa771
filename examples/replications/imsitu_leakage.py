"""Prints the tables of docs/research/leakage.md from imSitu's labels.

python -m examples.replications.imsitu_leakage imsitu_verb_gender.parquet [--rounds 5] [--noisy]

The file has the columns split, image_name, verb_id, gender and in_alpha3, in_alpha2, in_alpha1 of Wang et al.'s
release; it is not ours to publish. The closed form takes seconds. --rounds: also the paper's attacker, this many rounds
for each of the four training sets, a minute or two each on one core; --noisy: its λ_D(F1), too.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from transect.attacks import LabelledData, LeakageEstimate, Settings, analyse, dataset_leakage
from transect.attacks.attackers import Bayes
from transect.attacks.attackers.networks import Mlp
from transect.attacks.tables import labelled_data, read_labels
from validation.text import markdown

PUBLISHED = {"original": "68.26 ± .31", "α = 3": "68.11 ± .55", "α = 2": "68.15 ± .32", "α = 1": "53.99 ± .69"}
"""λ_D of Wang et al. 2019, Table 1."""

WHERE = {"original": None, "α = 3": "in_alpha3", "α = 2": "in_alpha2", "α = 1": "in_alpha1"}
F1 = 40.11
"""Of the model whose λ_D(F1) is published as 56.46."""

DRAWS, TRAIN, TEST = 200, 7300, 3000


def read(file: Path, where: str | None, *, train_only: bool) -> LabelledData:
    """Verbs and gender. train_only: `where` chooses among the rows that teach alone, as published."""
    return labelled_data(
        read_labels(file), ["verb_id"], "gender", split="split", where=where, where_train_only=train_only
    )


def protocol(rounds: int) -> Settings:
    """The published protocol: classes drawn to equal numbers, the best development snapshot, folded about one half."""
    return Settings(published=True, rounds=rounds, permutations=0, train_per_class=TRAIN, test_per_class=TEST)


def split_rows(file: Path, rounds: int) -> list[Sequence[str]]:
    """A row for each training set: published, the attacker's where asked for, and the closed form's two."""
    rows = []
    for name, where in WHERE.items():
        draws = read(file, where, train_only=True)
        exact = dataset_leakage(draws, Bayes(), protocol(DRAWS))
        alike = dataset_leakage(read(file, where, train_only=False), Bayes())
        cells = [name, PUBLISHED[name], _spread(exact), _interval(alike)]
        if rounds:
            attacker = dataset_leakage(draws, Mlp(), protocol(rounds))
            unfolded = Settings(rounds=rounds, permutations=0, train_per_class=TRAIN)
            cells += [_spread(attacker), _spread(dataset_leakage(draws, Mlp(), unfolded))]
        rows.append(cells)
        print(f"{name}: done", file=sys.stderr, flush=True)
    return rows


def noise_rows(file: Path, rounds: int) -> list[Sequence[str]]:
    """λ_D(F1) by each noise whose rate leaves the model's F1."""
    data, rows = read(file, None, train_only=True), []
    for noise in ("flips", "replacement", "frequency"):
        level = analyse(data, Bayes(), noise=noise, f1=[F1]).levels[0]
        cells = [noise, f"{level.rate:.4f}", f"{level.f1_measured:.1f}", _interval(level)]
        if rounds:
            fought = analyse(data, Mlp(), noise=noise, f1=[F1], settings=protocol(rounds)).levels[0]
            cells.append(_spread(fought))
        rows.append(cells)
    return rows


def _spread(found: LeakageEstimate) -> str:
    """Mean and SD over rounds, as the paper prints them."""
    return f"{found.estimate:.2f}" + (f" ± {found.sd:.2f}" if found.sd == found.sd else "")


def _interval(found: LeakageEstimate) -> str:
    return f"{found.estimate:.2f} ({found.low:.2f} to {found.high:.2f})"


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--rounds", type=int, default=0)
    parser.add_argument("--noisy", action="store_true")
    chosen = parser.parse_args()
    more = [f"attacker as published, {chosen.rounds} rounds", "attacker, last epoch, no fold"] if chosen.rounds else []
    head = ["training set", "published", f"closed form, {DRAWS} draws", "closed form, test balanced alike", *more]
    print(markdown(head, split_rows(chosen.file, chosen.rounds)))
    rounds = chosen.rounds if chosen.noisy else 0
    head = ["noise", "rate", "F1 left", "closed form", *(["attacker"] if rounds else [])]
    print(markdown(head, noise_rows(chosen.file, rounds)))


if __name__ == "__main__":
    main()
