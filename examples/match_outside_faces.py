"""Matching outside faces: do stripes make a detector miss a disc, when striped discs are smaller anyway?

Scenes are drawn here, so that the truth is known: an experiment shows the same scenes with and without stripes. The
"data set" has the same scenes without any intervention, with stripes mostly on small discs. Four answers are compared:

    python examples/match_outside_faces.py
"""

import numpy as np

from transect.designs.matching import greedy, in_metric, make_sample
from transect.effects.intervals import mean_difference_interval
from transect.effects.matched_pairs import adjusted_pair_outcome, balance, pair_outcome, verdict
from transect.effects.paired_models import disagreement_of_designs

SIDE = 24


def draw(size, light, striped, noise):
    """One gray picture [24, 24]: a disc of a radius `size` on black, its `light` halved on every fourth row."""
    y, x = np.mgrid[:SIDE, :SIDE] - (SIDE - 1) / 2
    disc = (x**2 + y**2 <= size**2) * light
    rows = np.where((np.arange(SIDE) % 4 == 0) & bool(striped), 0.5, 1.0)
    return disc * rows[:, None] + noise


def misses(pictures):
    """The model under audit: it finds a disc where the picture's mean is large enough."""
    return (pictures.mean(axis=(1, 2)) < 0.11).astype(float)


def scenes(n, seed):
    """Sizes, lights and camera noise of n scenes, and stripes that go with small discs."""
    rng = np.random.default_rng(seed)
    size, light = rng.uniform(3, 7, n), rng.uniform(0.4, 1.0, n)
    striped = rng.random(n) < 1 / (1 + np.exp(1.2 * (size - 5)))
    return size, light, striped.astype(float), rng.normal(0, 0.1, (n, SIDE, SIDE))


def pictures(size, light, striped, noise):
    """All pictures, [n, 24, 24]."""
    return np.stack([draw(*scene) for scene in zip(size, light, striped, noise, strict=True)])


def main() -> dict[str, float]:
    """Prints the four answers, and whether the pairs disagree with the experiment."""
    size, light, striped, noise = scenes(1500, seed=0)
    missed = misses(pictures(size, light, striped, noise))
    covariates = {"size": size, "light": light}

    size2, light2, _, noise2 = scenes(400, seed=1)
    both = [misses(pictures(size2, light2, np.full(400, level), noise2)) for level in (0.0, 1.0)]
    d = (both[1] - both[0])[:, None]
    interval = mean_difference_interval(d, binary=True)
    experiment = (float(d.mean()), float(interval.low[0]), float(interval.high[0]))

    features, _ = in_metric(np.column_stack([size, light]), striped, "mahalanobis")
    pairs = greedy(make_sample(features, striped), caliper=0.2)
    groups = np.flatnonzero(striped == 1), np.flatnonzero(striped == 0)
    matched = pair_outcome(missed, pairs.a, pairs.b)
    adjusted = adjusted_pair_outcome(missed, covariates, pairs.a, pairs.b)
    within = adjusted.estimate, adjusted.low, adjusted.high
    test = disagreement_of_designs(within, experiment)

    unadjusted = float(missed[groups[0]].mean() - missed[groups[1]].mean())
    print(f"all scenes, unmatched: {100 * unadjusted:+z.1f} points")
    print(f"{len(pairs)} matched pairs:     {100 * matched.estimate:+z.1f} points")
    for name, made in (("matched, adjusted:", within), ("set by experiment:", experiment)):
        estimate, low, high = (100 * one for one in made)
        print(f"{name}     {estimate:+z.1f} ({low:+z.1f} to {high:+z.1f})")
    print(f"pairs less experiment: {100 * test.estimate:+z.1f}, p = {test.p:.2f}")
    print(verdict(balance(covariates, *groups, (pairs.a, pairs.b))))
    return {"unadjusted": unadjusted, "matched": matched.estimate, "experiment": experiment[0], "p": test.p}


if __name__ == "__main__":
    main()
