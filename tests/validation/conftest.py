"""Networks of a few thousand weights are trained here on one core: threads would wait for each other longer than work."""

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def _one_core():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)
