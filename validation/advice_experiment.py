"""Retrains a classifier on the pictures that an observational table advises, and on those that an experiment advises.

python -m validation.advice_experiment FOLDER [--seeds 3] [--label smile>0.5]

A classifier learns from a confounded population. A table of its errors by group names the attribute whose groups differ
most; transects name the attribute that changes errors most, all else held. Each advises as many further pictures of the
worse half of its attribute. Classifiers trained on either, and on as many drawn at random, are asked about the same
fresh subjects: what do the attributes cause in their errors now? The folder keeps all that is finished, and the same
command resumes; it prints the tables of docs/research/mitigation.md.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from transect.generators import load
from transect.mitigation.adversarial import Settings, fit_predictor, scores_of
from transect.mitigation.data import TaskData
from transect.mitigation.measuring import over_seeds
from transect.mitigation.networks import new_network
from transect.mitigation.testbed import codes
from transect.records import Latents
from transect.runs.folder import spec_hash, write_atomically
from validation.text import markdown

POPULATION = "celebrity-like"
ATTRIBUTES = ("skin_tone", "face_shape", "age", "hair_length", "facial_hair", "makeup")
ARMS = ("random", "observation", "experiment")
POOL, ADVICE, AUDIT = 20_000_000, 30_000_000, 40_000_000
"""First seeds of the pictures that are added, of the subjects that advise, and of those that only measure."""

LOW, HIGH = 0.1, 0.9
"""Levels of a transect, as quantiles of the population."""


@dataclass(frozen=True)
class Sizes:
    """Pictures and subjects; epochs of every training."""

    train: int = 1500
    check: int = 400
    test: int = 2000
    extra: int = 500
    subjects: int = 200
    epochs: int = 8
    size: int = 64


class Pictures:
    """Pixels by row."""

    def __init__(self, made: np.ndarray) -> None:
        self.made = made

    def pixels(self, rows: np.ndarray) -> np.ndarray:
        """Those of the rows."""
        return self.made[rows]


class Experiment:
    """The world, the label, and what is kept in the folder."""

    def __init__(self, folder: Path, sizes: Sizes, label: str) -> None:
        self.folder, self.sizes, self.label = folder, sizes, label
        self.world: Any = load("faceworld", image_size=sizes.size, population=POPULATION)
        self.spec = {"sizes": asdict(sizes), "label": label, "world": self.world.describe()}
        people = self.world.read(self.world.sample(np.arange(sizes.train)))
        self.values = {name: np.asarray(people[name], dtype=np.float64) for name in ATTRIBUTES}
        self.middle = {name: float(np.median(values)) for name, values in self.values.items()}

    def figures(self, arm: str, seed: int) -> dict[str, Any]:
        """Effects, gaps and error of one classifier; trained where the folder lacks it."""
        file = self.folder / f"{arm}-{seed}-{spec_hash(self.spec)[:12]}.json"
        if file.exists():
            return dict(json.loads(file.read_text(encoding="utf-8")))
        advice = None if arm == "plain" else self.advice(arm, seed)
        print(f"{arm}, seed {seed}: {advice or 'no advice'}", file=sys.stderr, flush=True)
        network = self.trained(seed, self.added(seed, advice) if arm != "plain" else [])
        first = ADVICE if arm == "plain" else AUDIT
        made = {"advice": advice, "gaps": self.gaps(network), "effects": self.effects(network, first)}
        if arm == "plain":
            made["true effects"] = self.effects(network, AUDIT)
        made["error"] = float(100 * self.errors(network, np.arange(*self.tested)).mean())
        write_atomically(file, json.dumps(made, indent=1).encode())
        return made

    @property
    def tested(self) -> tuple[int, int]:
        """First and last seed of the population's own pictures that measure."""
        start = self.sizes.train + self.sizes.check
        return start, start + self.sizes.test

    def advice(self, arm: str, seed: int) -> tuple[str, bool] | None:
        """The attribute and whether its upper half is the worse one; None for pictures drawn at random."""
        if arm == "random":
            return None
        found = self.figures("plain", seed)["gaps" if arm == "observation" else "effects"]
        worst = max(ATTRIBUTES, key=lambda name: abs(found[name]))
        return worst, found[worst] > 0

    def added(self, seed: int, advice: tuple[str, bool] | None) -> list[int]:
        """Seeds of the pictures to add: the first of the pool, or the first of them in the worse half."""
        start = POOL + 100_000 * seed
        pool = np.arange(start, start + 10 * self.sizes.extra)
        if advice is None:
            return pool[: self.sizes.extra].tolist()
        values = np.asarray(self.world.read(self.world.sample(pool))[advice[0]], dtype=np.float64)
        chosen = pool[(values > self.middle[advice[0]]) == advice[1]]
        return chosen[: self.sizes.extra].tolist()

    def trained(self, seed: int, added: Sequence[int]) -> Any:
        """A classifier of the label, from the population's first pictures and those that are added."""
        own = self.sizes
        rows = np.concatenate([np.arange(own.train + own.check), np.array(added, dtype=np.int64)])
        latents = self.world.sample(rows)
        data = TaskData(Pictures(self.pixels(latents)), self.truth(latents)[:, None], rows % 2, (self.label,))
        learned = np.concatenate([np.arange(own.train), np.arange(own.train + own.check, len(rows))])
        checked = np.arange(own.train, own.train + own.check)
        settings = Settings("embedding", rate=2e-3, epochs=own.epochs, patience=own.epochs, batch=64, seed=seed)
        return fit_predictor(new_network(1, (16, 32, 64), seed), data, learned, checked, settings, lambda *_: None)

    def gaps(self, network: Any) -> dict[str, float]:
        """What a table of errors by group says: the upper half's error rate less the lower half's, in points."""
        rows = np.arange(*self.tested)
        wrong, people = self.errors(network, rows), self.world.read(self.world.sample(rows))
        upper = {name: np.asarray(people[name], dtype=np.float64) > self.middle[name] for name in ATTRIBUTES}
        return {name: float(100 * (wrong[up].mean() - wrong[~up].mean())) for name, up in upper.items()}

    def effects(self, network: Any, first: int) -> dict[str, float]:
        """What transects say: the mean change of error from the low to the high level of each attribute, in points."""
        subjects, made = first + np.arange(self.sizes.subjects), {}
        for name in ATTRIBUTES:
            levels = np.quantile(self.values[name], (LOW, HIGH))
            latents = self.world.sample(subjects).repeat(2)
            latents = self.world.set(latents, {name: np.tile(levels, len(subjects))})
            wrong = self.wrong(network, latents).reshape(-1, 2)
            made[name] = float(100 * (wrong[:, 1] - wrong[:, 0]).mean())
        return made

    def errors(self, network: Any, rows: np.ndarray) -> np.ndarray:
        """1 where the answer of the population's picture is wrong."""
        return self.wrong(network, self.world.sample(rows))

    def wrong(self, network: Any, latents: Latents) -> np.ndarray:
        """1 where the answer is wrong."""
        rows, truth = np.arange(len(latents)), self.truth(latents)
        data = TaskData(Pictures(self.pixels(latents)), truth[:, None], rows % 2, (self.label,))
        return ((scores_of(network, data.pictures, rows)[:, 0] >= 0) != truth).astype(np.float64)

    def truth(self, latents: Latents) -> np.ndarray:
        """The label."""
        people = self.world.read(latents)
        values = {name: np.asarray(people[name], dtype=np.float64) for name in people.column_names}
        return codes(self.label, values, self.world.attributes)[0] == 1

    def pixels(self, latents: Latents) -> np.ndarray:
        """Their pictures, rendered once."""
        settings = {name: column.tolist() for name, column in latents.settings.items()}
        shown = {"world": self.world.describe(), "seeds": latents.seeds.tolist(), "settings": str(settings)}
        key = spec_hash(shown)[:16]
        file = self.folder / "pictures" / f"{key}.npy"
        if file.exists():
            return np.load(file, allow_pickle=False)
        made, content = self.world.render(latents).pixels, io.BytesIO()
        np.save(content, made, allow_pickle=False)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content.getvalue())
        return made


def effect_rows(plain: Sequence[Mapping[str, Any]]) -> list[Sequence[str]]:
    """What the table says of each attribute, and what the experiment and the truth say, before retraining."""
    names = ("gaps", "effects", "true effects")
    return [[a, *(_range([one[name][a] for one in plain]) for name in names)] for a in ATTRIBUTES]


def arm_rows(found: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[Sequence[str]]:
    """For each classifier what it was advised, its largest and mean true effect, and its error."""
    rows = []
    for arm, seeds in found.items():
        effects = [np.abs(list(one["true effects" if arm == "plain" else "effects"].values())) for one in seeds]
        advised = [f"{one['advice'][0]} {'high' if one['advice'][1] else 'low'}" for one in seeds if one["advice"]]
        cells = [[float(e.max()) for e in effects], [float(e.mean()) for e in effects], [one["error"] for one in seeds]]
        rows.append([arm, ", ".join(advised) or "none", *(_range(cell) for cell in cells)])
    return rows


def _range(values: Sequence[float]) -> str:
    figure = over_seeds(list(values))
    ends = "" if figure.low is None else f" ({figure.low:.1f} to {figure.high:.1f})"
    return f"{figure.estimate:.1f}{ends}".replace("-", "−")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the folder lacks, and print both tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--label", default="smile>0.5")
    for name, value in asdict(Sizes()).items():
        parser.add_argument(f"--{name}", type=int, default=value)
    chosen = vars(parser.parse_args(arguments))
    sizes = Sizes(**{name: chosen[name] for name in asdict(Sizes())})
    experiment = Experiment(chosen["folder"], sizes, chosen["label"])
    seeds = range(chosen["seeds"])
    found = {arm: [experiment.figures(arm, seed) for seed in seeds] for arm in ("plain", *ARMS)}
    head = ("attribute", "table by group", "experiment", "truth: experiment on other subjects")
    print(markdown(head, effect_rows(found["plain"])))
    print(markdown(("trained on", "advice", "largest true effect", "mean true effect", "error, %"), arm_rows(found)))


if __name__ == "__main__":
    main()
