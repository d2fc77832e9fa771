"""Several λ in one run: each is the inversion of its λ, compared by likeness, faces and restriction."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from planted_networks import pixels_of, small, tensors
from published import fits
from safetensors.torch import save_file

from transect import generators
from transect.cli.app import app
from transect.errors import BadInput
from transect.inversion.pictures import Pictures
from transect.inversion.protocol import invertible
from transect.jobs.invert.run import InvertOptions, plan, run
from transect.jobs.invert.sweep import SweepMean, invert_sweep
from transect.records import Predictions, Task
from transect.targets.dlib_face import NO_FACE


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Three images of codes whose layers differ."""
    folder = tmp_path_factory.mktemp("sweep")
    save_file(tensors(), folder / "small.safetensors")
    (folder / "images").mkdir()
    w = invertible(small()).sample("w", 3, seed=50)
    torch.manual_seed(3)
    plus = w[:, None] + 0.7 * invertible(small()).codes("w").spread * torch.randn(3, 4, 8)
    for index, image in enumerate(pixels_of(small(), plus, "w+")):
        Image.fromarray(image).save(folder / "images" / f"{index}.png")
    return folder


def embed(pixels):
    """The mean color; nothing for the first image of all, as where no face is found."""
    return pixels.mean(axis=(1, 2)) / 255


OPTIONS = InvertOptions(distance="pixels", batch=2)


@pytest.fixture(scope="module")
def swept(files):
    return invert_sweep(
        files / "images", files / "small.safetensors", files / "out", [1.0, 0.0], face=embed, steps=40, quiet=True,
        options=OPTIONS,
    )  # fmt: skip


def test_each_penalty_is_the_inversion_of_its_own(files, swept, tmp_path):
    """In the order of λ; the restriction falls and the distance rises, as in Fig. 3. Face distances by hand."""
    assert [row.penalty for row in swept.numbers.rows] == [0, 1]
    free, held = swept.numbers.rows
    assert free.restriction.mean > held.restriction.mean
    assert free.perceptual.mean < held.perceptual.mean
    single = plan(files / "images", files / "small.safetensors", penalty=1.0, steps=40, options=OPTIONS)
    table = run(single, tmp_path / "one", quiet=True).table
    assert held.perceptual.mean == pytest.approx(table["perceptual"].to_numpy().mean())
    assert (files / "out" / "penalty-1" / "latents.safetensors").exists()
    from transect.runs.tables import decode

    apart = embed(decode(table["image"].to_pylist())) - embed(single.pictures.pixels(range(3)))
    assert held.face_distance.mean == pytest.approx(np.linalg.norm(apart, axis=1).mean())
    assert (held.face_distance.n, held.no_face, held.failed) == (3, 0, 0)


class Faces:
    """Finds no face in the first image, and fails on the second. It counts the images that it sees."""

    name, task = "faces", Task.EMBEDDING

    def __init__(self, first, second):
        self.reasons, self.seen = {first.tobytes(): NO_FACE, second.tobytes(): "out of memory"}, 0

    def describe(self):
        return {"kind": "colors"}  # the same target, however often it was asked

    def predict(self, images):
        self.seen += len(images)
        reasons = tuple(self.reasons.get(image.tobytes(), "") for image in images.pixels)
        colors = [
            np.full(3, np.nan) if why else embed(image[None])[0]
            for image, why in zip(images.pixels, reasons, strict=True)
        ]
        return Predictions(Task.EMBEDDING, np.array(colors), reasons)


def test_a_face_that_is_not_found_is_no_failure_and_no_picture_is_seen_twice(files, swept, monkeypatch):
    """Of three images one has no face, and the target fails on one. Its 9 images: 3 originals, and 3 of each λ."""
    loaded, load = [], generators.load
    monkeypatch.setattr(generators, "load", lambda *given, **more: loaded.append(given) or load(*given, **more))
    target = Faces(*Pictures.open(files / "images", small().image_size).pixels(range(2)))
    for _ in range(2):  # the second time all is there
        rows = invert_sweep(
            files / "images", files / "small.safetensors", files / "out", [0.0, 1.0], face=target, steps=40,
            quiet=True, options=OPTIONS,
        ).numbers.rows  # fmt: skip
        assert [(row.failed, row.no_face, row.face_failed, row.face_distance.n) for row in rows] == [(0, 1, 1, 1)] * 2
        assert target.seen == 9
    assert len(loaded) == 2, "once a sweep"


def test_the_page_has_the_curves_and_the_numbers(swept, tmp_path):
    page = swept.report(tmp_path).read_text()
    assert page.count("<polyline") == 3
    assert "face distance is smallest at λ = " in page
    assert f"{swept.numbers.rows[0].perceptual.mean:.4g}" in page
    assert json.loads((tmp_path / "invert-sweep.json").read_text()) == swept.to_json()
    assert swept.table.num_rows == 10
    fits(swept)


def test_an_interval_is_by_image_and_what_is_unknown_is_left_out():
    """1, 2, 3: 2 ∓ 4.3027 / √3; one value has no interval, none no mean."""
    mean = SweepMean.of(np.array([1.0, 2.0, np.nan, 3.0]))
    assert (mean.mean, mean.n) == (2.0, 3)
    assert mean.low == pytest.approx(2 - 4.3027 / np.sqrt(3), abs=1e-3)
    assert np.isnan(SweepMean.of(np.array([1.0])).low)
    assert np.isnan(SweepMean.of(np.array([np.nan])).mean)


def test_the_command_takes_several_penalties(files, capsys):
    given = ["invert", "--generator", str(files / "small.safetensors"), "--images", str(files / "images")]
    given += ["--steps", "40", "--distance", "pixels", "--batch", "2", "--out", str(files / "out")]
    app([*given, "--penalty", "0,1", "--json"], standalone_mode=False)
    answer = json.loads(capsys.readouterr().out)
    assert [row["penalty"] for row in answer["rows"]] == [0, 1]
    assert answer["rows"][0]["face_distance"] is None
    for more, message in (
        (["--penalty", "0,x"], "--penalty: expected numbers with commas between them, as 0,0.1,1, got 0,x"),
        (["--penalty", "0,0"], "expected each λ once"),
        (["--penalty", "0,1", "--space", "w"], "expected one λ at most in space w"),
        (["--face-distance", "dlib:x"], "expected several --penalty values"),
    ):
        with pytest.raises(BadInput, match=message):
            app([*given, *more], standalone_mode=False)


def test_a_target_without_embeddings_measures_no_faces(files):
    with pytest.raises(BadInput, match="expected a target with embeddings, got "):
        invert_sweep(
            files / "images",
            files / "small.safetensors",
            files / "no",
            [0.0],
            face="opencv:haarcascade_frontalface_default",
        )


@pytest.mark.parametrize("quiet", [False, True])
def test_it_says_which_penalty_it_is_at_and_what_the_target_has_answered(files, tmp_path, capsys, quiet):
    invert_sweep(
        files / "images", files / "small.safetensors", tmp_path, [1.0, 0.0], face=embed, steps=1, quiet=quiet,
        options=OPTIONS,
    )  # fmt: skip
    printed = capsys.readouterr()
    assert printed.out == ""
    if quiet:
        assert printed.err == ""
        return
    lines = [line.split(" (")[0] if "λ" not in line else line for line in printed.err.splitlines()]
    assert [line for line in lines if "λ" in line] == ["λ = 0 (1 of 2)", "λ = 1 (2 of 2)"]
    assert {"embed: images: 3 of 3", "embed: reconstructions: 3 of 3"} <= set(lines)
