"""Intervals and tests of answers in words keep their level: wordings, refusals, places, options, two images (slow)."""

import numpy as np
from scipy.special import ndtr, ndtri

from transect.effects.analysis import analyse_transects
from transect.effects.option_shares import chosen_shares, place_bias, shares_by_option
from transect.effects.samples import Measure
from transect.effects.wordings import wording_effects
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
