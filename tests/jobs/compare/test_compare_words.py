"""The sentences of a comparison: several studies, observed images, several levels, and what cannot be told."""

import math
from dataclasses import replace

import pytest

from transect.analysis.compared import conclusions as words
from transect.analysis.compared.comparing import _confirming
from transect.analysis.compared.conclusions import Conclusion, DifferingAnswers, Row
from transect.analysis.compared.measuring import shifted

RATE = Row(
    "audit", "new", "old", "miss", "proportion", "rate", False, "", "mean over subjects", 0.1, 0.1, 0.0, -0.03, 0.03, 0.9,
    1.0, 50,
)  # fmt: skip
SIZES = {"first": 0.05, "second": 0.02, "estimate": -0.03, "low": -0.04, "high": -0.02}
GAP = replace(RATE, kind="gap", attribute="hat", name="none to cap", **SIZES)
LOWER = replace(RATE, first=0.2, second=0.1, estimate=-0.1)
LIGHT = replace(GAP, attribute="light_level", name="-6 to 0")


def concluded(verdict, row=0, levels="", margin=0.02, no_worse=None, needed=None):
    ends = -0.04, -0.02, 0.95, -0.05, 0.01
    return Conclusion("audit", "new", "old", "miss", "", verdict, row, levels, *ends, margin, no_worse, needed)


def answer(conclusions, rows, differing=()):
    (told,) = words.answers(conclusions, rows, differing)
    return told


def test_conclusions_in_words(snapshot):
    """Gaps name their levels, better and worse stand in turn, and what cannot be told says what it would take."""
    better, mixed = concluded("better"), concluded("differs", levels="none to cap", no_worse=True)
    observed = replace(GAP, observed=True, scope="study observation")
    lost = [replace(RATE, estimate=math.nan, reason="fewer than two subjects")]
    unanswered = [DifferingAnswers("audit", "new", "old", "miss", 0, 0, 0)]
    open_ones = {needed: concluded("cannot tell", needed=needed) for needed in (300, 900, None)}
    told = {
        "a gap": words.compared(better, GAP),
        "of chosen levels": words.compared(concluded("better", levels="cap to hood"), GAP),
        "of unclear levels": words.compared(better, replace(GAP, name="1 to 3 to 8 to 10")),
        "of observed groups": words.compared(concluded("better", levels="none to cap"), observed),
        "smaller here and larger there": words.finding(mixed, GAP),
        "several": answer(
            [better, concluded("better", row=1), concluded("better", row=3), concluded("worse", row=2)],
            [GAP, LOWER, LOWER, LIGHT],
        ),
        "differs and nothing else": answer([mixed], [GAP]),
        "no worse elsewhere": answer([mixed, concluded("cannot tell", no_worse=True)], [GAP]),
        "the most subjects": answer([open_ones[300], open_ones[900]], [RATE]),
        "unknown subjects": answer([open_ones[300], open_ones[None]], [RATE]),
        "no margin": answer([concluded("cannot tell", margin=math.nan), open_ones[900]], [RATE]),
        "nothing estimable": answer([concluded("not estimable")], lost, unanswered),
        "some not estimable": answer([concluded("no difference"), concluded("not estimable")], [RATE]),
    }
    assert "elsewhere" not in told["differs and nothing else"]
    assert "No difference" not in told["nothing estimable"]
    snapshot("comparisons", "\n".join(f"{name}: {text}" for name, text in told.items()))


@pytest.mark.parametrize(
    ("counts", "threshold"),
    [
        ({"miss": (36, 0)}, "A lower threshold of old would look the same: where they differ, new always says yes"),
        ({"false_alarm": (5, 0)}, "A higher threshold of old would look the same: where they differ, old always says"),
        ({"miss": (36, 1)}, None),
        ({"miss": (36, 0), "false_alarm": (0, 7)}, None),
        ({"error": (36, 0)}, None),
    ],
)
def test_a_moved_threshold_is_named_where_it_would_look_the_same(counts, threshold):
    rows = [DifferingAnswers("audit", "new", "old", outcome, 900, *each) for outcome, each in counts.items()]
    found = shifted(rows)
    assert (found is None) == (threshold is None)
    assert found is None or words.same_as_threshold(found).startswith(threshold)


def test_an_inconclusive_difference_gives_both_numbers_of_subjects():
    open_one = replace(concluded("cannot tell", needed=900), margin=0.02)
    assert words.needs(open_one, RATE) == "about 900 subjects would rule out 2 points"
    both = replace(open_one, subjects_to_confirm=240)
    assert (
        words.needs(both, RATE)
        == "about 240 subjects would confirm this difference, 900 subjects would rule out 2 points"
    )
    assert words.needs(replace(both, subjects_to_confirm=900), RATE) == words.needs(open_one, RATE)


def test_a_difference_within_the_margin_is_not_to_be_confirmed():
    """(1.96 + 1.28)² (0.1 / 1.96)² / 0.1² of 100 subjects are 274, rounded up to 280."""
    row = replace(RATE, estimate=0.1, low=0.0, high=0.2, n_subjects=100)
    assert _confirming(row, 0.02, 1) == 280
    assert _confirming(row, 0.1, 1) is None
    assert _confirming(replace(row, estimate=math.nan), 0.02, 1) is None


@pytest.mark.parametrize(("p", "low", "why"), [(0.01, 0.02, True), (0.2, 0.02, False), (0.01, -0.02, False)])
def test_a_significant_difference_that_is_inconclusive_says_why(p, low, why):
    """Its own interval leaves out 0, and the one that allows for its being picked does not."""
    row = replace(RATE, estimate=0.1, low=low, high=0.2, p_adjusted=p)
    assert ("corrected for selection, it includes 0" in words.sentence(concluded("cannot tell"), row)) is why


def test_a_detectors_answer_is_a_detection():
    """As the page of its audit words it; a classifier says yes."""
    row = replace(RATE, outcome="answer", task="detection")
    assert words.compared(concluded("better"), row) == "detection rate"
    assert words.compared(concluded("better"), replace(row, task="binary")) == "rate of yes answers"
    assert (words.called("answer", "detection"), words.called("answer", "binary")) == ("has a detection", "says yes")
