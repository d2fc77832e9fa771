"""The parts of tables: each is made once, and stored in the background in order."""

import pyarrow as pa
import pytest

from transect.errors import Interrupted
from transect.runs.folder import RunFolder
from transect.runs.parts import Background, fill_table


def test_a_table_is_filled_once(tmp_path):
    """Parts that the folder holds are read, not made again; an interruption keeps what was written."""
    made, stored = [], []

    def part_of(part):
        if part == 2 and not stored:
            raise KeyboardInterrupt
        made.append(part)
        return pa.table({"value": [part]})

    def fill():
        with RunFolder(tmp_path / "run", {"kind": "parts"}) as folder:
            fill_table(folder, "rows", [1] * 4, part_of, title="rows", quiet=True, stored=stored.append)
            return [folder.read_part("rows", part)["value"][0].as_py() for part in range(4)]

    with pytest.raises(Interrupted, match="finished parts are kept"):
        fill()
    stored.append("the next call goes past part 2")
    assert fill() == [0, 1, 2, 3]
    assert made == [0, 1, 2, 3]
    assert [table["value"].to_pylist() for table in stored[1:]] == [[0], [1]]


def test_work_in_the_background_keeps_its_order():
    stored = []
    with Background() as background:
        for piece in range(20):
            background.submit(lambda piece=piece: stored.append(piece))
            background.keep_up(3)
            assert len(stored) >= piece - 2
    assert stored == list(range(20))


def in_background(*pieces, keep_up=None):
    with Background() as background:
        for piece in pieces:
            background.submit(piece)
        if keep_up is not None:
            background.keep_up(keep_up)


def fails():
    raise OSError("disk full")


@pytest.mark.parametrize("keep_up", [None, 0])
def test_a_failure_in_the_background_is_raised_and_stops_the_rest(keep_up):
    stored = []
    with pytest.raises(OSError, match="disk full"):
        in_background(fails, lambda: stored.append("after"), keep_up=keep_up)
    assert stored == []


def test_the_callers_error_comes_first_and_what_was_submitted_is_stored():
    stored = []

    def asks():
        with Background() as background:
            background.submit(lambda: stored.append("images"))
            raise ValueError("the target")

    with pytest.raises(ValueError, match="the target"):
        asks()
    assert stored == ["images"]
