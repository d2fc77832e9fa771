import numpy as np
import pyarrow as pa

from transect.effects.samples import complete, read_columns

NAN = np.nan


def test_every_row_left_out_is_counted_under_its_first_reason():
    sample = complete(
        [0.0, NAN, 1.0, 1.0, 0.0, 1.0],
        {"beard": [0.0, 1.0, NAN, 1.0, 1.0, 0.0], "hat": [0.0, 1.0, NAN, NAN, 1.0, 0.0]},
        clusters=["a", "a", "b", "b", None, "c"],
    )
    np.testing.assert_array_equal(sample.rows, [True, False, False, False, False, True])
    assert dict(sample.excluded) == {
        "no outcome": 1,
        "no value of beard": 1,
        "no value of hat": 1,
        "no subject": 1,
    }


def test_an_arrow_table_is_read_as_arrays_are():
    table = pa.table({"age": pa.array([20, None, 60]), "beard": pa.array([True, False, None])})
    names, values = read_columns(table)
    assert names == ("age", "beard")
    np.testing.assert_array_equal(values, [[20, 1], [NAN, 0], [60, NAN]])
    np.testing.assert_array_equal(read_columns(pa.array([1.0, None]))[1], [[1.0], [NAN]])
    assert read_columns(table, ["beard"])[0] == ("beard",)


def test_subjects_are_numbered_in_their_sorted_order_whatever_their_type():
    for clusters in (["c", "a", "c"], np.array([7.0, 2.0, 7.0]), pa.array(["c", "a", "c"]), [9, 1, 9]):
        sample = complete([1.0, 2.0, 3.0], [1.0, 2.0, 3.0], clusters=clusters)
        np.testing.assert_array_equal(sample.groups, [1, 0, 1])
        assert sample.n_groups == 2
