"""A model that answers in words, audited on photographs of people who repeat: every section counts people."""

import auditing
import pytest
from asked_questions import ROLE_OF_THREE, SMILE_TWICE
from photograph_folders import people
from stub_speaker import StubSpeaker

SHOTS = [3, 1, 2, 4, 1, 5, 2, 2]
"""Photographs of eight people."""
QUESTIONS = SMILE_TWICE + ROLE_OF_THREE


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    (folder / "mine.toml").write_text(QUESTIONS)
    return auditing.audit(
        StubSpeaker(name="stub", yes=(0.2, 0.8)), vary=["exposure=-3,1"], subjects=sum(SHOTS), control=False,
        generator=f"photographs:folder:{people(folder / 'faces', SHOTS, 40)}", questions=str(folder / "mine.toml"),
        out=folder / "run",
    )  # fmt: skip


def sections(result, target):
    return {each["key"]: each for each in result.results["sections"] if each["target"] == target}


def test_paraphrases_are_compared_by_person(result):
    (table,) = [
        each for each in sections(result, "stub/smile")["prompts"]["tables"] if "by paraphrase" in each["title"]
    ]
    (mean,) = [row for row in table["rows"] if row[1] == "mean of the paraphrases"]
    (found,) = [one for one in result.effects if (one.target, one.outcome) == ("stub/smile", "answer")]
    assert found.interval_method == "paired score by person"
    assert mean[2:5] == pytest.approx([found.estimate, found.low, found.high], abs=1e-9)
    assert mean[6] == len(SHOTS)


def test_options_count_people(result):
    (table,) = sections(result, "stub/role")["options"]["tables"]
    assert f"{len(SHOTS)} subjects" in table["title"]
    contrasts = {row[1]: row[5:8] for row in table["rows"] if row[5] is not None}
    for option, (difference, low, high) in contrasts.items():
        (found,) = [one for one in result.effects if one.outcome == f"option:{option}"]
        assert difference == pytest.approx(found.estimate)
        assert low < found.low  # of all three at once, by person
        assert found.high < high
