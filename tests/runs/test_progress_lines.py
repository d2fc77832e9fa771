"""Stages are named on standard error, only where they are announced."""

from transect.runs.progress import announcing_stages, stage


def test_a_stage_is_named_only_where_stages_are_announced(capsys):
    stage("before")
    with announcing_stages():
        stage("effects")
        with announcing_stages(quiet=True):
            stage("silent")
    stage("after")
    assert capsys.readouterr() == ("", "effects …\n")
