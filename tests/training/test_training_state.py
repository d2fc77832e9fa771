"""States on disk: pieces, exact round trips, kills between writes, and what is refused."""

import json

import pytest
import torch
from torch import nn

from transect.errors import RunFolderError
from transect.training import loop
from transect.training.loop import load_state, save_state


def network(width=4, seed=0):
    torch.manual_seed(seed)
    return nn.Linear(width, width)


def trained(steps, betas=(0.0, 0.99), seed=0):
    layer = network(seed=seed)
    optimizer = torch.optim.Adam(layer.parameters(), lr=0.1, betas=betas)
    walk(layer, optimizer, range(steps))
    return layer, optimizer


def walk(layer, optimizer, steps):
    for step in steps:
        optimizer.zero_grad()
        layer(torch.full((2, 4), float(step + 1))).square().sum().backward()
        optimizer.step()


@pytest.mark.parametrize("betas", [(0.0, 0.99), (0.9, 0.999)])
def test_a_resumed_optimizer_goes_on_as_if_nothing_had_happened(tmp_path, betas):
    whole, _ = trained(6, betas)
    half, optimizer = trained(3, betas)
    save_state(tmp_path, {"net": half}, {"net": optimizer}, {"step": 3})
    again = network(seed=9)
    other = torch.optim.Adam(again.parameters(), lr=0.1, betas=betas)
    assert load_state(tmp_path, {"net": again}, {"net": other}) == {"step": 3}
    walk(again, other, range(3, 6))
    assert torch.equal(again.weight, whole.weight)
    assert torch.equal(again.bias, whole.bias)


def test_a_resumed_state_is_written_with_the_same_bytes(tmp_path, monkeypatch):
    """Twelve layers: as texts, the places of their moments are in another order than as numbers."""
    monkeypatch.setattr(loop, "PIECE", 1000)

    def made(seed):
        torch.manual_seed(seed)
        layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(12)))
        return layers, torch.optim.Adam(layers.parameters(), lr=0.1)

    layers, optimizer = made(0)
    walk(layers, optimizer, range(2))
    again, other = made(1)
    save_state(tmp_path / "whole", {"net": layers}, {"net": optimizer}, {"step": 2})
    load_state(tmp_path / "whole", {"net": again}, {"net": other})
    save_state(tmp_path / "resumed", {"net": again}, {"net": other}, {"step": 2})
    files = [file.relative_to(tmp_path / "whole") for file in (tmp_path / "whole").glob("*/*")]
    assert len(files) == 4
    for file in files:
        assert (tmp_path / "resumed" / file).read_bytes() == (tmp_path / "whole" / file).read_bytes(), file


def test_pieces_stay_small_and_old_states_go(tmp_path, monkeypatch):
    monkeypatch.setattr(loop, "PIECE", 64)  # the weight alone is 4 x 4 x 4 bytes
    layer, optimizer = trained(1)
    save_state(tmp_path, {"net": layer}, {"net": optimizer}, {"step": 1})
    save_state(tmp_path, {"net": layer}, {"net": optimizer}, {"step": 2})
    assert [folder.name for folder in tmp_path.iterdir()] == ["state-000000002"]
    pieces = sorted((tmp_path / "state-000000002").glob("*.safetensors"))
    # weight 64 bytes, bias 16 (+ step 4) and exp_avg_sq 16, step 4, exp_avg_sq of the weight 64: more than one piece.
    assert len(pieces) > 2
    assert load_state(tmp_path, {"net": network(seed=3)}, {}) == {"step": 2}


def test_a_state_that_was_not_finished_does_not_count(tmp_path):
    """A kill between pieces and index leaves a folder without index; the one before is still there."""
    layer, optimizer = trained(1)
    save_state(tmp_path, {"net": layer}, {"net": optimizer}, {"step": 1})
    (tmp_path / "state-000000002").mkdir()
    assert load_state(tmp_path, {"net": network()}, {}) == {"step": 1}


def test_a_damaged_state_is_refused(tmp_path):
    layer, optimizer = trained(1)
    save_state(tmp_path, {"net": layer}, {"net": optimizer}, {"step": 1})
    (tmp_path / "state-000000001" / "000.safetensors").write_bytes(b"\x00" * 10)
    with pytest.raises(RunFolderError, match="damaged"):
        load_state(tmp_path, {"net": network()}, {})
    index = tmp_path / "state-000000001" / "index.json"
    index.write_text(json.dumps({"pieces": 7, "facts": {}}))
    with pytest.raises(RunFolderError):
        load_state(tmp_path, {"net": network()}, {})
