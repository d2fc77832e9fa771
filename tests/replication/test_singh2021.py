"""The figures of Singh et al. 2021 that can be found again from released files (skipped where they are absent).

Files: the released matches, distances and annotations, and CelebA-HQ's attributes; see docs/research/replication-singh2021.md.
"""

import numpy as np
import pandas as pd
import pytest
from places import SHARED

import transect
from transect.analysis.matched.request import MatchOptions
from transect.effects.identity_pairs import pair_agreement
from transect.effects.intervals import mean_interval, wilson
from transect.effects.matched_pairs import balance

DATA = SHARED
FILES = (
    "perceptual_dists_after_projection",
    "matches_gan_facerec06",
    "celebahq_attributes",
    "identity_annotations",
    "facial_dists_after_projection",
)
pytestmark = pytest.mark.skipif(
    not all((DATA / f"{name}.parquet").exists() for name in FILES), reason=f"the released files are not in {DATA}"
)


def read(name):
    return pd.read_parquet(DATA / f"{name}.parquet")


@pytest.fixture(scope="module")
def celeba():
    table = read("celebahq_attributes").set_index("idx").sort_index()
    assert (table.index == np.arange(30_000)).all()
    return table


@pytest.fixture(scope="module")
def attributes(celeba):
    names = [name for name in celeba.columns if celeba[name].dtype == np.int8 and name not in ("Male", "gender_mode")]
    assert len(names) == 39
    return {name: celeba[name].to_numpy(float) for name in names}


def means(attributes, rows):
    return [
        round(float(attributes[name][rows].mean()), 3) for name in ("Young", "Smiling", "Eyeglasses", "Heavy_Makeup")
    ]


def groups(celeba):
    male = celeba["gender_mode"].to_numpy() == 1
    return np.flatnonzero(male), np.flatnonzero(~male)


def images(matches, pairs, *, references=False):
    """The matched photographs of the first pairs, on request with the second photograph of each person: male, female."""
    first = matches.iloc[:pairs]
    names = ("gender_{}", "gender_{}_ref") if references else ("gender_{}",)
    return tuple(np.concatenate([first[name.format(group)] for name in names]) for group in (1, 0))


def test_covariate_means_of_the_whole_data_set(celeba, attributes):
    men, women = groups(celeba)
    assert (len(women), len(men)) == (19_084, 10_916)
    assert means(attributes, women) == [0.881, 0.511, 0.014, 0.717]
    assert means(attributes, men) == [0.601, 0.398, 0.111, 0.002]


@pytest.mark.parametrize(
    ("pairs", "female", "male"),
    [
        (250, [0.796, 0.432, 0.048, 0.436], [0.760, 0.380, 0.120, 0.028]),
        (500, [0.842, 0.492, 0.030, 0.568], [0.724, 0.396, 0.082, 0.014]),
    ],
)
def test_covariate_means_of_the_released_matches(attributes, pairs, female, male):
    """Of the matched photographs themselves; every image is used once."""
    men, women = images(read("matches_gan_facerec06"), pairs)
    assert len(set(men) | set(women)) == 2 * pairs
    assert means(attributes, women) == female
    assert means(attributes, men) == male


def test_covariate_means_with_the_second_photographs(attributes):
    """The paper's 1,000 images: 250 pairs, two photographs of each person."""
    men, women = images(read("matches_gan_facerec06"), 250, references=True)
    assert len(set(men) | set(women)) == 1000
    assert means(attributes, women) == [0.808, 0.422, 0.03, 0.474]
    assert means(attributes, men) == [0.76, 0.37, 0.086, 0.024]


def test_301_of_the_1200_released_pairs_keep_the_face_recognition_constraint():
    matches = read("matches_gan_facerec06")
    assert len(matches) == 1200
    assert int(matches["satisfies_facerec"].sum()) == 301
    assert matches["satisfies_facerec"].iloc[:301].all(), "the first 301, in the order found"
    assert (matches["dist"].iloc[301:] > 1e6).all(), "the rest carry a penalty"


@pytest.mark.parametrize(("pairs", "after"), [(250, 0.339), (500, 0.471)])
def test_mean_absolute_smd(celeba, attributes, pairs, after):
    """Over 39 attributes, in standard deviations of the whole data set's groups; .673 before matching."""
    found = balance(attributes, *groups(celeba), images(read("matches_gan_facerec06"), pairs))
    assert np.mean([abs(one.before.smd) for one in found]) == pytest.approx(0.673, abs=5e-4)
    assert np.mean([abs(one.after.smd) for one in found]) == pytest.approx(after, abs=6e-4)


def test_fig_3_has_its_minimum_at_a_tenth():
    perceptual = read("perceptual_dists_after_projection").groupby("reg_param")["perceptual_loss"].mean()
    np.testing.assert_allclose(perceptual, [0.7328, 0.7314, 0.7310, 0.7414, 0.7604], atol=5e-5)
    faces = read("facial_dists_after_projection")[["0.0", "0.01", "0.1", "1.0", "10000.0"]].mean()
    np.testing.assert_allclose(faces, [0.3366, 0.3187, 0.3146, 0.4949, 0.6506], atol=5e-5)
    assert perceptual.idxmin() == 0.1
    assert faces.idxmin() == "0.1"


@pytest.mark.parametrize(
    ("kind", "share", "one_sigma", "true"),
    [("fake", 66.7, (64.14, 69.10), (61.64, 71.34)), ("real", 68.3, (65.83, 70.73), (63.36, 72.92))],
)
def test_table_1_with_the_right_intervals(kind, share, one_sigma, true):
    """As published only with 68 % intervals, and with the unanswered counted as "same"."""
    answers = read("identity_annotations").query("pair_type == @kind")
    same = int((answers["ticked_same"] | ~answers["ticked_not_same"]).sum())
    assert len(answers) == 360
    assert round(100 * same / 360, 1) == share
    np.testing.assert_allclose(100 * np.array(wilson(same, 360, 0.6826894921)), one_sigma, atol=0.006)
    np.testing.assert_allclose(100 * np.array(wilson(same, 360)), true, atol=0.006)


def paired(values):
    """Mean and 95 % interval of the differences of images."""
    found = mean_interval(np.asarray(values)[:, None])
    return [round(float(end), 4) for end in (np.mean(values), found.low[0], found.high[0])]


def test_a_tenth_and_a_hundredth_are_not_distinguishable():
    """Differences by image from λ = 0.1: 0 and 1 are worse beyond doubt, 0.01 is not."""
    table = read("perceptual_dists_after_projection")
    looks = table.pivot(index="im_num", columns="reg_param", values="perceptual_loss")
    faces = read("facial_dists_after_projection")
    assert paired(looks[0.0] - looks[0.1]) == [0.0018, 0.0013, 0.0024]
    assert paired(looks[0.01] - looks[0.1]) == [0.0004, -0.0002, 0.0009]
    assert paired(looks[1.0] - looks[0.1]) == [0.0104, 0.0096, 0.0112]
    assert paired(faces["0.0"] - faces["0.1"]) == [0.022, 0.0156, 0.0285]
    assert paired(faces["0.01"] - faces["0.1"]) == [0.0041, -0.0018, 0.01]
    assert paired(faces["1.0"] - faces["0.1"]) == [0.1803, 0.1725, 0.1883]
    restriction = table.groupby("reg_param")["mean_mse_dist"].mean()
    np.testing.assert_allclose(restriction, [1.958, 0.903, 0.163, 0.014, 0.0], atol=5e-4)


def test_the_released_pairs_go_through_the_command(celeba, attributes):
    """Balance as counted above, of the pairs as they are; attributes whose gap in means grows."""
    first = read("matches_gan_facerec06").iloc[:250]
    table = {**attributes, "group": (celeba["gender_mode"] == 1).to_numpy(float)}
    pairs = {"a": first["gender_1"].tolist(), "b": first["gender_0"].tolist()}
    numbers = transect.match(
        None, "group", table, covariates=list(attributes), options=MatchOptions(pairs=pairs)
    ).numbers
    assert np.mean([abs(row.after) for row in numbers.balance]) == pytest.approx(0.339, abs=6e-4)
    assert sum(abs(row.before) > 0.1 for row in numbers.balance) == 37
    assert sum(abs(row.after) > 0.1 for row in numbers.balance) == 31
    smd = {row.covariate: row.after for row in numbers.balance}
    assert (round(smd["Wearing_Lipstick"], 2), round(smd["Heavy_Makeup"], 2)) == (-2.64, -1.27)


def test_second_photographs_are_equally_hard():
    """Fig. C2, of the first 250 pairs: the difference within pairs is near 0."""
    first = read("matches_gan_facerec06").iloc[:250]
    assert [round(first[name].mean()) for name in ("dist_ref1", "dist_ref0")] == [664_380, 662_080]
    mean, low, high = paired(first["dist_ref1"] - first["dist_ref0"])
    assert (round(mean), round(low), round(high)) == (2300, -5833, 10333)


def agreement(answers):
    """Of each pair the share of its two ratings that agree, as published: an unanswered rating counts as "same"."""
    same = answers["ticked_same"] | ~answers["ticked_not_same"]
    counts = same.groupby([answers["pair_type"], answers["pair"]]).agg(["sum", "count"])
    yes, n = counts["sum"], counts["count"]
    return ((yes * (yes - 1) + (n - yes) * (n - yes - 1)) / (n * (n - 1))).to_numpy(float)


def test_agreement_is_as_published_only_with_the_duplicates():
    answers = read("identity_annotations")
    assert agreement(answers).mean() == pytest.approx(0.737, abs=5e-4)
    judged = agreement(answers.query("pair_type != 'dup'"))
    assert len(judged) == 240
    ticked = np.where(answers["ticked_same"], 1.0, np.where(answers["ticked_not_same"], 0.0, np.nan))
    kinds = answers["pair_type"].tolist()
    made = pair_agreement(ticked, answers["pair"].to_numpy(), kinds, unanswered="same")
    assert [round(each.agreement, 3) for each in made] == [0.737, 0.608]
    assert [round(end, 3) for end in (made[1].low, made[1].high)] == [0.567, 0.651]
    assert [round(x, 3) for x in paired(judged)] == [0.608, 0.567, 0.651]


@pytest.mark.parametrize(
    ("place", "shares", "difference", "half"),
    [(0, {"female": (60.2, 62.3), "male": (68.4, 70.7)}, -8.4, 9.2), (1, {"black": (62.5, 68.9), "white": (66.3, 64.4)}, -0.7, 9.3)],
)  # fmt: skip
def test_groups_of_celebrities_do_not_differ_beyond_chance(place, shares, difference, half):
    """Fig. A3: shares of answered ratings, and the difference of means by celebrity with 1.96 standard errors."""
    answers = read("identity_annotations").query("ticked_same or ticked_not_same")
    answers = answers.assign(part=answers["group"].str.split("_").str[place])
    for part, expected in shares.items():
        of = answers[answers["part"] == part].groupby("pair_type")["ticked_same"].mean()
        assert (round(100 * of["fake"], 1), round(100 * of["real"], 1)) == expected
    means = answers.query("pair_type != 'dup'").groupby(["part", "celebrity"])["ticked_same"].mean()
    first, second = (means[part].to_numpy() for part in sorted(shares))
    assert len(first) == len(second) == 60
    error = np.sqrt(first.var(ddof=1) / 60 + second.var(ddof=1) / 60)
    assert round(100 * (first.mean() - second.mean()), 1) == difference
    assert round(196 * error, 1) == half
    assert abs(difference) < half
