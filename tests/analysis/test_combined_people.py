"""Photographs combined with renderings: who is on them counts once, in both runs."""

from dataclasses import replace

import numpy as np

from transect.analysis.replicated.conclusions import Finding, InWorld
from transect.analysis.replicated.replicating import SubjectEffects, _combine
from transect.effects import transported

NAN = float("nan")
FOUND = Finding(
    target="m", digest="1", attribute="glasses", outcome="score", unit="logit", levels="none to thin", scaled=False,
    verdict="cannot tell", worlds=tuple(InWorld(world=name, p_adjusted=NAN, n_subjects=0, seen=False) for name in ("rendered", "photographs")),
    seen_in=(), against=(), first="", second="", difference=NAN, low=NAN, high=NAN, confidence=0.95, least=NAN, most=NAN,
    margin=NAN, p=NAN, p_adjusted=NAN, p_replication=NAN, within=False, needed=(),
)  # fmt: skip


def repeating(seed=0, people=100, each=10, photographed=40):
    """Effects of photographs of people who repeat, in any order: the person decides most of an effect around .2."""
    rng = np.random.default_rng(seed)
    who = rng.permutation(np.repeat(np.arange(people), each))
    own = 0.2 + 0.3 * rng.standard_normal(people)[who] + 0.05 * rng.standard_normal(len(who))
    rendered = own + 0.1 + 0.05 * rng.standard_normal(len(who))
    return who, own, rendered, photographed


def of_both(who, own, rendered, n):
    numbers = np.arange(len(who))
    return (
        SubjectEffects("none to thin", numbers, who, rendered),
        SubjectEffects("none to thin", numbers[:n], who[:n], own[:n]),
    )


def test_renderings_of_people_who_were_photographed_are_no_other_people():
    who, own, rendered, n = repeating()
    one, notes = _combine(FOUND, *of_both(who, own, rendered, n))
    named = transported(own[:n], rendered[:n], rendered[n:], people=who[:n], people_alone=who[n:])
    assert (one.low, one.high, one.trust, notes) == (named.low, named.high, named.trust, [])
    for lost in ({}, {"people": who[:n]}):
        other = transported(own[:n], rendered[:n], rendered[n:], **lost)
        assert one.high - one.low > 1.2 * (other.high - other.low)


def test_intervals_of_people_who_repeat_hold_their_level():
    missed = []
    for seed in range(200):
        one, _ = _combine(FOUND, *of_both(*repeating(seed)))
        missed.append(not one.low <= 0.2 <= one.high)
    assert np.mean(missed) <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / 200)  # 30 % and more where one list is dropped


def test_runs_that_number_people_otherwise_say_so():
    """The rendered run names nobody: each of its subjects is somebody else."""
    who, own, rendered, n = repeating()
    renders, photographs = of_both(who, own, rendered, n)
    one, (note,) = _combine(FOUND, replace(renders, people=renders.subjects), photographs)
    assert one.high == transported(own[:n], rendered[:n], rendered[n:], people=who[:n]).high
    assert note.startswith("The two runs number people differently")
