"""What is said of effects in several worlds, by estimates that are given."""

from pathlib import Path

import pytest
from report_reader import parse, text_of

from transect.analysis.replicated.reading import Reading
from transect.analysis.replicated.records import World, WorldEffect
from transect.analysis.replicated.replicating import replicated
from transect.jobs.replicate.page import page_of
from transect.jobs.replicate.run import ReplicateResult
from transect.reports import builder

Z = 1.959964


def world(name, *estimates, at=0, image_size=0, models=("m",), **stated):
    """A world whose attributes a, b, … have these estimates with their errors, of each model."""
    effects = tuple(
        WorldEffect(
            at, model, model, attribute, "binary", "", "answer", "proportion", "", False, 0.0, 1.0, ("off", "on"), value,
            value - Z * error, value + Z * error, 0.01 if abs(value) > Z * error else 0.5, 100,
        )
        for model in models
        for attribute, (value, error) in zip("abcdefg", estimates, strict=False)
    )  # fmt: skip
    return Reading(
        Path(name), World(name, name, "rendered", "set", name, "", 100, image_size=image_size, **stated), effects
    )


def concluded(*worlds, margin=0.02):
    return replicated([world(name, *of, at=at) for at, (name, of) in enumerate(worlds)], {"answer": margin})


def texts(numbers):
    return {finding.attribute: finding.text for finding in numbers.findings}


def test_one_direction_says_how_far_sizes_may_be_apart_and_what_would_tell():
    """.10 and .25 with errors .02 and .10: the difference has error .102, its 90 % interval ends at .15 + 1.645 × .102."""
    numbers = concluded(("drawn", [(0.10, 0.02)]), ("photos", [(0.25, 0.10)]))
    (text,) = texts(numbers).values()
    assert text.startswith(
        "Same direction; sizes not shown alike: a off to on on the rate of yes answers, seen in 2 of 2 worlds "
        "(drawn +10.0 points, photos +25.0 points); sizes differ by 31.8 points at most (90 % intervals), the stated "
        "margin is 2.0 points; to tell whether sizes are alike needs about "
    )
    assert numbers.answer[0] == (
        "Of 1 effect that several worlds share: 1 has the same direction but sizes not shown alike."
    )
    result = ReplicateResult(numbers)
    assert result.rows()[1][0][0] == "⇉ same direction; sizes not shown alike"
    page = text_of(parse(builder.build(page_of(numbers))))
    assert "⇉ Same direction; sizes not shown alike" in page
    assert "they may be very different" in page


def test_opposite_directions_are_said_in_the_verdict():
    numbers = concluded(("drawn", [(0.10, 0.02)]), ("photos", [(-0.08, 0.02)]), margin=0.05)
    (finding,) = numbers.findings
    assert finding.text.startswith(
        "Differs, opposite directions: a off to on on the rate of yes answers, seen as an increase in drawn and as a "
        "decrease in photos: drawn +10.0 points, photos −8.0 points, by 18.0 points "
    )
    assert numbers.answer[0].endswith(": 1 differs, 1 of these in opposite directions.")
    assert (finding.seen_in, finding.against) == (("drawn",), ("photos",))
    assert ReplicateResult(numbers).rows()[1][0][0] == "≠ differs, opposite directions"
    page = builder.build(page_of(numbers))
    assert "<strong>Differs, opposite directions</strong>" in page


@pytest.mark.parametrize(("second", "margin", "verdict"), [
    ((-0.02, 0.03), 0.02, "Cannot tell"), ((-0.05, 0.03), 0.02, "Differs"), ((-0.001, 0.01), 0.20, "Replicates"),
])  # fmt: skip
def test_estimates_of_both_signs_are_said_where_one_world_alone_shows_the_effect(second, margin, verdict):
    first = (0.05, 0.02) if verdict == "Cannot tell" else (0.10, 0.02)
    (text,) = texts(concluded(("drawn", [first]), ("photos", [second]), margin=margin)).values()
    assert text.startswith(f"{verdict}: ")
    assert "seen in 1 of 2 worlds" in text
    assert "estimates have opposite signs" in text
    (same,) = texts(concluded(("drawn", [first]), ("photos", [(abs(second[0]), second[1])]), margin=margin)).values()
    assert "opposite" not in same


def test_effects_that_no_world_shows_have_no_direction():
    (text,) = texts(concluded(("drawn", [(0.001, 0.002)]), ("photos", [(-0.001, 0.002)]))).values()
    assert text.startswith("Seen in no world: ")
    assert "opposite" not in text


def test_a_replication_is_within_the_margin():
    (text,) = texts(concluded(("drawn", [(0.10, 0.005)]), ("photos", [(0.10, 0.005)]))).values()
    assert text.startswith("Replicates: ")
    assert text.endswith("; worlds differ by less than 2.0 points.")
