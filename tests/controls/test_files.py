"""Files of directions: what they keep, and what is no such file."""

import json

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from transect.controls.directions import fit_direction
from transect.controls.learned import FittedDirections, read_directions, write_directions
from transect.errors import BadInput

Z = np.random.default_rng(0).standard_normal((200, 3))


def line(**options):
    return fit_direction("line", Z, Z[:, 2] + Z[:, 1] / 3, "continuous", **options)


def test_a_file_gives_back_what_was_fitted(tmp_path):
    """Vectors are the same numbers, the origin too; labels of a model are told from those of people."""
    made = (line(source="model:x"), fit_direction("yes", Z, (Z[:, 0] > 0).astype(float), "binary"))
    path = tmp_path / "d.safetensors"
    write_directions(path, FittedDirections(made, "w", {"source": "mine"}))
    read = read_directions(path)
    for one, other in zip(made, read.directions, strict=True):
        np.testing.assert_array_equal(one.normal, other.normal)
        np.testing.assert_array_equal(one.way, other.way)
    description = read.describe()
    assert description["attributes"] == FittedDirections(made, "w").describe()["attributes"]
    assert [row["of_a_model"] for row in description["attributes"]] == [True, False]
    assert (read.space, read.origin, len(read.sha256)) == ("w", {"source": "mine"}, 64)
    json.dumps(description, allow_nan=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "a\nb"}, "name must be a short text"),
        ({"low": 99.0}, "line has no range"),
        ({"quality": "good"}, "quality of line must be a number"),
        ({"origin": "me"}, "the origin of line must be an object"),
        ({"normals": np.full((1, 3), np.nan)}, "must have length 1"),
        ({"normals": -line().way[None]}, "must lead across its hyperplane"),
        ({"along": np.eye(2)[:1]}, "must have length 1"),
    ],
)
def test_files_that_hold_no_directions(change, message, tmp_path):
    path = tmp_path / "d.safetensors"
    write_directions(path, FittedDirections((line(),), "w"))
    with safe_open(path, "numpy") as file:
        metadata, arrays = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    facts = json.loads(metadata["directions"])[0]
    for name, value in change.items():
        (arrays if name in arrays else facts)[name] = value
    save_file(arrays, path, {**metadata, "directions": json.dumps([facts])})
    with pytest.raises(BadInput, match=rf"expected a file of directions, found something else .*{message}"):
        read_directions(path)


def test_bytes_that_are_no_file_are_refused(tmp_path):
    (tmp_path / "x.safetensors").write_bytes(b"{}")
    with pytest.raises(BadInput, match="expected a file of directions"):
        read_directions(tmp_path / "x.safetensors")
