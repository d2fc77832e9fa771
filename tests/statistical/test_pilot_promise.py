"""A plan from a pilot's upper limit reaches its power in 80 % of pilots; one from the estimate in about half (slow)."""

import numpy as np

from transect.effects.planning import plan_from_pilot, upper_deviation, upper_share


def needed(deviation, discordant=None, effect=0.3):
    common = {"images_per_subject": 2, "unpaired_deviation": 0.0, "power": 0.8}
    return plan_from_pilot(effect, deviation, discordant=discordant, **common).subjects


def draws(rng, kind, n):
    if kind == "normal":
        return rng.normal(0.0, 1.0, n)
    # Nine cells of yes or no: a fifth of subjects changes, in a chance number of cells.
    changing = rng.random(n) < 0.2
    return np.where(changing, rng.binomial(9, 0.5, n) / 9, 0.0) * rng.choice([-1.0, 1.0], n)


def test_the_limit_of_the_deviation_keeps_the_promise(size, n, kind):
    """Enough subjects are planned where the deviation that the plan uses is at least the true one."""
    rng = np.random.default_rng(n)
    true = draws(rng, kind, 400_000).std()
    pilots = [draws(rng, kind, n) for _ in range(size.tables)]
    kept = np.mean([(upper_deviation(d) or upper_share(0, n) ** 0.5) >= true for d in pilots])
    size.covers(kept)
    assert needed(float(true) * 1.2) > needed(float(true))  # more spread, more subjects


def test_the_limit_of_the_share_keeps_the_promise(size, share, n):
    """One pair per subject: subjects planned by McNemar's test against those that the true share needs."""
    rng = np.random.default_rng(n)
    counts, times = np.unique(rng.binomial(n, share, size.tables), return_counts=True)
    enough = needed(share**0.5, share, 0.1)
    limits = [upper_share(int(k), n) for k in counts]
    kept = times[[needed(x**0.5, x, 0.1) >= enough for x in limits]].sum() / size.tables
    size.covers(kept)
