"""check_generator: a good generator passes, and for every clause there is one that breaks it alone."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from transect.records import Images, Latents
from transect.testing import ContractBroken, check_generator


def force(record, **changes):
    """A record with values that it would not allow."""
    made = replace(record)
    for key, value in changes.items():
        object.__setattr__(made, key, value)
    return made


class Blocks:
    """Keeps the contract: a picture of noise from each subject's latents."""

    name, image_size, latent_dim = "blocks", 8, 4

    def sample(self, seeds):
        values = [np.random.Generator(np.random.Philox(int(seed))).standard_normal(4) for seed in seeds]
        return Latents(np.asarray(seeds, np.int64), np.array(values).reshape(-1, 4))

    def render(self, latents):
        tile = np.kron(latents.values.reshape(-1, 2, 2), np.ones((1, 4, 4)))
        pixels = np.repeat((128 + 40 * tile).clip(0, 255).astype(np.uint8)[..., None], 3, axis=3)
        return Images(pixels, np.tile([1.0, 1, 7, 7], (len(latents), 1)))


class SeededByBatch(Blocks):
    def sample(self, seeds):
        made = super().sample(seeds)
        return replace(made, values=made.values - made.values.mean())


class FloatPixels(Blocks):
    def render(self, latents):
        images = super().render(latents)
        return force(images, pixels=images.pixels / 255)


class Consuming(Blocks):
    def render(self, latents):
        images = super().render(latents)
        latents.values[:] = 0
        return images


class Moody(Blocks):
    calls = itertools.count()

    def render(self, latents):
        images = super().render(latents)
        return replace(images, pixels=images.pixels // (1 + next(self.calls)))


class GloballyRandom(Blocks):
    def render(self, latents):
        np.random.random()
        return super().render(latents)


class Reversing(Blocks):
    def render(self, latents):
        images = super().render(latents)
        rows = np.argsort(images.pixels[:, 0, 0, 0], kind="stable")
        return images.take(rows)


class Exposing(Blocks):
    def render(self, latents):
        images = super().render(latents)
        return replace(images, pixels=images.pixels // 2 + np.uint8(images.pixels.max() // 4))


BROKEN_GENERATORS = [
    (object, "identity: expected a Generator with name, image_size, latent_dim, sample, render, got no name"),
    (SeededByBatch, "one seed, one subject: expected the same latents for seed 0 alone and in a batch, got other lat"),
    (FloatPixels, "render: expected pixels uint8 [4, 8, 8, 3], got float64 [4, 8, 8, 3]"),
    (Consuming, "frozen input: expected render to leave the latents as they are, got changed latents"),
    (Moody, "determinism: expected the same seeds to give the same images, got other images the second time"),
    (GloballyRandom, "global randomness: expected its own random generators, got draws from numpy's or torch's"),
    (Reversing, "order: expected images in the order of the latents, got other images for reversed latents"),
    (Exposing, "batch invariance: expected bitwise the same image alone and in a batch, got a different one (seed "),
]


def test_a_good_generator_passes():
    check_generator(Blocks())
    check_generator(Blocks(), seeds=[5, 6])


@pytest.mark.parametrize(("kind", "message"), BROKEN_GENERATORS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_generator_that_breaks_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_generator(kind())
    assert str(broken.value).startswith(message)
