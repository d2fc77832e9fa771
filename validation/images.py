"""The proving ground with images: a model's true causal effects, and what other methods estimate.

Subjects that do not smile stay so under every intervention, since no audited attribute causes the smile. "The model
is wrong" means on these subjects that it sees a smile.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional

from transect.generators.faceworld.attributes import attribute
from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.world import FaceWorld
from transect.records import Latents
from transect.runs.parts import Progress
from validation import effects_figure
from validation.image_methods import (
    AUDITED,
    FIRST_SEEDS,
    KINDS,
    METHODS,
    POPULATION,
    SMILING,
    Sizes,
    estimates,
    overall,
    summary,
    true_effects,
)
from validation.network import Batch, Places, Schedule, answers, new_network, train
from validation.pictures import Pictures, population
from validation.text import DOCS, Table, markdown, replaced

Model = Callable[[Latents], Float[np.ndarray, " n"]]
"""The audited model: scores of latents, above 0 where it sees a smile."""

PAGE: Final = DOCS / "research" / "proving-ground.md"
FIGURE: Final = DOCS / "images" / "effects.svg"
_START, _END = "<!-- images -->", "<!-- end of images -->"
_AT_ONCE: Final = 500
_SEEDS_AT_ONCE: Final = 4096


def not_smiling(world: FaceWorld, first_seed: int, count: int) -> Int[np.ndarray, " n"]:
    """The seeds of the first `count` subjects from first_seed on who do not smile, int64.

    >>> world = FaceWorld(image_size=32)
    >>> bool((world.read(world.sample(not_smiling(world, 7, 5)))["smile"].to_numpy() <= SMILING).all())
    True
    """
    seeds_found: list[np.ndarray] = []
    while sum(map(len, seeds_found)) < count:
        seeds = np.arange(first_seed, first_seed + _SEEDS_AT_ONCE)
        smile = world.read(world.sample(seeds))["smile"].to_numpy()
        seeds_found.append(seeds[smile <= SMILING])
        first_seed += _SEEDS_AT_ONCE
    return np.concatenate(seeds_found)[:count]


def other_value(name: str, has: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """The value of an audited attribute that each subject does not have; has: whether it has the higher one.

    >>> other_value("skin_tone", np.array([True, False]))
    array([3., 8.])
    """
    low, high = AUDITED[name]
    return np.where(has, low, high)


def observed(world: FaceWorld, model: Model, first_seed: int, count: int, *, quiet: bool = True) -> pa.Table:
    """One row per subject: its attributes, its smile and the model's score of its picture, float64.

    Columns: seed (int64), smile, the audited attributes as 0 (lower value) and 1, score.
    """
    return _scored(world, model, "observed", first_seed, count, (), quiet)


def intervened(
    world: FaceWorld, model: Model, name: str, first_seed: int, count: int, *, quiet: bool = True
) -> pa.Table:
    """As `observed`, with the scores under both values of each audited attribute, all else unchanged.

    Further columns: low.<attribute> and high.<attribute>, of which one is the score of the subject as it is.
    """
    return _scored(world, model, name, first_seed, count, tuple(AUDITED), quiet)


def _scored(
    world: FaceWorld, model: Model, name: str, first_seed: int, count: int, vary: tuple[str, ...], quiet: bool
) -> pa.Table:
    seeds, parts = not_smiling(world, first_seed, count), []
    with Progress(f"{name} pictures", count * (1 + len(vary)), quiet=quiet) as progress:
        for start in range(0, count, _AT_ONCE):
            parts.append(_part(world, model, seeds[start : start + _AT_ONCE], vary))
            progress.advance(len(parts[-1]) * (1 + len(vary)))
    return pa.concat_tables(parts)


def _part(world: FaceWorld, model: Model, seeds: Int[np.ndarray, " n"], vary: tuple[str, ...]) -> pa.Table:
    latents = world.sample(seeds)
    values = world.read(latents)
    has = {name: values[name].to_numpy() > np.mean(ends) for name, ends in AUDITED.items()}
    score = model(latents)
    columns: dict[str, np.ndarray] = {"seed": seeds, "smile": values["smile"].to_numpy()}
    columns |= {name: higher.astype(np.float64) for name, higher in has.items()} | {"score": score}
    for name in vary:
        other_score = model(world.set(latents, {name: other_value(name, has[name])}))
        columns |= {
            f"low.{name}": np.where(has[name], other_score, score),
            f"high.{name}": np.where(has[name], score, other_score),
        }
    return pa.table(columns)


def trained_model(sizes: Sizes, world: FaceWorld, *, quiet: bool = True) -> Model:
    """A small network, trained on the confounded population to recognise smiles."""
    first = FIRST_SEEDS["training"]
    taught = Pictures(world, "training", sizes.training, population(first), quiet=quiet)
    smiling, places = taught.column("smile") > SMILING, Places(taught)
    schedule = Schedule(sizes.epochs, seed=sizes.seed)

    def loss(outputs: Tensor, batch: Batch) -> Tensor:
        wanted = torch.from_numpy(smiling[batch.rows].astype(np.float32))
        return functional.binary_cross_entropy_with_logits(outputs[:, 0], wanted) + places.loss(outputs, batch)

    network = new_network(1, sizes.seed, places.average)
    network = train(network, taught.pixels, len(taught), loss, schedule, "smiles", quiet=quiet)

    def scores(latents: Latents) -> Float[np.ndarray, " n"]:
        pixels = world.render(latents).pixels
        return answers(network, lambda rows: pixels[rows], len(pixels))[:, 0]

    return scores


def performance(sizes: Sizes, world: FaceWorld, model: Model) -> dict[str, Any]:
    """How good the model is on new subjects of the population that it was taught on, smiling or not.

    Returns pictures, accuracy, false_positive_rate and false_negative_rate; None where there is nobody to count.

    >>> world = FaceWorld(image_size=32)
    >>> performance(Sizes(held_out=9), world, lambda latents: np.ones(len(latents)))["false_negative_rate"]
    0.0
    """
    first = FIRST_SEEDS["held_out"]
    latents = world.sample(np.arange(first, first + sizes.held_out))
    smiling = world.read(latents)["smile"].to_numpy() > SMILING
    positive = model(latents) > 0
    return {
        "pictures": len(positive),
        "accuracy": float((positive == smiling).mean()),
        "false_positive_rate": float(positive[~smiling].mean()) if (~smiling).any() else None,
        "false_negative_rate": float((~positive)[smiling].mean()) if smiling.any() else None,
    }


def compare_methods(sizes: Sizes, *, model: Model | None = None, quiet: bool = True) -> dict[str, Any]:
    """The model's true effects and the estimates of every method, in JSON's own types.

    model: what is audited (default: a network trained on the confounded population).
    """
    world = FaceWorld(image_size=sizes.image_size, population=POPULATION)
    model = model or trained_model(sizes, world, quiet=quiet)
    truth = intervened(world, model, "truth", FIRST_SEEDS["truth"], sizes.truth, quiet=quiet)
    pools = (
        observed(world, model, FIRST_SEEDS["observed"], sizes.observed, quiet=quiet),
        intervened(world, model, "experiment", FIRST_SEEDS["experiment"], sizes.experiment, quiet=quiet),
    )
    effects = true_effects(truth)
    with Progress("budgets", len(sizes.budgets), quiet=quiet) as progress:
        rows = summary(estimates(pools, sizes, progress), {row["attribute"]: row["effect"] for row in effects})
    return {
        "renderer_version": RENDERER_VERSION,
        "sizes": sizes.as_dict(),
        "interventions": sizes.interventions,
        "model": performance(sizes, world, model),
        "truth": effects,
        "rows": rows,
        "overall": overall(rows),
    }


_TRUTH = ("attribute", "from", "to", "errors at the lower %", "true effect", "standard error", "on score")
_EFFECT = ("attribute", "method", "truth", "mean", "bias", "RMSE", "half width", "covers %")
_WHY = {method.name: method.why for method in METHODS} | {"transects": "the attribute alone is set"}


def tables_of(found: Mapping[str, Any]) -> list[Table]:
    """The truth, errors by number of images, and the estimates at the largest budget."""
    budget, repeats = max(found["sizes"]["budgets"]), found["sizes"]["repeats"]
    return [
        (f"The truth, from {found['interventions']:,} interventions (points)", _TRUTH, _truth_rows(found)),
        (
            "Error by number of images (points, without lipstick; in parentheses: intervals that cover, %)",
            *_by_images(found),
        ),
        (f"What {budget:,} images say (points; {repeats} draws)", _EFFECT, _effect_rows(found, budget)),
    ]


def headline(found: Mapping[str, Any]) -> str:
    """The method with the smallest error at the largest budget."""
    largest = max(row["images"] for row in found["overall"])
    best = min((row for row in found["overall"] if row["images"] == largest), key=lambda row: row["rmse"])
    return f"With {largest:,} images, {best['method']} has the smallest error: {100 * best['rmse']:.1f} points"


def _truth_rows(found: Mapping[str, Any]) -> list[list[str]]:
    return [
        [
            row["attribute"],
            attribute(row["attribute"]).label(row["origin"]),
            attribute(row["attribute"]).label(row["to"]),
            points(row["rate"], signed=False),
            points(row["effect"]),
            points(row["standard_error"], signed=False),
            f"{row['score_effect']:+.2f}",
        ]
        for row in found["truth"]
    ]


def _effect_rows(found: Mapping[str, Any], images: int) -> list[list[str]]:
    truth = {row["attribute"]: row["effect"] for row in found["truth"]}
    places = list(truth)
    chosen = sorted((r for r in found["rows"] if r["images"] == images), key=lambda r: places.index(r["attribute"]))
    return [
        [
            row["attribute"],
            row["method"],
            points(truth[row["attribute"]]),
            points(row["mean"]),
            points(row["bias"]),
            *(points(row[name], signed=False) for name in ("rmse", "half_width", "coverage")),
        ]
        for row in chosen
    ]


def _by_images(found: Mapping[str, Any]) -> tuple[list[str], list[list[str]]]:
    budgets = found["sizes"]["budgets"]
    cells = {
        (row["method"], row["images"]): f"{points(row['rmse'], signed=False)} ({100 * row['coverage']:.0f})"
        for row in found["overall"]
    }
    rows = [[method, KINDS[method], *(cells.get((method, n), "") for n in budgets), _WHY[method]] for method in KINDS]
    return ["method", "kind", *(f"{n:,} images" for n in budgets), "why"], rows


def points(value: float | None, *, signed: bool = True) -> str:
    """A share in percentage points; nothing where there is none.

    >>> points(0.0512), points(0.0512, signed=False), points(None)
    ('+5.1', '5.1', '')
    """
    return "" if value is None else f"{100 * value:+.1f}" if signed else f"{100 * value:.1f}"


def section(found: Mapping[str, Any]) -> str:
    """What the proving ground's page holds between its marks."""
    model = found["model"]
    rates = [f"{100 * model[f'false_{kind}_rate']:.1f}" for kind in ("positive", "negative")]
    tables = "\n".join(f"#### {title}\n\n{markdown(head, rows)}" for title, head, rows in tables_of(found))
    return (
        f"On {model['pictures']:,} new images the model is right on {100 * model['accuracy']:.1f} %; it sees a smile "
        f"on {rates[0]} % of the faces without one and none on {rates[1]} % of those with one. Renderer version "
        f"{found['renderer_version']}.\n\n{tables}"
    )


def write_page(found: Mapping[str, Any]) -> None:
    """Write the figure and its section of the proving ground's page."""
    FIGURE.write_text(effects_figure.figure(found), encoding="utf-8")
    PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), _START, _END, section(found)), encoding="utf-8")
