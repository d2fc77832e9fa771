"""Captions as a model's answers: the objects that they name, and the words that are left without these and gender.

Words that name a person's gender are removed first, so that what is left says it by association alone. Objects are
found by a lexicon of words for each label; a label that it does not have is found by its own name.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeGuard, final

import numpy as np

from transect.attacks.outputs import Outputs
from transect.attacks.records import Evidence, LabelledData
from transect.errors import BadInput
from transect.runs.toml_files import parse, shipped_or_file

ENGLISH: Final = "english"
LEAST: Final = 5
"""Captions in which a word stands at least, to be learned from."""
MOST_WORDS: Final = 1000
_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")


@final
@dataclass(frozen=True)
class Lexicon:
    """Words of gender, and for each object's name the words and phrases for it."""

    gender: frozenset[str]
    objects: Mapping[str, tuple[str, ...]]
    source: str


def read_lexicon(name: str | Path = ENGLISH) -> Lexicon:
    """The lexicon that ships, or a TOML file with `gender`, a list of words, and `objects`, lists of words by name."""
    text, where = shipped_or_file(name, (ENGLISH,), "lexicon", "lexica", "transect.attacks")
    content = parse(text, where)
    gender, objects = content.get("gender"), content.get("objects")
    if not _is_words(gender) or not isinstance(objects, dict) or not all(map(_is_words, objects.values())):
        raise BadInput(f"{where}: expected gender, a list of words, and objects, lists of words by name; change it")
    words = {str(label).lower(): tuple(str(word).lower() for word in synonyms) for label, synonyms in objects.items()}
    return Lexicon(frozenset(word.lower() for word in gender), words, where)


def words_of_caption(caption: str, lexicon: Lexicon) -> tuple[str, ...]:
    """The words of a caption in small letters, without those of gender."""
    words = (match.removesuffix("'s") for match in _WORD.findall(caption.lower().replace("’", "'")))
    return tuple(word for word in words if word not in lexicon.gender)


def caption_outputs(data: LabelledData, captions: Sequence[str], lexicon: Lexicon) -> Outputs:
    """The objects that each caption names, as a model's hard answers."""
    if data.labels.category is not None:
        raise BadInput(
            "captions: expected several labels of 0 and 1, such as objects, got one category; leave them out"
        )
    finder = _Finder(data.labels.names, lexicon)
    hits = np.array([finder.objects(words_of_caption(text, lexicon)) for text in captions], dtype=np.bool_)
    return Outputs(Evidence(data.labels.names, values=hits.reshape(len(captions), len(data.labels.names))))


def remaining_words(names: Sequence[str], captions: Sequence[str], lexicon: Lexicon) -> Evidence:
    """Which words each caption has beside objects and gender: those of at least five captions, at most 1,000.

    names: of the labels whose objects are removed.
    """
    finder = _Finder(names, lexicon)
    bags = [set(finder.others(words_of_caption(text, lexicon))) for text in captions]
    counts = Counter(word for bag in bags for word in bag)
    common = sorted((word for word, count in counts.items() if count >= LEAST), key=lambda word: (-counts[word], word))
    kept = {word: place for place, word in enumerate(common[:MOST_WORDS])}
    values = np.zeros((len(captions), len(kept)), dtype=np.bool_)
    for row, bag in enumerate(bags):
        values[row, [kept[word] for word in bag if word in kept]] = True
    return Evidence(tuple(kept), values=values)


@final
class _Finder:
    """Finds phrases for labels in a sequence of words, the longest first."""

    def __init__(self, names: Sequence[str], lexicon: Lexicon) -> None:
        self._label: dict[tuple[str, ...], int] = {}
        for place, name in enumerate(names):
            plain = name.lower().replace("_", " ")
            for phrase in (plain, *lexicon.objects.get(plain, ())):
                for form in _forms(phrase):
                    self._label.setdefault(form, place)
        # A phrase of an object that is no label still keeps its words together: a hot dog is no dog.
        self._others = {
            form
            for name, synonyms in lexicon.objects.items()
            for phrase in (name, *synonyms)
            for form in _forms(phrase)
        }
        self._longest = max(map(len, [*self._label, *self._others]), default=1)
        self._n = len(names)

    def objects(self, words: Sequence[str]) -> list[bool]:
        """Whether each label is named."""
        named = [False] * self._n
        for phrase in self._phrases(words):
            if phrase in self._label:
                named[self._label[phrase]] = True
        return named

    def others(self, words: Sequence[str]) -> list[str]:
        """The words that are part of no object's phrase."""
        return [
            phrase[0] for phrase in self._phrases(words) if phrase not in self._label and phrase not in self._others
        ]

    def _phrases(self, words: Sequence[str]) -> Iterable[tuple[str, ...]]:
        start = 0
        while start < len(words):
            for length in range(min(self._longest, len(words) - start), 0, -1):
                phrase = tuple(words[start : start + length])
                if length == 1 or phrase in self._label or phrase in self._others:
                    yield phrase
                    start += length
                    break


def _forms(phrase: str) -> set[tuple[str, ...]]:
    """A phrase and its regular plural.

    >>> sorted(_forms("bus")), sorted(_forms("wine glass"))[1], sorted(_forms("puppy"))[0]
    ([('bus',), ('buses',)], ('wine', 'glasses'), ('puppies',))
    """
    *before, last = phrase.split()
    plural = f"{last}s"
    if last.endswith(("s", "x", "z", "ch", "sh")):
        plural = f"{last}es"
    elif last.endswith("y") and last[-2:-1] not in "aeiou":
        plural = f"{last[:-1]}ies"
    return {(*before, last), (*before, plural)}


def _is_words(value: object) -> TypeGuard[list[str]]:
    return isinstance(value, list) and all(isinstance(word, str) for word in value)
