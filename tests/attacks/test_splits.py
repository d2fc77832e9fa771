"""Folds and draws."""

import numpy as np
import pytest
from leaky_data import planted

from transect.attacks.records import item_keys
from transect.attacks.scoring import balanced_draw, folds
from transect.errors import BadInput


def test_folds_score_every_item_once_with_classes_alike():
    data = planted(n=1003, split=False)
    made = folds(data, seed=3)
    assert np.sort(np.concatenate([fold.test for fold in made])).tolist() == list(range(1003))
    for fold in made:
        assert not set(fold.train) & set(fold.test)
        shares = np.bincount(data.protected[fold.test]) - np.bincount(data.protected) / 5
        assert np.abs(shares).max() < 1  # dealt in turn: at most one item away from a fifth


def test_the_fold_of_an_item_does_not_depend_on_the_order_of_rows():
    data = planted(n=200, split=False)
    order = np.random.default_rng(0).permutation(200)
    number = np.empty(200, dtype=int)
    shuffled = np.empty(200, dtype=int)
    for i, (one, other) in enumerate(zip(folds(data), folds(data.take(order)), strict=True)):
        number[one.test] = i
        shuffled[order[other.test]] = i
    assert (number == shuffled).all()


def test_a_draw_has_equal_classes_and_is_without_replacement():
    groups = np.repeat([0, 1, 2], [50, 20, 30])
    keys = item_keys(range(100))
    drawn = balanced_draw(np.arange(100), groups, keys, seed=1)
    assert np.bincount(groups[drawn]).tolist() == [20, 20, 20]
    assert len(set(drawn.tolist())) == 60
    assert set(drawn.tolist()) != set(balanced_draw(np.arange(100), groups, keys, seed=2).tolist())
    with pytest.raises(BadInput, match="expected at least 21 items of each class, got 20"):
        balanced_draw(np.arange(100), groups, keys, seed=1, per_class=21)


def test_every_row_is_drawn_equally_often():
    groups = np.repeat([0, 1], [40, 10])
    keys = item_keys(range(50))
    times = sum(np.isin(np.arange(50), balanced_draw(np.arange(50), groups, keys, seed=s)) for s in range(2000))
    # 10 of 40 in each of 2,000 draws: 500, SD sqrt(2000 · 1/4 · 3/4) = 19.4; five SD hold 40 items.
    assert np.abs(times[:40] - 500).max() < 5 * 19.4
    assert (times[40:] == 2000).all()
