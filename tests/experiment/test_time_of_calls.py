"""What an audit says about the time that calls to a metered target take: nothing until the first are made."""

import re

import numpy as np
import pytest

import transect
from transect.records import Quote


class Paid:
    """A metered model that moves the tests' clock by two seconds a call."""

    name, task, metered = "paid", "binary", True

    def __init__(self, now):
        self.now, self.calls = now, 0

    def predict(self, images):
        self.calls += len(images)
        self.now[0] += 2.0 * len(images)
        return np.full(len(images), 0.9)

    def quote(self, images):
        return Quote(self.name, images, calls=images)

    def calls_made(self):
        return self.calls, 0.0


@pytest.mark.integration
def test_the_time_of_the_calls_is_estimated_from_the_first_part(tmp_path, monkeypatch, capsys):
    """1,200 images in parts: after the first n of them, the others take 2 s each."""
    now = [0.0]
    monkeypatch.setattr("transect.runs.parts.time.monotonic", lambda: now[0])
    transect.audit(Paid(now), vary="glasses=0,1", subjects=600, image_size=32, outcomes="answer", out=tmp_path / "run")
    lines = capsys.readouterr().err.splitlines()
    first = next(line for line in lines if "1,200 images" in line)
    assert "of rendering left; the time of the calls is estimated from the first ones" in first
    told = next(line for line in lines if "as timed on the first" in line)
    timed = int(re.search(r"first (\d+)$", told)[1])
    minutes = int(re.search(r"about (\d+) minutes", told)[1])
    assert 0 < timed < 1200
    assert minutes == round((1200 - timed) * 2 / 60)
