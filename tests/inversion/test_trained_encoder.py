"""A trained encoder's file as the start of a search: its own answers, mapped and repeated; others are refused."""

import numpy as np
import pytest
import torch
from planted_networks import small
from safetensors.torch import save_file

from transect.errors import BadInput
from transect.generators.encoder import Encoder, Network
from transect.inversion.encoder import TrainedEncoder, open_encoder
from transect.inversion.optimisation import Search, invert
from transect.inversion.protocol import invertible
from transect.perceptual.distance import PixelAppearance
from transect.records import Images


def written(path, space="w", outputs=8, **facts):
    torch.manual_seed(1)
    save_file(
        Network(8, (4, 6), outputs).state_dict(),
        path,
        {"kind": "transect.encoder", "space": space, "size": "8"} | facts,
    )
    return path


@pytest.fixture
def pixels():
    return np.random.default_rng(0).integers(0, 256, (2, 8, 8, 3), dtype=np.uint8)


def start(path, space, pixels):
    images = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
    return open_encoder(path, invertible(small()), space)(images).numpy()


def test_it_says_what_the_encoder_says(tmp_path, pixels):
    path = written(tmp_path / "e.safetensors")
    codes = Encoder.from_file(path).encode(Images(pixels)).values
    np.testing.assert_allclose(start(path, "w", pixels), codes, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(start(path, "w+", pixels), np.repeat(codes[:, None], 4, axis=1), rtol=1e-5, atol=1e-6)


def test_z_is_mapped_to_w_as_the_generator_does(tmp_path, pixels):
    path = written(tmp_path / "e.safetensors", "z")
    latents = Encoder.from_file(path).encode(Images(pixels))
    np.testing.assert_allclose(start(path, "z", pixels), latents.values, rtol=1e-5, atol=1e-6)
    w = small().to_space(latents, "w").values
    np.testing.assert_allclose(start(path, "w", pixels), w, rtol=1e-4, atol=1e-5)


def test_a_search_starts_at_the_codes_of_the_encoder(tmp_path, pixels):
    """The first entry of the history is the objective of the encoder's codes: their mean square of pixels, twice."""
    generator, path = small(), written(tmp_path / "e.safetensors")
    encoder = open_encoder(path, invertible(generator), "w")
    inversion = invert(invertible(generator), pixels, Search("w", steps=1), PixelAppearance(), encoder=encoder, batch=2)
    w = torch.from_numpy(start(path, "w", pixels))
    with torch.no_grad():
        images = invertible(generator).show(w, "w").permute(0, 2, 3, 1).numpy()
    np.testing.assert_allclose(
        inversion.history[:, 0], 2 * ((images - pixels / 255) ** 2).mean(axis=(1, 2, 3)), rtol=1e-4
    )


def test_encoders_to_another_space_or_size_are_refused(tmp_path):
    generator = invertible(small())
    to_w = written(tmp_path / "w.safetensors")
    with pytest.raises(BadInput, match="expected an encoder to z, found one to w; train one"):
        open_encoder(to_w, generator, "z")
    with pytest.raises(
        BadInput, match="expected 8 coordinates, as small has in w, found 5; it belongs to a different generator"
    ):
        open_encoder(written(tmp_path / "5.safetensors", outputs=5), generator, "w")


def test_another_generators_encoder_is_refused(tmp_path):
    generator = small()
    generator.facts["weights_sha256"] = "b" * 64
    with pytest.raises(BadInput, match="expected an encoder of small, found one of the generator aaaaaaaaaaaa…"):
        open_encoder(written(tmp_path / "e.safetensors", generator_sha256="a" * 64), invertible(generator), "w")
    matching = written(tmp_path / "own.safetensors", generator_sha256="b" * 64)
    assert isinstance(open_encoder(matching, invertible(generator), "w"), TrainedEncoder)
