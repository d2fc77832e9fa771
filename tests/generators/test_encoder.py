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
    found = encoder.encode(Images(pixels), seeds=[7, 8, 9])
    assert (found.space, found.values.shape, found.values.dtype) == ("w", (3, 5), np.float64)
    assert found.seeds.tolist() == [7, 8, 9]
    assert np.array_equal(encoder.encode(Images(pixels[2:])).values[0], found.values[2])
    assert encoder.encode(Images(pixels[:0])).values.shape == (0, 5)


def test_other_files_are_refused(tmp_path):
    save_file(tensors_of(), tmp_path / "e.safetensors", {"kind": "transect.directions"})
    with pytest.raises(BadInput, match="expected an encoder, found another file"):
        Encoder.from_file(tmp_path / "e.safetensors")
    with pytest.raises(BadInput, match="which the file lacks"):
        Encoder({"stem.weight": torch.zeros(4, 3, 3, 3)}, "z", 16)
    with pytest.raises(BadInput, match="expected an encoder for 32 pixels"):
        Encoder(tensors_of(), "z", 32)
