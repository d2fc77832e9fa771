"""A model card: the sections of Mitchell et al. 2019 as far as a run fills them, and metadata for the Hugging Face Hub.

Mitchell et al. 2019, Model cards for model reporting, doi:10.1145/3287560.3287596, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final, TypeVar

from transect.reports.entries import EffectEntry, OfTarget
from transect.reports.exports.result_texts import (
    SHARES,
    attribute_rows,
    bullets,
    cell,
    document,
    effect_cells,
    effect_headings,
    level,
    meanings,
    outcome,
    plain_text,
    rate_cells,
    rate_numbers,
    setting_rows,
    table,
    target_rows,
    tests,
    texts_of_models,
    to_state,
    yaml,
)
from transect.reports.results import RateEntry, Results
from transect.reports.wording import ATTRIBUTE_NOTE
from transect.runs.wording import spaced

Row = TypeVar("Row", bound=OfTarget)
_TASKS: Final = {
    "binary": "image-classification",
    "multiclass": "image-classification",
    "multilabel": "image-classification",
    "detection": "object-detection",
    "regression": "other",
    "embedding": "image-feature-extraction",
}
"""The names of tasks on the Hugging Face Hub; "other" where it has none."""
_RATES: Final = ("Model", "Outcome", "Rate or mean")
_HEADINGS: Final = ("Study", "Attribute", "Meaning", "Levels", "Source")
_UNTESTED: Final = "Attributes that are not in this table were not varied: this run says nothing about them."


def metadata(results: Results, model: str) -> dict[str, object]:
    """The model-index: a result per target and study, with a metric for each overall rate and each effect.

    args of a metric: the ends of its interval, p adjusted, the numbers of subjects and images, and the unit.
    """
    entries = []
    for study in results.studies:
        for target in study.targets:
            metrics = _metrics(results, study.name, target.name)
            if metrics:
                entries.append(
                    {
                        "task": {"type": _TASKS.get(target.task, "other"), "name": target.task},
                        "dataset": {"name": f"{results.world.name}, {study.name}", "type": "transect-audit"},
                        "metrics": metrics,
                    }
                )
    return {"model-index": [{"name": model, "results": entries}]}


def _metrics(results: Results, study: str, target: str) -> list[dict[str, object]]:
    """Overall rates, then effects; what is not estimable has no value and is named in the text."""

    def mine(rows: Sequence[Row]) -> list[Row]:
        return [row for row in rows if (row.study, row.target) == (study, target)]

    overall = [
        _metric(_kind(row), f"{outcome(row, results)}, {cell(row, results)}", row.rate, row)
        for row in mine(results.rates)
        if row.order == 0 and row.rate is not None
    ]
    changes = [
        _metric(f"{row.outcome}_change", f"{outcome(row, results)}, {spaced(row.name)}", row.estimate, row)
        for row in mine(results.effects)
        if row.estimate is not None
    ]
    return overall + changes


def _kind(row: RateEntry) -> str:
    return f"{row.outcome}_rate" if row.unit == "proportion" else f"mean_{row.outcome}"


def _metric(kind: str, name: str, value: float, row: EffectEntry | RateEntry) -> dict[str, object]:
    kept = ("low", "high", "p_adjusted", "n_subjects", "n_images", "unit")
    return {"type": kind, "name": name, "value": value, "args": {key: getattr(row, key, None) for key in kept}}


def card(results: Results, model: str) -> str:
    """The card: front matter, then the nine sections. What a run cannot know is a line that begins with "To state"."""
    version = plain_text(results.transect_version)
    head = [
        "---",
        yaml(metadata(results, model)),
        "---",
        "",
        f"# Model card: {plain_text(model)}",
        "",
        "The sections are those of Mitchell et al. 2019. Every number comes from one audit with Transect "
        f"{version}: {plain_text(results.title)}. Fill in the lines that begin with **To state**.",
    ]
    return document(
        [
            *head,
            "",
            "## Model details",
            *table(("As audited", "Task", "Study"), target_rows(results), "The run has no target."),
            *table(("As audited", "Setting", "Value"), setting_rows(results), "No setting is known."),
            *to_state("who made the model, when, its version and licence, and whom to ask"),
            "## Intended use",
            *to_state("what the model is for, who uses it, and for what it must not be used"),
            *_factors(results),
            *_metrics_used(results),
            *_data(results),
            "## Training data",
            *to_state("what the model was trained on; an audit does not see it"),
            *_analyses(results),
            "## Ethical considerations",
            *bullets([ATTRIBUTE_NOTE]),
            *to_state("whom an error harms, which risks were weighed, and what was done about them"),
            "## Caveats and recommendations",
            *bullets(results.limits),
        ]
    )


def _factors(results: Results) -> list[str]:
    how = "set by experiment on rendered or generated images"
    if any(study.basis != "experimental" for study in results.studies):
        how = "observed, so that differences are associations"
    return [
        "## Factors",
        "",
        f"Attributes were {how}.",
        *table(_HEADINGS, attribute_rows(results), "No attribute was varied."),
        _UNTESTED,
        *to_state("other factors that matter where the model is used, as cameras, places and groups"),
    ]


def _metrics_used(results: Results) -> list[str]:
    said = meanings(results.rates, results)
    rules = {t.name: t.found_rule for s in results.studies for t in s.targets if t.found_rule}
    said += [f"{name} has found what it looks for with {rule}." for name, rule in rules.items()]
    return ["## Metrics", *bullets([*said, f"Intervals have {level(results)}. {tests(results)}"])]


def _data(results: Results) -> list[str]:
    rows = [
        [
            study.name,
            f"{study.subjects:,}",
            f"{study.images:,}",
            study.population or "–",
            str(study.seed),
            "; ".join(f"{target.name}: {target.n_failed:,}" for target in study.targets),
        ]
        for study in results.studies
    ]
    return [
        "## Evaluation data",
        "",
        f"{plain_text(results.world.name)}: {plain_text(results.world.statement)}",
        *table(("Study", "Subjects", "Images", "Population", "Seed", "Images without an answer"), rows, "No study."),
    ]


def _analyses(results: Results) -> list[str]:
    overall = [rate_cells(row, results) for row in results.rates if row.order == 0]
    single = [[cell(row, results), *rate_cells(row, results)] for row in results.rates if row.order == 1]
    interval, images = f"{level(results)} interval", "Images"
    crossed = ("Attributes together", *_RATES[:2], "Lowest", "Highest", "Combinations", "Not estimable")
    return [
        "## Quantitative analyses",
        "",
        f"{plain_text(results.question)} {SHARES}",
        "",
        "### Over all images",
        *table((*_RATES, interval, images), overall, "No rate over all images was estimated."),
        "### One attribute at a time",
        *table(effect_headings(results), [effect_cells(row, results) for row in results.effects], "No effect."),
        *table(("Images with", *_RATES, interval, images), single, "No rate at a single level was estimated."),
        "### Attributes together",
        *table(crossed, list(_combinations(results)), "No combination of attributes was estimated."),
    ]


def _combinations(results: Results) -> Iterator[list[str]]:
    """The extreme rates of every two and more attributes together, with their intervals."""

    def group(row: RateEntry) -> tuple[str, ...]:
        return (row.study, row.target, row.outcome, *row.cell)

    for _, found in groupby(sorted((r for r in results.rates if r.order > 1), key=group), group):
        rows = list(found)
        known = sorted((row for row in rows if row.rate is not None), key=lambda row: row.rate or 0.0)
        ends = [_extreme(row, results) for row in (known[0], known[-1])] if known else ["not estimable"] * 2
        names = ", ".join(map(spaced, rows[0].cell))
        counts = f"{len(rows):,}", f"{len(rows) - len(known):,}"
        yield [names, rows[0].target, outcome(rows[0], results), *ends, *counts]


def _extreme(row: RateEntry, results: Results) -> str:
    rate, ends = rate_numbers(row)
    return f"{rate} ({ends}), {cell(row, results)}"


def cards(results: Results, model: str) -> dict[str, str]:
    """A card for each model: model-card.md, or model-card-MODEL.md where there are several."""
    return texts_of_models(results, model, "model-card", card)
