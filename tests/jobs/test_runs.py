"""The list of runs: finished ones, unfinished ones, other jobs' pages, and what others put into a folder."""

import json
import os
import shutil

import auditing
import pytest
from commands import run_here

import transect
from transect.errors import BadInput
from transect.reports import builder
from transect.reports.blocks import Answer, Page, summary


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("runs")
    settings = {"vary": {"skin_tone": (1, 10)}, "subjects": 12, "image_size": 32, "control": False}
    auditing.audit("audited:brightness", out=path / "old", **settings)
    auditing.audit("audited:brightness", out=path / "deep" / "new", observe=6, **{**settings, "subjects": 3})
    shutil.copytree(path / "old", path / "cut")
    for name in ("results.json", "report.html", "effects.parquet"):
        (path / "cut" / name).unlink()
    (part,) = (path / "cut" / "predictions" / "audited-brightness").iterdir()
    part.unlink()
    page = Page("Leakage of captions", (summary(Answer(["Captions leak <2 points> more."])),))
    builder.write(page, path / "other" / "leakage.html")
    (path / "other" / "mine.html").write_text("<title>not ours</title>")
    (path / ".hidden").mkdir()
    for number, name in enumerate(("old/results.json", "other/leakage.html", "deep/new/results.json")):
        os.utime(path / name, (1_700_000_000 + number * 3600,) * 2)
    return path


@pytest.mark.integration
def test_runs_are_listed_with_their_verdicts_the_newest_first(folder):
    rows = transect.list_runs(folder).numbers.runs
    assert [(row.folder.removeprefix(f"{folder}/"), row.job) for row in rows] == [
        ("cut", "audit"), ("deep/new", "audit"), ("other", "leakage"), ("old", "audit"),
    ]  # fmt: skip
    cut, new, other, old = rows
    assert cut.verdict == "not finished: 0 of 1 part; rerun the command to resume"
    assert cut.date == ""
    assert old.date == "2023-11-14 22:13"
    assert old.targets == ("audited:brightness",)
    assert old.question == "skin tone varied, 12 subjects"
    assert "observed, 6 subjects" in new.question
    assert (other.question, other.verdict) == ("Leakage of captions", "Captions leak <2 points> more.")


def test_the_command_prints_a_table_and_json(folder):
    printed = run_here("list", "runs", str(folder)).stdout
    assert printed.startswith("4 runs in ")
    told = json.loads(run_here("list", "runs", str(folder), "--json").stdout)
    assert [row["job"] for row in told["runs"]] == ["audit", "audit", "leakage", "audit"]


@pytest.mark.parametrize("text", ["{", '{"verdicts": [{}]}'])
def test_damaged_results_are_a_row_that_says_so(folder, tmp_path, text):
    shutil.copytree(folder / "old", tmp_path / "run")
    (tmp_path / "run" / "results.json").write_text(text)
    (row,) = transect.list_runs(tmp_path).numbers.runs
    assert row.verdict.startswith("results cannot be read")
    assert "\n" not in row.verdict
    (tmp_path / "run" / "run.json").write_text(text)
    (row,) = transect.list_runs(tmp_path).numbers.runs
    assert row.verdict.startswith("cannot be read")


@pytest.mark.parametrize(
    ("verdict", "said"), [("found", "all checks passed"), ("cannot tell", "1 inconclusive"), ([], "nothing estimable")]
)
def test_an_audit_of_checks_alone_says_whether_they_passed(folder, tmp_path, verdict, said):
    """A smile that moves a smile detector is no finding; where it does not, that is one."""
    shutil.copytree(folder / "old", tmp_path / "run")
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    rows = [{**results["verdicts"][0], "check": True, "verdict": verdict}]
    changed = {**results, "verdicts": rows, "found_interactions": []}
    (tmp_path / "run" / "results.json").write_text(json.dumps(changed))
    (row,) = transect.list_runs(tmp_path).numbers.runs
    assert row.verdict.partition(".")[0] == said


def test_links_are_not_followed_and_no_folder_is_an_error(folder, tmp_path):
    (tmp_path / "link").symlink_to(folder)
    assert transect.list_runs(tmp_path).numbers.runs == ()
    assert transect.list_runs(tmp_path).headline().startswith("0 runs")
    with pytest.raises(BadInput, match="no such folder"):
        transect.list_runs(tmp_path / "none")


def test_the_answers_that_another_job_keeps_are_no_audit(folder, tmp_path):
    """A search and a recognition benchmark keep answers in folders with a run.json of their own."""
    page = Page("Where it fails", (summary(Answer(["Dark skin in dim light. " * 20])),))
    builder.write(page, tmp_path / "search" / "search.html")
    (tmp_path / "search" / "run.json").write_text('{"spec_hash": "0", "kind": "search"}')
    builder.write(page, tmp_path / "faces" / "recognition.html")
    (tmp_path / "faces" / "answers").mkdir()
    (tmp_path / "faces" / "answers" / "run.json").write_text('{"spec_hash": "0", "kind": "answers"}')
    rows = transect.list_runs(tmp_path).numbers.runs
    assert sorted(row.job for row in rows) == ["recognition", "search"]
    assert all(len(row.verdict) <= 162 and row.verdict.endswith(" …") for row in rows)


def test_a_page_that_no_parser_reads_is_a_row_that_says_so(tmp_path):
    (tmp_path / "odd").mkdir()
    head = '<meta name="generator" content="Transect 1"><title>x</title>'
    (tmp_path / "odd" / "leakage.html").write_text(f"{head}<![foo[")
    builder.write(Page("Sound", (summary(Answer(["Fine."])),)), tmp_path / "odd" / "match.html")
    rows = transect.list_runs(tmp_path).numbers.runs
    assert {row.job for row in rows} == {"leakage", "match"}
    assert all("\n" not in row.verdict for row in rows)
