"""Interpolation consistency on the page: which share of the images between two subjects of one class keep it?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Float

from transect.analysis import findings, finished_run
from transect.analysis.sections.answers import Answers, drawn, point, table
from transect.analysis.sections.places import placed
from transect.effects.intervals import wilson
from transect.effects.rates import interpolation_consistency
from transect.effects.sensitivity import SOURCE
from transect.experiment.small_runs import has_classes
from transect.reports.records import Figure, Section, Table
from transect.reports.wording import short_name
from transect.runs.folder import FinishedRun
from transect.runs.layout import INTERPOLATION

_CLASSES: Final = {"all": "both", "0": "no", "1": "yes"}
_TEXT: Final = (
    "Read this check first (Denton et al. 2019). Each line joins two subjects of the world, and images are "
    "rendered at even steps along it. Where the target puts both ends into one class, the images between "
    "should keep that class. Where many do not, the target's answer varies between two faces of one class, and "
    "a step along an attribute may change the answer for reasons other than the attribute. Intervals are by "
    "line."
)


def interpolation_section(answers: Answers) -> Section:
    """The section of one target; `one` holds a line per subject, its ends first and last."""
    grid = answers.grid(answers.answers)
    ends, inner = grid[:, [0, -1]], grid[:, 1:-1]
    known = np.isfinite(ends).all(axis=1)
    same = known & (ends[:, 0] == ends[:, 1])
    consistency = interpolation_consistency(np.where(same, ends[:, 0], np.nan), inner)
    return Section(
        key="interpolation",
        study=answers.study,
        title=f"Images between subjects: {short_name(answers.target)}",
        text=[_TEXT],
        warnings=[] if same.any() else ["No line has both ends in one class: there is nothing to check."],
        figures=[_figure(answers, ends, inner, same)] if same.any() else [],
        tables=[_shares(consistency), _lines(known, same)],
        sources=[SOURCE],
    )


@placed(310, "folder")
def sections(folder: Path) -> list[Section]:
    """A section per target that has classes; none without the check, one that states it where it is unfinished."""
    path = folder / INTERPOLATION
    if not (path / "run.json").exists():
        return []
    if not _finished(FinishedRun(path)):
        return [unfinished_interpolation()]
    run = finished_run.read(path)
    targets = [target for target in run.spec.targets if has_classes(target.task)]
    return [interpolation_section(replace(findings.answers_of(run, target), study="")) for target in targets]


def _finished(run: FinishedRun) -> bool:
    """Whether every image and every prediction of a target that has classes is there."""
    targets = [target for target in run.spec.targets if has_classes(target.task)]
    tables = ["images", *(table for target in targets for table in target.tables)]
    return all(run.has_all(table, run.spec.parts) for table in tables)


def unfinished_interpolation() -> Section:
    """The section of a check that is not finished."""
    warning = "This check is not finished; rerun transect audit to resume it."
    return Section(key="interpolation", title="Images between subjects", warnings=[warning])


def _shares(consistency: Mapping[str, Any]) -> Table:
    heads = [("class of both ends", "text"), ("images that keep it", "proportion")]
    heads += [("low", "proportion"), ("high", "proportion"), ("lines", "count"), ("images", "count")]
    rows = [
        [_CLASSES[name], row["share"], row["low"], row["high"], row["lines"], row["images"]]
        for name, row in consistency.items()
    ]
    return table("Images between two ends of one class", heads, rows)


def _lines(known: np.ndarray, same: np.ndarray) -> Table:
    rows = [
        ["both ends in one class", int(same.sum())],
        ["ends in two classes: not counted", int((known & ~same).sum())],
        ["an end without a valid answer: not counted", int((~known).sum())],
    ]
    return table("Lines", [("lines", "text"), ("number", "count")], rows)


def _figure(
    answers: Answers, ends: Float[np.ndarray, "n 2"], inner: Float[np.ndarray, "n k"], same: np.ndarray
) -> Figure:
    """Shares along the way, a line of the figure per class."""
    shares = next(iter(answers.design.levels.values()))[1:-1]
    series = {}
    for label, name in ((0.0, "both ends no"), (1.0, "both ends yes")):
        rows = inner[same & (ends[:, 0] == label)]
        if not len(rows):
            continue
        counts = np.isfinite(rows).sum(axis=0)
        same_class = (rows == label).sum(axis=0)
        low, high = wilson(same_class, counts)
        share = np.divide(same_class, counts, out=np.full(len(counts), np.nan), where=counts > 0)
        columns = zip(shares, share, low, high, counts, strict=True)
        series[name] = [point(v, low=lo, high=hi, x=float(x), n=int(n)) for x, v, lo, hi, n in columns]
    title, caption = "Do images between keep the class?", "(the numbers are lines)"
    x_words, y_words = "share of the way from one subject to the other", "images that keep the class of the ends"
    return drawn("curves", title, caption, {"Along the way": series}, y_words, "proportion", x_words=x_words)
