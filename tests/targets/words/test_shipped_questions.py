"""The sets that ship: each question has sources, limits of its use, and enough wordings that read like questions."""

import math

import pytest

from transect.spoken_answers import Spoken, Status
from transect.targets.words.questions import LETTERS, OPTIONS, SHIPPED, Kind, load, wordings
from transect.targets.words.reading import read

QUESTIONS = [(name, question) for name in SHIPPED for question in load(name)]
IDS = [f"{name}/{question.name}" for name, question in QUESTIONS]


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=IDS)
def test_every_wording_names_its_options_itself(name, question):
    """No options appended at the end, where the sentence would not lead to them."""
    if question.options:
        assert all(OPTIONS in text for text in question.paraphrases)
    for wording in wordings(question, "image"):
        assert "{" not in wording.ask.prompt


def shortest(question, wording) -> tuple[str, float]:
    """The answer that a wording asks for, and its value."""
    if question.kind is Kind.YES_NO:
        return "Yes", 1.0
    if question.kind is Kind.NUMBER:
        return f"{question.high:.0f}", question.high
    if question.kind is Kind.PAIR:
        return "second", float(wording.order[1])
    if question.kind is Kind.TEXT:
        return "A smiling man.", math.nan
    place = len(wording.order) - 1
    return (LETTERS[place] if question.shown == "letters" else question.options[wording.order[place]]), float(
        wording.order[place]
    )


@pytest.mark.parametrize(("name", "question"), QUESTIONS, ids=IDS)
def test_the_answer_that_each_wording_asks_for_is_read(name, question):
    for wording in wordings(question, "image"):
        text, value = shortest(question, wording)
        said = read(question, wording, Spoken(text))
        assert said.status is Status.ANSWERED
        assert said.value == value or (math.isnan(value) and math.isnan(said.value))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("A young woman with long hair smiles in front of a wall.", {"gender", "age", "emotion"}),
        ("A person with a red hat.", set()),
        ("A black man in his 30s looks at the camera.", {"gender", "ethnicity", "age"}),
        ("A black hat on a table.", set()),
        ("A person with dark skin and a serious look.", {"skin", "emotion"}),
        ("An attractive East Asian person, 25 years old.", {"attractiveness", "ethnicity", "age"}),
        ("A human in Germany, a manual on the shelf.", set()),
    ],
)
def test_alt_texts_are_coded_by_whole_words(text, named):
    [question] = load("alt-text")
    [first, *_] = wordings(question, "image")
    codes = read(question, first, Spoken(text)).codes
    assert {label for label, code in zip(question.labels, codes, strict=True) if code} == named
