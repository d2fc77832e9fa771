"""Contenders of whole audits: what a report says of a model in words whose rules are known.

Each paraphrase's effect is drawn anew for each table. What is of the paraphrases that were asked is stated less what
they were drawn to differ, so that its truth is the same for all tables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from transect.jobs.verify.contenders import Contender, SimulatedEstimates, Tables
from transect.jobs.verify.planted_audits import Audited, audits, heard
from transect.jobs.verify.planted_speaker import WordingDraw, model_of, wordings_of
from transect.records import Effect

_Row = tuple[float, float, float, float]
_THIRD: Final = "tone: 0 to 2"


def _reported(told: Callable[[Audited], _Row], drawn: Callable[[WordingDraw], float] | None = None) -> Contender:
    """told: estimate, interval and p of one report. drawn: what the paraphrases add to its truth."""

    def contender(tables: Tables) -> SimulatedEstimates:
        rows = [told(each) for each in audits(tables["noise"])]
        found = SimulatedEstimates.of(rows)
        if drawn is None:
            return found
        by = np.array([drawn(wordings_of(model_of(noise[0]))) for noise in tables["noise"]])
        return SimulatedEstimates(found.estimate - by, found.low - by, found.high - by, found.p)

    return contender


def _effect(question: str, outcome: str, *, slope: bool = False) -> Callable[[Audited], _Row]:
    def told(report: Audited) -> _Row:
        found: Effect = report.effect(question, outcome, None if slope else 0.0, None if slope else 2.0)
        return found.estimate, found.low, found.high, found.p

    return told


def _cells(
    key: str, question: str, title: str, which: Callable[[dict[str, object]], bool], heads: tuple[str, str, str]
) -> Callable[[Audited], _Row]:
    """A row of a section's table: its estimate and its interval, by the columns' names."""

    def told(report: Audited) -> _Row:
        row = next(row for row in report.rows(key, question, title) if which(row))
        estimate, low, high = (_number(row[head]) for head in heads)
        return estimate, low, high, np.nan

    return told


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else np.nan


def _wording(name: str) -> Callable[[Audited], _Row]:
    return _cells(
        "prompts",
        "smile",
        "Effects of tone",
        lambda row: row["wording"] == name and str(row["effect"]).startswith(_THIRD),
        ("difference", "low", "high"),
    )


def _mean_effect(draw: WordingDraw) -> float:
    return float(2 * draw.effect.mean())


share_of_yes = _reported(_effect("smile", "answer"), _mean_effect)
share_refused = _reported(_effect("smile", "refusal"))
share_hedged = _reported(_effect("smile", "hedge"))
share_of_option = _reported(_effect("role", "option:reject"))
offered_number = _reported(_effect("salary", "score"))
offered_slope = _reported(_effect("salary", "score", slope=True))
preferred_level = _reported(_effect("trust", "preferred"))
mean_of_asked = _reported(_wording("mean of the paraphrases"), _mean_effect)
sample_of_all = _reported(_wording("mean over a sample of wordings"))
first_paraphrase = _reported(_wording("paraphrase 1"), lambda draw: float(2 * draw.effect[0]))
"""Less what its paraphrases were drawn to differ, but for the sample, which counts them."""

option_of_all = _reported(
    _cells(
        "options",
        "role",
        "Options by tone (chosen)",
        lambda row: row["level"] == "2" and row["option"] == "reject",
        ("difference from the first level", "its low", "its high"),
    )
)
first_listed = _reported(
    _cells(
        "places",
        "role",
        "Choices by place;",
        lambda row: row["place"] == "place 1",
        ("effect of the place", "its low", "its high"),
    )
)
preferred_image = _reported(
    _cells(
        "two_images",
        "trust",
        "Preferences",
        lambda row: (row["first level"], row["second level"]) == ("0", "2"),
        ("prefer the second, of those who prefer either", "its low", "its high"),
    )
)
strength = _reported(
    _cells(
        "two_images",
        "trust",
        "Levels of tone",
        lambda row: row["level"] == "2",
        ("log odds over the first", "low", "high"),
    )
)
second_place = _reported(
    _cells(
        "two_images",
        "trust",
        "Preference for a place",
        lambda row: str(row["levels"]).endswith("0 or 2"),
        ("second place less first", "low", "high"),
    )
)


def _bound(end: str, drawn: Callable[[WordingDraw], float]) -> Contender:
    """One end of what missing answers could make of the effect, with its own side of the interval."""

    def told(report: Audited) -> _Row:
        table = "What the effects could be"
        row = next(row for row in report.rows("not_answered", "smile", table) if str(row["effect"]).startswith(_THIRD))
        low, high = _number(row["interval low"]), _number(row["interval high"])
        return _number(row[end]), *((low, np.inf) if end == "smallest" else (-np.inf, high)), np.nan

    return _reported(told, drawn)


def _of_answered(draw: WordingDraw) -> float:
    """What the paraphrases add to either bound: answers that are given weigh by their share."""
    shift = draw.share.mean()
    return float(heard(2) * (shift + 2 * draw.effect.mean()) - heard(0) * shift)


smallest_effect, largest_effect = _bound("smallest", _of_answered), _bound("largest", _of_answered)
