"""What is said of effects in several worlds, by estimates that are given."""

from dataclasses import replace
from pathlib import Path

from snapshots import page_text
from transect.analysis.replicated.conclusions import World, WorldEffect
from transect.analysis.replicated.reading import Reading
from transect.analysis.replicated.replicating import replicated
from transect.jobs.replicate import Replicate
from transect.reports import builder

Z = 1.959964


def world(name, *estimates, at=0, image_size=0, models=("m",), **stated):
    """A world whose attributes a, b, … have these estimates with their errors, of each model."""
    effects = tuple(
        WorldEffect(
            world=at, target=model, digest=model, attribute=attribute, kind="binary", outcome="answer", unit="proportion",
            slope=False, origin=0.0, to=1.0, labels=("off", "on"), estimate=value, low=value - Z * error,
            high=value + Z * error, p=0.01 if abs(value) > Z * error else 0.5, p_adjusted=0.01 if abs(value) > Z * error else 0.5, n_subjects=100,
        )
        for model in models
        for attribute, (value, error) in zip("abcdefg", estimates, strict=False)
    )  # fmt: skip
    return Reading(
        Path(name), World(name, name, "rendered", "set", name, "", 100, image_size=image_size, **stated), effects
    )


def concluded(*worlds, margin=0.02):
    return replicated([world(name, *of, at=at) for at, (name, of) in enumerate(worlds)], {"answer": margin})


def test_findings_in_words(snapshot):
    """Of .10 and .25 with errors .02 and .10 the difference has error .102: its 90 % interval ends at .15 + 1.645 × .102."""
    none, sure, exact = (0.001, 0.002), (0.10, 0.02), (0.10, 0.005)
    cases = {
        "same direction": (concluded(("drawn", [sure]), ("photos", [(0.25, 0.10)])), "32 points at most"),
        "opposite directions": (
            concluded(("drawn", [sure]), ("photos", [(-0.08, 0.02)]), margin=0.05), "differs, 1 of these in opposite",
        ),
        "agrees": (concluded(("drawn", [none]), ("photos", [(-0.001, 0.002)])), "seen in 0 of 2 worlds"),
        "replicates": (concluded(("drawn", [exact]), ("photos", [exact])), "differ by less than 2 points"),
    }  # fmt: skip
    lines = []
    for name, (numbers, key) in cases.items():
        content = Replicate(()).content(numbers)
        texts = [*numbers.answer, *(finding.text for finding in numbers.findings)]
        assert key in " ".join(texts)
        lines += [
            "",
            f"## {name}",
            *texts,
            content.lines()[len(numbers.answer)][1][0][0],
            page_text(builder.build(content.page())),
        ]
    snapshot("replications", "\n".join(lines))
    (finding,) = cases["opposite directions"][0].findings
    assert (finding.seen_in, finding.against) == (("drawn",), ("photos",))


def test_a_world_whose_interval_holds_0_does_not_show_the_effect_however_small_its_p():
    """Averages over cells can have p .01 beside an interval that holds 0: some subject changes, on average none."""
    one, other = world("drawn", (0.10, 0.02)), world("photos", (0.10, 0.02), at=1)
    wide = replace(other, effects=(replace(other.effects[0], low=-0.01, p_adjusted=0.01),))
    (finding,) = replicated([one, wide], {"answer": 0.5}).findings
    assert (finding.verdict, finding.seen_in) == ("agrees", ("drawn",))


def test_worlds_that_agree_by_themselves_and_not_after_correction_are_said_to():
    """Seven effects with p .01 in each world: 7 × .01 is above .05, and the differences (error .0071) are within .02."""
    exact = [(0.10, 0.005)] * 7
    found = concluded(("drawn", exact), ("photos", exact)).findings
    assert {(each.verdict, each.within) for each in found} == {("same direction", True)}
    assert "but not after correction for all effects on this page" in found[0].text
    assert {each.verdict for each in concluded(("drawn", exact[:5]), ("photos", exact[:5])).findings} == {"replicates"}


def test_a_detectors_answer_is_a_detection():
    one, other = (
        replace(each, effects=tuple(replace(effect, task="detection") for effect in each.effects))
        for each in (world("drawn", (0.10, 0.02)), world("photos", (0.10, 0.02), at=1))
    )
    (finding,) = replicated([one, other], {"answer": 0.5}).findings
    assert "on the detection rate" in finding.text
