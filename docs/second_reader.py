"""Fit the second reader of the reference generator's pictures again: `python docs/second_reader.py`.

Draws subjects of the reference generator, reads their truths from the causal model whose latents taught it, and fits a
ridge regression of each attribute with a direction. The penalty is chosen on a fifth of the pictures, the figures are
of another fifth.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
from jaxtyping import Float

from transect.controls.files import read_directions
from transect.generators.faceworld.latent_world import LatentWorld
from transect.generators.faceworld.world import FaceWorld
from transect.generators.reference import DIRECTIONS, reference
from transect.perceptual.second_reader import KIND, SIDE, WEIGHTS, described
from transect.runs.folder import write_atomically
from transect.runs.tensor_files import content_of

FIRST_SUBJECT = 7 << 45
"""Of a run with seed 57,344; none of the network's training or of the directions."""
PENALTIES = (3.0, 10.0, 30.0, 100.0, 300.0)


def pictures(count: int) -> tuple[Float[np.ndarray, "n f"], Float[np.ndarray, "n k"], tuple[str, ...]]:
    """What the regression sees, and the truths, of so many subjects; by name."""
    generator, teacher = reference(), LatentWorld(FaceWorld(image_size=SIDE))
    latents = generator.sample(FIRST_SUBJECT + np.arange(count, dtype=np.int64))
    truths = teacher.truths(latents)
    names = tuple(direction.name for direction in read_directions(DIRECTIONS).linear)
    columns = [truths[name].to_numpy().astype(np.float64) for name in names]
    columns = [(c > 0).astype(float) if name == "glasses" else c for name, c in zip(names, columns, strict=True)]
    return described(generator.render(latents).pixels), np.stack(columns, axis=1), names


def fit(seen: Float[np.ndarray, "n f"], truths: Float[np.ndarray, "n k"]) -> tuple[dict[str, np.ndarray], list[float]]:
    """The regression by arrays, and R² on the last fifth."""
    from sklearn.linear_model import Ridge

    n = len(seen)
    taught, chosen, held = slice(0, 3 * n // 5), slice(3 * n // 5, 4 * n // 5), slice(4 * n // 5, n)
    mean = seen[taught].mean(axis=0)
    models = [Ridge(alpha=alpha).fit(seen[taught] - mean, truths[taught]) for alpha in PENALTIES]
    errors = [((model.predict(seen[chosen] - mean) - truths[chosen]) ** 2).mean(axis=0) for model in models]
    best = np.argmin(errors, axis=0)
    slopes = np.stack([models[model].coef_[place] for place, model in enumerate(best)], axis=1)
    constants = np.array([models[model].intercept_[place] for place, model in enumerate(best)])
    left = truths[held] - (seen[held] - mean) @ slopes - constants
    quality = 1 - (left**2).mean(axis=0) / truths[held].var(axis=0)
    return {"mean": mean, "slopes": slopes, "constants": constants}, quality.tolist()


def write(arrays: dict[str, np.ndarray], names: tuple[str, ...], quality: list[float], path: Path) -> None:
    """The reader's file, in single precision."""
    single = {name: value.astype(np.float32) for name, value in arrays.items()}
    rounded = [round(value, 4) for value in quality]
    write_atomically(path, content_of(KIND, single, names=list(names), quality=rounded))


def main(arguments: list[str] | None = None) -> None:
    """Draw, fit, write, and print R² by attribute."""
    parser = argparse.ArgumentParser(prog="python docs/second_reader.py", description=__doc__)
    parser.add_argument("--count", type=int, default=3000, help="pictures, a fifth of them held out")
    parser.add_argument("--out", type=Path, default=WEIGHTS, help="the file")
    options = parser.parse_args(arguments)
    seen, truths, names = pictures(options.count)
    arrays, quality = fit(seen, truths)
    write(arrays, names, quality, options.out)
    print(json.dumps(dict(zip(names, np.round(quality, 3).tolist(), strict=True)), indent=1))


if __name__ == "__main__":
    main()
