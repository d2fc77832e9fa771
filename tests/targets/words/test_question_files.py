"""Question files: what they say, and the one line about each thing that is wrong with one."""

import pytest

from transect.errors import BadInput
from transect.records import Task
from transect.targets.words.questions import Kind, parse

YES = '[[question]]\nname = "q"\nkind = "yes-no"\nprompt = "Smiling?"\n'
CHOICE = '[[question]]\nname = "q"\nkind = "choice"\nprompt = "Which? {options}"\noptions = ["nurse", "pilot"]\n'
NUMBER = '[[question]]\nname = "q"\nkind = "number"\nprompt = "How old?"\nlow = 0\nhigh = 110\n'
TEXT = (
    '[[question]]\nname = "q"\nkind = "text"\nprompt = "Describe."\n[[question.code]]\nname = "hat"\nlabels = ["hat"]\n'
)
PAIR = '[[question]]\nname = "q"\nkind = "pair"\nprompt = "Which?"\n'


@pytest.mark.parametrize(
    ("text", "kind", "task", "labels"),
    [
        (YES, Kind.YES_NO, Task.BINARY, ()),
        (CHOICE, Kind.CHOICE, Task.MULTICLASS, ("nurse", "pilot")),
        (NUMBER, Kind.NUMBER, Task.REGRESSION, ()),
        (TEXT, Kind.TEXT, Task.MULTILABEL, ("hat",)),
        (PAIR, Kind.PAIR, Task.MULTICLASS, ("first", "second")),
        (PAIR + "neither = true\n", Kind.PAIR, Task.MULTICLASS, ("first", "second", "neither")),
    ],
)
def test_each_kind_is_read(text, kind, task, labels):
    [question] = parse(text, "f")
    assert (question.kind, question.task, question.labels) == (kind, task, labels)
    assert (question.repeats, question.temperature) == (1, 0.0)
    assert question.max_tokens == (256 if kind is Kind.TEXT else 64)
    assert question.images == (2 if kind is Kind.PAIR else 1)


def test_what_stands_above_the_questions_counts_for_those_that_say_nothing():
    own = YES.replace('"q"', '"r"') + 'system = ""\n'
    first, second = parse('system = "Be brief."\nsources = ["a"]\n' + YES + own, "f")
    assert (first.system, first.sources) == ("Be brief.", ("a",))
    assert (second.system, second.sources) == ("", ("a",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f: question is missing: add it"),
        (YES.replace("yes-no", "yesno"), "f, line 3: question 1.kind: expected 'yes-no', 'choice', 'number', 'text' or 'pair', got 'yesno'"),
        (YES + "prompts = 1\n", "f, line 5: question 1.prompts: unknown key: did you mean prompt"),
        (YES + 'paraphrases = ["a", "a"]\n', "f, line 5: question 1.paraphrases: expected wordings that differ, got 'a' twice"),
        (YES + YES, "f, line 6: question 2.name: expected unique question names, got 'q' twice"),
        (YES + 'options = ["a", "b"]\n', "f, line 5: question 1.options: expected only in kind choice, got kind yes-no"),
        (CHOICE.replace("pilot", "Nurse aide"), "f, line 5: question 1.options: expected options that do not begin with each other, got 'nurse' and 'Nurse aide'"),
        (CHOICE + 'positive = "judge"\n', "f, line 6: question 1.positive: expected one of nurse, pilot, got 'judge'"),
        (NUMBER.replace("low = 0\n", ""), "f, line 1: question 1.low: required for kind number"),
        (YES + "repeats = 3\n", "f, line 5: question 1.repeats: expected 1 at temperature 0, where all answers are the same, got 3"),
        (YES + 'name = "r"\n', "f: expected TOML: "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line_with_its_place(text, message):
    with pytest.raises(BadInput) as caught:
        parse(text, "f")
    assert str(caught.value).startswith(message) or message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_digests_tell_what_is_asked_from_what_is_noted():
    """The order of options hangs on the question's digest: a note must not change it, a prompt must."""
    plain, noted, other = (
        parse(text, "f")
        for text in (CHOICE, CHOICE + 'meaning = "x"\nsources = ["y"]\n', CHOICE.replace("Which?", "What?"))
    )
    assert plain.questions[0].digest == noted.questions[0].digest != other.questions[0].digest
    assert len({plain.digest, noted.digest, other.digest}) == 3
    assert plain.digest == parse("\n# a comment\n" + CHOICE, "f", "another name").digest
