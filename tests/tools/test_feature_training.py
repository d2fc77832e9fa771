"""The training of the feature network: losses and qualities by hand, and a training that resumes."""

import json

import numpy as np
import pytest
import torch

from tools.feature_network import Lessons, Pictures, Plan, asked, main, pictures, quality, train
from transect.perceptual import features
from transect.perceptual.features import columns_of


def test_a_mirrored_face_is_taught_the_mirrored_yaw():
    truths = np.zeros((2, len(asked())))
    yaw = next(index for index, answer in enumerate(asked()) if answer.name == "yaw")
    truths[:, yaw] = [-1.0, 1.0]
    lessons, outputs = Lessons(truths), torch.zeros(2, columns_of(asked()))
    outputs[:, asked()[yaw].start] = torch.tensor([1.0, -1.0])
    rows = np.arange(2)
    mirrored, plain = (lessons.loss(outputs, rows, np.full(2, flag)).item() for flag in (True, False))
    assert plain - mirrored == pytest.approx(4 / len(asked()), rel=1e-3)


def test_quality_by_hand():
    """R2 1 where numbers are hit, 0 where the mean is said, None where nothing varies; AUC 1 where levels are parted."""
    truths = np.zeros((4, len(asked())))
    by_name = {answer.name: (index, answer) for index, answer in enumerate(asked())}
    outputs = np.zeros((4, columns_of(asked())))
    for name in ("age", "smile"):
        truths[:, by_name[name][0]] = [1, 2, 3, 4]
    outputs[:, by_name["age"][1].start] = [1, 2, 3, 4]
    outputs[:, by_name["smile"][1].start] = 2.5
    truths[:, by_name["earrings"][0]] = [0, 1, 0, 1]
    outputs[:, by_name["earrings"][1].start] = [-1, 2, -3, 1]
    qualities = quality(outputs, truths, np.zeros(len(asked())), np.ones(len(asked())))
    assert qualities["age"]["value"] == 1.0
    assert qualities["smile"]["value"] == 0.0
    assert qualities["earrings"] == {"measure": "auc", "value": 1.0, "n": 4}
    assert qualities["yaw"]["value"] is None
    assert qualities["yaw"]["reason"]


PLAN = Plan(images=32, held_out=16, epochs=2, batch=16)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("images"), 0, 32, threads=1, quiet=True)


@pytest.mark.slow
def test_a_training_that_was_stopped_ends_the_same(few, tmp_path):
    """One epoch, stop, one more: the weights are those of two epochs at once, bit by bit."""
    at_once = train(PLAN, few, tmp_path / "one.safetensors", quiet=True).state_dict()

    class Stopped(Exception):
        pass

    def stop(*_):
        raise Stopped

    seen = few.pixels.view(Stopping)
    seen.left, seen.stop = 3, stop  # two batches an epoch: the third belongs to the second
    with pytest.raises(Stopped):
        train(PLAN, Pictures(seen, few.truths), tmp_path / "two.safetensors", quiet=True)
    resumed = train(PLAN, few, tmp_path / "two.safetensors", quiet=True).state_dict()
    for name, value in at_once.items():
        assert torch.equal(value, resumed[name]), name


class Stopping(np.ndarray):
    """Images that count how often they are read."""

    left, stop = 0, None

    def __getitem__(self, key):
        self.left -= 1
        if self.left < 0 and self.stop is not None:
            self.stop()
        return np.asarray(self)[key]


def test_the_command_writes_what_is_loaded(tmp_path, capsys):
    main(["--out", str(tmp_path), "--images", "16", "--held-out", "8", "--epochs", "2", "--batch", "8"])
    assert json.loads(capsys.readouterr().out)["age"]["n"] == 8
    vectors = features.features(np.zeros((1, 64, 64, 3), dtype=np.uint8), path=tmp_path / "features.safetensors")
    assert vectors.shape == (1, 128)
