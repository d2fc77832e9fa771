"""Do intervals of what raters decide hold for other raters? Groups, right answers, standardized and adjusted differences.

`python tests/statistical/test_rater_groups_coverage.py 200` prints the rows of docs/research/coverage.md.
"""

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from small_answers import answers as answers_of

from transect.analysis.sections import associations, rater_uncertainty
from transect.analysis.sections.answers import splits
from transect.effects.intervals import wilson_clustered
from transect.effects.outcomes import Truth
from transect.effects.regression import ols
from transect.effects.samples import Labels
from transect.ratings.perceived_attributes import PerceivedAttribute
from transect.records import Annotations, Attribute, Design, Question

BY = "perceived_age"
COLUMNS = ("rate, raters say the group", "rate, raters say what is right", "standardized difference", "adjusted, OLS")


@dataclass(frozen=True)
class World:
    """How many subjects and raters, answers an image, and how far raters differ (standard deviations)."""

    subjects: int
    raters: int
    each: int
    lean: float
    width: float


WORLDS = (World(100, 8, 5, 0.1, 0.2), World(100, 8, 8, 0.15, 0.2), World(200, 20, 5, 0.15, 0.2))


def rated(rng, world, x):
    """Answers [n, each] on five levels, and who gave them."""
    lean, width = rng.normal(0, world.lean, world.raters), rng.normal(1, world.width, world.raters)
    who = np.argsort(rng.random((len(x), world.raters)), axis=1)[:, : world.each]
    look = 0.5 + (x[:, None] - 0.5) * width[who] + lean[who] + rng.normal(0, 0.12, who.shape)
    return np.clip(np.round(4 * look), 0, 4) / 4, who


def annotations(values, who):
    image = np.repeat(np.arange(len(values)), values.shape[1])
    return Annotations(Question("q", "?"), image, tuple(f"r{k}" for k in who.ravel()), values.ravel())


def draw(rng, world):
    """One table: age and beard as seen, a score of whether the face is old, and errors that depend on age and beard."""
    n = 2 * world.subjects
    own = np.repeat(rng.normal(0, 0.12, world.subjects), 2)
    age = np.tile([0.3, 0.7], world.subjects) + own + rng.normal(0, 0.05, n)
    beard = 0.5 + 0.5 * (age - 0.5) + np.repeat(rng.normal(0, 0.2, world.subjects), 2)
    told = [rated(rng, world, x) for x in (age, beard)]
    liking = np.repeat(rng.normal(0, 0.8, world.subjects), 2)
    said = (rng.random(n) < 1 / (1 + np.exp(-8 * (age - 0.5) - liking))).astype(float)
    wrong = (rng.random(n) < 1 / (1 + np.exp(1.6 - 1.8 * age - 1.0 * beard - liking))).astype(float)
    return told, said, wrong


def answers(told, said, wrong, *, judged):
    (age, who), (beard, by) = told
    seen = {"age": annotations(age, who), "beard": annotations(beard, by)}
    means = {"age": age.mean(axis=1), "beard": beard.mean(axis=1)}
    attributes = {
        f"perceived_{name}": PerceivedAttribute(
            Attribute(f"perceived_{name}", "continuous", name), name, means[name], seen[name]
        )
        for name in seen
    }
    truth = (means["age"] >= 0.5).astype(float) if judged else np.abs(said - wrong)
    return answers_of(
        Design({"glasses": (0.0, 1.0)}, subjects=len(said) // 2), scores=said, truth=truth, perceived=means, by=(BY,),
        seen=attributes, said=seen, judge="age" if judged else "", stated=Truth.parse("age>=0.5") if judged else None,
        bins={BY: (0.5,), "perceived_beard": (0.5,)},
    )  # fmt: skip


def rates_of(one):
    """Estimates and intervals of the error rate in either group, by subject alone and with raters."""
    groups = rater_uncertainty.grouping(one, one.by)
    more, _ = rater_uncertainty.added(one, groups, lambda each: each.errors[None])
    rate = rater_uncertainty.rates(groups.condition.codes, one.errors[None], 2)[0, 1:3]
    table = [
        [np.bincount(one.subjects[groups.condition.codes == g], weights=w[groups.condition.codes == g],
                     minlength=one.design.subjects) for g in (0, 1)]
        for w in (one.errors, np.ones(len(one.errors)))
    ]  # fmt: skip
    low, high = wilson_clustered(*(np.array(part).T for part in table))
    wide = [more.widened(0, 1 + g, (rate[g], low[g], high[g])) for g in (0, 1)]
    return rate, np.array([low, high]).T, np.array(wide)


def standardized_of(one):
    """The standardized difference in beard between the groups by age."""
    columns = associations._columns(one)
    made = associations._seen_together_differences(one, columns, rater_uncertainty.grouping(one, one.by))
    row = next(row for row in made.rows if row[0] == "perceived beard")
    return np.array([row[1]]), None, np.array([[row[2], row[3]]])


def adjusted_of(one):
    """The difference in errors between old and young, beard held equal, by least squares."""
    columns = dict(one.perceived)
    split = splits(one, columns, {})["age"]
    more = rater_uncertainty.differences(one, {"age": split}, rater_uncertainty.raters_of(one, columns))["age"]
    labels = Labels("t", "error", "proportion")
    effect = ols(one.errors, {"age": split.chosen, **split.others}, clusters=one.subjects, labels=labels)[0]
    ends = replace(more, variance=more.variance[[1]]).widened(effect.estimate, effect.low, effect.high)
    return np.array([effect.estimate]), np.array([[effect.low, effect.high]]), np.array(ends).T


def estimates(told, said, wrong):
    """Of each column: estimates, intervals by subject alone (None: there are none), intervals with raters."""
    by_group, judged = (answers(told, said, wrong, judged=each) for each in (False, True))
    return [rates_of(by_group), rates_of(judged), standardized_of(by_group), adjusted_of(by_group)]


def plain(told, said, wrong):
    """The same estimates written out, from mean answers."""
    age, beard = (values.mean(axis=1) for values, _ in told)
    old = age >= 0.5
    rates = [[error[old == side].mean() for side in (False, True)] for error in (wrong, np.abs(said - old))]
    spread = np.sqrt((beard[old].var(ddof=1) + beard[~old].var(ddof=1)) / 2)
    smd = (beard[old].mean() - beard[~old].mean()) / spread
    x = np.column_stack([np.ones(len(old)), old, beard])
    return [*map(np.array, rates), np.array([smd]), np.linalg.lstsq(x, wrong, rcond=None)[0][1:2]]


def truths(world, tables=500):
    """Means over tables of 500 subjects."""
    rng, large = np.random.default_rng(1), replace(world, subjects=500)
    return [np.mean(x, axis=0) for x in zip(*(plain(*draw(rng, large)) for _ in range(tables)), strict=True)]


def coverage(world, tables, first=0):
    """Per column the shares of intervals, by subject alone and with raters, that hold the truth."""
    truth = truths(world)
    alone, whole = ([[] for _ in COLUMNS] for _ in range(2))
    for seed in range(first, first + tables):
        for k, (_, narrow, wide) in enumerate(estimates(*draw(np.random.default_rng([9, seed]), world))):
            for held, ends in ((alone, narrow), (whole, wide)):
                if ends is not None:
                    held[k] += ((ends[:, 0] <= truth[k]) & (truth[k] <= ends[:, 1])).tolist()
    return [(np.mean(a) if a else np.nan, np.mean(b)) for a, b in zip(alone, whole, strict=True)]


def test_intervals_hold_for_other_raters(size):
    held = [held for _, held in coverage(WORLDS[1], size.tables)]
    size.covers(held)
    assert min(held) >= 0.86


if __name__ == "__main__":
    for world in WORLDS:
        for name, (alone, held) in zip(COLUMNS, coverage(world, int(sys.argv[1])), strict=True):
            cells = [name, world.subjects, world.raters, world.each, f"{100 * alone:.1f}", f"{100 * held:.1f}"]
            print("|", " | ".join(map(str, cells)), "|", flush=True)
