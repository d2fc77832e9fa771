"""What λ does to an inversion: the same images inverted at each of several λ (Singh et al. 2021, Fig. 3).

    python examples/replications/singh2021_penalties.py --generator FILE --images FOLDER --out FOLDER
        --penalty 0,0.01,0.1,1,10000 [--face-distance TARGET] [--steps N] [--start mean|encoder] [--encoder FILE]
        [--fit] [--device cpu] [--distance features]

Each λ has a folder below OUT, which is that of a `transect invert` with this λ: rerun to resume. It prints a row for
each λ with means over images and their 95 % intervals by image, and writes OUT/penalties.json: perceptual distance and
pixels of image and reconstruction, restriction (squared distances of the layers' w from their mean; 0 where all are
one), identity distance by the network that ships, which the search sees too, and with --face-distance the Euclidean
distance of that target's embeddings. A face distance says how like a network finds two pictures, not whether people see
one person. Images in which the target finds no face are counted, and so are its other failures.

Source: Singh et al. 2021, arXiv:2103.13455, equation 1 and Fig. 3.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np

import transect
from transect.effects.intervals import mean_interval
from transect.errors import BadInput, TransectError
from transect.experiment.recipes import embedding_target
from transect.inversion.pictures import Pictures
from transect.records import Images, Task
from transect.runs.pictures import pixels_of_png
from transect.targets.guard import guarded

MEASURES = ("perceptual", "pixels", "restriction", "identity_distance")


def mean_of(values):
    """Mean, interval and number of the images that have a value; NaN ends with fewer than two."""
    known = np.asarray(values, dtype=np.float64)
    known = known[np.isfinite(known)]
    if not len(known):
        return {"mean": np.nan, "low": np.nan, "high": np.nan, "n": 0}
    ends = mean_interval(known[:, None])
    return {"mean": known.mean(), "low": float(ends.low[0]), "high": float(ends.high[0]), "n": len(known)}


def network_of(target):
    """The target that embeds faces. Raises BadInput for one without embeddings."""
    network = embedding_target(target, None)
    if Task(network.task) is not Task.EMBEDDING:
        raise BadInput(f"--face-distance {network.name}: expected a target with embeddings, got {network.task}")
    return network


def face_distances(original, table):
    """How far the network finds reconstructions from their images. original: its answers about the images.

    Distances have NaN where an answer is missing. Of images whose inversion succeeded, with them: in how many the
    network found no face in either picture, and of how many it failed otherwise.
    """
    network, known = original
    inverted = np.array([not why for why in table["failure"].to_pylist()])
    pictures = np.stack([pixels_of_png(picture.as_py()) for picture in table["image"]])
    rendered = guarded(network, Images(pictures), timeout=10.0, batch=16)
    there = inverted & ~(known.failed | rendered.failed)
    distances = np.full(len(there), np.nan)
    distances[there] = np.linalg.norm(known.scores[there] - rendered.scores[there], axis=1)
    reasons = [pair for pair, ok in zip(zip(known.failures, rendered.failures, strict=True), inverted, strict=True)
               if ok and any(pair)]  # fmt: skip
    no_face = sum(any(reason.startswith("no face") for reason in pair) for pair in reasons)
    return distances, no_face, len(reasons) - no_face


def sweep(images, generator, out, penalties, face=None, **settings):
    """A row for each λ, in its order: means of the measures, and failures."""
    if len(set(penalties)) < len(penalties):
        raise BadInput(f"--penalty: expected each λ once, got {', '.join(f'{value:g}' for value in penalties)}")
    if face is not None:
        network = network_of(face)
        size = transect.generators.load(generator).image_size
        pixels = Pictures.open(images, size, fit=settings.get("fit", False))
        original = network, guarded(network, Images(pixels.pixels(range(len(pixels)))), timeout=10.0, batch=16)
    rows = []
    for penalty in sorted(penalties):
        result = transect.invert(images, generator, out / f"penalty-{penalty:g}", penalty=penalty, **settings)
        means = {name: mean_of(result.table[name].to_numpy()) for name in MEASURES}
        counts = {"failed": result.numbers.failed}
        if face is not None:
            distances, no_face, failed = face_distances(original, result.table)
            means["face_distance"] = mean_of(distances)
            counts |= {"no_face": no_face, "face_failed": failed}
        rows.append({"penalty": penalty, **counts, **means})
    return rows


def main():
    """Print a row for each λ, and write OUT/penalties.json."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("generator", "images"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--penalty", default="0,0.01,0.1,1,10000")
    parser.add_argument("--face-distance")
    parser.add_argument("--steps", type=int)
    parser.add_argument("--start", default="mean")
    parser.add_argument("--encoder", type=Path)
    parser.add_argument("--fit", action="store_true")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--distance", default="features")
    given = parser.parse_args()
    options = transect.InvertOptions(distance=given.distance)
    penalties = [float(value) for value in given.penalty.split(",")]
    rows = sweep(given.images, given.generator, given.out, penalties, given.face_distance, steps=given.steps,
                 start=given.start, encoder=given.encoder, fit=given.fit, device=given.device,
                 options=options)  # fmt: skip
    names = [name for name, value in rows[0].items() if isinstance(value, dict)]
    print(f"| λ | {' | '.join(name.replace('_', ' ') for name in names)} |\n{'| --- ' * (len(names) + 1)}|")
    for row in rows:
        cells = [f"{row[name]['mean']:.4g} [{row[name]['low']:.4g}, {row[name]['high']:.4g}]" for name in names]
        print(f"| {row['penalty']:g} | {' | '.join(cells)} |")
    for row in rows:
        counts = {name: value for name, value in row.items() if isinstance(value, int) and value}
        if counts:
            print(f"λ = {row['penalty']:g}: {', '.join(f'{name} {value}' for name, value in counts.items())}")
    (given.out / "penalties.json").write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    try:
        main()
    except TransectError as error:
        sys.exit(f"singh2021_penalties: {error}")
