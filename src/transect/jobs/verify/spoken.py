"""Contenders where a model answers in words: wordings, refusals, options, places, two images, what a query finds."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.effects import (
    chosen_shares,
    level_abilities,
    mean_difference_interval,
    place_bias,
    preference,
    retrieval_skew,
    shares_by_option,
    sign_flip,
    wording_effects,
)
from transect.effects.option_shares import OptionShares
from transect.effects.pair_perception import Bounded
from transect.effects.wordings import WordingEffects
from transect.jobs.verify.contenders import Contender, SimulatedEstimates, Tables
from transect.jobs.verify.spoken_worlds import FIRST

_DRAWS: Final = 199
_OPTION: Final = 2
"""The option whose share the attribute moves most."""


def _told(of: Bounded, p: float = np.nan, null: float = 0.0) -> tuple[float, float, float, float]:
    return of.estimate - null, of.low - null, of.high - null, p


def _wording(told: Callable[[WordingEffects], Bounded]) -> Contender:
    def contender(tables: Tables) -> SimulatedEstimates:
        found = [wording_effects(t[:, :1], t[:, 1:], binary=True) for t in tables["answers"]]
        return SimulatedEstimates.of([_told(told(each)) for each in found])

    return contender


mean_of_wordings = _wording(lambda found: found.mean)
sample_of_wordings = _wording(lambda found: found.sampled)
one_wording = _wording(lambda found: found.each[0].effect)
"""The effect in the first paraphrase alone."""


def _paired(d: Float[np.ndarray, "s n"], base: float, pairs: float) -> SimulatedEstimates:
    found = mean_difference_interval(d.T, binary=True, base=np.full(len(d), base), pairs=np.full(len(d), pairs))
    return SimulatedEstimates(d.mean(axis=1), found.low, found.high, sign_flip(d.T)[0])


def refusals(tables: Tables) -> SimulatedEstimates:
    """The share of an image's wordings that are refused, by subject."""
    share = tables["refused"].mean(axis=3)
    return _paired(share[:, :, 1] - share[:, :, 0], 0.02, 3.0)


def refusals_by_answer(tables: Tables) -> SimulatedEstimates:
    """Every answer as a pair of its own."""
    d = tables["refused"][:, :, 1] - tables["refused"][:, :, 0]
    return _paired(d.reshape(len(d), -1), 0.02, 1.0)


def _options(tables: Tables) -> list[OptionShares]:
    """The shares of each table; kept for the last tables, which two contenders look at."""
    chosen = tables["chosen"]
    key = hashlib.sha256(repr(chosen.shape).encode() + chosen.tobytes()).hexdigest()
    if key not in _KEPT:
        _KEPT.clear()
        _KEPT[key] = [shares_by_option(chosen_shares(t[:, :, None, :, None], 3), asked=2) for t in chosen]
    return _KEPT[key]


_KEPT: Final[dict[str, list[OptionShares]]] = {}


def option_contrast(tables: Tables) -> SimulatedEstimates:
    """The share of the option that moves most; corrected for three options."""
    rows = [each.contrasts[_OPTION] for each in _options(tables)]
    return SimulatedEstimates.of([_told(each.difference, each.p_corrected) for each in rows])


def any_option(tables: Tables) -> SimulatedEstimates:
    """Whether the attribute changes the share of any option."""
    return SimulatedEstimates.tests([found.p for found in _options(tables)])


def _place(key: str) -> Contender:
    def contender(tables: Tables) -> SimulatedEstimates:
        found = [place_bias(t.reshape(len(t), 1, -1), 3).of_all for t in tables[key]]
        return SimulatedEstimates.of([_told(each.effects[0], each.p) for each in found])

    return contender


first_place, fixed_order = _place("place"), _place("chosen")
"""The first place's effect, in an order drawn for each image; and as if the options always stood in one order."""


def both_orders(tables: Tables) -> SimulatedEstimates:
    """Whether subjects prefer level 2 to level 0, if each pair is shown in both orders; less 1/2."""
    rows = []
    for first, second, chosen in zip(tables["first"], tables["second"], tables["chosen"], strict=True):
        later = chosen[:, (first[0] == 0) & (second[0] == 2)].astype(float)
        earlier = 1.0 - chosen[:, (first[0] == 2) & (second[0] == 0)]
        found = preference(later[:, :, None], earlier[:, :, None])
        rows.append(_told(found.share, found.p, 0.5))
    return SimulatedEstimates.of(rows)


def one_order(tables: Tables) -> SimulatedEstimates:
    """The same, if level 2 always stands in the second place."""
    rows = []
    for first, second, chosen in zip(tables["first"], tables["second"], tables["chosen"], strict=True):
        later = chosen[:, (first[0] == 0) & (second[0] == 2)].astype(float)[:, :, None]
        found = preference(later, later)
        rows.append(_told(found.share, found.p, 0.5))
    return SimulatedEstimates.of(rows)


def abilities(tables: Tables) -> SimulatedEstimates:
    """Level 2 against level 0 by Bradley and Terry's model."""
    rows = []
    for first, second, chosen in zip(tables["first"], tables["second"], tables["chosen"], strict=True):
        subject = np.repeat(np.arange(len(first)), first.shape[1])
        found = level_abilities(first.ravel(), second.ravel(), chosen.ravel(), subject)
        rows.append(_told(found.abilities[2]))
    return SimulatedEstimates.of(rows)


def share_of_first(tables: Tables) -> SimulatedEstimates:
    """The second level's share of the first 20 images, less 1/2."""
    found = [retrieval_skew(t, [FIRST], resamples=_DRAWS).first[0] for t in tables["similarities"]]
    return SimulatedEstimates.of([_told(each.shares[1], each.p[1], 0.5) for each in found])


def max_skew(tables: Tables) -> SimulatedEstimates:
    """MaxSkew of the first 20 images."""
    found = [retrieval_skew(t, [FIRST], resamples=_DRAWS).first[0] for t in tables["similarities"]]
    return SimulatedEstimates.of([_told(each.max_skew, each.max_skew_p) for each in found])


def skew_above_zero(tables: Tables) -> SimulatedEstimates:
    """Any MaxSkew above 0 taken for an effect."""
    found = [retrieval_skew(t, [FIRST], resamples=1).first[0].max_skew.estimate for t in tables["similarities"]]
    return SimulatedEstimates.tests(0.0 if skew > 0 else 1.0 for skew in found)
