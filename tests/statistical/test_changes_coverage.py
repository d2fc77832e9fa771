"""The shares that change each way are covered, where each subject has one pair and where it has several (slow)."""

import numpy as np
import pytest

from transect.effects.changes import changes
from transect.records import Attribute, Design

ATTRIBUTES = {name: Attribute(name, "binary", name, levels=("off", "on")) for name in ("glasses", "hat", "beard")}
TABLES = 400


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.6])
@pytest.mark.parametrize(("subjects", "extra"), [(10, 0), (40, 0), (10, 2), (40, 2), (200, 1)])
@pytest.mark.parametrize("shares", [(0.2, 0.2), (0.05, 0.01)])
def test_shares_of_changes_cover(shares, subjects, extra, alike):
    """Pairs change up, down or not; with chance `alike` all of a subject's pairs do the same."""
    rng = np.random.default_rng(subjects + extra)
    names = ["glasses", "hat", "beard"][: 1 + extra]
    design = Design(dict.fromkeys(names, (0.0, 1.0)), subjects=subjects)
    up, down = shares
    covered = np.zeros(2)
    for _ in range(TABLES):
        moves = rng.choice([1, -1, 0], size=(subjects, 2**extra), p=[up, down, 1 - up - down])
        moves = np.where(rng.random((subjects, 1)) < alike, moves[:, :1], moves)
        stays = rng.integers(0, 2, moves.shape)
        y = np.stack([np.where(moves == 0, stays, moves < 0), np.where(moves == 0, stays, moves > 0)], axis=1)
        row = changes(y.reshape(subjects, *design.shape).astype(float), design, ATTRIBUTES)[0]
        covered += [row.up.low <= up <= row.up.high, row.down.low <= down <= row.down.high]
    print(shares, subjects, 2**extra, alike, covered / TABLES)
    assert (covered / TABLES >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / TABLES)).all()


@pytest.mark.slow
@pytest.mark.parametrize("alike", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("people", [10, 30, 100])
@pytest.mark.parametrize("shares", [(0.3, 0.1), (0.05, 0.01)])
def test_shares_of_photographs_cover_where_people_repeat(shares, people, alike):
    """People are on one to eight photographs; with chance `alike` all photographs of a person do the same."""
    rng = np.random.default_rng(people)
    up, down = shares
    covered = np.zeros(2)
    for _ in range(TABLES):
        who = np.repeat(np.arange(people), rng.integers(1, 9, people))
        own, same = rng.choice([1, -1, 0], size=(2, len(who)), p=[up, down, 1 - up - down])
        moves = np.where((rng.random(people) < alike)[who], same[who], own)
        stays = rng.integers(0, 2, len(who))
        y = np.stack([np.where(moves == 0, stays, moves < 0), np.where(moves == 0, stays, moves > 0)], axis=1)
        design = Design({"glasses": (0.0, 1.0)}, subjects=len(who))
        row = changes(y.astype(float), design, ATTRIBUTES, who=who)[0]
        covered += [row.up.low <= up <= row.up.high, row.down.low <= down <= row.down.high]
    print(shares, people, alike, covered / TABLES)
    assert (covered / TABLES >= 0.93 - 2 * np.sqrt(0.05 * 0.95 / TABLES)).all()
