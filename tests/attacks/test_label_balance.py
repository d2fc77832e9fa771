"""The largest balanced subset: by formula for one label, by trying all subsets for several."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from leaky_data import IMSITU

from transect.attacks import balance, dataset_leakage, labelled
from transect.attacks.attackers import Logistic
from transect.attacks.balance import balanced_subset, capped, costs, label_counts
from transect.attacks.tables import labelled_data, read_labels


def meets(bits, groups, alpha, sizes=True):
    """Whether no label occurs more than alpha times as often with one class as with another; sizes: nor the items."""
    for column in (*bits.T, *([np.ones(len(bits), dtype=bool)] if sizes else [])):
        counts = [int((column & (groups == g)).sum()) for g in (0, 1)]
        if max(counts) > alpha * min(counts) + 1e-9:
            return False
    return True


def largest_by_trying(bits, groups, alpha, sizes):
    n = len(groups)
    for size in range(n, -1, -1):
        for rows in itertools.combinations(range(n), size):
            if meets(bits[list(rows)], groups[list(rows)], alpha, sizes):
                return size
    return 0


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 10_000), st.sampled_from([1.0, 1.5, 2.0, 3.0]), st.booleans())
def test_no_subset_is_larger(seed, alpha, sizes):
    rng = np.random.default_rng(seed)
    bits, groups = rng.random((9, 3)) < 0.5, np.array([0] * 5 + [1] * 4)
    found = balanced_subset(labelled(bits, groups), alpha, balance_sizes=sizes)
    assert meets(bits[found.rows], groups[found.rows], alpha, sizes)
    assert len(found.rows) == largest_by_trying(bits, groups, alpha, sizes)
    assert found.bound >= len(found.rows)


def test_a_search_out_of_time_falls_back_on_the_heuristic_and_says_so(monkeypatch):
    rng = np.random.default_rng(0)
    data = labelled(rng.random((300, 10)) < 0.3, rng.integers(0, 2, 300))
    whole = balanced_subset(data, 1.5)
    assert not whole.stopped
    monkeypatch.setattr(balance, "SECONDS", 0.0)
    found, heuristic = balanced_subset(data, 1.5), balanced_subset(data, 1.5, heuristic=True)
    assert found.stopped
    assert found.rows.tolist() == heuristic.rows.tolist()
    assert 0 < len(found.rows) <= len(whole.rows) <= found.bound <= 300
    assert meets(data.labels.matrix[found.rows], data.protected[found.rows], 1.5)
    (cost,) = costs(data, (1.5,))
    assert cost.kept == len(heuristic.rows)
    assert "there may be a larger one" in cost.note


def test_one_label_is_capped_exactly():
    # Three classes: 10, 4 and 5 items of a; b lacks a class. At 2: 8 + 4 + 5; at 1: 4 + 4 + 4.
    assert capped(np.array([[10, 4, 5], [3, 0, 1]]), 2.0).tolist() == [[8, 4, 5], [0, 0, 0]]
    category = np.repeat([0, 0, 0, 1, 1], [10, 4, 5, 3, 1])
    data = labelled(category, np.repeat([0, 1, 2, 0, 2], [10, 4, 5, 3, 1]))
    assert label_counts(data.take(balanced_subset(data, 1.0).rows)).tolist() == [[4, 4, 4], [0, 0, 0]]


def test_classes_of_a_balanced_subset_are_of_equal_size_and_its_labels_do_not_leak():
    rng = np.random.default_rng(3)
    groups = rng.integers(0, 2, 1200)
    bits = rng.random((1200, 6)) < np.where(groups[:, None] == 0, 0.35, 0.1)  # class 1 often has no label at all
    data = labelled(bits, groups)
    subset, by_label = balanced_subset(data, 1.0), balanced_subset(data, 1.0, balance_sizes=False)
    sizes = np.bincount(groups[subset.rows])
    assert sizes[0] == sizes[1]
    assert len(set(np.bincount(groups[by_label.rows]).tolist())) == 2
    assert len(subset.rows) < len(by_label.rows)
    leaks = [dataset_leakage(data.take(found.rows), Logistic()) for found in (subset, by_label)]
    assert leaks[0].estimate < 51
    assert leaks[1].low > 50


def test_which_items_stay_is_drawn_and_belongs_to_the_item():
    data = labelled(np.zeros(40, dtype=int), np.repeat([0, 1], [30, 10]))
    order = np.random.default_rng(0).permutation(40)
    one, other = balanced_subset(data, 1.0), balanced_subset(data.take(order), 1.0)
    assert sorted(order[other.rows].tolist()) == one.rows.tolist()
    assert one.rows.tolist() != balanced_subset(data, 1.0, seed=1).rows.tolist()
    assert one.worst == 1.0


@pytest.mark.skipif(not IMSITU.exists(), reason="needs the imSitu labels beside the repository")
def test_the_published_subsets_of_imsitu_are_met_label_by_label():
    table = read_labels(IMSITU)
    data = labelled_data(table, ["verb_id"], "gender", split="split")
    part = data.take(data.rows_of("train"))
    for alpha in (3, 2, 1):
        theirs = labelled_data(table, ["verb_id"], "gender", split="split", where=f"in_alpha{alpha}")
        ours = label_counts(part, balanced_subset(part, alpha).rows)
        assert (ours == label_counts(theirs, theirs.rows_of("train"))).all()
