"""Rows of answers in words: there and back, and what is no row of the run."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from transect.runs.part_files import check_part
from transect.runs.tables import answers_table, said_of
from transect.spoken_answers import Said, Status
from transect.targets.isolated.target import said_message, said_of_message

numbers = some.floats(allow_nan=False, allow_infinity=False)
texts = some.text(some.characters(exclude_categories=["Cs"]), max_size=20)
# Answers are made from these within the test: a record that checks its types by chance samples would disturb the search.
answers = some.fixed_dictionaries(
    {
        "paraphrase": some.integers(0, 99),
        "order": some.lists(some.integers(0, 25), max_size=3).map(tuple),
        "repeat": some.integers(0, 99),
        "system": texts,
        "prompt": texts,
        "text": texts,
        "status": some.sampled_from(Status),
        "value": numbers,
        "codes": some.lists(numbers, max_size=3).map(tuple),
        "likelihood": some.lists(numbers, max_size=3).map(tuple),
        "tokens_sent": some.none() | some.integers(0, 1 << 20),
        "tokens_received": some.none() | some.integers(0, 1 << 20),
        "reason": texts,
    }
)


@settings(max_examples=40)
@given(some.lists(some.lists(answers, max_size=3).map(tuple), max_size=4).map(tuple))
def test_what_was_said_is_read_back_from_tables_and_from_messages(fields):
    said = tuple(tuple(Said(**each) for each in of_image) for of_image in fields)
    ids = [f"1-{place:04d}" for place in range(len(said))]
    table = answers_table(ids, said)
    check_part("answers/stub-smile", table)
    assert said_of(table, ids) == said
    assert said_of_message(said_message(said), len(said)) == said


def test_an_answer_without_a_value_has_none_in_the_table():
    refused = Said(0, (), 0, "", "Smiling?", "No comment.", Status.REFUSED, reason="refusal")
    table = answers_table(["1-0000"], [[refused]])
    assert table["value"].to_pylist() == [None]
    ((read,),) = said_of(table, ["1-0000"])
    assert math.isnan(read.value)


@pytest.mark.parametrize(
    "message",
    [
        {},
        [[[]], [[1, 2]]],
        [[], [[0, [], 0, "", "?", "yes", "silent", 1.0, [], [], None, None, ""]]],
        [[], [[-1, [], 0, "", "?", "yes", "answered", 1.0, [], [], None, None, ""]]],
        [[], [[0, [], 0, "", "?", "yes", "answered", "1", [], [], None, None, ""]]],
        [[], [[0, [], 0, "", "?", "yes", "answered", 1.0, [], [math.inf], None, None, ""]]],
    ],
)
def test_a_strangers_message_is_refused(message):
    with pytest.raises((ValueError, TypeError)):
        said_of_message(message, 2)
