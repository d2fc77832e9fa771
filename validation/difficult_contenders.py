"""The default estimators in the worlds of `planted_scores`, on scores and on answers of yes and no."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.secondary_results import with_always_valid
from transect.annotation.agreement.judge_errors import Codes, agreement
from transect.effects import aipw, holm
from transect.effects import clusters as by_person
from transect.effects.analysis import adjust, mirrors_of, with_mirrors
from transect.effects.contrasts import steepest_slope
from transect.effects.intervals import mean_interval, wilson_clustered
from transect.effects.observational import associations, cut
from transect.effects.paired_models import rate_difference
from transect.effects.resampling import sign_flip
from transect.records import Attribute, Design, Effect
from validation.contenders import (
    FLAG,
    Contender,
    SimulatedEstimates,
    Tables,
    by_seed,
    each,
    intended_slope,
    rate_of_subjects,
    subjects_contrast,
)
from validation.planted_scores import FAMILY, PEOPLE, SIZES, STEPS, SUBJECTS, TEXTS

AGE: Final = Attribute("amount", "continuous", "an amount", low=0.0, high=1.0)
_IMAGES: Final = 6
"""Images of a subject behind a mean or a rate of one level."""

_MODELS: Final = 4
"""Images of a subject that two models see."""


def _cells(pairs: int, *, binary: bool) -> Contender:
    """The contrast of the first pairs of each subject's cells."""

    def contender(tables: Tables) -> SimulatedEstimates:
        y = tables["cells"][:, :, :pairs]
        return subjects_contrast((y[..., 1] - y[..., 0]).mean(axis=2), binary=binary, pairs=float(pairs))

    return contender


score_of_2, score_of_24 = _cells(1, binary=False), _cells(12, binary=False)
answer_of_2, answer_of_8, answer_of_24 = (_cells(pairs, binary=True) for pairs in (1, 4, 12))


def score_slope(tables: Tables) -> SimulatedEstimates:
    """Each subject's slope of the score along five levels."""
    return intended_slope({"score": tables["steps"], "intended": np.broadcast_to(STEPS, tables["steps"].shape)})


def answer_slope(tables: Tables) -> SimulatedEstimates:
    """The same of answers of yes and no."""
    x = STEPS - STEPS.mean()
    d = tables["steps"] @ x / (x @ x)
    return subjects_contrast(d, binary=True, reach=steepest_slope(STEPS.tolist()), pairs=float(len(STEPS)))


def score_mean(tables: Tables) -> SimulatedEstimates:
    """The mean of one level, from six images of each subject."""
    y = tables["cells"][:, :, :_IMAGES, 0].sum(axis=2).T
    bounds = mean_interval(y, np.full(y.shape, float(_IMAGES)))
    return SimulatedEstimates.without_test(y.mean(axis=0) / _IMAGES, bounds.low, bounds.high)


def answer_rate(tables: Tables) -> SimulatedEstimates:
    """The rate of one level, from six images of each subject."""
    return rate_of_subjects(tables["cells"][:, :, :_IMAGES, 0].sum(axis=2), np.full(SUBJECTS, _IMAGES))


def _observed(key: str, column: str, attribute: Attribute, *, binary: bool, repeated: bool = False) -> Contender:
    """The last association of an attribute: the difference of its groups, or its slope."""
    who = PEOPLE if repeated else None

    def one(t: Mapping[str, np.ndarray]) -> tuple[float, float, float, float]:
        y, x = t[key], t[column]
        made = associations(y, np.full(len(y), "", object), cut(attribute, x), x, is_binary=binary, subjects=who)[-1]
        return made.estimate, made.low, made.high, made.p

    return lambda tables: SimulatedEstimates.of([one(t) for t in by_seed(tables)])


score_groups, answer_groups = (_observed("grouped", "group", FLAG, binary=binary) for binary in (False, True))
score_along, answer_along = (_observed("along", "amount", AGE, binary=binary) for binary in (False, True))
people_score_groups, people_answer_groups = (
    _observed("grouped", "group", FLAG, binary=binary, repeated=True) for binary in (False, True)
)
people_score_along, people_answer_along = (
    _observed("along", "amount", AGE, binary=binary, repeated=True) for binary in (False, True)
)
people_aipw = each(lambda t: aipw(t["grouped"], t["group"], {"amount": t["amount"]}, clusters=PEOPLE))
"""Too few people in an arm for an interval."""


def _models(*, binary: bool) -> Contender:
    """The second model less the first, on four images of each subject."""

    def one(y: Float[np.ndarray, "n 2 cells"]) -> tuple[float, float, float, float]:
        found = rate_difference(y[:, 0], y[:, 1], binary)
        return found.estimate, *found.interval(0.95), found.p

    return lambda tables: SimulatedEstimates.of([one(y[:, :_MODELS].transpose(0, 2, 1)) for y in tables["cells"]])


score_models, answer_models = _models(binary=False), _models(binary=True)


def _photographs(*, binary: bool) -> Contender:
    """Each photograph's own difference, people as clusters."""

    def contender(tables: Tables) -> SimulatedEstimates:
        d = (tables["photographs"][..., 1] - tables["photographs"][..., 0]).T
        bounds = by_person.mean_difference_interval(d, PEOPLE, binary=binary)
        p = by_person.sign_flip(d, PEOPLE, resamples=999)[0]
        return SimulatedEstimates(d.mean(axis=0), bounds.low, bounds.high, p)

    return contender


photograph_scores, photograph_answers = _photographs(binary=False), _photographs(binary=True)


def _by_person(tables: Tables) -> tuple[np.ndarray, np.ndarray]:
    """Each person's sum over photographs as they are, and how many these are, [people, seeds]."""
    return by_person.by_person(tables["photographs"][..., 0].T, PEOPLE)


def person_mean(tables: Tables) -> SimulatedEstimates:
    """The mean over photographs, people as clusters."""
    totals, counts = _by_person(tables)
    bounds = mean_interval(totals, counts)
    return SimulatedEstimates.without_test(totals.sum(axis=0) / SIZES.sum(), bounds.low, bounds.high)


def person_rate(tables: Tables) -> SimulatedEstimates:
    """The rate of yes over photographs, on effective images."""
    totals, counts = _by_person(tables)
    return SimulatedEstimates.without_test(totals.sum(axis=0) / SIZES.sum(), *wilson_clustered(totals, counts))


def judge_excess(tables: Tables) -> SimulatedEstimates:
    """The judge's rate of yes less people's, on the same texts, by whom they are about."""
    about = np.repeat(np.arange(SUBJECTS), TEXTS)
    codes = zip(tables["judge"], tables["people"], strict=True)
    found = [agreement(Codes(judge.ravel(), people.ravel(), about)).excess for judge, people in codes]
    rows = [[np.nan if end is None else end for end in (f.estimate, f.low, f.high)] for f in found]
    return SimulatedEstimates.without_test(*np.array(rows, dtype=np.float64).T)


_LOOKS: Final = (10, 20, SUBJECTS)


def _always(span: float) -> Contender:
    """What the always-valid intervals of the contrast of 24 cells leave at three looks together. span: of a score."""

    def one(d: Float[np.ndarray, " n"]) -> tuple[float, float, float, float]:
        ends = []
        for look in _LOOKS:
            bare = Effect(
                0.0, 0.0, 0.0, name="c", attribute="a", target="t", outcome="o", unit="", n_subjects=look, n_images=look
            )
            design = Design({"a": (0.0, 1.0)}, subjects=look)
            (made,) = with_always_valid([bare], [d[:look]], design, {("t", "o"): span})
            ends.append((made.always_low, made.always_high))
        return float(d.mean()), max(low for low, _ in ends), min(high for _, high in ends), np.nan

    def contender(tables: Tables) -> SimulatedEstimates:
        y = tables["cells"]
        return SimulatedEstimates.of([one(d) for d in (y[..., 1] - y[..., 0]).mean(axis=2)])

    return contender


always_within, always_without = _always(1.0), _always(np.nan)
"""At all looks together, with a range of 1 and without one."""


def _tests(outcomes: Mapping[str, Float[np.ndarray, "n 8 2"]], *, once: bool) -> list[Effect]:
    """The effect of each change on each outcome, mirrors marked as an audit marks them or not."""
    mirrors = mirrors_of({name: y.reshape(len(y), -1) for name, y in outcomes.items()}) if once else {}
    effects = [
        Effect(
            0.0, 0.0, 0.0, p=float(p), name=str(place), attribute="", target="t", outcome=name, unit="",
            n_subjects=len(y), n_images=2 * len(y),
        )
        for name, y in outcomes.items()
        for place, p in enumerate(sign_flip(y[..., 1] - y[..., 0])[0])
    ]  # fmt: skip
    return with_mirrors(effects, {("t", name): other for name, other in mirrors.items()})


def _family(smallest: Callable[[list[Effect]], float], *, once: bool) -> Contender:
    def contender(tables: Tables) -> SimulatedEstimates:
        family = [{"answer": y, "error": 1 - y} for y in tables["family"]]
        return SimulatedEstimates.tests(smallest(_tests(outcomes, once=once)) for outcomes in family)

    return contender


def _corrected(effects: list[Effect]) -> float:
    return min(effect.p_adjusted for effect in adjust(effects))


mirrors_once, mirrors_twice = _family(_corrected, once=True), _family(_corrected, once=False)
"""The smallest corrected p of eight changes on both outcomes."""
mirrors_uncorrected = _family(lambda effects: min(effect.p for effect in effects), once=True)


def answers_alone(tables: Tables) -> SimulatedEstimates:
    """The smallest corrected p of the eight changes on answers alone."""
    d = tables["family"][..., 1] - tables["family"][..., 0]
    return SimulatedEstimates.tests(float(holm(sign_flip(one)[0][:FAMILY]).min()) for one in d)
