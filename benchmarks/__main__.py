"""Every benchmark, one after another: python -m benchmarks [--quick] [--only NAME …] [--out FOLDER] [--keep].

Each prints a table of ratios against a peer in the same run. All ratios go to one page, FOLDER/benchmarks.html, with
the machine described, and each of them drawn over the runs of benchmarks/history.json. --keep adds this run to that
file, unless the machine was busy when it began or sizes were those of --quick. Exit 1 where a benchmark fails.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from benchmarks._machine import Machine, this_machine
from benchmarks._records import FILE

import transect
from benchmarks import _page

HERE: Final = Path(__file__).parent
HISTORY: Final = HERE / "history.json"
SMALL: Final[dict[str, tuple[str, ...]]] = {
    "audit": ("--images", "120", "--sizes", "64", "--repeats", "1"),
    "faceworld": ("--images", "8", "--subjects", "0"),
    "inversion": ("--images", "2", "--steps", "6", "--samples", "40"),
    "large_run": ("--images", "200"),
    "scale": ("--images", "512", "--sizes", "64", "--repeats", "1"),
    "search": ("--kinds", "random,active", "--shapes", "one box", "--rates", "0.08", "--seeds", "1", "--no-times"),
    "search_curves": ("--seeds", "1", "--calls", "20"),
    "search_explorations": ("--designs", "6", "--targets", "4"),
    "search_half": ("--seeds", "2", "--calls", "16"),
    "search_rate": ("--searches", "1"),
    "search_soft": ("--subjects", "500", "--seeds", "2"),
    "search_spaces": ("--seeds", "1"),
    "search_target": ("--budget", "20", "--repeats", "1", "--methods", "random,ours"),
    "view": ("--images", "200"),
}
"""What makes benchmarks small that have options for it; the others read --quick."""


def names() -> list[str]:
    """The benchmarks by name."""
    return sorted(path.stem for path in HERE.glob("[a-z]*.py"))


def run_one(name: str, quick: bool, records: Path) -> int:
    """Run one benchmark in a process of its own; returns its exit status. Its ratios are added to the file."""
    words = [*SMALL.get(name, ()), *(["--quick"] if name not in SMALL else [])] if quick else []
    variables = os.environ | {FILE: str(records)}
    with tempfile.TemporaryDirectory() as place:  # some keep what they rendered where they run
        command = [sys.executable, str(HERE / f"{name}.py"), *words]
        return subprocess.run(command, check=False, env=variables, cwd=place).returncode


def run_all(chosen: list[str], quick: bool, machine: Machine) -> dict[str, Any]:
    """Run the benchmarks; the run as the history keeps it."""
    found: list[dict[str, Any]] = []
    failed = []
    for name in chosen:
        print(f"\n{name}\n", flush=True)
        with tempfile.TemporaryDirectory() as place:
            records = Path(place) / "records.jsonl"
            if run_one(name, quick, records):
                failed.append(name)
            lines = records.read_text(encoding="utf-8").splitlines() if records.exists() else []
        found += [{"benchmark": name, **json.loads(line)} for line in lines]
    return {
        "version": transect.__version__,
        "date": _page.now(),
        "quick": quick,
        "quiet": machine.quiet,
        "machine": asdict(machine),
        "failed": failed,
        "records": found,
    }


def kept(history: Path) -> list[dict[str, Any]]:
    """The runs of the history, the oldest first."""
    return json.loads(history.read_text(encoding="utf-8")) if history.exists() else []


def keep(run: dict[str, Any], history: Path) -> str:
    """Add the run to the history, unless its ratios say little; returns what was done, in a sentence."""
    if run["quick"] or not run["quiet"]:
        why = "its sizes were small" if run["quick"] else f"the machine was busy, {run['machine']['load']} per core"
        return f"not kept in {history.name}: {why}"
    history.write_text(json.dumps([*kept(history), run], indent=1) + "\n", encoding="utf-8")
    return f"kept in {history.name}"


def main() -> int:
    """Run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test")
    parser.add_argument("--only", nargs="+", choices=names(), metavar="NAME", help="run these alone")
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"), help="the folder of the page")
    parser.add_argument("--keep", action="store_true", help="add this run to the history, if the machine is quiet")
    asked = parser.parse_args()
    run = run_all(asked.only or names(), asked.quick, this_machine())
    page = _page.write([*kept(HISTORY), run], asked.out)
    if asked.keep:
        print(keep(run, HISTORY))
    print(f"{len(run['records'])} ratios: {page}")
    return int(bool(run["failed"]))


if __name__ == "__main__":
    sys.exit(main())
