"""Co-occurrences by hand."""

import numpy as np
import pytest

from transect.attacks import labelled
from transect.attacks.balance import Cost, overview


def test_shares_weigh_classes_the_same():
    # 4 men, of whom 2 cook; 2 women, of whom 2 cook: rates 1/2 and 1, shares 1/3 and 2/3.
    verbs = ["cook", "cook", "drive", "drive", "cook", "cook"]
    found = overview(labelled(verbs, ["man"] * 4 + ["woman"] * 2))
    assert found.counts.tolist() == [[2, 2], [2, 0]]
    assert found.share == pytest.approx(np.array([[1 / 3, 2 / 3], [1.0, 0.0]]))
    assert found.costs == tuple(Cost(alpha, 4, 6, 4, None) for alpha in (3.0, 2.0, 1.0))  # driving has no women at all
    assert found.worst == np.inf


def test_a_label_that_does_not_occur_has_no_share():
    data = labelled([[1, 0], [1, 0]], [0, 1])
    assert np.isnan(overview(data).share[1]).all()


def test_of_several_labels_the_papers_heuristic_stands_beside_the_largest_subset():
    """Men have labels 11 and 10, women 11 and 01: at α = 1 the pair with both labels stays, and no three items do.

    The heuristic drops, for the first label, the man with one label; for the second the woman with one.
    """
    data = labelled([[1, 1], [1, 0], [1, 1], [0, 1]], [0, 0, 1, 1])
    assert overview(data, (1.0,)).costs == (Cost(1.0, 2, 4, 2, 2, 1.08),)
