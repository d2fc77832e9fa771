"""Sample data: rendered, said to be so, the same each time, and read by the commands of its own README."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from commands import printed, refused_here
from PIL import Image

import transect
from transect.datasets import open_dataset
from transect.jobs import datasets_sample as sample_data
from transect.jobs.datasets_sample import FEWEST

PEOPLE = 60


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made") / "sample"
    return transect.sample_data(folder, people=PEOPLE, quiet=True), folder


def files_of(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def column(folder, file, name):
    return pq.read_table(folder / file)[name].to_pylist()


@pytest.mark.integration
def test_the_same_seed_gives_the_same_files_and_another_gives_others(made, tmp_path):
    _, folder = made
    transect.sample_data(tmp_path / "again", people=PEOPLE, quiet=True)
    transect.sample_data(tmp_path / "other", people=PEOPLE, seed=5, quiet=True)
    again, other = files_of(tmp_path / "again"), files_of(tmp_path / "other")
    assert files_of(folder) == again
    assert again.keys() == other.keys()
    assert all(again[name] != other[name] for name in again)


@pytest.mark.integration
def test_every_file_is_listed_and_the_readme_says_that_nothing_is_a_photograph(made):
    result, folder = made
    listed = {each.name.rstrip("/"): each.rows for each in result.numbers.files}
    assert set(listed) | {"README.md"} == {path.name for path in folder.iterdir()}
    for name, rows in listed.items():
        place = folder / name
        if place.is_dir():
            assert len(list(place.glob("*.png"))) == rows
        else:
            assert rows == (len(np.load(place)) if name.endswith(".npy") else pq.read_metadata(place).num_rows)
    text = (folder / "README.md").read_text()
    assert all(f"`{name}" in text for name in listed)
    assert result.headline() == f"60 rendered people in {folder}: see README.md there"


def test_labels_are_those_of_the_pictures_and_errors_those_of_the_predictions(made):
    _, folder = made
    faces = open_dataset(f"folder:{folder / 'faces'}")
    smile = np.array(column(folder, "people.parquet", "smile"))
    assert (faces.column("smile") == (smile > 0.5)).all()
    assert column(folder, "labels.parquet", "smile") == (smile > 0.5).astype(int).tolist()
    assert column(folder, "labels.parquet", "face") == column(folder, "people.parquet", "face")
    says = np.array(column(folder, "predictions.parquet", "score_smile")) >= 0.5
    assert column(folder, "people.parquet", "error") == (says != (smile > 0.5)).astype(float).tolist()
    with Image.open(folder / column(folder, "people.parquet", "picture")[3]) as picture:
        assert (np.asarray(picture) == faces.pixels([3])[0]).all()


def test_three_pictures_of_each_person_have_one_skin_and_half_of_the_people_a_dark_one(made):
    _, folder = made
    rows = pq.read_table(folder / "recognition.parquet").to_pylist()
    by_person = {person: [row for row in rows if row["person"] == person] for person in {row["person"] for row in rows}}
    assert {len(shots) for shots in by_person.values()} == {3}
    assert all(len({shot["skin_tone"] for shot in shots}) == 1 for shots in by_person.values())
    assert all(len({shot["yaw"] for shot in shots}) == 3 for shots in by_person.values())
    assert sum(shots[0]["skin"] == "dark" for shots in by_person.values()) == PEOPLE // 10 // 2
    assert all((row["skin_tone"] > 5.5) == (row["skin"] == "dark") for row in rows)


@pytest.mark.integration
def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    transect.sample_data(tmp_path / "copy", people=FEWEST, quiet=True)
    monkeypatch.chdir(tmp_path / "copy")
    (block,) = re.findall(r"```sh\n(.*?)```", Path("README.md").read_text(), re.S)
    for line in block.splitlines():
        more = ["--rounds", "1", "--permutations", "2", "--no-curve"] if "leakage" in line else []
        assert printed(*shlex.split(line)[1:], *more)
    assert Path("pairs.parquet").exists()
    assert {"matching", "leakage", "runs"} <= {path.name for path in Path().iterdir()}


def test_what_is_there_is_never_replaced(tmp_path):
    (tmp_path / "mine.txt").write_text("mine")
    told = refused_here("datasets", "sample", str(tmp_path))
    assert told == f"{tmp_path} is not empty; choose another folder"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.integration
def test_after_an_interruption_the_same_command_starts_again(made, tmp_path, monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    folder = tmp_path / "sample"
    with monkeypatch.context() as patched:
        patched.setattr(sample_data, "_write_recognition", interrupt)
        with pytest.raises(KeyboardInterrupt):
            transect.sample_data(folder, people=PEOPLE, quiet=True)
    assert not any(folder.glob("[!.]*"))
    transect.sample_data(folder, people=PEOPLE, quiet=True)
    assert files_of(folder) == files_of(made[1])
