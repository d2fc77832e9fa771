"""What the page's server answers: to whom, about which rows, with which pictures, and what it refuses."""

import csv
import functools
import io
import os
import signal
import socket
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image
from viewed_run import NAN, color_of, make_viewed

pytest.importorskip("fastapi", reason="needs the viewer: pip install 'transect[view]'")

from fastapi.testclient import TestClient

import transect
from transect.errors import BadInput
from transect.jobs.view import server
from transect.jobs.view.index import NOT_ASKED, read_folder
from transect.jobs.view.server import create_app
from transect.runs.folder import RunFolder, read_record

TOKEN = "a token of the test"
ONE = [0.1, 0.2, 0.9, 0.8, 0.6, NAN, 0.7, 0.4, 0.3, 0.3, 0.2, 0.1]
OTHER = [0.1, 0.9, 0.9, 0.1, 0.6, 0.6, 0.7, 0.4, 0.3, 0.3, NAN, 0.9]


def browser(folder, token=TOKEN):
    """A client that opened the printed address."""
    app = create_app(read_folder(folder), TOKEN)
    http = TestClient(app, base_url="http://127.0.0.1:8010", follow_redirects=False, raise_server_exceptions=False)
    if token:
        http.get("/", params={"token": token})
    return http


@pytest.fixture(scope="module")
def http(tmp_path_factory):
    return browser(make_viewed(tmp_path_factory.mktemp("viewed") / "run", {"one": ONE, "other": OTHER}))


def answer(http, path, **parameters):
    reply = http.get(path, params=parameters)
    assert reply.status_code == 200, reply.text
    return reply.json()


def test_whoever_has_no_token_sees_nothing(tmp_path):
    http = browser(make_viewed(tmp_path / "run", {"one": ONE}), token="")
    closed = http.get("/")
    assert closed.status_code == 401
    assert "Open the printed address first" in closed.text
    assert http.get("/", params={"token": "a guess"}).status_code == 401
    paths = ("/api/about", "/api/images", "/api/pairs", "/api/transcripts", "/api/subject?run=run&subject=0", "/api/image?run=run&id=0-0000",
             "/pictures/0/0", "/thumbnails/0/0", "/export.csv", "/export.parquet", "/export.png")  # fmt: skip
    assert [http.get(path).status_code for path in paths] == [401] * len(paths)
    assert http.post("/api/again").status_code == 401


def test_transcripts_are_what_was_asked_and_said_of_the_images_that_pass(canonical):
    """As the run's table of answers has it; a question that was not asked of another target's images has none."""
    run = canonical("words")
    http, target = browser(run), "biased/role"
    about = answer(http, "/api/about")
    assert all(each["words"] for each in about["targets"])
    found = answer(http, "/api/transcripts", target=target, **{"where.tone": "1"})
    kept = pq.read_table(run / "answers" / "biased-role" / "part-00000.parquet").to_pylist()
    assert (found["count"], len(found["lines"])) == (120, server.MOST_TRANSCRIPTS)
    for line in found["lines"][:20]:
        own = [row for row in kept if row["id"] == line["id"]]
        assert "tone dark" in line["caption"]
        assert [one["text"] for one in line["texts"]] == [row["text"] for row in own]
        assert [one["status"] for one in line["texts"]] == [row["status"] for row in own]
        assert {one["read"] for one in line["texts"]} <= {"hire", "reject", "wait", "refusal"}
    last = answer(http, "/api/transcripts", target=target, start=100, **{"where.tone": "1"})
    assert len(last["lines"]) == 20


def test_a_target_without_words_has_no_transcripts(http):
    assert [line["texts"] for line in answer(http, "/api/transcripts")["lines"]] == [[]] * len(ONE)


def test_wrong_answers_come_first_where_they_are_asked_for(tmp_path):
    folder = make_viewed(tmp_path / "run", {"one": ONE})
    with transect.view(folder, wrong=True) as page:
        assert page.url.endswith("&target=one&verdict=wrong")
    folder = make_viewed(tmp_path / "other", {"one": ONE}, truth=None)
    with pytest.raises(BadInput, match="wrong: expected a run with a wrong answer"):
        transect.view(folder, wrong=True)


def test_the_token_leaves_the_address_and_the_rest_of_it_stays(tmp_path):
    http = browser(make_viewed(tmp_path / "run", {"one": ONE}), token="")
    reply = http.get("/", params={"token": TOKEN, "view": "pairs", "where.smile": "1"})
    assert (reply.status_code, reply.headers["location"]) == (303, "/?view=pairs&where.smile=1")
    cookie = reply.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert http.get("/").status_code == 200


def test_a_browser_may_run_nothing_but_the_pages_own_files(http):
    page = http.get("/")
    policy = page.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self';")
    assert "unsafe" not in policy
    assert page.headers["x-content-type-options"] == "nosniff"
    for text in (page.text, http.get("/").text):
        assert "<script>" not in text
        assert "style=" not in text
        assert "http://" not in text.replace("http://127.0.0.1", "")
        assert "https://" not in text
    assert http.get("/", headers={"host": "evil.example"}).status_code == 400
    assert http.post("/api/again", headers={"origin": "http://evil.example"}).status_code == 403


@pytest.mark.parametrize("path", ["/static/..%2fserver.py", "/static/"])
def test_no_other_file_is_served(http, path):
    assert http.get(path).status_code == 404


def test_images_pass_the_filters_of_the_address(http):
    found = answer(http, "/api/images", target="one", verdict="wrong", sort="score", down="1")
    assert found["count"] == 4
    assert [line["id"] for line in found["lines"]] == ["1-0000", "1-0003", "2-0002", "2-0003"]
    first = found["lines"][0]
    assert first["caption"] == "smile 0, glasses off"
    assert first["said"] == {"asked": True, "answer": True, "score": 0.6, "right": False, "reason": ""}
    assert first["by"] == 0.6
    failed = answer(http, "/api/images", target="one", answer="none")["lines"]
    assert [line["said"]["reason"] for line in failed] == ["failed: timed out"]
    assert [line["id"] for line in answer(http, "/api/images", start=10)["lines"]] == ["2-0002", "2-0003"]


def shown(http, kind, line):
    reply = http.get(f"/{kind}/{line['row']}/{line['digest']}")
    assert reply.status_code == 200
    return np.asarray(Image.open(io.BytesIO(reply.content)))


def test_a_row_has_its_own_picture(http):
    for row in (0, 7, 11):
        line = answer(http, "/api/images", start=row)["lines"][0]
        assert (shown(http, "pictures", line) == color_of(row)).all()
        assert np.abs(shown(http, "thumbnails", line).astype(int) - color_of(row)).max() <= 3, "JPEG"
        assert http.get(f"/pictures/{row}/0000000000000000").status_code == 404
    assert http.get("/pictures/12/0000000000000000").status_code == 422


def test_the_selection_leaves_as_csv_parquet_and_sheet(http):
    asked = {"target": "one", "verdict": "wrong"}
    table = list(csv.DictReader(io.StringIO(http.get("/export.csv", params=asked).text)))
    assert [row["id"] for row in table] == ["1-0000", "1-0003", "2-0002", "2-0003"]
    assert [row["one: answer"] for row in table] == ["1", "0", "0", "0"]
    assert [row["glasses"] for row in table] == ["0", "1", "0", "1"]
    same = pq.read_table(pa.BufferReader(http.get("/export.parquet", params={"target": "one"}).content))
    assert same["one: score"].to_pylist()[:6] == [0.1, 0.2, 0.9, 0.8, 0.6, None]
    assert same["one: no answer because"].to_pylist()[4:6] == [None, "failed: timed out"]
    sheet = np.asarray(Image.open(io.BytesIO(http.get("/export.png", params=asked).content)))
    present = {tuple(color) for color in sheet.reshape(-1, 3).tolist()}
    assert {color_of(row) for row in (4, 7, 10, 11)} <= present
    assert color_of(5) not in present


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("/api/images?where.smile=x", "smile: expected a number, got 'x'"),
        ("/api/images?subject=99999999999999999999", "subject: expected a whole number"),
        ("/api/images?target=zzz", "unknown target 'zzz': "),
        ("/api/pairs?by=smile&left=0&right=1&beside=zzz", "unknown target 'zzz': "),
        ("/export.csv?target=zzz", "unknown target 'zzz': "),
        ("/api/images?start=-1", "query.start: expected another value"),
        ("/api/subject?run=run&subject=7", "expected a subject's number, got 7"),
    ],
)
def test_a_wrong_address_is_told_in_one_line(http, address, message):
    reply = http.get(address)
    assert reply.status_code == 422
    assert message in reply.json()["detail"]
    assert "\n" not in reply.json()["detail"]


def test_a_run_that_is_being_made_shows_its_finished_parts_and_the_rest_later(tmp_path):
    make_viewed(tmp_path / "run", {"one": ONE}, per_part=1, image_parts=2, answer_parts=1)
    http = browser(tmp_path / "run")
    about = answer(http, "/api/about")
    assert about["runs"][0]["unfinished"] == "8 of 12 images finished"
    lines = answer(http, "/api/images")["lines"]
    assert [line["said"]["reason"] for line in lines[3:5]] == ["", NOT_ASKED]
    assert lines[3]["said"]["right"] is True
    assert answer(http, "/api/images", answer="none", target="one")["count"] == 0, "not asked is no missing answer"
    make_viewed(tmp_path / "run", {"one": ONE}, per_part=1)
    assert http.post("/api/again").json()["runs"][0]["unfinished"] == ""
    assert answer(http, "/api/images")["count"] == 12
    assert answer(http, "/api/images", answer="none", target="one")["count"] == 1


def test_other_folders_are_left_out_with_their_reasons(tmp_path):
    make_viewed(tmp_path / "good", {"one": ONE})
    make_viewed(tmp_path / "empty", {"one": ONE}, image_parts=0)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "run.json").write_text("{")
    make_viewed(tmp_path / "cut", {"one": ONE})
    part = tmp_path / "cut" / "images" / "part-00000.parquet"
    part.write_bytes(part.read_bytes()[:200])
    about = answer(browser(tmp_path), "/api/about")
    assert [run["name"] for run in about["runs"]] == ["good"]
    reasons = {each["name"]: each["reason"] for each in about["left_out"]}
    assert "it has no finished image yet" in reasons["empty"]
    assert "is not a valid record of a run" in reasons["broken"]
    assert "is damaged" in reasons["cut"]


def test_studies_and_runs_of_studies_are_found_by_name(tmp_path):
    make_viewed(tmp_path / "a" / "studies" / "face", {"one": ONE})
    make_viewed(tmp_path / "a" / "studies" / "smile", {"two": OTHER})
    make_viewed(tmp_path / "b", {"one": OTHER}, seed=1)
    assert [run.name for run in read_folder(tmp_path).runs] == ["a/face", "a/smile", "b"]
    assert [run.name for run in read_folder(tmp_path / "a").runs] == ["face", "smile"]
    index = read_folder(tmp_path)
    assert np.isnan(index.answers["two"].score[:12]).all()
    assert index.asks_same("one") == ("one", "two")


def test_a_changed_part_or_a_picture_that_is_none_is_not_sent(tmp_path):
    make_viewed(tmp_path / "run", {"one": ONE})
    http = browser(tmp_path / "run")
    line = answer(http, "/api/images")["lines"][0]
    part = tmp_path / "run" / "images" / "part-00000.parquet"
    rows = pq.read_table(part)
    other = rows.set_column(rows.column_names.index("image"), "image", pa.array([b"<svg onload=alert(1)>"] * len(rows)))
    pq.write_table(other, part)
    reply = http.get(f"/pictures/{line['row']}/{line['digest']}")
    assert reply.status_code == 409
    assert "is damaged" in reply.json()["detail"]
    with _again(tmp_path / "run") as folder:
        folder.write_part("images", 0, other)
    reply = browser(tmp_path / "run").get(f"/thumbnails/{line['row']}/{line['digest']}")
    assert reply.status_code == 422
    assert reply.json()["detail"].startswith("run: 0-0000: expected an image, got a different kind of file")
    assert "svg" not in reply.headers["content-type"]


def _again(folder):
    return RunFolder(folder, read_record(folder))


def test_text_of_others_is_cleaned(tmp_path):
    hostile = "<img src=x onerror=alert(1)>\u202e\x1b[2J"
    make_viewed(tmp_path / "run", {}, levels={}, subjects=2, ids={0: hostile, 1: "b"})
    http = browser(tmp_path / "run")
    line = answer(http, "/api/images")["lines"][0]
    assert line["name"] == line["caption"] == "<img src=x onerror=alert(1)>"
    assert "\u202e" not in http.get("/api/images").text
    assert answer(http, "/api/image", run="run", id=line["id"])["row"] == 0


def test_python_serves_until_closed(tmp_path):
    make_viewed(tmp_path / "run", {"one": ONE})
    with transect.view(tmp_path / "run") as page:
        assert page.headline() == "12 images of 1 run in run"
        assert page.url.startswith(f"http://127.0.0.1:{page.port}/?token=")
        assert "open the page" in page._repr_html_()
    with socket.socket() as free:
        assert free.connect_ex(("127.0.0.1", page.port)) != 0


@pytest.mark.integration
@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_the_command_prints_where_the_page_is_and_ends_at_ctrl_c(tmp_path):
    make_viewed(tmp_path / "run", {"one": ONE}, image_parts=1)
    command = [sys.executable, "-m", "transect", "view", str(tmp_path / "run"), "--port", "0", "--no-browser"]
    # A shell in the background ignores Ctrl-C, and what it starts does too.
    heard = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heard)
    try:
        lines = [process.stdout.readline().strip() for _ in range(2)]
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert lines[0].startswith("8 images of 1 run in run: open http://127.0.0.1:")
    assert lines[1] == "run is not finished: 8 of 12 images finished"
    assert (process.returncode, said.splitlines()) == (0, ["reading run: 12 images …", "stopped"])


def test_a_sheet_has_a_bound(http, monkeypatch):
    monkeypatch.setattr(server, "MOST_ON_A_SHEET", 3)
    sheet = np.asarray(Image.open(io.BytesIO(http.get("/export.png").content)))
    present = {tuple(color) for color in sheet.reshape(-1, 3).tolist()}
    assert {color_of(row) for row in range(3)} <= present
    assert color_of(3) not in present
