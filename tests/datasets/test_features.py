"""What `transect match` reads: rows without features, roles in any file, indices of data frames, and what it writes."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import refused_here as refused
from match_tables import pairs, write_line

import transect
from transect.datasets import features as match_files
from transect.datasets.features import content_of_codes
from transect.designs.matching import greedy, make_sample
from transect.errors import BadInput


@pytest.fixture
def people(tmp_path):
    return write_line(tmp_path)


NEAREST = [(4, 0), (5, 1), (6, 2), (7, 3)]


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float64(), 2), pa.large_list(pa.float32())])
def test_a_row_without_a_list_is_missing_and_moves_no_other(tmp_path, kind):
    """Of four rows the third has none: what is left, 3 x 2 numbers, could be read as 4 rows of no length alone."""
    rows = pa.array([[1, 2], [3, 4], None, [5, 6]], kind)
    try:
        pq.write_table(pa.table({"w": rows}), tmp_path / "f.parquet")
    except pa.ArrowNotImplementedError:
        pytest.skip("this pyarrow writes no lists of one length that lack values")
    found, names, _ = match_files.read_features(tmp_path / "f.parquet")
    np.testing.assert_array_equal(found, [[1, 2], [3, 4], [np.nan, np.nan], [5, 6]])
    assert names == ("w[0]", "w[1]")


@pytest.mark.parametrize("spelled", ["same", "dotted", "copied"])
def test_columns_with_a_role_are_no_features_in_whichever_file_they_stand(people, spelled):
    (people / "copy.parquet").write_bytes((people / "t.parquet").read_bytes())
    table = {"same": "t.parquet", "dotted": "../" + people.name + "/t.parquet", "copied": "copy.parquet"}[spelled]
    _, found = pairs(people, "--table", str(people / table), "--outcome", "err")
    assert found == NEAREST


def test_the_index_of_a_data_frame_is_no_feature(people):
    """Shuffled, pandas writes the index: of range 0 to 7 it would outweigh x."""
    frame = pd.read_parquet(people / "t.parquet")[["x", "g"]]
    order = [3, 4, 0, 6, 1, 7, 2, 5]
    frame.iloc[order].to_parquet(people / "t.parquet")
    assert "__index_level_0__" in pq.read_table(people / "t.parquet").column_names
    summary, found = pairs(people)
    assert sorted((order[a], order[b]) for a, b in found) == NEAREST
    assert [one["covariate"] for one in summary["balance"]] == ["x"]


def test_an_empty_text_is_no_group(people):
    frame = pd.read_parquet(people / "t.parquet")[["x", "g"]]
    frame["g"] = ["w", "w", "w", "w", "m", "m", "m", ""]
    frame.to_parquet(people / "t.parquet", index=False)
    summary, found = pairs(people)
    assert summary["groups"] == ["m", "w"]
    assert summary["missing_rows"] == [7]
    assert len(found) == 3


@pytest.mark.parametrize("read", ["t.parquet", "w.npy"])
def test_what_is_read_is_not_written_over(people, read):
    np.save(people / "w.npy", np.zeros((8, 1)))
    before = (people / read).read_bytes()
    given = ("match", "--features", str(people / "w.npy"), "--table", str(people / "t.parquet"), "--treatment", "g")
    assert "would overwrite an input" in refused(*given, "--out", str(people / "." / read))
    assert (people / read).read_bytes() == before


def test_with_a_dose_a_refused_image_stands_beside_one_that_is_lower_by_the_gap():
    """Places 0, .1 and 5, doses 3, 3 and 0: one of the first two has the third, the other nobody, and was nearest to
    itself. The third could have nobody of a lower dose."""
    sample = make_sample(np.array([[0.0], [0.1], [5.0]]), np.array([3.0, 3.0, 0.0]), dose_gap=2.0)
    made = greedy(sample)
    assert (made.a.tolist(), made.b.tolist()) == ([1], [2])
    assert made.near == {0: (2, 5.0)}


def test_balance_before_counts_all_images_of_more_than_two_groups_too(people):
    """Group c's x is 8 and missing: its mean before is 8, and of y, which is known of both, 0.5."""
    frame = pd.DataFrame(
        {
            "x": [0.0, 1.0, 0.1, 1.1, 0.2, np.nan],
            "g": list("aabbcc"),
            "y": [0, 1, 0, 1, 0, 1],
        }
    )
    frame.to_parquet(people / "t.parquet", index=False)
    summary, _ = pairs(people, "--columns", "x", "--covariate", "y", "--base", "a")
    found = {one["covariate"]: one for one in summary["balance"]}
    assert found["y (a - c)"]["control_before"] == 0.5


CODES = np.arange(24, dtype=np.float64).reshape(4, 2, 3)


@pytest.fixture
def inversion(tmp_path):
    """Four photographs in w+ with two layers, in an order of their own."""
    folder = tmp_path / "inv"
    folder.mkdir()
    ids = ["d.png", "a.png", "c.png", "b.png"]
    (folder / "latents.safetensors").write_bytes(content_of_codes(ids, CODES, "w+", {"name": "toy"}))
    return folder


@pytest.mark.parametrize("part", ["", "latents.safetensors"])
def test_an_inversion_is_read_in_the_order_of_the_tables_ids(inversion, part):
    features = match_files.read_features(inversion / part, (), ["a.png", "b.png", "x.png", "d.png"])
    assert features.note == ""
    np.testing.assert_array_equal(features.values[[0, 1, 3]], CODES[[1, 3, 0]])
    assert np.isnan(features.values[2]).all()
    assert match_files.is_array(inversion / part)


@pytest.mark.parametrize("ids", [["a", "b"], ["photos/a.jpg", "photos/b.jpg"]])
def test_names_are_compared_without_folder_and_suffix_and_it_is_said(inversion, ids):
    features = match_files.read_features(inversion, (), ids)
    np.testing.assert_array_equal(features.values, CODES[[1, 3]])
    assert features.note.endswith(f"ids were compared without folder and suffix: {ids[0]} is a.png")


def test_neighbours_say_how_ids_of_an_inversion_were_compared(inversion, tmp_path):
    """a, b, c, d are at 4.5 + 6 k in each coordinate, in the order d, a, c, b: the ages of neighbours follow."""
    table = {"id": ["a", "b", "c", "d"], "age": [20.0, 40.0, 30.0, 10.0]}
    result = transect.neighbours(inversion, table, k=1)
    assert result.numbers.notes == (f"features {inversion}: ids were compared without folder and suffix: a is a.png",)
    assert result.numbers.distances[0].attributes[0].error == 10.0
    assert result.numbers.notes[0][1:] in result.report(tmp_path / "page").read_text()


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**64 - 1, 2**53 + 1])
def test_whole_numbers_that_a_float_would_round_are_refused(value):
    table = pa.table({"o": pa.array([value, 0], pa.uint64() if value >= 2**63 else pa.int64())})
    with pytest.raises(BadInput, match=r"outcome column 'o': expected whole numbers up to 2\*\*53, got"):
        match_files.numbers(table, "o", "outcome")
    assert match_files.numbers(pa.table({"o": [2**53, None]}), "o", "x").tolist()[0] == 2**53
