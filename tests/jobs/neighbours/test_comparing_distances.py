"""`transect match neighbours`: the shape of Table 2, against errors by hand, and what it refuses."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed, refused

from transect.effects.identity_pairs import Preserved, preserved
from transect.jobs.match_neighbours import _claim


@pytest.fixture
def folder(tmp_path):
    """Four images on a line, two people; `far` turns the line round so that the ends are neighbours."""
    table = {"who": list("ppqq"), "age": [20.0, 30.0, 60.0, 62.0], "hat": [0, 0, 1, 1], "place": list("xyxy")}
    pq.write_table(pa.table(table), tmp_path / "t.parquet")
    np.save(tmp_path / "near.npy", np.array([[0.0], [1.0], [5.0], [6.0]]))
    np.save(tmp_path / "far.npy", np.array([[0.0], [7.0], [1.0], [20.0]]))
    return tmp_path


def asked(folder, *more, features=("near",)):
    files = [part for name in features for part in ("--features", str(folder / f"{name}.npy"))]
    return ("match", "neighbours", *files, "--table", str(folder / "t.parquet"), *more)


def errors(row):
    return {one["attribute"]: one["error"] for one in row["attributes"]}


def test_errors_of_each_distance_by_hand(folder):
    """Nearest one. near: 1 0 3 2, ages 10 10 2 2 apart, same hat and person. far: 2 2 0 1, ages 40 30 40 32 apart, hats
    1 1 1 1, all of another person."""
    more = ("--identity", "who", "--k", "1", "--json")
    made = json.loads(printed(*asked(folder, *more, features=("near", "far"))))
    near, far, chance = made["distances"]
    assert [row["distance"] for row in made["distances"]] == ["near", "far", "images at random"]
    assert errors(near) == {"age": 6.0, "hat": 0.0, "identity": 0.0}
    assert errors(far) == {"age": 35.5, "hat": 1.0, "identity": 1.0}
    assert {one["attribute"]: one["unit"] for one in near["attributes"]}["age"] == "mean absolute error"
    assert chance["attributes"][0]["n_images"] == 4
    # Clusters p and q of near: sums of deviations 8 and -8, so that SE = sqrt(2 x 128) / 4 = 4.
    assert near["attributes"][0]["standard_error"] == pytest.approx(4.0)


def test_forty_attributes_are_rows_that_can_be_read(folder):
    """A line for each attribute with its whole name, and a column for each distance."""
    ages = [20.0, 30.0, 60.0, 62.0]
    pq.write_table(pa.table({f"Attribute_{n:02}": ages for n in range(40)}), folder / "t.parquet")
    lines = printed(*asked(folder, "--k", "1", features=("near", "far"))).splitlines()
    rows = [line.split() for line in lines if "mean difference" in line]
    assert [row[0] for row in rows] == [f"Attribute_{n:02}:" for n in range(40)]
    assert {(row[3], row[6]) for row in rows} == {("6.0", "35.5")}


def test_one_inversion_is_two_distances_by_its_layers(folder):
    """Two layers of images 0 to 3: side by side the nearest are 1 0 3 2, by their mean (0, 4, 1, 5) 2 3 0 1."""
    np.save(folder / "w.npy", np.array([[[0.0], [0.0]], [[1.0], [7.0]], [[9.0], [-7.0]], [[9.5], [0.5]]]))
    more = ("--k", "1", "--attribute", "age", "--layers", "flatten", "--layers", "average", "--json")
    found = json.loads(printed(*asked(folder, *more, features=("w", "near"))))["distances"]
    apart = {row["distance"]: errors(row)["age"] for row in found}
    # side by side: 0-1 7.07, 0-3 9.51, 0-2 11.4, 1-3 10.7, 2-3 7.52: nearest 1 0 3 2; mean: 2 3 0 1, 40 32 40 32 apart
    assert {name: apart[name] for name in ("w (flatten)", "w (average)", "near")} == {
        "w (flatten)": 6.0, "w (average)": 36.0, "near": 6.0,
    }  # fmt: skip


def test_texts_are_classes_and_numbers_can_be(folder):
    more = ("--attribute", "place", "--attribute", "age", "--categorical", "age", "--k", "1", "--json")
    found = json.loads(printed(*asked(folder, *more)))["distances"][0]
    assert errors(found) == {"place": 1.0, "age": 1.0}


def test_a_second_embedding_narrows_the_neighbours(folder):
    """Within 2 of each other in `far` are 0 and 2 alone: 40 years apart; the other two have no neighbour."""
    more = ("--second", str(folder / "far.npy"), "--second-threshold", "2", "--k", "1", "--json")
    rows = json.loads(printed(*asked(folder, *more)))["distances"]
    assert rows[1]["distance"] == "near, far < 2"
    age = rows[1]["attributes"][0]
    assert (age["error"], age["n_images"]) == (40.0, 2)


def test_an_unknown_person_is_nobody_else():
    """Images of None are no one person: cluster by cluster, and the nearest of whom nothing is known does not count."""
    x = np.array([[0.0], [1.0], [5.0], [5.5], [20.0]])
    who = np.array(["p", "p", None, "q", "q"], dtype=object)
    made = preserved(x, {"v": np.arange(5.0)}, {"v": "continuous"}, identity=who, k=1)
    assert made[1].n_images == 3  # the two of p, and q at 20; q at 5.5 is nearest to the unknown
    assert made[1].error == 0.0  # q at 20 is nearest to q at 5.5
    # Two images of nobody known are not one person: that at 5 would else miss its "other" image, at 100.
    x = np.array([[0.0], [1.0], [5.0], [100.0]])
    who = np.array(["p", "p", None, None], dtype=object)
    made = preserved(x, {"v": np.arange(4.0)}, {"v": "continuous"}, identity=who, k=1)
    assert (made[1].n_images, made[1].error) == (2, 0.0)


def test_a_small_difference_from_chance_is_not_called_sharing():
    """With errors 44 and 48 and small standard errors, the nearest are hardly more alike than images at random."""
    near, chance = (Preserved("face", error, 0.001, "proportion", 600, 10) for error in (0.44, 0.48))
    assert str(_claim([near], chance)[0]) == "{}: nearest images share it hardly more than images at random"
    far = Preserved("face", 0.2, 0.001, "proportion", 600, 10)
    assert str(_claim([far], chance)[0]) == "{}: nearest images share it"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--k", "9"), "--k: expected 1 to 3 neighbours, got 9"),
        (("--k", "1", "--attribute", "age", "--categorical", "hat"), "expected one of the attributes"),
    ],
)
def test_the_neighbours_command_refuses_options_that_do_not_fit(folder, more, words):
    assert words in refused(*asked(folder, *more))
