"""Audits whose free texts are coded by a judge model and scored by functions: planted effects, tables, resuming."""

import shutil

import auditing
import pyarrow.parquet as pq
import pytest
from judge_speaker import FILE, JudgeSpeaker, lengths, picky
from stub_speaker import StubSpeaker
from toned_world import TonedWorld

from transect.errors import FolderOfAnotherSpec
from transect.jobs.report import open_run

SUBJECTS = 24


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("judged") / "mine.toml"
    path.write_text(FILE)
    return path


def audited(questions, out, judge, **settings):
    whole = {"vary": ["tone"], "subjects": SUBJECTS, "control": False, "generator": TonedWorld()}
    whole |= {"questions": str(questions), "judge": judge, "out": out, **settings}
    return auditing.audit(StubSpeaker(name="said"), **whole)


@pytest.fixture(scope="module")
def result(questions, tmp_path_factory):
    out = tmp_path_factory.mktemp("judged-run") / "run"
    return audited(questions, out, JudgeSpeaker(), scorers={"length": lengths, "picky": picky})


def effects(result):
    return {one.outcome: one for one in result.effects if one.attribute == "tone"}


def rows_of(folder, table):
    return [row for path in sorted((folder / table).glob("*.parquet")) for row in pq.read_table(path).to_pylist()]


@pytest.mark.integration
def test_effects_on_judged_codes_and_scores_are_those_planted(result):
    found = effects(result)  # bright: "A person with a kind smile.", dark: "A person with a hat."
    assert found["code:warm"].estimate == pytest.approx(-1.0)
    assert found["code:hat"].estimate == pytest.approx(1.0)
    assert found["score:length"].estimate == pytest.approx(
        len("A person with a hat.") - len("A person with a kind smile.")
    )
    assert found["score:picky"].estimate != found["score:picky"].estimate  # fails on every hat


@pytest.mark.integration
def test_every_prompt_of_the_judge_and_every_score_is_kept(result):
    rows = rows_of(result.folder, "coded/said-alt")
    assert len(rows) == SUBJECTS * 2 * 3
    judged = [row for row in rows if row["by"] == "judge"]
    assert {row["text"] for row in judged} == {"Yes.", "No."}
    assert all("Does this text describe the person as warm?" in row["prompt"] for row in judged)
    failed = [row for row in rows if row["name"] == "picky" and row["value"] is None]
    assert len(failed) == SUBJECTS
    assert {row["status"] for row in failed} == {"failed"}
    assert all("no hats" in row["reason"] for row in failed)
    assert open_run(result.folder).study.coded.num_rows == len(rows)


@pytest.mark.integration
def test_another_judge_does_not_resume(result, questions, tmp_path):
    out = tmp_path / "run"
    shutil.copytree(result.folder, out)
    scorers = {"length": lengths, "picky": picky}
    before, again = rows_of(out, "coded/said-alt"), JudgeSpeaker()
    audited(questions, out, again, scorers=scorers)
    assert len(again.prompts) <= 2  # a few images are timed; both texts are asked about once
    assert str(rows_of(out, "coded/said-alt")) == str(before)
    with pytest.raises(FolderOfAnotherSpec):
        audited(questions, out, JudgeSpeaker(word="hat"), scorers=scorers)
