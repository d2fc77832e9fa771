import numpy as np
from scipy.spatial.distance import cdist

from transect.designs.matching import in_metric, weighted

RNG = np.random.default_rng(0)


def test_mahalanobis_equals_scipys_with_the_pooled_covariance_within_groups():
    x = RNG.normal(size=(80, 3)) @ np.array([[2.0, 1, 0], [0, 1, 0.5], [0, 0, 3]])
    t = (np.arange(80) < 30).astype(float)
    x[t == 1] += 5
    within = (29 * np.cov(x[t == 1].T) + 49 * np.cov(x[t == 0].T)) / 78
    made, dropped = in_metric(x, t, "mahalanobis")
    np.testing.assert_allclose(cdist(made, made), cdist(x, x, "mahalanobis", VI=np.linalg.inv(within)), atol=1e-8)
    assert dropped == 0


def test_a_redundant_and_a_constant_column_are_dropped_and_do_not_matter():
    x = RNG.normal(size=(60, 2))
    t = (np.arange(60) % 2).astype(float)
    more = np.column_stack([x, x[:, 0] + x[:, 1], np.full(60, 7.0)])
    plain, _ = in_metric(x, t, "mahalanobis")
    made, dropped = in_metric(more, t, "mahalanobis")
    assert dropped == 2
    np.testing.assert_allclose(cdist(made, made), cdist(plain, plain), atol=1e-6)


def test_blocks_add_their_weighted_squared_distances():
    one, two = RNG.normal(size=(10, 3)), RNG.normal(size=(10, 5)).astype(np.float32)
    made = weighted([one, two], [1.0, 2.5])
    np.testing.assert_allclose(cdist(made, made) ** 2, cdist(one, one) ** 2 + 2.5 * cdist(two, two) ** 2, atol=1e-5)
    assert weighted([two], [1.0]) is two
