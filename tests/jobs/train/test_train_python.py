"""`transect.train_gan`, `train_encoder`, `train_classifier`: pixels and names in, histories and files out."""

import json
from pathlib import Path

import numpy as np
import pytest
from published import fits

import transect
from transect.generators import load
from transect.targets import resolve
from transect.training.options import ClassifierOptions, GanOptions
from transect.training.schedules import LAYERS, Schedule

TINY = GanOptions(z_dim=8, channels=64, max_channels=8, every=16, mapping_layers=2)
SCHEDULE = Schedule("resnet18", 32, ((1, 1e-3), (1, 1e-4)), batch=16)


@pytest.fixture(scope="module")
def pixels():
    """40 pictures of noise of 32 pixels, every fourth bright."""
    noise = np.random.default_rng(0).integers(0, 60, (40, 32, 32, 3))
    return (noise + 190 * (np.arange(40) % 4 == 0)[:, None, None, None]).astype(np.uint8)


@pytest.fixture(scope="module")
def gan(pixels, tmp_path_factory):
    out = tmp_path_factory.mktemp("gan")
    return transect.train_gan(pixels, out, images=32, quiet=True, options=TINY)


def test_a_gan_of_pixels_loads_and_tells_its_history(gan):
    generator = load(gan.numbers.generator)
    assert (generator.image_size, generator.latent_dim) == (32, 8)
    assert (gan.numbers.images, gan.numbers.steps) == (32, 2)
    assert gan.table["step"].to_pylist() == [1, 2]
    lines = [
        json.loads(line) for line in Path(gan.numbers.generator).with_name("metrics.jsonl").read_text().splitlines()
    ]
    last = {name: figure for name, figure in gan.numbers.last.items() if figure is not None}
    assert last == {name: lines[-1][name] for name in lines[-1] if name not in ("step", "shown")}
    fits(gan)


def test_faceworld_draws_as_many_pictures_as_are_shown(tmp_path):
    """And a resumed training keeps its pictures, however many more are shown."""
    for images in (16, 32):
        transect.train_gan("faceworld", tmp_path, image_size=32, images=images, quiet=True, options=TINY)
        assert json.loads((tmp_path / "training.json").read_text())["pictures"] == 16
    assert [np.load(file).shape[0] for file in (tmp_path / "pictures").glob("*.npy")] == [16]


def test_an_encoder_of_an_opened_generator(gan, tmp_path):
    result = transect.train_encoder(
        load(gan.numbers.generator), tmp_path / "e", space="w", images=64, image_size=32, quiet=True
    )
    assert result.numbers.steps == 2
    assert result.numbers.held_out_distance == result.table["held_out_distance"].to_pylist()[-1]
    fits(result)
    again = transect.train_encoder(
        load(gan.numbers.generator), tmp_path / "e", space="w", images=64, image_size=32, quiet=True
    )
    assert again.numbers == result.numbers


@pytest.mark.integration
def test_a_classifier_of_pixels_and_classes(pixels, tmp_path, monkeypatch):
    monkeypatch.setitem(LAYERS, "resnet18", (1, 1, 1, 1))  # trained in half the time
    classes = (np.arange(40) % 4 == 0).astype(int)
    options = ClassifierOptions(held_out=0.3, batch=8)
    result = transect.train_classifier(pixels, classes, tmp_path / "c", schedule=SCHEDULE, quiet=True, options=options)
    assert result.numbers.epoch == 2
    assert result.table.num_rows == 2
    assert result.numbers.accuracy == result.table["accuracy"].to_pylist()[-1]
    assert resolve(f"classifier:{tmp_path / 'c'}").name == "classifier:c"
    fits(result)
