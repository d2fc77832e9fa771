"""Debian's chromium, and how it is started."""

from pathlib import Path

CHROMIUM = Path("/usr/bin/chromium")


FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
