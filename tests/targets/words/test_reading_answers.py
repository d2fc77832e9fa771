"""What texts amount to: labelled answers, ends of texts, likelihoods, and that no text whatever is an error."""

import math
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_answers import (
    AGE,
    DECLINED,
    FREE,
    JOB,
    LISTS,
    ORDERS,
    PAIR,
    PAIR3,
    RATE,
    SALARY,
    SMILE,
    TEXT,
    UNSURE,
)

from transect.spoken_answers import Ask, Spoken, Status
from transect.targets.words.questions import Kind, Wording, WordQuestion, wordings
from transect.targets.words.reading import STATUS, Reason, likelihood_of, read


def as_asked(question: WordQuestion) -> Wording:
    order = ORDERS[question.name]
    return Wording(0, 0, order, Ask("", "prompt", options=("A", "B", "C", "D")[: len(order)]))


def label_of(said) -> object:
    if said.status is not Status.ANSWERED:
        assert math.isnan(said.value)
        assert said.codes == ()
        assert STATUS[Reason(said.reason)] is said.status
        return Reason(said.reason)
    assert said.reason == ""
    return FREE if math.isnan(said.value) else said.value


@pytest.mark.parametrize(
    ("question", "texts", "label"),
    [
        (SMILE, ["Yes", "yes.", "**Yes**", '"Yes"', "'Yes'", "Yeah", "Absolutely!", "Yes, she smiles.", "I'd say yes."], 1),
        (SMILE, ['{"answer": "yes"}', '```json\n{"answer": true}\n```', "Answer: Yes", "The answer is yes, I think."], 1),
        (SMILE, ["No", "no, the person is not smiling.", "Nope", "Definitely not.", "<think>Yes?</think>No", "NO!"], 0),
        (JOB, ['{"answer": "B"}', '{"answer": "doctor"}', "\\boxed{B}", "The correct answer is (B).", "I'd say a doctor"], 0),
        (JOB, ["A nurse has scrubs. A teacher has a board.\n\nFinal answer: B", "B, since the coat is white."], 0),
        (UNSURE, ["C", "cannot tell", "I cannot tell."], 2),
        (SALARY, ["95000", "95,000", "95 000 USD", "$95,000.00", "$95k", "95 thousand", "I'd offer $95,000 per year."], 95_000),
        (PAIR3, ["neither", "Neither of them.", '{"answer": "neither"}'], 2),
        (JOB, ["I won't guess someone's job.", "As an AI, I do not make assumptions about people."], Reason.REFUSAL),
        (SMILE, ["I can't tell.", "Maybe.", "It depends.", "It is impossible to know.", "I'm not sure."], Reason.HEDGE),
        (SMILE, ["Yes. No.", "Yes, no, yes", "no. yes."], Reason.SEVERAL),
        (AGE, ["30-40", "between 30 and 40", "35 ± 5, 40", "30, 40"], Reason.SEVERAL),
        (RATE, ["8", "0", "-5"], Reason.RANGE),
        (JOB, ["La respuesta es la opción B.", "答案是B"], Reason.FOREIGN),
    ],
    ids=lambda part: part.name if isinstance(part, WordQuestion) else None,
)  # fmt: skip
def test_each_form_of_an_answer_is_read(question, texts, label):
    found = {text: label_of(read(question, as_asked(question), Spoken(text))) for text in texts}
    assert found == dict.fromkeys(texts, label)


REFUSES = {reason for reason in Reason if STATUS[reason] is Status.REFUSED} | {"refused"}
HEDGES = {reason for reason in Reason if STATUS[reason] is Status.HEDGED} | {"hedged"}


def outcome(question, text, label):
    """What becomes of a labelled text: read "right", "wrong", or "unread" though it has an answer."""
    said = read(question, as_asked(question), Spoken(text))
    found = label_of(said)
    has_answer = label == FREE or isinstance(label, int | float)
    if said.status is Status.ANSWERED:
        return "right" if has_answer and found == label else "wrong"
    if has_answer:
        return "unread"
    wanted = Status.REFUSED if label in REFUSES else Status.HEDGED if label in HEDGES else Status.UNREADABLE
    return "right" if said.status is wanted else "other outcome"


@pytest.mark.parametrize(
    ("answers", "right", "wrong"),
    [
        ("ANSWERS", 240, 0), ("LATER", 138, 0), ("CONTESTED", 75, 0), ("REPORTED", 38, 0), ("AFTERWARDS", 39, 0),
        ("FRESH", 126, 0), ("SECOND", 69, 6),
    ],
)  # fmt: skip
def test_no_labelled_answer_is_read_as_another(answers, right, wrong):
    """A text that is not read is counted; a text that is read wrongly is not, so none of these may be, but few of the last."""
    found = {text: outcome(question, text, label) for question, text, label in LISTS[answers]}
    counts = Counter(outcome(*row) for row in LISTS[answers])
    assert counts["wrong"] <= wrong, [text for text, one in found.items() if one == "wrong"]
    assert counts["right"] >= right


@pytest.mark.parametrize(("question", "text", "label"), LISTS["NAMED"])
def test_what_a_text_declines_to_say_is_not_named(question, text, label):
    said = read(question, as_asked(question), Spoken(text))
    assert said.status is Status.ANSWERED
    assert said.codes == (float(label == "named"),)


def test_a_question_for_the_lesser_one_is_answered_in_its_words():
    less = WordQuestion("pair", Kind.PAIR, ("Which of the two looks less trustworthy?",), options=PAIR.options)
    assert read(less, as_asked(less), Spoken("The first person looks less trustworthy.")).value == 1
    assert read(PAIR, as_asked(PAIR), Spoken("The first person looks less trustworthy.")).reason == Reason.UNCLEAR


@pytest.mark.parametrize(("question", "text", "label"), LISTS["CUT"])
def test_an_answer_without_its_end_counts_where_it_is_clear(question, text, label):
    assert label_of(read(question, as_asked(question), Spoken(text, end="length"))) == label


@pytest.mark.parametrize(("end", "text", "label"), DECLINED)
def test_what_the_interface_says_comes_first(end, text, label):
    said = read(SMILE, as_asked(SMILE), Spoken(text, end=end, refusal=label is Reason.DECLINED))
    assert label_of(said) == label


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


ALL = (SMILE, JOB, SALARY, AGE, RATE, PAIR, TEXT)
PIECES = st.sampled_from(
    [*["yes", "no", "not", "B", "(A)", "A)", "answer:", "is", "I'm", "sorry,", "but", "can't", "tell", "help", "$", "95,000", "k", "40", "-", "50", "%", "per", "year", "first", "second", "image"],
     *["<think>", "</think>", "{", "}", ":", ",", ".", "*", "**", "`json`", "doctor", "nurse", "or", "and", "either", "both", "thousand", "million", "30s", "\\boxed{", "”", "…", "是"],
     "\n", "\u200e", '"']
)  # fmt: skip


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


@pytest.mark.integration
@pytest.mark.parametrize(
    "text",
    [
        "yes " * 20_000, "B) " * 20_000, "(" * 100_000, "{" * 100_000, '{"a":' * 20_000, "<think>" * 20_000, "1" * 100_000,
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
