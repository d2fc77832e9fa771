"""How often is a verdict on several worlds wrong, and do its intervals hold? By simulated worlds of known effects."""

from pathlib import Path

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm

from transect.analysis.replicated.conclusions import World, WorldEffect
from transect.analysis.replicated.reading import Reading
from transect.analysis.replicated.replicating import replicated
from transect.effects import WorldEstimate, agreements, transported
from transect.effects.analysis import adjust, analyse_transects
from transect.effects.samples import Measure
from transect.records import Attribute, Design

MARGIN = 0.05
Z = 1.959964


def worlds(rng, effects, errors):
    """One estimate per world around its own effect, with a normal interval; seen where that excludes 0."""
    drawn = np.array(effects) + np.array(errors) * rng.standard_normal(len(effects))
    return [
        WorldEstimate(
            value,
            value - Z * error,
            value + Z * error,
            p=2 * norm.sf(abs(value) / error),
            n=100,
            seen=abs(value) > Z * error,
        )
        for value, error in zip(drawn, errors, strict=True)
    ]


def verdicts(runs, effects, errors):
    """Each simulated effect is a family of its own."""
    rng = np.random.default_rng([int(1000 * abs(x)) for x in (*effects, *errors)])
    return [agreements([worlds(rng, effects, errors)], [MARGIN])[0] for _ in range(runs)]


def share(found, verdict):
    return np.mean([each.verdict == verdict for each in found])


def test_an_effect_of_one_world_alone_has_one_direction_in_at_most_two_and_a_half_per_cent(size, other, errors):
    """.1 in one world and 0 or the opposite in the other: beyond the margin, so that it hardly replicates."""
    found = verdicts(size.tables, (0.1, other), errors)
    size.rejects(share(found, "same direction") + share(found, "replicates"))


def test_an_effect_of_one_world_alone_inside_the_margin_does_not_replicate(size, effects, errors):
    """.03 or .02 and 0, which differ by less than .05: that worlds agree is no evidence of an effect in each of them.

    Where evidence in one world was enough, .22 to .88 of these tables were said to replicate.
    """
    found = verdicts(size.tables, effects, errors)
    size.rejects(share(found, "same direction") + share(found, "replicates"))
    assert share(found, "agrees") > 0.15


def test_sizes_that_differ_by_more_than_the_margin_are_called_replicated_in_at_most_five_per_cent(
    size, effects, errors
):
    """One sign and sizes of 1 to 3, 1 to 2 and 1 to 1.6: direction alone is no replication, however often it is seen."""
    found = verdicts(size.tables, effects, errors)
    size.rejects(share(found, "replicates"))


def test_equal_effects_replicate_where_worlds_are_precise_and_have_one_direction_else(size, errors):
    found = verdicts(size.tables, (0.1, 0.1), errors)
    size.rejects(share(found, "differs"))
    assert (share(found, "replicates") > 0.8) == (errors[0] < 0.02)


NAMES, FAR = ("a", "b", "c"), 0.25
KNOWN = {name: Attribute(name, "binary", name, levels=("no", "yes")) for name in NAMES}
PLANTED = {
    "one world each": 0.1 * np.eye(3),
    "all worlds but one": 0.1 * (1 - np.eye(3)),
    "the same null world": np.array([[0.1] * 3, [0.1] * 3, [0.0] * 3]),
    "sizes": np.array([[0.1, 0.1, 0.0], [0.1 + FAR, 0.1 + FAR, 0.0]]),
    "everywhere": np.full((3, 3), 0.1),
}
"""Effects [worlds, attributes] on both outcomes; sizes that differ by the margin are none that replicate."""


def a_world(rng, place, subjects, effects):
    """One world's report: answers of yes or no, and scores that are mostly 0, of alike subjects."""
    rows = []
    for outcome, base in (("answer", 0.05), ("score", 0.2)):
        alike = (rng.normal(size=(subjects, 1, 1, 1)) + rng.normal(size=(subjects, 2, 2, 2))) / np.sqrt(2)
        y = (ndtr(alike) < base + np.tensordot(effects, np.indices((2, 2, 2)), 1)) * 1.0
        y = y * rng.choice([0.5, 1.0, 1.5], y.shape) if outcome == "score" else y
        design = Design(dict.fromkeys(NAMES, (0.0, 1.0)), subjects=subjects)
        measure = Measure("m", outcome, "proportion" if outcome == "answer" else "score", outcome == "answer")
        rows += analyse_transects(y, np.full(y.shape, "", object), design, KNOWN, measure, max_order=0).effects
    names = ("target", "attribute", "outcome", "unit", "estimate", "low", "high", "p", "p_adjusted", "n_subjects")
    about = {"world": place, "digest": "m", "kind": "binary", "slope": False, "origin": 0.0, "to": 1.0}
    made = [
        WorldEffect(**about, labels=("no", "yes"), **{name: getattr(row, name) for name in names})
        for row in adjust(rows)
    ]
    name = f"world {place}"
    return Reading(Path(name), World(name, "", "rendered", "set", name, "", subjects), tuple(made))


def test_a_page_says_of_any_effect_wrongly_that_it_replicates_in_at_most_five_per_cent(size, planted):
    """Three attributes, two outcomes, worlds of 150, 80 and 60 subjects; the report of each corrects its own tests."""
    effects, rng, wrong, shares = PLANTED[planted], np.random.default_rng(3), [], []
    for _ in range(size.tables):
        worlds = [a_world(rng, place, (150, 80, 60)[place], each) for place, each in enumerate(effects)]
        found = replicated(worlds, {"answer": FAR, "score": FAR}).findings
        said = [effects[:, NAMES.index(each.attribute)] for each in found if each.verdict == "replicates"]
        wrong.append(any(each.min() <= 0 or np.ptp(each) > FAR - 1e-9 for each in said))
        shares.append(len(said) / len(found))
    size.rejects(np.mean(wrong))
    print(f"{planted}: {np.mean(wrong):.3f} of pages wrong, {np.mean(shares):.3f} of effects replicate")
    assert (np.mean(shares) > 0.3) == (planted == "everywhere")


def planted(rng, n, m, off, likeness, binary):
    """Effects on photographs and on their renderings; of yes or no a subject's effect is −1, 0 or 1."""
    own = 0.1 + 0.3 * rng.standard_normal(n + m)
    noise = 0.3 * rng.standard_normal(n + m)
    rendered = 0.1 + off + likeness * (own - 0.1) + np.sqrt(1 - likeness**2) * noise
    if not binary:
        return own, rendered
    light, dark = rng.random((2, n + m))
    answers = [(dark < 0.3 + 0.1 * on) * 1.0 - (light < 0.2) for on in (1, 0)]
    shared = rng.random(n + m) < likeness
    other = (rng.random(n + m) < 0.3 + off) * 1.0 - (rng.random(n + m) < 0.2)
    return answers[0], np.where(shared, answers[1], other)


def test_a_wrong_rendering_costs_no_coverage(size, off, likeness, binary, n):
    """The rendering is off by a known amount, and like the photographs or not: photographs' effect is held all the same."""
    rng = np.random.default_rng([n, int(100 * abs(off)), int(10 * likeness), binary])
    truth = 0.2 if binary else 0.1  # .4 − .2
    held, gained = [], []
    for _ in range(size.tables):
        own, rendered = planted(rng, n, 1000, off, likeness, binary)
        result = transported(own[:n], rendered[:n], rendered[n:])
        held.append(result.low <= truth <= result.high)
        gained.append(result.gained)
    size.covers(np.mean(held))
    assert np.mean(gained) >= -0.06
