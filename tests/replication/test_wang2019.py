"""Table 1 of Wang et al. 2019 for imSitu in one run: sizes of the training sets, and λ_D (skipped without the data)."""

import pytest
from leaky_data import IMSITU

import transect
from transect import LeakageOptions

pytestmark = pytest.mark.skipif(not IMSITU.exists(), reason="needs the imSitu labels beside the repository")

SIZES = [(None, (14_199, 10_102)), (3, (11_613, 9_530)), (2, (10_265, 8_884)), (1, (7_342, 7_342))]
"""α, and men and women in training, as published."""


def test_sizes_are_the_published_ones_and_leakage_falls_with_alpha_on_test_pictures_of_the_same_balance():
    """The figures of docs/research/replication-wang2019.md, worked out elsewhere from the same file."""
    options = LeakageOptions(permutations=0, curve=False, f1=(90,), alphas=(3, 2, 1))
    result = transect.leakage(IMSITU, "gender", "verb_id", split="split", attacker="bayes", quiet=True, options=options)
    rows = result.numbers.table
    assert [(row.alpha, row.n_train) for row in rows] == SIZES
    assert [row.dataset_leakage.estimate for row in rows] == pytest.approx([68.49, 63.42, 59.80, 50.00], abs=0.01)
    assert [cost.kept for cost in result.numbers.overview.costs] == [21_143, 19_149, 14_684]
