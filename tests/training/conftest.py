"""What trainings of tests share."""

import pytest

from transect.training.schedules import LAYERS


@pytest.fixture(scope="module")
def shallow():
    """A ResNet-18 of one block a stage, which is trained and written in less than half the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(LAYERS, "resnet18", (1, 1, 1, 1))
        yield
