"""What was rated: contrasts after each step of the rules, perceived values, and people's few ratings beside a
machine's.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, final

import numpy as np
from jaxtyping import Bool, Float

from transect.analysis import rater_report
from transect.analysis.sections.answers import (
    Answers,
    condition,
    covariates,
    dot,
    drawn,
    nominal,
    number,
    point,
    share,
    table,
    with_ends,
    words,
)
from transect.analysis.sections.exclusion_comparison import effects_without
from transect.analysis.sections.places import RunFindings, placed
from transect.annotation.agreement.image_validation import PRUNING_SOURCE, Pruning
from transect.effects.contrasts import known_means
from transect.effects.instruments import CONDITIONAL_F, instrumental
from transect.effects.instruments import SOURCE as INSTRUMENTS_SOURCE
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.intervals import WILSON, WILSON_CLUSTERED
from transect.effects.prediction_powered import LEAST, SOURCES, PredictionPowered, ppi_difference, ppi_mean, too_rare
from transect.effects.regression import MEANS_SOURCE, OLS_SOURCE, difference_in_means, ols
from transect.effects.samples import Labels
from transect.effects.sensitivity import SOURCE as DENTON
from transect.effects.sensitivity import PerceptionMatrix, perception_sensitivity
from transect.ratings.rating_tables import unknown_lines
from transect.records import Effect
from transect.reports.records import Figure, FigureKind, Point, Section, Table, Unit
from transect.reports.wording import short_name

SHOWN: Final = 8
"""Contrasts that the figure shows, those that move most; the table has them all."""
EVERYTHING: Final = "all images"
BY_IMAGE: Final = "a value per image"
OF_PEOPLE: Final = "people's single answers"
_RATED: Final = (
    "Ratings are stored with the run and change no image and no answer. An image without a rating is left out "
    "only where the rating is needed; rules cannot judge it and keep it."
)
_PRUNED: Final = (
    "Rules leave images out step by step, by ratings alone. All other numbers on this page cover the images that "
    "remain at the end; here each contrast is estimated again after each step. In an experiment, a rule on a "
    "perceived value that the manipulation moves selects on a consequence of the treatment."
)


@placed(442, "run", lambda about: about.run.seen.columns or about.run.seen.people)
def run_sections(about: RunFindings) -> list[Section]:
    """The sections about a finished run's ratings and its raters."""
    run, seen, stages = about.run, about.run.seen, list[Sequence[Effect]]()
    if seen.pruning is not None:
        steps = range(len(seen.pruning.steps))
        stages = [*(effects_without(about, seen.reasons_after(step)) for step in steps), about.findings.effects]
    unordered = {attribute.name for attribute in run.spec.nominal}
    unordered |= {name for name, question in {**seen.asked, **seen.asked_people}.items() if question.unordered}
    kinds = {BY_IMAGE: seen.columns, OF_PEOPLE: seen.people}
    unknown = unknown_lines(run.spec.name, seen)
    ratings = rated_section(run.spec.name, kinds, unknown, unordered, seen.pruning, stages)
    return [ratings, *rater_report.sections(run)]


def rated_section(
    study: str,
    kinds: Mapping[str, Mapping[str, Float[np.ndarray, " n"]]],
    warnings: Sequence[str],
    unordered: Container[str] = (),
    pruning: Pruning | None = None,
    stages: Sequence[Sequence[Effect]] = (),
) -> Section:
    """The section of one study."""
    tables = [_rated(kinds, unordered)]
    figures: list[Figure] = []
    if pruning is not None:
        names = [EVERYTHING, *(step.name for step in pruning.steps)]
        moves = list(zip(*stages, strict=True))
        tables += [_steps(pruning), _moved(names, moves)]
        figures = _figures(names, moves)
    return Section(
        key="ratings",
        study=study,
        title=f"Ratings of {words(study)}" + (", and images left out" if pruning is not None else ""),
        text=[_RATED, *([_PRUNED] if pruning is not None else [])],
        warnings=list(warnings),
        figures=figures,
        tables=tables,
        sources=[PRUNING_SOURCE] if pruning is not None else [],
    )


def _rated(kinds: Mapping[str, Mapping[str, Float[np.ndarray, " n"]]], unordered: Container[str]) -> Table:
    heads = [("rating", "text"), ("given as", "text"), ("images rated", "count"), ("not rated", "count")]
    heads += [("mean", "number"), ("least", "number"), ("most", "number"), ("note", "text")]
    rows: list[list[object]] = []
    for kind, columns in kinds.items():
        for name, values in columns.items():
            known = values[np.isfinite(values)]
            spread = (known.mean(), known.min(), known.max()) if len(known) else (np.nan,) * 3
            cells: list[object] = [None, None, None, "levels in no order"] if name in unordered else [*spread, ""]
            rows.append([words(name), kind, len(known), len(values) - len(known), *cells])
    return table("Ratings", heads, rows)


def _steps(pruning: Pruning) -> Table:
    """A row per rule, so that what each matches can be seen; the counts of its step stand in the step's first row."""
    heads = [("step", "text"), ("rule", "text"), ("images that match", "count"), ("not rated", "count")]
    heads += [("left out at this step", "count"), ("images left", "count")]
    rows: list[list[object]] = [[EVERYTHING, "", None, None, None, len(pruning.remaining)]]
    for step in pruning.steps:
        counts: tuple[int | None, int | None] = (step.removed, step.left)
        for rule, n in step.matched.items():
            missing = next((k for name, k in pruning.missing.items() if name in rule.split()), 0)
            rows.append([step.name, rule, n, missing, *counts])
            counts = (None, None)
    return table("Images left out, step by step", heads, rows)


def _changes(moves: Sequence[tuple[Effect, ...]]) -> list[tuple[Effect, ...]]:
    """The contrasts that the figure shows: of those estimable at some step, the ones that move most."""

    def moved(effects: tuple[Effect, ...]) -> float:
        values = [effect.estimate for effect in effects if effect.estimable]
        return max(values) - min(values) if values else -1.0

    contrasts = [effects for effects in moves if effects[0].kind == "contrast" and moved(effects) >= 0]
    return sorted(contrasts, key=lambda effects: -moved(effects))[:SHOWN]


def _figures(names: Sequence[str], moves: Sequence[tuple[Effect, ...]]) -> list[Figure]:
    """A figure per unit: a panel per contrast, a row per step."""
    shown, figures = _changes(moves), []
    total = sum(effects[0].kind == "contrast" for effects in moves)
    for unit in dict.fromkeys(effects[0].unit for effects in shown):
        panels: dict[str, dict[str, list[Point]]] = {}
        for effects in (each for each in shown if each[0].unit == unit):
            points = [dot(each, _called(name), each.n_images) for name, each in zip(names, effects, strict=True)]
            panels[_title(effects[0])] = {"": points}
        more = f" (the {len(shown)} of {total} contrasts that move most)" if total > len(shown) else ""
        caption = "(each row covers the images left after that step)"
        title = f"How contrasts move with each exclusion{more}"
        style: Unit = "points" if unit == "proportion" else "number"
        figures.append(drawn("rows", title, caption, panels, "difference", style))
    return figures


def _called(name: str) -> str:
    return name if name == EVERYTHING else f"without {name}"


def _title(effect: Effect) -> str:
    return f"{words(effect.name)}, {effect.outcome} of {effect.target}"


def _moved(names: Sequence[str], moves: Sequence[tuple[Effect, ...]]) -> Table:
    heads = [("effect", "text"), ("images", "text")]
    for name in ("estimate", "low", "high"):
        heads += [(f"{name}, points", "points"), (name, "number")]
    heads += [("subjects", "count"), ("number of images", "count"), ("note", "text")]
    rows = []
    for effects in moves:
        for name, e in zip(names, effects, strict=True):
            cells: list[float | None] = []
            for value in (e.estimate, e.low, e.high):
                cells += [value, None] if e.unit == "proportion" else [None, value]
            rows.append([_title(e), _called(name), *cells, e.n_subjects, e.n_images, e.reason])
    return table("Every effect after each step", heads, rows)


_EXACT: Final = 1e12
MOST_BARS: Final = 6
"""Perceived attributes whose names find room side by side; more are listed one below the other."""
_PERCEIVED_TEXT: Final = (
    "Each row of the matrix is a manipulation, from its first level to its last: the mean change of every "
    "perceived attribute, subject by subject. A clean manipulation moves only its own attribute. Levels in no "
    "order are not numbers: each is compared with the first, and each that is perceived is a share, from 0 to "
    "1.",
    "The intended values were set and serve as instruments for the perceived ones, which separates the effects "
    "of a manipulation that also moves another attribute. This holds if an intended value changes the answer "
    "only through the perceived attributes listed; an unlisted change that comes with it (earrings) breaks it. "
    "A varied attribute without such a rating (not rated, or with more than two levels, one indicator per "
    "level) is not an instrument: its intended values are held equal.",
)


@placed(70, "answers", lambda answers: answers.design.levels and answers.perceived)
def perceived_section(answers: Answers) -> Section:
    """The section of one target in one experiment with ratings."""
    matrix, between = _matrix(answers)
    return Section(
        key="perceived",
        study=answers.study,
        title=f"Perceived attributes: {short_name(answers.target)}",
        text=list(_PERCEIVED_TEXT),
        warnings=[
            f"Images rated between two levels of {words(name)}, which are in no order, are left out of the matrix: "
            f"{n:,}; give the level that most raters saw"
            for name, n in between.items()
        ],
        figures=[_sensitivity_figure(matrix)],
        tables=[_matrix_table(matrix), _instrumented(answers)],
        sources=[DENTON, INSTRUMENTS_SOURCE, CONDITIONAL_F, OLS_SOURCE],
    )


def _matrix(answers: Answers) -> tuple[PerceptionMatrix, dict[str, int]]:
    """The matrix, and how many ratings of each attribute are between levels in no order."""
    columns, between = _columns(answers)
    before, after = {}, {}
    for name in answers.design.levels:
        for called, places in _manipulations(answers, name).items():
            ends = {seen: _at_end(answers, values, name, places) for seen, values in columns.items()}
            before[called] = {seen: end[0] for seen, end in ends.items()}
            after[called] = {seen: end[1] for seen, end in ends.items()}
    return perception_sensitivity(before, after), between


def _manipulations(answers: Answers, name: str) -> dict[str, tuple[int, int]]:
    """What is set instead of what, and the two places among the levels: the ends, or each level against the first."""
    attribute = answers.attributes[name]
    if not nominal(attribute):
        return {name: (0, -1)}
    first, *others = (attribute.label(value) for value in answers.design.levels[name])
    return {f"{name}: {other} instead of {first}": (0, place) for place, other in enumerate(others, start=1)}


def _columns(answers: Answers) -> tuple[dict[str, Float[np.ndarray, " n"]], dict[str, int]]:
    """Perceived values as columns that have a mean: an indicator per level that was seen where levels have no order."""
    columns: dict[str, Float[np.ndarray, " n"]] = {}
    between: dict[str, int] = {}
    for name, values in answers.perceived.items():
        attribute = answers.known.get(name)
        if attribute is None or not nominal(attribute):
            columns[name] = values
            continue
        whole = np.isin(values, range(len(attribute.levels)))
        if odd := int((np.isfinite(values) & ~whole).sum()):
            between[name] = odd
        for place in np.unique(values[whole]).astype(int).tolist():
            columns[f"{name}: {attribute.levels[place]}"] = np.where(
                whole, (values == place).astype(np.float64), np.nan
            )
    return columns, between


def _at_end(
    answers: Answers, values: Float[np.ndarray, " n"], varied: str, ends: tuple[int, int]
) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, " s"]]:
    """Each subject's mean at either end of an attribute, over the cells that were rated at both."""
    grid = answers.by_level(values, varied)
    first, last = (grid[:, end] for end in ends)
    both = np.isfinite(first) & np.isfinite(last)
    low, high = (known_means(np.where(both, part, np.nan), axis=1) for part in (first, last))
    return low, high


def _sensitivity_figure(matrix: PerceptionMatrix) -> Figure:
    panels = {
        f"Manipulated: {words(manipulated)}": {
            "": [
                point(
                    _plain(matrix.values[row, k]), low=matrix.low[row, k], high=matrix.high[row, k], label=words(seen),
                    n=int(matrix.subjects[row, k]),
                    reason="" if matrix.subjects[row, k] else "no subject has both ratings",
                )
                for k, seen in enumerate(matrix.perceived)
            ]
        }
        for row, manipulated in enumerate(matrix.manipulated)
    }  # fmt: skip
    kind: FigureKind = "bars" if len(matrix.perceived) <= MOST_BARS else "rows"
    caption = "(in the units of the ratings, or shares for unordered levels; the numbers are subjects)"
    return drawn(kind, "What each manipulation moved", caption, panels, "mean perceived change", same_axis=False)


def _plain(value: float) -> float:
    """The mean without what sums of fractions leave of 0."""
    return float(np.round(value, 12)) + 0.0


def _matrix_table(matrix: PerceptionMatrix) -> Table:
    heads = [("manipulated", "text"), ("perceived", "text"), ("mean change", "number"), ("low", "number")]
    heads += [("high", "number"), ("subjects", "count"), ("not rated at both ends", "count")]
    rows = []
    for i, manipulated in enumerate(matrix.manipulated):
        for k, seen in enumerate(matrix.perceived):
            ends = [_plain(matrix.values[i, k]), matrix.low[i, k], matrix.high[i, k]]
            counts = [int(matrix.subjects[i, k]), int(matrix.missing[i, k])]
            rows.append([words(manipulated), words(seen), *ends, *counts])
    return table("Perception sensitivity", heads, rows)


def _instrumented(answers: Answers) -> Table:
    """Least squares on perceived values beside two-stage least squares."""
    rated = [name for name in answers.design.levels if name in answers.perceived]
    refused = {name: reason for name in rated if (reason := _no_number(answers, name))}
    names = [name for name in rated if name not in refused]
    counted, unit = answers.counted
    labels = Labels(answers.target, unit, "proportion" if answers.binary else "score", "experimental")
    rows = _instrumented_rows(answers, counted, names, labels) if names else []
    rows += [[words(name), *[None, reason] * 2, None] for name, reason in refused.items()]
    style = "points" if answers.binary else "number"
    heads = [("perceived attribute", "text")]
    for estimator in ("least squares", "two-stage least squares"):
        heads += [(estimator, style), (f"{estimator}: 95 %", "text")]
    title = f"Effect on the {unit} per unit of the perceived value"
    if held := [words(name) for name in answers.design.levels if name not in names]:
        title += f", intended {', '.join(held)} held equal"
    return table(title, [*heads, ("first-stage F", "number")], rows)


def _no_number(answers: Answers, name: str) -> str:
    """Why a rated attribute has no effect per unit. One that nobody rated would leave no image for the others."""
    if not np.isfinite(answers.perceived[name]).any():
        return "no image was rated"
    attribute = answers.known.get(name)
    return f"{len(attribute.levels)} levels: no effect per unit" if attribute is not None and nominal(attribute) else ""


def _instrumented_rows(
    answers: Answers, counted: Float[np.ndarray, " n"], names: list[str], labels: Labels
) -> list[list[object]]:
    """A row per attribute: their intended values are instruments, those of the other varied ones covariates."""
    intended = answers.settings
    held = covariates(answers.attributes, {name: column for name, column in intended.items() if name not in names})
    held = {f"intended {name}": column for name, column in held.items()}
    seen, instruments = ({name: columns[name] for name in names} for columns in (answers.perceived, intended))
    options: dict[str, Any] = {"clusters": answers.subjects, "labels": labels}
    plain = ols(counted, {**seen, **held}, **options)[: len(names)]
    repaired = instrumental(counted, seen, instruments, exogenous=held or None, **options)
    return [
        [words(name), *_cells(first), *_cells(second), _strength(second)]
        for name, first, second in zip(names, plain, repaired, strict=True)
    ]


def _strength(effect: Effect) -> float | str | None:
    """The first stage's F; ratings that are the intended values but for rounding have none that means anything."""
    f = effect.spec.get("first_stage_f") if effect.estimable else None
    return "exact" if f is not None and f > _EXACT else f


def _cells(effect: Effect) -> list[object]:
    factor = 100 if effect.unit.startswith(("proportion", "probability")) else 1
    ends = f"{factor * effect.low:+z.3g} to {factor * effect.high:+z.3g}".replace("-", "−")
    return [number(effect.estimate), ends if np.isfinite(effect.low) else effect.reason]


_PEOPLE_TEXT: Final = (
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


@placed(90, "answers")
def people_section(answers: Answers) -> Section | None:
    """The section of one target in one study; None where people rated nothing, or all that the machine has."""
    quantities = _quantities(answers)
    if not quantities:
        return None
    groups = {}
    for name in answers.design.levels or answers.values:
        members = condition(answers, name)
        groups[name] = {group: members.codes == code for code, group in enumerate(members.groups)}
    rates = [INTERVALS[WILSON], INTERVALS[WILSON_CLUSTERED]] if any(each.binary for each in quantities) else []
    return Section(
        key="people",
        study=answers.study,
        title=f"Human and machine ratings: {short_name(answers.target)}",
        text=list(_PEOPLE_TEXT),
        warnings=_left_out(answers, {each.name for each in quantities}),
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
        heads += with_ends(side, unit)
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
        people = share(each.people[rated], answers.subjects[rated])
        return (mean, people.low, people.high), estimate
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
