"""The groups by which a target's answers are counted: levels as they were set, and ranges of observed values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Int

from transect.analysis.sections.answers import Answers
from transect.effects.encoding import MOST_LEVELS
from transect.effects.interrogation import Condition
from transect.effects.observational import cut
from transect.ratings.perceived_attributes import PerceivedAttribute


def condition(answers: Answers, name: str) -> Condition:
    """Each image's group of an attribute, in order.

    A level that was set is a group. So is each value of an attribute that was observed and has at most six; a range is
    cut at the user's cut points (`bins`), else at its terciles. Ranges are closed at their low end: "[30, 50)". What
    raters saw is grouped by `PerceivedAttribute.cuts`. Groups that no image has are left out.
    """
    if name in answers.design.levels:
        return _set(answers, name)
    if name in answers.seen:
        return _perceived(answers.seen[name], answers.bins.get(name))
    attribute, values = answers.known[name], {**answers.held, **answers.values}[name]
    known = np.isfinite(values)
    if not attribute.discrete and name not in answers.bins and len(np.unique(values[known])) <= MOST_LEVELS:
        levels, codes = np.unique(values[known], return_inverse=True)
        every = np.full(len(values), -1, dtype=np.int64)
        every[known] = codes
        return Condition(tuple(attribute.label(level) for level in levels), every)
    groups = cut(attribute, values, answers.bins.get(name))
    present = [place for place in range(len(groups.centers)) if (groups.index == place).any()]
    codes = np.full(len(values), -1, dtype=np.int64)
    for code, place in enumerate(present):
        codes[groups.index == place] = code
    return Condition(tuple(groups.label(place) for place in present), codes)


def _perceived(seen: PerceivedAttribute, stated: Sequence[float] | None) -> Condition:
    groups = seen.cuts(stated)
    codes = groups.of_values(seen.values)
    present = np.unique(codes[codes >= 0]).tolist()
    return Condition(tuple(groups.names[place] for place in present), renumbered(codes, present, len(groups.names)))


def renumbered(codes: Int[np.ndarray, " n"], present: Sequence[int], groups: int) -> Int[np.ndarray, " n"]:
    """Codes as places among the groups that are present; -1 for the others."""
    places = np.full(groups + 1, -1, dtype=np.int64)
    places[list(present)] = np.arange(len(present))
    return np.asarray(places[codes])


def texts(groups: Condition) -> np.ndarray:
    """Each image's group as a text, "" for none: object [n]."""
    return np.asarray(np.array([*groups.groups, ""], dtype=object)[groups.codes])


def _set(answers: Answers, name: str) -> Condition:
    attribute, levels = answers.attributes[name], answers.design.levels[name]
    place = np.array([levels.index(cell[name]) for cell in answers.design.cells()], dtype=np.int64)
    return Condition(tuple(attribute.label(level) for level in levels), place[answers.cells])
