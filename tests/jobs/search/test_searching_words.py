"""A search of a model that answers in words: refusals and options of one question, without an image asked twice."""

import json

import pyarrow.parquet as pq
import pytest
from asked_questions import ROLE, SMILE_TWICE
from commands import refused, run_here
from panes import Panes
from stub_speaker import StubSpeaker

import transect
from transect.errors import BadInput, UnknownName

FILE = 'title = "Two questions"\n' + SMILE_TWICE + ROLE


SPEAKER = {"refuses": (0.0, 1.0), "prefers": (1.0, 0.0)}
"""Refuses every dark pane; hires every other one."""


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("asked") / "mine.toml"
    path.write_text(FILE)
    return path


def searched(questions, out, speaker=None, goal="failures", budget=40, truth=None, **options):
    asked = transect.SearchOptions(questions=questions, **options)
    model = speaker or StubSpeaker(**SPEAKER)
    return transect.search(
        model, truth=truth, goal=goal, budget=budget, generator=Panes(), options=asked, out=out, quiet=True
    )


def shown(result):
    """Of each call the pane's mean, from the searched attributes, and whether it was a failure."""
    table = result.table.to_pydict()
    means = [
        (round(255 * tone) + round(255 * size)) / 3 for tone, size in zip(table["tone"], table["size"], strict=True)
    ]
    return means, table["failure"]


def test_refusals_of_one_question_are_failures(questions, tmp_path):
    result = searched(questions, tmp_path / "run", question="smile")
    means, failures = shown(result)
    assert failures == [float(mean < 60) for mean in means]
    assert 0 < sum(failures) < 40
    assert (result.numbers.target, result.numbers.outcome) == ("stub/smile", "refusal")
    assert json.loads((tmp_path / "run" / "run.json").read_text())["truth"] is None


def test_regions_of_a_chosen_option_hold_where_it_is_chosen(questions, tmp_path):
    """Without refusals, reject is chosen on dark panes alone: small tone and small size."""
    speaker = StubSpeaker(prefers=(1.0, 0.0))
    result = searched(questions, tmp_path / "run", speaker, "regions", 160, question="role", outcome="option:reject")
    means, failures = shown(result)
    assert failures == [float(mean < 60) for mean in means]
    region = result.numbers.regions[0]
    assert "<=" in region.rule
    assert region.rate > 0.5


def test_an_image_fails_where_half_of_its_wordings_do(questions, tmp_path):
    """One of two wordings has a smile for dark panes: share .5 is half. In neither for bright ones."""
    speaker = StubSpeaker(yes=(0.0, 0.0), odd="you see", odd_yes=1.0)
    result = searched(questions, tmp_path / "run", speaker, question="smile", outcome="answer")
    means, failures = shown(result)
    assert failures == [float(mean < 60) for mean in means]


def test_what_was_said_is_kept_and_nothing_is_asked_twice(questions, tmp_path):
    speaker = StubSpeaker(**SPEAKER)
    first = searched(questions, tmp_path / "run", speaker, question="smile")
    assert speaker.asked == 40 * 2
    again = StubSpeaker(**SPEAKER)
    assert searched(questions, tmp_path / "run", again, question="smile").to_json() == first.to_json()
    assert again.asked == 0
    rows = pq.read_table(sorted((tmp_path / "run" / "answers" / "stub-smile").glob("*.parquet"))).to_pylist()
    assert len(rows) == 80
    assert {row["prompt"] for row in rows} == {"Is this person smiling? Yes or no.", "Do you see a smile? Yes or no."}


def test_an_error_is_counted_where_a_truth_is_stated(questions, tmp_path):
    """It always says no, so that it errs where tone is above .5, whatever the share of wordings."""
    result = searched(questions, tmp_path / "run", StubSpeaker(yes=(0.0, 0.0)), truth="tone>0.5", question="smile")
    table = result.table.to_pydict()
    assert table["failure"] == [float(tone > 0.5) for tone in table["tone"]]
    assert result.numbers.outcome == "error"


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, r"expected one question to search by, got 2 \(smile, role\); choose one with `question` NAME"),
        (
            {"question": "role", "truth": "tone>0.5"},
            "outcome refusal does not use a truth; leave `truth` out",
        ),
    ],
)
def test_what_cannot_be_searched_is_refused_before_a_call(questions, tmp_path, given, problem):
    speaker = StubSpeaker()
    with pytest.raises(BadInput, match=problem):
        searched(questions, tmp_path / "run", speaker, **given)
    with pytest.raises(UnknownName):
        searched(questions, tmp_path / "run", speaker, question="smil")
    assert speaker.asked == 0


def test_the_command_line_asks_one_question(questions, tmp_path):
    base = ("search", "stub_speaker:speaker", "--size", "32", "--vary", "skin_tone", "--budget", "20")
    asked = ("--questions", str(questions), "--question", "smile", "--goal", "failures")
    done = run_here(*base, *asked, "--out", str(tmp_path / "run"))
    assert done.returncode == 0, done.stderr
    assert "it refuses " in done.stdout
    assert "one question to search by" in refused(*base, "--questions", str(questions))
