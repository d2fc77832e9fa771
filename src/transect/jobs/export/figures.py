"""The figures of a run's pages as files: SVG, PNG, and their numbers as CSV."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from transect.errors import BadInput, MissingExtra
from transect.reports.drawing.standalone import FONT
from transect.reports.saving import SavedFigure, saved_figures
from transect.runs.folder import write_atomically

_SCALE: Final = 2
"""Pixels of the PNG for each of the SVG."""
_PROBE: Final = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20">{}</svg>'
"""A small picture that has pixels only if there is a font for its letter."""


def pages_of(run: Path) -> list[Path]:
    """The pages in a folder by name, or the page itself. Raises BadInput where there is none."""
    pages = sorted(run.glob("*.html")) if run.is_dir() else [run] if run.suffix == ".html" and run.is_file() else []
    if not pages:
        raise BadInput(f"{run}: expected a folder with a page of Transect, as report.html, or such a page; found none")
    return pages


def write(run: Path, out: Path) -> list[Path]:
    """Write every figure of the pages; names are numbered in the order of the page.

    Raises MissingExtra without the library that makes pixels, BadInput where no page has a figure.
    """
    figures = list(_figures(run))
    if not figures:
        raise BadInput(f"{run}: expected a page with figures that can be saved, found none; write the page again")
    paths = []
    for stem, figure in figures:
        content: dict[str, str | bytes] = {"svg": figure.svg, "png": png(figure.svg)}
        if figure.csv:
            content["csv"] = figure.csv
        for suffix, data in content.items():
            path = out / f"{stem}.{suffix}"
            write_atomically(path, data)
            paths.append(path)
    return paths


def _figures(run: Path) -> Iterator[tuple[str, SavedFigure]]:
    for page in pages_of(run):
        try:
            text = page.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise BadInput(f"{page}: expected a page of Transect in UTF-8; it cannot be read") from None
        for number, figure in enumerate(saved_figures(text), start=1):
            yield f"{page.stem}-{number:02d}-{figure.name}", figure


def png(svg: str) -> bytes:
    """The picture of an SVG, at twice its size."""
    try:
        import resvg_py
    except ImportError:
        raise MissingExtra("figures", "a figure as PNG") from None
    letter = f'<text x="2" y="16" font-family="{FONT}">A</text>'
    if _pixels(resvg_py, _PROBE.format("")) == _pixels(resvg_py, _PROBE.format(letter)):
        raise BadInput("figures as PNG: expected a font for letters, found none; install one, as fonts-dejavu-core")
    return _pixels(resvg_py, svg)


def _pixels(library: Any, svg: str) -> bytes:
    return bytes(library.svg_to_bytes(svg_string=svg, zoom=_SCALE))
