"""`transect annotate`: the contract for scripts, one-line refusals, and the server as a process."""

import io
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from unittest import mock

import httpx2
import pytest
from commands import run_here
from served import PASSWORD, serving
from small_run import make_run, write_questions

from transect.annotation.assignment import Submitted, answer, next_tasks
from transect.annotation.project import open_project, rows
from transect.errors import BadInput, TransectError
from transect.jobs.annotate import AnnotateExport, AnnotateImport, Serving


def run(*arguments, hide="", **environment):
    """Run the command without input; if a library is hidden, in a separate process."""
    words = [*map(str, arguments)]
    if not hide:
        with mock.patch.dict(os.environ, environment), mock.patch.object(sys, "stdin", io.StringIO()):
            return run_here("annotate", *words)
    code = f"import sys; sys.modules[{hide!r}] = None; from transect.cli.app import main; main()"
    return subprocess.run(
        [sys.executable, "-c", code, "annotate", *words],
        capture_output=True, text=True, check=False, timeout=120, stdin=subprocess.DEVNULL,
        env={**os.environ, **environment},
    )  # fmt: skip


@pytest.mark.integration
def test_the_whole_way_by_commands(tmp_path):
    folder, questions = make_run(tmp_path / "run", subjects=2), write_questions(tmp_path / "q.toml", ratings=2)
    made = json.loads(run("invite", folder, "--raters", "2", "--questions", questions, "--json").stdout)
    assert len(made["links"]) == 2
    assert made["links"][0].startswith("http://127.0.0.1:8000/invite/")
    with serving(folder) as (_, base), httpx2.Client(base_url=base) as http:
        assert http.get("/health").text == "ok"
        assert http.get("/invite/" + made["links"][0].rpartition("/")[2]).status_code == 303
        assert http.post("/admin/login", data={"password": PASSWORD}).headers["location"] == "/admin"
        served = json.loads(run("invite", folder, "--json").stdout)
        assert served["links"][0].startswith(base), "links lead to where it is served"
    project = open_project(folder)
    for rater in (1, 2):
        for number in range(4):
            task = next_tasks(project, rater, now=1.0)[0]
            answer(project, rater, Submitted(task.id, f"{rater}-{number}", int(task.first[0]) * 2), now=1.0)
    project.database.close()
    told = json.loads(run("agreement", folder, "--json").stdout)
    assert told["questions"][0]["percent_agreement"] == told["questions"][0]["alpha"] == 1.0
    assert "smile: 4 units, 2 raters, 8 answers; agreement 1.000" in run("agreement", folder).stdout
    out = tmp_path / "a.csv"
    told = json.loads(run("export", folder, "--out", out, "--price", "0.01", "--json").stdout)
    assert (told["out"], told["rows"], told["cost"]["answers_wanted"]) == (str(out), 8, 8)
    other = tmp_path / "other.sqlite"
    told = run("import", folder, out, "--database", other, "--questions", questions, "--json")
    assert json.loads(told.stdout) == {"imported": 8, "already_there": 0, "new_raters": 2, "left_out": {}}


def test_an_import_that_is_refused_begins_nothing(tmp_path, address):
    """Whatever is wrong: the file, a question that the default does not ask, an image; then the right one is taken."""
    folder, questions = make_run(tmp_path / "run", subjects=1), write_questions(tmp_path / "q.toml", ratings=1)
    table = tmp_path / "a.csv"
    table.write_text("id,question,rater,answer\n0-0000,smile,ada,no\n")
    unknown = tmp_path / "b.csv"
    unknown.write_text("id,question,rater,answer\n0-0000,smile,ada,no\n7-0000,smile,ada,no\n")
    asked = [questions]
    for file, given, reason in (
        (tmp_path / "none.csv", asked, "no such file"),
        (table, ["monk"], "unknown question 'smile'"),
        (unknown, asked, "expected answers about this run's images"),
        (table, [str(tmp_path / "none.toml")], "unknown questions"),
    ):
        with pytest.raises(TransectError, match=reason):
            AnnotateImport(folder, file, database=str(address), questions=given).compute()
        with pytest.raises(BadInput, match="no database of ratings"):
            open_project(folder, address, create=False)
        assert not (folder / "annotations").exists()
        assert not Path(address).exists()
    AnnotateImport(folder, table, database=str(address), questions=asked).compute()
    with pytest.raises(BadInput, match="expected answers about this run's images"):
        AnnotateImport(folder, unknown, database=str(address)).compute()
    project = open_project(folder, address, create=False)
    assert [one.rater for one in rows(project.database)] == ["ada"], "what was there stays"
    project.database.close()


@pytest.fixture
def in_use():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield taken


def test_no_command_that_is_refused_for_its_options_begins_anything(tmp_path, monkeypatch, in_use):
    """Begun with the questions that it would have asked, the database would refuse all others from then on."""
    folder, questions = make_run(tmp_path / "run", subjects=1), tmp_path / "q.toml"
    questions.write_text(
        '[[question]]\nname = "q"\ntext = "t"\nlevels = [{ name = "a", example = { smile = 9 } }, { name = "b" }]\n'
    )
    skips = tmp_path / "s.toml"
    skips.write_text('[[question]]\nname = "q"\ntext = "t"\nlevels = ["yes", "cannot tell"]\n')
    port = in_use.getsockname()[1]
    monkeypatch.setenv("TRANSECT_ADMIN_PASSWORD", "short")
    for call, reason in (
        (lambda: Serving(folder).serve(), "TRANSECT_ADMIN_PASSWORD: expected at least 8 characters"),
        (lambda: Serving(folder, public_url="https://[").serve(), "--public-url: expected an address"),
        (lambda: Serving(folder, public_url="https://*.rate.example").serve(), "--public-url: expected an address"),
        (lambda: Serving(folder, questions=[str(questions)]).serve(), "question q: example: "),
        (lambda: Serving(folder, port=port).serve(), f"--port {port} is in use"),
        (lambda: AnnotateExport(folder, kind="xml", out=tmp_path / "x").compute(), "unknown format 'xml'"),
        (lambda: AnnotateExport(folder, kind="label-studio", questions=[str(skips)]).compute(), "means a skip"),
    ):
        if "example" in reason:
            monkeypatch.setenv("TRANSECT_ADMIN_PASSWORD", "long enough")
        with pytest.raises(TransectError, match=reason):
            call()
        assert not (folder / "annotations").exists(), reason


@pytest.mark.integration
def test_without_the_server_s_library_the_pip_line_is_said(tmp_path):
    folder = make_run(tmp_path / "run", subjects=1)
    done = run("serve", folder, "--no-examples", hide="fastapi", TRANSECT_ADMIN_PASSWORD=PASSWORD)
    assert done.returncode == 2
    assert done.stderr.rstrip().endswith("pip install 'transect[annotate]'")
