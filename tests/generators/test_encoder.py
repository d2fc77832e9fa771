"""The encoder's file and answers."""

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from transect.errors import BadInput
from transect.generators.encoder import Encoder, Network
from transect.records import Images

WIDTHS = (4, 6, 8)


def tensors_of(outputs=5):
    torch.manual_seed(1)
    return Network(16, WIDTHS, outputs).state_dict()


def test_each_latent_is_of_its_own_picture(tmp_path):
    save_file(tensors_of(), tmp_path / "e.safetensors", {"kind": "transect.encoder", "space": "w", "size": "16"})
    encoder = Encoder.from_file(tmp_path / "e.safetensors")
    pixels = np.random.default_rng(0).integers(0, 256, (3, 32, 32, 3), dtype=np.uint8)
    latents = encoder.encode(Images(pixels), seeds=[7, 8, 9])
    assert (latents.space, latents.values.shape, latents.values.dtype) == ("w", (3, 5), np.float64)
    assert latents.seeds.tolist() == [7, 8, 9]
    assert np.array_equal(encoder.encode(Images(pixels[2:])).values[0], latents.values[2])
    assert encoder.encode(Images(pixels[:0])).values.shape == (0, 5)


def test_other_files_are_refused(tmp_path):
    save_file(tensors_of(), tmp_path / "e.safetensors", {"kind": "transect.directions"})
    with pytest.raises(BadInput, match="expected an encoder, found something else"):
        Encoder.from_file(tmp_path / "e.safetensors")
    with pytest.raises(BadInput, match="which the file lacks"):
        Encoder({"stem.weight": torch.zeros(4, 3, 3, 3)}, "z", 16)
    with pytest.raises(BadInput, match="has head.weight of shape"):
        Encoder(tensors_of(), "z", 32)


@pytest.mark.parametrize("size", ["", "8", "08", "24", "99999", "1e2", "\u0661\u0666", "-16"])
def test_sizes_that_no_encoder_has_are_refused(tmp_path, size):
    save_file(tensors_of(), tmp_path / "e.safetensors", {"kind": "transect.encoder", "size": size})
    with pytest.raises(BadInput, match="expected an encoder|has head.weight of shape"):
        Encoder.from_file(tmp_path / "e.safetensors")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t["stem.bias"].fill_(float("nan")), "NaN or infinity in stem.bias"),
        (lambda t: t.update({"head.bias": torch.zeros(0)}), "head.bias: expected 1 axes"),
        (lambda t: t.update({"more": torch.zeros(1)}), r"has an unexpected more"),
        (lambda t: t.pop("stem.bias"), r"it lacks stem.bias"),
        # 4 MB of bias ask for a head of a million rows: refused by its shape, without making it
        (lambda t: t.update({"head.bias": torch.zeros(1_000_000)}), r"has head.bias of shape|instead of \[1000000,"),
    ],
)
def test_weights_of_no_encoder_are_refused(change, message):
    tensors = dict(tensors_of())
    change(tensors)
    with pytest.raises(BadInput, match=message):
        Encoder(tensors, "z", 16)
