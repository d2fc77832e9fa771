"""Several λ of one inversion: each is the inversion of its λ, compared by likeness, faces and restriction."""

import numpy as np
import pytest
import torch
from examples.replications import singh2021_penalties as script
from PIL import Image
from planted_networks import pixels_of, small, tensors
from safetensors.torch import save_file

import transect
from transect.inversion.pictures import Pictures
from transect.inversion.protocol import invertible
from transect.runs.tables import decode


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
    return pixels.mean(axis=(1, 2)) / 255


def sweep(files, penalties, face):
    options = transect.InvertOptions(distance="pixels", batch=2)
    return script.sweep(
        files / "images", files / "small.safetensors", files / "out", penalties, face, steps=20, options=options,
        quiet=True,
    )  # fmt: skip


@pytest.mark.integration
def test_a_row_for_each_penalty(files):
    """In the order of λ; the restriction falls and the distance rises, as in Fig. 3. Face distances by hand."""
    free, held = sweep(files, [1.0, 0.0], embed)
    assert (free["penalty"], held["penalty"]) == (0, 1)
    assert free["restriction"]["mean"] > held["restriction"]["mean"]
    assert free["perceptual"]["mean"] < held["perceptual"]["mean"]
    original = Pictures.open(files / "images", 8).pixels(range(3))
    one = transect.invert(
        original, files / "small.safetensors", files / "one", penalty=1.0, steps=20, quiet=True,
        options=transect.InvertOptions(distance="pixels", batch=2),
    )  # fmt: skip
    assert held["perceptual"]["mean"] == pytest.approx(one.table["perceptual"].to_numpy().mean())
    apart = embed(decode(one.table["image"].to_pylist())) - embed(original)
    assert held["face_distance"]["mean"] == pytest.approx(np.linalg.norm(apart, axis=1).mean())
    assert (held["face_distance"]["n"], held["no_face"], held["face_failed"]) == (3, 0, 0)


def test_an_interval_is_by_image_and_what_is_unknown_is_left_out():
    """0 to 4: symmetric about 2 and beyond Student's 2.7764 √(2.5 / 5); four have no interval, none no mean."""
    mean = script.mean_of([0.0, 1.0, 2.0, np.nan, 3.0, 4.0])
    assert (mean["mean"], mean["n"]) == (2.0, 5)
    assert mean["low"] == pytest.approx(4 - mean["high"])
    assert mean["low"] < 2 - 2.7764 / np.sqrt(2)
    assert np.isnan(script.mean_of([1.0, 2.0, 3.0, 5.0])["low"])
    assert np.isnan(script.mean_of([np.nan])["mean"])
