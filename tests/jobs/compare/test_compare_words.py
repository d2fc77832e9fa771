"""The sentences of a comparison: several studies, observed images, several levels, and what cannot be told."""

import math
from dataclasses import replace

import auditing
import pytest
from canonical import always, bright
from commands import refused_here
from report_reader import parse, text_of

import transect
from transect.analysis.compared import words
from transect.analysis.compared.records import Conclusion, Disagreement, Row
from transect.analysis.compared.remaining import shifted

RATE = Row(
    "audit", "new", "old", "miss", "proportion", "rate", False, "", "mean over subjects", 0.1, 0.1, 0.0, -0.03, 0.03, 0.9,
    1.0, 50,
)  # fmt: skip
GAP = replace(
    RATE,
    kind="gap",
    attribute="hat",
    name="none to cap",
    first=0.05,
    second=0.02,
    estimate=-0.03,
    low=-0.04,
    high=-0.02,
)


def concluded(verdict, row=0, levels="", margin=0.02, no_worse=None, needed=None):
    return Conclusion(
        "audit",
        "new",
        "old",
        "miss",
        "",
        verdict,
        row,
        levels,
        -0.04,
        -0.02,
        0.95,
        -0.05,
        0.01,
        margin,
        no_worse,
        needed,
    )


def answer(conclusions, rows, differing=()):
    (told,) = words.answers(conclusions, rows, differing)
    return told


def test_a_gap_names_its_levels():
    assert words.compared(concluded("better"), GAP) == "gap in miss rate between hat none and cap"
    assert words.compared(concluded("better", levels="cap to hood"), GAP) == "gap in miss rate between hat cap and hood"
    unclear = replace(GAP, name="1 to 3 to 8 to 10")
    assert words.compared(concluded("better"), unclear) == "gap in miss rate between hat (1 to 3 to 8 to 10)"
    in_study = replace(GAP, observed=True, scope="study observation")
    named = words.compared(concluded("better", levels="none to cap"), in_study)
    assert named == "gap in miss rate between groups of hat none and cap (study observation)"


def test_a_gap_that_is_smaller_here_and_larger_there_is_told_as_both():
    told = words.finding(concluded("differs", levels="none to cap"), GAP)
    assert told == (
        "changes old's gap in miss rate between hat none and cap: narrows the gap between some levels and widens it "
        "between others, most here, from 5.0 to 2.0 points (−3.0 points, 95 % interval −4.0 to −2.0)"
    )


def test_differences_are_told_in_a_sentence_each():
    lower = replace(RATE, first=0.2, second=0.1, estimate=-0.1)
    light = replace(GAP, attribute="light_level", name="-6 to 0")
    told = answer(
        [concluded("better"), concluded("better", row=1), concluded("better", row=3), concluded("worse", row=2)],
        [GAP, lower, lower, light],
    )
    assert told.startswith("new narrows old's gap in miss rate between hat none and cap, from")
    assert ". It narrows the gap in miss rate between light level −6 and 0, from" in told
    assert ". It has a lower miss rate than old, from 20.0 to 10.0 %" in told
    assert ". But it has a lower miss rate" in told


def test_what_is_told_to_differ_is_not_called_no_worse_elsewhere():
    told = answer([concluded("differs", levels="none to cap", no_worse=True)], [GAP])
    assert "elsewhere" not in told
    told = answer(
        [concluded("differs", levels="none to cap", no_worse=True), concluded("cannot tell", no_worse=True)], [GAP]
    )
    assert told.endswith(" It is no worse elsewhere (by 2.0 points at most).")


@pytest.mark.parametrize(
    ("counts", "threshold"),
    [
        ({"miss": (36, 0)}, "A lower threshold of old would look the same: where they differ, new always says yes"),
        ({"miss": (0, 36)}, "A lower threshold of new would look the same: where they differ, old always says yes"),
        ({"false_alarm": (5, 0)}, "A higher threshold of old would look the same: where they differ, old always says"),
        ({"answer": (0, 9), "miss": (3, 0)}, "A lower threshold of old"),
        ({"miss": (36, 1)}, None),
        ({"miss": (0, 0)}, None),
        ({"miss": (36, 0), "false_alarm": (0, 7)}, None),
        ({"error": (36, 0)}, None),
    ],
)
def test_a_moved_threshold_is_named_where_it_would_look_the_same(counts, threshold):
    rows = [Disagreement("audit", "new", "old", outcome, 900, *each) for outcome, each in counts.items()]
    found = shifted(rows)
    assert (found is None) == (threshold is None)
    assert found is None or words.same_as_threshold(found).startswith(threshold)


@pytest.mark.parametrize(
    ("needs", "told"),
    [
        ((300, 900), "needs about 900 subjects"),
        ((300, None), "how many subjects could tell is not known"),
    ],
)
def test_the_subjects_that_all_open_comparisons_need(needs, told):
    said = answer([concluded("cannot tell", needed=needed) for needed in needs], [RATE])
    assert said == f"No difference between new and old was found; these images cannot tell ({told})."


def test_a_margin_that_was_not_stated_is_asked_for():
    said = answer([concluded("cannot tell", margin=math.nan), concluded("cannot tell", needed=90)], [RATE])
    assert said.endswith("cannot tell (state the smallest difference that matters (--margin miss=…)).")


def test_nothing_estimable_is_not_called_no_difference():
    rows = [replace(RATE, estimate=math.nan, reason="fewer than two subjects")]
    said = answer([concluded("not estimable")], rows, [Disagreement("audit", "new", "old", "miss", 0, 0, 0)])
    assert said == "Whether new and old differ is not estimable (fewer than two subjects)."
    said = answer([concluded("no difference"), concluded("not estimable")], [RATE])
    assert said.endswith("; the others are not estimable.")


def embedded(pixels):
    return pixels.reshape(len(pixels), -1)[:, :8] / 255.0


def embedded_too(pixels):
    return pixels.reshape(len(pixels), -1)[:, 8:16] / 255.0


def test_each_study_of_a_folder_is_named_and_observed_gaps_are_called_associations(tmp_path):
    settings = {
        "vary": {"skin_tone": (1, 10)},
        "observe": 30,
        "subjects": 12,
        "compare": ["skin_tone"],
        "truth": "face",
        "outcomes": ["miss"],
    }
    auditing.audit([bright, always], image_size=32, control=False, out=tmp_path / "run", **settings)
    result = transect.compare(tmp_path / "run")
    compared = [row[2] for row in result.rows()[1]]
    assert "miss rate (study experiment)" in compared
    assert "miss rate (study observation)" in compared
    assert "gap in miss rate between skin tone 1 and 10 (study experiment)" in compared
    assert any(text.startswith("gap in miss rate between groups of skin tone") for text in compared)
    assert words.ASSOCIATIONS in result.warning_lines()
    tables = [text_of(node) for node in parse(result.report(tmp_path).read_text()).iter("table")]
    assert all("observation" in table and "experiment" in table for table in tables)


def test_distances_in_spaces_of_their_own_are_not_compared(tmp_path):
    settings = {"vary": ["glasses=0,1"], "subjects": 6, "image_size": 32, "control": False}
    auditing.audit([embedded, embedded_too], task="embedding", out=tmp_path / "run", **settings)
    told = refused_here("compare", str(tmp_path / "run"))
    assert "distance is not compared: distances of two models have different scales" in told
    assert "transect recognition" in told
