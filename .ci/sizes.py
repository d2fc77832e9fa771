"""The installed size of Transect and of each extra, measured in this environment: `make sizes`.

usage: sizes.py [--write] [FOLDER …]. Nothing is installed: the libraries that each extra leads to are looked up, and
the sizes in their records of installation are added. FOLDER: more places with libraries, for those that this
environment lacks (pip install --no-deps --target FOLDER faiss-cpu timm torchvision). --write puts the table into the
guide on installing. Without it, exit code 1 where a row of the guide is missing, or off by more than half.
"""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any, Final

from dependencies import ROOT, environment, needed, project

PAGE: Final = ROOT / "docs" / "how-to" / "install.md"
BEGIN, END = "<!-- written by make sizes -->\n", "<!-- end of what make sizes wrote -->\n"
HEAD: Final = "| what | size | libraries | the largest |\n| --- | --- | --- | --- |\n"
BASE, TORCH = "`transect` without PyTorch", "PyTorch, and what it alone needs"
MOST: Final = 1.5
"""How many times as large as the guide says a part may be, or as small."""
LEAST: Final = 5e6
"""Bytes that a part may be off by in any case."""


@dataclass(frozen=True, slots=True)
class Row:
    """One part. size: bytes that it adds to the base, of the libraries that are there; libraries: how many those are.

    largest: the name and the size of the largest of them, or "". absent: libraries that are not there.
    """

    what: str
    size: int
    libraries: int
    largest: str
    absent: tuple[str, ...]

    def line(self) -> str:
        """The row as the guide has it."""
        if self.absent:
            return f"| {self.what} | not measured: {', '.join(self.absent)} not installed | | |\n"
        return f"| {self.what} | {megabytes(self.size)} | {self.libraries} | {self.largest} |\n"


def megabytes(size: float) -> str:
    """Millions of bytes, to two digits.

    >>> megabytes(754_321_000), megabytes(11_400_000), megabytes(40_000), megabytes(0)
    ('750 MB', '11 MB', '0.04 MB', '0 MB')
    """
    return f"{float(f'{size / 1e6:.2g}'):,g} MB"


def size_of(library: Distribution) -> int:
    """Bytes of a library's files as its record states them; sources count twice, for bytecode, which not all write."""
    files = [file for file in library.files or [] if file.suffix != ".pyc"]
    return sum((file.size or 0) * (2 if file.suffix == ".py" else 1) for file in files)


def measured(described: Mapping[str, Any], there: Mapping[str, Distribution], own: int) -> list[Row]:
    """The base, PyTorch, and what each extra adds to both.

    described: the table [project] of pyproject.toml. there: libraries by name. own: bytes of the project itself.
    """
    lines = described["dependencies"]
    base = needed(lines, described, there)
    slim = needed([line for line in lines if not line.startswith("torch>")], described, there)
    torch = {name: each for name, each in base.libraries.items() if name not in slim.libraries}
    rows = [_row(BASE, slim.libraries, slim.absent, own), _row(TORCH, torch, base.absent - slim.absent)]
    for extra, wanted in described["optional-dependencies"].items():
        found = needed(wanted, described, there)
        added = {name: each for name, each in found.libraries.items() if name not in base.libraries}
        rows.append(_row(f"`transect[{extra}]`", added, found.absent - base.absent))
    return rows


def _row(what: str, libraries: Mapping[str, Distribution], absent: set[str], own: int = 0) -> Row:
    sizes = {name: size_of(each) for name, each in libraries.items()}
    largest = max(sizes, key=lambda name: sizes[name], default="")
    shown = f"{largest}, {megabytes(sizes[largest])}" if largest else ""
    return Row(what, own + sum(sizes.values()), len(sizes), shown, tuple(sorted(absent)))


def table(rows: Sequence[Row]) -> str:
    """The rows as a table of the guide."""
    return HEAD + "".join(row.line() for row in rows)


def stated(page: str) -> dict[str, float]:
    """Bytes by part, as the guide states them; NaN for a part that is not measured there."""
    inside = page.partition(BEGIN)[2].partition(END)[0]
    cells = [[cell.strip() for cell in line.strip("| ").split("|")] for line in inside.removeprefix(HEAD).splitlines()]
    return {what: _bytes(size) for what, size, *_ in cells}


def _bytes(cell: str) -> float:
    number = cell.removesuffix(" MB").replace(",", "")
    return float(number) * 1e6 if cell.endswith(" MB") else float("nan")


def differences(rows: Sequence[Row], page: str, let_be: Sequence[str] = ()) -> list[str]:
    """What the guide states otherwise, a line each: rows, and sizes by far.

    Sizes of the parts in let_be, and of those that are not measured here or there, are not compared.
    """
    known = stated(page)
    names = [row.what for row in rows]
    found = [f"no row in the guide: {name}" for name in names if name not in known]
    found += [f"a row of the guide without an extra: {name}" for name in known if name not in names]
    for row in rows:
        size = known.get(row.what, float("nan"))
        low, high = size / MOST - LEAST, size * MOST + LEAST
        if not row.absent and row.what not in let_be and (row.size < low or row.size > high):
            found.append(f"{row.what}: {megabytes(row.size)} here, {megabytes(size)} in the guide")
    return found


def main(words: Sequence[str]) -> int:
    """Measure, and write or compare."""
    there = environment([word for word in words if word != "--write"])
    rows = rows_here(there)
    print(table(rows), end="")
    page = PAGE.read_text(encoding="utf-8")
    if "--write" in words:
        if absent := sorted({name for row in rows for name in row.absent}):
            raise SystemExit(f"--write: expected every library, got none of {', '.join(absent)}; see the usage")
        before, after = page.partition(BEGIN)[0], page.partition(END)[2]
        PAGE.write_text(before + BEGIN + table(rows) + END + after, encoding="utf-8")
        return 0
    found = differences(rows, page, let_be(there))
    for line in found:
        print(line)
    return int(bool(found))


def rows_here(there: Mapping[str, Distribution]) -> list[Row]:
    """The rows of this project. there: libraries by name."""
    return measured(project(), there, sum(path.stat().st_size for path in _source()))


def let_be(there: Mapping[str, Distribution]) -> Sequence[str]:
    """PyTorch, where it is a build for graphics cards: that has another size, which the guide says in words."""
    return () if "+cpu" in there["torch"].version else (TORCH,)


def _source() -> list[Path]:
    return [path for path in (ROOT / "src" / "transect").rglob("*") if path.is_file() and path.suffix != ".pyc"]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
