"""Which search is better? Paired differences by hand, and what the page and the terminal say of them."""

import numpy as np
import pytest
from report_reader import number_faults, parse, text_faults, text_of

from transect.effects.intervals import median_interval
from transect.jobs.search.comparing import ComparisonResult
from transect.jobs.search.comparison import (
    ArmNumbers,
    ComparisonNumbers,
    best_two,
    clear_of_zero,
    paired,
    repeated,
)
from transect.jobs.search.comparison_page import write
from transect.runs.plain_json import plain

CHANCE = [30.0, 31.0, 29.0, 35.0, 30.0, 33.0]
OURS = [35.0, 33.0, 30.0, 42.0, 36.0, 40.0]  # more than chance by 5, 2, 1, 7, 6, 7
SOBOL = [31.0, 30.0, 29.0, 38.0, 31.0, 35.0]  # by 1, -1, 0, 3, 1, 2
WEIGHTED = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0]  # by -20, -20, -17, -22, -16, -18


def arm(name, counts, chance=CHANCE):
    more = None if name == "random" or chance is None else paired(counts, chance[: len(counts)])
    few = (1.0, 2.0)
    return ArmNumbers(name, name, None, None, repeated(counts), repeated(counts), more, 0, few, few, few)


def numbers(*arms):
    repeats = len(arms[0].failures.repeats)
    calls = len(arms) * repeats * 80
    return ComparisonNumbers(
        "target", "error", 80, repeats, 0, 0.95, "diversity", calls, calls, 0, 0.0, (), tuple(arms), best_two(arms), ()
    )


def said(found, tmp_path):
    """The answer of the page and the sentences of the terminal; every number is in comparison.json."""
    tree = parse(write(found, [()] * len(found.arms), tmp_path).read_text())
    assert number_faults(tree, plain(found)) == []
    assert text_faults(tree, plain(found)) == []
    answer = next(element for element in tree.iter() if element.get("class") == "answer")
    return text_of(answer), ComparisonResult(found, tmp_path, ()).headline()


def test_differences_are_paired_and_the_best_two_are_those_of_the_highest_means():
    arms = [arm("sobol", SOBOL), arm("random", CHANCE), arm("weighted", WEIGHTED), arm("ours", OURS)]
    assert arms[3].more_than_random.repeats == (5.0, 2.0, 1.0, 7.0, 6.0, 7.0)
    best = best_two(arms)
    # 35 - 31, 33 - 30, 30 - 29, 42 - 38, 36 - 31, 40 - 35: sorted 1, 3, 4, 4, 5, 5
    assert (best.first, best.second, best.more.repeats) == ("ours", "sobol", (4.0, 3.0, 1.0, 4.0, 5.0, 5.0))
    assert (best.more.median, best.more.low, best.more.high) == (4.0, 1.0, 5.0)
    assert best_two(arms[:2]) is None
    # one repeat lifts a mean above the other's, which most seeds contradict: the median leads
    lifted = best_two([arm("a", [60.0, 1.0, 1.0]), arm("b", [2.0, 2.0, 2.0])])
    assert (lifted.first, lifted.more.repeats) == ("b", (-58.0, 1.0, 1.0))


def test_an_interval_that_touches_zero_decides_nothing():
    assert clear_of_zero(repeated([1.0, 2.0, 3.0, 4.0, 5.0, 0.0])) == 0
    assert clear_of_zero(repeated([-1.0] * 6)) == -1
    assert clear_of_zero(repeated([9.0] * 5)) == 0  # no interval


def test_the_answer_leads_with_differences_and_names_none_without_an_interval(tmp_path):
    whole = numbers(arm("sobol", SOBOL), arm("random", CHANCE), arm("weighted", WEIGHTED), arm("ours", OURS))
    page, line = said(whole, tmp_path)
    # medians of 1, 2, 5, 6, 7, 7; of -22, -20, -20, -18, -17, -16; of -1, 0, 1, 1, 2, 3
    for words in (
        "More failures than random points: ours +5.5 (+1 to +7).",
        "Fewer failures than random points: weighted −19 (−22 to −16).",
        "Not decided against random points: sobol +1 (−1 to +3); give more repeats (had 6).",
        "Of the best two, ours finds more failures than sobol: +4 (+1 to +5).",
    ):
        assert words in page, page
    assert line.startswith("more failures than random points: ours +5.5 (+1 to +7); fewer ")
    assert "ours finds more than sobol: +4 (+1 to +5)" in line


def test_intervals_of_several_searches_are_said_to_stand_each_by_itself(tmp_path):
    several = numbers(arm("sobol", SOBOL), arm("random", CHANCE), arm("weighted", WEIGHTED), arm("ours", OURS))
    page, line = said(several, tmp_path)
    assert "stands by itself and is not corrected for the 3 searches" in page
    assert "; each 95 % interval by itself; " in line
    for one in (numbers(arm("random", CHANCE), arm("ours", OURS)), numbers(arm("ours", OURS[:5]), arm("a", SOBOL[:5]))):
        page, line = said(one, tmp_path)
        assert "stands by itself" not in page
        assert "by itself" not in line


def test_few_repeats_decide_nothing_however_large_the_difference(tmp_path):
    few = numbers(arm("ours", OURS[:5]), arm("sobol", SOBOL[:5]), arm("random", CHANCE[:5]))
    page, line = said(few, tmp_path)
    assert "ours +5; sobol +1; no interval, give six repeats or more (had 5)" in page
    assert "Not decided between the best two, ours and sobol: +4; no interval" in page
    assert "not decided between the best two, ours and sobol: +4; no interval, give six repeats or more (had 5)" in line
    assert "found most" not in page + line
    assert "finds more" not in page + line


def test_what_is_not_compared_is_said(tmp_path):
    page, _ = said(numbers(arm("ours", OURS, None), arm("sobol", SOBOL, None)), tmp_path)
    assert "Random points were not compared: add random to --compare." in page
    alone, line = said(numbers(arm("random", CHANCE)), tmp_path)
    assert "random found 31.3 failures, in the mean over 6 repeats; nothing is compared with it." in alone
    assert line == "480 answers from 480 pictures, each asked about once"


@pytest.mark.parametrize("searches", [2, 3, 6])
def test_choosing_the_best_two_calls_equal_searches_different_in_five_per_cent_at_most(searches):
    """2,000 comparisons of six repeats; 5 % and three standard errors of it, 1.5 %."""
    counts = np.random.default_rng(7).normal(20, 5, (2000, searches, 6))
    ranked = np.take_along_axis(counts, np.argsort(-counts.mean(axis=2))[:, :2, None], axis=1)
    low, high = median_interval((ranked[:, 0] - ranked[:, 1]).T)
    assert ((low > 0) | (high < 0)).mean() <= 0.065
