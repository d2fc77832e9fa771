"""The figures of the world as short tables for a terminal."""

from __future__ import annotations

import math
from collections.abc import Iterator

from transect.jobs.verify.by_attribute import WANTED
from transect.jobs.verify.figures import (
    AttributeRead,
    Measured,
    OutsideReading,
    PhotographsRead,
    ShareFound,
    WorldFigures,
)
from transect.jobs.verify.sharpness import SharpnessRow
from transect.jobs.verify.world import PhotometryRow

Table = tuple[str, list[str], list[list[str]]]


def tables_of(figures: WorldFigures) -> Iterator[Table]:
    """Title, headings and rows of every part that was measured."""
    yield (
        f"FaceWorld, renderer version {figures.renderer_version}, {figures.image_size} pixels",
        ["part", "figure"],
        [list(row) for row in _overview(figures)],
    )
    if figures.photometry:
        yield (
            "Luminance of faces, rendered and in photographs",
            _PHOTOMETRY,
            [_light(row) for row in figures.photometry],
        )
    if figures.by_attribute:
        yield "Light by attribute: coefficients within two standard errors", _BY_LABEL, list(_by_label(figures))
        if differing := list(_differing(figures)):
            yield "Light by attribute: coefficients that differ", _EFFECTS, differing
    if figures.sharpness:
        yield "Sharpness of pictures, rendered and in photographs", _SHARPNESS, [_sharp(r) for r in figures.sharpness]
    if figures.targets:
        yield f"Share found: {figures.found_rule}", _TARGETS, [_share(row) for row in figures.targets]
        facts = [[row.target, row.group, str(row.n), _number(row.share)] for row in figures.photographs]
        yield "The same in photographs (UTKFace, adults)", ["target", "group", "n", "share"], facts
    if figures.attributes:
        yield "Read back from held-out pictures", _READINGS, [_reading(row) for row in figures.attributes]
    if figures.readers:
        rows = [row for reading in figures.readers for row in _outside(reading)]
        yield "Read by models from outside (printed, never fitted to)", _OUTSIDE, rows


_PHOTOMETRY = ["fifth", "statistic", "rendered median", "photographs p25 to p75", "inside", "share in p05 to p95"]
_BY_LABEL = ["label", "attribute", "coefficients", "within", "share"]
_EFFECTS = ["label", "measure", "rendered", "photographs", "standard errors apart"]
_SHARPNESS = [
    "population",
    "pixels",
    "n",
    "rendered p05, p50, p95",
    "photographs p05, p50, p95",
    "inside",
    "share inside",
]
_TARGETS = ["target", "by", "group", "n", "share", "95 % interval", "reason"]
_READINGS = ["attribute", "role", "figure", "value", "95 % interval", "n", "gate", "met", "visibility"]

_OUTSIDE = ["attribute", "reader", "of", "AUC", "correlation", "slope", "mean answers", "subjects", "unanswered"]


def _overview(figures: WorldFigures) -> Iterator[tuple[str, str]]:
    if figures.photometry:
        yield (
            "medians between the photographs' quartiles",
            f"{figures.medians_inside} of {len(figures.photometry)}",
        )
        yield "medians beyond their 5 to 95 %", str(len(figures.medians_outside))
        yield "smallest share of faces within their 5 to 95 %", _number(figures.share_inside)
        yield "faces per fifth", ", ".join(map(str, figures.faces_per_fifth))
        yield "median cheek luminance of the darkest tones", _number(figures.darkest_cheek)
        yield "photometry passes", _yes(figures.photometry_passes)
    if figures.by_attribute:
        known = [row.within for row in figures.by_attribute if row.within is not None]
        shares = f"{sum(known)} of {len(known)} ({_number(figures.share_within)}), wanted {WANTED}"
        yield "coefficients by attribute within two standard errors", shares
    gated = [row for row in figures.attributes if row.gate is not None]
    if gated:
        yield "attributes read back at their gate", f"{sum(bool(row.met) for row in gated)} of {len(gated)}"
    identity = figures.identity
    if identity is not None and figures.identity_auc is not None:
        yield (
            "people distinguished (AUC)",
            f"{_interval(identity, value=True)}, gate {identity.gate}: {_yes(identity.met)}",
        )
        yield "the same people in other pose and light (AUC)", _interval(identity.same_person, value=True)
        if network := identity.recognition:
            for name, figure in (("identities", network.identities), ("other people", network.other_people)):
                yield f"dlib's recognition network on {name} (AUC)", _interval(figure, value=True)
    yield from [
        (f"{row.attribute}, read by {row.reader} (AUC)", _interval(row.auc, value=True)) for row in figures.readers
    ]
    for figure in figures.null_auc:
        yield "groups that do not differ (AUC)", _interval(figure, value=True)
    if figures.control_auc:
        control = figures.control_auc
        yield f"groups that differ in {control.attribute} (AUC)", _interval(control, value=True)
    for region, error in (figures.landmarks.regions if figures.landmarks else {}).items():
        yield f"dlib's landmarks, {region}: mean error", f"{100 * error.mean:.1f} % of the eyes' distance"


def _light(row: PhotometryRow) -> list[str]:
    photographs = f"{row.p25:.3f} to {row.p75:.3f}"
    shares = _number(row.share_inside)
    return [str(row.fifth), row.statistic, _number(row.rendered_p50), photographs, _yes(row.inside), shares]


def _by_label(figures: WorldFigures) -> Iterator[list[str]]:
    for label in dict.fromkeys(row.label for row in figures.by_attribute):
        rows = [row for row in figures.by_attribute if row.label == label]
        known = [row.within for row in rows if row.within is not None]
        share = sum(known) / len(known) if known else None
        yield [label, rows[0].attributes, str(len(known)), str(sum(known)), _number(share)]


def _differing(figures: WorldFigures) -> Iterator[list[str]]:
    for row in figures.by_attribute:
        if row.within is False and row.rendered is not None and row.rendered_error is not None:
            error = math.hypot(row.rendered_error, row.photographs_error)
            pairs = (row.rendered, row.rendered_error), (row.photographs, row.photographs_error)
            shown = [f"{value:+.3f} ± {spread:.3f}" for value, spread in pairs]
            yield [row.label, row.statistic, *shown, f"{(row.rendered - row.photographs) / error:+.1f}"]


def _sharp(row: SharpnessRow) -> list[str]:
    quantiles = [", ".join(_number(values[k]) for k in (0, 2, 4)) for values in (row.rendered, row.photographs)]
    return [row.population, row.pixels, str(row.n), *quantiles, _yes(row.inside), _number(row.share_inside)]


def _share(row: ShareFound) -> list[str]:
    n = "" if row.n is None else str(row.n)
    return [row.target, row.by, row.group, n, _number(row.share), _interval(row), row.reason]


def _reading(row: AttributeRead) -> list[str]:
    gate = "" if row.gate is None else f"{row.gate:.2f}"
    met = "" if row.met is None else _yes(row.met)
    words = row.reason or row.visibility
    shown = [row.attribute, row.role, row.figure, _number(row.value), _interval(row)]
    return [*shown, str(row.n), gate, met, words]


def _outside(row: OutsideReading) -> Iterator[list[str]]:
    """A line of rendered faces, and one of photographs where they were given."""
    yield [row.attribute, row.reader, "FaceWorld", *_answers(row, row.unit), str(row.subjects), str(row.unanswered)]
    seen = row.photographs
    if seen is not None:
        of = f"{seen.name}, {seen.label}"
        yield [row.attribute, row.reader, of, *_answers(seen, ""), str(seen.subjects), str(seen.unanswered)]


def _answers(row: OutsideReading | PhotographsRead, unit: str) -> list[str]:
    cells = [_interval(figure, value=True) for figure in (row.auc, row.correlation, row.slope)]
    cells[2] += f" per {unit.removesuffix('s')}" if unit and row.slope.value is not None else ""
    return [*cells, "; ".join(f"{level.level}: {_number(level.value)}" for level in row.levels)]


def _interval(row: Measured | ShareFound, value: bool = False) -> str:
    """An interval as text, after its value on request.

    >>> _interval(Measured(0.5, 0.41, 0.6, 9, ""), value=True)
    '0.500 (0.410 to 0.600)'
    """
    if row.low is None or row.high is None:
        return "not estimable" if value else ""
    interval = f"{row.low:.3f} to {row.high:.3f}"
    return f"{_number(row.share if isinstance(row, ShareFound) else row.value)} ({interval})" if value else interval


def _number(value: float | None) -> str:
    return "" if value is None or value != value else f"{value:.3f}"


def _yes(value: bool | None) -> str:
    return "yes" if value else "no"
