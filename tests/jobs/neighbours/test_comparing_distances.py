"""`transect neighbours`: the shape of Table 2, against errors by hand, and what it refuses."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from commands import refused_here as refused

from transect.effects.identity_pairs import Preserved, preserved
from transect.jobs.neighbours.page import _claim


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
    return ("neighbours", *files, "--table", str(folder / "t.parquet"), *more)


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


def test_texts_are_classes_and_numbers_can_be(folder):
    more = ("--attribute", "place", "--attribute", "age", "--categorical", "age", "--k", "1", "--json")
    found = json.loads(printed(*asked(folder, *more)))["distances"][0]
    assert errors(found) == {"place": 1.0, "age": 1.0}


def test_categories_of_a_data_frame_are_classes(folder):
    """As texts: the nearest of near have another place each, x y x y."""
    table = pq.read_table(folder / "t.parquet")
    coded = table.append_column("coded", table["place"].combine_chunks().dictionary_encode())
    pq.write_table(coded, folder / "t.parquet")
    found = json.loads(printed(*asked(folder, "--attribute", "coded", "--k", "1", "--json")))["distances"][0]
    assert errors(found) == {"coded": 1.0}


def test_a_second_embedding_narrows_the_neighbours(folder):
    """Within 2 of each other in `far` are 0 and 2 alone: 40 years apart; the other two have no neighbour."""
    more = ("--second", str(folder / "far.npy"), "--second-threshold", "2", "--k", "1", "--json")
    rows = json.loads(printed(*asked(folder, *more)))["distances"]
    assert rows[1]["distance"] == "near, far < 2"
    age = rows[1]["attributes"][0]
    assert (age["error"], age["n_images"]) == (40.0, 2)


def test_the_table_on_the_terminal(folder):
    shown = printed(*asked(folder, "--identity", "who", "--k", "1"))
    assert "age: mean difference" in shown
    assert "6.0 ± 4.0" in shown
    assert "Mean over 4 of 4 images" in shown


def test_a_part_of_the_images_is_asked(folder):
    made = json.loads(printed(*asked(folder, "--queries", "2", "--k", "1", "--json")))
    assert (made["queries"], made["distances"][0]["attributes"][0]["n_images"]) == (2, 2)


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


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (("--k", "9"), "--k: expected 1 to 3 neighbours, got 9"),
        (("--k", "1", "--second-threshold", "1"), "--second FILE and --second-threshold together"),
        (("--k", "1", "--attribute", "age", "--categorical", "hat"), "expected one of the attributes"),
        (("--k", "1", "--attribute", "aeg"), "did you mean age"),
        (("--k", "1", "--queries", "0"), "--queries: expected 1 image or more"),
        (("--k", "1", "--layers", "mean"), "unknown layers"),
    ],
)
def test_the_neighbours_command_refuses_options_that_do_not_fit(folder, more, words):
    assert words in refused(*asked(folder, *more))


def test_two_files_of_one_name_are_refused(folder):
    assert "different names" in refused(*asked(folder, "--k", "1", features=("near", "near")))


def test_files_of_one_name_go_by_their_folders(folder):
    """As transect recognition writes them, each into its own folder."""
    for place in ("one", "two"):
        (folder / place).mkdir()
        np.save(folder / place / "near.npy", np.load(folder / "near.npy"))
    made = json.loads(printed(*asked(folder, "--k", "1", "--json", features=("one/near", "two/near"))))
    assert [row["distance"] for row in made["distances"][:2]] == ["one/near", "two/near"]


def first_screen(folder, *features):
    """The answer of the page about nearest images of one image each."""
    more = ("--identity", "who", "--k", "1", "--report", str(folder / "page"))
    printed(*asked(folder, *more, features=features))
    text = (folder / "page" / "neighbours.html").read_text()
    return text[text.index('class="answer"') : text.index('id="errors"')]


def test_one_distance_is_not_called_the_best(folder):
    first = first_screen(folder, "near")
    said = "<b>age</b>: nearest images share it. Mean difference: 6.0 ± 4.0 by <b>near</b>, "
    assert said in first
    assert "most" not in first
    page = (folder / "page" / "neighbours.html").read_text()
    assert "Which attributes do the nearest images share?" in page


def test_what_is_shared_is_not_told_from_a_few_images(folder):
    """By `far` all nearest images have another hat, and of images at random not all: four images do not tell."""
    first = first_screen(folder, "far")
    assert "<b>hat</b>: whether nearest images share it cannot be told. Differing: 100 ± 0 % by <b>far</b>, " in first


def test_the_page_names_the_distance_by_which_images_share_most(folder):
    """By `near` the nearest differ by 6 years on average (as on the terminal), by `far` by 35; the page says so first."""
    first = first_screen(folder, "near", "far")
    assert "<b>age</b>: by <b>near</b>, more than by the others, nearest images share it. Mean difference: 6.0" in first
    page = (folder / "page" / "neighbours.html").read_text()
    assert "By which distance do the nearest images share each attribute and the identity?" in page


def test_a_small_difference_from_chance_is_not_called_sharing():
    """With errors 44 and 48 and small standard errors, the nearest are hardly more alike than images at random."""
    near, chance = (Preserved("face", error, 0.001, "proportion", 600, 10) for error in (0.44, 0.48))
    assert str(_claim([near], chance)[0]) == "{}: nearest images share it hardly more than images at random"
    far = Preserved("face", 0.2, 0.001, "proportion", 600, 10)
    assert str(_claim([far], chance)[0]) == "{}: nearest images share it"
