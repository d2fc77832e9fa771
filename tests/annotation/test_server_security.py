"""What the web application refuses: guessed links, other people's pictures, forged and oversized requests, replays."""

import asyncio
import re

import pytest
import sqlalchemy as sa
from small_run import make_run, write_questions

pytest.importorskip("fastapi", reason="needs the annotation service: pip install 'transect[annotate]'")

from fastapi import HTTPException, Request
from fastapi.responses import PlainTextResponse
from fastapi.testclient import TestClient

from transect.annotation import raters, schema
from transect.annotation.database import Unusable
from transect.annotation.project import open_project
from transect.annotation.raters import hash_of, invite
from transect.annotation.server import guard as guard_module
from transect.annotation.server.app import create_app
from transect.annotation.server.guard import Guard
from transect.annotation.server.service import form_of

HOST = "http://127.0.0.1:8000"
PICTURE, EXAMPLE = (f"{one}/{32 * '0'}" for one in ("/pictures/1/left", "/examples/smile/0"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.setenv("TRANSECT_ADMIN_PASSWORD", "correct horse")
    gold = '[[question.gold]]\nimage = "2-0001"\nanswer = "yes"'
    path = write_questions(tmp_path / "q.toml", ratings=2, plan="gold_every = 3", more=gold)
    project = open_project(make_run(tmp_path / "run", subjects=3), questions=(path,))
    raters.set_password(project.database)
    yield project
    project.database.close()


@pytest.fixture
def app(project):
    return create_app(project)


class Rater:
    """A browser of a rater who followed their link and agreed."""

    def __init__(self, app, token):
        self.http = TestClient(app, base_url=HOST, follow_redirects=False, raise_server_exceptions=False)
        assert self.http.get(f"/invite/{token}").status_code == 303
        page = self.http.get("/").text
        csrf = re.search(r'name="csrf" value="([^"]+)"', page)[1]
        assert self.http.post("/consent", data={"csrf": csrf}).status_code == 303
        self.csrf = re.search(r'name="csrf" content="([^"]+)"', self.http.get("/").text)[1]
        self.keys = 0

    def tasks(self):
        return self.http.get("/api/tasks").json()["tasks"]

    def send(self, body, **headers):
        return self.http.post("/api/answers", json=body, headers={"x-csrf-token": self.csrf} | headers)

    def answer(self, task, value=1, **more):
        self.keys += 1
        return self.send(
            {"task": task["id"], "key": f"key-{self.keys:08d}", "value": value, "milliseconds": 900, **more}
        )


@pytest.fixture
def two(app, project):
    return [Rater(app, one.token) for one in invite(project.database, 2, now=0.0)]


def anybody(app):
    return TestClient(app, base_url=HOST, follow_redirects=False, raise_server_exceptions=False)


def count(project, table):
    with project.database.reading() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


def test_a_rater_answers_from_the_link_to_the_end(two, project):
    first, _ = two
    seen = []
    while tasks := first.tasks():
        picture = first.http.get(tasks[0]["pictures"][0])
        assert picture.headers["content-type"] == "image/png"
        reply = first.answer(tasks[0]).json()
        seen.append(tasks[0]["id"])
        assert reply["answered"] == len(seen)
    # 5 images, and the known one as third task and not again.
    assert len(seen) == 6
    assert count(project, schema.answers) == 6


def test_nothing_is_shown_without_a_link(app):
    http = anybody(app)
    assert http.get("/").status_code == 401
    for path in ("/api/tasks", "/api/questions", PICTURE, EXAMPLE, "/api/admin/status"):
        assert http.get(path).status_code == 401, path
    assert http.get("/admin").headers["location"] == "/admin/login"
    for path in ("/admin/export.csv", "/admin/export.parquet"):
        assert http.get(path).status_code == 401, path


def test_pictures_are_served_to_those_assigned_alone(two, project):
    first, second = two
    (mine,), (theirs,) = first.tasks()[0]["pictures"], second.tasks()[0]["pictures"]
    assert first.http.get(mine).status_code == 200
    assert first.http.get(theirs).status_code == 404
    assert first.http.get(mine.replace("left", "right")).status_code == 404, "it is no pair"
    assert first.http.get(mine.replace("/1/", "/999/")).status_code == 404
    assert first.http.get(mine[:-1] + ("0" if mine[-1] != "0" else "1")).status_code == 404, "of another picture"
    project.database.write(lambda connection: connection.execute(schema.tasks.update().values(state="expired")))
    assert first.http.get(mine).status_code == 404


def test_an_address_is_of_one_picture_in_every_study(tmp_path):
    """A browser keeps what it got under an address for an hour, and a second study begins with the same number of a task.

    Both studies show their raters a face beside each level, too: another one in the second.
    """
    found = []
    for seed, text in ((0, b"one"), (1, b"two")):
        folder = tmp_path / f"examples-{seed}"
        folder.mkdir()
        (folder / "smile-0.png").write_bytes(text)
        run = make_run(tmp_path / f"study-{seed}", subjects=1, cells=1, seed=seed)
        project = open_project(run, questions=(write_questions(tmp_path / f"{seed}.toml"),))
        rater = Rater(create_app(project, examples=folder), invite(project.database, 1, now=0.0)[0].token)
        (task,) = rater.tasks()
        example = rater.http.get("/api/questions").json()["questions"][0]["levels"][0]["example"]
        addresses = [task["pictures"][0], example]
        found.append((task["id"], addresses, [rater.http.get(one).content for one in addresses]))
        assert rater.http.get(example.replace(example[-32:], 32 * "0")).status_code == 404
        project.database.close()
    (number, before, contents), (again, after, others) = found
    assert number == again == 1
    for one, other, content, another in zip(before, after, contents, others, strict=True):
        assert content != another
        assert one != other


PATHS = [
    "/static/..%2fapp.py",
    "/static/%2e%2e/%2e%2e/schema.py",
    "/pictures/..%2f..%2frun.json/left",
    "/pictures/1/left%00.png",
    "/examples/smile/..%2f..%2frun.json",
    f"/examples/smile/99/{32 * '0'}",
    "/annotations/annotation.sqlite",
    "//etc/passwd",
]


def test_no_path_leads_to_a_file(two):
    for path in PATHS:
        reply = two[0].http.get(path)
        assert reply.status_code in (404, 422, 307), path
        assert b"import" not in reply.content, path


def test_guessed_links_are_slowed_down(app, project):
    http = anybody(app)
    (good,) = invite(project.database, 1, now=0.0)
    replies = [http.get(f"/invite/guess-{i}").status_code for i in range(12)]
    assert replies == [404] * 10 + [429] * 2
    assert http.get("/invite/" + "x" * 500).status_code == 422
    # Raters of one office share an address: one who opens broken links locks nobody else out.
    assert http.get(f"/invite/{good.token}").status_code == 303


def test_nothing_is_shown_or_taken_before_consent(app, project):
    """A link alone lets nobody past the page of consent, by no address of the programs' interface either."""
    (one,) = invite(project.database, 1, now=0.0)
    http = anybody(app)
    http.get(f"/invite/{one.token}")
    csrf = re.search(r'name="csrf" value="([^"]+)"', http.get("/").text)[1]
    headers = {"x-csrf-token": csrf}
    for address in ("/api/tasks", "/api/questions", PICTURE, EXAMPLE):
        assert http.get(address).status_code == 403, address
    body = {"task": 1, "key": "key-00000001", "value": 1}
    assert http.post("/api/answers", json=body, headers=headers).status_code == 403
    assert http.post("/api/undo", json={"key": "key-00000001"}, headers=headers).status_code == 403
    assert count(project, schema.tasks) == 0
    http.post("/consent", data={"csrf": csrf})
    assert len(http.get("/api/tasks").json()["tasks"]) == 2


def log_in(http, password):
    return http.post("/admin/login", data={"password": password}).status_code


def test_passwords_are_slowed_down_and_the_right_one_logs_in(project):
    now = [0.0]
    app = create_app(project, clock=lambda: now[0])
    http = anybody(app)
    assert http.post("/admin/login", data={"password": "correct horse"}).headers["location"] == "/admin"
    assert http.get("/admin").status_code == 200
    other = anybody(app)
    assert [log_in(other, f"guess {i}") for i in range(12)] == [403] * 10 + [429] * 2
    assert log_in(other, "correct horse") == 429, "no guess of this address is looked at"
    now[0] += 31
    assert log_in(other, "correct horse") == 303


def test_wrong_passwords_of_others_do_not_shut_the_organiser_out(app, project):
    """Neither from another address, nor from the same one where this browser logged in before."""
    organiser, neighbour = anybody(app), anybody(app)
    assert log_in(organiser, "correct horse") == 303
    assert [log_in(neighbour, "guess") for _ in range(11)] == [403] * 10 + [429]
    assert log_in(organiser, "correct horse") == 303
    assert (
        log_in(TestClient(app, base_url=HOST, client=("192.0.2.7", 1), follow_redirects=False), "correct horse") == 303
    )

    # The known browser has a count of its own, which is no way around the limit.
    assert [log_in(organiser, "guess") for _ in range(11)] == [403] * 10 + [429]
    forged = anybody(app)
    name = organiser.cookies["transect_browser"].partition(".")[0]
    forged.cookies.set("transect_browser", f"{name}.{'0' * 64}")
    assert log_in(forged, "correct horse") == 429


def test_a_raters_session_is_no_organisers_and_the_other_way_round(two, app):
    rater = two[0].http
    assert rater.get("/api/admin/status").status_code == 401
    rater.cookies.set("transect_admin", rater.cookies["transect_rater"])
    assert rater.get("/api/admin/status").status_code == 401
    http = anybody(app)
    http.post("/admin/login", data={"password": "correct horse"})
    http.cookies.set("transect_rater", http.cookies["transect_admin"])
    assert http.get("/api/tasks").status_code == 401


def test_changes_need_the_csrf_token_and_the_same_origin(two, app, project):
    first, second = two
    task = first.tasks()[0]
    body = {"task": task["id"], "key": "key-12345", "value": 1}
    assert first.http.post("/api/answers", json=body).status_code == 403
    assert first.send(body, **{"x-csrf-token": second.csrf}).status_code == 403
    assert first.send(body, origin="https://evil.example").status_code == 403
    assert first.send(body, **{"sec-fetch-site": "cross-site"}).status_code == 403
    assert first.http.post("/api/undo", json={"key": "key-12345"}).status_code == 403
    assert first.http.post("/consent", data={"csrf": "no"}).status_code == 403
    organiser = anybody(app)
    organiser.post("/admin/login", data={"password": "correct horse"})
    for path, form in (
        ("/admin/pause", {"pause": "1"}),
        ("/admin/raters/1", {"state": "excluded"}),
        ("/admin/logout", {}),
    ):
        assert organiser.post(path, data={"csrf": "no"} | form).status_code == 403, path
    assert count(project, schema.answers) == 0
    assert first.send(body, origin=HOST).status_code == 200


def test_another_host_name_is_refused(app):
    """A page elsewhere whose name is made to lead to this machine gets nothing (DNS rebinding)."""
    assert TestClient(app, base_url="http://evil.example").get("/health").status_code == 400
    assert TestClient(app, base_url="http://localhost:1").get("/health").text == "ok"


def test_large_bodies_are_refused_whether_they_say_so_or_not(two):
    first = two[0]
    assert first.send({"task": 1, "key": "k" * 20_000, "value": 1}).status_code == 413

    def endless():
        for _ in range(100):
            yield b" " * 1024

    headers = {"x-csrf-token": first.csrf, "content-type": "application/json"}
    assert first.http.post("/api/answers", content=endless(), headers=headers).status_code == 413


def test_a_body_that_does_not_come_in_time_is_refused(app, monkeypatch):
    monkeypatch.setattr(guard_module, "_SLOWEST_BODY", 0.05)
    sent = []

    async def slow():
        if sent:
            return {"type": "http.disconnect"}
        await asyncio.sleep(0.02)
        return {"type": "http.request", "body": b"p", "more_body": True}

    async def send(message):
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"application/x-www-form-urlencoded")]
    scope = {"type": "http", "method": "POST", "path": "/admin/login", "query_string": b"", "headers": headers}
    asyncio.run(asyncio.wait_for(app(scope, slow, send), 5))
    assert sent[0]["status"] == 408


BODIES = [
    {"task": "1 OR 1=1", "key": "key-12345", "value": 1},
    {"task": 1, "key": "'; DROP TABLE answers; --", "value": 1},
    {"task": 1, "key": "key-12345", "value": 1, "rater_id": 2},
    {"task": 2**40, "key": "key-12345", "value": 1},
    [],
]


def test_other_bodies_are_refused_without_a_trace(two, project):
    first = two[0]
    first.tasks()
    for body in BODIES:
        reply = first.send(body)
        assert reply.status_code == 422, body
        assert "Traceback" not in reply.text
    assert count(project, schema.answers) == 0


def test_every_reply_has_the_headers_that_keep_a_browser_in(two, app):
    for reply in (two[0].http.get("/"), two[0].http.get("/api/tasks"), anybody(app).get("/nowhere"), two[0].send([])):
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert reply.headers["referrer-policy"] == "same-origin"
        assert reply.headers["cache-control"]
        assert "server" not in reply.headers
    page = two[0].http.get("/").text
    assert not re.search(r"<script(?![^>]*src=)|<style| on\w+=|style=", page), (
        "nothing inline, which the policy would block"
    )


def test_cookies_are_out_of_scripts_reach(app, project):
    (one,) = invite(project.database, 1, now=0.0)
    cookie = anybody(app).get(f"/invite/{one.token}").headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    secure = create_app(project, secure=True)
    reply = anybody(secure).get(f"/invite/{one.token}")
    assert "Secure" in reply.headers["set-cookie"]
    assert "max-age" in reply.headers["strict-transport-security"]


def test_a_session_ends_and_tokens_are_kept_as_hashes(project):
    invite(project.database, 1, now=0.0)
    token = raters.begin(project.database, 1, now=0.0)
    assert raters.find(project.database, token, now=1.0).rater == 1
    assert raters.find(project.database, token, now=raters.LIFE + 1) is None
    with project.database.reading() as connection:
        kept = str(connection.execute(sa.select(schema.sessions)).all()) + str(
            connection.execute(sa.select(schema.settings)).all()
        )
    assert token not in kept
    assert "correct horse" not in kept
    raters.end(project.database, token)
    assert raters.find(project.database, token, now=1.0) is None


def test_a_new_password_logs_the_organiser_out(project, monkeypatch):
    token = raters.begin(project.database, None, now=0.0)
    assert raters.set_password(project.database) is None
    assert raters.find(project.database, token, now=1.0) is not None
    monkeypatch.setenv("TRANSECT_ADMIN_PASSWORD", "another horse")
    raters.set_password(project.database)
    assert raters.find(project.database, token, now=1.0) is None
    assert raters.is_password(project.database, "another horse")
    monkeypatch.delenv("TRANSECT_ADMIN_PASSWORD")
    assert raters.set_password(project.database) is None, "the one that was set stays"


def test_too_many_requests_of_one_session_are_refused():
    """60 at once, then 20 a second, for each session; made-up cookies share the address's 200."""
    now, sent = [0.0], []

    async def inner(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def send(message):
        if message["type"] == "http.response.start":
            sent.append(message["status"])

    async def nothing():
        return {"type": "http.disconnect"}

    guard = Guard(inner, frozenset(), False, {hash_of("ada"), hash_of("ben")}, clock=lambda: now[0])

    def ask(session, times):
        scope = {"type": "http", "method": "GET", "client": ("127.0.0.1", 1)}
        scope["headers"] = [(b"cookie", f"transect_rater={session}".encode())]
        for _ in range(times):
            asyncio.run(guard(scope, nothing, send))
        return sent[-times:]

    assert ask("ada", 61) == [200] * 60 + [429]
    assert ask("ben", 1) == [200], "another session is not held up"
    now[0] = 0.5
    assert ask("ada", 11) == [200] * 10 + [429]
    assert [ask(f"made-up-{i}", 1)[0] for i in range(201)] == [200] * 200 + [429]


def test_the_organiser_pauses_and_shuts_out(two, app, project):
    http = anybody(app)
    http.post("/admin/login", data={"password": "correct horse"})
    csrf = re.search(r'name="csrf" value="([^"]+)"', http.get("/admin").text)[1]
    assert http.post("/admin/pause", data={"csrf": csrf, "pause": "1"}).status_code == 303
    assert two[0].http.get("/api/tasks").json() == {"tasks": [], "answered": 0, "share": 5, "paused": True}
    assert "Paused: raters get no further tasks" in http.get("/admin").text
    http.post("/admin/pause", data={"csrf": csrf, "pause": "0"})
    assert len(two[0].tasks()) == 2
    assert http.post("/admin/raters/2", data={"csrf": csrf, "state": "excluded"}).status_code == 303
    assert two[1].http.get("/api/tasks").status_code == 401
    assert http.post("/admin/raters/9", data={"csrf": csrf, "state": "excluded"}).status_code == 404
    assert http.post("/admin/raters/1", data={"csrf": csrf, "state": "king"}).status_code == 400
    two[0].answer(two[0].tasks()[0])
    status = http.get("/api/admin/status").json()
    assert (status["answers"], status["raters"][0]["answers"], status["raters"][1]["state"]) == (1, 1, "excluded")
    assert http.post("/admin/logout", data={"csrf": csrf}).headers["location"] == "/admin/login"
    assert http.get("/admin").status_code == 303


@pytest.mark.parametrize("host", ["evil@localhost", "localhost, evil.example", "localhost:x", "localhost/", "[::1"])
def test_a_host_that_is_no_name_is_refused(app, host):
    client = TestClient(app, base_url="http://localhost:1")
    assert client.get("/health", headers={"host": "[::1]:8000"}).status_code == 200
    assert client.get("/health", headers={"host": host}).status_code == 400


def test_an_answer_that_cannot_be_stored_is_503_and_health_agrees_at_once(project, two, monkeypatch, capsys):
    first = two[0]
    assert first.http.get("/health").text == "ok"

    def full(database, work):
        raise Unusable("file", "no connection to db.example as carol")

    body = {"task": first.tasks()[0]["id"], "key": "key-12345", "value": 1}
    monkeypatch.setattr(type(project.database), "write", full)
    reply = first.send(body)
    assert reply.status_code == 503
    assert "the database is full or down" in reply.json()["detail"]
    assert "carol" not in reply.text, "names of servers and users are for who runs this"
    assert "carol" in capsys.readouterr().err
    assert first.http.get("/health").status_code == 503
    monkeypatch.undo()
    assert first.send(body).status_code == 200, "the same answer is taken later"


def test_health_says_whether_answers_can_be_stored(project, monkeypatch):
    """It said "ok" on a full disk. It tries at most every five seconds, whoever asks how often."""
    times, tries = [100.0], []

    def full(database, work):
        tries.append(times[0])
        raise Unusable("file", "no connection to db.example as carol")

    client = TestClient(create_app(project, clock=lambda: times[0]), base_url="http://localhost:1")
    assert (client.get("/health").status_code, client.get("/health").text) == (200, "ok")
    monkeypatch.setattr(type(project.database), "write", full)
    assert client.get("/health").status_code == 200
    times[0] = 106.0
    answer = client.get("/health")
    assert (answer.status_code, answer.text) == (503, "answers cannot be stored")
    assert client.get("/health").status_code == 503
    assert tries == [106.0]
    monkeypatch.undo()
    times[0] = 112.0
    assert client.get("/health").text == "ok"


def test_a_form_that_ends_early_is_no_error_of_the_server():
    """Whoever closes the connection within a form gets no reply, and the organiser no traceback."""
    messages = iter(
        [
            {"type": "http.request", "body": b"password=a", "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive():
        return next(messages)

    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    request = Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)
    with pytest.raises(HTTPException) as refused:
        asyncio.run(form_of(request))
    assert refused.value.status_code == 400


def test_a_body_that_is_said_to_be_large_is_refused_before_a_handler_acts():
    acted = []

    async def inner(scope, receive, send):
        acted.append(scope["path"])
        await PlainTextResponse("done")(scope, receive, send)

    client = TestClient(Guard(inner, frozenset(), secure=False, known=()), base_url=HOST)
    for length in (str(16 * 1024 + 1), "9" * 5000):
        headers = {"origin": HOST, "content-length": length}
        assert client.post("/api/again", content=b"x", headers=headers).status_code == 413
    assert not acted
    assert client.post("/api/again", content=b"x", headers={"origin": HOST}).status_code == 200
