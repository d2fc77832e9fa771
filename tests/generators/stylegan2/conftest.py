"""A small network as its authors pickle it."""

import pytest
from small_network import install_official_names, official_pickle, weights


@pytest.fixture
def official(tmp_path, monkeypatch):
    with monkeypatch.context() as names:
        install_official_names(names)
        return official_pickle(tmp_path / "network.pkl", weights(), clamp=256)
