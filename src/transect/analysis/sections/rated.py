"""What ratings there are, which images rules of the user's leave out, and how results move with each exclusion."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.analysis.sections.answers import point, table, words
from transect.effects.pruning import SOURCE, Pruning
from transect.records import Effect
from transect.reports.records import Figure, Panel, Section, Series, Table, Unit

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
    "Rules leave images out step by step, by ratings alone. All other numbers on this page are of the images "
    "that remain at the end; here each contrast is estimated again after each step. In an experiment, a rule "
    "on a perceived value that the manipulation moves selects on a consequence of the treatment."
)


def section(
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
        sources=[SOURCE] if pruning is not None else [],
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
        panels = [_panel(names, effects) for effects in shown if effects[0].unit == unit]
        more = f" (the {len(shown)} of {total} contrasts that move most)" if total > len(shown) else ""
        caption = "(each row is of the images left after that step)"
        title = f"How contrasts move with each exclusion{more}"
        figures.append(Figure(kind="rows", title=title, caption=caption, panels=panels))
    return figures


def _panel(names: Sequence[str], effects: tuple[Effect, ...]) -> Panel:
    points = [
        point(e.estimate, low=e.low, high=e.high, label=_called(name), n=e.n_images, reason=e.reason)
        for name, e in zip(names, effects, strict=True)
    ]
    return Panel(
        heading=_title(effects[0]),
        y_words="difference",
        unit=_unit(effects[0]),
        series=[Series(name="", points=points)],
    )


def _called(name: str) -> str:
    return name if name == EVERYTHING else f"without {name}"


def _title(effect: Effect) -> str:
    return f"{words(effect.name)}, {effect.outcome} of {effect.target}"


def _unit(effect: Effect) -> Unit:
    return "points" if effect.unit == "proportion" else "number"


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
                cells += [value, None] if _unit(e) == "points" else [None, value]
            rows.append([_title(e), _called(name), *cells, e.n_subjects, e.n_images, e.reason])
    return table("Every effect after each step", heads, rows)
