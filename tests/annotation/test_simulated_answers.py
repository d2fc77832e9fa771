"""Simulated raters answer a run's questions from what its images were made with."""

import json
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import printed, refused_here, run_here

pytest.importorskip("sqlalchemy", reason="needs the annotation service: pip install 'transect[annotate]'")


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("simulated") / "run"
    printed("render", "--data-set", "--subjects", "12", "--size", "32", "--out", str(folder))
    return folder


def answers(run: Path, *words: str, database: str) -> tuple[dict, list[dict]]:
    place = str(run.parent / f"{database}.sqlite")
    counts = json.loads(printed("annotate", "simulate", str(run), "--database", place, "--json", *words))
    out = run.parent / f"{database}.parquet"
    printed("annotate", "export", str(run), "--database", place, "--out", str(out))
    return counts, pq.read_table(out).to_pylist()


def nearest(values, truth):
    return int(np.abs(np.asarray(values) - truth).argmin())


def test_raters_without_noise_answer_the_level_nearest_to_the_truth(run):
    exact = ("--noise", "0", "--lapse", "0", "--raters", "2", "--questions", "paper")
    counts, rows = answers(run, *exact, database="exact")
    truths = {row["id"]: row for row in pq.read_table(run / "images").to_pylist()}
    # Seven questions have a truth: of the skin type it is the tone of the example faces; of fakeness there is none.
    assert counts["answers"] == 12 * 7 * 2
    assert counts["left_out"] == {"fakeness: no truth in the images": 12}
    assert {row["rater"] for row in rows} == {"simulated-001", "simulated-002"}
    levels = {"age": (8, 16, 27, 42, 57, 73), "smile": (0, 0.33, 0.67, 1), "skin_color": (1, 2.5, 4.5, 6, 8, 10)}
    columns = {"age": "true.age", "smile": "true.smile", "skin_color": "true.skin_tone"}
    checked = [row for row in rows if row["question"] in levels]
    assert len(checked) == 12 * 3 * 2
    for row in checked:
        truth = truths[row["id"]][columns[row["question"]]]
        assert row["level"] == nearest(levels[row["question"]], truth), row


def test_a_second_call_adds_nothing_and_another_number_only_the_new_raters(run):
    words = ("--questions", "paper", "--answer-mean", "fakeness=0.2")
    first, rows = answers(run, "--raters", "2", *words, database="again")
    assert first["answers"] == len(rows) == 12 * 8 * 2
    second, same = answers(run, "--raters", "2", *words, database="again")
    assert (second["answers"], second["already_there"]) == (0, 192)
    key = lambda row: (row["rater"], row["question"], row["id"])  # noqa: E731
    assert sorted(map(key, same)) == sorted(map(key, rows))
    third, _ = answers(run, "--raters", "3", *words, database="again")
    assert (third["answers"], third["already_there"]) == (96, 192)
    _, whole = answers(run, "--raters", "3", *words, database="whole")
    by_key = {key(row): row["level"] for row in whole}
    assert all(by_key[key(row)] == row["level"] for row in rows)  # whatever the number of raters


def test_answers_without_a_truth_lie_around_their_mean(run):
    _, rows = answers(run, "--questions", "paper", "--answer-mean", "fakeness=0.25", "--raters", "5", database="place")
    places = [row["level"] / 4 for row in rows if row["question"] == "fakeness"]
    # 12 images, spread .15: standard error .043 between images, and rounding to fifths.
    assert np.mean(places) == pytest.approx(0.25, abs=0.15)


def test_pairs_are_answered_with_their_follow_up(tmp_path):
    folder = str(tmp_path / "pairs")
    printed("render", "--data-set", "--subjects", "3", "--size", "32", "--vary", "yaw=-8,8", "--out", folder)
    place = "same_person=0.3"
    printed("annotate", "simulate", folder, "--questions", "pairs", "--answer-mean", place, "--raters", "2")
    out = str(tmp_path / "answers.parquet")
    printed("annotate", "export", folder, "--out", out)
    rows = pq.read_table(out).to_pylist()
    assert len(rows) == 6
    assert {row["follow_up"] for row in rows} <= {"well", "moderately", "not at all"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--raters", "0"), "--raters: expected 1 or more, got 0"),
        (("--answer-mean", "fakeness"), "--answer-mean fakeness: expected NAME=MEAN"),
        (("--answer-mean", "fakeness=2"), "--answer-mean fakeness: expected a mean from 0 to 1, got 2"),
        (("--lapse", "2"), "a lapse of 0 to 1"),
        (("--answer-mean", "fake=0.5"), "unknown question 'fake': did you mean fakeness"),
    ],
)
def test_what_does_not_fit_is_refused(run, words, message):
    database = str(run.parent / "refused.sqlite")
    assert message in refused_here("annotate", "simulate", str(run), "--database", database, *words)


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_questions_are_counted_unless_the_answer_is_json(run, form):
    place = str(run.parent / f"told{len(form)}.sqlite")
    done = run_here(
        "annotate", "simulate", str(run), "--database", place, "--raters", "1", "--questions", "paper", *form
    )
    assert done.returncode == 0, done.stderr
    stages = done.stderr.splitlines()
    if form:
        assert stages == []
        return
    counts = [re.search(r"question (\d+) of (\d+) …$", line) for line in stages[:-1]]
    assert [int(count[1]) for count in counts] == list(range(1, int(counts[0][2]) + 1))
    assert re.fullmatch(r"storing [\d,]+ answers …", stages[-1])
