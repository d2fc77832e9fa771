"""Captions: gender is removed, objects are found by the lexicon, the longest phrase first, and the rest is the rest."""

import numpy as np
import pytest

from transect.attacks import labelled
from transect.attacks.outputs import caption_outputs, read_lexicon, remaining_words, words_of_caption
from transect.errors import BadInput

NAMES = ("dog", "hot dog", "bear", "teddy bear", "wine glass", "tv", "unicorn")
LEXICON = read_lexicon()


def objects(*captions):
    data = labelled(
        np.eye(7, dtype=int)[: len(captions)] if len(captions) <= 7 else [],
        np.arange(len(captions)) % 2,
        label_names=NAMES,
    )
    rows = caption_outputs(data, captions, LEXICON).hard.matrix
    return [{name for name, there in zip(NAMES, row, strict=True) if there} for row in rows]


def test_objects_by_name_plural_synonym_and_longest_phrase():
    found = objects(
        "A woman eats a hot dog.",
        "Two dogs and a teddy bear",
        "glasses of wine near the television",
        "Hotdogs! A BEAR's den",
        "a unicorn and unicorns",
        "a doggedly bearish man",
    )
    assert found == [{"hot dog"}, {"dog", "teddy bear"}, {"wine glass", "tv"}, {"hot dog", "bear"}, {"unicorn"}, set()]


def test_words_of_gender_are_removed_with_their_possessives_and_parts_of_words_are_not():
    words = words_of_caption("The man’s wife, a WOMAN, manages her mankind", LEXICON)
    assert words == ("the", "a", "manages", "mankind")


def test_what_remains_has_neither_objects_nor_gender_nor_rare_words():
    captions = ["a man cooks a hot dog"] * 5 + ["she smiles at her cat"] * 4 + ["he smiles"] * 2
    seen = remaining_words(NAMES, captions, LEXICON)
    assert set(seen.names) == {"a", "cooks", "smiles"}  # "at" stands in four captions; cat is an object, if no label
    smiles = seen.matrix[:, seen.names.index("smiles")]
    assert smiles.tolist() == [False] * 5 + [True] * 6


def test_a_lexicon_of_ones_own_has_its_form(tmp_path):
    (tmp_path / "own.toml").write_text('gender = ["frau"]\nobjects = "Hund"\n')
    with pytest.raises(BadInput, match="expected gender, a list of words, and objects"):
        read_lexicon(tmp_path / "own.toml")
    (tmp_path / "own.toml").write_text('gender = ["Frau"]\n[objects]\ndog = ["Hund"]\n')
    own = read_lexicon(tmp_path / "own.toml")
    assert words_of_caption("Frau mit Hund", own) == ("mit", "hund")
