"""The index: constraints are kept, recall is what it says, and without faiss the message is the pip line."""

import itertools
import sys

import numpy as np
import pytest

from transect.designs.matching import greedy, make_sample, nearest
from transect.designs.matching.search import Search
from transect.errors import MissingExtra


def test_without_faiss_the_message_is_the_pip_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match="pip install 'transect\\[ann\\]'"):
        nearest.ApproximateSearch(make_sample(np.array([[0.0], [1.0]]), [1.0, 0.0]))


@pytest.fixture
def clustered(monkeypatch):
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    monkeypatch.setattr(nearest, "_FEW", 200)
    rng = np.random.default_rng(0)
    center = rng.normal(size=(40, 16)) * 4
    features = (center[rng.integers(0, 40, 4000)] + rng.normal(size=(4000, 16))).astype(np.float32)
    treatment = (rng.random(4000) < 0.3).astype(float)
    return make_sample(features, treatment, identity=rng.integers(0, 3000, 4000), exact=[rng.integers(0, 2, 4000)])


def test_pairs_keep_the_constraints_and_nearly_the_exact_distances(clustered):
    made = greedy(clustered, search=nearest.ApproximateSearch(clustered, probes=8))
    exact = greedy(clustered)
    assert (clustered.exact[made.a] == clustered.exact[made.b]).all()
    people = clustered.identity[np.concatenate([made.a, made.b])]
    assert len(set(people.tolist())) == len(people)
    assert len(made) + sum(made.refusals.values()) == int(clustered.treatment.sum())
    assert len(made) > 0.95 * len(exact)
    common = min(len(made), len(exact)) // 2
    assert exact.distance[:common].mean() <= made.distance[:common].mean() < 1.1 * exact.distance[:common].mean()


def test_recall_is_counted_and_grows_with_the_cells_looked_into(clustered):
    few, all_ = (nearest.ApproximateSearch(clustered, probes=p) for p in (1, 10_000))
    truth = Search(clustered)
    rows = clustered.rows[:50]
    found, exact = few.nearest(rows, clustered.columns, 16), truth.nearest(rows, clustered.columns, 16)
    counted = np.mean([np.isin(one, other).mean() for one, other in zip(exact.columns, found.columns, strict=True)])
    assert 0.2 < counted < 1
    assert few.recall() < all_.recall()
    assert all_.recall() > 0.999


def test_cells_that_are_used_up_refuse_nobody_and_the_index_is_kept(monkeypatch):
    """As many controls as treated images: each has a partner, though the cells beside the late ones are empty."""
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    monkeypatch.setattr(nearest, "_FEW", 50)
    learned = []
    index = nearest.ApproximateSearch._index
    monkeypatch.setattr(
        nearest.ApproximateSearch,
        "_index",
        lambda self, inside: learned.append(len(inside)) or index(self, inside),
    )
    rng = np.random.default_rng(0)
    features = rng.normal(size=(2400, 8)).astype(np.float32) * 3
    treatment = (np.arange(2400) < 1200).astype(float)
    features[treatment == 1, 0] += 3
    sample = make_sample(features, treatment)
    made = greedy(sample, search=nearest.ApproximateSearch(sample, probes=2, list_length=4))
    assert len(made) == 1200
    assert not made.refused
    assert len(set(made.b.tolist())) == 1200
    assert learned[0] == 1200
    assert all(later < earlier / 2 for earlier, later in itertools.pairwise(learned))
