"""Does a model choose by place? The share of each place among its choices where the options' order is drawn at random.

If the order of the options is drawn anew for each image, every place is chosen equally often, 1 / k, whatever the model
prefers, unless it prefers places. What it prefers and where it stood are then independent by design.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float, Int

from transect.effects import option_shares, repeated
from transect.effects.intervals import SOURCES as INTERVALS
from transect.effects.intervals import WILSON_CLUSTERED, wilson_clustered
from transect.effects.option_shares import OptionShares, permuted_levels, shares_by_option
from transect.effects.pair_perception import Bounded
from transect.errors import BadInput

SOURCES: Final = (INTERVALS[WILSON_CLUSTERED], *option_shares.SOURCES)
NO_ANSWER: Final = "no choice at any place"


@final
@dataclass(frozen=True, slots=True)
class PlaceShares:
    """How often each of k places was chosen, expected 1 / k.

    effects: by how much an option is chosen more often where it stands at this place than where it stands elsewhere,
    -1 / (k - 1) to 1. p: of no preference for any place, with the test's method. answers: choices, of `subjects`.
    """

    shares: tuple[Bounded, ...]
    effects: tuple[Bounded, ...]
    p: float
    method: str
    answers: int
    subjects: int


@final
@dataclass(frozen=True, slots=True)
class PlaceBias:
    """of_all: over all levels. by_level: at each level. change: of the places' shares between levels."""

    of_all: PlaceShares
    by_level: tuple[PlaceShares, ...]
    change: OptionShares


def place_bias(
    places: Float[np.ndarray, "n levels answers"],
    k: int,
    *,
    people: Int[np.ndarray, " n"] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> PlaceBias:
    """Shares of places among the choices of a question whose options stand in an order drawn at random.

    places: at which of k places, numbered from 0, the chosen option stood; NaN where none was chosen; answers: of all
    cells, paraphrases and repeats. The unit is the subject; people: who is on each, where several show one person, who
    then is the unit.

    Shares have Wilson's interval by subject (`wilson_clustered`). An option stands at a place in 1 / k of the images,
    so that a share s is an effect of (k s - 1) / (k - 1). The test permutes the numbers of the places within subjects
    (`permuted_levels`), which changes nothing where orders are drawn at random and places do not matter. How shares of
    places differ between levels has the contrasts and the test of `shares_by_option`.

    Raises BadInput for fewer than two places, or a number beyond them.

    >>> chosen = np.array([[[0.0, 0.0]], [[0.0, 1.0]], [[0.0, 0.0]], [[1.0, 0.0]]])
    >>> found = place_bias(chosen, 2).of_all
    >>> [share.estimate for share in found.shares], [effect.estimate for effect in found.effects]
    ([0.75, 0.25], [0.5, -0.5])
    """
    known = places[np.isfinite(places)]
    if k < 2:
        raise BadInput(f"k: expected two places or more, got {k}; a single option has no place to prefer")
    if len(known) and not (known.min() >= 0 and known.max() < k and (known == np.rint(known)).all()):
        raise BadInput(f"places: expected numbers from 0 to {k - 1}, got {known.min():g} to {known.max():g}")
    at = [np.where(np.isfinite(places), places == place, np.nan) for place in range(k)]
    chosen, who = np.stack(at, axis=-1), repeated.clusters_of(people)
    of_all, levels = _shares(chosen.reshape(len(chosen), -1, k), who, confidence, seed), range(places.shape[1])
    of_each = (of_all,) if len(levels) == 1 else (_shares(chosen[:, level], who, confidence, seed) for level in levels)
    return PlaceBias(
        of_all=of_all,
        by_level=tuple(of_each),
        change=shares_by_option(chosen, people=people, confidence=confidence, seed=seed),
    )


def _shares(
    chosen: Float[np.ndarray, "n answers k"], who: Int[np.ndarray, " n"] | None, confidence: float, seed: int
) -> PlaceShares:
    k = chosen.shape[2]
    counts = np.isfinite(chosen).sum(axis=1).astype(np.float64)
    hits = np.nan_to_num(chosen).sum(axis=1)
    if who is not None:
        hits, counts = (repeated.by_person(each, who)[0] for each in (hits, counts))
    answers, subjects = int(counts[:, 0].sum()), int((counts[:, 0] > 0).sum())
    if not answers:
        nothing = (Bounded(np.nan, np.nan, np.nan, NO_ANSWER),) * k
        return PlaceShares(nothing, nothing, np.nan, "", 0, 0)
    low, high = wilson_clustered(hits, counts, confidence)
    rows = np.stack([hits.sum(axis=0) / answers, low, high], axis=1)
    p, method = permuted_levels(hits[:, :, None], seed=seed)
    return PlaceShares(
        shares=tuple(Bounded(*row) for row in rows.tolist()),
        effects=tuple(Bounded(*row) for row in ((k * rows - 1) / (k - 1)).tolist()),
        p=p,
        method=method.replace("levels", "places"),
        answers=answers,
        subjects=subjects,
    )
