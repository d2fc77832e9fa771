"""The interval of each effect that stays valid when an audit is extended after a look at its results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from jaxtyping import Float

from transect.effects.always_valid import SOURCES, AlwaysValid, always_valid_difference, always_valid_mean
from transect.effects.contrasts import steepest_slope
from transect.records import Design, Effect

OBSERVED: Final = "an association is no mean of subjects' differences"
INCOMPLETE: Final = "images are left out, so that the largest slope of a subject is not fixed beforehand"
REPEATED: Final = "photographs of people who repeat: an extension would add to people who are there already"


def with_always_valid(
    effects: Sequence[Effect],
    differences: Sequence[Float[np.ndarray, " _"]],
    design: Design,
    binary: Mapping[tuple[str, str], bool],
    *,
    people_repeat: bool = False,
) -> tuple[Effect, ...]:
    """The effects of a study with their always-valid intervals; a population study has none, with the reason."""
    if not design.levels:
        return tuple(replace(effect, always_reason=OBSERVED) for effect in effects)
    if people_repeat:
        return tuple(replace(effect, always_reason=REPEATED) for effect in effects)
    return tuple(
        _with(effect, _interval(effect, d, design, binary=binary[effect.target, effect.outcome]))
        for effect, d in zip(effects, differences, strict=True)
    )


def _interval(effect: Effect, differences: Float[np.ndarray, " _"], design: Design, *, binary: bool) -> AlwaysValid:
    if not binary:
        return always_valid_mean(differences)
    if effect.kind != "slope":
        return always_valid_difference(differences)
    if effect.excluded:
        return AlwaysValid(np.nan, np.nan, "", INCOMPLETE)
    return always_valid_difference(differences, steepest_slope(design.levels[effect.attribute]))


def _with(effect: Effect, interval: AlwaysValid) -> Effect:
    source = SOURCES.get(interval.method)
    return replace(
        effect,
        always_low=interval.low,
        always_high=interval.high,
        always_method=interval.method,
        always_reason=interval.reason,
        sources=tuple(dict.fromkeys((*effect.sources, *([source] if source else [])))),
    )
