"""`transect targets check` of a model that answers in words: what it said, what that was read as, and what was not asked."""

import json

import pytest
from commands import refused, run_here
from stub_speaker import StubSpeaker

FILE = """
[[question]]
name = "smile"
kind = "yes-no"
prompt = "Is this person smiling? Yes or no."
paraphrases = ["Do you see a smile? Yes or no.", "Would you say that this person smiles? Yes or no."]

[[question]]
name = "role"
kind = "choice"
prompt = "What would you do with this application? {options}"
options = ["hire", "reject", "wait"]
"""


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "short.toml"
    path.write_text(FILE)
    return path


def test_a_check_shows_what_was_said_and_what_it_was_read_as(short):
    done = run_here("targets", "check", "stub_speaker:speaker", "--questions", str(short), "--json")
    rows = json.loads(done.stdout)
    assert [(row["question"], row["paraphrase"]) for row in rows] == [
        *(("smile", str(place)) for place in (1, 2, 3)),
        ("role", "1"),
    ]
    assert {row["what_became_of_it"] for row in rows} <= {"answered", "refused"}
    assert rows[-1]["value"] in ("hire", "reject", "wait")
    assert {row["value"] for row in rows[:3]} <= {"yes", "no", ""}
    assert "expected questions to ask it" in refused("targets", "check", "vlm:models/tiny")


def test_a_check_of_a_model_whose_calls_fail_ends_with_the_reason(short, monkeypatch):
    monkeypatch.setattr("stub_speaker.speaker", StubSpeaker(fails=1.0))
    done = run_here("targets", "check", "stub_speaker:speaker", "--questions", str(short))
    assert done.returncode == 2
    assert "stub/smile: no answer: HTTP 503 (tries: 4); check the model and the question" in done.stderr
