"""Simulated raters answer as their stated model says, about what a run's images were made with."""

import json
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import printed
from examples.simulated_raters import Psychometric, seed_of
from simulated import simulated


def test_probabilities_by_hand():
    # x = .5 between thresholds .4 and .6 with noise .1: P(below .4) = Phi(-1) = .1587, the same above .6.
    made = Psychometric((0.4, 0.6), noise=0.1).probabilities(0.5)
    assert made == pytest.approx([0.1587, 0.6827, 0.1587], abs=1e-4)
    # A tenth of lapses: nine tenths of that and a third of a tenth each.
    lapsing = Psychometric((0.4, 0.6), noise=0.1, lapse=0.1).probabilities(0.5)
    assert lapsing == pytest.approx(0.9 * made + 0.1 / 3)
    # Bias .1 puts x on the upper threshold: half of the looks lie above.
    assert Psychometric((0.4, 0.6), noise=0.1, bias=0.1).probabilities(0.5)[2] == pytest.approx(0.5)
    assert Psychometric((0.4, 0.6), noise=0.0).probabilities(0.5).tolist() == [0.0, 1.0, 0.0]


def test_an_answer_depends_on_the_image_and_the_rater_alone():
    model, truth = Psychometric((0.5,), noise=0.3), np.linspace(0, 1, 20)
    seeds = [seed_of("ada", i) for i in range(20)]
    whole = model.answers(truth, seeds)
    assert [int(model.answers([truth[i]], [seeds[i]])[0]) for i in range(20)] == whole.tolist()
    assert model.answers(truth, [seed_of("ben", i) for i in range(20)]).tolist() != whole.tolist()


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("simulated") / "run"
    printed("render", "--data-set", "--subjects", "8", "--size", "32", "--out", str(folder))
    return folder


def answers(run: Path, *words: str, database: str) -> tuple[dict, list[dict]]:
    place = str(run.parent / f"{database}.sqlite")
    counts = json.loads(simulated(run, "--database", place, "--questions", "paper", "--json", *words))
    out = run.parent / f"{database}.parquet"
    printed("annotate", "export", str(run), "--database", place, "--out", str(out))
    return counts, pq.read_table(out).to_pylist()


def test_raters_without_noise_answer_the_level_nearest_to_the_truth(run):
    counts, rows = answers(run, "--noise", "0", "--lapse", "0", "--raters", "2", database="exact")
    truths = {row["id"]: row for row in pq.read_table(run / "images").to_pylist()}
    # Seven questions have a truth: of the skin type it is the tone of the example faces; of fakeness there is none.
    assert counts["answers"] == 8 * 7 * 2
    assert counts["left_out"] == {"fakeness: no truth in the images": 8}
    assert {row["rater"] for row in rows} == {"simulated-001", "simulated-002"}
    levels = {"age": (8, 16, 27, 42, 57, 73), "smile": (0, 0.33, 0.67, 1), "skin_color": (1, 2.5, 4.5, 6, 8, 10)}
    columns = {"age": "true.age", "smile": "true.smile", "skin_color": "true.skin_tone"}
    checked = [row for row in rows if row["question"] in levels]
    assert len(checked) == 8 * 3 * 2
    for row in checked:
        truth = truths[row["id"]][columns[row["question"]]]
        assert row["level"] == np.abs(np.asarray(levels[row["question"]]) - truth).argmin(), row


def test_a_second_call_adds_nothing_and_another_number_only_the_new_raters(run):
    words = ("--answer-mean", "fakeness=0.25")
    first, rows = answers(run, "--raters", "2", *words, database="again")
    assert first["answers"] == len(rows) == 8 * 8 * 2
    # 8 images and 2 raters, spread .15: standard error .053 between images, and rounding to fifths
    assert np.mean([row["level"] / 4 for row in rows if row["question"] == "fakeness"]) == pytest.approx(0.25, abs=0.16)
    second, same = answers(run, "--raters", "2", *words, database="again")
    assert (second["answers"], second["already_there"]) == (0, 128)
    key = lambda row: (row["rater"], row["question"], row["id"])  # noqa: E731
    assert sorted(map(key, same)) == sorted(map(key, rows))
    third, more = answers(run, "--raters", "3", *words, database="again")
    assert (third["answers"], third["already_there"]) == (64, 128)
    by_key = {key(row): row["level"] for row in more}
    assert all(by_key[key(row)] == row["level"] for row in rows)  # whatever the number of raters
