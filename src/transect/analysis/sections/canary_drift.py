"""Interfaces over HTTP: whether answers to canaries stayed the same, how many calls were made, and what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import drawn, point, table
from transect.analysis.sections.places import RunFindings, placed
from transect.effects.always_valid import CHANGE_POINT_SOURCE, Change
from transect.effects.contrasts import known_mean
from transect.experiment.canaries import FALSE_ALARMS, FOLDER, CanaryRecord, distances_of, tested, warnings
from transect.experiment.costs import TargetCalls, read_calls
from transect.reports.records import Figure, Section, Table
from transect.reports.wording import short_name
from transect.runs.json_records import record_in
from transect.runs.wording import counted

_CANARY_TEXT: Final = (
    "After every {every} answers the target was asked about the first images of the audit again, bypassing stored "
    "answers. At the end of the run the test takes the likeliest point of change and computes how often calls in a "
    f"random order would show one as clear; p of at most {FALSE_ALARMS:g} counts. Among targets that never change, "
    f"including those whose answers vary by chance, at most {100 * FALSE_ALARMS:.0f} % are reported as changed.",
    "The test assumes that chance varies each call independently. A change within the last round, or only in answers "
    "to other images, can go unseen; so can any change behind a provider's cache.",
)


def canary_section(canaries: CanaryRecord) -> Section:
    """The section of one target, from what a run keeps of its canaries."""
    change, alarms = tested(canaries), warnings(canaries)
    return Section(
        key="steady",
        target=canaries.target,
        title=f"Stability of answers: {canaries.target}",
        text=[
            *([] if alarms else [_verdict(canaries, change)]),
            _CANARY_TEXT[0].format(every=canaries.every),
            _CANARY_TEXT[1],
        ],
        warnings=alarms,
        figures=[_figure(canaries)],
        tables=[_test(canaries, change, changed=bool(alarms)), _rounds(canaries)],
        sources=[CHANGE_POINT_SOURCE],
    )


def _verdict(canaries: CanaryRecord, change: Change) -> str:
    if change.reason:
        return f"Unknown: {change.reason}."
    other, _ = _otherwise(canaries)
    if not other.any():
        return "No sign of a change: every repeated image was answered as in the first round."
    return "Some answers differed from the first, but no more than expected by chance."


def _otherwise(canaries: CanaryRecord) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
    """Per round: images answered otherwise than in the first round, and images that both answered."""
    first = distances_of(canaries)[:, 0, :]
    return (first > 0).sum(axis=0).astype(np.float64), np.isfinite(first).sum(axis=0).astype(np.float64)


def _test(canaries: CanaryRecord, change: Change, *, changed: bool) -> Table:
    rows = [
        ["p of a change at the likeliest point", change.p],
        *([["rounds before that point", change.after]] if changed else []),
        ["rounds", len(canaries.rounds)],
        ["images asked about again", canaries.images],
    ]
    title = f"Test for a change ({change.reason})" if change.reason else "Test for a change"
    return table(title, [("what", "text"), ("value", "number")], rows)


def _rounds(canaries: CanaryRecord) -> Table:
    distances, (other, known) = distances_of(canaries), _otherwise(canaries)
    heads = [("after N answers", "count"), ("answers that differ from the first", "count")]
    heads += [("answered then and in the first round", "count"), ("mean distance from the first", "number")]
    rows = [
        [number * canaries.every, other[place], known[place], known_mean(distances[:, 0, place])]
        for place, number in enumerate(canaries.rounds)
    ]
    return table("Rounds", heads, rows)


def _figure(canaries: CanaryRecord) -> Figure:
    """Shares of the images themselves, so that there is no interval."""
    other, known = _otherwise(canaries)
    shares = np.divide(other, known, out=np.full(len(known), np.nan), where=known > 0)
    places = [float(number * canaries.every) for number in canaries.rounds]
    points = [point(share, x=x, n=int(n)) for x, share, n in zip(places, shares, known, strict=True)]
    title, caption = "How many answers differ from the first?", "(of the same images in every round)"
    panels, y_words = {"Images asked about again": {"share of images": points}}, "answers that differ from the first"
    return drawn("curves", title, caption, panels, y_words, "proportion", x_words="answers before")


def canary_sections(folder: Path) -> list[Section]:
    """The section of each target of a run that has canaries. Raises BadInput for a broken file of theirs."""
    paths = sorted((folder / FOLDER).glob("*.json"))
    return [canary_section(record_in(path, CanaryRecord)) for path in paths]


@placed(430, "run")
def run_sections(about: RunFindings) -> list[Section]:
    """The sections on a run's calls and its canaries."""
    place = about.run.folder.path
    return [*call_sections(place), *canary_sections(place)]


_CALL_TEXT: Final = (
    "Each image is asked about once, and its answer is kept. A call is repeated only where its status says that "
    "another try can help (HTTP 429 and 5xx), or where the connection failed; never because of what the image shows.",
    "The counts cover all runs that share this target's file of answers and its request. Repeated questions about "
    "canaries are left out.",
)

_SHARED: Final = "The calls cover all questions that this model was asked: each text about each image is a call."


def call_section(kept: TargetCalls) -> Section:
    """The section of one target, from what a run keeps of its calls."""
    return Section(
        key="calls",
        target=kept.target,
        title=f"Calls to {short_name(kept.target)}",
        text=[_headline(kept), *([_SHARED] if kept.in_words else []), *_CALL_TEXT],
        tables=[_calls(kept), *([_failed(kept)] if kept.counts.failed else [])],
    )


def call_sections(folder: Path) -> list[Section]:
    """The section of each target of a run that counts its calls. Raises BadInput for a broken file of counts."""
    return [call_section(kept) for kept in read_calls(folder)]


def _headline(kept: TargetCalls) -> str:
    counts = kept.counts
    missing = counts.images - counts.answered
    retries = "no call was repeated" if not counts.retries else f"{counts.retries:,} repeated an earlier one"
    asked = "text" if kept.in_words else "image"
    without = f"{counted(missing, asked)} {'has' if missing == 1 else 'have'}"
    answers = f"{without} no answer" if missing else f"every {asked} has an answer"
    money = f" All programs together spent {kept.money:.9g} {kept.currency} on it." if kept.money else ""
    return f"{counted(counts.images, asked)} took {counted(counts.calls, 'call')}: {retries}, and {answers}.{money}"


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
