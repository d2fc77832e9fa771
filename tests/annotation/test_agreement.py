"""Agreement: examples worked by hand, other people's implementations, published figures."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from places import SHARED

from transect.annotation.agreement.coefficients import (
    cohen_kappa,
    dawid_skene,
    krippendorff_alpha,
    percent_agreement,
    rater_reliability,
    spread,
)
from transect.errors import BadInput

N = np.nan
# Krippendorff 2011, example C: four observers, twelve units, with missing answers.
PUBLISHED = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
    ]
).T
# Fleiss 1971 as in the textbook table: ten subjects, fourteen raters, five levels.
FLEISS = np.array(
    [
        [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
    ]
)  # fmt: skip
tables = arrays(float, st.tuples(st.integers(2, 7), st.integers(2, 4)), elements=st.sampled_from([0.0, 1.0, 2.0, N]))


def test_alpha_is_as_published():
    for metric, value in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)):
        made = krippendorff_alpha(PUBLISHED, metric)
        assert round(made.value, 3) == value
        assert (made.units, made.answers) == (11, 40)  # the twelfth unit has one answer


@given(tables)
def test_alpha_is_what_another_implementation_says(ratings):
    other = pytest.importorskip("krippendorff")
    for metric in ("nominal", "ordinal", "interval"):
        mine = krippendorff_alpha(ratings, metric)
        if np.isnan(mine.value):
            assert mine.reason
            continue
        theirs = other.alpha(ratings.T, level_of_measurement=metric)
        assert mine.value == pytest.approx(theirs, abs=1e-9)


def test_nothing_to_agree_on_has_a_reason():
    assert krippendorff_alpha([[1.0, N], [N, 2.0]]).reason == "no unit has two answers"
    assert krippendorff_alpha([[1.0, 1.0], [1.0, 1.0]]).reason == "all answers are equal"
    assert np.isnan(percent_agreement([[1.0, N]]))
    assert np.isnan(cohen_kappa([1.0], [N]))
    with pytest.raises(BadInput, match=r"expected \[units, raters\], got 1 axes"):
        krippendorff_alpha([1.0, 2.0])


def test_percent_agreement_counts_pairs():
    # 14 raters: (sum of n(n-1)) / (14 * 13) per subject, mean of the ten is .378 (the textbook's P-bar).
    ratings = np.array([np.repeat(np.arange(5), row) for row in FLEISS], dtype=float)
    assert round(percent_agreement(ratings), 3) == 0.378


def test_cohens_kappa_is_what_another_implementation_says():
    from sklearn.metrics import cohen_kappa_score

    random = np.random.default_rng(2)
    one = random.integers(0, 4, 60)
    other = np.where(random.random(60) < 0.6, one, random.integers(0, 4, 60))
    assert cohen_kappa(one, other) == pytest.approx(cohen_kappa_score(one, other))


def test_spread_is_in_ranges_of_the_scale():
    # 0, 4: standard deviation 2 of a range of 4; 1, 1, 1: none; one answer alone says nothing.
    made = spread([[0, 4, N], [1, 1, 1], [2, N, N]], high=4)
    assert made[:2].tolist() == [0.5, 0.0]
    assert np.isnan(made[2])
    with pytest.raises(BadInput, match="expected low < high"):
        spread([[1.0, 2.0]], high=0)


def test_a_rater_who_answers_by_chance_stands_out():
    random = np.random.default_rng(3)
    truth = random.integers(0, 5, 300).astype(float)
    ratings = np.stack([truth, truth + 1, truth, random.integers(0, 5, 300)], axis=1)
    made = rater_reliability(ratings)
    assert made.correlation[3] < 0.2 < 0.8 < made.correlation[:3].min()
    # The second rater is 1 above the first and the third, and as far above the fourth on average as the truth is, plus 1.
    assert made.bias[1] == pytest.approx(1 + (truth - ratings[:, 3]).mean() / 3)


def test_dawid_and_skene_see_through_a_contrary_rater():
    random = np.random.default_rng(4)
    truth = random.integers(0, 3, 400)
    good = [np.where(random.random(400) < 0.8, truth, random.integers(0, 3, 400)) for _ in range(3)]
    contrary = [(truth + 1) % 3] * 2
    made = dawid_skene(np.stack([*good, *contrary], axis=1).astype(float), levels=3)
    majority = np.array([np.bincount(row, minlength=3).argmax() for row in np.stack([*good, *contrary], axis=1)])
    assert (made.level == truth).mean() > 0.99 > (majority == truth).mean()
    assert made.confusion[3][0].round(2).tolist() == [0.0, 1.0, 0.0]
    assert made.prior.sum() == pytest.approx(1)


def test_dawid_and_skene_is_what_another_implementation_says():
    aggregation = pytest.importorskip("crowdkit.aggregation")
    pandas = pytest.importorskip("pandas")
    random = np.random.default_rng(5)
    truth = random.integers(0, 3, 150)
    skill = [0.9, 0.7, 0.5, 0.8]
    ratings = np.stack([np.where(random.random(150) < p, truth, random.integers(0, 3, 150)) for p in skill], axis=1)
    rows = [(i, r, ratings[i, r]) for i in range(150) for r in range(4)]
    frame = pandas.DataFrame(rows, columns=["task", "worker", "label"])
    theirs = aggregation.DawidSkene(n_iter=500, tol=1e-10).fit_predict_proba(frame).sort_index().sort_index(axis=1)
    mine = dawid_skene(ratings.astype(float), levels=3, prior_counts=0.0, tolerance=1e-10, iterations=500)
    assert np.allclose(mine.shares, theirs.to_numpy(), atol=1e-4)


def test_units_without_answers_have_no_level():
    made = dawid_skene([[0.0, 0.0], [0.0, 0.0], [N, N], [1.0, 1.0], [1.0, N]], levels=2)
    assert made.level[[0, 1, 3, 4]].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert np.isnan(made.level[2])
    with pytest.raises(BadInput, match="levels from 0 to 1"):
        dawid_skene([[0.0, 2.0]], levels=2)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the published annotations, which are not ours to ship")
def test_balakrishnan_figure_8():
    """Median spread and ordinal alpha of the released annotations (5,000 images, seven or nine answers each)."""
    released = np.load(SHARED / "stylegan2_human_annotations.npz")
    expected = {
        "hair_length": (4, 0.160, 0.571), "age": (5, 0.099, 0.562), "gender": (4, 0.000, 0.867),
        "skin_color": (5, 0.146, 0.213), "makeup": (3, 0.165, 0.289), "facial_hair": (4, 0.087, 0.430),
    }  # fmt: skip
    for name, (last, median, alpha) in expected.items():
        ratings = released[name].astype(float)
        assert round(float(np.median(spread(ratings, high=last))), 3) == median, name
        assert round(krippendorff_alpha(ratings, "ordinal").value, 3) == alpha, name
    assert round(krippendorff_alpha(released["ethnicity"].astype(float), "nominal").value, 3) == 0.084
    interval = krippendorff_alpha(released["gender"].astype(float), "ordinal")
    assert interval.low == pytest.approx(0.861, abs=0.002)
    assert interval.high == pytest.approx(0.872, abs=0.002)


@pytest.mark.skipif(not SHARED.exists(), reason="needs the published annotations, which are not ours to ship")
def test_singh_table_1_agreement():
    """Same person or look-alike, three answers a pair; rows that tick neither count as same for the agreement (.737, or
    .608 without duplicates) and are left out for the alpha of .104."""
    pandas = pytest.importorskip("pandas")
    table = pandas.read_parquet(SHARED / "identity_annotations.parquet")
    table["same"] = np.where(table.ticked_same | ~table.ticked_not_same, 1.0, 0.0)
    table["told"] = np.where(table.ticked_same, 1.0, np.where(table.ticked_not_same, 0.0, N))
    wide, told = (table.pivot(index="pair", columns="slot", values=name).to_numpy() for name in ("same", "told"))
    kind = table.drop_duplicates("pair").sort_values("pair").pair_type.to_numpy()
    assert round(percent_agreement(wide), 3) == 0.737
    assert round(percent_agreement(wide[kind != "dup"]), 3) == 0.608
    assert round(krippendorff_alpha(told[kind != "dup"], "nominal").value, 3) == 0.104
