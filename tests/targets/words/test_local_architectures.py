"""Four architectures that place images, count positions and mask in different ways, against the loop."""

import functools

import numpy as np
import pytest
from naive_words import NaiveWords, pictures
from tiny_vlm import ARCHITECTURES

from transect.spoken_answers import Ask
from transect.targets.words.local import load

PROMPTS = ("Is the person smiling?", "Old?", "In one word: would you hire this person? Answer yes or no.")
OPTIONS = ("yes", "no", "A yes")
IMAGES = [*pictures(2), pictures(2, size=40, seed=1)[1]]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    return functools.cache(lambda kind: ARCHITECTURES[kind](tmp_path_factory.mktemp("models") / kind))


@pytest.mark.integration
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_it_says_what_the_loop_says(folder_of, kind):
    speaker, naive = load(folder_of(kind)), NaiveWords(folder_of(kind))
    assert speaker.describe()["images"] == "encoded once per image"
    asks = [Ask("", prompt, max_tokens=6, options=OPTIONS) for prompt in PROMPTS]
    for image, row in zip(IMAGES, speaker.speak([(image,) for image in IMAGES], [asks] * 3), strict=True):
        for prompt, said in zip(PROMPTS, row, strict=True):
            assert said.text == naive.text([image], prompt, tokens=6)
            expected = [naive.likelihood([image], prompt, option) for option in OPTIONS]
            np.testing.assert_allclose(said.likelihoods, expected, atol=2e-5)


@pytest.mark.integration
@pytest.mark.parametrize("kind", ARCHITECTURES)
def test_two_images_at_once(folder_of, kind):
    speaker, naive = load(folder_of(kind)), NaiveWords(folder_of(kind))
    pairs = [(IMAGES[0], IMAGES[1]), (IMAGES[1], IMAGES[0])]
    found = speaker.speak(pairs, [[Ask("", PROMPTS[0], max_tokens=6)]] * 2)
    assert [row[0].text for row in found] == [naive.text(pair, PROMPTS[0], tokens=6) for pair in pairs]
