"""Builds the documentation site: python -m tools.build_site [--no-reports] [--publish FOLDER].

Gathers the pages of docs/, README.md, CONTRIBUTING.md and CHANGELOG.md in build/pages, writes the pages that follow
from the program (every Python name, and the gallery of reports), and has Zensical build build/site as mkdocs.yml says;
a warning stops it. It reads no network, and neither does the site, which also works from the disk. --no-reports makes
the gallery without its reports. --publish also puts the site into FOLDER/VERSION and enters it in FOLDER/versions.json,
from which its menu of versions is made. Needs the extra docs.
"""

# ruff: noqa: S603 -- the only process is the builder

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import transect
from tools import report_gallery, site_reference

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
GATHERED: Final = ROOT / "build" / "pages"
SITE: Final = ROOT / "build" / "site"
PAGES: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}
"""Pages outside docs/, and where they are on the site."""
_KEPT: Final = frozenset({".md", ".jpg", ".png", ".svg", ".json", ".css", ".js"})
_LINK: Final = re.compile(r"(\]\()([^)#\s:]+)(?=[)#])")


def place_of(path: Path) -> str:
    """Where a file of the repository is on the site: pages and pictures as in docs/, other files under files/."""
    inside = path.relative_to(ROOT).as_posix()
    if inside in PAGES:
        return PAGES[inside]
    return inside.removeprefix("docs/") if path.is_relative_to(DOCS) else f"files/{inside}"


def gather(folder: Path) -> None:
    """Copy every page and picture into the folder, and every file that a page links to; links lead to their places."""
    found = sorted(path for path in DOCS.rglob("*") if path.is_file() and path.suffix in _KEPT)
    pending, done = [*(ROOT / name for name in PAGES), *found], set()
    while pending:
        path = pending.pop()
        if path not in done:
            done.add(path)
            pending += _copied(path, folder / place_of(path))


def _copied(path: Path, copy: Path) -> list[Path]:
    """Copy one file; returns the files that it links to."""
    copy.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix != ".md":
        shutil.copyfile(path, copy)
        return []
    text, linked = moved(path)
    copy.write_text(text, encoding="utf-8")
    return linked


def moved(page: Path) -> tuple[str, list[Path]]:
    """The text of a page with its links as they are on the site, and the files of the repository that it links to."""
    linked: list[Path] = []
    up = "../" * place_of(page).count("/")

    def place(match: re.Match[str]) -> str:
        target = (page.parent / match[2]).resolve()
        if not target.is_relative_to(ROOT) or not target.is_file():
            return match[0]
        linked.append(target)
        return f"{match[1]}{up}{place_of(target)}"

    return _LINK.sub(place, page.read_text(encoding="utf-8")), linked


def build(*, reports: bool = True, versions: bool = False) -> None:
    """Gather the pages and build the site. Raises SystemExit where Zensical warns.

    versions: whether pages look for a versions.json beside their folder.
    """
    shutil.rmtree(GATHERED, ignore_errors=True)
    shutil.rmtree(SITE, ignore_errors=True)
    gather(GATHERED)
    site_reference.write(GATHERED / "reference" / "api")
    gallery = GATHERED / "gallery"
    report_gallery.write(gallery) if reports else report_gallery.write_index(gallery)
    words = [
        sys.executable,
        "-m",
        "zensical",
        "build",
        "--clean",
        "--strict",
        "--config-file",
        str(ROOT / "mkdocs.yml"),
    ]
    settings = os.environ | {"SITE_VERSIONS": "mike" if versions else ""}
    done = subprocess.run(
        words, cwd=ROOT, env=settings, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    if done.returncode:
        raise SystemExit(f"the site was not built: expected no warning, got:\n{done.stdout}")


def publish(folder: Path, version: str) -> None:
    """Put the site into folder/version, and enter that version first in versions.json; other versions stay."""
    place = folder / version
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(SITE, place)
    listing = folder / "versions.json"
    known = json.loads(listing.read_text(encoding="utf-8")) if listing.exists() else []
    others = [entry for entry in known if entry["version"] != version]
    entry = {"version": version, "title": version, "aliases": []}
    listing.write_text(json.dumps([entry, *others], indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Build, and publish where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--no-reports", action="store_true", help="the gallery has no reports")
    parser.add_argument("--publish", type=Path, metavar="FOLDER", help="where the versions of the site are")
    asked = parser.parse_args()
    build(reports=not asked.no_reports, versions=asked.publish is not None)
    if asked.publish is not None:
        publish(asked.publish, transect.__version__)
    print(f"{SITE / 'index.html'}: open it in a browser")


if __name__ == "__main__":
    main()
