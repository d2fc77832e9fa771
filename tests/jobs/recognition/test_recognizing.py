"""`transect recognition`: errors by group from embeddings or a target, before and after matching, and its page."""

import errno
import json
from pathlib import Path

import html5lib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from commands import refused_here as refused
from hypothesis import given, settings
from hypothesis import strategies as st
from people_tables import GROUPS, PEOPLE, PLACES, embedder, given_table, write_people
from scipy.spatial.distance import cdist

from transect.analysis.recognizers.curves import decades, panel
from transect.effects.recognition import pooled_thresholds, recognition_verification
from transect.errors import RunFolderError
from transect.records import DECLARED, Predictions, Task
from transect.targets import as_target


@pytest.fixture
def folder(tmp_path):
    return write_people(tmp_path)


def answer(folder, *more):
    return json.loads(printed(*given_table(folder, "--embeddings", str(folder / "e.npy"), "--json", *more)))


def rates(summary, sample="all", place=0):
    return {one["group"]: one["rates"][place] for one in summary["samples"][sample]["groups"]}


def test_errors_by_hand(folder):
    """At .75: a rejects the 1 of two genuine, b the 3; of impostors only b's .5 of two matches."""
    summary = answer(folder, "--threshold", "0.75")
    found = rates(summary)
    assert [(found[g]["fnmr"], found[g]["fmr"]) for g in "ab"] == [(0.5, 0.0), (1.0, 0.5)]
    a, b = summary["samples"]["all"]["groups"]
    assert (a["mean_distance"], b["mean_distance"], a["genuine"], b["impostor"]) == (0.75, 3.0, 2, 2)
    fmr, fnmr = summary["samples"]["all"]["differentials"]
    assert fmr["reason"].startswith("no errors")
    ratios = {one["group"]: one["ratio"] for one in fnmr["ratios"]}
    assert ratios == pytest.approx({"a": np.sqrt(0.5), "b": np.sqrt(2.0)})  # over the geometric mean, √.5
    assert summary["samples"]["all"]["differences"][0]["estimate"] == 2.25


def test_numbers_of_nineteen_digits_are_people_of_their_own(folder):
    """One apart: as numbers of 15 digits all would be one person, with six genuine comparisons in a and no impostor."""
    table = pq.read_table(folder / "t.parquet")
    people = [10**18 + "pqrs".index(who) for who in PEOPLE]
    pq.write_table(table.set_column(0, "who", pa.array(people)), folder / "t.parquet")
    a, b = answer(folder, "--threshold", "0.75")["samples"]["all"]["groups"]
    assert (a["identities"], a["genuine"], a["impostor"]) == (2, 2, 4)
    assert (b["identities"], b["genuine"], b["impostor"]) == (2, 1, 2)


def test_a_rate_finds_its_threshold_over_all_groups(folder):
    """Impostors .5 3 3.5 3.5 4 4.5: at most two of six (.34) are below 3.5, where .5 and 3 are."""
    summary = answer(folder, "--false-match-rate", "0.34")
    few = {"low": None, "high": None, "reason": "no interval: fewer than 10 identities are compared"}
    assert summary["thresholds"] == [{"threshold": 3.5, "false_match_rate": 0.34, "reached": 2 / 6, **few}]
    assert summary["impostor_comparisons"] == 6
    assert [rates(summary)[g]["fmr"] for g in "ab"] == [0.25, 0.5]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_the_share_that_is_said_to_match_is_the_share_that_is_counted(metric):
    """Blocks of other sizes round otherwise: at the threshold's own comparison, and where tenths tie."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(20, 60)), int(rng.choice([2, 8, 128]))
        x = rng.normal(size=(n, d)) + 5 * (seed % 3 == 0) if seed % 2 else 0.1 * rng.integers(1, 4, (n, 3))
        people = rng.integers(0, n // 2, n)
        groups = np.array(list("ab"))[people % 2]
        (threshold,), (reached,), compared = pooled_thresholds(x, people, groups, [0.1], metric)
        made = recognition_verification(x, people, groups, [threshold], metric=metric)
        matched = sum(float(one.fmr[0]) * one.impostor for one in made)
        assert round(matched, 6) == round(reached * compared, 6), seed
        assert reached <= 0.1
        apart = cdist(x, x, metric)
        impostors = np.triu((people[:, None] != people) & (groups[:, None] == groups), 1)
        assert round(matched, 6) == (apart[impostors] < threshold - 1e-7).sum()


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("far", [0.0, 1e4])
def test_equal_embeddings_are_no_distance_apart(metric, far):
    """25 of 60 are the same one, of several people: more than 5 % of comparisons are at 0, below which none is."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(60, 64)) + far
        x[:25] = x[0]
        people, groups = rng.integers(0, 30, 60), np.repeat("g", 60)
        (threshold,), (reached,), _ = pooled_thresholds(x, people, groups, [0.05], metric)
        (made,) = recognition_verification(x, people, groups, [threshold], metric=metric)
        assert (threshold, reached, made.fmr[0]) == (0.0, 0.0, 0.0)


def test_embeddings_far_from_the_origin_lose_no_comparison():
    """Spread 1e-5 about 1: squares of 1 leave 1e-16 of squares of 1e-10."""
    for seed in range(20):
        x = 1 + 1e-5 * np.random.default_rng(seed).normal(size=(40, 16))
        people, groups = np.repeat(np.arange(20), 2), np.repeat("g", 40)
        (threshold,), (reached,), n = pooled_thresholds(x, people, groups, [0.05])
        (made,) = recognition_verification(x, people, groups, [threshold])
        assert round(float(made.fmr[0]) * made.impostor) == round(reached * n) == int(0.05 * n)


def test_after_matching_only_pairs_and_their_references_count(folder):
    """Matched are images 0, 1 of a and 4, 5 of b: one genuine comparison each, 1 and 3 apart, and no impostor."""
    pairs = {"a": [0], "b": [4], "distance": [0.0], "a_reference": [1], "b_reference": [5]}
    pq.write_table(pa.table(pairs), folder / "pairs.parquet")
    summary = answer(folder, "--threshold", "0.75", "--pairs", str(folder / "pairs.parquet"))
    assert list(summary["samples"]) == ["all", "matched"]
    a, b = summary["samples"]["matched"]["groups"]
    assert (a["images"], a["mean_distance"], b["mean_distance"]) == (2, 1.0, 3.0)
    assert rates(summary, "matched")["a"]["fnmr"] == 1.0
    assert rates(summary)["a"]["fnmr"] == 0.5
    pq.write_table(pa.table({"a": [0], "b": [4]}), folder / "bare.parquet")
    notes = answer(folder, "--threshold", "0.75", "--pairs", str(folder / "bare.parquet"))["notes"]
    assert any("no identity of a, b has two images" in note for note in notes)
    assert any("--references" in note for note in notes)


def test_the_cosine_of_embeddings(folder):
    """Rows at 0, 90 and 60 degrees: distances 1, 1 - cos 60 = .5, and 1 - cos 30 = .134."""
    angles = np.deg2rad([0.0, 90.0, 60.0])
    x = np.column_stack([np.cos(angles), np.sin(angles)]) * [[3.0], [0.5], [1.0]]
    one = recognition_verification(x, ["p", "p", "q"], ["g"] * 3, [0.3], metric="cosine")[0]
    assert one.mean_genuine == pytest.approx(1.0)
    assert one.fmr[0] == 0.5  # .134 matches, .5 does not
    zeros = recognition_verification(
        np.vstack([x, [[0.0, 0.0]]]), ["p", "p", "q", "q"], ["g"] * 4, [0.3], metric="cosine"
    )[0]
    assert zeros.images == 3, "an embedding of zeros has no direction"


def test_images_without_an_identity_are_no_person():
    """Two images of nobody known would otherwise be one person's, 9 apart."""
    x = np.array([[0.0], [1.0], [0.0], [9.0]])
    for nobody in (None, np.nan, ""):
        one = recognition_verification(x, np.array(["p", "p", nobody, nobody], dtype=object), ["g"] * 4, [2.0])[0]
        assert (one.genuine, one.images, one.mean_genuine) == (1, 2, 1.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.02, 0.9), st.sampled_from(["euclidean", "cosine"]))
def test_pooled_thresholds_equal_all_comparisons_sorted(seed, rate, metric):
    rng = np.random.default_rng(seed)
    n = 45
    x, people, group = rng.normal(size=(n, 3)), rng.integers(0, 15, n), rng.choice(["f", "m"], n)
    distance = cdist(x, x, metric)
    counted = (people[:, None] != people) & (group[:, None] == group) & (np.arange(n)[:, None] < np.arange(n))
    ordered = np.sort(distance[counted])
    (found,), (reached,), compared = pooled_thresholds(x, people, group, [rate], metric)
    assert compared == len(ordered)
    assert found == pytest.approx(ordered[int(np.floor(rate * len(ordered) + 1e-9))])
    assert reached == int(np.floor(rate * len(ordered) + 1e-9)) / len(ordered), "no two distances tie"


class FindsNoDarkFace:
    """An embedding target that says itself that it finds nothing on black pictures."""

    name, task = "no-dark-face", Task.EMBEDDING

    def predict(self, images):
        scores = embedder(images.pixels)
        dark = scores[:, 0] == 0
        said = tuple(f"no face: {DECLARED}" if one else "" for one in dark)
        return Predictions(Task.EMBEDDING, np.where(dark[:, None], np.nan, scores), said)


def test_a_target_embeds_the_pictures_and_what_it_made_is_kept(folder):
    target = "test_recognizing:embedder"
    made = json.loads(printed(*given_table(folder, target, "--pictures", "face", "--threshold", "0.75", "--json")))
    kept = pq.read_table(folder / "out" / "embeddings.parquet")
    np.testing.assert_allclose(np.stack(kept["embedding"].to_numpy()), PLACES)
    again = json.loads(
        printed(*given_table(folder, "--embeddings", str(folder / "out" / "embeddings.parquet"), "--threshold", "0.75", "--json"))
    )  # fmt: skip
    assert made["samples"] == again["samples"] == answer(folder, "--threshold", "0.75")["samples"]
    assert as_target(embedder, task="embedding").task is Task.EMBEDDING


def test_embeddings_that_cannot_be_put_in_place_leave_the_earlier_ones(folder, monkeypatch):
    """A disk that is full as the new file is put in place of the old one: that is whole, and no part of the new stays."""
    given_ = given_table(folder, "test_recognizing:embedder", "--pictures", "face", "--threshold", "0.75")
    printed(*given_)
    place = folder / "out" / "embeddings.parquet"
    before, replace = place.read_bytes(), Path.replace

    def full(self, target):
        if target == place:
            raise OSError(errno.ENOSPC, "No space left on device")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", full)
    assert "embeddings.parquet" in refused_or_full(*given_)
    assert place.read_bytes() == before
    assert not list((folder / "out").glob(".embeddings*"))


def refused_or_full(*words):
    with pytest.raises(RunFolderError) as error:
        printed(*words)
    return str(error.value)


def test_faces_that_are_not_found_are_counted_by_group(folder):
    target = "test_recognizing:FindsNoDarkFace"
    made = json.loads(printed(*given_table(folder, target, "--pictures", "face", "--threshold", "0.75", "--json")))
    assert [(one["group"], one["images"]) for one in made["left_out"]] == [("a", 1), ("b", 1)]
    assert all("no face" in one["reason"] for one in made["left_out"])


def test_the_page_needs_nothing_and_holds_the_numbers(folder):
    table = pq.read_table(folder / "t.parquet")
    hostile = ["<b>a"] * 4 + ["b"] * 3
    pq.write_table(table.set_column(1, "tone", pa.array(hostile)), folder / "t.parquet")
    summary = answer(folder, "--threshold", "0.75")
    text = (folder / "out" / "recognition.html").read_text()
    html5lib.HTMLParser(strict=True).parse(text)
    assert "&lt;b&gt;a" in text
    assert "<b>a" not in text
    assert "http" not in text.split("<main", 1)[1].split("Sources")[0]
    kept = json.loads((folder / "out" / "recognition.json").read_text())
    assert kept == summary
    curves = json.loads((folder / "out" / "recognition-curves.json").read_text())
    assert [each["group"] for each in curves["all"]] == ["<b>a", "b"]


def test_curves_lie_where_logarithms_put_them():
    """Two decades each way: a rate of .1 is at 50 %, .01 at 0, 1 at 100; down is up on a page."""
    one = recognition_verification(PLACES[:4], PEOPLE[:4], GROUPS[:4], [0.75])[0]
    low = decades([one], "fmr"), decades([one], "fnmr")
    assert low == (-2, -2)
    drawn = panel("t", [one], *low)
    first = drawn.roc[0].points.split()[0].split(",")
    # The first threshold above an impostor, 3, is above both genuine ones: FMR 1 of 4, FNMR 0: x = 100 (1 + lg .25 / 2).
    assert [float(part) for part in first] == pytest.approx([69.9, 0.0], abs=0.01)
    assert drawn.without == ("a",), "FNMR is 0 wherever FMR is not, so that DET has no line"
    assert [tick[:2] for tick in drawn.x_ticks] == [(0.0, "1"), (50.0, "10"), (100.0, "100")]


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("test_recognizing:embedder", "--pictures", "who"), "expected bytes, or paths below"),
        (("opencv:haarcascade_frontalface_default", "--pictures", "face"), "expected a target with embeddings"),
        (("--embeddings", "e.npy", "--false-match-rate", "0.01"), "needs at least 100 comparisons"),
        (
            ("--embeddings", "e.npy", "--threshold", "1", "--pairs", "far.parquet"),
            "were the pairs made from this --table?",
        ),
    ],
)
def test_the_recognition_command_refuses_bad_options_in_one_line(folder, monkeypatch, more, words):
    np.save(folder / "short.npy", PLACES[:3])
    pq.write_table(pa.table({"a": [0], "b": [99]}), folder / "far.parquet")
    monkeypatch.chdir(folder)
    said = refused(*given_table(folder, *more))
    assert words in said
    assert "\n" not in said
