"""Where the runs of an audit lie."""

from transect.runs.layout import beside, is_run, places_of, runs_of, studies_of


def _stored(folder):
    folder.mkdir(parents=True)
    (folder / "run.json").write_text("{}")
    return folder


def test_an_audit_of_one_study_is_its_own_place(tmp_path):
    assert (is_run(tmp_path), runs_of(tmp_path), places_of(tmp_path)) == (False, [tmp_path], [])
    run = _stored(tmp_path / "run")
    control = _stored(run / "negative-control")
    assert (is_run(run), studies_of(run), runs_of(run), places_of(run)) == (True, [], [run], [run])
    assert beside(run) == [control]


def test_an_audit_of_several_has_a_place_for_each_and_controls_beside(tmp_path):
    studies = [_stored(tmp_path / "studies" / name) for name in ("b", "a")][::-1]
    (tmp_path / "studies" / "c").mkdir()
    small = [_stored(studies[0] / "negative-control"), _stored(tmp_path / "interpolation")]
    assert is_run(tmp_path)
    assert studies_of(tmp_path) == runs_of(tmp_path) == places_of(tmp_path) == studies
    assert beside(tmp_path) == small
