"""Folders of vision-language models: what is read from them, and one line for each that does not fit."""

import contextlib
import json
import shutil
import sys

import numpy as np
import pytest
from naive_words import pictures
from tiny_vlm import shared_vlm, tiny_vlm

from transect.errors import BadInput, MissingExtra, UnknownName
from transect.said import Ask
from transect.targets import available, resolve
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


def test_a_name_and_a_batch(folder):
    assert load(folder, name="mine", batch=1).name == "mine"
    assert refusal(folder, batch=0) == "batch: expected a number of asks from 1, got 0"


def test_a_folder_without_a_model(tmp_path):
    assert "found no config.json and no *.safetensors" in refusal(tmp_path)
    assert "expected a folder with config.json, found none" in refusal(tmp_path / "nowhere")
    message = refusal("models/nowhere")
    assert (
        message
        == "vlm:models/nowhere: expected a folder, or the id of a model in the local cache, found neither: check the path"
    )


def test_an_unknown_model_type(folder):
    for kind in ("bert", "no-such-model", None, ["llava"]):
        edit(folder / "config.json", model_type=kind)
        message = refusal(folder)
        assert (
            f"expected an image-text-to-text model of Transformers, such as llava or qwen2_vl, got the model type {kind!r}"
            in message
        )


def test_a_config_that_is_none(folder):
    (folder / "config.json").write_text("[1]")
    assert "expected config.json to be an object, got list" in refusal(folder)
    (folder / "config.json").write_text("{")
    assert "expected config.json to be JSON" in refusal(folder)


def test_code_of_a_model_never_runs(folder):
    edit(folder / "config.json", auto_map={"AutoConfig": "own.Config"})
    (folder / "own.py").write_text("raise SystemExit('it ran')")
    assert "names code of the model's own, which is never run" in refusal(folder)


@pytest.mark.parametrize("file", ["processor_config.json", "tokenizer_config.json"])
def test_code_of_a_processor_never_runs(folder, file):
    (folder / "own.py").write_text("raise SystemExit('it ran')")
    code = {"AutoProcessor": "own.Processor", "AutoTokenizer": ["own.Tokenizer", "own.Tokenizer"]}
    edit(folder / file, auto_map=code)
    with contextlib.suppress(BadInput):
        load(folder)


def test_no_processor(folder):
    (folder / "processor_config.json").unlink()
    (folder / "tokenizer_config.json").unlink()
    (folder / "tokenizer.json").unlink()
    assert (
        "expected the model's processor (processor_config.json or preprocessor_config.json), found none: save it"
        in (refusal(folder))
    )


def test_no_chat_template(folder):
    (folder / "chat_template.jinja").unlink()
    assert "expected a chat template (chat_template.jinja), found none" in refusal(folder)


def test_a_template_without_a_place_for_images(folder):
    (folder / "chat_template.jinja").write_text("{% for m in messages %}{{ m['content'][-1]['text'] }}{% endfor %}")
    assert "expected a processor and a model that take an image with a text, got: " in refusal(folder)


def test_a_template_that_takes_no_system_prompt_fails_those_asks(folder):
    template = (folder / "chat_template.jinja").read_text()
    only = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}"
    (folder / "chat_template.jinja").write_text(only + template)
    bad, good = load(folder).speak(SHOWN[:1], [[Ask("Be fair.", "Old?"), Ask("", "Old?", max_tokens=2)]])[0]
    assert "no system role" in bad.failure
    assert good.failure == ""


def test_image_tokens_that_the_model_does_not_know(folder):
    edit(folder / "config.json", image_token_id=9, image_token_index=9)
    assert "expected a processor and a model that take an image with a text, got: " in refusal(folder)


def test_pickled_weights_are_not_read(folder):
    import torch

    (folder / "model.safetensors").unlink()
    torch.save({}, folder / "pytorch_model.bin")
    assert "found no *.safetensors" in refusal(folder)


def test_weights_that_do_not_fill_the_network(folder):
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    body = {name: value for name, value in weights.items() if not name.endswith("lm_head.weight")}
    save_file(body, folder / "model.safetensors", {"format": "pt"})
    assert "expected weights of the whole network, found no lm_head.weight: save the trained model again" in refusal(
        folder
    )


def test_a_model_that_cannot_generate(folder, monkeypatch):
    import transformers

    monkeypatch.setattr(transformers.LlavaForConditionalGeneration, "can_generate", lambda self: False)
    assert "expected a model that generates text, got LlavaForConditionalGeneration" in refusal(folder)


def test_devices_and_dtypes(folder):
    assert "device: expected one that PyTorch has, got 'abacus'" in refusal(folder, device="abacus")
    with pytest.raises(UnknownName, match="unknown dtype 'float31': did you mean float32"):
        load(folder, dtype="float31")


def test_without_the_library_the_extra_is_named(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers.utils.logging", None)
    with pytest.raises(MissingExtra, match=r"^vlm:.* needs an optional part: pip install 'transect\[huggingface\]'"):
        load(folder)


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


def test_weights_that_are_overwritten_in_place_are_not_those_of_a_running_audit(folder):
    speaker = load(folder)
    before = speaker.speak(SHOWN, ASKED)
    file = folder / "model.safetensors"
    content = file.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    with file.open("r+b") as stream:
        stream.seek(start)
        stream.write(np.full((len(content) - start) // 4, 0.5, np.float32).tobytes())
    assert load(shared_vlm()).speak(SHOWN, ASKED) == before
    assert speaker.speak(SHOWN, ASKED) == before


def test_two_seeds_are_two_models(tmp_path):
    facts = [load(tiny_vlm(tmp_path / str(seed), seed)).describe() for seed in (0, 1)]
    assert facts[0]["files"] != facts[1]["files"]
    assert load(tiny_vlm(tmp_path / "again")).describe()["files"] == facts[0]["files"]


def test_a_spec_without_questions_says_what_is_missing():
    with pytest.raises(BadInput, match=r"^vlm:folder answers in words: expected questions to ask it.*--questions FILE"):
        resolve("vlm:folder")
    (entry,) = [info for info in available() if info.name == "vlm:folder"]
    assert entry.extra == "huggingface"
