"""Do 95 % intervals hold the planted effect 95 % of the time? Synthetic tables through the package's own functions.

Every scenario draws 5,000 tables; a subject's answers share a normal factor with correlation rho, so that each
cell's rate is exactly as planted and answers of one subject go together. Seeds are fixed.

    python tests/statistical/coverage_table.py          prints the table
    python tests/statistical/coverage_table.py --write  writes it to docs/research/coverage.md as well
"""

import hashlib
import itertools
import sys
from dataclasses import dataclass

import numpy as np
from places import ROOT
from scipy.special import ndtr, ndtri

from transect.effects import holm, mean_difference_interval, sign_flip
from transect.effects.contrasts import level_differences, slopes
from transect.effects.intervals import single_pairs, wilson_clustered
from transect.effects.observational import slope as observed_slope

TABLES, SUBJECTS, BLOCK = 5000, 150, 1000
LEVELS = np.array([1.0, 2.0, 4.0])  # unequal steps: the slope is not half of the contrast, nor its test exact
CENTERED = LEVELS - LEVELS.mean()
SQUARES = CENTERED @ CENTERED
PAGE = ROOT / "docs" / "research" / "coverage.md"


@dataclass(frozen=True)
class Row:
    """One scenario: percentages of tables; width is the mean; score the share that used a score interval.

    coverage, width, narrowest: of the tables that have an interval; withheld: those that have none.
    """

    design: str
    base: float
    effect: float
    rho: float
    subjects: int
    coverage: float = np.nan
    width: float = np.nan
    narrowest: float = np.nan
    score: float = np.nan
    rejected: float = np.nan
    family: float = np.nan
    withheld: float = 0.0

    @property
    def key(self):
        return f"{self.design} | {self.base:g} | {self.effect:g} | {self.rho:g} | {self.subjects}"

    def line(self):
        figures = [self.coverage, self.score, self.rejected, self.family, self.withheld or np.nan]
        shown = ["" if np.isnan(x) else f"{x:.1f}" for x in figures]
        return f"| {self.key} | {shown[0]} | {self.width:.4f} | {' | '.join(shown[1:])} |"


def answers(rng, subjects, tables, rates, rho):
    """0/1 [subjects, tables, *rates.shape] with those rates, correlated within a subject and table."""
    rates = np.asarray(rates)
    shared = rng.standard_normal((subjects, tables) + (1,) * rates.ndim)
    own = rng.standard_normal((subjects, tables, *rates.shape))
    return (np.sqrt(rho) * shared + np.sqrt(1 - rho) * own < ndtri(rates)).astype(np.float64)


def pair_estimands(y):
    """y [n, T, 2]: the one contrast, as (differences [n, T], reach, pairs)."""
    return [(y[..., 1] - y[..., 0], 1.0, 1.0)]


def factorial_estimands(y):
    """y [n, T, 3, 3, 2]: contrast and slope of the two attributes of three levels, contrast of the third."""
    n, tables = y.shape[:2]
    found = []
    for axis in (2, 3, 4):
        grid = np.moveaxis(y, axis, 2).reshape(n, tables, y.shape[axis], -1)
        flat = grid.reshape(n * tables, *grid.shape[2:])
        d = level_differences(flat[:, 0], flat[:, -1]).reshape(n, tables)
        cells = float(grid.shape[3])
        found.append((d, 1.0, cells))
        if y.shape[axis] == 3:
            slope = slopes(flat, LEVELS).reshape(n, tables)
            found.append((slope, np.abs(CENTERED).sum() / 2 / SQUARES, 3 * cells))
    return found


def intervals_of(d, reach, pairs):
    tables = d.shape[1]
    return mean_difference_interval(d, binary=True, reach=np.full(tables, reach), pairs=np.full(tables, pairs))


def row_of(name, base, effect, rho, subjects, blocks, **more):
    """One row from the blocks' pairs: whether each table's interval covers, and how wide it is, NaN without one."""
    covers, widths = map(np.concatenate, zip(*blocks, strict=True))
    made = np.isfinite(widths)
    figures = 100 * covers[made].mean(), widths[made].mean(), widths[made].min()
    return Row(name, base, effect, rho, subjects, *figures, withheld=100 - 100 * made.mean(), **more)


def held(truth, low, high, rounding=0.0):
    return (low <= truth + rounding) & (truth - rounding <= high), high - low


def rejections(p):
    return 100 * (np.concatenate(p) <= 0.05).mean()


def binary_rows(design, names, estimands, rates, truths, base, effect, rho, subjects, seed):
    """One row per estimand, with the share of tables that reject it where null, and that reject any null after Holm."""
    rng = np.random.Generator(np.random.Philox(seed))
    found = {name: ([], [], []) for name in names}
    for block in range(TABLES // BLOCK):
        for name, truth, (d, reach, pairs) in zip(
            names, truths, estimands(answers(rng, subjects, BLOCK, rates, rho)), strict=True
        ):
            made = intervals_of(d, reach, pairs)
            blocks, score, p = found[name]
            blocks.append(held(truth, made.low, made.high, 1e-12))
            score.append(np.array(made.methods) == "paired score")
            if 0 in truths:
                single = single_pairs(d, np.full(d.shape[1], pairs), np.full(d.shape[1], reach))
                p.append(sign_flip(d, single=single, seed=seed + block)[0])
    null, family = np.array(truths) == 0, np.nan
    if 0 in truths and len(names) > 1:
        adjusted = np.apply_along_axis(holm, 0, np.array([np.concatenate(found[name][2]) for name in names]))
        family = 100 * (adjusted[null] <= 0.05).any(axis=0).mean()
    rows = []
    for index, name in enumerate(names):
        blocks, score, p = found[name]
        more = {
            "score": 100 * np.mean(score),
            "rejected": rejections(p) if null[index] else np.nan,
            "family": np.nan if index else family,
        }
        rows.append(row_of(f"{design}{name}", base, effect, rho, subjects, blocks, **more))
    return rows


def pair_rows(bases, effects, rhos, subjects=SUBJECTS):
    for base, effect, rho in itertools.product(bases, effects, rhos):
        seed = hash_seed("pair", base, effect, rho, subjects)
        yield from binary_rows(
            "pair", [""], pair_estimands, [base, base + effect], [effect], base, effect, rho, subjects, seed
        )


FACTORIAL = (": contrast", ": slope", ": null contrast", ": null slope", ": contrast of two")


def factorial_rows(bases, effects, rhos, subjects=SUBJECTS):
    """3 x 3 x 2: the first attribute has the effect along its three levels, the second none, the third 0.3 * base."""
    for base, effect, rho in itertools.product(bases, effects, rhos):
        dose = np.array([0, 0.5, 1]) * effect
        first = dose[:, None, None]
        third = np.array([-0.15, 0.15])[None, None, :] * base * (effect > 0)
        rates = np.broadcast_to(base + first + third, (3, 3, 2))
        truths = [effect, CENTERED @ dose / SQUARES, 0, 0, 0.3 * base * (effect > 0)]
        seed = hash_seed("factorial", base, effect, rho, subjects)
        yield from binary_rows(
            "3x3x2", FACTORIAL, factorial_estimands, rates, truths, base, effect, rho, subjects, seed
        )


def rate_rows(rates, rhos, cells, subjects=SUBJECTS):
    """Clustered Wilson intervals of one rate from `cells` images per subject."""
    for rate, rho in itertools.product(rates, rhos):
        rng = np.random.Generator(np.random.Philox(hash_seed("rate", rate, rho, cells, subjects)))
        sums = [answers(rng, subjects, BLOCK, [rate] * cells, rho).sum(axis=2) for _ in range(TABLES // BLOCK)]
        blocks = [held(rate, *wilson_clustered(each, np.full_like(each, cells))) for each in sums]
        yield row_of(f"rate of {cells} images", rate, 0, rho, subjects, blocks)


SIZES = {"2 subjects of 300 images, 38 of 3": [300] * 2 + [3] * 38, "1 of 200, 49 of 1": [200] + [1] * 49}


def unequal_size_rows(rates=(0.1, 0.3), rhos=(0.3, 0.8)):
    """Clustered Wilson intervals of one rate where few subjects have most of the images."""
    for (name, sizes), rate, rho in itertools.product(SIZES.items(), rates, rhos):
        rng = np.random.Generator(np.random.Philox(hash_seed("unequal sizes", name, rate, rho)))
        counts = np.repeat(np.array(sizes)[:, None], TABLES, axis=1)
        chances = ndtr((ndtri(rate) - np.sqrt(rho) * rng.standard_normal(counts.shape)) / np.sqrt(1 - rho))
        made = wilson_clustered(rng.binomial(counts, chances).astype(np.float64), counts.astype(np.float64))
        yield row_of(f"rate, {name}", rate, 0, rho, len(sizes), [held(rate, *made)])


DRAWS = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "exponential": lambda rng, shape: rng.standard_exponential(shape) - 1,
    "t3": lambda rng, shape: rng.standard_t(3, shape),
    "lognormal": lambda rng, shape: rng.lognormal(0, 1, shape) - np.exp(0.5),
    "80 % ties": lambda rng, shape: rng.standard_exponential(shape) * (rng.random(shape) < 0.2) - 0.2,
}
"""Subjects' differences less their mean."""


def score_rows(subjects=SUBJECTS, names=tuple(DRAWS)):
    """Intervals for scores: subjects' differences around an effect of 0.2."""
    for name in names:
        rng = np.random.Generator(np.random.Philox(hash_seed(name, subjects)))
        blocks, p = [], []
        for block in range(TABLES // BLOCK):
            noise = DRAWS[name](rng, (subjects, BLOCK))
            made = mean_difference_interval(0.2 + noise, binary=False)
            blocks.append(held(0.2, made.low, made.high))
            p.append(sign_flip(noise[:, :200], resamples=999, seed=block)[0])
        rejected = rejections(p) if name in ("normal", "t3") else np.nan
        yield row_of(f"score, {name}", np.nan, 0.2, 0, subjects, blocks, rejected=rejected)


def interaction_estimands(y):
    """y [n, T, 2, 2]: the difference of differences, which is of two pairs."""
    return [(y[..., 1, 1] - y[..., 1, 0] - y[..., 0, 1] + y[..., 0, 0], 2.0, 2.0)]


def interaction_rows(bases, effects, rhos, subjects=SUBJECTS):
    """2 x 2: the effect is of both attributes together."""
    for base, effect, rho in itertools.product(bases, effects, rhos):
        rates, seed = [[base, base], [base, base + effect]], hash_seed("interaction", base, effect, rho, subjects)
        yield from binary_rows(
            "2x2: interaction", [""], interaction_estimands, rates, [effect], base, effect, rho, subjects, seed
        )


def unequal_rows(subjects):
    """Differences that average 0 although subjects differ: what the sign-flip test does not test."""
    exponential = lambda rng: rng.standard_exponential((subjects, BLOCK)) - 1  # noqa: E731
    one_in_ten = lambda rng: np.where(rng.random((subjects, BLOCK)) < 0.1, 1.0, -1 / 9)  # noqa: E731
    for name, draw in {"exponential - 1": exponential, "+1 for a tenth, -1/9 for the rest": one_in_ten}.items():
        rng = np.random.Generator(np.random.Philox(hash_seed("unequal", name, subjects)))
        blocks, p = [], []
        for block in range(TABLES // BLOCK):
            d = draw(rng)
            made = mean_difference_interval(d, binary=False)
            blocks.append(held(0, made.low, made.high))
            p.append(sign_flip(d[:, :400], resamples=999, seed=block)[0])
        yield row_of(name, np.nan, 0, 0, subjects, blocks, rejected=rejections(p))


def population_slope_rows(cases):
    """A binary outcome of rate base + effect * (x - 1/2) at uniform x."""
    for base, effect, subjects in cases:
        rng = np.random.Generator(np.random.Philox(hash_seed("population", base, effect, subjects)))
        known, low, high = np.ones(subjects, dtype=bool), np.empty(TABLES), np.empty(TABLES)
        for table in range(TABLES):
            x = rng.uniform(size=subjects)
            y = (rng.uniform(size=subjects) < base + effect * (x - 0.5)).astype(np.float64)
            made = observed_slope(y, x, known, "x", True, clusters=None, confidence=0.95)
            low[table], high[table] = made.low, made.high
        yield row_of("population slope", base, effect, 0, subjects, [held(effect, low, high)])


def hash_seed(*parts):
    """A seed of its own for each scenario, the same on every machine."""
    return int.from_bytes(hashlib.sha256(repr(parts).encode()).digest()[:6], "big")


UNEQUAL = "A zero average of unequal effects: what the test does not test"
HEADER = (
    "| design | base | effect | rho | subjects | covers % | mean width | score % | null rejected % | family % "
    "| withheld % |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |"
)


def sections():
    """Title -> rows, lazily."""
    chained = {
        "Usual base rates": (
            pair_rows((0.1, 0.2, 0.3, 0.5), (0.0, 0.05, 0.2), (0.0, 0.5, 0.9)),
            factorial_rows((0.1, 0.3, 0.5), (0.0, 0.1), (0.3, 0.8)),
            interaction_rows((0.1, 0.3), (0.0, 0.2), (0.3, 0.8)),
        ),
        "Rare outcomes": (
            pair_rows((0.005, 0.01, 0.02, 0.05), (0.0, 0.03, 0.1), (0.0, 0.5, 0.9)),
            factorial_rows((0.01, 0.05), (0.0, 0.03), (0.3, 0.8)),
        ),
        "Few discordant subjects": (pair_rows((0.1, 0.3, 0.5), (0.0, 0.01), (0.97, 0.995)),),
        "Cell rates": (
            rate_rows((0.01, 0.05, 0.1, 0.3, 0.5), (0.0, 0.3, 0.8), cells=18),
            rate_rows((0.02, 0.3), (0.3,), cells=2),
        ),
        "Subjects of unequal sizes": (unequal_size_rows(),),
        "Scores": (score_rows(),),
        "Twenty subjects": (
            pair_rows((0.02, 0.1, 0.3), (0.0, 0.2), (0.5,), subjects=20),
            interaction_rows((0.1, 0.3), (0.0, 0.2), (0.3,), subjects=20),
            rate_rows((0.05, 0.3), (0.3, 0.8), cells=18, subjects=20),
            score_rows(subjects=20),
        ),
        "Slopes in a population": (
            population_slope_rows([(0.2, 0, 300), (0.2, 0.2, 300), (0.5, 0, 150), (0.5, 0.4, 150)]),
        ),
        "Few subjects": [score_rows(n, ("normal",)) for n in (5, 10)],
        UNEQUAL: [unequal_rows(n) for n in (20, 50, 150)],
    }
    return {title: itertools.chain.from_iterable(rows) for title, rows in chained.items()}.items()


def main():
    text = []
    for title, rows in sections():
        print(f"\n## {title}\n\n{HEADER}")
        text.append(f"\n## {title}\n\n{HEADER}")
        for row in rows:
            print(row.line(), flush=True)
            text.append(row.line())
    if "--write" in sys.argv:
        head = PAGE.read_text().partition("\n## Usual base rates")[0]
        PAGE.write_text(head + "\n".join(text) + "\n")


if __name__ == "__main__":
    main()
