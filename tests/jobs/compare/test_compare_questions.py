"""Models in words compared: each on the question that both were asked, and never on another one."""

import auditing
import pytest
from asked_questions import ROLE, SMILE
from stub_speaker import StubSpeaker
from toned_world import TonedWorld

import transect

FILE = 'title = "Two questions"\n' + SMILE + ROLE
TURNED = FILE.replace("What would you do with this application?", "What do you do with this application?")


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


@pytest.mark.integration
def test_each_question_of_two_models_is_compared_and_no_two_questions_are(result):
    assert result.numbers.models == ("open/smile", "open/role", "shy/smile", "shy/role")
    assert against(result) == {("shy/smile", "open/smile"), ("shy/role", "open/role")}
    options = {row.outcome for row in result.numbers.rows if row.model == "shy/role"}
    assert {"option:hire", "option:reject", "refusal"} <= options
    assert result.numbers.notes == ()


@pytest.mark.integration
def test_the_difference_is_that_of_the_question(result):
    (rate,) = [
        row for row in result.numbers.rows if (row.model, row.outcome, row.kind) == ("shy/role", "refusal", "rate")
    ]
    assert (rate.first, rate.second, rate.estimate) == (0.0, 1.0, 1.0)


@pytest.mark.integration
def test_a_question_that_one_model_was_asked_is_said_not_to_be_compared(both, folder):
    """The role is asked in other words of the third model: its digest is another."""
    other = audited(folder / "other", [StubSpeaker(name="third")], TURNED)
    found = transect.compare([both, other], targets=["open/smile", "open/role", "third/smile", "third/role"])
    assert against(found) == {("third/smile", "open/smile")}
    assert found.numbers.notes == tuple(
        f"{name}/role is not compared: no other model was asked its question" for name in ("open", "third")
    )
