"""The server does what its own OpenAPI description says, whatever is sent (schemathesis)."""

import re

import pytest
from small_run import make_run, write_questions

pytest.importorskip("schemathesis", reason="needs schemathesis: pip install schemathesis")

import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from schemathesis.specs.openapi import checks as conformance

from transect.annotation import raters
from transect.annotation.project import open_project
from transect.annotation.raters import invite
from transect.annotation.server import guard
from transect.annotation.server.app import create_app
from transect.annotation.server.guard import Buckets

CHECKS = (
    schemathesis.checks.not_a_server_error,
    conformance.status_code_conformance,
    conformance.content_type_conformance,
    conformance.response_schema_conformance,
)
HOST = "http://127.0.0.1:8000"


@pytest.mark.integration
def test_replies_are_as_described(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSECT_ADMIN_PASSWORD", "correct horse")
    project = open_project(make_run(tmp_path / "run", subjects=2), questions=(write_questions(tmp_path / "q.toml"),))
    raters.set_password(project.database)
    monkeypatch.setattr(guard, "Buckets", lambda burst, rate: Buckets(10**6, 1.0))  # its rate has a test of its own
    app = create_app(project)
    http = TestClient(app, base_url=HOST, follow_redirects=False)
    (one,) = invite(project.database, 1, now=0.0)
    http.get(f"/invite/{one.token}")
    http.post("/consent", data={"csrf": re.search(r'name="csrf" value="([^"]+)"', http.get("/").text)[1]})
    csrf = re.search(r'name="csrf" content="([^"]+)"', http.get("/").text)[1]
    http.get("/api/tasks")
    cookie = "; ".join(f"{name}={value}" for name, value in http.cookies.items())
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers={"host": "127.0.0.1:8000"})
    tried = []
    for operation in schema.get_all_operations():
        case_of = operation.ok().as_strategy()

        @settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck), database=None)
        @given(case=case_of)
        def check(case):
            headers = {"cookie": cookie, "x-csrf-token": csrf, "host": "127.0.0.1:8000"}
            response = case.call(headers=headers)
            case.validate_response(response, checks=CHECKS)
            tried.append((case.path, response.status_code))

        check()
    pictures = "/pictures/{task}/{side}/{digest}"
    assert {path for path, _ in tried} >= {"/api/answers", "/api/tasks", "/api/undo", pictures}
    assert {status for _, status in tried} & {200, 409, 422}
    project.database.close()
