"""The command on FaceWorld's own people, whose pose and tone are known, with exact points and two workers."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from transect.cli.app import app
from transect.datasets import open_dataset
from transect.inversion.pictures import Pictures
from transect.inversion.twin_runs import TwinWork, seated
from transect.inversion.twins import rows_of_twins
from transect.marks import open_marks

LIMITS = {"yaw": 1.0, "pitch": 2.0, "roll": 1.0, "skin_tone": 2.0}


def command(*arguments):
    result = CliRunner().invoke(app, list(map(str, arguments)))
    assert result.exit_code == 0, result.output
    return result.output


@pytest.mark.slow
def test_pose_and_tone_are_found_again_by_workers_as_here(tmp_path):
    people, out = tmp_path / "people", tmp_path / "twins"
    command("render", "--data-set", "--subjects", 2, "--seed", 7, "--size", 64, "--out", people)
    said = command("invert", "--generator", "faceworld", "--images", f"parquet:{people}", "--marks", "dataset",
                   "--size", 64, "--workers", 2, "--out", out)  # fmt: skip
    assert "2 of 2 photographs have a rendered twin" in said
    rows = rows_of_twins(out)
    truth = pq.read_table(people / "images")
    for name, limit in LIMITS.items():
        away = np.abs(rows[f"set.{name}"].to_numpy() - truth[f"true.{name}"].to_numpy())
        assert away.max() < limit, (name, away)
    assert max(rows["points"].to_pylist()) < 0.01
    assert max(rows["color"].to_pylist()) < 0.1
    labelled = open_dataset(f"parquet:{people}", labelled=False)
    pictures = Pictures.of_dataset(labelled, whole=True)
    sitter = seated(pictures, 1, open_marks("dataset", labelled))
    alone = TwinWork(64, "").open().make((sitter,))
    assert alone.to_pylist() == rows.slice(1).to_pylist()
