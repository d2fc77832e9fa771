"""Intervals and tests of answers in words keep their level: wordings, refusals, places, options, two images (slow)."""

import numpy as np
from scipy.special import expit, ndtr, ndtri

from transect.effects.analysis import analyse_transects
from transect.effects.contrasts import level_differences
from transect.effects.intervals import mean_difference_interval
from transect.effects.option_shares import chosen_shares, place_bias, shares_by_option
from transect.effects.preferences import level_abilities, preference
from transect.effects.samples import Measure
from transect.effects.wordings import incomplete_bounds, wording_effects
from transect.records import Attribute, Design


def answers(rng, rates, within, image=0.0):
    """0/1 [subjects, levels, wordings] with these rates [levels, wordings]; shared by subject, and by image."""
    n, shape = rates[0], rates[1].shape
    factor = np.sqrt(within) * rng.standard_normal((n, 1, 1)) + np.sqrt(image) * rng.standard_normal((n, shape[0], 1))
    return (factor + np.sqrt(1 - within - image) * rng.standard_normal((n, *shape)) < ndtri(rates[1])).astype(float)


def test_a_sample_of_wordings_covers_the_mean_of_all_wordings(size, wordings, subjects):
    """Effects of wordings .15 + uniform of this half width; scores, and yes or no."""
    tables = size.tables if subjects < 200 else 150
    for spread in size.some((0.25, 0.0, 0.1)):
        rng = np.random.default_rng([subjects, wordings, int(100 * spread)])
        held, fixed = np.zeros(2), np.zeros(2)
        for _ in range(tables):
            effect = 0.15 + rng.uniform(-spread, spread, wordings)
            yes = answers(rng, (subjects, np.stack([np.full(wordings, 0.4), 0.4 + effect])), 0.4)
            scores = rng.standard_normal((subjects, 1, 1)) + 0.5 * rng.standard_normal((subjects, 2, wordings))
            scores = scores + np.stack([np.zeros(wordings), effect]) * (1 + 0.5 * rng.standard_normal((subjects, 1, 1)))
            for place, values in enumerate((yes, scores)):
                found = wording_effects(values[:, :1], values[:, 1:], binary=not place)
                held[place] += found.sampled.low <= 0.15 <= found.sampled.high
                fixed[place] += found.mean.low <= 0.15 <= found.mean.high
        # Student's t of five uniform effects itself covers 93.5 %.
        size.covers(held / tables, tables)


def test_the_mean_of_the_wordings_that_were_asked_is_covered_and_no_difference_is_rarely_found(size, subjects):
    tables, rng = size.tables, np.random.default_rng(subjects)
    held = rejected = 0
    for _ in range(tables):
        yes = answers(rng, (subjects, np.array([[0.1, 0.3, 0.5], [0.2, 0.4, 0.6]])), 0.4)
        found = wording_effects(yes[:, :1], yes[:, 1:], binary=True)
        held += found.mean.low <= 0.1 <= found.mean.high
        rejected += found.p <= 0.05
    size.covers(held / tables)
    size.rejects(rejected / tables)


def test_effects_on_rare_refusals_are_covered_by_the_paired_score(size, rate, subjects):
    """Three paraphrases, refused together or not, none, half, or all of the time more at the second level."""
    tables = size.tables
    for more in size.some((0.0, 0.05)):
        for image in size.some((0.0, 0.6)):
            rng = np.random.default_rng([subjects, int(1000 * rate), int(100 * more), int(10 * image)])
            d = np.empty((subjects, tables))
            for table in range(tables):
                refused = answers(rng, (subjects, np.array([[rate] * 3, [rate + more] * 3])), 0.3, image)
                share = refused.mean(axis=2)
                d[:, table] = level_differences(share[:, :1], share[:, 1:])
            base, pairs = np.full(tables, rate), np.full(tables, 3.0)
            found = mean_difference_interval(d, binary=True, base=base, pairs=pairs, resamples=20)
            assert set(found.methods) == {"paired score"}
            held = ((found.low <= more) & (more <= found.high)).mean()
            size.covers(held)


def refused(rng, subjects, rate):
    """The share of three wordings that a subject's image is refused in; a wording follows the image in 70 %."""
    own, mixed = rng.random((subjects, 1)), rng.random((subjects, 3)) < 0.7
    return (np.where(mixed, own, rng.random((subjects, 3))) < rate).mean(axis=1)


def test_effects_of_an_audit_on_refusals_are_covered(size, subjects, rates):
    """Three paraphrases, as an audit has them: every table has an interval, also where nothing is refused."""
    tables, rng, held = size.tables, np.random.default_rng([subjects, int(1000 * rates[1])]), 0
    tone = Attribute("tone", "binary", "tone", levels=("bright", "dark"))
    about = Design({"tone": (0.0, 1.0)}, subjects=subjects), {"tone": tone}
    measure, none = Measure("model", "refusal", is_binary=False, answers=3), np.full((subjects, 2), "", dtype=object)
    for seed in range(tables):
        values = np.stack([refused(rng, subjects, rate) for rate in rates], axis=1)
        (effect,) = analyse_transects(values, none, *about, measure, seed=seed).effects
        assert effect.interval_method
        held += effect.low <= rates[1] - rates[0] <= effect.high
    size.covers(held / tables)


def test_wordings_and_options_of_people_on_several_photographs(size, persons):
    """One to five photographs of each, alike by .64: paraphrases and options are covered, and a true null is kept."""
    tables, rng = size.tables, np.random.default_rng(persons)
    truth = ndtr(-0.1) - ndtr(-0.5)
    wordings = options = any_change = 0
    for _ in range(tables):
        people = np.repeat(np.arange(persons), rng.integers(1, 6, persons))

        def said(cuts, people=people):
            own = 0.8 * rng.standard_normal((persons, 2))[people][:, :, None]
            return (own + 0.6 * rng.standard_normal((len(people), 2, 3)) < np.array(cuts)[:, None]).astype(float)

        yes, same = said((-0.5, -0.1)), said((-0.5, -0.5))
        shares, alike = (np.stack([x.mean(2), 1 - x.mean(2)], axis=-1)[:, :, None] for x in (yes, same))
        mean = wording_effects(yes[:, :1], yes[:, 1:], binary=True, people=people).mean
        wordings += mean.low <= truth <= mean.high
        found = shares_by_option(shares, asked=3, people=people).contrasts[0].difference
        options += found.low <= truth <= found.high
        any_change += shares_by_option(alike, asked=3, people=people).p <= 0.05
    size.covers([wordings / tables, options / tables])
    size.rejects(any_change / tables)


def test_options_and_places(size, subjects):
    """Differences of all options at once; a true null of any change, and of places, rejected in at most 5 %."""
    tables, rng = size.tables, np.random.default_rng(subjects)
    chances = np.array([[0.7, 0.2, 0.08, 0.02], [0.6, 0.2, 0.1, 0.1]])
    held = false = places = place_held = 0
    for _ in range(tables):
        factor = np.sqrt(0.5) * rng.standard_normal((subjects, 1, 1)) + np.sqrt(0.5) * rng.standard_normal(
            (subjects, 2, 2)
        )
        chosen = (ndtr(factor)[..., None] > chances.cumsum(axis=1)[None, :, None, :-1]).sum(axis=-1).astype(float)
        same = (ndtr(factor)[..., None] > chances.cumsum(axis=1)[:1, None, :-1]).sum(axis=-1).astype(float)
        found = shares_by_option(chosen_shares(chosen[:, :, None, :, None], 4), asked=2)
        truth = chances[1] - chances[0]
        held += all(c.difference.low <= truth[c.option] <= c.difference.high for c in found.contrasts)
        false += shares_by_option(chosen_shares(same[:, :, None, :, None], 4), asked=2).p <= 0.05
        order = np.argsort(rng.random((subjects, 2, 4)), axis=2)
        place = np.take_along_axis(np.argsort(order, axis=2), chosen.astype(int), axis=2).astype(float)
        bias = place_bias(place, 4).of_all
        places += bias.p <= 0.05
        place_held += bias.shares[0].low <= 0.25 <= bias.shares[0].high
    size.covers([held / tables, place_held / tables])
    size.rejects([false / tables, places / tables])


def test_preferences_of_subjects_who_differ(size, subjects):
    """The share among the decided, and the preference for the second place, whose truth is by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    p, q = expit(0.8 + 1.5 * nodes + 0.5), expit(0.8 + 1.5 * nodes - 0.5)
    second, first = weights @ (p * q), weights @ ((1 - p) * (1 - q))
    tables, rng = size.tables, np.random.default_rng(subjects)
    held, rejected = np.zeros(2), 0
    for _ in range(tables):
        own = 0.8 + 1.5 * rng.standard_normal(subjects)
        later, earlier = (rng.random((2, subjects)) < expit(own + np.array([[0.5], [-0.5]]))).astype(float)
        found = preference(later[:, None, None], earlier[:, None, None])
        held[0] += found.share.low <= second / (first + second) <= found.share.high
        held[1] += found.place.low <= weights @ (p - q) <= found.place.high
        own = 1.5 * rng.standard_normal(subjects)
        later, earlier = (rng.random((2, subjects)) < expit(own + np.array([[0.5], [-0.5]]))).astype(float)
        rejected += preference(later[:, None, None], earlier[:, None, None]).p <= 0.05
    size.covers(held / tables)
    size.rejects(rejected / tables)


def test_abilities_of_subjects_who_differ(size, subjects):
    """Truths: the fit to 200,000 subjects."""
    pairs = np.array([(a, b) for a in range(3) for b in range(3) if a != b])

    def table(rng, n):
        own = np.array([0.0, 0.5, 1.2]) + 0.8 * rng.standard_normal((n, 3))
        odds = own[:, pairs[:, 1]] - own[:, pairs[:, 0]] + 0.4
        chosen = (rng.random(odds.shape) < expit(odds)).astype(float)
        subject, pair = (each.ravel() for each in np.indices(odds.shape))
        return *pairs[pair].T, chosen.ravel(), subject

    large = level_abilities(*table(np.random.default_rng(0), 200_000))
    truth = [large.abilities[1].estimate, large.abilities[2].estimate, large.place.estimate]
    tables, rng = size.tables, np.random.default_rng(subjects)
    held, told = np.zeros(3), 0
    for _ in range(tables):
        found = level_abilities(*table(rng, subjects))
        if np.isfinite(found.abilities[1].low):
            told += 1
            each = (*found.abilities[1:], found.place)
            held += [bounds.low <= true <= bounds.high for bounds, true in zip(each, truth, strict=True)]
    assert told >= 0.9 * tables
    size.covers(held / told, told)


def test_bounds_of_numbers_cover_both_ends(size, lost, subjects):
    """Answers from 0 to 10, the largest of which are lost more often, at the second level alone."""

    def table(rng, n):
        base = rng.beta(4, 2, (n, 1, 1))
        first, second = np.clip(10 * (base + 0.1 * rng.standard_normal((2, n, 1, 2))), 0, 10)
        second[rng.random(second.shape) < lost * (second > 6)] = np.nan
        return first, second

    first, second = table(np.random.default_rng(0), 400_000)
    smallest, largest = ((np.nan_to_num(second, nan=end) - first).mean() for end in (0.0, 10.0))
    tables, held, rng = size.tables, 0, np.random.default_rng([subjects, int(100 * lost)])
    for _ in range(tables):
        bounds = incomplete_bounds(*table(rng, subjects), scale=(0.0, 10.0), binary=False)
        held += bounds.low <= smallest and largest <= bounds.high
    size.covers(held / tables)
