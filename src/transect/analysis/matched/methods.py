"""The methods of a matching: from a prepared sample to pairs, weights or sets, with their balance; and how hard a
reference image is, by its distance to its own photograph.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, final

import numpy as np
import pyarrow as pa
from jaxtyping import Float, Int

from transect.analysis.matched import user_pairs as given
from transect.analysis.matched.request import WEIGHTING, Request
from transect.analysis.matched.sample import Prepared, nothing_matched, rounded_up
from transect.datasets import features as files
from transect.datasets.files import Crop, pixels_of
from transect.datasets.parquet import PictureColumn
from transect.designs import matching as designs
from transect.designs.matching import Matching, Sample, propensity
from transect.designs.matching.groups import NoSet, Sets
from transect.designs.matching.references import Difficulty, Measure, References
from transect.designs.matching.sample import Facts
from transect.designs.matching.search import distances
from transect.effects import matched_pairs as balancing
from transect.effects.matched_pairs import Balance
from transect.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from torch import Tensor

    from transect.perceptual.distance import Appearance


SIDE: Final = 256
"""Pixels of the square at which pictures are compared: as much as VGG16 sees."""
WEIGHTED: Final = ("features", "vgg16")
"""The distances that take weights."""


def measure_of(request: Request) -> Measure | None:
    """How difficulty is measured where that is not the distance of the matching's features."""
    source, weights = request.options.difficulty, request.options.difficulty_weights
    name = distance_name(source)
    if weights is not None and name not in WEIGHTED:
        raise BadInput(
            f"--difficulty-weights does not apply to --difficulty {name or 'FILE'}: leave it out, or use "
            f"{' or '.join(WEIGHTED)}"
        )
    if source is None:
        return None
    if name is None:
        return _in_features(request, source)
    from transect.perceptual.distance import appearance_of

    if request.options.pictures is None:
        raise BadInput(f"--difficulty {name} compares pictures: give their column with --pictures COLUMN")
    if name == "vgg16" and weights is None:
        raise BadInput("--difficulty vgg16 needs VGG16's weights in torchvision's layout; "
                       "give --difficulty-weights FILE")  # fmt: skip
    appearance = appearance_of(name, None if weights is None else Path(weights))
    return PictureDistance(PictureColumn(request.table, request.options.pictures, request.root), appearance)


def notes(request: Request) -> list[str]:
    """Says how the difficulty of reference images is measured, where it is between pictures."""
    name = distance_name(request.options.difficulty)
    if name is None:
        return []
    return [
        f"reference images are equally hard by the pictures' {name}: the root of that perceptual distance, of the "
        f"middle squares at {SIDE} x {SIDE} pixels"
    ]


def distance_name(source: files.FeaturesLike | None) -> str | None:
    """The perceptual distance that a text names, None for features. Raises UnknownName for the name of neither.

    >>> distance_name("pixels"), distance_name("pixels.npy"), distance_name("./pixels")
    ('pixels', None, None)
    """
    if not isinstance(source, str) or Path(source).name != source or Path(source).suffix:
        return None
    from transect.perceptual.distance import DISTANCES

    if source not in DISTANCES and not Path(source).exists():
        raise UnknownName("distance", source, DISTANCES, "--difficulty takes one, or a file of features")
    return source if source in DISTANCES else None


@final
class PictureDistance:
    """|φ(x) - φ(y)| of two rows' pictures, no more than two φ held: of their middle squares at 256 x 256 pixels."""

    def __init__(self, pictures: PictureColumn, appearance: Appearance) -> None:
        self._pictures, self._appearance = pictures, appearance

    def __call__(self, rows: Int[np.ndarray, " m"], columns: Int[np.ndarray, " m"]) -> Float[np.ndarray, " m"]:
        """Float64 [m]. Raises BadInput for a row without a picture, or whose picture cannot be read."""
        lengths, last, own = np.empty(len(rows)), -1, None
        for place, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
            if own is None or row != last:
                last, own = row, self._seen(row)
            lengths[place] = (own - self._seen(column)).double().norm().item()
        return lengths

    def _seen(self, row: int) -> Tensor:
        import torch
        from PIL import Image

        from transect.perceptual.features import as_tensor

        stored = self._pictures.of(row)
        if stored is None:
            raise BadInput(f"row {row} has no picture for --difficulty to compare; drop the row")
        square = Image.fromarray(pixels_of(stored, f"picture of row {row}", None, Crop()))
        small = np.array(square.resize((SIDE, SIDE), Image.Resampling.BOX))
        with torch.inference_mode():
            return self._appearance(as_tensor(small[None]))[0]


def _in_features(request: Request, source: files.FeaturesLike) -> Measure:
    values = files.read_features(source, (), files.ids_of(request.table), role="difficulty").values
    if len(values) != request.table.num_rows:
        rows = request.table.num_rows
        raise BadInput(f"--difficulty: expected as many rows as the table ({rows}), got {len(values)}")
    return partial(distances, values.reshape(len(values), -1))


@final
@dataclass(frozen=True, slots=True)
class Matched:
    """What a method made: rows for --out, balance, and one of pairs, sets (base first) or weights."""

    method: str
    rows: pa.Table
    balance: list[Balance]
    groups: tuple[str, ...]
    refused: dict[str, int]
    facts: Facts
    pairs: Matching | None = None
    sets: Sets | None = None
    weights: Float[np.ndarray, " n"] | None = None
    log_odds: Float[np.ndarray, " n"] | None = None
    difficulty: Difficulty | None = None
    mean_distance: float | None = None


def matched(request: Request, prepared: Prepared) -> Matched:
    """Pairs, sets or weights by the request's method. Raises BadInput where nothing can be matched."""
    if prepared.labels is not None:
        return _in_sets(request, prepared)
    return _weighted(request, prepared) if request.method == WEIGHTING else _paired(request, prepared)


def sides(sample: Sample) -> tuple[Int[np.ndarray, " a"], Int[np.ndarray, " b"]]:
    """All images of both groups, also those that enter no pair; of a dose, those above and below its median."""
    level = sample.treatment
    if not sample.dose_gap:
        return np.flatnonzero(level == 1), np.flatnonzero(level == 0)
    middle = np.nanmedian(level)
    return np.flatnonzero(level > middle), np.flatnonzero(level <= middle)


def _method(request: Request, scores: propensity.Scores | None = None) -> Callable[[Sample], Matching]:
    """The request's method as a function of a sample. scores: of that sample, where they are known."""
    options = request.options
    if options.pairs is not None:
        return lambda sample: given.pairs(request, sample)
    caliper = math.inf if request.caliper is None else request.caliper
    if request.method in ("greedy", "mahalanobis"):
        return lambda sample: _greedy(sample, caliper, options.approximate)
    if request.method == "optimal":
        return lambda sample: designs.optimal(sample, caliper=caliper, ratio=options.ratio)
    if request.method == "propensity":
        sd = propensity.CALIPER_SD if request.caliper is None else request.caliper
        return lambda sample: propensity.recommended(sample, scores, caliper_sd=sd, seed=request.seed)
    near = propensity.PUBLISHED_CALIPER if request.caliper is None else request.caliper
    return lambda sample: propensity.published(sample, scores, caliper=near, seed=request.seed)


def _greedy(sample: Sample, caliper: float, approximate: bool) -> Matching:
    if not approximate:
        return designs.greedy(sample, caliper=caliper)
    from transect.designs.matching.nearest import ApproximateSearch

    search = ApproximateSearch(sample, caliper=caliper)
    recall = search.recall()
    return replace(designs.greedy(sample, search=search), facts=Facts(recall=recall))


def _paired(request: Request, prepared: Prepared) -> Matched:
    sample, scores = prepared.sample, None
    measure = measure_of(request)  # refuses what does not fit before the search, which may take long
    if request.method.startswith("propensity"):
        scores = propensity.scores(sample, seed=request.seed, standardize=request.method == "propensity")
    pairs = _method(request, scores)(sample)
    if not len(pairs):
        raise BadInput(nothing_matched(pairs, request, prepared))
    references = None
    if prepared.references is not None:
        references = designs.choose_references(sample, pairs, prepared.references, measure)
    return Matched(
        method=pairs.method,
        rows=_pair_rows(pairs, references),
        balance=_balance(prepared, (pairs.a, pairs.b)),
        groups=prepared.groups,
        refused=pairs.refusals,
        facts=pairs.facts,
        pairs=pairs,
        log_odds=None if scores is None else scores.log_odds,
        difficulty=None if references is None else references.difficulty,
        mean_distance=float(pairs.distance.mean()),
    )


def _weighted(request: Request, prepared: Prepared) -> Matched:
    sample = prepared.sample
    weights, facts = designs.overlap_weights(sample, prepared.covariate_matrix)
    rows = np.flatnonzero(weights > 0)
    reasons = [reason for row, reason in sample.ineligible.items() if sample.treatment[row] == 1]
    return Matched(
        method=request.method,
        rows=pa.table({"row": rows, "weight": weights[rows]}),
        balance=_balance(prepared, (sample.rows, sample.columns), weights),
        groups=prepared.groups,
        refused=dict(Counter(reasons).most_common()),
        facts=facts,
        weights=weights,
    )


def _in_sets(request: Request, prepared: Prepared) -> Matched:
    sets = _sets(request, prepared)
    if sets is None:
        raise BadInput(_no_set(request, prepared))
    return Matched(
        method=given.METHOD if request.options.pairs is not None else f"{request.method}, around {sets.groups[0]}",
        rows=_set_rows(sets),
        balance=_set_balance(prepared, sets),
        groups=sets.groups,
        refused=dict(Counter(sets.refused.values()).most_common()),
        facts=Facts(),
        sets=sets,
        mean_distance=float(sets.distance.mean()),
    )


def _sets(request: Request, prepared: Prepared) -> Sets | None:
    """Sets of one image of each group; None where there is none."""
    if request.options.pairs is not None:
        return given.sets(request, prepared.sample, prepared.labels or ())
    labels = np.array(prepared.labels)
    try:
        sets = designs.match_groups(prepared.sample, labels, _method(request), base=request.options.base)
    except NoSet:
        return None
    return sets if len(sets.rows) else None


def _no_set(request: Request, prepared: Prepared) -> str:
    """What would leave a set: a caliper that is tried before it is named (propensity's differs from group to group)."""
    nothing = f"no set has an image of each of {', '.join(prepared.groups)}"
    wide = _sets(replace(request, caliper=math.inf), prepared) if request.caliper is not None else None
    if wide is None or request.method == "propensity":
        return f"{nothing}; relax a constraint"
    near = rounded_up(float(wide.distance.max(axis=1).min()))
    if _sets(replace(request, caliper=float(near)), prepared) is None:
        return f"{nothing}; give a larger --caliper, or relax another constraint"
    return f"{nothing} within the caliper; {near} leaves one: give it as --caliper"


def _set_balance(prepared: Prepared, sets: Sets) -> list[Balance]:
    """Balance of the base group against each other group; the covariate's name says which."""
    labels = np.array(prepared.labels)
    rows: list[Balance] = []
    for place, name in enumerate(sets.groups[1:], start=1):
        columns = {
            f"{covariate} ({sets.groups[0]} - {name})": values for covariate, values in prepared.covariates.items()
        }
        before = [np.flatnonzero(labels == group) for group in (sets.groups[0], name)]
        rows += balancing.balance(columns, before[0], before[1], (sets.rows[:, 0], sets.rows[:, place]))
    return rows


def _balance(
    prepared: Prepared,
    pairs: tuple[Int[np.ndarray, " _"], Int[np.ndarray, " _"]],
    weights: Float[np.ndarray, " n"] | None = None,
) -> list[Balance]:
    treated, control = sides(prepared.sample)
    return balancing.balance(prepared.covariates, treated, control, pairs, weights=weights, used=prepared.used)


def _pair_rows(pairs: Matching, references: References | None) -> pa.Table:
    """Columns a, b, distance; with reference images also theirs and their difficulties."""
    columns = {"a": pairs.a, "b": pairs.b, "distance": pairs.distance}
    if references is not None:
        columns |= {
            "a_reference": references.a,
            "b_reference": references.b,
            "a_difficulty": references.difficulty_a,
            "b_difficulty": references.difficulty_b,
        }
    return pa.table(columns)


def _set_rows(sets: Sets) -> pa.Table:
    """One row per pair of the base and another group's image: a, b, distance, set, group of b."""
    others = len(sets.groups) - 1
    return pa.table(
        {
            "a": np.repeat(sets.rows[:, 0], others),
            "b": sets.rows[:, 1:].ravel(),
            "distance": sets.distance.ravel(),
            "set": np.repeat(np.arange(len(sets.rows)), others),
            "group": list(sets.groups[1:]) * len(sets.rows),
        }
    )
