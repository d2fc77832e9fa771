"""Debian's chromium, how it is started, and axe-core, which checks pages for accessibility."""

import shutil
import subprocess
from pathlib import Path

import pytest

CHROMIUM = Path("/usr/bin/chromium")


FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip


def axe_core(folder):
    """The text of axe-core, which npm installs into the folder; skips the test where npm cannot."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("needs axe-core from npm: apt-get install npm")
    done = subprocess.run(
        [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund", "--ignore-scripts", "axe-core@4"],
        capture_output=True, check=False, timeout=120,
    )  # fmt: skip
    if done.returncode:
        pytest.skip("needs axe-core from npm, which could not be reached")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text()
