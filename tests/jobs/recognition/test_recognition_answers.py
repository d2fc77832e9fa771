"""`transect recognition` keeps what a target answers: runs that are cut off, fail too often, or ask of other pictures."""

import json
from _thread import interrupt_main
from typing import ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import printed
from people_tables import embedder, given_table, png, write_people

from transect.errors import FolderOfAnotherSpec, Interrupted, TooManyFailures
from transect.records import Predictions, Task


@pytest.fixture
def folder(tmp_path):
    return write_people(tmp_path)


class Counting:
    """An embedding target that notes the shades it was asked about, and can be cut off at one of them, or fail."""

    name, task = "counting", Task.EMBEDDING
    asked: ClassVar[list[int]] = []
    cut_off_at: ClassVar[int | None] = None
    failing: ClassVar[set[int]] = set()

    def describe(self):
        return {"version": 1}

    def predict(self, images):
        shades = images.pixels[:, 0, 0, 0].tolist()
        if self.cut_off_at in shades:
            interrupt_main()  # as Ctrl-C; what the call itself raises is the model's
            raise ValueError("cut off")
        self.asked.extend(shades)
        if self.failing & set(shades):
            raise ValueError("no answer")
        return Predictions(Task.EMBEDDING, embedder(images.pixels), ("",) * len(shades))


@pytest.fixture
def counting(folder, monkeypatch):
    """The seven pictures' shades are 0 10 40 45 0 30 35: four parts of two rows."""
    monkeypatch.setattr("transect.experiment.picture_embeddings.ROWS_OF_A_PART", 2)
    monkeypatch.setattr(Counting, "asked", [])
    return given_table(
        folder, "test_recognition_answers:Counting", "--pictures", "face", "--threshold", "0.75", "--json"
    )


def test_a_run_that_was_cut_off_goes_on_with_the_same_bytes(folder, counting, monkeypatch):
    """Cut off in the third part: 0 10 and 40 45 are kept, and the second run asks for the rest alone."""
    monkeypatch.setattr(Counting, "cut_off_at", 30)
    with pytest.raises(Interrupted, match="rerun the command to resume"):
        printed(*counting)
    assert not (folder / "out" / "embeddings.parquet").exists()
    monkeypatch.setattr(Counting, "cut_off_at", None)
    made = json.loads(printed(*counting))
    assert Counting.asked == [0, 10, 40, 45, 0, 30, 35]
    bytes_made = (folder / "out" / "embeddings.parquet").read_bytes()
    assert (
        json.loads(printed(*counting, "--threshold", "2"))["samples"]["all"]["groups"][0]["rates"][0]
        == (made["samples"]["all"]["groups"][0]["rates"][0])
    )
    assert len(Counting.asked) == 7, "another threshold asks for nothing"
    whole = [str(folder / "whole") if word == str(folder / "out") else word for word in counting]
    printed(*whole)
    assert (folder / "whole" / "embeddings.parquet").read_bytes() == bytes_made


def test_a_target_that_fails_too_often_goes_on_with_more_failures_allowed(counting, monkeypatch):
    """40 fails: with 45 in one call, then alone. One of seven is more than 5 %, and less than 20 %."""
    monkeypatch.setattr(Counting, "failing", {40})
    with pytest.raises(TooManyFailures, match="finished parts are kept"):
        printed(*counting)
    made = json.loads(printed(*counting, "--max-failures", "0.2"))
    assert [(one["group"], one["images"]) for one in made["left_out"]] == [("a", 1)]
    assert Counting.asked[:2] == [0, 10]
    assert Counting.asked.count(10) == 1


def test_answers_about_other_pictures_are_not_taken(folder, counting):
    printed(*counting)
    table = pq.read_table(folder / "t.parquet")
    other = pa.array([png(99), *table["face"].to_pylist()[1:]])
    pq.write_table(table.set_column(2, "face", other), folder / "t.parquet")
    with pytest.raises(FolderOfAnotherSpec, match=r"pictures: sha256 has changed: choose another --out"):
        printed(*counting)
