"""Whole audits against text that cannot be written, or that a terminal would obey: counted, reported, run again."""

import io

import pytest
from commands import refused, run_here
from hostile_server import SECRET, serving, write
from PIL import Image

AUDIT = ("--vary", "glasses=0,1", "--subjects", "3", "--size", "32", "--max-failures", "1")


def audited(target, out):
    """Both runs of an audit, and what it wrote."""
    runs = [run_here("audit", str(target), *AUDIT, "--out", str(out), "--json") for _ in range(2)]
    return runs, (out / "results.json").read_text(encoding="utf-8"), (out / "report.html").read_text(encoding="utf-8")


@pytest.mark.integration
@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("audited:raises_unspeakable", "raised _Unspeakable"),
        ("audited:raises_escapes", "raised RuntimeError: half � a pair "),
    ],
)
def test_an_exception_is_a_reason_on_this_and_later_runs(target, reason, tmp_path):
    runs, results, page = audited(target, tmp_path / "run")
    assert [done.returncode for done in runs] == [0, 0], runs[0].stderr
    assert reason.strip() in results
    assert reason.strip() in page
    assert not {"\x1b", "\x9b", "\x07"} & set("".join((*(d.stdout + d.stderr for d in runs), results, page)))


def test_a_servers_half_pair_is_a_reason_on_this_and_later_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("ACME_KEY", SECRET)
    with serving(lambda number, body: {"body": b'{"\\ud800":1, "\\u001b[2J": 2}'}) as server:
        file = write(tmp_path, server.url)
        runs, results, _ = audited(file, tmp_path / "run")
    assert [done.returncode for done in runs] == [0, 0], runs[0].stderr
    assert "the answer has � (number)" in results
    assert "\x1b" not in results


def test_names_of_the_user_reach_no_terminal(tmp_path):
    for name in ("\x1b[2J\x07[/b]", "\udcff"):
        line = refused("audit", f"onnx:{name}.onnx", "--vary", "glasses=0,1", "--out", str(tmp_path / "run"))
        assert line.isprintable()
        line.encode()


def test_a_file_name_that_is_not_utf8_is_refused_in_one_line(tmp_path):
    (tmp_path / "faces").mkdir()
    png = io.BytesIO()
    Image.new("RGB", (64, 64)).save(png, "PNG")
    for name in ("\udcff.png", "a.png", "b.png"):
        (tmp_path / "faces" / name).write_bytes(png.getvalue())
    (tmp_path / "faces" / "labels.csv").write_text("file,smile\na.png,0\nb.png,1\n")
    line = refused("audit", "audited:brightness", "--dataset", f"folder:{tmp_path / 'faces'}")
    assert "expected a file name in UTF-8, got other bytes; rename the file" in line
