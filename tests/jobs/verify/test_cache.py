"""What is kept: found again by its settings, never by its name alone; one process at a time."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from transect.errors import FolderInUse, RunFolderError
from transect.jobs.verify.cache import Cache


def never():
    raise AssertionError("computed again")


def test_figures_are_computed_once_for_their_settings(tmp_path):
    with Cache(tmp_path / "new" / "folder") as cache:
        assert cache.figures("light", {"size": 32}, lambda: {"value": 0.5, "rows": [1, None]}) == {
            "value": 0.5,
            "rows": [1, None],
        }
        assert cache.figures("light", {"size": 32}, never)["value"] == 0.5
        assert cache.figures("light", {"size": 64}, lambda: {"value": 0.7})["value"] == 0.7


def test_nan_is_refused_where_it_would_be_kept(tmp_path):
    with Cache(tmp_path) as cache, pytest.raises(ValueError, match="not JSON compliant"):
        cache.figures("light", {}, lambda: {"value": float("nan")})
    assert not list(tmp_path.glob("light-*"))


def test_figures_of_other_settings_under_the_same_name_are_made_anew(tmp_path):
    with Cache(tmp_path) as cache:
        cache.figures("light", {"size": 32}, lambda: {"value": 1})
        file = cache.file("light", {"size": 32}, ".json")
        file.write_text(json.dumps({"settings": {"size": 99}, "figures": {"value": 9}}))
        assert cache.figures("light", {"size": 32}, lambda: {"value": 2}) == {"value": 2}


def test_tables_are_computed_once(tmp_path):
    with Cache(tmp_path) as cache:
        made = cache.table("rows", {"first": 0}, lambda: pa.table({"a": [1.0, 2.0]}))
        assert cache.table("rows", {"first": 0}, never).equals(made)


def test_one_process_at_a_time(tmp_path):
    with Cache(tmp_path), pytest.raises(FolderInUse, match="in use by a live run"), Cache(tmp_path):
        pass
    with Cache(tmp_path):  # freed
        pass


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(RunFolderError, match="cannot write .*; choose another folder"),
        Cache(tmp_path / "file" / "folder"),
    ):
        pass
