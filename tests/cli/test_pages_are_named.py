"""Every command that writes a page says where it is, last of all: on standard output, or with --json on standard error."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import run_here
from PIL import Image
from planted_networks import pixels_of, small, tensors
from safetensors.torch import save_file

from transect.inversion.protocol import invertible

ROWS = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of ten people with four photographs each, embeddings of it, a tiny generator and three of its images."""
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    person = np.repeat(np.arange(10), 4)
    columns = {
        "who": [f"p{who}" for who in person],
        "tone": ["a" if who < 5 else "b" for who in person],
        "age": rng.normal(40, 10, ROWS),
        "verb": np.arange(ROWS) % 3,
        "treated": np.arange(ROWS) % 2,
    }
    pq.write_table(pa.table(columns), folder / "t.parquet")
    np.save(folder / "near.npy", rng.normal(size=(10, 4))[person] + 0.1 * rng.normal(size=(ROWS, 4)))
    save_file(tensors(), folder / "small.safetensors")
    (folder / "images").mkdir()
    for place, image in enumerate(pixels_of(small(), invertible(small()).sample("w", 3, seed=50), "w")):
        Image.fromarray(image).save(folder / "images" / f"{place}.png")
    return folder


GENERATOR = ("--generator", "small.safetensors", "--images", "images", "--distance", "pixels", "--out", "out")
SEARCH = ("search", "audited:brightness", "--truth", "glasses", "--size", "32", "--budget", "20", "--out", "out")
COMMANDS = {
    "search": (*SEARCH, "--vary", "light_level"),
    "recognition": ("recognition", "--table", "t.parquet", "--identity", "who", "--group", "tone", "--embeddings",
                    "near.npy", "--out", "out"),
    "match": ("match", "--features", "near.npy", "--table", "t.parquet", "--treatment", "treated", "--out", "pairs.parquet",
              "--report", "out"),
    "neighbours": ("neighbours", "--features", "near.npy", "--table", "t.parquet", "--k", "2", "--report", "out"),
    "leakage": ("leakage", "--labels", "t.parquet", "--label", "verb", "--protected", "tone", "--attacker", "bayes",
                "--permutations", "2", "--out", "out"),
    "invert": ("invert", *GENERATOR, "--steps", "1", "--space", "w"),
    "encode": ("encode", *GENERATOR, "--encoder-samples", "40"),
}  # fmt: skip


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize("name", COMMANDS)
def test_the_last_line_is_the_path_of_the_page(folder, tmp_path, monkeypatch, name, form):
    for file in folder.iterdir():
        (tmp_path / file.name).symlink_to(file)
    monkeypatch.chdir(tmp_path)
    done = run_here(*COMMANDS[name], *(["--json"] if form == "json" else []))
    assert done.returncode == 0, done.stderr
    said = done.stderr if form == "json" else done.stdout
    title, _, path = said.splitlines()[-1].partition(": ")
    assert title == "report"
    assert Path(path) in {page.relative_to(tmp_path) for page in tmp_path.glob("out/*.html")}
    if form == "json":
        assert json.loads(done.stdout)
        assert said.splitlines() == [f"report: {path}"]  # no stage and no progress beside it
