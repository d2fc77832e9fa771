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


class Seedless(Blocks):
    def sample(self, seeds):
        return replace(super().sample(seeds), seeds=np.arange(len(seeds)))


class Wider(Blocks):
    latent_dim = 5


class SampledAsArray(Blocks):
    def sample(self, seeds):
        return super().sample(seeds).values


class SeededByBatch(Blocks):
    def sample(self, seeds):
        made = super().sample(seeds)
        return replace(made, values=made.values - made.values.mean())


class OneSubject(Blocks):
    def sample(self, seeds):
        return replace(super().sample(seeds), values=np.ones((len(seeds), 4)))


class FloatPixels(Blocks):
    def render(self, latents):
        images = super().render(latents)
        return force(images, pixels=images.pixels / 255)


class RenderedAsArray(Blocks):
    def render(self, latents):
        return super().render(latents).pixels


class EmptyBoxes(Blocks):
    def render(self, latents):
        return replace(super().render(latents), face_boxes=np.zeros((len(latents), 4)))


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


class Alike(Blocks):
    def render(self, latents):
        images = super().render(latents)
        return replace(images, pixels=np.zeros_like(images.pixels))


BROKEN_GENERATORS = [
    (object, "identity: expected a Generator with name, image_size, latent_dim, sample, render, got no name"),
    (Seedless, "sample: expected the seeds [0, 1, 2, 12884901893] in order, got [0, 1, 2, 3]"),
    (Wider, "sample: expected 4 rows of latent_dim = 5, got (4, 4)"),
    (SampledAsArray, "sample: expected Latents, got ndarray"),
    (SeededByBatch, "one seed, one subject: expected the same latents for seed 0 alone and in a batch, got other lat"),
    (OneSubject, "one seed, one subject: expected other latents for another seed, got the same latents twice"),
    (FloatPixels, "render: expected pixels uint8 [4, 8, 8, 3], got float64 [4, 8, 8, 3]"),
    (RenderedAsArray, "render: expected Images, got ndarray"),
    (EmptyBoxes, "face boxes: expected x0 < x1 and y0 < y1 for each image, or None, got an array [4, 4]"),
    (Consuming, "frozen input: expected render to leave the latents as they are, got changed latents"),
    (Moody, "determinism: expected the same seeds to give the same images, got other images the second time"),
    (GloballyRandom, "global randomness: expected its own random generators, got draws from numpy's or torch's"),
    (Reversing, "order: expected images in the order of the latents, got other images for reversed latents"),
    (Exposing, "batch invariance: expected bitwise the same image alone and in a batch, got another (seed "),
    (Alike, "subjects look different: expected another image for another seed, got the same image twice"),
]


def test_a_good_generator_passes():
    check_generator(Blocks())
    check_generator(Blocks(), seeds=[5, 6])


@pytest.mark.parametrize(("kind", "message"), BROKEN_GENERATORS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_generator_that_breaks_one_clause(kind, message):
    with pytest.raises(ContractBroken) as broken:
        check_generator(kind())
    assert str(broken.value).startswith(message)
