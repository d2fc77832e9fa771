"""Questions about attributes as labels: NAME, a cut (NAME>X), levels (NAME=LEVEL|LEVEL), or a pattern for many at once.

A label learned and a protected class are both questions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Final

import numpy as np
from jaxtyping import Float, Int

from transect.errors import BadInput, UnknownName
from transect.records import Attribute
from transect.runs.wording import spaced
from transect.training.labels import Label

_LEVELS: Final = re.compile(r"\s*([^<>=!]+?)\s*(!?=)\s*([^<>=!]+?)\s*")
EVERY: Final = "*"
_SIGNS: Final = {"!=": "other than", ">": "above", "<": "below", "=": "being"}


def questions_of(labels: Mapping[str, str], attributes: Sequence[Attribute], protected: str) -> dict[str, str]:
    """Labels by name, patterns put in full: `*` or `obj_*` for binary attributes, `NAME=*` for each level of NAME.

    The attribute that `protected` asks for is never one of a pattern's.
    """
    questions: dict[str, str] = {}
    for name, question in labels.items():
        matches = _matching(question, attributes, _attribute_of(protected)) if EVERY in question else {name: question}
        if not matches:
            raise BadInput(f"label {name!r}: expected {question!r} to match attributes, it matches none; change it")
        if twice := sorted(questions.keys() & matches.keys()):
            raise BadInput(f"labels: expected each once, got {twice[0]!r} twice; narrow a pattern")
        questions |= matches
    return questions


def _matching(question: str, attributes: Sequence[Attribute], without: str) -> dict[str, str]:
    name, equals, levels = (part.strip() for part in question.partition("="))
    if equals and levels == EVERY:
        return {
            level: f"{attribute.name}={level}"
            for attribute in attributes
            if attribute.name == name
            for level in attribute.levels
        }
    every = [attribute.name for attribute in attributes if attribute.kind == "binary" and attribute.name != without]
    return {attribute: attribute for attribute in every if fnmatchcase(attribute, question.strip())}


def _attribute_of(question: str) -> str:
    """The attribute that a question asks for."""
    return re.split(r"[<>=!]", question, maxsplit=1)[0].strip()


def in_words(question: str) -> str:
    """A question as a reader's words.

    >>> in_words("face_shape>0.43"), in_words("hat!=none"), in_words("smile")
    ('face shape above 0.43', 'hat other than none', 'smile')
    """
    text = spaced(question)
    for sign, words in _SIGNS.items():
        text = re.sub(rf"\s*{sign}\s*", f" {words} ", text)
    return text.replace("|", " or ")


def label_of(
    question: str,
    values: Mapping[str, Float[np.ndarray, " n"]],
    attributes: Sequence[Attribute],
    key: str = "data.labels or data.protected",
) -> Label:
    """The classes that a question asks for: NAME, NAME>X, NAME<X, NAME=LEVEL|LEVEL or NAME!=LEVEL|LEVEL.

    key: of the settings that the question is from, for the messages.
    """
    name = question.split("=", maxsplit=1)[0].rstrip("! ") if _LEVELS.fullmatch(question) else ""
    label = _chosen(question, attributes) if name else Label.parse(question, attributes, key)
    if label.attribute not in values:
        raise UnknownName("attribute", label.attribute, values, f"asked for in {question!r}")
    return label


def codes(
    question: str,
    values: Mapping[str, Float[np.ndarray, " n"]],
    attributes: Sequence[Attribute],
    key: str = "data.labels",
) -> tuple[Int[np.ndarray, " n"], tuple[str, ...]]:
    """The class of each row by a question, and what the classes are called. Raises BadInput where a row has none.

    >>> hat = Attribute("hat", "categorical", "hat", levels=("none", "cap", "beanie"))
    >>> codes("hat!=none", {"hat": np.array([0.0, 2.0, 1.0])}, [hat])[0].tolist()
    [0, 1, 1]
    """
    label = label_of(question, values, attributes, key)
    column = values[label.attribute]
    if match := _LEVELS.fullmatch(question):
        known = {attribute.name: attribute for attribute in attributes}[label.attribute]
        chosen = [known.levels.index(level) for level in _named(match[3], known)]
        classes = (np.isin(column, chosen) == (match[2] == "=")).astype(np.int64)
        classes = np.where(np.isfinite(column), classes, -1)
    else:
        classes = label.of(column)
    if (lost := int((classes < 0).sum())) > 0:
        raise BadInput(
            f"{question!r}: expected an answer for every picture, {lost} of {len(classes)} have none; drop it"
        )
    return classes, label.classes


def _chosen(question: str, attributes: Sequence[Attribute]) -> Label:
    match = _LEVELS.fullmatch(question)
    known = {attribute.name: attribute for attribute in attributes}
    if match is None or match[1] not in known:
        raise UnknownName("attribute", question if match is None else match[1], known, f"asked for in {question!r}")
    _named(match[3], known[match[1]])
    return Label(question, match[1], ("no", "yes"))


def _named(text: str, attribute: Attribute) -> list[str]:
    levels = [level.strip() for level in text.split("|")]
    if unknown := [level for level in levels if level not in attribute.levels]:
        raise UnknownName(f"level of {attribute.name}", unknown[0], attribute.levels)
    return levels
