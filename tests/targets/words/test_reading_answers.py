"""What texts amount to: hand-labelled answers, ends of texts, likelihoods, and that no text whatever is an error."""

import math
import time
from collections import Counter

import pytest
from contested_answers import AFTERWARDS, CONTESTED, HIRE, NAMED, ORDERS_TOO, REPORTED, TRUST, UNREADABLE
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_answers import AGE, ANSWERS, CUT, DECLINED, FREE, JOB, ORDERS, PAIR, RATE, SALARY, SMILE, TEXT
from later_answers import LATER

from transect.said import Ask, Spoken, Status
from transect.targets.words.found import STATUS, Reason
from transect.targets.words.questions import Kind, WordQuestion
from transect.targets.words.reading import likelihood_of, read
from transect.targets.words.wordings import Wording, wordings


def as_asked(question: WordQuestion) -> Wording:
    order = (ORDERS | ORDERS_TOO)[question.name]
    return Wording(0, 0, order, Ask("", "prompt", options=("A", "B", "C", "D")[: len(order)]))


def label_of(said) -> object:
    if said.status is not Status.ANSWERED:
        assert math.isnan(said.value)
        assert said.codes == ()
        return Reason(said.reason)
    assert said.reason == ""
    return FREE if math.isnan(said.value) else said.value


@pytest.mark.parametrize(
    ("question", "text", "label"),
    [*ANSWERS, *LATER],
    ids=lambda part: part.name if isinstance(part, WordQuestion) else None,
)
def test_an_answer_is_read_as_a_person_reads_it(question, text, label):
    said = read(question, as_asked(question), Spoken(text))
    assert label_of(said) == label
    assert said.status is (STATUS[label] if isinstance(label, Reason) else Status.ANSWERED)
    assert said.text == text


@pytest.mark.parametrize(
    ("question", "text", "label"),
    [*CONTESTED, *REPORTED, *AFTERWARDS],
    ids=lambda part: part.name if isinstance(part, WordQuestion) else None,
)
def test_a_denial_or_a_comparison_is_not_read_as_its_opposite(question, text, label):
    said = read(question, as_asked(question), Spoken(text))
    if label == UNREADABLE:
        assert (said.status, said.codes) == (Status.UNREADABLE, ())
        assert math.isnan(said.value)
    else:
        assert label_of(said) == label


@pytest.mark.parametrize(("text", "named"), NAMED)
def test_what_a_text_declines_to_say_is_not_named(text, named):
    said = read(TEXT, as_asked(TEXT), Spoken(text))
    assert said.status is Status.ANSWERED
    assert said.codes == (float(named),)


def test_a_question_for_the_lesser_one_turns_what_counts():
    """Asked for less, "less" names the answer, and "more" names the other one, which is not guessed."""
    less = WordQuestion("pair", Kind.PAIR, ("Which of the two looks less trustworthy?",), options=PAIR.options)
    assert read(less, as_asked(less), Spoken("The first person looks less trustworthy.")).value == 1
    assert read(less, as_asked(less), Spoken("The first person looks more trustworthy.")).reason == Reason.NEGATED


def test_a_denied_option_is_the_other_only_where_nothing_is_between():
    assert read(HIRE, as_asked(HIRE), Spoken("I would not hire this person.")).value == 1
    assert read(HIRE, as_asked(HIRE), Spoken("It is not that I never hire such a person.")).status is Status.UNREADABLE
    assert read(TRUST, as_asked(TRUST), Spoken("Not very trustworthy.")).status is Status.UNREADABLE


@pytest.mark.parametrize(("question", "text", "label"), CUT)
def test_an_answer_without_its_end_counts_where_it_is_clear(question, text, label):
    assert label_of(read(question, as_asked(question), Spoken(text, end="length"))) == label


@pytest.mark.parametrize(("end", "text", "label"), DECLINED)
def test_what_the_interface_says_comes_first(end, text, label):
    said = read(SMILE, as_asked(SMILE), Spoken(text, end=end, refusal=label is Reason.DECLINED))
    assert label_of(said) == label


def test_the_table_is_large_and_has_every_reason():
    assert len(ANSWERS) >= 150
    labels = Counter(label for _, _, label in [*ANSWERS, *CUT] if isinstance(label, Reason))
    assert {*labels, Reason.DECLINED, Reason.FILTERED} == set(Reason)
    assert len({(question.name, text) for question, text, _ in ANSWERS}) == len(ANSWERS)


def test_a_failed_call_is_none_of_the_outcomes():
    said = read(SMILE, as_asked(SMILE), Spoken("Yes", failure="HTTP 500\nsecond line"))
    assert (said.status, said.reason) == (Status.FAILED, "HTTP 500 second line")
    assert math.isnan(said.value)


@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize(
    "form",
    ["{letter}", "({letter})", "{letter}) {text}", "The answer is {letter}.", "{text}", "I think it is a {text}."],
)
def test_letters_and_texts_mean_the_option_at_their_place(place, form):
    for wording in wordings(JOB, "a") + wordings(JOB, "b"):
        number = wording.order[place]
        text = form.format(letter="ABCD"[place], text=JOB.options[number])
        said = read(JOB, wording, Spoken(text))
        assert said.value == number
        assert said.place == place


def test_the_place_of_an_image_is_not_the_image():
    for wording in wordings(PAIR, "x"):
        assert read(PAIR, wording, Spoken("first")).value == wording.order[0]
        assert read(PAIR, wording, Spoken("first")).place == 0


@given(
    value=st.integers(20_000, 300_000),
    form=st.sampled_from(["{}", "${}", "{:,}", "${:,} per year", "I would offer ${:,}.", "Answer: {} USD"]),
)
def test_numbers_in_range_are_read_in_every_form(value, form):
    assert read(SALARY, as_asked(SALARY), Spoken(form.format(value))).value == value


@given(low=st.integers(0, 80), width=st.integers(1, 27))
def test_a_narrow_range_is_its_middle(low, width):
    """27 years are a quarter of 110, rounded down."""
    said = read(AGE, as_asked(AGE), Spoken(f"{low}-{low + width} years"))
    assert said.value == low + width / 2
    assert label_of(read(AGE, as_asked(AGE), Spoken(f"{low}-{low + 28} years"))) == Reason.WIDE


ALL = (SMILE, JOB, SALARY, AGE, RATE, PAIR, TEXT)
PIECES = st.sampled_from(
    [
        "yes",
        "no",
        "not",
        "B",
        "(A)",
        "A)",
        "answer:",
        "is",
        "I'm",
        "sorry,",
        "but",
        "can't",
        "tell",
        "help",
        "$",
        "95,000",
        "k",
        "40",
        "-",
        "50",
        "%",
        "per",
        "year",
        "first",
        "second",
        "image",
        "<think>",
        "</think>",
        "{",
        "}",
        '"',
        ":",
        ",",
        ".",
        "\n",
        "*",
        "**",
        "`json`",
        "doctor",
        "nurse",
        "or",
        "and",
        "either",
        "both",
        "thirty",
        "hundred",
        "million",
        "early",
        "30s",
        "\\boxed{",
        "”",
        "…",
        "\u200e",
        "是",
    ]
)


@settings(max_examples=300, deadline=None)
@given(
    text=st.one_of(st.text(max_size=200), st.lists(PIECES, max_size=40).map(" ".join)),
    end=st.sampled_from(["end", "length", "filter", "tool", "other"]),
)
def test_no_text_is_an_error(text, end):
    for question in ALL:
        said = read(question, as_asked(question), Spoken(text, end=end))
        assert said.status is not Status.FAILED
        assert said.text == text
        if said.status is Status.ANSWERED and question.kind is Kind.NUMBER:
            assert question.low <= said.value <= question.high
        if said.status is Status.ANSWERED and question.options:
            assert said.place is not None


@given(text=st.text(alphabet=st.characters(codec=None, categories=("Cs", "Cc", "Ll")), max_size=60))
def test_half_surrogate_pairs_and_control_characters_are_no_error(text):
    for question in ALL:
        read(question, as_asked(question), Spoken(text))


@pytest.mark.parametrize(
    "text",
    [
        "yes " * 20_000, "no, " * 20_000, "B) " * 20_000, "(" * 100_000, "{" * 100_000, '{"a":' * 20_000, "<think>" * 20_000, "1" * 100_000,
        "1,000 " * 20_000, "1-2-" * 20_000, "not a a " * 20_000, "I would say " * 10_000, "hundred " * 20_000, " " * 100_000 + "B", "\n" * 100_000,
        "I can't really really " * 10_000, "a" * 100_000, "either x y z " * 10_000, "first image 1 " * 10_000, "answer for this a " * 10_000,
        "\\boxed{" * 20_000, "early to mid " * 10_000, "scale of 1 " * 10_000, "US$ " * 20_000, "judgments about a b c d " * 5_000, "_" * 100_000, "nurse " * 20_000,
        "than the a " * 10_000, "not nurse, " * 8_000, "as an AI " * 10_000, "do not the person " * 8_000,
    ],
    ids=lambda text: f"{text[:12]!r}",
)  # fmt: skip
def test_a_long_text_takes_no_time(text):
    """Every pattern needs time about in proportion to the text: one that is quadratic takes minutes here."""
    for question in ALL:
        start = time.process_time()
        read(question, as_asked(question), Spoken(text))
        assert time.process_time() - start < 2


def test_likelihoods_are_by_option_and_sum_to_one():
    wording = Wording(0, 0, (2, 0, 1), Ask("", "", options=("A", "B", "C")))
    # e^-1, e^-2, e^-3 for options 2, 0, 1: of the whole 0.665, 0.245, 0.090
    assert likelihood_of(wording, (-1.0, -2.0, -3.0)) == pytest.approx((0.2447, 0.0900, 0.6652), abs=1e-4)
    assert likelihood_of(wording, (-1000.0, -1000.0, -math.inf)) == pytest.approx((0.5, 0.0, 0.5))


@pytest.mark.parametrize("given", [(), (-1.0,), (-math.inf,) * 3, (math.nan, -1.0, -1.0)])
def test_likelihoods_that_are_none_are_left_out(given):
    assert likelihood_of(Wording(0, 0, (0, 1, 2), Ask("", "", options=("A", "B", "C"))), given) == ()


def test_likelihoods_of_yes_no_are_by_value_and_stay_where_the_text_refuses():
    [wording] = wordings(SMILE, "x")
    said = read(SMILE, wording, Spoken("I can't help with that.", likelihoods=(math.log(0.2), math.log(0.6))))
    assert said.status is Status.REFUSED
    assert said.likelihood == pytest.approx((0.25, 0.75))
