"""What goes wrong in a training: divergence, lost files, damaged ones, and numbers that cannot be."""

import json
import math

import numpy as np
import pytest
import torch

from transect.errors import BadInput, RunFolderError
from transect.generators.faceworld.world import FaceWorld
from transect.training.loop import Run, descend, replacements, train
from transect.training.pictures import Pictures


class Slope:
    """One weight that falls by what the loss says of it; a picture is the weight. `at`: where the loss turns NaN."""

    def __init__(self, at=math.inf, weight_at=math.inf):
        layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.constant_(layer.weight, 1.0)
        self.parts = {"generator": layer, "average": layer}
        self.optimizers = {"generator": torch.optim.Adam(layer.parameters(), lr=0.001)}
        self.at, self.weight_at = at, weight_at

    def step(self, batch, share):
        if batch.step + 1 >= self.weight_at:
            self.parts["generator"].weight.data.fill_(math.inf)
        loss = self.parts["generator"].weight.sum() * (math.nan if batch.step + 1 >= self.at else 1.0)
        return {"loss": loss.item(), **replacements("generator", descend(self.optimizers["generator"], loss, share))}

    def draw(self, seeds, shown):
        del shown
        return self.parts["average"].weight.detach().view(1, 1, 1, 1).expand(len(seeds), 3, 2, 2)

    def metadata(self):
        return {"architecture": "slope"}


class Grey:
    def __len__(self):
        return 4

    def pixels(self, rows):
        return np.full((len(rows), 2, 2, 3), 128, dtype=np.uint8)


def run_of(out, images, **more):
    return Run(images, 2, out, {"it": 1}, 20, quiet=True, **more)


def lines_of(out):
    return [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]


def test_a_weight_that_is_no_number_stops_the_training_and_keeps_the_last_good_file(tmp_path):
    train(Slope(), Grey(), run_of(tmp_path, 20))
    good = (tmp_path / "generator.safetensors").read_bytes()
    with pytest.raises(BadInput, match=r"diverged at step 20; the state of step 10 is kept; lower --rate"):
        train(Slope(weight_at=13), Grey(), run_of(tmp_path, 40))
    assert (tmp_path / "generator.safetensors").read_bytes() == good
    assert [state.name for state in tmp_path.glob("state-*")] == ["state-000000010"]
    train(Slope(), Grey(), run_of(tmp_path, 40))  # and it can resume from there
    assert [line["step"] for line in lines_of(tmp_path)] == list(range(1, 21))


def test_losses_that_stay_no_numbers_stop_the_training(tmp_path):
    """The gradients count as none, so that the weights stay sound: what says it is the loss, 16 steps in a row."""
    with pytest.raises(BadInput, match="diverged at step 18; the state of step 10 is kept"):
        train(Slope(at=3), Grey(), run_of(tmp_path, 400))
    lines = lines_of(tmp_path)
    assert lines[1] == {"step": 2, "shown": 4, "loss": pytest.approx(0.999)}
    assert lines[2] == {"step": 3, "shown": 6, "loss": None, "generator_gradients_replaced": 1.0}
    with pytest.raises(BadInput, match="diverged at step 16; no state is kept"):
        train(Slope(at=1), Grey(), Run(400, 2, tmp_path / "other", {}, 100, quiet=True))


def test_gradients_that_are_no_numbers_are_counted():
    weights = torch.nn.Parameter(torch.zeros(4))
    optimizer = torch.optim.Adam([weights], lr=0.1)
    # The gradients are nan, inf, -inf and 1: three are replaced. Inf and -inf alone sum to no number either.
    factors = torch.tensor([math.nan, math.inf, -math.inf, 1.0])
    assert descend(optimizer, (weights * factors).sum(), lambda _: None) == 3
    assert weights.grad.tolist() == [0.0, 1e5, -1e5, 1.0]
    assert descend(optimizer, weights.sum(), lambda _: None) == 0


def test_a_finished_training_writes_its_lost_file_again_and_says_what_was_shown(tmp_path, capsys):
    file = train(Slope(), Grey(), run_of(tmp_path, 21))  # 11 steps of 2: 22 images
    good = file.read_bytes()
    file.unlink()
    assert train(Slope(), Grey(), run_of(tmp_path, 21)).read_bytes() == good
    assert capsys.readouterr().err == ""
    train(Slope(), Grey(), run_of(tmp_path, 10))
    assert "already shown 22 images, 10 were asked for" in capsys.readouterr().err
    assert file.read_bytes() == good


@pytest.mark.parametrize("content", [b"[" * 100_000, b"\xff"])
def test_damaged_settings_are_refused(tmp_path, content):
    (tmp_path / "training.json").write_bytes(content)
    with pytest.raises(RunFolderError, match="damaged file"):
        train(Slope(), Grey(), run_of(tmp_path, 4))


@pytest.mark.parametrize("damage", [b"\x93NUMPY", "short", "other"])
def test_a_damaged_part_is_rendered_again(tmp_path, damage):
    world = FaceWorld(image_size=32, threads=1)
    whole = Pictures(world, 3, tmp_path, quiet=True).pixels(np.arange(3)).copy()
    (part,) = tmp_path.iterdir()
    good = part.read_bytes()
    if damage == "other":
        np.save(part, np.zeros(whole.shape, dtype=np.float64))
    else:
        part.write_bytes(good[:-5] if damage == "short" else damage)
    assert np.array_equal(Pictures(world, 3, tmp_path, quiet=True).pixels(np.arange(3)), whole)
    assert part.read_bytes() == good
