"""Codes, lengths and wordlists of free texts, and a user's scorer."""

import math
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.errors import BadInput
from transect.targets.words.coding import (
    WORDLISTS,
    codes_of,
    length_in_words,
    matcher,
    scores_by,
    share_of,
    wordlist,
)
from transect.targets.words.questions import Code, Kind, WordQuestion


def asked(*codes, wordlists=()):
    return WordQuestion("a", Kind.TEXT, ("Describe.",), codes=codes, wordlists=wordlists)


@pytest.mark.parametrize(
    ("code", "text", "found"),
    [
        (Code("a", ("man",)), "A man.", 1),
        (Code("a", ("man",)), "A woman, a manual, superman", 0),
        (Code("a", ("baseball cap",)), "a baseball\ncap", 1),
        (Code("a", ("middle-aged",)), "a middle aged person", 1),
        (Code("a", ("c++",)), "knows C++ well", 1),
        (Code("a", (), ("nurs(e|ing)",)), "Nursing", 1),
        (Code("a", (), ("(?-i)Nurse",)), "nurse", 0),
        (Code("a", ("hat",), ("cap",)), "a cap", 1),
        (Code("a", ("hat",)), "\ud800 hat", 1),
    ],
)
def test_a_code_is_found_as_whole_words_or_by_its_pattern(code, text, found):
    assert codes_of(asked(code), text) == (float(found),)


@given(text=st.text(max_size=100))
def test_codes_lengths_and_shares_are_of_any_text(text):
    assert set(codes_of(asked(Code("a", ("b",), ("c+",))), text)) <= {0.0, 1.0}
    n = length_in_words(text)
    for share in (share_of(wordlist(name), text) for name in WORDLISTS):
        assert (math.isnan(share) and n == 0) or 0 <= share <= 1


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+$", "(.*)*b", "(x+x+)+y", "(a*)*(b*)*c"])
def test_no_pattern_takes_long(pattern):
    """Python's own engine takes hours for the first on 40 letters."""
    start = time.process_time()
    matcher(pattern)("a" * 100_000 + "!")
    assert time.process_time() - start < 2


@pytest.mark.parametrize("pattern", ["(a", r"(a)\1", "(?=a)", "a{1000}{1000}{1000}"])
def test_a_pattern_that_is_none_is_refused_in_one_line(pattern):
    with pytest.raises(BadInput, match=r"^expected a regular expression, got '") as caught:
        matcher(pattern)
    assert "\n" not in str(caught.value)


def test_shares_are_of_all_words():
    assert share_of(wordlist("competence"), "A capable and intelligent man with a hat") == pytest.approx(2 / 8)
    assert share_of(wordlist("warmth"), "friendly friends") == 1.0
    assert math.isnan(share_of(wordlist("warmth"), "… 。"))


def test_a_scorers_numbers_come_back_and_its_faults_are_reasons():
    values, reason = scores_by(lambda texts: np.array([len(text) for text in texts]), ["a", "bc"])
    assert (values.tolist(), reason) == ([1.0, 2.0], "")
    for score, words in [
        (lambda texts: [1.0], "wrong shape: expected 2 numbers, got 1"),
        (lambda texts: [math.nan, 1.0], "not finite"),
        (lambda texts: 1 / 0, "raised ZeroDivisionError"),
    ]:
        values, reason = scores_by(score, ["a", "bc"])
        assert np.isnan(values).all()
        assert reason.startswith(words)
