"""Several recognizers on one page: their gaps side by side, each as that recognizer alone has it."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from published import fits

from transect.jobs.recognition import compare_recognizers, recognition

PEOPLE = 40


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """40 people with three photographs each; those of the second group are twice as far apart for one recognizer."""
    folder = tmp_path_factory.mktemp("recognizers")
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(PEOPLE), 3)
    table = {"who": [f"p{who}" for who in person], "tone": ["a" if who < PEOPLE // 2 else "b" for who in person]}
    pq.write_table(pa.table(table), folder / "t.parquet")
    noise = rng.normal(size=(len(person), 8))
    wider = np.where(person < PEOPLE // 2, 1.0, 2.0)[:, None]
    np.save(folder / "fair.npy", 5 * rng.normal(size=(PEOPLE, 8))[person] + noise)
    np.save(folder / "unfair.npy", 50 * rng.normal(size=(PEOPLE, 8))[person] + 10 * wider * noise)
    return folder


def test_gaps_are_those_of_each_recognizer_alone(files):
    made = {
        name: recognition(files / "t.parquet", "who", "tone", embeddings=files / f"{name}.npy", thresholds=[4.0])
        for name in ("fair", "unfair")
    }
    result = compare_recognizers(made)
    fair, unfair = result.numbers.gaps
    alone = made["unfair"].numbers.samples["all"]
    assert (unfair.estimate, unfair.low, unfair.p) == (
        alone.differences[0].estimate, alone.differences[0].low, alone.differences[0].p,
    )  # fmt: skip
    mean = np.mean([group.mean_distance for group in alone.groups])
    assert unfair.relative == pytest.approx(unfair.estimate / mean)
    assert (unfair.gap, unfair.relative) == ("b - a", pytest.approx(2 / 3, abs=0.15))
    assert abs(fair.relative) < 0.15
    assert unfair.p_adjusted == pytest.approx(2 * unfair.p)
    assert fair.p_adjusted == pytest.approx(max(fair.p, 2 * unfair.p))
    assert result.headline().startswith("unfair has a larger gap b - a (all images) than fair: ")
    fits(result)


def test_recognizers_are_compared_on_the_images_that_all_embedded(files):
    """One fails on the photographs that the other finds far apart: by itself, each has another gap than on the rest."""
    table, fair = pq.read_table(files / "t.parquet").to_pydict(), np.load(files / "fair.npy")
    lost = fair.copy()
    lost[np.arange(60, 120, 3)] = np.nan  # the first photograph of each person of group b

    def made(values, chosen=None):
        rows = np.arange(len(fair)) if chosen is None else chosen
        people = {name: [column[row] for row in rows] for name, column in table.items()}
        return recognition(people, "who", "tone", embeddings=values[rows], thresholds=[4.0])

    both = {"fair": made(fair), "lost": made(lost)}
    result = compare_recognizers(both)
    rest = np.flatnonzero(np.isfinite(lost).all(axis=1))
    alone = made(fair, rest).numbers.samples["all"].differences[0]
    one, two = result.numbers.gaps
    assert (one.estimate, one.low, one.p) == (two.estimate, two.low, two.p)
    assert (one.estimate, one.low) == pytest.approx((alone.estimate, alone.low))
    assert one.estimate != both["fair"].numbers.samples["all"].differences[0].estimate
    assert (result.numbers.images, result.numbers.left_out, result.numbers.lost) == (100, 20, {"fair": 0, "lost": 20})
    fits(result)


def test_the_command_compares_and_keeps_each_page(files):
    given = [
        "recognition",
        "--table",
        str(files / "t.parquet"),
        *["--identity", "who", "--group", "tone", "--threshold", "4"],
    ]
    both = [word for name in ("fair", "unfair") for word in ("--embeddings", str(files / f"{name}.npy"))]
    answer = json.loads(printed(*given, *both, "--out", str(files / "out"), "--json"))
    assert [gap["recognizer"] for gap in answer["gaps"]] == answer["recognizers"] == ["fair", "unfair"]
    assert len(list((files / "out").glob("*/recognition.html"))) == 2
    assert (files / "out" / "recognizers.html").exists()


def test_gaps_are_compared_with_the_first_recognizer_by_identity(files):
    """The other recognizer sees what the first sees, in another unit and a little more noisily."""
    first = np.load(files / "unfair.npy")
    person = np.repeat(np.arange(PEOPLE), 3)
    closer = np.where(person < PEOPLE // 2, 1.0, 0.8)[:, None]
    centers = first.reshape(PEOPLE, 3, 8).mean(axis=1)[person]
    other = 3 * (centers + closer * (first - centers))
    made = {
        name: recognition(files / "t.parquet", "who", "tone", embeddings=x, thresholds=[4.0])
        for name, x in (("first", first), ("other", other))
    }
    result = compare_recognizers(made)
    (paired,) = result.numbers.comparisons
    one, two = result.numbers.gaps
    assert (paired.first, paired.second) == pytest.approx((abs(one.relative), abs(two.relative)))
    assert paired.estimate == pytest.approx(two.relative - one.relative)
    assert paired.low < paired.estimate < paired.high < 0
    # Unpaired, the difference would have an error of the root of both squared.
    alone = np.hypot(one.relative_high - one.relative_low, two.relative_high - two.relative_low)
    assert paired.high - paired.low < alone / 3
    assert result.headline().startswith("other has a smaller gap b - a (all images) than first: ")
    (back,) = compare_recognizers(dict(reversed(made.items()))).numbers.comparisons
    assert (back.estimate, back.low, back.high, back.p) == (-paired.estimate, -paired.high, -paired.low, paired.p)


def test_a_recognizer_against_itself_has_no_difference(files):
    made = {
        name: recognition(files / "t.parquet", "who", "tone", embeddings=files / "fair.npy", thresholds=[4.0])
        for name in ("one", "again")
    }
    (paired,) = compare_recognizers(made).numbers.comparisons
    assert paired.estimate == 0
    assert "both have the same relative distances" in paired.reason


def test_a_gap_without_shared_images_is_named_with_the_reason(files):
    """Nobody of one group was embedded by all: there is no gap, and its row says why."""
    fair = np.load(files / "fair.npy")
    first_half = np.arange(len(fair))[:, None] < 60
    halves = {"a": np.where(first_half, np.nan, fair), "b": fair + 0.1 * fair**2}
    tones = {
        "who": [f"p{row // 3}" for row in range(120)],
        "tone": [f"{'ab'[row // 60]}{row // 3 % 2}" for row in range(120)],
    }
    made = {name: recognition(tones, "who", "tone", embeddings=x, thresholds=[4.0]) for name, x in halves.items()}
    result = compare_recognizers(made)
    reasons = {row.gap: row.reason for row in result.numbers.comparisons}
    assert reasons.pop("b1 - b0") == ""
    assert set(reasons) == {"a1 - a0", "b0 - a0", "b1 - a0"}
    assert set(reasons.values()) == {"no images of both groups that every recognizer embedded"}
