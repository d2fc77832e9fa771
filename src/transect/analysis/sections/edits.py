"""Did edits do what they should, and nothing else? Gates, failures by group with bounds, effects at equal readings."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.analysis.finished_run import Run, TargetOutcomes
from transect.analysis.sections.answers import (
    BALAKRISHNAN,
    Answers,
    Group,
    Share,
    bounds_cells,
    compared,
    drawn,
    ends,
    share,
    table,
    with_ends,
    words,
)
from transect.analysis.sections.places import RunFindings, placed
from transect.datasets.labelled import SUBJECT
from transect.designs.edit_validity import (
    DRIFT,
    GATES,
    IDENTITY,
    KEPT,
    LEAST_SHIFT,
    MOST_DRIFT,
    OUTSIDE,
    RANGE,
    REALISM,
    SAME_PERSON,
    SHIFT,
    YES_OR_NO,
)
from transect.effects.analysis import NO_PAIR
from transect.effects.contrasts import by_level, known_mean, level_differences
from transect.effects.instruments import SOURCES as DRIFT_SOURCES
from transect.effects.instruments import DriftAdjusted, drift_adjusted
from transect.effects.interrogation import SOURCES as MISSING_ANSWERS_SOURCES
from transect.effects.interrogation import Bounds, paired_bounds
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.intervals import WILSON_CLUSTERED
from transect.effects.samples import Labels
from transect.experiment.edits import EDITS, REFERENCE_TABLE
from transect.records import Attribute, Design, Effect
from transect.reports.records import Figure, Point, Section, Table
from transect.reports.wording import short_name
from transect.runs.json_records import loads
from transect.runs.spec import RunSpec, TargetEntry
from transect.runs.wording import counted

DRIFT_SHOWN: Final = 40
PREFIX: Final = "reading."
TITLE: Final = "Effects, raw and at equal readings of the other attributes"
TEXT: Final = (
    "The raw effect of an edit includes all that it moved; estimate and interval are those of the table of effects. "
    "Where readings are missing it is that of the images that were read, without an interval. The adjusted effect "
    "compares images of a subject at equal readings of the attributes that were not set (least squares within "
    "subjects). Its interval is made in another way: Student's t on errors clustered by subject (by person where "
    "several photographs show one), bias-reduced where few subjects tell. It assumes straight lines, and that nothing "
    "drifted unread. Noise in the readings hides a part of the drift, so that the truth may lie beyond the adjusted "
    "effect."
)


def adjusted_table(run: Run, edits: pa.Table, rows: Int[np.ndarray, " n"], effects: Sequence[Effect]) -> Table | None:
    """A row for each target, outcome and varied attribute; None where nothing else is read, or rows do not fit."""
    readings = readings_of(edits, rows, run.design.levels)
    if not readings or edits["subject"].to_numpy()[rows].tolist() != run.images["subject"].to_pylist():
        return None
    subjects = run.images["subject"].to_numpy().astype(np.int64)
    of_levels = (each for each in effects if each.kind == "contrast")
    contrasts = {(each.target, each.outcome, each.attribute, each.origin, each.to): each for each in of_levels}
    lines: list[list[object]] = []
    for target in run.spec.targets:
        outcomes = TargetOutcomes(run, target)
        for name in run.outcomes(target):
            counted = outcomes.outcome(name)
            labels = Labels(target.name, name, counted.unit, "experimental")
            for attribute in run.design.levels:
                steps = run.design.levels[attribute]
                reported = contrasts.get((target.name, name, attribute, steps[0], steps[-1]))
                if reported is None:
                    continue  # one level
                levels = _indicators(run, attribute)
                found = drift_adjusted(counted.values, levels, readings, subjects, people=run.people, labels=labels)
                read = np.isfinite(np.stack(list(readings.values()))).all(axis=0)
                raw = _raw(run, reported, counted.values, read)
                lines.append(_line(run.attributes[attribute], steps, target, name, raw, found))
    heads = [("target", "text"), ("outcome", "text"), ("effect", "text")]
    heads += [*with_ends("raw", "number"), *with_ends("adjusted", "number")]
    heads += [("adjusted for", "text"), ("images", "count"), ("note", "text")]
    more = f": {DRIFT_SHOWN} of {len(lines)}" if len(lines) > DRIFT_SHOWN else ""
    return table(f"{TITLE}{more}", heads, lines[:DRIFT_SHOWN])


def readings_of(
    edits: pa.Table, rows: Int[np.ndarray, " n"], varied: Mapping[str, Sequence[float]]
) -> dict[str, Float[np.ndarray, " n"]]:
    """Readings of attributes that were not set and that vary."""
    names = [name.removeprefix(PREFIX) for name in edits.column_names if name.startswith(PREFIX)]
    readings = {name: edits[f"{PREFIX}{name}"].to_numpy()[rows] for name in names if name not in varied}
    return {name: column for name, column in readings.items() if np.nanstd(column) > 0}


@final
@dataclass(frozen=True, slots=True)
class _Raw:
    """The raw effect: the report's with its interval, or of the images that were read without one; a note on it."""

    estimate: float
    low: float = math.nan
    high: float = math.nan
    note: str = ""


def _raw(run: Run, reported: Effect, values: Float[np.ndarray, " n"], read: Bool[np.ndarray, " n"]) -> _Raw:
    answered = np.isfinite(values)
    if read[answered].all():
        return _Raw(reported.estimate, reported.low, reported.high, reported.reason)
    of_read = np.where(read, values, np.nan).reshape(run.design.subjects, *run.design.shape)
    grid = by_level(of_read, list(run.design.levels).index(reported.attribute))
    estimate = known_mean(level_differences(grid[:, 0], grid[:, -1]))
    some = f"raw: of the {int((read & answered).sum()):,} of {int(answered.sum()):,} images with every reading"
    return _Raw(estimate, note=NO_PAIR if math.isnan(estimate) else some)


def _indicators(run: Run, attribute: str) -> dict[str, Float[np.ndarray, " n"]]:
    """Indicators of every level but the first of each varied attribute; that of the attribute's last level first."""
    ordered = {attribute: run.design.levels[attribute], **run.design.levels}
    columns: dict[str, Float[np.ndarray, " n"]] = {}
    for name, levels in ordered.items():
        values = run.images[f"intended.{name}"].to_numpy()
        for level in reversed(levels[1:]):
            columns[f"{name} {level:g}"] = np.isclose(values, level).astype(np.float64)
    return columns


def _line(
    attribute: Attribute, levels: Sequence[float], target: TargetEntry, outcome: str, raw: _Raw, found: DriftAdjusted
) -> list[object]:
    between = f"{words(attribute.name)}: {attribute.label(levels[0])} to {attribute.label(levels[-1])}"
    adjusted_for = ", ".join(words(name) for name in found.readings) or "nothing: too few subjects"
    reasons = dict.fromkeys(reason for reason in (raw.note, found.adjusted.reason) if reason)
    cells = [*ends(raw), *ends(found.adjusted), adjusted_for, found.raw.n_images, "; ".join(reasons)]
    return [short_name(target.name), words(outcome), between, *cells]


@placed(420, "run", lambda about: about.run.spec.edits is not None)
def run_sections(about: RunFindings) -> list[Section]:
    """The sections about a finished run's edits, where they were checked."""
    run = about.run
    edits, reference = run.folder.read_table(EDITS, run.parts), run.folder.read_part(REFERENCE_TABLE, 0)
    rows = edits["cell"].to_numpy() >= 0
    adjusted = adjusted_table(run, edits, np.flatnonzero(rows), about.findings.effects)
    sections = [edit_validity_section(run.spec, run.attributes, edits, reference, run.people, adjusted)]
    if not run.spec.generator.starts_from_photographs:
        return sections
    failed = np.zeros(int(rows.sum()), dtype=np.bool_)
    for name in (name for name in edits.column_names if name.startswith("fails.")):
        failed |= edits[name].to_numpy(zero_copy_only=False)[rows]
    names = run.spec.generator.facts.get("labels") or {}
    labels = {name: column for name, column in run.true.items() if name in names and name != SUBJECT}
    groups, answers = groups_of(labels, names), about.findings.answers
    found = edit_failures_section(run.spec.name, run.design, run.attributes, failed, run.people, groups, answers)
    return [*sections, *([found] if found is not None else [])]


EDIT_FAILURES_KEY: Final = "edit-failures"
MOST_GROUPS: Final = 6
_EDIT_FAILURES_TEXT: Final = (
    "An image fails here if it fails any gate of the section before. It still counts in every other figure of this "
    "report. If edits fail more often at one level than at another, or in one group of photographs, a difference in "
    "the answers may come from the failures, not from the attribute.",
    "Bounds: for an image that fails, the model's answer to a valid edit is unknown. Each such answer is set to the "
    "one that makes the effect smallest, and largest (Manski 1990). This needs no assumption about why edits fail. "
    "The interval covers the whole range between the bounds.",
)
_NO_RANGE: Final = "an outcome without a range has no worst case"


def groups_of(
    labels: Mapping[str, Float[np.ndarray, " n"]], names: Mapping[str, Sequence[str]]
) -> dict[str, list[Group]]:
    """By label of the photographs: its groups, where it has two to six values. names: of each label's levels."""
    found = {}
    for name, values in labels.items():
        levels = np.unique(values[np.isfinite(values)])
        if 2 <= len(levels) <= MOST_GROUPS:
            known = names.get(name, ())
            found[name] = [
                Group(f"{words(name)}: {known[int(at)] if at < len(known) else format(at, 'g')}", values == at)
                for at in levels
            ]
    return found


def edit_failures_section(
    study: str,
    design: Design,
    attributes: Mapping[str, Attribute],
    failed: Bool[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
    groups: Mapping[str, Sequence[Group]],
    answer_sets: Sequence[Answers],
) -> Section | None:
    """The section of one study; None where no image fails. Rows of all arrays are the images, subject by subject."""
    if not failed.any():
        return None
    levels = list(_edit_failures_levels(design, attributes, len(failed)))
    sorts = [("level", levels), *((f"photographs by {words(name)}", list(each)) for name, each in groups.items())]
    lost = failed.astype(np.float64)
    counted = [
        _Counted(what, group.label, share(lost[group.inside], people[group.inside]))
        for what, each in sorts
        for group in each
    ]
    bounds = [_bounds_table(each, failed, groups) for each in answer_sets if each.steps is None]
    return Section(
        key=EDIT_FAILURES_KEY,
        study=study,
        title="Failed edits",
        text=list(_EDIT_FAILURES_TEXT),
        warnings=_edit_failures_warnings(counted),
        figures=[_figure(counted)],
        tables=[_counts(counted), *(each for each in bounds if each is not None)],
        sources=[INTERVALS[WILSON_CLUSTERED], MISSING_ANSWERS_SOURCES[0]],
    )


class _Counted(NamedTuple):
    """Failures of a group of images. what: the attribute that it is a level of, or a label of the photographs."""

    what: str
    label: str
    failures: Share


def _edit_failures_levels(design: Design, attributes: Mapping[str, Attribute], images: int) -> Iterator[Group]:
    cells = design.cells()
    for name, values in design.levels.items():
        for value in values:
            here = np.array([cell[name] == value for cell in cells], dtype=np.bool_)
            yield Group(f"{words(name)}: {attributes[name].label(value)}", np.resize(here, images))


def _edit_failures_warnings(counted: Sequence[_Counted]) -> list[str]:
    """Sorts of which two groups' intervals do not meet."""
    warnings = []
    for what in dict.fromkeys(each.what for each in counted):
        those = {each.label: each.failures for each in counted if each.what == what and each.failures.n}
        first, last = min(those, key=lambda name: those[name].high), max(those, key=lambda name: those[name].low)
        if those[first].high < those[last].low:
            warnings.append(
                f"Edits fail more often for {last} ({100 * those[last].value:.0f} %) than for {first} "
                f"({100 * those[first].value:.0f} %): read the bounds, and not the effects alone."
            )
    return warnings


def _counts(counted: Sequence[_Counted]) -> Table:
    heads = [("images", "text"), ("by", "text"), ("number", "count"), ("fail", "count")]
    heads += [("share", "proportion"), ("low", "proportion"), ("high", "proportion")]
    rows = [[label, what, found.n, found.hits, *found[:3]] for what, label, found in counted]
    return table("Failures by level and by group", heads, rows)


def _figure(counted: Sequence[_Counted]) -> Figure:
    """A panel for the levels and one for each label, a dot per group."""
    panels: dict[str, dict[str, list[Point]]] = {}
    for what, label, found in counted:
        dots = panels.setdefault(what, {"share of images": []})["share of images"]
        dots.append(found.dot(label))
    caption = "(share of the images, %, with 95 % intervals by person)"
    return drawn("rows", "Where do edits fail?", caption, panels, "images that fail", "proportion")


def _bounds_table(
    answers: Answers, failed: Bool[np.ndarray, " n"], groups: Mapping[str, Sequence[Group]]
) -> Table | None:
    """A row per contrast in which an image fails, of all photographs and of each group; None without one."""
    outcome, values = compared(answers)
    unit = "points" if answers.binary else "number"
    everyone = Group("all", np.ones(len(values), dtype=np.bool_))
    sorts = [everyone, *(group for each in groups.values() for group in each)]
    rows = [
        row for name in answers.design.levels for group in sorts for row in _rows(answers, name, values, failed, group)
    ]
    if not rows:
        return None
    heads = [("effect", "text"), ("photographs", "text"), ("fail, first", "proportion"), ("fail, second", "proportion")]
    heads += [("effect of all images", unit), ("effect where both pass", unit)]
    heads += [(f"bounds: {end}", unit) for end in ("smallest", "largest", "interval low", "interval high")]
    title = f"What the effects on the {outcome} of {short_name(answers.target)} could be, had no edit failed"
    return table(title, [*heads, ("note", "text")], rows)


def _rows(
    answers: Answers, name: str, values: Float[np.ndarray, " n"], failed: Bool[np.ndarray, " n"], group: Group
) -> Iterator[list[object]]:
    """From the first level of an attribute to each other one, or of a number to the last."""
    levels, attribute = answers.design.levels[name], answers.attributes[name]
    grid, lost, inside = (answers.by_level(each, name) for each in (values, failed, group.inside))
    for level in range(1, len(levels)) if attribute.discrete else [len(levels) - 1][: len(levels) - 1]:
        first, second = grid[:, 0], grid[:, level]
        sent = np.isfinite(first) & np.isfinite(second) & inside[:, 0]
        if not (sent & (lost[:, 0] | lost[:, level])).any():
            continue
        text = f"{words(name)}: {attribute.label(levels[0])} to {attribute.label(levels[level])}"
        valid_first, valid_second = np.where(lost[:, 0], np.nan, first), np.where(lost[:, level], np.nan, second)
        shares = [float(lost[:, at][sent].mean()) for at in (0, level)]
        effects = [_mean(first, second, sent), _mean(valid_first, valid_second, sent)]
        bounds = Bounds(np.nan, np.nan, np.nan, np.nan, _NO_RANGE)
        if answers.binary:
            bounds = paired_bounds(valid_first, valid_second, sent, people=answers.who, seed=answers.design.seed)
        yield [text, group.label, *shares, *effects, *bounds_cells(bounds), bounds.reason]


def _mean(
    first: Float[np.ndarray, "n cells"], second: Float[np.ndarray, "n cells"], sent: Bool[np.ndarray, "n cells"]
) -> float:
    return known_mean(level_differences(np.where(sent, first, np.nan), np.where(sent, second, np.nan)))


EDIT_VALIDITY_KEY: Final = "edit-validity"
EDIT_VALIDITY_SHOWN: Final = 40
"""Cells and attributes that are shown one by one; the tables say how many more there are."""
FEW: Final = 0.5
"""Share of images that pass below which a cell is said to be out of the generator's reach."""
MOST_FAIL: Final = "Most edited images fail the checks of edits"
_LOOK: Final = "Effects hold for these images: look at them, and at the bounds, before you use a number."
_EDIT_VALIDITY_TEXT: Final = (
    "An image that was edited in a latent space may not show what was set. Each edited image was compared with "
    "the subject's unedited image; every limit comes from unedited images of other subjects. An image that "
    "fails a gate is counted here by cell, and it is included in every figure of this report."
)
_SHIPPED: Final = (
    "Attributes without a model named by --check-attribute were read by the built-in network. "
    "It was trained on rendered faces and also labelled the images to which the directions were fitted, so an "
    "edit that satisfies this network but not people passes. Attributes without a direction are not read."
)
_OF_PHOTOGRAPHS: Final = (
    "An image of a photograph that was edited may not show what was set, or show more. Each was compared with its "
    "photograph as it is; limits come from unedited photographs, each once, starting with those that the study does "
    "not show. An image that fails a gate is counted here by cell, and it is included in every figure of this report."
)
_READ_BACK: Final = (
    f"the set attribute reads as stated for its level, within {YES_OR_NO:g} for levels and yes or no, else within "
    f"{MOST_DRIFT:g} SD; where nothing is stated for a number, it moves as the level moved"
)
_SHIPPED_PHOTOGRAPHS: Final = (
    "Attributes without a model named by --check-attribute were read by the built-in network. It was trained only on "
    "rendered faces: on photographs it shows whether an edit changed much or little, and a pass is not evidence of "
    "validity. Name models that read photographs, and have people rate the images: transect annotate serve RUN "
    "--questions edits."
)
_MEANINGS: Final = {
    SHIFT: f"the reading is as near to the expected as in {KEPT:g} % of unedited images, or within {LEAST_SHIFT:g} SD",
    DRIFT: f"no other attribute that is read moves by more than {MOST_DRIFT:g} SD, or changes its level",
    IDENTITY: f"nearer to the own image than {100 - SAME_PERSON:g} % of pairs of different people are to each other",
    REALISM: f"as real as {KEPT:g} % of unedited images",
    OUTSIDE: "every pixel outside of what was edited is that of the subject's own image",
    RANGE: f"no more values cut at the ends of the range than in {KEPT:g} % of unedited images, or in the own",
}


def edit_validity_section(
    spec: RunSpec,
    attributes: Mapping[str, Attribute],
    edits: pa.Table,
    reference: pa.Table,
    people: Int[np.ndarray, " n"],
    adjusted: Table | None = None,
) -> Section:
    """The section of one study. edits, reference: the tables of `transect.experiment.edits`. people: on each image."""
    rows, design = np.flatnonzero(edits["cell"].to_numpy() >= 0), spec.design
    cells = edits["cell"].to_numpy()[rows]
    gates = [gate for gate in GATES if f"fails.{gate}" in edits.column_names]
    fails = {gate: edits[f"fails.{gate}"].to_numpy(zero_copy_only=False)[rows] for gate in gates}
    unknown = {gate: edits[f"unknown.{gate}"].to_numpy(zero_copy_only=False)[rows] for gate in gates}
    failed = np.zeros(len(rows), dtype=bool)
    for column in fails.values():
        failed |= column
    limits = loads(reference.schema.metadata[b"limits"])
    labels = [
        ", ".join(f"{words(name)} {attributes[name].label(value)}" for name, value in cell.items())
        for cell in design.cells()
    ]
    meanings = _MEANINGS if _in_latents(spec) else {**_MEANINGS, SHIFT: _READ_BACK}
    return Section(
        key=EDIT_VALIDITY_KEY,
        study=spec.name,
        title="Check of edits",
        text=_texts(spec, adjusted),
        warnings=_edit_validity_warnings(failed, cells, labels, gates),
        figures=[_coverage_figure(failed, people, cells, labels)],
        tables=[
            _gates(fails, unknown, people, limits, meanings),
            _by_cell(fails, failed, people, cells, labels, _natural(design, attributes, reference)),
            *_drifts(edits, rows),
            *([] if adjusted is None else [adjusted]),
            *_draws(spec, edits, rows, failed),
        ],
        sources=[BALAKRISHNAN, *([] if adjusted is None else DRIFT_SOURCES)],
    )


def _texts(spec: RunSpec, adjusted: Table | None) -> list[str]:
    shipped = bool(spec.edits and spec.edits.shipped)
    told = [] if adjusted is None else [TEXT]
    if not _in_latents(spec):
        return [_OF_PHOTOGRAPHS, *([_SHIPPED_PHOTOGRAPHS] if shipped else []), *told]
    return [_EDIT_VALIDITY_TEXT, *([_SHIPPED] if shipped else []), *told]


def _in_latents(spec: RunSpec) -> bool:
    """Whether attributes were set in a latent space, also of inverted photographs."""
    return not spec.generator.starts_from_photographs or bool(spec.generator.photographs)


def _edit_validity_warnings(
    failed: Bool[np.ndarray, " n"], cells: Int[np.ndarray, " n"], labels: Sequence[str], gates: Sequence[str]
) -> list[str]:
    warnings = []
    if failed.any():
        what = "they do not show what was set, or show more."
        of = f"{int(failed.sum()):,} of {len(failed):,}"
        told = f"{of} images fail a gate: {what}"
        warnings.append(told if failed.mean() <= FEW else f"{MOST_FAIL}. {told} {_LOOK}")
    poor = [label for number, label in enumerate(labels) if failed[cells == number].mean() > 1 - FEW]
    if poor:
        named = "; ".join(poor[:3]) + (f"; and {len(poor) - 3} more" if len(poor) > 3 else "")
        warnings.append(
            f"In {len(poor)} of {counted(len(labels), 'cell')} most images fail, so they say little about the varied "
            f"attributes: {named}."
        )
    if SHIFT not in gates:
        warnings.append("Whether images show what was set was not measured: give --check-attribute NAME=TARGET.")
    return warnings


def _gates(
    fails: Mapping[str, np.ndarray],
    unknown: Mapping[str, np.ndarray],
    people: Int[np.ndarray, " n"],
    limits: Mapping[str, Any],
    meanings: Mapping[str, str],
) -> Table:
    heads = [("gate", "text"), ("an image passes where", "text"), ("images", "count"), ("fail", "count")]
    heads += [("share", "proportion"), ("low", "proportion"), ("high", "proportion"), ("not measured", "text")]
    rows: list[list[object]] = []
    for gate in (gate for gate in GATES if gate != OUTSIDE or gate in fails):
        reasons = [text if name == gate else f"{words(name.partition(': ')[2])}: {text}"
                   for name, text in limits["reasons"].items() if name.partition(":")[0] == gate]  # fmt: skip
        if gate not in fails:
            rows.append([gate, meanings[gate], 0, None, None, None, None, "; ".join(reasons) or "too few images"])
            continue
        known = ~unknown[gate] | fails[gate]
        lost = int((~known).sum())
        reasons += [f"{counted(lost, 'image')} without a value"] if lost else []
        found = share(fails[gate][known].astype(np.float64), people[known])
        rows.append([gate, meanings[gate], found.n, found.hits, *found[:3], "; ".join(reasons)])
    return table("Gates", heads, rows)


def _natural(design: Design, attributes: Mapping[str, Attribute], reference: pa.Table) -> Float[np.ndarray, " cells"]:
    """The share of unedited subjects that lie nearest to each cell, along the varied attributes."""
    place = np.zeros(len(reference), dtype=np.int64)
    for name, levels in design.levels.items():
        values, steps = reference[f"value.{name}"].to_numpy(), np.array(levels)
        if attributes[name].unit == "λ":  # every subject's own image is at step 0
            values = np.zeros(len(values))
        place = place * len(levels) + np.abs(values[:, None] - steps[None]).argmin(axis=1)
    return np.bincount(place, minlength=design.n_cells) / len(reference)


def _by_cell(
    fails: Mapping[str, np.ndarray],
    failed: Bool[np.ndarray, " n"],
    people: Int[np.ndarray, " n"],
    cells: Int[np.ndarray, " n"],
    labels: Sequence[str],
    natural: Float[np.ndarray, " cells"],
) -> Table:
    heads = [("cell", "text"), ("subjects as sampled", "proportion"), ("images", "count")]
    heads += [(f"fail: {gate}", "count") for gate in fails]
    heads += [("fail any", "count"), ("pass all", "proportion"), ("low", "proportion"), ("high", "proportion")]
    counts = np.bincount(cells, minlength=len(labels))
    lost = np.bincount(cells[failed], minlength=len(labels))
    order, more = np.arange(len(labels)), ""
    if len(labels) > EDIT_VALIDITY_SHOWN:
        order = np.argsort(-lost, kind="stable")[:EDIT_VALIDITY_SHOWN]
        more = f": the {EDIT_VALIDITY_SHOWN} of {len(labels)} cells with the most failures"
    rows = []
    for number in order.tolist():
        inside = cells == number
        each = [int(column[inside].sum()) for column in fails.values()]
        passing = 1 - lost[number] / counts[number] if counts[number] else np.nan
        ends_of = _passing(failed, people, inside)[1:3]
        rows.append(
            [labels[number], float(natural[number]), int(counts[number]), *each, int(lost[number]), passing, *ends_of]
        )
    return table(f"What the generator can and cannot produce{more}", heads, rows)


def _passing(failed: Bool[np.ndarray, " n"], people: Int[np.ndarray, " n"], inside: Bool[np.ndarray, " n"]) -> Share:
    """The share of the images inside that fail no gate, by person."""
    return share((~failed[inside]).astype(np.float64), people[inside])


def _coverage_figure(
    failed: Bool[np.ndarray, " n"], people: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"], labels: Sequence[str]
) -> Figure:
    """A row per cell: the share of its images that pass every gate."""
    counts = np.bincount(cells, minlength=len(labels))
    passed = counts - np.bincount(cells[failed], minlength=len(labels))
    order = np.argsort(passed / np.maximum(counts, 1), kind="stable")[:EDIT_VALIDITY_SHOWN]
    points = [_passing(failed, people, cells == place).dot(labels[place]) for place in sorted(order.tolist())]
    more = f", the {EDIT_VALIDITY_SHOWN} of {len(labels)} that fail most" if len(labels) > EDIT_VALIDITY_SHOWN else ""
    title, panels = f"Which cells of the grid can the generator produce{more}?", {"Cells": {"": points}}
    return drawn("rows", title, "(the numbers are images)", panels, "images that pass every gate", "proportion")


def _drifts(edits: pa.Table, rows: Int[np.ndarray, " n"]) -> list[Table]:
    """How far each attribute that was not set moved; nothing where none is read."""
    names = [name.removeprefix("drift.") for name in edits.column_names if name.startswith("drift.")]
    drifts: list[tuple[str, float | None, float | None, float, int, int]] = []
    for name in names:
        moved = edits[f"drift.{name}"].to_numpy()[rows]
        known = moved[np.isfinite(moved)]
        lost = len(moved) - len(known)
        shares = [known.mean(), np.percentile(known, 95), (known > MOST_DRIFT).mean()] if len(known) else [np.nan] * 3
        changes = bool(len(known)) and bool(np.isin(known, (0.0, 1.0)).all()) and known.max() > 0
        share = float((known > 0.5).mean()) if changes else shares[2]
        mean, most = (None, None) if changes else shares[:2]
        drifts.append((words(name), mean, most, share, len(known), lost))
    if not drifts:
        return []
    drifts.sort(key=lambda row: -(row[3] if row[3] == row[3] else 0))
    heads = [("attribute", "text"), ("mean change, SD", "number"), ("95 % below, SD", "number")]
    heads += [("beyond the limit, or level changed", "proportion"), ("images", "count"), ("not read", "count")]
    more = f": the {EDIT_VALIDITY_SHOWN} of {len(drifts)} that fail most" if len(drifts) > EDIT_VALIDITY_SHOWN else ""
    return [table(f"Attributes that were not set{more}", heads, drifts[:EDIT_VALIDITY_SHOWN])]


def _draws(spec: RunSpec, edits: pa.Table, rows: Int[np.ndarray, " n"], failed: Bool[np.ndarray, " n"]) -> list[Table]:
    """How many subjects were drawn again; nothing where none could be."""
    if not (spec.edits and spec.edits.redraw):
        return []
    subjects, first, place = np.unique(edits["subject"].to_numpy()[rows], return_index=True, return_inverse=True)
    draws = edits["draws"].to_numpy()[rows][first]
    still = np.bincount(place.reshape(-1), weights=failed, minlength=len(subjects)) > 0
    lines = [
        ["subjects", len(subjects)],
        ["drawn again at least once", int((draws > 1).sum())],
        ["draws in all", int(draws.sum())],
        ["still failing after the last draw, and included", int(still.sum())],
    ]
    return [table("Subjects drawn again", [("what", "text"), ("number", "count")], lines)]
