import numpy as np
import pytest

from transect.designs import transect_design, transect_latents
from transect.effects import project, shares_of
from transect.effects.projection import (
    GROUP,
    IMPACT,
    NO_RATES,
    NOT_ABOVE_ZERO,
    RATE,
    RATIO,
    TREATMENT,
    PopulationShares,
)
from transect.generators import load
from transect.records import Attribute

GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
TONE = Attribute("tone", "continuous", "tone", low=1, high=10)
KNOWN = {"tone": TONE, "glasses": GLASSES}
LEVELS = {"tone": (1.0, 10.0), "glasses": (0.0, 1.0)}
TIED = PopulationShares(
    "tied",
    ("tone", "glasses"),
    np.array([[1.0, 0.0], [1.0, 1.0], [10.0, 0.0], [10.0, 1.0]]),
    np.array([0.4, 0.1, 0.2, 0.3]),
)


def rows_of(projection, quantity, attribute=""):
    return [row for row in projection.rows if (row.quantity, row.attribute) == (quantity, attribute)]


def test_every_quantity_by_hand():
    """Cell rates .0 .5 / .25 1; shares .4 .1 / .2 .3."""
    y = np.array([[[0, 1], [1, 1]], [[0, 0], [0, 1]], [[0, 1], [0, 1]], [[0, 0], [0, 1]]], dtype=float)
    made = project(y, LEVELS, TIED, KNOWN)
    one = {(row.quantity, row.attribute, row.to): row.estimate for row in made.rows}
    assert rows_of(made, RATE)[0].estimate == pytest.approx(0.4 * 0 + 0.1 * 0.5 + 0.2 * 0.25 + 0.3 * 1)
    assert one[GROUP, "tone", 1.0] == pytest.approx(0.1 * 0.5 / 0.5)
    assert one[GROUP, "tone", 10.0] == pytest.approx((0.2 * 0.25 + 0.3) / 0.5)
    assert one[IMPACT, "tone", 10.0] == pytest.approx(0.7 - 0.1)
    assert one[RATIO, "tone", 10.0] == pytest.approx(7)
    # Glasses are on in .4 of the population: .6 (.25 - 0) + .4 (1 - .5).
    assert one[TREATMENT, "tone", 10.0] == pytest.approx(0.35)
    assert one[TREATMENT, "glasses", 1.0] == pytest.approx(0.5 * 0.5 + 0.5 * 0.75)
    assert all(row.low <= row.estimate <= row.high for row in made.rows)


def test_a_ratio_has_the_log_mover_interval_of_both_groups():
    """20 of 40 and 10 of 40 subjects, drawn apart: r = 2, and its ends are those of both Wilson intervals by MOVER."""
    y = np.zeros((40, 2))
    y[:10, 0], y[5:25, 1] = 1.0, 1.0
    only = PopulationShares("p", ("glasses",), np.array([[0.0], [1.0]]), np.array([0.5, 0.5]))
    made = project(y, {"glasses": (0.0, 1.0)}, only, KNOWN)
    first, second = (row for row in made.rows if row.quantity == GROUP)
    (ratio,) = rows_of(made, RATIO, "glasses")
    alike = np.corrcoef(y.T)[0, 1]  # 0: 5 of the 10 are among the 20
    down, up = np.log(second.estimate / second.low), np.log(first.high / first.estimate)
    assert alike == pytest.approx(0.0, abs=1e-12)
    assert (ratio.estimate, ratio.low) == pytest.approx((2.0, 2.0 * np.exp(-np.hypot(down, up))))
    y[:, 1] = 0.0
    (ratio,) = rows_of(project(y, {"glasses": (0.0, 1.0)}, only, KNOWN), RATIO, "glasses")
    assert (ratio.estimate, ratio.reason) == (0.0, NOT_ABOVE_ZERO)
    scores = np.random.default_rng(0).uniform(1, 2, (40, 2))
    (ratio,) = rows_of(project(scores, {"glasses": (0.0, 1.0)}, only, KNOWN, is_binary=False), RATIO, "glasses")
    assert (np.isfinite(ratio.estimate), np.isnan(ratio.low), ratio.reason) == (True, True, NO_RATES)


def test_an_attribute_that_is_not_spoken_of_counts_equally():
    y = np.random.default_rng(0).normal(size=(30, 2, 2))
    only = PopulationShares("p", ("glasses",), np.array([[0.0], [1.0]]), np.array([0.3, 0.7]))
    made = project(y, LEVELS, only, KNOWN, is_binary=False)
    assert made.equal == ("tone",)
    assert made.rows[0].estimate == pytest.approx(y.mean(axis=(0, 1)) @ [0.3, 0.7])


def test_what_cannot_be_projected_says_why():
    y = np.random.default_rng(2).integers(0, 2, size=(30, 2, 2)).astype(float)
    beyond = PopulationShares("b", ("tone",), np.array([[1.0], [5.0]]), np.array([0.9, 0.1]))
    made = project(y, LEVELS, beyond, KNOWN)
    assert {row.reason for row in made.rows} == {"0.1 of the population is at levels that were not shown"}
    assert np.isnan([row.estimate for row in made.rows]).all()
    nobody = PopulationShares("n", ("tone",), np.array([[1.0]]), np.array([1.0]))
    made = project(y, LEVELS, nobody, KNOWN)
    assert [row.reason for row in rows_of(made, GROUP, "tone")] == ["", "nobody of the population is in this group"]
    assert rows_of(made, IMPACT, "tone")[0].reason == "nobody of the population is in this group"
    assert rows_of(made, TREATMENT, "tone")[0].reason == ""


CONFOUNDED = """
name = "confounded"
[marginals]
glasses = { distribution = "categorical", shares = { none = 0.6, "thin frame" = 0.4 } }
earrings = { distribution = "bernoulli", probability = 0.3 }
hat = { distribution = "categorical", shares = { none = 0.6, cap = 0.25, beanie = 0.15 } }
[[correlations]]
between = ["glasses", "hat"]
value = 0.6
[[correlations]]
between = ["glasses", "earrings"]
value = -0.5
"""


def answers(world, latents):
    """A planted 0/1 answer that depends on three attributes with an interaction, and on nuisances of the subject."""
    read = {
        name: np.asarray(column)
        for name, column in zip(world.read(latents).column_names, world.read(latents).columns, strict=True)
    }
    logit = -2 + 1.5 * read["glasses"] + (read["hat"] == 1) - read["earrings"] * (1 - read["glasses"])
    logit += 0.8 * read["light_level"] + 0.02 * read["yaw"]
    chance = np.mod(np.abs(latents.values[:, 0]) * 1e4, 1.0)
    return (chance < 1 / (1 + np.exp(-logit))).astype(float)


@pytest.mark.integration
def test_an_experiment_on_a_balanced_population_foresees_a_confounded_one(tmp_path):
    """Brute force: 40,000 people of the population itself; the projection comes from 1,500 balanced subjects."""
    path = tmp_path / "confounded.toml"
    path.write_text(CONFOUNDED)
    balanced, confounded = load("faceworld", image_size=32), load("faceworld", image_size=32, population=str(path))
    people = confounded.sample(np.arange(500_000, 540_000))
    said, table = answers(confounded, people), confounded.read(people)
    columns = {name: table[name].to_numpy() for name in ("glasses", "hat", "earrings")}
    design = transect_design(["glasses=0,1", "hat", "earrings"], balanced.attributes, subjects=1500, seed=3)
    latents = transect_latents(design, balanced.sample(design.subject_seeds()), balanced)
    y = answers(balanced, latents).reshape(1500, *design.shape)
    known = {a.name: a for a in balanced.attributes}
    made = project(y, design.levels, shares_of(columns, design.levels, "confounded"), known)
    rows = {(row.quantity, row.attribute, row.to): row for row in made.rows}
    assert rows_of(made, RATE)[0].low < said.mean() < rows_of(made, RATE)[0].high
    on, off = said[columns["glasses"] == 1].mean(), said[columns["glasses"] == 0].mean()
    impact, treatment = rows[IMPACT, "glasses", 1.0], rows[TREATMENT, "glasses", 1.0]
    # Standard errors of the 40,000 people are near .005 on top.
    assert impact.low - 0.01 < on - off < impact.high + 0.01
    assert rows[RATIO, "glasses", 1.0].low - 0.2 < on / off < rows[RATIO, "glasses", 1.0].high + 0.2
    changed = [answers(confounded, confounded.set(people, {"glasses": value})).mean() for value in (0.0, 1.0)]
    assert treatment.low - 0.01 < changed[1] - changed[0] < treatment.high + 0.01
    # What comes along matters here: the two are apart.
    assert impact.estimate - treatment.estimate > 0.02


@pytest.mark.slow
def test_intervals_of_projected_quantities_cover():
    rng = np.random.default_rng(4)
    rates = np.array([[0.1, 0.3], [0.2, 0.6]])
    share = TIED.shares.reshape(2, 2)
    groups = (share * rates).sum(axis=1) / share.sum(axis=1)
    truth = {RATE: (share * rates).sum(), IMPACT: groups[1] - groups[0], RATIO: groups[1] / groups[0]}
    truth[TREATMENT] = (share.sum(axis=0) * (rates[1] - rates[0])).sum()
    from scipy.special import ndtri

    hits = dict.fromkeys(truth, 0)
    for _ in range(1000):
        shared = rng.normal(size=(150, 1, 1))
        y = (np.sqrt(0.4) * shared + np.sqrt(0.6) * rng.normal(size=(150, 2, 2)) < ndtri(rates)).astype(float)
        made = project(y, LEVELS, TIED, KNOWN)
        for quantity, true in truth.items():
            row = rows_of(made, quantity, "" if quantity == RATE else "tone")[0]
            hits[quantity] += row.low <= true <= row.high
    assert all(925 <= count <= 975 for count in hits.values()), hits
