import numpy as np
import pytest

from transect.effects import read_shares
from transect.errors import BadInput
from transect.records import Attribute

AGE = Attribute("age", "continuous", "apparent age", unit="years", low=18, high=80)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
KNOWN = {"age": AGE, "glasses": GLASSES}


def written(tmp_path, text, name="clinic.toml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def test_a_csv_has_a_row_per_combination(tmp_path):
    made = read_shares(written(tmp_path, "age,glasses,share\n20, off, .1\n20,on,.2\n60,1,.7\n", "clinic.csv"), KNOWN)
    assert (made.name, made.attributes, made.independent) == ("clinic", ("age", "glasses"), False)
    np.testing.assert_array_equal(made.cells, [[20, 0], [20, 1], [60, 1]])
    np.testing.assert_allclose(made.shares, [0.1, 0.2, 0.7])


def test_toml_cells_are_the_same_rows(tmp_path):
    text = 'name = "here"\nsource = "register"\n[[cells]]\nglasses = "off"\nshare = 0.3\n[[cells]]\nglasses = "on"\nshare = 0.7\n'
    made = read_shares(written(tmp_path, text), KNOWN)
    assert (made.name, made.source) == ("here", "register")
    np.testing.assert_array_equal(made.cells, [[0], [1]])


def test_margins_are_multiplied_and_say_so(tmp_path):
    made = read_shares(
        written(tmp_path, "[shares.glasses]\noff = 0.4\non = 0.6\n[shares.age]\n20 = 0.25\n60 = 0.75\n"), KNOWN
    )
    assert made.independent
    # off 20, off 60, on 20, on 60
    np.testing.assert_allclose(made.shares, [0.1, 0.3, 0.15, 0.45])


def test_rounded_shares_are_divided_by_their_sum(tmp_path):
    made = read_shares(written(tmp_path, "age,share\n20,.333\n40,.333\n60,.333\n", "a.csv"), KNOWN)
    np.testing.assert_allclose(made.shares, 1 / 3)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "age,share\n20,.5\n60,.4\n", "expected shares that sum to 1, got 0.9"),
        ("a.csv", "age,share\n20,.5\n20,.5\n", "a combination of levels occurs twice"),
        ("a.csv", "age,share\n90,1\n", "a.csv: age: expected between 18 and 80 years, got 90"),
        ("a.csv", "age,share\n20,many\n", "expected a share from 0 to 1, got 'many'"),
        ("a.csv", "age,share\n20\n", "line 2: expected 2 columns, got 1; fix the line"),
        ("a.csv", "", "expected a field 'share'"),
        ("a.toml", "shares = 3", r"expected \[\[cells\]\] or \[shares.ATTRIBUTE\] tables"),
        ("a.toml", "[[cells]]\nage = 20\nshare = 1\n[[cells]]\nshare = 0\n", "the same attributes in every row"),
        ("a.toml", "share =", "expected TOML"),
    ],
)
def test_other_files_are_refused_in_one_line(tmp_path, name, text, message):
    with pytest.raises(BadInput, match=message):
        read_shares(written(tmp_path, text, name), KNOWN)
