"""How many change each way: counts by hand, intervals by statsmodels, and shares that add up to the effect."""

import numpy as np
import pytest
from statsmodels.stats.proportion import proportion_confint

from transect.effects.clusters import by_person
from transect.effects.contrasts import contrasts
from transect.effects.intervals import clopper_pearson_clustered
from transect.effects.rates import changes
from transect.effects.resampling import sign_flip
from transect.records import Attribute, Design

GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
HAT = Attribute("hat", "binary", "wears a hat", levels=("off", "on"))
ONE = Design({"glasses": (0.0, 1.0)}, subjects=100)


def table(up, down, n=100):
    y = np.zeros((n, 2))
    y[:up, 1] = 1
    y[up : up + down, 0] = 1
    return y


def test_balanced_changes_show_although_the_net_effect_is_zero():
    """40 of 100 change, 20 each way: the test of balance has p = 1, and both shares are 20 %."""
    y = table(20, 20)
    (row,) = changes(y, ONE, {"glasses": GLASSES})
    assert (row.net, row.up.estimate, row.down.estimate) == (0.0, 0.2, 0.2)
    assert (row.up.pairs, row.up.subjects, row.n_pairs, row.n_subjects) == (20, 20, 100, 100)
    assert sign_flip((y[:, 1] - y[:, 0])[:, None])[0][0] == 1.0


def test_one_pair_per_subject_has_an_exact_interval():
    (row,) = changes(table(7, 3), ONE, {"glasses": GLASSES})
    for share, n in ((row.up, 7), (row.down, 3)):
        assert (share.low, share.high) == pytest.approx(proportion_confint(n, 100, method="beta"))


def test_the_shares_add_up_to_the_effect_with_missing_pairs_and_several_cells():
    rng = np.random.default_rng(0)
    design = Design({"glasses": (0.0, 1.0), "hat": (0.0, 1.0)}, subjects=50)
    attributes = {"glasses": GLASSES, "hat": HAT}
    y = np.where(rng.random((50, 2, 2)) < 0.2, np.nan, rng.integers(0, 2, (50, 2, 2)))
    reasons = np.where(np.isnan(y), "failed", "").astype(object)
    rows = changes(y, design, attributes)
    for row, contrast in zip(rows, contrasts(y, reasons, design, attributes), strict=True):
        assert row.name == contrast.name
        assert row.net == pytest.approx(np.nanmean(contrast.differences))
        assert (row.n_subjects, 2 * row.n_pairs) == (contrast.n_subjects, contrast.n_images)
        assert row.up.low < row.up.estimate < row.up.high


PEOPLE = np.array([0, 0, 0, 1, 2, 2, *range(3, 12)])


def test_photographs_of_people_count_once_each_and_subjects_are_people():
    """Person 0 changes up on three photographs of 15, person 1 on its one, person 2 down on one of two: 4/15, 1/15."""
    y = np.zeros((15, 2))
    y[:4, 1] = 1
    y[4, 0] = 1
    (row,) = changes(y, Design(ONE.levels, subjects=15), {"glasses": GLASSES}, who=PEOPLE)
    assert (row.up.estimate, row.down.estimate) == pytest.approx((4 / 15, 1 / 15))
    assert row.net == pytest.approx(np.diff(y, axis=1).mean())
    assert (row.up.pairs, row.up.subjects, row.down.pairs, row.down.subjects) == (4, 2, 1, 1)
    assert (row.n_pairs, row.n_subjects, row.reason) == (15, 12, "")
    assert (row.up.low, row.up.high) == tuple(
        end[0] for end in clopper_pearson_clustered(*by_person((y[:, 1:] == 1).astype(float), PEOPLE))
    )
