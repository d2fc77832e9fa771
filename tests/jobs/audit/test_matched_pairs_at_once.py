"""Two matched subjects at once: pairs of photographs as a match wrote them, through a whole audit."""

import shutil

import auditing
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from asked_questions import SMILE, TRUST
from pair_speaker import PairSpeaker
from PIL import Image
from worker_runs import content

import transect
from transect.errors import BadInput, FolderOfAnotherSpec

FILE = SMILE + TRUST
PEOPLE = 80
TABLE = "pairs/stub-trust"


@pytest.fixture(scope="module")
def faces(tmp_path_factory):
    """Photographs of noise: in turn dark with tone 1 and bright with tone 0, of the same age two by two."""
    folder, rng = tmp_path_factory.mktemp("faces"), np.random.default_rng(0)
    lines = ["file,subject,tone,age,shade"]
    for number in range(PEOPLE):
        dark = number % 2
        pixels = rng.integers(0, 16, (32, 32, 3)) + (20 if dark else 180)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number:03d}.png")
        lines.append(f"{number:03d}.png,p{number},{dark},{20 + number // 2},{('light', 'mid', 'deep')[number % 3]}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def pairs(faces):
    """As `transect match` writes them: equal in age, and different in tone."""
    ages = {"age": [20.0 + number // 2 for number in range(PEOPLE)]}
    return transect.match(ages, "tone", table=faces / "labels.csv", caliper=0.5).table


@pytest.fixture(scope="module")
def questions(tmp_path_factory):
    path = tmp_path_factory.mktemp("questions") / "mine.toml"
    path.write_text(FILE)
    return path


@pytest.fixture(scope="module")
def found(faces, pairs, questions, tmp_path_factory):
    out = tmp_path_factory.mktemp("planted") / "run"
    given = {"dataset": f"folder:{faces}", "compare": ["tone"], "questions": str(questions), "out": out, "pairs": pairs}
    return auditing.audit("pair_speaker:speaker", **given)


@pytest.fixture
def ask(faces, questions, tmp_path):
    def run(pairs, speaker=None, out="run", **settings):
        usual = {"dataset": f"folder:{faces}", "compare": ["tone"], "questions": str(questions), "out": tmp_path / out}
        return auditing.audit(speaker or PairSpeaker(darker=0.8), **usual | {"pairs": pairs} | settings)

    return run


def section(result):
    (found,) = [each for each in result.results["sections"] if each["key"] == "two_images"]
    return found


def rows_of(result, title):
    shown = next(each for each in section(result)["tables"] if each["title"].startswith(title))
    return [dict(zip(shown["columns"], row, strict=True)) for row in shown["rows"]]


def test_a_planted_preference_between_matched_people_is_a_finding(found, pairs):
    assert pairs.num_rows == PEOPLE // 2
    result = found
    (row,) = rows_of(result, "Preferences")
    assert (row["attribute"], row["finding"], row["subjects"]) == ("tone", "yes", PEOPLE // 2)
    assert row["its low"] <= 0.9 <= row["its high"]


def test_the_share_counts_pairs_chosen_in_both_orders(found):
    result = found
    said = pq.read_table(sorted((result.folder / TABLE).glob("*.parquet"))).to_pylist()
    assert [tuple(row["order"]) for row in said] == [(0, 1), (1, 0)] * (PEOPLE // 2)
    assert all((row["first"] % 2, row["second"] % 2) == (0, 1) for row in said)  # the lower level first
    chosen = {}
    for row in said:
        chosen.setdefault(row["subject"], []).append(row["value"])
    (row,) = rows_of(result, "Preferences")
    assert row["share for the second"] == sum(values == [1, 1] for values in chosen.values()) / len(chosen)


def test_what_still_differs_within_pairs_is_told(found):
    rows = {row["label"]: row for row in rows_of(found, "In what else")}
    assert rows["age"]["pairs that differ in it"] == 0
    assert rows["shade"]["pairs that differ in it"] > 0.5


def test_pairs_that_share_a_person_count_as_one(ask):
    """One dark picture beside forty bright ones is one pair's worth of evidence."""
    star = {"a": [1] * 40, "b": list(range(0, 80, 2))}
    (row,) = rows_of(ask(star), "Preferences")
    assert row["subjects"] == 1
    assert row["finding"] != "yes"


def test_ids_name_images_as_files_do(ask, pairs, found):
    named = pa.table({side: [f"{row:03d}" for row in pairs[side].to_pylist()] for side in ("a", "b")})
    assert content(ask(named, "pair_speaker:speaker").folder) == content(found.folder)


def test_a_resumed_run_and_a_run_made_again_have_the_same_bytes(ask, pairs, found, faces, tmp_path):
    shutil.copytree(found.folder, tmp_path / "run")
    (tmp_path / "run" / TABLE / "part-00000.parquet").unlink()
    ask(pairs, "pair_speaker:speaker")
    assert content(tmp_path / "run") == content(found.folder)
    given = {"targets": ["stub=pair_speaker:speaker"], "files": {"dataset": f"folder:{faces}"}}
    again = transect.reproduce(found.folder, out=tmp_path / "again", **given)
    assert again.numbers.outcome == "same bytes"


def test_other_pairs_are_another_run(ask, pairs, found, tmp_path):
    shutil.copytree(found.folder, tmp_path / "run")
    with pytest.raises(FolderOfAnotherSpec, match="`pairs`"):
        ask(pairs.slice(1), "pair_speaker:speaker")


def test_a_part_without_a_pair_is_an_empty_table(ask, monkeypatch):
    monkeypatch.setattr("transect.experiment.study.IMAGES_PER_PART", 16)
    (row,) = rows_of(ask({"a": [1, 79], "b": [0, 78]}), "Preferences")
    assert row["subjects"] == 2


@pytest.mark.parametrize(
    ("pairs", "settings", "message"),
    [
        ({"a": [0], "b": [2]}, {}, r"expected pairs that differ in tone, got 1 of 1 that do not, first images 0 and 2"),
        ({"a": ["x"], "b": ["001.png"]}, {}, "expected ids of images such as '000.png', got 'x'"),
        ({"a": [0, 1], "b": [1, 0]}, {}, "expected each pair once, got images 0 and 1 twice"),
        ({"a": [0], "b": [1]}, {"compare": ["tone", "age"]}, "got tone and age"),
        ({"a": [0], "b": [1]}, {"dataset": None, "compare": [], "vary": ["smile"]}, "`pairs` applies to observed images"),
    ],
)  # fmt: skip
def test_pairs_that_do_not_fit_are_refused_in_one_line(ask, pairs, settings, message):
    with pytest.raises(BadInput, match=message) as raised:
        ask(pairs, **settings)
    assert "\n" not in str(raised.value)
