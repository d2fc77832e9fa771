"""A transect's answers in words, by the levels of one attribute: what the other modules of this folder compare."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from jaxtyping import Int, Shaped

from transect.analysis.sections.answers import Answers, words


def by_level(
    answers: Answers, values: Shaped[np.ndarray, "n ..."], name: str
) -> Shaped[np.ndarray, "s levels cells ..."]:
    """Numbers or booleans of images as [subject, level of the attribute, cells of the other attributes, ...]."""
    design, rest = answers.design, values.shape[1:]
    axis = list(design.levels).index(name) + 1
    grid = np.moveaxis(values.reshape(design.subjects, *design.shape, *rest), axis, 1)
    return grid.reshape(design.subjects, len(design.levels[name]), -1, *rest)


def people(answers: Answers) -> Int[np.ndarray, " s"]:
    """Who is on each subject of a transect; several photographs may show one person."""
    return np.asarray(answers.subjects[:: answers.design.n_cells])


def contrasts(answers: Answers, name: str) -> Iterator[tuple[int, str]]:
    """Each later level's number, and the contrast with the first level in words."""
    attribute, levels = answers.attributes[name], answers.design.levels[name]
    first = attribute.label(levels[0])
    for place, value in enumerate(levels[1:], start=1):
        yield place, f"{words(name)}: {first} to {attribute.label(value)}"


def called(answers: Answers, name: str, place: int) -> str:
    """A level in words."""
    return answers.attributes[name].label(answers.design.levels[name][place])
