"""Searching a run by words: similarities as the library has them, shares by hand, and what is refused."""

import json

import numpy as np
import pytest
import tiny_open_models as tiny
from commands import printed

import transect
from transect.analysis.finished_run import read
from transect.effects.retrieval import retrieval_skew
from transect.errors import BadInput
from transect.jobs.retrieve import _similarities
from transect.runs.tables import images_of
from transect.targets.hf.opening import open_text_images

QUERIES = ("a photo of a doctor", "a photo of a nurse")


def shade(pixels):
    return pixels.mean(axis=(1, 2, 3)) / 255


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return tiny.clip(tmp_path_factory.mktemp("models") / "clip")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Twelve subjects with and without glasses, dark and light."""
    folder = tmp_path_factory.mktemp("runs") / "people"
    transect.audit(
        shade, vary={"glasses": (0, 2), "skin_tone": (1, 10)}, subjects=12, image_size=32, out=folder, quiet=True
    )
    return folder


@pytest.fixture(scope="module")
def result(run, clip):
    return transect.retrieve(run, f"hf:{clip}", QUERIES, first=(6, 10, 500), quiet=True)


@pytest.mark.integration
def test_similarities_are_the_cosines_of_the_library(run, clip):
    study = read(run)
    found = _similarities(study, open_text_images(f"hf:{clip}"), QUERIES, quiet=True)
    transformers = tiny.library()
    import torch

    network = transformers.CLIPModel.from_pretrained(clip).eval()
    tokens = transformers.AutoTokenizer.from_pretrained(clip)(list(QUERIES), padding=True, return_tensors="pt")
    pixels = images_of(study.folder.read_part("images", 0)).pixels
    ready = transformers.AutoImageProcessor.from_pretrained(clip)(images=tiny.pictures(pixels), return_tensors="pt")
    with torch.inference_mode():
        answer = network(**tokens, **ready)
    expected = (answer.image_embeds @ answer.text_embeds.T).numpy()
    np.testing.assert_allclose(found[: len(expected)], expected, atol=1e-5)


def test_each_query_and_attribute_is_estimated_as_it_stands(run, clip, result):
    numbers = result.numbers
    assert (numbers.model, numbers.images, numbers.first) == ("hf:clip", 48, (6, 10, 500))
    assert [(one.query, one.attribute) for one in numbers.queries] == [
        (query, attribute) for query in QUERIES for attribute in ("glasses", "skin_tone")
    ]
    similar = _similarities(read(run), open_text_images(f"hf:{clip}"), QUERIES, quiet=True)
    by_subject = similar[:, 0].reshape(12, 2, 2)  # subjects, glasses, skin tones
    skew = numbers.queries[1].skew
    assert skew == retrieval_skew(by_subject.swapaxes(1, 2), (6, 10, 500))
    top = np.argsort(-similar[:, 0], kind="stable")[:6]
    assert [share.estimate for share in skew.first[0].shares] == pytest.approx(
        [np.mean(top % 2 == 0), np.mean(top % 2 == 1)]
    )
    assert numbers.queries[0].levels == ("none", "thick frame")
    assert "all of them" in skew.first[2].reason
    assert all(one.p_adjusted >= one.skew.p for one in numbers.queries)


def test_what_planted_similarities_show(run, clip, monkeypatch):
    """Every image with glasses before every one without: the first 10 all have them."""
    study = read(run)
    with_glasses = np.array([cell["glasses"] == 2 for cell in study.design.cells()] * 12)
    planted = np.where(with_glasses, 1.0, 0.0) + np.random.default_rng(0).uniform(0, 0.1, 48)
    monkeypatch.setattr("transect.jobs.retrieve._similarities", lambda *_, **__: planted[:, None].copy())
    made = transect.retrieve(run, f"hf:{clip}", QUERIES[0], first=10, quiet=True)
    glasses, tone = made.numbers.queries
    shares = glasses.skew.first[0].shares
    assert [share.estimate for share in shares] == [0, 1]
    assert glasses.p_adjusted < 0.01 < 0.05 < tone.p_adjusted
    assert "in 1 of 2 rankings" in made.headline()
    assert "level" in made.table.column_names
    assert made.table.num_rows == 4


def test_the_page_and_the_command(run, clip, tmp_path):
    file = tmp_path / "queries.txt"
    file.write_text("# occupations\na photo of a doctor\n\n  a photo of a nurse  \n")
    words = ("retrieve", str(run), "--model", f"hf:{clip}", "--queries", str(file), "--first", "6")
    text = printed(*words, "--out", str(tmp_path / "out"))
    assert "a photo of a doctor" in text
    stored = json.loads((tmp_path / "out" / "retrieve.json").read_text())
    assert [one["query"] for one in stored["queries"]] == [query for query in QUERIES for _ in range(2)]
    assert json.loads(printed(*words, "--json", "--out", str(tmp_path / "again")))["images"] == 48
    assert (tmp_path / "out" / "command.json").exists()


def test_what_is_refused(run, tmp_path):
    with pytest.raises(BadInput, match="expected hf:FOLDER of an image-text network"):
        transect.retrieve(run, "onnx:model.onnx", QUERIES, quiet=True)
    with pytest.raises(BadInput, match="found no tokenizer for the labels"):
        transect.retrieve(run, f"hf:{tiny.vit(tmp_path / 'vit')}", QUERIES, quiet=True)
