"""Qwen2-VL: as many tokens as an image is large, and positions in three directions, which the library counts."""

import pytest
from naive_words import NaiveWords, pictures
from tiny_vlm import qwen2_vl_processor, tiny_qwen2_vl

from transect.spoken_answers import Ask
from transect.targets.words import local
from transect.targets.words.local import load

PROMPTS = ("Is the person smiling?", "Old?")
OPTIONS = ("yes", "A no")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The folder, whose processor is made here: the library's needs torchvision for videos."""
    folder = tiny_qwen2_vl(tmp_path / "qwen")
    monkeypatch.setattr(local, "_processor", lambda _: qwen2_vl_processor())
    return folder


def test_it_says_what_the_loop_says(folder):
    speaker, naive = load(folder), NaiveWords(folder, processor=qwen2_vl_processor())
    assert speaker.describe()["images"] == "encoded once per image"
    images = [*pictures(2), pictures(2, size=92, seed=1)[1]]
    shown = [(image,) for image in images] + [(images[2], images[0])]
    asks = [Ask("", prompt, max_tokens=6, options=OPTIONS) for prompt in PROMPTS]
    for seen, row in zip(shown, speaker.speak(shown, [asks] * 4), strict=True):
        for prompt, said in zip(PROMPTS, row, strict=True):
            assert said.text == naive.text(seen, prompt, tokens=6)
            expected = [naive.likelihood(seen, prompt, option) for option in OPTIONS]
            assert said.likelihoods == pytest.approx(expected, abs=2e-5)
