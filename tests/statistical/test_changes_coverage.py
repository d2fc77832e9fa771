"""The shares that change each way are covered, where each subject has one pair and where it has several (slow)."""

import numpy as np

from transect.effects.rates import changes
from transect.records import Attribute, Design

ATTRIBUTES = {name: Attribute(name, "binary", name, levels=("off", "on")) for name in ("glasses", "hat", "beard")}


def test_shares_of_changes_cover(size, shares, subjects, extra, alike):
    """Pairs change up, down or not; with chance `alike` all of a subject's pairs do the same."""
    rng = np.random.default_rng(subjects + extra)
    names = ["glasses", "hat", "beard"][: 1 + extra]
    design = Design(dict.fromkeys(names, (0.0, 1.0)), subjects=subjects)
    up, down = shares
    covered = np.zeros(2)
    for _ in range(size.tables):
        moves = rng.choice([1, -1, 0], size=(subjects, 2**extra), p=[up, down, 1 - up - down])
        moves = np.where(rng.random((subjects, 1)) < alike, moves[:, :1], moves)
        stays = rng.integers(0, 2, moves.shape)
        y = np.stack([np.where(moves == 0, stays, moves < 0), np.where(moves == 0, stays, moves > 0)], axis=1)
        row = changes(y.reshape(subjects, *design.shape).astype(float), design, ATTRIBUTES)[0]
        covered += [row.up.low <= up <= row.up.high, row.down.low <= down <= row.down.high]
    size.covers(covered / size.tables)
