"""Models in words compared: each on the question that both were asked, and never on another one."""

import auditing
import pytest
from report_reader import parse, text_of
from stub_speaker import StubSpeaker
from toned_world import TonedWorld

import transect
from transect.errors import BadInput

FILE = """
title = "Two questions"

[[question]]
name = "smile"
kind = "yes-no"
prompt = "Is this person smiling? Yes or no."

[[question]]
name = "role"
kind = "choice"
prompt = "What would you do with this application? {options}"
options = ["hire", "reject"]
"""
TURNED = FILE.replace("What would you do with this application?", "What do you do with this application?")


def bright(pixels):
    return (pixels.mean(axis=(1, 2, 3)) > 60).astype(float)


def audited(folder, models, text=FILE, **settings):
    file = folder.with_suffix(".toml")
    file.write_text(text)
    asked = {} if text is None else {"questions": str(file)}
    whole = {"vary": ["tone"], "subjects": 12, "control": False, "generator": TonedWorld(), "out": folder}
    auditing.audit(models, **{**whole, **asked, **settings})
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("questions")


@pytest.fixture(scope="module")
def both(folder):
    """One refuses nothing, the other everything."""
    return audited(folder / "both", [StubSpeaker(name="open"), StubSpeaker(name="shy", refuses=(1.0, 1.0))])


@pytest.fixture(scope="module")
def result(both):
    return transect.compare(both)


def against(result):
    return {(row.model, row.reference) for row in result.numbers.rows}


def test_each_question_of_two_models_is_compared_and_no_two_questions_are(result):
    assert result.numbers.models == ("open/smile", "open/role", "shy/smile", "shy/role")
    assert against(result) == {("shy/smile", "open/smile"), ("shy/role", "open/role")}
    options = {row.outcome for row in result.numbers.rows if row.model == "shy/role"}
    assert {"option:hire", "option:reject", "refusal"} <= options
    assert result.numbers.notes == ()


def test_the_difference_is_that_of_the_question(result):
    (rate,) = [
        row for row in result.numbers.rows if (row.model, row.outcome, row.kind) == ("shy/role", "refusal", "rate")
    ]
    assert (rate.first, rate.second, rate.estimate) == (0.0, 1.0, 1.0)


def test_the_page_names_the_baseline_of_each_question(result, tmp_path):
    page = text_of(parse(result.report(tmp_path).read_text()))
    assert "shy/smile against open/smile; shy/role against open/role" in page
    assert "Each model is compared with the first that was asked the same question." in page
    assert "shy/smile still refuses 100.0 % of 12 images at tone bright" in page


def test_a_question_that_one_model_was_asked_is_said_not_to_be_compared(both, folder):
    """The role is asked in other words of the third model: its digest is another."""
    other = audited(folder / "other", [StubSpeaker(name="third")], TURNED)
    found = transect.compare([both, other], targets=["open/smile", "open/role", "third/smile", "third/role"])
    assert against(found) == {("third/smile", "open/smile")}
    assert found.numbers.notes == tuple(
        f"{name}/role is not compared: no other model was asked its question" for name in ("open", "third")
    )


def test_two_questions_of_one_model_are_no_rivals(both):
    with pytest.raises(BadInput) as refused:
        transect.compare(both, targets=["open/smile", "open/role"])
    assert str(refused.value) == (
        "expected a question that two models were asked, got 2 that one was asked each (open/smile, open/role); give a "
        "run of another model with the same --questions"
    )


def test_a_model_that_is_asked_nothing_is_compared_where_a_truth_says_what_both_mean(both, folder):
    plain = audited(folder / "plain", [bright], "", questions=None)
    with pytest.raises(BadInput, match="answer is not compared: of bright and open/smile one alone was asked"):
        transect.compare([plain, both], targets=["bright", "open/smile"])
