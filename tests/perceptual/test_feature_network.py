"""The feature network: folding, training that resumes after an interruption, what the shipped network knows."""

import json

import numpy as np
import pytest
import torch

from transect.errors import BadInput
from transect.generators.faceworld.world import FaceWorld
from transect.perceptual import features
from transect.perceptual.lessons import OUTPUTS, Lessons, answers, quality
from transect.perceptual.network import FeatureNetwork, new_network
from transect.perceptual.sets import fid, kid, precision_recall
from transect.perceptual.train import Pictures, Plan, main, pictures, train

CARD = json.loads((features.WEIGHTS.parent / "features.json").read_text())


@pytest.fixture(scope="module")
def faces():
    """Subjects of the world that were never trained on: 300 images, and their truths."""
    world = FaceWorld(image_size=64, threads=1)
    latents = world.sample(np.arange(900_000_000, 900_000_300))
    return world.render(latents).pixels, world.read(latents)


def test_folding_changes_no_answer():
    """After some training steps, so that the norms' moments are not those of the start."""
    network = new_network(4, seed=0).train()
    for _ in range(3):
        network(torch.rand(8, 3, 64, 64))
    images = torch.rand(5, 3, 64, 64)
    network.eval()
    with torch.no_grad():
        before = network(images)
        torch.testing.assert_close(network.folded()(images), before, rtol=1e-4, atol=1e-5)
    assert not any("norm" in name for name in network.state_dict())


def test_losses_by_hand():
    """All answers as they should be cost nothing; a number that is one spread off costs 1 / answers."""
    truths = np.zeros((2, len(answers())))
    numbers = [index for index, answer in enumerate(answers()) if not answer.levels]
    truths[:, numbers] = [[-1.0], [1.0]]
    lessons, outputs = Lessons(truths), torch.zeros(2, OUTPUTS)
    for index, answer in enumerate(answers()):
        if answer.levels == 0:
            outputs[:, answer.start] = torch.from_numpy(truths[:, index]).float()
        elif answer.levels == 2:
            outputs[:, answer.start] = -50.0
        else:
            outputs[:, answer.start] = 50.0
    rows, plain = np.arange(2), np.zeros(2, dtype=bool)
    assert lessons.loss(outputs, rows, plain).item() == pytest.approx(0, abs=1e-6)
    outputs[:, answers()[0].start] += 1
    assert lessons.loss(outputs, rows, plain).item() == pytest.approx(1 / len(answers()), rel=1e-4)


def test_a_mirrored_face_is_taught_the_mirrored_yaw():
    truths = np.zeros((2, len(answers())))
    yaw = next(index for index, answer in enumerate(answers()) if answer.name == "yaw")
    truths[:, yaw] = [-1.0, 1.0]
    lessons, outputs = Lessons(truths), torch.zeros(2, OUTPUTS)
    outputs[:, answers()[yaw].start] = torch.tensor([1.0, -1.0])
    rows = np.arange(2)
    mirrored, plain = (lessons.loss(outputs, rows, np.full(2, flag)).item() for flag in (True, False))
    assert plain - mirrored == pytest.approx(4 / len(answers()), rel=1e-3)


def test_quality_by_hand():
    """R2 1 where numbers are hit, 0 where the mean is said, None where nothing varies; AUC 1 where levels are parted."""
    truths = np.zeros((4, len(answers())))
    by_name = {answer.name: (index, answer) for index, answer in enumerate(answers())}
    outputs = np.zeros((4, OUTPUTS))
    for name in ("age", "smile"):
        truths[:, by_name[name][0]] = [1, 2, 3, 4]
    outputs[:, by_name["age"][1].start] = [1, 2, 3, 4]
    outputs[:, by_name["smile"][1].start] = 2.5
    truths[:, by_name["glasses"][0]] = [0, 1, 0, 1]
    outputs[:, by_name["glasses"][1].start] = [-1, 2, -3, 1]
    qualities = quality(outputs, truths, np.zeros(len(answers())), np.ones(len(answers())))
    assert qualities["age"]["value"] == 1.0
    assert qualities["smile"]["value"] == 0.0
    assert qualities["glasses"] == {"measure": "auc", "value": 1.0, "n": 4}
    assert qualities["yaw"]["value"] is None
    assert qualities["yaw"]["reason"]


PLAN = Plan(images=32, held_out=16, epochs=2, batch=16)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return pictures(tmp_path_factory.mktemp("images"), 0, 32, threads=1, quiet=True)


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


def test_a_state_of_another_plan_is_refused(few, tmp_path):
    train(Plan(images=32, held_out=16, epochs=2, batch=32), few, tmp_path / "c.safetensors", quiet=True)
    with pytest.raises(BadInput, match="choose another --out"):
        train(PLAN, few, tmp_path / "c.safetensors", quiet=True)


def test_images_that_are_there_are_not_rendered_again(few, tmp_path, monkeypatch):
    first = pictures(tmp_path, 5, 3, threads=1, quiet=True)
    monkeypatch.setattr(FaceWorld, "render", lambda *_: pytest.fail("rendered again"))
    again = pictures(tmp_path, 5, 3, threads=1, quiet=True)
    assert np.array_equal(first.pixels, again.pixels)
    assert np.array_equal(first.truths, again.truths)


def test_the_command_writes_what_is_loaded(tmp_path, capsys):
    main(["--out", str(tmp_path), "--images", "16", "--held-out", "8", "--epochs", "2", "--batch", "8"])
    assert json.loads(capsys.readouterr().out)["age"]["n"] == 8
    vectors = features.features(np.zeros((1, 64, 64, 3), dtype=np.uint8), path=tmp_path / "features.safetensors")
    assert vectors.shape == (1, 128)


def test_the_shipped_network_is_small_and_the_card_is_its_own():
    assert features.WEIGHTS.stat().st_size <= 2e6
    network = features.load().network
    assert sum(value.numel() for value in network.state_dict().values()) == CARD["weights"] <= 1_000_000


def test_the_shipped_network_reads_new_subjects_as_the_card_says(faces):
    """R2 of numbers within .12 of the card's on 300 subjects that neither training nor card has seen."""
    pixels, truth = faces
    read = features.read(pixels)
    for name in ("skin_tone", "age", "yaw", "face_shape", "hair_length"):
        true = truth[name].to_numpy()
        explained = 1 - ((read[name] - true) ** 2).mean() / true.var()
        assert explained == pytest.approx(CARD["quality"][name]["value"], abs=0.12), name
    glasses = truth["glasses"].to_numpy()
    assert ((read["glasses"] > 0.5) == (glasses == 1)).mean() > 0.9


def test_features_of_an_image_do_not_depend_on_the_others(faces):
    pixels = faces[0][:70]
    together = features.features(pixels)
    alone = np.concatenate([features.features(pixels[i : i + 1]) for i in (0, 69)])
    np.testing.assert_allclose(together[[0, 69]], alone, rtol=1e-4, atol=1e-4)
    assert together.dtype == np.float32


def test_a_changed_set_is_farther_than_another_half_of_the_same(faces):
    """Two halves of one population are nearer than one half and the other blurred away to 16 pixels."""
    pixels = faces[0]
    coarse = pixels[150:, ::4, ::4].repeat(4, axis=1).repeat(4, axis=2)
    first, other, bad = (features.features(images) for images in (pixels[:150], pixels[150:], coarse))
    assert fid(first, other).value < 0.5 * fid(first, bad).value
    same = kid(first, other)
    assert abs(same.value) < 4 * same.standard_error
    worse = kid(first, bad)
    assert worse.value > 4 * worse.standard_error
    assert precision_recall(first, other).precision > precision_recall(first, bad).precision


def test_one_person_in_another_light_is_nearer_than_another_person(faces):
    world = FaceWorld(image_size=64, threads=1)
    subjects = world.sample(np.arange(900_000_000, 900_000_060))
    pictured = features.identities(world.render(subjects).pixels)
    lit = features.identities(world.render(world.set(subjects, {"light_azimuth": 40.0, "yaw": 10.0})).pixels)
    same = features.identity_distance(pictured, lit)
    different = features.identity_distance(pictured, np.roll(lit, 1, axis=0))
    assert (same < different).mean() > 0.95


def test_no_images_give_no_rows():
    assert features.features(np.zeros((0, 64, 64, 3), dtype=np.uint8)).shape == (0, 128)


def test_what_are_no_images_is_refused():
    with pytest.raises(BadInput, match="not images"):
        features.features(np.zeros((1, 64, 64), dtype=np.uint8))


def test_identity_without_length_is_nan():
    assert np.isnan(features.identity_distance(np.zeros((1, 3)), np.ones((1, 3)))).all()


def test_a_network_without_batch_norm_is_what_ships():
    assert isinstance(FeatureNetwork(2).folded().units[0][0].norm, torch.nn.Identity)
