"""More contenders: models of other outcomes, models that answer in words, whole audits.

Of whole audits: each paraphrase's effect is drawn anew for each table. What is of the paraphrases that were asked is
stated less what they were drawn to differ, so that its truth is the same for all tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

from transect.effects import (
    adjusted_for_hidden,
    aipw,
    chosen_shares,
    e_value,
    instrumental,
    level_abilities,
    mean_difference_interval,
    ols,
    place_bias,
    poisson,
    preference,
    retrieval_skew,
    rosenbaum_bounds,
    shares_by_option,
    sign_flip,
    wording_effects,
)
from transect.effects.observational import associations, cut
from transect.effects.option_shares import OptionShares
from transect.effects.samples import one_hot
from transect.effects.wordings import WordingEffects
from transect.records import Effect, Estimate
from validation.contenders import (
    FLAG,
    Contender,
    SimulatedEstimates,
    Tables,
    alone,
    by_seed,
    each,
    fitted,
    named,
    of_pairs,
    rate,
    rate_of_subjects,
    recorded,
    subject_of,
)
from validation.planted import FIRST, HIDDEN_ODDS, HIDDEN_RATIO, HIDDEN_SHARES, UNEQUAL
from validation.planted_audits import Audited, WordingDraw, audits, heard, model_of, wordings_of

_ALPHA: Final = 0.05

adjusted_poisson = fitted(poisson, "outcome", recorded, by_subject=False)
"""Log ratio of rates."""
unadjusted_poisson = fitted(poisson, "outcome", alone, by_subject=False)
perceived_answers = fitted(ols, "answers", named(hair="hair"))
aipw_of_kinds = each(lambda t: aipw(t["outcome"], t["attribute"], _indicators(t)))
"""Doubly robust, with an indicator per kind."""
aipw_of_codes = each(lambda t: aipw(t["outcome"], t["attribute"], {"kind": t["kind"]}))
"""Doubly robust, with the kinds' codes as if they were amounts."""
ols_of_kinds = fitted(ols, "outcome", lambda t: {"attribute": t["attribute"], **_indicators(t)}, by_subject=False)
instrumented_answers = each(
    lambda t: instrumental(
        t["answers"].ravel(), {"hair": t["hair"].ravel()}, {"set": of_pairs(t["answers"])},
        clusters=subject_of(t["answers"]),
    )[0]
)  # fmt: skip
"""Two-stage least squares of the answers themselves: a change of the probability."""


def unequal_images_rate(tables: Tables) -> SimulatedEstimates:
    """Wilson's interval of a rate, all images as independent."""
    return rate(tables["unequal_rate"])


def unequal_subjects_rate(tables: Tables) -> SimulatedEstimates:
    """Wilson's interval of a rate on the effective number of images, subject by subject."""
    starts = np.concatenate([[0], np.cumsum(UNEQUAL)[:-1]])
    return rate_of_subjects(np.add.reduceat(tables["unequal_rate"], starts, axis=1), UNEQUAL)


def unequal_images(tables: Tables) -> SimulatedEstimates:
    """The difference of groups, all images as independent."""
    return _difference(tables, known=False)


def unequal_subjects(tables: Tables) -> SimulatedEstimates:
    """The difference of groups, with the subject of each image known."""
    return _difference(tables, known=True)


def _difference(tables: Tables, *, known: bool) -> SimulatedEstimates:
    rows = []
    for t in by_seed(tables):
        groups = np.full(len(t["outcome"]), "", dtype=object)
        subjects = t["subject"].astype(np.int64) if known else None
        effect = associations(
            t["outcome"], groups, cut(FLAG, t["attribute"]), t["attribute"], is_binary=True, subjects=subjects
        )[0]
        rows.append((effect.estimate, effect.low, effect.high, effect.p))
    return SimulatedEstimates.of(rows)


def ratio_alone(tables: Tables) -> SimulatedEstimates:
    """Whether the ratio of rates differs from 1; no estimate, since none is claimed."""
    return SimulatedEstimates.tests(effect.p for effect in _ratios(tables))


def ratio_beyond_e_value(tables: Tables) -> SimulatedEstimates:
    """An effect is reported where the interval's E-value is larger than the hidden cause is strong."""
    limits = [e_value(*(float(np.exp(v)) for v in (m.estimate, m.low, m.high))).limit for m in _ratios(tables)]
    return SimulatedEstimates.tests(0.0 if limit > HIDDEN_RATIO else 1.0 for limit in limits)


def _ratios(tables: Tables) -> list[Effect]:
    return [poisson(t["outcome"], {"attribute": t["attribute"]})[0] for t in by_seed(tables)]


def adjusted_for_planted(tables: Tables) -> SimulatedEstimates:
    """Least squares, moved by what a hidden cause of the planted strength would move it at worst."""
    rows = []
    for t in by_seed(tables):
        effect, freedom = ols(t["outcome"], {"attribute": t["attribute"]})[0], len(t["outcome"]) - 2
        outcome, attribute = HIDDEN_SHARES
        error = effect.spec["standard_error"]
        estimate, error = adjusted_for_hidden(
            effect.estimate, error, freedom, r2_outcome=outcome, r2_attribute=attribute
        )
        reach = -float(stdtrit(freedom - 1, _ALPHA / 2)) * error
        rows.append((estimate, estimate - reach, estimate + reach, np.nan))
    return SimulatedEstimates.of(rows)


def similar_pairs(tables: Tables) -> SimulatedEstimates:
    """McNemar's test: as if who has the attribute were chance."""
    return _bounded(tables, 1.0)


def pairs_bounded(tables: Tables) -> SimulatedEstimates:
    """Rosenbaum's largest p at the planted odds."""
    return _bounded(tables, HIDDEN_ODDS)


def _bounded(tables: Tables, gamma: float) -> SimulatedEstimates:
    return SimulatedEstimates.tests(float(rosenbaum_bounds(d, (gamma,)).largest_p[0]) for d in tables["differences"])


def _indicators(table: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """All kinds but the first."""
    indicators = one_hot({"kind": table["kind"]}, drop_first=True)
    return dict(zip(indicators.names, indicators.x.T, strict=True))


_DRAWS: Final = 199
_OPTION: Final = 2
"""The option whose share the attribute moves most."""


def _told(of: Estimate, p: float = np.nan, null: float = 0.0) -> tuple[float, float, float, float]:
    return of.estimate - null, of.low - null, of.high - null, p


def _wording(told: Callable[[WordingEffects], Estimate]) -> Contender:
    def contender(tables: Tables) -> SimulatedEstimates:
        found = [wording_effects(t[:, :1], t[:, 1:], binary=True) for t in tables["answers"]]
        return SimulatedEstimates.of([_told(told(each)) for each in found])

    return contender


mean_of_wordings = _wording(lambda found: found.mean)
sample_of_wordings = _wording(lambda found: found.sampled)
one_wording = _wording(lambda found: found.each[0].effect)
"""The effect in the first paraphrase alone."""


def _paired(d: Float[np.ndarray, "s n"], pairs: float) -> SimulatedEstimates:
    found = mean_difference_interval(d.T, binary=True, pairs=np.full(len(d), pairs))
    return SimulatedEstimates(d.mean(axis=1), found.low, found.high, sign_flip(d.T)[0])


def refusals(tables: Tables) -> SimulatedEstimates:
    """The share of an image's wordings that are refused, by subject."""
    share = tables["refused"].mean(axis=3)
    return _paired(share[:, :, 1] - share[:, :, 0], 3.0)


def refusals_by_answer(tables: Tables) -> SimulatedEstimates:
    """Every answer as a pair of its own."""
    d = tables["refused"][:, :, 1] - tables["refused"][:, :, 0]
    return _paired(d.reshape(len(d), -1), 1.0)


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


_Row = tuple[float, float, float, float]
_THIRD: Final = "tone: 0 to 2"


def _reported(told: Callable[[Audited], _Row], drawn: Callable[[WordingDraw], float] | None = None) -> Contender:
    """told: estimate, interval and p of one report. drawn: what the paraphrases add to its truth."""

    def contender(tables: Tables) -> SimulatedEstimates:
        rows = [told(each) for each in audits(tables["noise"])]
        found = SimulatedEstimates.of(rows)
        if drawn is None:
            return found
        by = np.array([drawn(wordings_of(model_of(noise[0]))) for noise in tables["noise"]])
        return SimulatedEstimates(found.estimate - by, found.low - by, found.high - by, found.p)

    return contender


def _effect(question: str, outcome: str, *, slope: bool = False) -> Callable[[Audited], _Row]:
    def told(report: Audited) -> _Row:
        found: Effect = report.effect(question, outcome, None if slope else 0.0, None if slope else 2.0)
        return found.estimate, found.low, found.high, found.p

    return told


def _cells(
    key: str, question: str, title: str, which: Callable[[dict[str, object]], bool], heads: tuple[str, str, str]
) -> Callable[[Audited], _Row]:
    """A row of a section's table: its estimate and its interval, by the columns' names."""

    def told(report: Audited) -> _Row:
        row = next(row for row in report.rows(key, question, title) if which(row))
        estimate, low, high = (_number(row[head]) for head in heads)
        return estimate, low, high, np.nan

    return told


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


def _reported_wording(name: str) -> Callable[[Audited], _Row]:
    return _cells(
        "prompts",
        "smile",
        "Effects of tone",
        lambda row: row["wording"] == name and str(row["effect"]).startswith(_THIRD),
        ("difference", "low", "high"),
    )


def _mean_effect(draw: WordingDraw) -> float:
    return float(2 * draw.effect.mean())


share_of_yes = _reported(_effect("smile", "answer"), _mean_effect)
share_refused = _reported(_effect("smile", "refusal"))
share_hedged = _reported(_effect("smile", "hedge"))
share_of_option = _reported(_effect("role", "option:reject"))
offered_number = _reported(_effect("salary", "score"))
offered_slope = _reported(_effect("salary", "score", slope=True))
preferred_level = _reported(_effect("trust", "preferred"))
mean_of_asked = _reported(_reported_wording("mean of the paraphrases"), _mean_effect)
sample_of_all = _reported(_reported_wording("mean over a sample of wordings"))
first_paraphrase = _reported(_reported_wording("paraphrase 1"), lambda draw: float(2 * draw.effect[0]))
"""Less what its paraphrases were drawn to differ, but for the sample, which counts them."""

option_of_all = _reported(
    _cells(
        "options",
        "role",
        "Options by tone (chosen)",
        lambda row: row["level"] == "2" and row["option"] == "reject",
        ("difference from the first level", "its low", "its high"),
    )
)
first_listed = _reported(
    _cells(
        "places",
        "role",
        "Choices by place;",
        lambda row: row["place"] == "place 1",
        ("effect of the place", "its low", "its high"),
    )
)
preferred_image = _reported(
    _cells(
        "two_images",
        "trust",
        "Preferences",
        lambda row: (row["first level"], row["second level"]) == ("0", "2"),
        ("prefer the second, of those who prefer either", "its low", "its high"),
    )
)
strength = _reported(
    _cells(
        "two_images",
        "trust",
        "Levels of tone",
        lambda row: row["level"] == "2",
        ("log odds over the first", "low", "high"),
    )
)
second_place = _reported(
    _cells(
        "two_images",
        "trust",
        "Preference for a place",
        lambda row: str(row["levels"]).endswith("0 or 2"),
        ("second place less first", "low", "high"),
    )
)


def _bound(end: str, drawn: Callable[[WordingDraw], float]) -> Contender:
    """One end of what missing answers could make of the effect, with its own side of the interval."""

    def told(report: Audited) -> _Row:
        table = "What the effects could be"
        row = next(row for row in report.rows("not_answered", "smile", table) if str(row["effect"]).startswith(_THIRD))
        low, high = _number(row["interval low"]), _number(row["interval high"])
        return _number(row[end]), *((low, np.inf) if end == "smallest" else (-np.inf, high)), np.nan

    return _reported(told, drawn)


def _of_answered(draw: WordingDraw) -> float:
    """What the paraphrases add to either bound: answers that are given weigh by their share."""
    shift = draw.share.mean()
    return float(heard(2) * (shift + 2 * draw.effect.mean()) - heard(0) * shift)


smallest_effect, largest_effect = _bound("smallest", _of_answered), _bound("largest", _of_answered)
