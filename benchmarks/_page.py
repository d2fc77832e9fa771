"""The page of all ratios: the newest run in a table, and each ratio over versions as a small drawing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, Final

from markupsafe import Markup

from transect.reports import builder
from transect.reports.blocks import Answer, Block, Facts, Page, Paragraph, Part, Plot, Plots, TextTable, summary
from transect.reports.drawing.svg import joined, tag
from transect.runs.wording import counted

WIDTH, HEIGHT, EDGE, NAMED = 300, 120, 14, 30
_ROUGH: Final = "The machine was busy when this run began (load {load} per core): ratios are rough, and not kept."
_QUICK: Final = "Sizes were those of a smoke test (--quick): the benchmarks run, and these ratios say nothing of speed."


def write(runs: Sequence[Mapping[str, Any]], folder: Path) -> Path:
    """Write benchmarks.html with the last run in full, and all runs over versions; returns its path."""
    return builder.write(page(runs), folder / "benchmarks.html")


def page(runs: Sequence[Mapping[str, Any]]) -> Page:
    """The page. runs: as the history has them, the newest last."""
    newest = runs[-1]
    parts = [_table(name, rows) for name, rows in groupby(newest["records"], key=lambda row: row["benchmark"])]
    over = Part("history", "Over versions", _history(runs))
    return Page("Benchmarks", (_head(newest), *parts, over), question="How fast is it, against a peer in the same run?")


def _head(run: Mapping[str, Any]) -> Part:
    machine = run["machine"]
    said = [f"{counted(len(run['records']), 'ratio')} of version {run['version']}, measured on {run['date']} (UTC)."]
    remarks = [_QUICK] if run["quick"] else []
    remarks += [] if run["quiet"] else [_ROUGH.format(load=machine["load"])]
    remarks += [f"Failed, and without all of their ratios: {', '.join(run['failed'])}."] if run["failed"] else []
    facts = [
        ("Processor", machine["processor"]),
        ("Cores", str(machine["cores"])),
        ("Memory", f"{machine['memory']} GiB"),
        ("System", machine["system"]),
        ("Python", machine["python"]),
        *machine["versions"].items(),
        ("Load per core before", str(machine["load"])),
    ]
    return summary(Answer(said, remarks), Facts(facts))


def _table(name: str, rows: Iterator[Mapping[str, Any]]) -> Part:
    lines = [[r["name"], _ratio(r["ratio"]), r["unit"], r["peer"], str(r["repeats"])] for r in rows]
    title = name.replace("_", " ")
    headings = ("what", "ratio", "unit", "peer", "repeats")
    return Part(name, title[0].upper() + title[1:], (TextTable(title, headings, lines, numbers=(1, 4)),))


def _ratio(value: float | None) -> str:
    """A number of three digits, as "0.0912" or "4,157".

    >>> _ratio(0.09123), _ratio(41.26), _ratio(4157.2), _ratio(None)
    ('0.0912', '41.3', '4,157', 'not estimable: the peer found nothing')
    """
    if value is None:
        return "not estimable: the peer found nothing"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _history(runs: Sequence[Mapping[str, Any]]) -> list[Block]:
    """A drawing for each ratio that two runs or more have; a paragraph where none has."""
    lines: dict[tuple[str, ...], list[tuple[str, float]]] = {}
    for run in runs:
        for row in run["records"]:
            key = row["benchmark"], row["name"], row["peer"], row["unit"]
            if row["ratio"] is not None:
                lines.setdefault(key, []).append((f"{run['version']}, {run['date'][:10]}", row["ratio"]))
    several = {key: line for key, line in lines.items() if len(line) > 1}
    if not several:
        return [Paragraph("There is one run so far: the drawings begin with the second.")]
    return [Plots([_plot(key, line) for key, line in several.items()], numbers=_numbers(several))]


def _plot(key: Sequence[str], line: Sequence[tuple[str, float]]) -> Plot:
    _, name, peer, unit = key
    first, last = line[0], line[-1]
    ends = f"{_ratio(first[1])} ({first[0]}) to {_ratio(last[1])} ({last[0]})"
    return Plot(f"{name}: {unit} against {peer}", drawing([ratio for _, ratio in line], ends), across=ends)


def drawing(ratios: Sequence[float], words: str) -> Markup:
    """A line of ratios from zero, oldest first, each with its point and the last with its number."""
    top = max(ratios)
    step = (WIDTH - 2 * EDGE - NAMED) / max(len(ratios) - 1, 1)
    points = [(EDGE + k * step, HEIGHT - EDGE - (HEIGHT - 2 * EDGE) * ratio / top) for k, ratio in enumerate(ratios)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    ground = tag("line", x1=EDGE, x2=WIDTH - EDGE, y1=HEIGHT - EDGE, y2=HEIGHT - EDGE, stroke="currentColor")
    line = tag("polyline", points=path, fill="none", stroke="currentColor", stroke_width=1.5)
    dots = [tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, fill="currentColor") for x, y in points]
    x, y = points[-1]
    number = tag("text", _ratio(ratios[-1]), x=f"{x + 6:.1f}", y=f"{y + 4:.1f}", fill="currentColor", font_size=12)
    inner = joined([tag("title", words), ground, line, *dots, number])
    return tag("svg", inner, viewBox=f"0 0 {WIDTH} {HEIGHT}", role="img", aria_label=words)


def _numbers(lines: Mapping[tuple[str, ...], Sequence[tuple[str, float]]]) -> TextTable:
    rows = [[*key, when, repr(ratio)] for key, line in lines.items() for when, ratio in line]
    return TextTable("Ratios over versions", ("benchmark", "what", "peer", "unit", "version and date", "ratio"), rows)


def now() -> str:
    """The time of this run, in UTC, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M")
