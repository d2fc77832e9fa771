"""Errors that used to name a library, a number of the system or a wrong remedy: plain words, and what to do."""

import os
import re
import socket
import warnings

import pytest
from commands import refused, refused_here, run_here

from transect.annotation.server.listening import check_address
from transect.cli.app import main
from transect.cli.declared import declared, help_of, place_of, resumes_from
from transect.errors import BadInput
from transect.job import jobs_of

AUDIT = ("audit", "audited:brightness", "--vary", "glasses=0,1", "--size", "32")


def test_a_file_in_the_place_of_a_folder(tmp_path):
    (tmp_path / "file").write_text("")
    told = refused_here(*AUDIT, "--out", str(tmp_path / "file"))
    assert told == f"cannot write {tmp_path / 'file'}: there is a file of that name; choose another folder"


def test_an_error_of_the_system_that_nobody_caught_is_one_line(monkeypatch):
    def denied(*_):
        raise PermissionError(13, os.strerror(13), "a/secret.csv")

    monkeypatch.setattr("transect.jobs.audit.run.audit", denied)
    assert refused(*AUDIT) == "a/secret.csv: you have no permission; check the path and your permissions"


@pytest.mark.parametrize(
    ("words", "job", "message"),
    [
        (AUDIT, "transect.jobs.audit.run.audit", "interrupted; finished parts are kept: rerun the command to resume"),
        (("plan", "--effect", "0.1", "--base", "0.1"), "transect.jobs.plan.Plan.compute", "interrupted; nothing is kept of an unfinished plan: rerun the command to start again"),
    ],
)  # fmt: skip
def test_an_interruption_says_what_is_kept(words, job, message, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(job, stop)
    assert refused(*words, code=130) == message


def test_a_job_whose_help_says_that_it_resumes_states_what_an_interruption_keeps():
    told = {name: " ".join([help_of(name), *(kind.__doc__ or "" for kind in jobs_of(name))]) for name in declared()}
    resuming = [name for name, text in told.items() if re.search(r"to\s+resume", text)]
    assert len(resuming) > 8
    assert [name for name in resuming if not resumes_from([word for word in place_of(name) if word])] == []


def test_a_port_in_use_is_said_with_the_ways_out():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(BadInput) as error:
            check_address("127.0.0.1", port)
    assert str(error.value) == (f"--port {port} is in use by another program; choose another (0: any free one)")


def test_shares_of_levels_that_were_not_shown_name_them(tmp_path):
    out = ("--out", str(tmp_path / "run"))
    run_here(
        "audit", "audited:brightness", "--vary", "age=20,60", "--size", "32", "--subjects", "3", "--no-control", *out
    )
    (tmp_path / "shares.csv").write_text("age,share\n40,0.5\n20,0.5\n")
    told = refused_here("report", str(tmp_path / "run"), "--shares", str(tmp_path / "shares.csv"))
    assert told.startswith("--shares: age 40 was not shown: expected shares of 20, 60; give those, or audit with")


def test_too_little_memory_is_one_line(monkeypatch):
    def large(*_, **__):
        raise MemoryError("Unable to allocate 48 TiB")

    monkeypatch.setattr("transect.jobs.audit.run.audit", large)
    assert refused(*AUDIT).startswith("out of memory: use less data")


def test_warnings_of_libraries_do_not_reach_the_terminal_and_those_of_a_model_do(monkeypatch):
    def work():
        for module in ("PIL.Image", "numpy.linalg", "transect.effects.rates", "my_model"):
            warnings.warn_explicit("a bomb?", UserWarning, "file.py", 1, module)

    monkeypatch.setattr("transect.cli.app._run", work)
    monkeypatch.setattr("sys.warnoptions", [])
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        main()
    assert len(seen) == 1
