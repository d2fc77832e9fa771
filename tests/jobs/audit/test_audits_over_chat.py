"""Questions asked of a model behind a chat interface, through a whole audit: paid once, counted once, resumed for free."""

import json
from pathlib import Path

import auditing
import pytest
from chat_servers import answer_of, write_chat
from hostile_server import serving
from toned_world import TonedWorld

import transect
from transect.experiment.audit_request import AuditRequest, with_settings

QUESTIONS = """
[[question]]
name = "smile"
kind = "yes-no"
prompt = "Smiling? Yes or no."
paraphrases = ["A smile? Yes or no."]

[[question]]
name = "age"
kind = "number"
prompt = "The age in years?"
low = 0
high = 100
unit = "years"
"""
PRICE = "[price]\nper_call = 0.01\n[budget]\ncalls = 100"


def replies(number, body):
    prompt = json.loads(body)["messages"][-1]["content"][-1]["text"]
    return {"body": answer_of("openai-chat", "34" if "age" in prompt else "Yes.")}


@pytest.fixture(autouse=True)
def acme_key(monkeypatch):
    monkeypatch.setenv("ACME_KEY", "correct-horse-battery")


@pytest.fixture
def questions(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(QUESTIONS)
    return str(path)


@pytest.mark.integration
def test_questions_share_one_budget_and_what_was_answered_is_free(tmp_path, questions):
    settings = {"vary": ["tone"], "subjects": 5, "control": False, "generator": TonedWorld(), "questions": questions}
    with serving(replies) as server:
        chat = str(write_chat(tmp_path, server.url, more=PRICE, name="chat.toml"))
        cost = transect.audit_cost(chat, with_settings(AuditRequest(), settings)).numbers
        assert (cost.images, cost.calls, cost.cost) == (10, 30, 0.3)  # two wordings and one, of ten images
        result = auditing.audit(chat, out=tmp_path / "run", **settings)
        assert len(server.requests) == 30
        assert (result.numbers.calls, result.numbers.cost) == (30, 0.3)
        again = auditing.audit(chat, out=tmp_path / "again", **settings)
        assert len(server.requests) == 30
        assert again.numbers.calls == 0
    for path in (tmp_path / "run").rglob("*"):
        assert path.is_dir() or b"correct-horse" not in path.read_bytes(), path


def test_a_spent_budget_stops_the_run_and_keeps_what_was_paid(tmp_path, questions):
    from transect.errors import BudgetSpent

    settings = {"vary": ["tone"], "subjects": 5, "control": False, "generator": TonedWorld(), "questions": questions}
    with serving(replies) as server:
        chat = str(write_chat(tmp_path, server.url, more=PRICE.replace("100", "12"), name="chat.toml"))
        with pytest.raises(BudgetSpent):
            auditing.audit(chat, out=tmp_path / "run", **settings)
        assert len(server.requests) == 12


@pytest.mark.integration
def test_a_run_is_made_again_with_a_budget_of_its_own(tmp_path, questions):
    settings = {"vary": ["light_level=-6,0"], "subjects": 2, "control": False, "image_size": 32, "questions": questions}
    with serving(replies) as server:
        chat = str(write_chat(tmp_path, server.url, more=PRICE, name="chat.toml"))
        auditing.audit(chat, out=tmp_path / "run", **settings)
        asked = len(server.requests)
        left_out = transect.reproduce(tmp_path / "run", out=tmp_path / "none")
        assert len(server.requests) == asked
        assert any("chat/smile" in text for text in left_out.numbers.left_out)
        again = transect.reproduce(tmp_path / "run", out=tmp_path / "again", targets=[f"chat={chat}"], budget=20)
        assert len(server.requests) == 2 * asked
    assert again.numbers.outcome == "same bytes"


@pytest.mark.integration
def test_two_images_at_once_are_quoted_in_both_orders_and_paid_once(tmp_path, questions):
    two = '\n[[question]]\nname = "who"\nkind = "pair"\nprompt = "Whom? {options}"\n'
    Path(questions).write_text(QUESTIONS + two)

    def chosen(number, body):
        images = [part for part in json.loads(body)["messages"][-1]["content"] if "image" in part["type"]]
        return {"body": answer_of("openai-chat", "Second.")} if len(images) == 2 else replies(number, body)

    settings = {"vary": ["tone"], "subjects": 5, "control": False, "generator": TonedWorld(), "questions": questions}
    with serving(chosen) as server:
        chat = str(write_chat(tmp_path, server.url, more=PRICE, name="chat.toml"))
        cost = transect.audit_cost(chat, with_settings(AuditRequest(), settings)).numbers
        assert (cost.calls, cost.cost) == (40, 0.4)  # thirty about single images, five pairs in two orders
        assert [quote.calls for quote in cost.targets] == [20, 10, 10]
        result = auditing.audit(chat, out=tmp_path / "run", **settings)
        assert len(server.requests) == 40
        assert (result.numbers.calls, result.numbers.cost) == (40, 0.4)
        auditing.audit(chat, out=tmp_path / "again", **settings)
        assert len(server.requests) == 40
    (section,) = [each for each in result.results["sections"] if each["key"] == "two_images"]
    assert section["tables"][1]["rows"][0][1] == 1.0  # always the second place
