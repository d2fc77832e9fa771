"""Co-occurrences by hand."""

import numpy as np
import pytest

from transect.effects import wilson
from transect.leakage import labelled
from transect.leakage.overview import overview


def test_shares_weigh_classes_the_same():
    # 4 men, of whom 2 cook; 2 women, of whom 2 cook: rates 1/2 and 1, shares 1/3 and 2/3.
    verbs = ["cook", "cook", "drive", "drive", "cook", "cook"]
    found = overview(labelled(verbs, ["man"] * 4 + ["woman"] * 2))
    assert found.counts.tolist() == [[2, 2], [2, 0]]
    assert found.share == pytest.approx(np.array([[1 / 3, 2 / 3], [1.0, 0.0]]))
    low, high = wilson(2, 4)
    assert (found.low[0, 0], found.high[0, 0]) == (low, high)
    assert found.costs == ((3.0, 4, 6), (2.0, 4, 6), (1.0, 4, 6))  # driving has no women at all
    assert found.worst == np.inf


def test_only_training_items_count():
    data = labelled([0, 0, 1, 1], [0, 1, 0, 1], split=["train", "train", "test", "train"])
    assert overview(data).counts.tolist() == [[1, 1], [0, 1]]


def test_a_label_that_does_not_occur_has_no_share():
    data = labelled([[1, 0], [1, 0]], [0, 1])
    assert np.isnan(overview(data).share[1]).all()
    assert np.isnan(overview(data).low[1]).all()
