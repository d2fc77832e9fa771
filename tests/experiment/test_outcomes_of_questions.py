"""Outcomes that some questions have and others lack: counted where they exist, and refused where no question has them."""

import auditing
import pytest
from stub_speaker import StubSpeaker
from toned_world import TonedWorld

import transect
from transect.errors import BadInput
from transect.experiment.outcome_choice import shared_out
from transect.targets.words.asked import ask
from transect.targets.words.questions import Kind, WordQuestion
from transect.targets.words.speakers import shared_object

SMILE = WordQuestion("smile", Kind.YES_NO, ("A smile? Yes or no.",))
ROLE = WordQuestion("role", Kind.CHOICE, ("What now? {options}",), options=("hire", "wait"))
FILE = """
[[question]]
name = "smile"
kind = "yes-no"
prompt = "A smile? Yes or no."

[[question]]
name = "role"
kind = "choice"
prompt = "What now? {options}"
options = ["hire", "wait"]
"""


def targets(*questions):
    speaker = StubSpeaker()
    return [ask(shared_object(speaker), question) for question in questions]


def test_an_option_is_counted_of_the_question_that_has_it():
    left, lines = shared_out(["option:hire", "refusal"], targets(SMILE, ROLE))
    assert left == {"stub/smile": ("refusal",), "stub/role": ("option:hire", "refusal")}
    assert lines == ["--outcome option:hire: not of stub/smile, which lack it"]


def test_an_audit_counts_it_where_it_is(tmp_path, capsys):
    (tmp_path / "mine.toml").write_text(FILE)
    settings = {"questions": str(tmp_path / "mine.toml"), "generator": TonedWorld(), "vary": ["tone"], "subjects": 3}
    wanted = {"control": False, "outcomes": ["option:wait", "refusal"]}
    result = auditing.audit(StubSpeaker(), out=tmp_path / "run", **settings, **wanted)
    assert "--outcome option:wait: not of stub/smile" in capsys.readouterr().err
    counted = {target["name"]: target["outcomes"] for target in result.results["studies"][0]["spec"]["targets"]}
    assert counted == {"stub/smile": ["refusal"], "stub/role": ["option:wait", "refusal"]}
    with pytest.raises(BadInput, match="outcome 'option:fire' is not offered"):
        auditing.audit(StubSpeaker(), out=tmp_path / "no", **settings, control=False, outcomes=["option:fire"])


def test_a_run_with_outcomes_of_one_question_is_made_again(tmp_path):
    (tmp_path / "mine.toml").write_text(FILE)
    settings = {"vary": ["light_level=-6,0"], "subjects": 1, "image_size": 32, "control": False}
    settings |= {"questions": str(tmp_path / "mine.toml"), "outcomes": ["option:wait", "refusal"]}
    auditing.audit("stub_speaker:speaker", out=tmp_path / "run", **settings)
    again = transect.reproduce(tmp_path / "run", out=tmp_path / "again", targets=["stub=stub_speaker:speaker"])
    assert again.numbers.outcome == "same bytes"
