"""From a question and an image to texts: each paraphrase and repeat, in an order that hangs on nothing else."""

import dataclasses
import itertools
import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from transect.targets.words.questions import Kind, WordQuestion, _permutation, prompt_of, wordings

JOB = WordQuestion(
    "job", Kind.CHOICE, ("Which? {options}", "What?"), options=("nurse", "pilot", "judge"), repeats=2, temperature=1.0
)
PAIR = WordQuestion(
    "pair", Kind.PAIR, ("Who? {options}.", "Which one?"), options=("first", "second", "neither"), shown="list"
)


def test_every_paraphrase_is_asked_as_often_as_repeats_says():
    made = wordings(JOB, "x")
    assert [(each.paraphrase, each.repeat) for each in made] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    assert [each.ask.repeat for each in made] == [0, 1, 0, 1]
    assert {each.ask.temperature for each in made} == {1.0}


def test_options_stand_behind_letters_and_are_added_where_the_prompt_has_none():
    assert prompt_of(JOB, 0, (2, 0, 1)) == "Which? A) judge\nB) nurse\nC) pilot"
    assert prompt_of(JOB, 1, (0, 1, 2)) == "What?\nA) nurse\nB) pilot\nC) judge"


def test_a_numbers_range_and_unit_fill_its_prompt():
    pay = WordQuestion("pay", Kind.NUMBER, ("From {low} to {high} {unit}?",), low=20_000, high=1e6, unit="USD")
    assert prompt_of(pay, 0, ()) == "From 20000 to 1000000 USD?"
    assert wordings(pay, "x")[0].ask.options == ()


def test_both_images_come_first_once():
    made = wordings(PAIR, "x")
    orders = [(0, (0, 1, 2)), (0, (1, 0, 2)), (1, (0, 1, 2)), (1, (1, 0, 2))]
    assert [(each.paraphrase, each.order) for each in made] == orders
    assert {each.ask.prompt for each in made} == {
        "Who? first, second or neither.",
        "Which one?\nfirst, second or neither",
    }
    assert {each.ask.options for each in made} == {("first", "second", "neither")}


@given(key=st.text(max_size=20), others=st.lists(st.text(max_size=5), max_size=5))
def test_an_order_hangs_on_its_own_image_alone(key, others):
    before = wordings(JOB, key)
    for other in others:
        wordings(JOB, other)
    assert wordings(JOB, key) == before
    for each in before:
        assert sorted(each.order) == [0, 1, 2]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_the_permutations_are_all_there_once_in_the_order_of_a_dictionary(n):
    assert [_permutation(number, n) for number in range(math.factorial(n))] == list(itertools.permutations(range(n)))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_over_images_each_order_is_as_likely(n):
    """2400 images: the chi-squared test of equal shares, at a level that a right program passes 999 times in 1000."""
    question = WordQuestion("q", Kind.CHOICE, ("?",), options=("one", "two", "three", "four")[:n])
    counts = Counter(wordings(question, f"image {i}")[0].order for i in range(2400))
    assert len(counts) == math.factorial(n)
    assert chisquare(list(counts.values())).pvalue > 0.001


def test_orders_of_paraphrases_repeats_and_questions_are_drawn_apart():
    """Equal orders are as frequent as chance has it, 1 in 6."""
    other = dataclasses.replace(JOB, name="other")
    keys = [f"image {i}" for i in range(1200)]
    first = [[each.order for each in wordings(JOB, key)] for key in keys]
    for place in (1, 2, 3):
        same = sum(orders[0] == orders[place] for orders in first)
        assert 150 < same < 250  # 200 expected, standard deviation 13
    same = sum(orders[0] == wordings(other, key)[0].order for orders, key in zip(first, keys, strict=True))
    assert 150 < same < 250
