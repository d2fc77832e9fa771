"""Records of benchmarks: one form, one page, and a history that only quiet machines write."""

import json
import math
import os
import re
import subprocess
import sys

import pytest
from places import ROOT

from benchmarks import __main__ as command
from benchmarks import _machine, _page, _records

MACHINE = _machine.Machine("Chip 9000", 2, 7.6, "Linux on x86_64", "3.11.2", {"numpy": "2.3.0"}, 0.1)


def run(version, ratio, *, quick=False, load=0.1, failed=()):
    """A run with one ratio, as the history has it."""
    found = {
        "benchmark": "effects",
        "name": "BCa <b>",
        "peer": "SciPy",
        "ratio": ratio,
        "unit": "times as fast",
        "repeats": 3,
    }
    machine = {"processor": "Chip 9000", "cores": 2, "memory": 7.6, "system": "Linux", "python": "3.11.2",
               "versions": {"numpy": "2.3.0"}, "load": load}  # fmt: skip
    return {
        "version": version, "date": "2026-11-26 03:00", "quick": quick, "quiet": load <= _machine.QUIET,
        "machine": machine, "failed": list(failed), "records": [found],
    }  # fmt: skip


def text_of(runs):
    return re.sub(r"\s+", " ", str(_page.builder.build(_page.page(runs))))


def test_a_benchmark_alone_keeps_nothing(monkeypatch, tmp_path):
    monkeypatch.delenv(_records.FILE, raising=False)
    monkeypatch.chdir(tmp_path)
    _records.record("a", "b", 2.0, _records.FASTER, 1)
    assert list(tmp_path.iterdir()) == []


def test_records_are_lines_and_what_is_not_estimable_is_null(monkeypatch, tmp_path):
    monkeypatch.setenv(_records.FILE, str(tmp_path / "r.jsonl"))
    _records.record("a", "b", 2.5, _records.FASTER, 3)
    _records.record("c", "d", math.nan, _records.LONGER, 1)
    first, second = map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines())
    assert first == {"name": "a", "peer": "b", "ratio": 2.5, "unit": "times as fast", "repeats": 3}
    assert second["ratio"] is None


def test_the_history_takes_quiet_runs_of_full_size_alone(tmp_path):
    history = tmp_path / "history.json"
    assert "machine was busy, 3.0 per core" in command.keep(run("0.1.0", 2.0, load=3.0), history)
    assert "sizes were small" in command.keep(run("0.1.0", 2.0, quick=True), history)
    assert not history.exists()
    assert command.keep(run("0.1.0", 2.0), history) == "kept in history.json"
    command.keep(run("0.2.0", 3.0), history)
    assert [one["version"] for one in command.kept(history)] == ["0.1.0", "0.2.0"]


def test_the_page_has_every_ratio_its_peer_and_the_machine_and_escapes_names():
    page = text_of([run("0.1.0", 41.26)])
    assert "BCa &lt;b&gt;" in page
    assert ">41.3<" in page
    for words in ("SciPy", "Chip 9000", "7.6 GiB", "1 ratio of version 0.1.0", "There is one run so far"):
        assert words in page
    assert "busy" not in page


def test_the_page_says_what_makes_a_run_rough():
    page = text_of([run("0.1.0", None, quick=True, load=4.5, failed=["view"])])
    for words in ("load 4.5 per core", "smoke test", "without all of their ratios: view", "not estimable"):
        assert words in page


def test_ratios_are_drawn_over_versions_from_zero():
    """Two runs, 10 and 20: the second point is at the top, the first halfway between it and the ground."""
    drawn = str(_page.drawing([10.0, 20.0], "words"))
    (points,) = re.findall(r'points="([^"]+)"', drawn)
    (x1, y1), (x2, y2) = (map(float, point.split(",")) for point in points.split())
    ground = _page.HEIGHT - _page.EDGE
    assert y2 == _page.EDGE
    assert y1 - y2 == pytest.approx((ground - y2) / 2)
    assert x1 < x2
    page = text_of([run("0.1.0", 10.0), run("0.2.0", 20.0)])
    assert "10 (0.1.0, 2026-11-26) to 20 (0.2.0, 2026-11-26)" in page


def test_the_machine_is_described_without_its_name(tmp_path):
    import platform

    machine = _machine.this_machine()
    assert machine.cores >= 1
    assert machine.memory > 0
    assert set(machine.versions) == set(_machine.LIBRARIES)
    assert platform.node() not in repr(machine) or not platform.node()
    listing = tmp_path / "cpuinfo"
    listing.write_text(
        "processor : 0\nmodel name\t: Chip 9000 @ 2 GHz\nprocessor : 1\nmodel name\t: Chip 9000 @ 2 GHz\n"
    )
    assert _machine.processor_model(listing) == "Chip 9000 @ 2 GHz"


def test_every_benchmark_records_its_ratios_and_has_a_small_size():
    """Explorations compare designs by differences, and large runs are held to marks: neither has a ratio."""
    without = {"search_explorations", "large_run", "scale"}
    for name in command.names():
        text = (ROOT / "benchmarks" / f"{name}.py").read_text()
        assert ("record(" in text) == (name not in without), name
        assert name in command.SMALL or "QUICK" in text or '"--quick"' in text, name
    assert set(command.SMALL) <= set(command.names())


@pytest.mark.slow
def test_every_benchmark_can_be_imported():
    """What it imports may have moved since it last ran."""
    code = "import runpy, sys; [runpy.run_path(path, run_name='read') for path in sys.argv[1:]]"
    paths = [str(ROOT / "benchmarks" / f"{name}.py") for name in command.names()]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "benchmarks"), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code, *paths], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
