"""Marks of tests that hold of FaceWorld's pictures as the networks that ship were taught them."""

import json

import pytest

from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.perceptual import features

TAUGHT = json.loads((features.WEIGHTS.parent / "features.json").read_text())["world"]["renderer_version"]
reads_features = pytest.mark.xfail(
    TAUGHT != RENDERER_VERSION,
    reason=f"the feature network was taught renderer version {TAUGHT}; python -m tools.feature_network teaches it anew",
    strict=False,
)
