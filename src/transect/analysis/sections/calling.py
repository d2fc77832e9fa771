"""The section on calls: how many a metered target was sent, how many were repeated, and why calls failed."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from transect.analysis.sections.answers import table
from transect.experiment.calls import TargetCalls, read
from transect.reports.records import Section, Table
from transect.reports.wording import short_name

_TEXT: Final = (
    "Each image is asked about once, and its answer is kept. A call is repeated only where its status says that "
    "another try can help (HTTP 429 and 5xx), or where the connection failed; never because of what the image shows.",
    "The counts are of all runs that share this target's file of answers and its request. Repeated questions about "
    "canaries are left out.",
)

_SHARED: Final = "The calls are of all questions that this model was asked: each text about each image is a call."


def section(kept: TargetCalls) -> Section:
    """The section of one target, from what a run keeps of its calls."""
    counts = kept.counts
    return Section(
        key="calls",
        target=kept.target,
        title=f"Calls to {short_name(kept.target)}",
        text=[_headline(kept), *([_SHARED] if kept.in_words else []), *_TEXT],
        warnings=[],
        figures=[],
        tables=[_calls(kept), *([_failed(kept)] if counts.failed else [])],
        sources=[],
    )


def sections(folder: Path) -> list[Section]:
    """The section of each target of a run that counts its calls. Raises BadInput for a broken file of counts."""
    return [section(kept) for kept in read(folder)]


def _headline(kept: TargetCalls) -> str:
    counts = kept.counts
    missing = counts.images - counts.answered
    retries = "no call was repeated" if not counts.retries else f"{counts.retries:,} repeated an earlier one"
    asked = "text" if kept.in_words else "image"
    without = f"1 {asked} has" if missing == 1 else f"{missing:,} {asked}s have"
    answers = f"{without} no answer" if missing else f"every {asked} has an answer"
    images = f"1 {asked}" if counts.images == 1 else f"{counts.images:,} {asked}s"
    money = f" All programs together spent {kept.money:.9g} {kept.currency} on it." if kept.money else ""
    calls = "1 call" if counts.calls == 1 else f"{counts.calls:,} calls"
    return f"{images} took {calls}: {retries}, and {answers}.{money}"


def _calls(kept: TargetCalls) -> Table:
    counts, asked = kept.counts, "texts about images" if kept.in_words else "images asked about"
    rows: list[list[object]] = [
        [asked, counts.images],
        ["texts with an answer" if kept.in_words else "images with an answer", counts.answered],
        ["calls sent", counts.calls],
        ["calls that repeated an earlier one", counts.retries],
        ["calls that brought no answer", sum(counts.failed.values())],
    ]
    return table("Calls", [("what", "text"), ("count", "count")], rows)


def _failed(kept: TargetCalls) -> Table:
    reasons = sorted(kept.counts.failed.items(), key=lambda pair: (-pair[1], pair[0]))
    heads = [("reason", "text"), ("calls", "count")]
    return table("Calls that brought no answer", heads, [[reason, calls] for reason, calls in reasons])
