"""Trainings that learn what was planted, and that end the same whether or not they were interrupted."""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from transect.errors import BadInput
from transect.generators import load
from transect.training.gans import Plan, recipe_of
from transect.training.loop import Processes, Run, _batch, rows_of, train
from transect.training.recipes import EncoderRecipe, Generated

SMALL = {"channels": 64, "max_channels": 8, "z_dim": 8, "mapping_layers": 2}


class Colors:
    """Pictures of one color each: class 0 red, class 1 blue, of random strength."""

    def __init__(self, count=64, size=8, seed=0):
        strength = np.random.default_rng(seed).integers(120, 256, count)
        self.classes = np.arange(count) % 2
        self._pixels = np.zeros((count, size, size, 3), dtype=np.uint8)
        for row in range(count):
            self._pixels[row, :, :, 2 * self.classes[row]] = strength[row]

    def __len__(self):
        return len(self._pixels)

    def pixels(self, rows):
        return self._pixels[rows]


class Killed(Exception):
    pass


class Interrupting(Colors):
    """Fails when it is asked for the batch after `asks`."""

    def __init__(self, asks, size=8):
        super().__init__(size=size)
        self.asks = asks

    def pixels(self, rows):
        if not self.asks:
            raise Killed
        self.asks -= 1
        return super().pixels(rows)


def plan_of(arch, **more):
    return Plan(arch, images=120, batch=8, **{**SMALL, **more})


def recipe_for(arch, conditions=(), size=8, **more):
    conditional = {"conditions": ("class",)} if conditions else {}
    return recipe_of(plan_of(arch, **conditional, **more), size, "cpu", conditions)


def run_of(out, **more):
    return Run(**{"images": 120, "batch": 8, "out": out, "spec": {"it": 1}, "every": 40, "quiet": True, **more})


def files_of(folder):
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arch", "size", "more"),
    [
        # It resumes when 16 pixels begin, and when half of them are in.
        ("stylegan2", 16, {"grow": "8:40", "fade": 80, "precision": "half"}),
        ("progressive", 8, {}),
    ],
)
def test_an_interrupted_training_ends_byte_for_byte_the_same(tmp_path, arch, size, more):
    train(recipe_for(arch, size=size, **more), Colors(size=size), run_of(tmp_path / "whole"))
    for asks in (7, 6):  # killed in the 8th step, where the state of the 5th stands, and again
        with pytest.raises(Killed):
            train(recipe_for(arch, size=size, **more), Interrupting(asks, size), run_of(tmp_path / "again"))
    train(recipe_for(arch, size=size, **more), Colors(size=size), run_of(tmp_path / "again"))
    assert files_of(tmp_path / "again") == files_of(tmp_path / "whole")


def test_metrics_are_of_every_step_once(tmp_path):
    train(recipe_for("stylegan2"), Colors(), run_of(tmp_path, images=136))
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == list(range(1, 18))
    assert [line["step"] for line in lines if "r1" in line] == [1, 17]  # every 16th
    assert [line["step"] for line in lines if "path_length" in line] == [1, 9, 17]  # every 8th


@pytest.mark.integration
def test_a_conditional_gan_learns_the_color_of_each_class(tmp_path):
    """Red for class 0 and blue for class 1, planted; before the training both are grey noise."""
    data, levels = Colors(), ("red", "blue")
    recipe = recipe_for("conditional", [("class", levels)], rate=0.01, half_life=100.0, grow=None)
    run = run_of(tmp_path, images=960, classes=np.eye(2)[data.classes], every=960)
    generator = load(train(recipe, data, run))
    assert generator.attributes[0].levels == levels
    latents = generator.sample(np.arange(20))
    for value, (wanted, other) in ((0, (0, 2)), (1, (2, 0))):
        mean = generator.render(generator.set(latents, {"class": value})).pixels.mean(axis=(1, 2))
        # Of 20 pictures nearly all are clearly of their color: planted strengths are 120 to 255 against 0.
        assert (mean[:, wanted] > mean[:, other] + 40).mean() >= 0.9


@pytest.mark.integration
@pytest.mark.parametrize(
    ("arch", "images", "more"),
    [("stylegan2", 480, {"r1": 0.1, "path": 0.0}), ("progressive", 800, {})],
)
def test_a_gan_learns_where_the_colors_lie(tmp_path, arch, images, more):
    """Red or blue is about 187, the other and green are 0: red and blue sum to 187. Untrained, all are grey: 128, 256."""
    run = run_of(tmp_path, images=images, every=images)
    generator = load(train(recipe_for(arch, rate=0.01, half_life=100.0, **more), Colors(), run))
    means = generator.render(generator.sample(np.arange(30))).pixels.mean(axis=(0, 1, 2))
    assert means[1] < 50
    assert 130 < means[0] + means[2] < 230
    assert min(means[0], means[2]) > 10


def test_half_of_the_pictures_are_mirrored_and_the_others_are_as_they_are(tmp_path):
    """Each picture is dark on the left. Of 400 shown, the mirrored are 200 give or take 4 deviations of 10."""
    left = Colors(count=400)
    left._pixels[:, :, :4] = 0
    crew, plain = Processes.alone("cpu"), run_of(tmp_path, batch=400)
    shown = [_batch(left, replace(plain, mirror=mirror), 1, 0, crew).images for mirror in (False, True)]
    turned = (shown[1] != shown[0]).flatten(1).any(dim=1)
    assert 160 <= int(turned.sum()) <= 240
    assert torch.equal(shown[1][turned], shown[0][turned].flip(3))


@pytest.mark.parametrize("space", ["z", "w"])
def test_an_encoder_reads_more_than_the_mean(tmp_path, space):
    """A constant answer is off by the latents' own spread; what reads the picture is nearer."""
    train(recipe_for("stylegan2"), Colors(), run_of(tmp_path / "gan", images=8))
    generator = load(tmp_path / "gan" / "generator.safetensors")
    recipe = EncoderRecipe(generator, 1600, space, size=8, widths=(8, 16), rate=0.01, half_life=100.0)
    out = train(
        recipe, Generated(), run_of(tmp_path / space, images=1600, batch=32, every=1600, result="encoder.safetensors")
    )
    lines = [json.loads(line) for line in (out.parent / "metrics.jsonl").read_text().splitlines()]
    z = torch.randn(2000, 8, generator=torch.Generator().manual_seed(1))
    latents = z if space == "z" else generator.map(z)[:, 0]
    spread = (latents - latents.mean(dim=0)).norm(dim=1).mean().item()
    assert np.mean([line["held_out_distance"] for line in lines[-10:]]) < 0.85 * spread


def test_rows_come_once_an_epoch_whatever_the_batch():
    epochs = np.concatenate([rows_of(shown, 5, 7, seed=3) for shown in range(0, 35, 5)])
    for start in range(0, 35, 7):
        assert sorted(epochs[start : start + 7]) == list(range(7))
    assert np.array_equal(epochs, np.concatenate([rows_of(shown, 7, 7, seed=3) for shown in range(0, 35, 7)]))


class Both:
    """Two processes' gradients, of which the other one's are all 3."""

    def wait_for_everyone(self):
        raise AssertionError("gradients are shared without waiting")

    def reduce(self, tensor, reduction):
        assert reduction == "mean"
        return (tensor + 3) / 2


def test_processes_share_rows_and_gradients():
    parts = [Processes(2, number, "cpu").part(np.arange(6)) for number in (0, 1)]
    assert [part.tolist() for part in parts] == [[0, 2, 4], [1, 3, 5]]
    with pytest.raises(BadInput, match="multiple of 2 processes, got 5"):
        Processes(2, 0, "cpu").part(np.arange(5))
    weights = torch.nn.Linear(2, 1)
    weights(torch.ones(1, 2)).sum().backward()  # gradients of 1 everywhere
    Processes(2, 0, "cpu", Both()).share(weights.parameters())
    assert weights.weight.grad.tolist() == [[2.0, 2.0]]
    assert weights.bias.grad.tolist() == [2.0]
