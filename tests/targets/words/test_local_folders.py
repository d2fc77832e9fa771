"""Folders of vision-language models: what is read from them, and one line for each that does not fit."""

import contextlib
import json
import shutil

import pytest
from naive_words import pictures
from tiny_vlm import shared_vlm

from transect.errors import BadInput
from transect.spoken_answers import Ask
from transect.targets.words.local import load

SHOWN = [(image,) for image in pictures(2)]
ASKED = [[Ask("", "Is the person smiling?", max_tokens=6)]] * 2


@pytest.fixture
def folder(tmp_path):
    return shutil.copytree(shared_vlm(), tmp_path / "model")


def edit(path, **settings):
    found = json.loads(path.read_text())
    path.write_text(json.dumps({**found, **settings}))


def refusal(folder, **settings):
    """The message, which is one line that begins with the folder."""
    with pytest.raises(BadInput) as error:
        load(folder, **settings)
    assert "\n" not in str(error.value)
    return str(error.value)


def without(*names):
    return lambda folder: [(folder / name).unlink() for name in names]


def written(name, text):
    return lambda folder: (folder / name).write_text(text)


def stating(name, **settings):
    return lambda folder: edit(folder / name, **settings)


UNKNOWN = "expected an image-text-to-text model, such as llava, got type"
NO_IMAGE = "expected a processor and a model for an image with a text, got: "


@pytest.mark.parametrize(
    ("spoil", "fragment"),
    [
        (without("config.json"), "found no config.json"),
        (without("model.safetensors"), "found no *.safetensors"),
        (stating("config.json", model_type="bert"), f"{UNKNOWN} 'bert'"),
        (written("config.json", "{"), "config.json: expected JSON"),
        (stating("config.json", auto_map={"AutoConfig": "own.Config"}), "custom code in auto_map"),
        (stating("config.json", image_token_id=9, image_token_index=9), NO_IMAGE),
        (without("chat_template.jinja"), "found no chat template (chat_template.jinja)"),
    ],
)
def test_a_folder_that_does_not_fit_is_refused_in_one_line(folder, spoil, fragment):
    (folder / "own.py").write_text("raise SystemExit('it ran')")
    spoil(folder)
    assert fragment in refusal(folder)


@pytest.mark.parametrize("file", ["processor_config.json", "tokenizer_config.json"])
def test_code_of_a_processor_never_runs(folder, file):
    (folder / "own.py").write_text("raise SystemExit('it ran')")
    code = {"AutoProcessor": "own.Processor", "AutoTokenizer": ["own.Tokenizer", "own.Tokenizer"]}
    edit(folder / file, auto_map=code)
    with contextlib.suppress(BadInput):
        load(folder)


def test_weights_that_do_not_fill_the_network(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    body = {name: value for name, value in weights.items() if not name.endswith("lm_head.weight")}
    save_file(body, folder / "model.safetensors", {"format": "pt"})
    assert (
        "expected the weights of an image-text-to-text model, found no lm_head.weight: save the trained model again"
        in refusal(folder)
    )


def test_settings_of_generation_that_come_with_a_folder_change_nothing(folder):
    """Sampling, penalties and a limit of tokens; only what ends an answer is read."""
    expected = load(folder).speak(SHOWN, ASKED)
    edit(
        folder / "generation_config.json",
        do_sample=True, temperature=2.0, top_k=3, repetition_penalty=1.9, max_new_tokens=1, num_beams=3,
    )  # fmt: skip
    assert load(folder).speak(SHOWN, ASKED) == expected


def test_every_end_token_ends_an_answer(folder):
    """With all words as ends an answer is one token, and nothing is said."""
    tokens = list(range(200))
    edit(folder / "generation_config.json", eos_token_id=tokens)
    for row in load(folder).speak(SHOWN, ASKED):
        assert [(said.text, said.end, said.tokens_received) for said in row] == [("", "end", 1)]
    edit(folder / "generation_config.json", eos_token_id=2)
    (few,) = load(folder).speak(SHOWN[:1], [[Ask("", "Old?", options=("yes",))]])[0]
    edit(folder / "generation_config.json", eos_token_id=[2, 0])
    (more,) = load(folder).speak(SHOWN[:1], [[Ask("", "Old?", options=("yes",))]])[0]
    assert more.likelihoods[0] > few.likelihoods[0], "the end is as likely as all its tokens together"
