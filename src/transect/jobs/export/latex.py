"""Tables of an audit for a paper: LaTeX with booktabs, estimates with their intervals, names escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from transect.jobs.export.words import (
    cell,
    effect_cells,
    effect_headings,
    level,
    outcome,
    rate_numbers,
    tests,
)
from transect.runs.folder import write_atomically

_ESCAPES: Final = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "−": "$-$",
    "–": "--",
}


def escaped(text: str) -> str:
    """A text of others as LaTeX: nothing in it is a command, and it is one line."""
    return "".join(_ESCAPES.get(letter, letter) for letter in " ".join(text.split()))


def table(caption: str, label: str, headings: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> str:
    """A table with booktabs' rules. left: columns that are aligned to the left; the others are to the right."""
    columns = "l" * left + "r" * (len(headings) - left)
    lines = [" & ".join(map(escaped, row)) + r" \\" for row in rows]
    head = " & ".join(map(escaped, headings)) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{escaped(caption)}}}",
            rf"\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
            "",
        ]
    )


def write(results: Mapping[str, Any], out: Path) -> list[Path]:
    """Write effects.tex and rates.tex, for a document that uses booktabs."""
    texts = {"effects.tex": _effects(results), "rates.tex": _rates(results)}
    for name, text in texts.items():
        write_atomically(out / name, _HEAD + text)
    return [out / name for name in texts]


_HEAD: Final = "% needs \\usepackage{booktabs}\n"


def _effects(results: Mapping[str, Any]) -> str:
    rows = [effect_cells(row, results) for row in results["effects"]]
    caused = all(row["basis"] == "experimental" for row in results["effects"])
    what = "Effects of single attributes" if caused else "Differences between groups"
    caption = f"{what}: {results['title']}. {tests(results)}"
    return table(caption, "transect-effects", effect_headings(results), rows, 3)


def _rates(results: Mapping[str, Any]) -> str:
    rows = [
        [cell(row, results), row["target"], outcome(row, results), *rate_numbers(row), f"{row['n_images']:,}"]
        for row in results["rates"]
        if row["order"] <= 1
    ]
    headings = ["Images with", "Model", "Outcome", "Rate or mean", f"{level(results)} interval", "Images"]
    caption = f"Rates by level, shares in per cent: {results['title']}."
    return table(caption, "transect-rates", headings, rows, 3)
