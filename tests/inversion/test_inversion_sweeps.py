"""What inversion keeps: the tables' figures by hand, on worlds where they are known."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from examples.replications import inversion_sweeps as inversions
from examples.replications.inversion_sweeps import READ, Sizes, edited, recovered, sweep_latent_view
from planted_networks import Levels

from transect.controls.directions import Direction
from transect.generators.faceworld.world import FaceWorld
from transect.inversion.optimisation import Inverted


def direction(name, axis, quality=0.9):
    """w[axis] times 2 is the label."""
    normal = np.zeros(3)
    normal[axis] = 1.0
    return Direction(name, "continuous", normal, 0.0, 2.0, 0.0, -4.0, 4.0, quality, "R2", 100, 20)


def inverted(codes, failures=None):
    n = len(codes)
    nothing = np.zeros(n, np.float32)
    failed = failures or ("",) * n
    return Inverted(
        np.asarray(codes, np.float32), nothing, nothing, nothing, nothing[:, None], (0,), np.zeros(n, np.int64), failed,
        np.zeros((n, 4, 4, 3), np.uint8),
    )  # fmt: skip


def test_recovered_attributes_by_hand():
    """Layers of w+ with mean first coordinates 1 and -1 say 2 and -2; truth 3 and -3, deviation 3: error 1/3.

    A direction that is too poor does not count; an image that failed (NaN) does not either.
    """
    codes = [[[0.5, 0, 0], [1.5, 0, 0]], [[-1, 0, 0], [-1, 0, 0]]]
    truth = pa.table({"age": [3.0, -3.0], "smile": [100.0, 300.0]})
    directions = [direction("age", 0), direction("smile", 1, quality=0.1)]
    assert recovered(inverted(codes), "w+", truth, directions) == pytest.approx(1 / 3)
    codes.append([[np.nan] * 3] * 2)
    longer = pa.table({"age": [3.0, -3.0, 0.0], "smile": [0.0, 0.0, 0.0]})
    spread = np.std([3, -3, 0])
    assert recovered(inverted(codes), "w+", longer, directions) == pytest.approx(1 / spread)
    assert recovered(inverted(codes[:2]), "w+", truth, directions[1:]) is None


def test_edits_by_hand(monkeypatch):
    """skin_tone is read as 1.2 w0 and age as w0: one deviation of 2 asked is a step of 2 / slope 2 = 1 in w0.

    skin_tone changes by 1.2, .6 deviations: gain .6. age changes by 1, half a deviation; the five others do not:
    off target .5 / 6. The failed image is left out.
    """

    def read(_, codes, space):
        assert space == "w"
        assert torch.isfinite(codes).all()
        told = {name: np.zeros(len(codes)) for name in READ}
        return {**told, "skin_tone": 1.2 * codes[:, 0].numpy(), "age": codes[:, 0].numpy()}

    monkeypatch.setattr(inversions, "_read_codes", read)
    found = inverted([[1.0, 0, 0], [np.nan] * 3], ("", "not finite"))
    kept = edited(Levels(), found, "w", [direction("skin_tone", 0)], dict.fromkeys(READ, 2.0))
    assert kept["edit_gain"] == pytest.approx(0.6)
    assert kept["off_target"] == pytest.approx(0.5 / 6)
    none = edited(Levels(), found, "w", [direction("skin_tone", 0, quality=0.0)], dict.fromkeys(READ, 2.0))
    assert none == {"edit_gain": None, "off_target": None}


@pytest.mark.slow
def test_latents_of_the_latent_view_are_nearer_than_the_mean_face():
    """Attributes, likeness and edits of what was found are nearer the truth than those of z = 0."""
    sizes = Sizes(view_faces=8, samples=500, rounds=2, view_penalties=(2.0,))
    mean, found = sweep_latent_view(FaceWorld(image_size=32, threads=1), sizes)["rows"]
    assert mean["renders"] == 0
    for measure in ("perceptual", "attribute_error", "edit_distance"):
        assert found[measure] < mean[measure], measure
    assert found["identity_error"] < 0.9


def rows():
    keys = ("perceptual", "pixels", "identity_distance", "restriction", "attribute_error", "edit_gain", "off_target")
    return [
        {"penalty": penalty, **dict.fromkeys(keys, 0.5), "restriction": float(place)}
        for place, penalty in enumerate((None, 1.0, 0.0))
    ]
