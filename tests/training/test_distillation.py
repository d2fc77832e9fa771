"""A generator that is taught a world: what each loss weighs and when, whose picture a latent is, and what is refused."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import torch

import transect
from transect.errors import BadInput, RunFolderError
from transect.generators import load
from transect.generators.faceworld.world import FaceWorld
from transect.generators.stylegan2.network import Configuration
from transect.records import Images, Latents
from transect.training.distillation import Distillation, Likeness, Pairs
from transect.training.loop import Batch
from transect.training.options import GanOptions
from transect.training.pictures import Pictures
from transect.training.recipes import StyleGAN2Recipe

SHAPE = Configuration(4, 4, 0, 1, {4: 4, 8: 4})
TINY = {"channels": 64, "max_channels": 8, "mapping_layers": 2, "batch": 8, "every": 40, "path": 0.0}


@dataclass(frozen=True)
class Bright:
    """A world of grey pictures, as bright as the first of four normal numbers says; its latent view turns the order."""

    image_size: int = 8
    attributes: tuple = ()
    latent_dim: int = 4

    def sample(self, seeds):
        rows = [np.random.default_rng(int(seed)).standard_normal(4) for seed in seeds]
        return Latents(np.asarray(seeds), np.array(rows), "u")

    def to_z(self, latents):
        return Latents(latents.seeds, latents.values[:, ::-1], "z")

    def read(self, latents):
        raise NotImplementedError

    def render(self, latents):
        grey = np.clip(128 + 60 * latents.values[:, 0], 0, 255).astype(np.uint8)
        return Images(np.broadcast_to(grey[:, None, None, None], (len(grey), 8, 8, 3)).copy())

    def describe(self):
        return {"name": "bright"}


def batch_of(shown, count=4):
    chance = torch.Generator().manual_seed(5)
    images, latents = torch.rand(count, 3, 8, 8, generator=chance) * 2 - 1, torch.randn(count, 4, generator=chance)
    return Batch(images, None, shown, 1, chance, count, latents)


def taken(monkeypatch, shown, **options):
    """The losses that the optimizers were given, by place, and the step's figures."""
    totals = []
    monkeypatch.setattr("transect.training.recipes.descend", lambda _, loss, __: totals.append(loss.item()) or 0)
    recipe = StyleGAN2Recipe(SHAPE, GanOptions(path=0, **options), distillation=Distillation(100, 40, 3.0), seed=1)
    return totals, recipe.step(batch_of(shown), lambda _: None)


def test_the_distance_is_of_pixels_and_of_what_is_compared_beside_them():
    wanted, images = torch.zeros(2, 3, 4, 4), torch.full((2, 3, 4, 4), 0.5)
    assert Distillation(1, 0, 1.0).distance(images, wanted).item() == pytest.approx(0.5)
    # In 0..1 the pictures differ by 0.25 everywhere: two numbers of each make 2 * 0.25² = 0.125.
    likeness = Likeness(lambda pictures: pictures.flatten(1)[:, :2], "two pixels")
    assert Distillation(1, 0, 1.0, likeness).distance(images, wanted).item() == pytest.approx(0.625)
    larger = Likeness(likeness.appearance, "two pixels", smallest=8)  # pictures of 4 are too small for it
    assert Distillation(1, 0, 1.0, larger).distance(images, wanted).item() == pytest.approx(0.5)


def test_at_first_the_teacher_alone_counts_and_the_critic_rests(monkeypatch):
    (generator,), figures = taken(monkeypatch, 99, mixing=0.9)  # nor is there a picture of two latents
    assert generator == pytest.approx(3.0 * figures["teacher_distance"], rel=1e-5)
    assert "critic_loss" not in figures
    assert "generator_loss" not in figures


def test_then_the_adversarial_loss_comes_in_beside_it(monkeypatch):
    (generator, _), figures = taken(monkeypatch, 110, mixing=0.0)  # 10 of 40 images in: a quarter
    assert generator == pytest.approx(0.25 * figures["generator_loss"] + 3 * figures["teacher_distance"], rel=1e-5)
    (generator, _), figures = taken(monkeypatch, 10_000, mixing=0.0)
    assert generator == pytest.approx(figures["generator_loss"] + 3 * figures["teacher_distance"], rel=1e-5)


def test_a_picture_of_two_latents_has_no_teacher(monkeypatch):
    (generator, _), figures = taken(monkeypatch, 10_000, mixing=1.0)
    assert "teacher_distance" not in figures
    assert generator == pytest.approx(figures["generator_loss"], rel=1e-5)


def test_each_picture_stands_beside_its_latent(tmp_path):
    world = FaceWorld(image_size=32)
    pairs = Pairs(Pictures(world, 4, tmp_path, quiet=True))
    rows = np.array([2, 0])
    z = pairs.latents(rows)
    assert (z.shape, z.dtype) == ((2, world.latent_dim), np.float32)
    again = world.render(world.from_z(Latents(rows, z.astype(np.float64), "z"))).pixels
    assert np.abs(again.astype(int) - pairs.pixels(rows)).mean() < 0.1  # float32 moves a latent a little


def trained(out, images=2400, **more):
    options = GanOptions(**{**TINY, "distil": 10_000, "every": 800, **more})
    return transect.train_gan(Bright(), out, images=images, count=200, quiet=True, options=options)


@pytest.mark.integration
def test_it_learns_the_picture_of_each_latent(tmp_path):
    """Of latents that it has not seen: the last coordinate of z is the brightness."""
    made = load(trained(tmp_path, 800, half_life=200.0, rate=0.01).numbers.generator)
    z = made.sample(np.arange(200))
    bright = made.render(z).pixels.mean(axis=(1, 2, 3))
    assert np.corrcoef(bright, np.clip(128 + 60 * z.values[:, -1], 0, 255))[0, 1] > 0.8


@pytest.mark.integration
def test_a_training_that_goes_on_equals_one_that_was_not_stopped(tmp_path):
    """The stop at 80 images lies in the distillation, that at 200 where the adversarial loss comes in."""
    options = {"distil": 120, "blend": 160, "every": 40}
    for images in (80, 200, 320):
        trained(tmp_path / "parts", images, **options)
    trained(tmp_path / "whole", 320, **options)
    parts, whole = (
        {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}
        for folder in (tmp_path / "parts", tmp_path / "whole")
    )
    assert parts == whole
    lines = [json.loads(line) for line in whole["metrics.jsonl"].splitlines()]
    # At 120 images, in the 16th step, the weight of the adversarial loss is still 0.
    assert ["critic_loss" in line for line in lines] == [False] * 16 + [True] * 24
    with pytest.raises(RunFolderError, match="teacher weight was not given and is 5"):
        trained(tmp_path / "whole", 320, **options, teacher_weight=5.0)


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"z_dim": 8}, "z_dim: expected the teacher's 4 with `distil`, got 8"),
        ({"distil": None, "blend": 5}, "`blend` needs `distil`"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_made(tmp_path, options, line):
    with pytest.raises(BadInput, match=line):
        trained(tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()
