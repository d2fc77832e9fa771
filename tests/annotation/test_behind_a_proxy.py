"""The server behind a proxy on this machine: whose request it is, what is an origin, and how many may log in."""

import pytest
from small_run import make_run, write_questions

pytest.importorskip("fastapi", reason="needs the annotation service: pip install 'transect[annotate]'")

from fastapi.testclient import TestClient

from transect.annotation import raters
from transect.annotation.project import open_project
from transect.annotation.server.app import create_app

HOST = "http://127.0.0.1:8000"


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSECT_ADMIN_PASSWORD", "correct horse")
    made = open_project(make_run(tmp_path / "run", subjects=1), questions=(write_questions(tmp_path / "q.toml"),))
    raters.set_password(made.database)
    yield made
    made.database.close()


def test_behind_a_proxy_each_rater_has_guesses_of_their_own(project):
    """The last address in X-Forwarded-For is the proxy's word; those before it are anybody's."""

    def guess(app, said, peer="127.0.0.1"):
        http = TestClient(app, base_url=HOST, follow_redirects=False, client=(peer, 5000))
        return http.get("/invite/guess", headers={"x-forwarded-for": said}).status_code

    app = create_app(project, public="rate.example")
    assert [guess(app, "192.0.2.1") for _ in range(11)] == [404] * 10 + [429]
    assert guess(app, "192.0.2.2") == 404
    assert guess(app, "192.0.2.9, 192.0.2.1") == 429, "who writes another address before it is known all the same"
    assert [guess(app, f"2001:db8::{i:x}") for i in range(11)] == [404] * 10 + [429], "a household has many"
    assert guess(app, "192.0.2.1:4711") == 429
    assert [guess(app, f"192.0.2.{i}", peer="198.51.100.7") for i in range(11)] == [404] * 10 + [429]
    open_one = create_app(project)
    assert [guess(open_one, f"192.0.2.{i}") for i in range(11)] == [404] * 10 + [429], "without a proxy nobody is asked"


def test_behind_a_proxy_passwords_are_few_in_all_and_the_public_name_is_an_origin(project):
    app = create_app(project, public="rate.example", clock=lambda: 0.0)

    def log_in(i, password="guess", **headers):
        http = TestClient(app, base_url=HOST, follow_redirects=False, client=("127.0.0.1", 5000))
        headers |= {"x-forwarded-for": f"192.0.{i // 250}.{i % 250}"}
        return http.post("/admin/login", data={"password": password}, headers=headers).status_code

    # The proxy asks for 127.0.0.1:8000, the browser's page is rate.example.
    assert log_in(0, "correct horse", origin="https://rate.example") == 303
    assert log_in(1, "correct horse", origin="https://evil.example") == 403
    assert log_in(2, "correct horse", origin="null") == 403
    assert [log_in(i) for i in range(3, 103)].count(403) == 100, "the right one is not counted"
    assert log_in(300) == 429
