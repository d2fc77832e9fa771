"""Trees on bins are the trees that scikit-learn fits to the scores themselves."""

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.utils.class_weight import compute_sample_weight

from transect.attacks.attackers.classical import binned


def scores(kind, rng, n):
    values = rng.normal(size=(n, 4)).astype(np.float32)
    if kind == "ties":
        return np.round(values, 2)
    if kind == "mixed":  # two values, few values, one value, and more than there are bins
        values[:, 0] = values[:, 0] > 0
        values[:, 1] = np.round(values[:, 1])
        values[:, 2] = 7
    return values


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["continuous", "ties", "mixed"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_bins_give_the_same_probabilities_to_the_last_bit(kind, n_classes):
    rng = np.random.default_rng(n_classes)
    values = scores(kind, rng, 1500)
    groups = np.digitize(values[:, 3] + rng.normal(size=1500), [0.5, 1.5][: n_classes - 1])
    train, test = values[:1000], values[1000:] + np.float32(0.003)
    probabilities = []
    for taught, asked in ((train, test), binned(train, test, compute_sample_weight("balanced", groups[:1000]))):
        model = HistGradientBoostingClassifier(max_iter=20, early_stopping=False, class_weight="balanced")
        probabilities.append(model.fit(taught, groups[:1000]).predict_proba(asked))
    assert (probabilities[0] == probabilities[1]).all()
