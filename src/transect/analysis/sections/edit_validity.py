"""Edit validity on the page: which gates the images of a transect pass, by cell, and what a generator can produce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Float, Int

from transect.analysis.sections import drift
from transect.analysis.sections.answers import point, table, words
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
from transect.effects import repeated
from transect.effects.intervals import wilson_clustered
from transect.records import Attribute, Design
from transect.reports.records import Figure, Panel, Section, Series, Table
from transect.runs.plain_json import loads
from transect.runs.spec import RunSpec
from transect.runs.wording import counted

KEY: Final = "edit-validity"
SHOWN: Final = 40
"""Cells and attributes that are shown one by one; the tables say how many more there are."""
FEW: Final = 0.5
"""Share of images that pass below which a cell is said to be out of the generator's reach."""
MOST_FAIL: Final = "Most edited images fail the checks of edits"
_LOOK: Final = "Effects are of these images: look at them, and at the bounds, before you use a number."
SOURCE: Final = (
    "Balakrishnan et al. 2020, Towards causal benchmarking of bias in face analysis algorithms, arXiv:2007.06570"
)
_TEXT: Final = (
    "An image that was edited in a latent space may not show what was set. Each edited image was compared with "
    "the subject's unedited image; every limit comes from unedited images of other subjects. An image that "
    "fails a gate is counted here by cell, and it is included in every figure of this report."
)
_SHIPPED: Final = (
    "Attributes without a model named by --check-attribute were read by the network that ships with Transect. "
    "It was trained on rendered faces and also labelled the images to which the directions were fitted, so an "
    "edit that satisfies this network but not people passes. Attributes without a direction are not read."
)
_OF_PHOTOGRAPHS: Final = (
    "An image of a photograph that was edited may not show what was set, or show more. Each was compared with its "
    "photograph as it is; limits come from photographs as they are, each once, first those that the study does not "
    "show. An image that fails a gate is counted here by cell, and it is included in every figure of this report."
)
_READ_BACK: Final = (
    f"the set attribute reads as stated for its level, within {YES_OR_NO:g} for levels and yes or no, else within "
    f"{MOST_DRIFT:g} SD; where nothing is stated for a number, it moves as the level moved"
)
_SHIPPED_PHOTOGRAPHS: Final = (
    "Attributes without a model named by --check-attribute were read by the network that ships with Transect. It has "
    "seen rendered faces alone: on photographs it shows that an edit changed much or little, and a pass is no evidence "
    "of validity. Name models that read photographs, and have people rate the images: transect annotate serve RUN "
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


def section(
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
    labels = [_label(cell, attributes) for cell in design.cells()]
    meanings = _MEANINGS if _in_latents(spec) else {**_MEANINGS, SHIFT: _READ_BACK}
    return Section(
        key=KEY,
        study=spec.name,
        title="Do the images show what was set, and nothing else?",
        text=_texts(spec, adjusted),
        warnings=_warnings(failed, cells, labels, gates),
        figures=[_coverage_figure(failed, people, cells, labels)],
        tables=[
            _gates(fails, unknown, people, limits, meanings),
            _by_cell(fails, failed, people, cells, labels, _natural(design, attributes, reference)),
            *_drifts(edits, rows),
            *([] if adjusted is None else [adjusted]),
            *_draws(spec, edits, rows, failed),
        ],
        sources=[SOURCE, *([] if adjusted is None else drift.SOURCES)],
    )


def _texts(spec: RunSpec, adjusted: Table | None) -> list[str]:
    shipped = bool(spec.edits and spec.edits.shipped)
    told = [] if adjusted is None else [drift.TEXT]
    if not _in_latents(spec):
        return [_OF_PHOTOGRAPHS, *([_SHIPPED_PHOTOGRAPHS] if shipped else []), *told]
    return [_TEXT, *([_SHIPPED] if shipped else []), *told]


def _in_latents(spec: RunSpec) -> bool:
    """Whether attributes were set in a latent space, also of inverted photographs."""
    return not spec.generator.starts_from_photographs or bool(spec.generator.photographs)


def _label(cell: Mapping[str, float], attributes: Mapping[str, Attribute]) -> str:
    return ", ".join(f"{words(name)} {attributes[name].label(value)}" for name, value in cell.items())


def _warnings(
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
            f"In {len(poor)} of {counted(len(labels), 'cell')} most images fail, so that they say little of what was "
            f"set: {named}."
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
        count, n = int(fails[gate].sum()), int(known.sum())
        low, high = _by_person(fails[gate][known], people[known])
        lost = int((~known).sum())
        reasons += [f"{counted(lost, 'image')} without a value"] if lost else []
        share = count / n if n else np.nan
        rows.append([gate, meanings[gate], n, count, share, low, high, "; ".join(reasons)])
    return table("Gates", heads, rows)


def _by_person(failed: Bool[np.ndarray, " n"], people: Int[np.ndarray, " n"]) -> tuple[float, float]:
    """The 95 % interval of a share of images, by person; NaN without images."""
    who = np.unique(people, return_inverse=True)[1].astype(np.int64)
    low, high = wilson_clustered(*repeated.by_person(failed.astype(np.float64)[:, None], who))
    return float(low[0]), float(high[0])


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
    order = np.argsort(-lost, kind="stable")[:SHOWN] if len(labels) > SHOWN else np.arange(len(labels))
    rows = []
    for number in order:
        inside = cells == number
        each = [int(column[inside].sum()) for column in fails.values()]
        share = 1 - lost[number] / counts[number] if counts[number] else np.nan
        ends = _by_person(~failed[inside], people[inside])
        rows.append(
            [labels[number], float(natural[number]), int(counts[number]), *each, int(lost[number]), share, *ends]
        )
    more = f": the {SHOWN} of {len(labels)} cells with the most failures" if len(labels) > SHOWN else ""
    return table(f"What the generator can and cannot produce{more}", heads, rows)


def _coverage_figure(
    failed: Bool[np.ndarray, " n"], people: Int[np.ndarray, " n"], cells: Int[np.ndarray, " n"], labels: Sequence[str]
) -> Figure:
    """A row per cell: the share of its images that pass every gate."""
    counts = np.bincount(cells, minlength=len(labels))
    passed = counts - np.bincount(cells[failed], minlength=len(labels))
    order = np.argsort(passed / np.maximum(counts, 1), kind="stable")[:SHOWN]
    chosen = sorted(order.tolist())
    points = [
        point(passed[i] / counts[i], low=low, high=high, label=labels[i], n=int(counts[i]))
        for i in chosen
        for low, high in [_by_person(~failed[cells == i], people[cells == i])]
    ]
    more = f", the {SHOWN} of {len(labels)} that fail most" if len(labels) > SHOWN else ""
    panel = Panel(
        heading="Cells",
        y_words="images that pass every gate",
        unit="proportion",
        series=[Series(name="", points=points)],
    )
    title = f"Which cells of the grid can the generator produce{more}?"
    return Figure(kind="rows", title=title, caption="(the numbers are images)", panels=[panel])


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
    more = f": the {SHOWN} of {len(drifts)} that fail most" if len(drifts) > SHOWN else ""
    return [table(f"Attributes that were not set{more}", heads, drifts[:SHOWN])]


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
