"""Machines as raters: the network that ships on FaceWorld, and a tiny random CLIP; what is no safe model is refused."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from small_run import make_run

from transect import generators
from transect.annotation import machine
from transect.annotation.machine import AttributeRater, ClipRater, open_rater
from transect.annotation.questions import load
from transect.errors import BadInput, UnknownName
from transect.records import Images, Question
from transect.runs.human_answers import questions_of

PAPER = load(["paper"]).question


def test_the_attribute_network_sees_what_was_set():
    """A broad smile and none of the same four subjects: the answers of the paper's question part them."""
    view = generators.load("faceworld", image_size=64)
    latents = view.sample(range(4))
    rater = AttributeRater(PAPER)
    asked = next(one for one in PAPER if one.name == "smile")
    said = []
    for smile in (0.0, 1.0):
        moved = view.set(latents, {"smile": np.full(4, smile)})
        made = rater.rate(view.render(moved), asked.record)
        assert made.rater == ("machine-attributes",) * 4
        said.append(made.value)
    assert (said[1] > said[0]).all()
    assert np.isin(np.concatenate(said), range(4)).all()
    with pytest.raises(BadInput, match="question fakeness: expected levels of an attribute"):
        rater.rate(Images(np.zeros((1, 64, 64, 3), np.uint8)), next(q for q in PAPER if q.name == "fakeness").record)


def test_its_answers_are_kept_as_a_machines(tmp_path):
    run = make_run(tmp_path / "run", subjects=2, cells=1, size=64)
    made = machine.write(run, "attributes", ("paper",))
    table = pq.read_table(made["out"])
    assert table.column_names[:2] == ["id", "gender"]
    assert "rater" not in table.column_names, "nobody takes it for a person's answers"
    assert set(made["left_out"]) == {"skin_color", "fakeness"}
    facts = json.loads(table.schema.metadata[b"transect.machine"])
    assert facts["rater"] == "machine-attributes"
    assert len(facts["weights_sha256"]) == 64
    assert questions_of(table)["gender"].attribute == "face_shape", "what a report takes it for"
    assert set(table["smile"].to_pylist()) <= {0.0, 0.33, 0.67, 1.0}
    with pytest.raises(UnknownName, match="attributes"):
        open_rater("oracle", PAPER)


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    """A CLIP of one layer with random weights, and a tokenizer of single letters."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder = tmp_path_factory.mktemp("clip") / "tiny"
    folder.mkdir()
    letters = [*"abcdefghijklmnopqrstuvwxyz,?."]
    words = ["<|startoftext|>", "<|endoftext|>", *letters, *(f"{one}</w>" for one in letters)]
    (folder / "vocab.json").write_text(json.dumps({word: k for k, word in enumerate(words)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {**small, "vocab_size": len(words), "bos_token_id": 0, "eos_token_id": 1, "max_position_embeddings": 77}
    config = transformers.CLIPConfig(
        text_config=text, vision_config={**small, "image_size": 32, "patch_size": 16}, projection_dim=8
    )
    torch.manual_seed(0)
    transformers.CLIPModel(config).save_pretrained(folder)
    tokenizer = transformers.CLIPTokenizer(str(folder / "vocab.json"), str(folder / "merges.txt"))
    tokenizer.save_pretrained(folder)
    side = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    processor = {"image_processor_type": "CLIPImageProcessor", **side}
    (folder / "preprocessor_config.json").write_text(json.dumps(processor))
    return folder


@pytest.mark.integration
def test_clip_answers_in_the_words_of_the_question(clip):
    rater = ClipRater(clip)
    images = Images(np.random.default_rng(0).integers(0, 256, (3, 40, 48, 3), dtype=np.uint8))
    question = Question("smile", "does it smile?", ("no", "a little", "yes"))
    shares = rater.shares(images, question)
    assert shares.shape == (3, 3)
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-5)
    made = rater.rate(images, question)
    assert made.rater == ("machine-clip-tiny",) * 3
    np.testing.assert_equal(made.value, shares.argmax(axis=1))
    # The words count: turned round, the shares turn round; and each image has its own whatever the batch.
    turned = rater.shares(images, Question("smile", "does it smile?", ("yes", "a little", "no")))
    np.testing.assert_allclose(turned, shares[:, ::-1], atol=1e-5)
    np.testing.assert_allclose(rater.shares(Images(images.pixels[1:2]), question), shares[1:2], atol=1e-5)
    with pytest.raises(BadInput, match="no levels to choose from"):
        rater.rate(images, Question("age", "how old?"))


@pytest.mark.integration
def test_a_folder_that_is_no_safe_clip_is_refused(clip, tmp_path):
    with pytest.raises(BadInput, match=r"expected config.json, \*.safetensors, preprocessor_config.json, found no"):
        ClipRater(tmp_path)
    for file in clip.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((clip / "config.json").read_text())
    (tmp_path / "config.json").write_text(json.dumps({**config, "auto_map": {"AutoModel": "own.Model"}}))
    with pytest.raises(BadInput, match="custom code in auto_map"):
        ClipRater(tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bert", "hidden_size": 16}))
    with pytest.raises(BadInput):
        ClipRater(tmp_path)
