"""The command line: what it prints, its one-line errors and its exit codes."""

import json
from pathlib import Path

import pytest
from commands import refused, run_here
from places import SUPPORT

import transect
from transect.errors import BadInput
from transect.generators.photographs.attributes import ATTRIBUTES

AUDIT = ("audit", "audited:brightness", "--size", "32", "--subjects", "4")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*AUDIT, "--vary", "skin_ton"), "unknown attribute 'skin_ton': did you mean skin_tone"),
        ((*AUDIT, "--vary", "skin_tone=1:10"), "--vary 'skin_tone=1:10': did you mean skin_tone=1:10:3"),
        (AUDIT, "nothing to compare: give --vary ATTRIBUTE, or --population P --images N"),
        ((*AUDIT, "--vary", "glasses", "--device", "gpu"), "--device does not apply to FaceWorld"),
        (("audit", "opencv:haarcascade_frontalface_defalt", "--vary", "glasses"), "unknown target 'opencv:haarcascade_frontalface_defalt': did you mean opencv:haarcascade_frontalface_default"),
        (("audit", "onnx:nowhere.onnx", "--vary", "glasses"), "model file nowhere.onnx: no such file"),
        (("audit", f"onnx:{SUPPORT / 'audited.py'}", "--vary", "glasses"), "model file"),
        (("report", "nowhere"), "nowhere is not a run folder: expected a run.json in it"),
        (("audit",), "no target"),
        (("report",), "missing argument 'DIR'; see: transect report --help"),
        (("bogus",), "no such command 'bogus'; see: transect --help"),
        (("audit", "x", "--nope", "3"), "; see: transect audit --help"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_exit_2(arguments, message, tmp_path):
    more = ("--out", str(tmp_path / "run")) if arguments[0] == "audit" and len(arguments) > 3 else ()
    assert message in refused(*arguments, *more)
    assert not (tmp_path / "run").exists(), "a refused design leaves nothing behind"


def test_too_many_failures_exit_3(tmp_path):
    arguments = ("audit", "audited:raises_always", "--vary", "glasses", "--subjects", "4", "--size", "32")
    message = refused(*arguments, "--out", str(tmp_path), code=3)
    assert "no answer today" in message


@pytest.mark.integration
def test_a_hanging_target_does_not_keep_the_program_from_ending(tmp_path):
    arguments = ("audit", "audited:hangs_in_a_pool", "--vary", "glasses", "--subjects", "4", "--size", "32")
    assert "timed out" in refused(*arguments, "--timeout", "0.2", "--out", str(tmp_path), code=3, alone=True)


@pytest.mark.integration
def test_audit_json_follows_the_contract(tmp_path):
    command = ("audit", "opencv:haarcascade_frontalface_default", "--vary", "skin_tone=1:10:3", "--vary", "glasses")
    done = run_here(*command, "--subjects", "4", "--seed", "1", "--size", "64", "--out", str(tmp_path), "--json")
    assert done.returncode == 0, done.stderr
    printed, written = json.loads(done.stdout), json.loads((tmp_path / "results.json").read_text())
    assert printed["effects"] == written["effects"]
    fields = {
        "name", "attribute", "outcome", "target", "estimate", "low", "high", "p", "p_adjusted", "unit", "n_subjects",
        "n_images", "excluded",
    }  # fmt: skip
    for effect in written["effects"]:
        assert fields <= effect.keys()
        assert effect["n_subjects"] == 4
        assert effect["outcome"] == "answer"
    assert Path(printed["report"]).read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("command", ["targets", "generators", "attributes"])
def test_lists_as_table_and_as_json(command):
    rows = json.loads(run_here("list", command, "--json").stdout)
    table = run_here("list", command).stdout
    first = next(iter(rows[0].values()))
    assert first in table
    assert len(table.splitlines()) >= len(rows)


def test_edits_are_listed_as_attributes_of_photographs():
    listed = json.loads(run_here("list", "attributes", "--generator", "photographs", "--json").stdout)
    assert [row["name"] for row in listed] == [attribute.name for attribute in ATTRIBUTES]


def test_debug_shows_the_traceback(tmp_path):
    with pytest.raises(BadInput):
        run_here("--debug", "report", str(tmp_path))


def test_version_and_help():
    assert run_here("--version").stdout.strip() == transect.__version__
    assert run_here("--help").returncode == 0
    assert run_here().returncode == 2
