"""The comparison as short tables for a terminal and for the documents: texts, in percentage points."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from transect.generators.faceworld.attributes import attribute
from transect.jobs.verify.figures import ImagesFigures
from transect.jobs.verify.images.comparison import KINDS
from transect.jobs.verify.images.methods import METHODS

Table = tuple[str, list[str], list[list[str]]]
TRUTH_HEADINGS: Final = [
    "attribute",
    "from",
    "to",
    "errors at the lower %",
    "true effect",
    "standard error",
    "on score",
]
EFFECT_HEADINGS: Final = ["attribute", "method", "truth", "mean", "bias", "RMSE", "half width", "covers %"]
WHY: Final = {method.name: method.why for method in METHODS} | {"transects": "the attribute alone is set"}


def tables_of(figures: ImagesFigures) -> Iterator[Table]:
    """Title, headings and rows: the truth, the estimates at the largest budget, errors by number of images."""
    budget = max(_budgets(figures))
    yield (
        f"True effects on seeing a smile where there is none, in points ({figures.interventions:,} interventions)",
        TRUTH_HEADINGS,
        truth_rows(figures),
    )
    repeats = figures.sizes["repeats"]
    yield f"What {budget:,} images say, in points ({repeats} draws)", EFFECT_HEADINGS, effect_rows(figures, budget)
    yield "Root mean squared error in points over the attributes but lipstick, and coverage in %", *by_images(figures)


def truth_rows(figures: ImagesFigures) -> list[list[str]]:
    """One row per audited attribute."""
    return [
        [
            row.attribute,
            attribute(row.attribute).label(row.origin),
            attribute(row.attribute).label(row.to),
            points(row.rate, signed=False),
            points(row.effect),
            points(row.standard_error, signed=False),
            f"{row.score_effect:+.2f}",
        ]
        for row in figures.truth
    ]


def effect_rows(figures: ImagesFigures, images: int) -> list[list[str]]:
    """One row per audited attribute and method, with `images` images."""
    truth = {row.attribute: row.effect for row in figures.truth}
    chosen = sorted((r for r in figures.rows if r.images == images), key=lambda r: list(truth).index(r.attribute))
    return [
        [
            row.attribute,
            row.method,
            points(truth[row.attribute]),
            points(row.mean),
            points(row.bias),
            *(points(value, signed=False) for value in (row.rmse, row.half_width, row.coverage)),
        ]
        for row in chosen
    ]


def by_images(figures: ImagesFigures) -> tuple[list[str], list[list[str]]]:
    """Headings and rows: per method the error and, in parentheses, the coverage at each number of images."""
    budgets = _budgets(figures)
    cells = {
        (row.method, row.images): f"{points(row.rmse, signed=False)} ({100 * row.coverage:.0f})"
        for row in figures.overall
    }
    rows = [[method, KINDS[method], *(cells.get((method, n), "") for n in budgets), WHY[method]] for method in KINDS]
    return ["method", "kind", *(f"{n:,} images" for n in budgets), "why"], rows


def _budgets(figures: ImagesFigures) -> list[int]:
    budgets = figures.sizes["budgets"]
    return budgets if isinstance(budgets, list) else [budgets]


def points(value: float | None, *, signed: bool = True) -> str:
    """A share in percentage points; nothing where there is none.

    >>> points(0.0512), points(0.0512, signed=False), points(None)
    ('+5.1', '5.1', '')
    """
    return "" if value is None else f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"
