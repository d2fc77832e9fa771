"""An audit that sets appearance on photographs of faces, from end to end: who is left out, and what the page says."""

from __future__ import annotations

import auditing
import numpy as np
import pyarrow.parquet as pq
import pytest
from rendered_marks import sitters


def bright(pixels):
    """Yes where the middle of the picture is bright."""
    return pixels[:, 20:44, 20:44].mean(axis=(1, 2, 3)) / 255


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    known = sitters(tmp_path_factory.mktemp("private") / "faces", 9, 64, others=2, skin_tone=5.0)[0]
    known.sitters.steps["skin_tone"] = 3.0
    return known


@pytest.fixture(scope="module")
def audited(world, tmp_path_factory):
    out = tmp_path_factory.mktemp("runs") / "run"
    vary = ["glasses=none,dark", "exposure=-1,0", "skin_tone=4:6:2"]
    return out, auditing.audit(bright, vary=vary, subjects=6, generator=world, out=out, task="binary")


@pytest.mark.integration
def test_darker_skin_and_sunglasses_lower_a_score_of_brightness(audited):
    _, result = audited
    for name in ("skin_tone", "glasses", "exposure"):
        found = [e for e in result.effects if (e.outcome, e.attribute, e.kind) == ("score", name, "contrast")]
        assert len(found) == 1
        assert found[0].estimate > 0 if name == "exposure" else found[0].estimate < 0, name
        assert found[0].n_subjects == 6


@pytest.mark.integration
def test_the_skin_is_read_back_on_every_image(audited):
    out, _ = audited
    table = pq.read_table(sorted((out / "images").glob("*.parquet"))[0])
    angles, tones = np.array(table["true.ita"]), np.array(table["intended.skin_tone"])
    assert np.median(angles[tones == 4]) > np.median(angles[tones == 6]) + 8
