"""Stages are named on standard error, only where they are announced."""

import pytest

from transect.runs.parts import Progress, announcing_stages, stage


def test_a_stage_is_named_only_where_stages_are_announced(capsys):
    stage("before")
    with announcing_stages():
        stage("effects")
        with announcing_stages(quiet=True):
            stage("silent")
    stage("after")
    assert capsys.readouterr() == ("", "effects …\n")


@pytest.fixture
def clock(monkeypatch):
    """A clock that stands until a test moves it."""
    now = [0.0]
    monkeypatch.setattr("transect.runs.parts.time.monotonic", lambda: now[0])
    return now


def test_the_time_of_the_whole_is_said_first(clock, capsys):
    """3 of 3,000 in 18 s: 2,997 more take 17,982 s, 5 hours. What was there already and what is skipped took no time."""
    with Progress("steps", 3300, quote=3) as progress:
        progress.skip(300)
        clock[0] = 6.0
        progress.advance(1)
        assert capsys.readouterr().err == ""
        clock[0] = 18.0
        progress.advance(2)
        said = capsys.readouterr().err.splitlines()
        assert said == [
            "steps: about 5.0 hours, as timed on the first 3",
            "steps: 303 of 3300 (0.2 a second, 5.0 hours left)",
        ]
        progress.skip(2997)
    assert capsys.readouterr().err == "steps: 3300 of 3300 (0.2 a second)\n"


def test_nothing_is_said_where_it_is_quiet(capsys):
    with Progress("steps", 4, quote=1, quiet=True) as progress:
        progress.advance(3)
        progress.skip(1)
    assert capsys.readouterr().err == ""
