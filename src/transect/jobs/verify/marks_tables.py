"""The figures of a finder of marks as short tables."""

from __future__ import annotations

from collections.abc import Iterator

from transect.jobs.verify.marks import MarksFigures


def tables_of(figures: MarksFigures) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """Title, headings and rows: groups, parts, the difference between tones, and why pictures are left out."""
    headings = ["group", "level", "pictures", "left out", "share", "95 %", figures.measure.strip(" ,"), "95 %"]
    rows = [
        [
            *(row.group, row.level, f"{row.pictures:,}", f"{row.left_out:,}", _short(row.share)),
            *(_ends(row.share_low, row.share_high), _short(row.value), _ends(row.low, row.high)),
        ]
        for row in figures.groups
    ]
    yield f"{figures.source}: pictures that are left out, and the others' {figures.measure.strip(' ,')}", headings, rows
    parts = [
        [row.part, row.measure, f"{row.pictures:,}", _short(row.value), _ends(row.low, row.high)]
        for row in figures.parts
    ]
    yield "Parts", ["part", "measure", "pictures", "mean", "95 %"], parts
    if figures.differences:
        changes = [
            [row.what.strip(" ,"), f"{row.subjects:,}", _short(row.value), _ends(row.low, row.high)]
            for row in figures.differences
        ]
        yield "Darkest tone less lightest, same subjects", ["what", "subjects", "difference", "95 %"], changes
    lost = [[reason, f"{count:,}"] for reason, count in figures.reasons.items()]
    lost += [["not counted: no marks are known", f"{figures.without_truth:,}"]] if figures.without_truth else []
    if lost:
        yield "Pictures that are left out", ["reason", "pictures"], lost


def _short(value: float | None) -> str:
    return "not estimable" if value is None else f"{value:.3f}"


def _ends(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.3f} to {high:.3f}"
