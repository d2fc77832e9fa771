"""Inversion by gradient descent: closed forms, planted codes, images that do not meet."""

import numpy as np
import pytest
import torch
from planted_networks import Levels, pixels_of, small

from transect.errors import BadInput
from transect.generators.progressive.generator import Network as ProgressiveNetwork
from transect.generators.progressive.generator import Progressive, Shape
from transect.inversion.optimisation import Search, invert
from transect.inversion.protocol import InvertibleNetwork, invertible
from transect.perceptual.distance import PixelAppearance

PIXELS = PixelAppearance()


def halves(upper, lower):
    """An image of 4 x 4 pixels, two rows of one level and two of another."""
    return np.repeat(np.array([upper, upper, lower, lower], dtype=np.uint8)[None, :, None, None], 4, axis=2).repeat(
        3, 3
    )


def long_search(**options):
    return Search(**{"steps": 150, "rate": 0.8, "pixels": 0.0, **options})


def test_the_restricted_space_finds_the_mean_level():
    """G(w) = w everywhere: |w - x|² over halves of 51/255 = .2 and 204/255 = .8 is least at .5."""
    inversion = invert(Levels(), halves(51, 204), long_search(space="w", penalty=0.0), PIXELS, batch=1)
    assert inversion.codes[0, 0] == pytest.approx(0.5, abs=1e-3)
    assert inversion.perceptual[0] == pytest.approx(0.09, abs=1e-3)
    assert inversion.restriction[0] == 0


@pytest.mark.parametrize("penalty", [0.0, 0.1, 0.5, 5.0])
def test_equation_1_has_its_closed_form(penalty):
    """Rows a, b at m ± d. D = ((a - .2)² + (b - .8)²) / 2, λ Σ_j |w_j - mean|² = 2 λ d².

    m = .5; D = (d - .3)², so d = .3 / (1 + 2 λ) and the restriction is 2 d².
    """
    inversion = invert(Levels(), halves(51, 204), long_search(space="w+", penalty=penalty), PIXELS, batch=1)
    d = 0.3 / (1 + 2 * penalty)
    np.testing.assert_allclose(inversion.codes[0, :, 0], [0.5 - d, 0.5 + d], atol=2e-3)
    assert inversion.restriction[0] == pytest.approx(2 * d**2, abs=2e-3)
    assert inversion.perceptual[0] == pytest.approx((d - 0.3) ** 2, abs=1e-3)


def test_pixels_count_beside_the_perceptual_distance():
    """With a perceptual distance that sees nothing, pixels alone find the level; without them nothing moves."""

    def blind(images):
        return images.new_zeros(len(images), 1) * images.sum()

    seen = invert(Levels(), halves(102, 102), long_search(space="w", pixels=1.0), blind, batch=1)
    unseen = invert(Levels(), halves(102, 102), long_search(space="w", pixels=0.0), blind, batch=1)
    assert seen.codes[0, 0] == pytest.approx(0.4, abs=1e-3)
    assert unseen.codes[0, 0] == 0


@pytest.fixture(scope="module")
def planted():
    """Six images of known w."""
    generator = small()
    w = invertible(generator).sample("w", 6, seed=50)
    return generator, w, pixels_of(generator, w, "w")


@pytest.fixture(scope="module")
def found_in_w(planted):
    generator, _, pixels = planted
    return invert(invertible(generator), pixels, Search("w", steps=150, rate=0.3), PIXELS, batch=4)


@pytest.mark.integration
def test_planted_images_are_found_again(planted, found_in_w):
    """The code from which an image was made is a minimum of 0 but for rounding to 8 bits: it is found again."""
    generator, w, pixels = planted
    spread = invertible(generator).codes("w").spread
    off = np.sqrt(((found_in_w.codes - w.numpy()) ** 2).mean(axis=1)) / spread
    assert np.median(off) < 0.05 * np.sqrt(2)
    assert np.median(np.abs(found_in_w.reconstructions.astype(int) - pixels).mean(axis=(1, 2, 3))) < 1.5


@pytest.mark.integration
def test_an_image_does_not_depend_on_the_batch(planted, found_in_w):
    """The same image alone, and last among others, in batches of one size: the same code."""
    generator, _, pixels = planted
    alone = invert(invertible(generator), pixels[2:3], Search("w", steps=150, rate=0.3), PIXELS, batch=4)
    np.testing.assert_allclose(alone.codes[0], found_in_w.codes[2], rtol=0, atol=1e-6)
    np.testing.assert_array_equal(alone.reconstructions[0], found_in_w.reconstructions[2])


def test_a_broken_image_fails_alone():
    """An appearance that is not finite for a black image: its codes are NaN and say when, the other is found."""

    def brittle(images):
        return (images * torch.where(images.amax(dim=(1, 2, 3), keepdim=True) > 0.99, torch.nan, 1.0)).flatten(1)

    both = np.concatenate([halves(255, 255), halves(102, 102)])
    inversion = invert(Levels(), both, long_search(space="w"), brittle, batch=2)
    assert inversion.failures[0] == "the objective was not finite from step 0 on"
    assert np.isnan(inversion.codes[0]).all()
    assert inversion.failures[1] == ""
    assert np.isfinite(inversion.codes[1]).all()


def test_an_encoder_begins_the_search():
    """Begun at the answer, no step is needed: the first entry of the history is the least."""
    inversion = invert(
        Levels(),
        halves(102, 102),
        Search("w", steps=1, rate=1e-6),
        PIXELS,
        encoder=lambda images: images.mean(dim=(1, 2, 3))[:, None],
        batch=1,
    )
    assert inversion.history[0, 0] == pytest.approx(0, abs=1e-9)
    with pytest.raises(BadInput, match=r"expected codes \[1, 1\] of space w, got \[1, 3\]"):
        invert(Levels(), halves(1, 2), Search("w"), PIXELS, encoder=lambda x: x.mean(dim=(2, 3)), batch=1)


def test_an_image_stops_where_its_own_objective_no_longer_falls():
    """Begun at its level, the first image cannot improve: it stops at the first look back into the second half, at 70."""
    both, done = np.concatenate([halves(102, 102), halves(204, 204)]), []

    def begun(images):
        return torch.full((len(images), 1), 0.4)

    search = Search("w", steps=100, rate=0.02, every=10, plateau=0.05)
    inversion = invert(Levels(), both, search, PIXELS, encoder=begun, batch=2, advance=done.append)
    assert inversion.steps[0] == 70
    assert inversion.steps[1] > 70
    assert sum(done) == inversion.steps[1]
    assert inversion.codes[0, 0] == pytest.approx(0.4, abs=0.02)
    alone = invert(Levels(), both[1:], search, PIXELS, encoder=begun, batch=2)
    for name in ("codes", "steps", "history", "perceptual", "reconstructions"):
        np.testing.assert_array_equal(getattr(alone, name)[0], getattr(inversion, name)[1])
    last = inversion.perceptual + inversion.pixels
    for image in range(2):
        after = np.array(inversion.history_steps) >= inversion.steps[image]
        np.testing.assert_allclose(inversion.history[image, after], last[image], rtol=1e-6)
    before = inversion.history[1][np.array(inversion.history_steps) <= inversion.steps[1]]
    falls = 1 - before[7:] / before[5:-2]
    assert (falls[:-1] >= 0.05).all()
    assert falls[-1] < 0.05


def test_a_network_of_z_is_inverted():
    """z ► its mean level in -1..1, through the adapter for any network: z = .2 shows (.2 + 1) / 2 = .6 = 153/255."""
    network = InvertibleNetwork(lambda z: z.mean(dim=1)[:, None, None, None].expand(-1, 3, 4, 4), 1, 4)
    inversion = invert(network, halves(153, 153), Search("z", steps=300, rate=0.1), PIXELS, batch=1)
    assert inversion.codes[0, 0] == pytest.approx(0.2, abs=2e-3)
    assert network.sample("z", 2, 5).shape == (2, 1)


def test_a_progressive_gan_is_inverted_in_z():
    """Its own picture of z is found again from near it."""
    torch.manual_seed(3)
    channels = {4: 6, 8: 5}
    weights = ProgressiveNetwork(Shape(7, 0, channels)).state_dict()
    generator = Progressive({name: value * (0.2 if "rgb" in name else 1) for name, value in weights.items()})
    network = invertible(generator)
    z = network.sample("z", 1, 5)
    np.testing.assert_allclose(z, generator.sample([5]).values, rtol=1e-6)
    search = Search("z", steps=60, rate=0.05)
    inversion = invert(
        network, pixels_of(generator, z, "z"), search, PIXELS, encoder=lambda _: z + 0.2 * z.flip(1), batch=1
    )
    assert inversion.history[0, -1] < 0.1 * inversion.history[0, 0]


@pytest.mark.parametrize(
    ("images", "options", "message"),
    [
        (np.zeros((1, 5, 5, 3), np.uint8), {}, r"expected uint8 \[n, 4, 4, 3\] for levels, got uint8 \[1, 5, 5, 3\]"),
        (halves(1, 2), {"space": "z"}, "expected one of w, w\\+ for levels, got z"),
        (halves(1, 2), {"penalty": -1.0}, "penalty: expected at least 0, got -1"),
    ],
)
def test_invert_refuses_images_and_options_that_do_not_fit(images, options, message):
    with pytest.raises(BadInput, match=message):
        invert(Levels(), images, Search(**options), PIXELS)
