"""When the check between subjects has a meaning, and what is said where it has none, before anything is made."""

from types import SimpleNamespace

import pytest
from small_run import small_spec

from transect.analysis import reporting as finished_lines
from transect.designs.steps import SHARE
from transect.errors import BadInput
from transect.experiment import small_runs
from transect.records import Design, Task
from transect.runs.folder import RunFolder
from transect.runs.layout import INTERPOLATION

YES_OR_NO, NUMBERS = (SimpleNamespace(name=one, task=Task(one), predict=len) for one in ("binary", "regression"))


def test_a_world_and_a_target_with_classes_are_needed():
    small_runs.check_interpolation(10, [YES_OR_NO, NUMBERS], world=True)
    small_runs.check_interpolation(None, [NUMBERS], world=False)
    with pytest.raises(BadInput, match="--interpolate: expected --vary, --steps or --observe as well"):
        small_runs.check_interpolation(10, [YES_OR_NO], world=False)
    with pytest.raises(BadInput, match="--interpolate: expected a target that answers with a class"):
        small_runs.check_interpolation(10, [NUMBERS], world=True)


def test_a_folder_without_the_check_has_no_section_and_one_that_was_broken_off_says_so(tmp_path):
    assert finished_lines.interpolation_sections(tmp_path) == []
    spec = small_spec(Design({SHARE: (0.0, 1.0)}, 2), subjects_per_part=2)
    with RunFolder(tmp_path / INTERPOLATION, spec.to_json()):
        pass
    (section,) = finished_lines.interpolation_sections(tmp_path)
    assert "is not finished" in section.warnings[0]


def test_answers_of_other_images_are_no_unfinished_check(tmp_path, monkeypatch):
    (tmp_path / INTERPOLATION).mkdir()
    (tmp_path / INTERPOLATION / "run.json").touch()
    target = SimpleNamespace(name="small", task=Task.BINARY)
    monkeypatch.setattr(finished_lines, "FinishedRun", lambda _: SimpleNamespace())
    monkeypatch.setattr(finished_lines, "_finished", lambda _: True)
    monkeypatch.setattr(
        finished_lines.finished_run, "read", lambda _: SimpleNamespace(spec=SimpleNamespace(targets=[target]))
    )

    def of_others(run, asked):
        raise BadInput("predictions of small are not of these images")

    monkeypatch.setattr(finished_lines.findings, "answers_of", of_others)
    with pytest.raises(BadInput, match="are not of these images"):
        finished_lines.interpolation_sections(tmp_path)
