"""What does each method estimate from one sample? Observation, adjustment and experiment, as a user calls them.

All estimate the same: the average effect, on the subjects of the population who do not smile, of an audited attribute's
higher value in place of the lower on the rate at which the model sees a smile.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.effects import aipw, contrasts, mean_difference_interval
from transect.effects.intervals import newcombe
from transect.errors import BadInput
from transect.generators.faceworld.attributes import attribute
from transect.records import Design, Effect
from transect.runs.parts import Progress

POPULATION: Final = Path(__file__).parent / "populations" / "confounded.toml"
"""Whom the model is trained on and meets: there, and only there, its errors are counted."""

AUDITED: Final[Mapping[str, tuple[float, float]]] = {
    "lipstick": (0.0, 0.9),
    "skin_tone": (3.0, 8.0),
    "hair_length": (0.1, 0.9),
    "age": (28.0, 65.0),
    "glasses": (0.0, 1.0),
}
"""The two values of each audited attribute: no subject of the population has another."""

HIDDEN: Final = "lipstick"
"""The attribute that an annotator might leave out."""

SMILING: Final = 0.5
"""Above this value of `smile` a face is labelled as smiling."""

FIRST_SEEDS: Final = {
    "training": 100_000_000,
    "held_out": 200_000_000,
    "truth": 300_000_000,
    "observed": 400_000_000,
    "experiment": 500_000_000,
}
"""Each sample's seeds begin here, apart from each other and from a study's."""


@final
@dataclass(frozen=True, slots=True)
class Sizes:
    """Pictures that the model is trained on and tested with, subjects of each sample, budgets of images, repeats.

    truth, experiment: subjects, each seen as it is and once for each audited attribute with its other value. observed:
    subjects, one picture each. budgets: images of one observation, and of one experiment on all attributes together.
    repeats: how often each is drawn at each budget. seed: of the training and of the draws.

    Raises BadInput for a budget that does not divide into pairs or is larger than the samples that it is drawn from.
    """

    training: int = 12_000
    held_out: int = 2_000
    truth: int = 8_000
    observed: int = 40_000
    experiment: int = 6_000
    epochs: int = 8
    budgets: tuple[int, ...] = (250, 500, 1000, 2000, 4000)
    repeats: int = 200
    image_size: int = 64
    seed: int = 0

    def __post_init__(self) -> None:
        step, most = 2 * len(AUDITED), min(self.observed, 2 * len(AUDITED) * self.experiment)
        for budget in self.budgets:
            if budget % step or not 2 * step <= budget <= most:
                raise BadInput(f"budget: expected a multiple of {step} from {2 * step} to {most} images, got {budget}")

    @property
    def interventions(self) -> int:
        """Pictures of the truth on which an attribute was set to the value that the subject does not have.

        >>> Sizes().interventions
        40000
        """
        return self.truth * len(AUDITED)

    def as_dict(self) -> dict[str, int | list[int]]:
        """The sizes as JSON values."""
        return {**asdict(self), "budgets": list(self.budgets)}


QUICK: Final = Sizes(
    training=240,
    held_out=40,
    truth=60,
    observed=400,
    experiment=40,
    epochs=1,
    budgets=(100, 200),
    repeats=5,
    image_size=32,
)
"""A run of seconds that shows that everything works; its figures mean nothing."""


Columns = Mapping[str, Float[np.ndarray, " n"]]
Answer = tuple[float, float, float]
"""Estimate, low and high; NaN where there is none."""

NOT_ESTIMABLE: Final = (np.nan, np.nan, np.nan)


@final
@dataclass(frozen=True, slots=True)
class Method:
    """One way to answer from observed images. recorded: what is adjusted for in addition to the audited attributes.

    kind: observation or adjustment. omitted: an audited attribute that was not annotated. why: what theory predicts.
    """

    name: str
    kind: str
    why: str
    answer: Callable[[str, Columns, Sequence[str]], Answer]
    recorded: tuple[str, ...] = ()
    omitted: str = ""

    def covariates(self, name: str) -> tuple[str, ...]:
        """What the effect of `name` is adjusted for.

        >>> METHODS[3].covariates("age")
        ('skin_tone', 'hair_length', 'glasses')
        """
        return (*(covariate for covariate in AUDITED if covariate not in (name, self.omitted)), *self.recorded)

    def applies(self, name: str) -> bool:
        """Whether the method can estimate the effect of an attribute, which it must have."""
        return name != self.omitted


def difference_of_groups(name: str, columns: Columns, covariates: Sequence[str]) -> Answer:
    """The disaggregated table: rate of the group with the higher value minus that of the other, Newcombe's interval.

    >>> columns = {"age": np.repeat([0.0, 1.0], 10), "wrong": np.repeat([0.0, 1.0, 0.0], [10, 5, 5])}
    >>> round(difference_of_groups("age", columns, ())[0], 3)
    0.5
    """
    del covariates
    has, wrong = columns[name] == 1, columns["wrong"]
    if has.all() or not has.any():
        return NOT_ESTIMABLE
    higher, lower = wrong[has], wrong[~has]
    low, high = newcombe((higher.sum(), lower.sum()), (len(higher), len(lower)))
    return float(higher.mean() - lower.mean()), float(low), float(high)


def by_weighting(name: str, columns: Columns, covariates: Sequence[str]) -> Answer:
    """Augmented inverse-probability weighting on the covariates, with cross-fitting."""
    return _answer(aipw(columns["wrong"], {name: columns[name]}, {key: columns[key] for key in covariates}))


def _answer(effect: Effect) -> Answer:
    return effect.estimate, effect.low, effect.high


METHODS: Final = (
    Method(
        "difference of groups", "observation", "includes everything correlated with the group", difference_of_groups
    ),
    Method("AIPW", "adjustment", "the width of the smile is not annotated", by_weighting),
    Method("AIPW, no lipstick", "adjustment", "neither is lipstick", by_weighting, omitted=HIDDEN),
    Method("AIPW, smile measured", "adjustment", "everything that matters is known", by_weighting, ("smile",)),
)
"""The methods on observed images."""

TRANSECTS: Final = "transects"
"""The experiment: the only method that needs to set the attribute, and nothing else."""


def by_transects(name: str, low: Float[np.ndarray, "n k"], high: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "k 3"]:
    """Estimate and interval of k experiments on n subjects each, as an audit makes them.

    low, high: the errors (0 or 1) of each subject with the attribute at its two values.

    >>> by_transects("age", np.zeros((40, 1)), np.ones((40, 1)))[0, 0]
    np.float64(1.0)
    """
    design = Design({name: AUDITED[name]}, subjects=len(low))
    none = np.full((len(low), 2), "", dtype=object)
    rows = [
        contrasts(np.stack(pair, axis=1), none, design, {name: attribute(name)})[0]
        for pair in zip(low.T, high.T, strict=True)
    ]
    d = np.stack([contrast.differences for contrast in rows], axis=1)
    interval = mean_difference_interval(d, binary=True)
    return np.stack([d.mean(axis=0), interval.low, interval.high], axis=1)


_OBSERVATION, _EXPERIMENT = 0, 1
KINDS: Final = {**{method.name: method.kind for method in METHODS}, TRANSECTS: "experiment"}


def wrong(score: pa.ChunkedArray) -> Float[np.ndarray, " n"]:
    """1 where the model sees a smile on a subject that does not smile, else 0."""
    return np.asarray(score.to_numpy() > 0, dtype=np.float64)


def true_effects(truth: pa.Table) -> list[dict[str, Any]]:
    """The average effect of each audited attribute on the rate of errors and on the score, with standard errors.

    truth: the table of `images.intervened`. rate: of errors with the lower value.
    """
    rows = []
    for name, (origin, to) in AUDITED.items():
        low, high = wrong(truth[f"low.{name}"]), wrong(truth[f"high.{name}"])
        score = truth[f"high.{name}"].to_numpy() - truth[f"low.{name}"].to_numpy()
        row = {"attribute": name, "origin": origin, "to": to, "rate": float(low.mean()), "subjects": len(low)}
        for prefix, d in (("", high - low), ("score_", score)):
            row[f"{prefix}effect"] = float(d.mean())
            row[f"{prefix}standard_error"] = float(d.std(ddof=1) / np.sqrt(len(d)))
        rows.append(row)
    return rows


def estimates(pools: tuple[pa.Table, pa.Table], sizes: Sizes, progress: Progress | None = None) -> pa.Table:
    """The estimate of every method on every draw: columns method, attribute, images, repeat, estimate, low, high.

    pools: the tables of `images.observed` and `images.intervened`. A draw depends on the seed, the budget and its
    number alone.
    """
    parts = []
    for images in sizes.budgets:
        parts += [_observed(pools[0], sizes, images), _experimented(pools[1], sizes, images)]
        if progress is not None:
            progress.advance(1)
    return pa.concat_tables(parts)


def _rng(sizes: Sizes, images: int, repeat: int, which: int) -> np.random.Generator:
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([sizes.seed, images, repeat, which])))


def _observed(pool: pa.Table, sizes: Sizes, images: int) -> pa.Table:
    columns = {name: pool[name].to_numpy() for name in (*AUDITED, "smile")} | {"wrong": wrong(pool["score"])}
    rows = []
    for repeat in range(sizes.repeats):
        chosen = _rng(sizes, images, repeat, _OBSERVATION).choice(len(pool), images, replace=False)
        sample = {name: column[chosen] for name, column in columns.items()}
        rows += [(method, name, images, repeat, *answer) for method, name, answer in _all_methods(sample)]
    return _table(rows)


def _all_methods(sample: Columns) -> Iterator[tuple[str, str, tuple[float, float, float]]]:
    for method in METHODS:
        for name in AUDITED:
            if method.applies(name):
                yield method.name, name, method.answer(name, sample, method.covariates(name))


def _experimented(pool: pa.Table, sizes: Sizes, images: int) -> pa.Table:
    rows, pairs = [], images // (2 * len(AUDITED))
    for place, name in enumerate(AUDITED):
        low, high = wrong(pool[f"low.{name}"]), wrong(pool[f"high.{name}"])
        # Each attribute has separate subjects, as in an audit of each.
        chosen = np.stack([_subjects(sizes, images, r, place, len(pool), pairs) for r in range(sizes.repeats)], axis=1)
        answers = by_transects(name, low[chosen], high[chosen])
        rows += [(TRANSECTS, name, images, repeat, *answer) for repeat, answer in enumerate(answers.tolist())]
    return _table(rows)


def _subjects(sizes: Sizes, images: int, repeat: int, place: int, pool: int, pairs: int) -> Int[np.ndarray, " n"]:
    return _rng(sizes, images, repeat, _EXPERIMENT + place).choice(pool, pairs, replace=False)


def _table(rows: Sequence[tuple[str | int | float, ...]]) -> pa.Table:
    names = ("method", "attribute", "images", "repeat", "estimate", "low", "high")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def summary(table: pa.Table, truth: Mapping[str, float]) -> list[dict[str, Any]]:
    """One row per method, attribute and budget. truth: attribute -> true effect.

    mean: of the estimates; bias: mean minus truth; rmse: root mean squared error; coverage: share of intervals that
    hold the truth; half_width: mean half width of the intervals; low, high: between which 95 % of the estimates lie.
    not_estimable: draws without an estimate, which the other figures leave out; None where no draw has one.
    no_interval: draws with an estimate and no interval, which count as not holding the truth.
    """
    columns = {name: np.array(table[name].to_pylist()) for name in table.column_names}
    rows = []
    for method in KINDS:
        for name, effect in truth.items():
            for images in sorted(set(columns["images"].tolist())):
                of = (columns["method"] == method) & (columns["attribute"] == name) & (columns["images"] == images)
                if of.any():
                    estimate, low, high = (columns[key][of] for key in ("estimate", "low", "high"))
                    rows.append(_row((method, KINDS[method], name, images), estimate, low, high, effect))
    return rows


_FIGURES = ("mean", "bias", "rmse", "coverage", "half_width", "low", "high")


def _row(
    labels: tuple[str, str, str, int],
    estimate: Float[np.ndarray, " r"],
    low: Float[np.ndarray, " r"],
    high: Float[np.ndarray, " r"],
    effect: float,
) -> dict[str, Any]:
    known = np.isfinite(estimate)
    bounded = known & np.isfinite(low)
    row: dict[str, Any] = dict(zip(("method", "kind", "attribute", "images"), labels, strict=True))
    row |= {"repeats": len(known), "not_estimable": int((~known).sum()), "no_interval": int((known & ~bounded).sum())}
    if not known.any():
        return row | dict.fromkeys(_FIGURES)
    error = estimate[known] - effect
    covers = (low <= effect) & (effect <= high)
    half = float((high - low)[bounded].mean() / 2) if bounded.any() else None
    ends = np.quantile(estimate[known], (0.025, 0.975)).tolist()
    means = estimate[known].mean(), error.mean(), np.sqrt((error**2).mean()), covers[known].mean()
    return row | dict(zip(_FIGURES, (*map(float, means), half, *ends), strict=True))


def overall(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Root mean squared error and coverage per method and budget, over the attributes that every method has.

    A method without an estimate of one of them has no row at that budget.
    """
    totals = []
    for method in KINDS:
        for images in sorted({row["images"] for row in rows}):
            of = [r for r in rows if (r["method"], r["images"]) == (method, images) and r["attribute"] != HIDDEN]
            if of and all(row["rmse"] is not None for row in of):
                rmse = float(np.sqrt(np.mean([row["rmse"] ** 2 for row in of])))
                shown = {"rmse": rmse, "coverage": float(np.mean([row["coverage"] for row in of]))}
                totals.append({"method": method, "kind": KINDS[method], "images": images, **shown})
    return totals
