"""Few ratings by people, many by a machine: what people alone say, and what both say together (Angelopoulos 2023)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Bool, Float, Int

from transect.analysis.sections.answers import Answers, nominal, number, table, words
from transect.analysis.sections.conditions import condition
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.intervals import WILSON, WILSON_CLUSTERED, wilson_clustered
from transect.effects.linear import MEANS_SOURCE, difference_in_means
from transect.effects.prediction_powered import LEAST, SOURCES, PredictionPowered, ppi_difference, ppi_mean, too_rare
from transect.reports.records import Section, Table
from transect.reports.wording import short_name

_TEXT: Final = (
    "People rated some images; the machine that each title names rated more. The machine's mean over all "
    "images is corrected by its error on the images that people rated too, so the interval is narrower where "
    "the machine is often right. Its weight is estimated: 0 is people alone. With many rated images the "
    "interval is valid even where the machine is wrong. Rates with one image per subject have score intervals, "
    f"however rare the outcome. With several images of a subject, an outcome that fewer than {LEAST} rated "
    f"subjects have, or lack, has no interval, nor have numbers of fewer than {LEAST} rated subjects. People's own "
    "intervals of rates are Wilson's, by subject.",
    "This holds if the rated images were drawn at random from all of them; ratings of hand-picked images do "
    "not represent the others. Differences are the last group minus the first.",
)
_BY_IMAGE: Final = "the ratings by image"


@final
@dataclass(frozen=True, slots=True)
class _Quantity:
    """One thing that people and the machine both say: people's values [n], NaN where not rated, and the machine's."""

    name: str
    unit: str
    people: Float[np.ndarray, " n"]
    machine: Float[np.ndarray, " n"]
    machine_name: str

    @property
    def binary(self) -> bool:
        """Whether people's values are 0 or 1."""
        return bool(np.isin(self.people[np.isfinite(self.people)], (0.0, 1.0)).all())


def section(answers: Answers) -> Section | None:
    """The section of one target in one study; None where people rated nothing, or all that the machine has."""
    quantities = _quantities(answers)
    if not quantities:
        return None
    groups = _groups(answers)
    rates = [INTERVALS[WILSON], INTERVALS[WILSON_CLUSTERED]] if any(each.binary for each in quantities) else []
    return Section(
        key="people",
        study=answers.study,
        title=f"Few human ratings, many machine ratings: {short_name(answers.target)}",
        text=list(_TEXT),
        warnings=_left_out(answers, {each.name for each in quantities}),
        figures=[],
        tables=[one_table for each in quantities for one_table in _tables(answers, each, groups)],
        sources=[*SOURCES, MEANS_SOURCE, *rates],
    )


_Machines = Mapping[str, Float[np.ndarray, " n"]]
"""What a machine says of every image, by what it is called; the first that has more images than people is used."""


def _quantities(answers: Answers) -> list[_Quantity]:
    """Errors by people's truth, then what people saw, where a machine has more images than people."""
    quantities = []
    if answers.binary and len(answers.people_truth):
        machines: dict[str, Float[np.ndarray, " n"]] = {}
        if answers.by_machine and answers.truth_attribute in answers.perceived:
            machines[_BY_IMAGE] = np.abs(answers.answers - answers.rated_truth)
        machines["the stated truth"] = answers.errors
        wrong = np.abs(answers.answers - answers.people_truth)
        quantities.append(_quantity("Error rate by people's truth", "proportion", wrong, machines))
    for name, seen in answers.people.items():
        if not nominal(answers.known.get(name)):
            quantities.append(_quantity(_mean_of(name), "number", seen, _machines(answers, name)))
    return [each for each in quantities if each is not None]


def _quantity(name: str, unit: str, people: Float[np.ndarray, " n"], machines: _Machines) -> _Quantity | None:
    each = (_Quantity(name, unit, people, machine, called) for called, machine in machines.items())
    return next((quantity for quantity in each if _partly(quantity)), None)


def _mean_of(name: str) -> str:
    return f"Mean rating of {words(name)}"


def _machines(answers: Answers, name: str) -> _Machines:
    """Ratings by image first, then the value that the world or the labels have."""
    machines = {_BY_IMAGE: answers.perceived[name]} if answers.by_machine and name in answers.perceived else {}
    return {**machines, "the attribute's value": answers.values[name]} if name in answers.values else machines


def _left_out(answers: Answers, shown: Collection[str]) -> list[str]:
    """What people rated that has no table, and why."""
    reasons = []
    for name in answers.people:
        if _mean_of(name) in shown:
            continue
        why = "no machine rated images that people did not, in addition to images that both rated"
        why = "levels in no order have no mean" if nominal(answers.known.get(name)) else why
        reasons.append(f"No machine ratings complement people's ratings of {words(name)}: {why}")
    return reasons


def _partly(each: _Quantity) -> bool:
    """Whether people rated some of the images and the machine more."""
    rated, known = np.isfinite(each.people), np.isfinite(each.machine)
    return bool((rated & known).any() and (~rated & known).any())


def _groups(answers: Answers) -> dict[str, dict[str, Bool[np.ndarray, " n"]]]:
    """The images of each group of each attribute, in order."""
    groups: dict[str, dict[str, Bool[np.ndarray, " n"]]] = {}
    for name in answers.design.levels or answers.values:
        members = condition(answers, name)
        groups[name] = {group: members.codes == code for code, group in enumerate(members.groups)}
    return groups


def _tables(
    answers: Answers, each: _Quantity, groups: Mapping[str, Mapping[str, Bool[np.ndarray, " n"]]]
) -> list[Table]:
    """All images, every group, and the last group minus the first of each attribute."""
    everything = np.ones(len(each.people), dtype=bool)
    by = f" (machine: {each.machine_name})"
    whole = [_row(each, "all images", *_mean(answers, each, everything))]
    rows: list[list[object]] = []
    differences: list[list[object]] = []
    for name, members in groups.items():
        means = {text: _mean(answers, each, rows_of) for text, rows_of in members.items()}
        rows += [_row(each, f"{words(name)}: {text}", *both) for text, both in means.items()]
        if len(means) > 1:
            differences.append(_difference(answers, each, name, members, means))
    tables = [table(each.name + by, _heads("group", each.unit), whole)]
    if rows:
        tables.append(table(f"{each.name}, by group{by}", _heads("group", each.unit), rows))
    if differences:
        unit = "points" if each.unit == "proportion" else each.unit
        tables.append(table(f"{each.name}, differences{by}", _heads("groups", unit), differences))
    return tables


def _heads(first: str, unit: str) -> list[tuple[str, str]]:
    heads = [(first, "text")]
    for side in ("people alone", "with the machine"):
        heads += [(side, unit), (f"{side}: low", unit), (f"{side}: high", unit)]
    return [*heads, ("machine's weight", "number"), ("subjects rated", "count"), ("others", "count"), ("note", "text")]


_Ends = tuple[float, float, float]
"""A mean, and the ends of its interval."""
_Both = tuple[_Ends, PredictionPowered]
"""People's own mean, and the estimate of both."""


def _mean(answers: Answers, each: _Quantity, rows: Bool[np.ndarray, " n"]) -> _Both:
    rated = rows & np.isfinite(each.people) & np.isfinite(each.machine)
    estimate = _powered(answers, each, rows)
    if not rated.any():
        return (np.nan,) * 3, estimate
    mean = float(each.people[rated].mean())
    if each.binary:
        return (mean, *_wilson(each.people[rated], answers.subjects[rated])), estimate
    own = _powered(answers, each, rows, trust=0.0)
    return (mean, own.low, own.high), estimate


def _powered(
    answers: Answers, each: _Quantity, rows: Bool[np.ndarray, " n"], trust: float | None = None
) -> PredictionPowered:
    rated = rows & np.isfinite(each.people) & np.isfinite(each.machine)
    others = rows & ~np.isfinite(each.people) & np.isfinite(each.machine)
    return ppi_mean(
        each.people[rated],
        each.machine[rated],
        each.machine[others],
        subjects=answers.subjects[rated],
        subjects_unrated=answers.subjects[others],
        trust=trust,
    )


def _wilson(values: Float[np.ndarray, " r"], subjects: Int[np.ndarray, " r"]) -> tuple[float, float]:
    """The interval of a rate by subject."""
    place = np.unique(subjects, return_inverse=True)[1]
    low, high = wilson_clustered(np.bincount(place, weights=values)[:, None], np.bincount(place)[:, None].astype(float))
    return float(low[0]), float(high[0])


def _row(each: _Quantity, name: str, alone: _Ends, estimate: PredictionPowered) -> list[object]:
    ends = [*alone, estimate.estimate, estimate.low, estimate.high]
    if each.unit == "proportion":  # Student's intervals know no bounds, rates do
        ends = np.clip(ends, 0.0, 1.0).tolist()
    cells = [number(end) for end in (*ends, estimate.trust)]
    return [name, *cells, estimate.n_rated, estimate.n_predicted, estimate.reason]


def _difference(
    answers: Answers,
    each: _Quantity,
    name: str,
    members: Mapping[str, Bool[np.ndarray, " n"]],
    estimates: Mapping[str, _Both],
) -> list[object]:
    """The last group minus the first; people's own by subject."""
    first, last = next(iter(members)), list(members)[-1]
    chosen = np.where(members[last], 1.0, np.where(members[first], 0.0, np.nan))
    people = np.where(np.isfinite(each.machine), each.people, np.nan)
    alone = difference_in_means(people, chosen, clusters=answers.subjects)
    both = ppi_difference(estimates[first][1], estimates[last][1])
    known = np.isfinite(people)
    rare = [
        too_rare(people[known & members[one_of]], answers.subjects[known & members[one_of]]) for one_of in (first, last)
    ]
    untold = next(filter(None, rare), "") if each.binary else ""
    ends = (alone.low, alone.high)
    if untold:  # the machine without any weight leaves people's own score intervals
        rates = ppi_difference(*(_powered(answers, each, members[one_of], trust=0.0) for one_of in (first, last)))
        ends = rates.low, rates.high
    cells = [number(end) for end in (alone.estimate, *ends, both.estimate, both.low, both.high)]
    reason = both.reason or ("" if np.isfinite(ends[0]) else f"people alone: {untold or alone.reason}")
    label = f"{words(name)}: {last} minus {first}"
    return [label, *cells, number(both.trust), both.n_rated, both.n_predicted, reason]
