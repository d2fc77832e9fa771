"""Labels in words: Transformers' own pipeline is the judge, templates are averaged, and the network is asked once."""

import json

import numpy as np
import pytest
import tiny_open_models as tiny

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets import describe, resolve
from transect.targets.hf.opening import by_template
from transect.targets.reopening import reopen
from transect.testing import check_target

PIXELS = tiny.photographs()
LABELS = ("a smiling person", "a stern person", "a cat")
TEMPLATES = ("This is a photo of {}.", "a face of {}", "is it {}?")


@pytest.fixture(scope="module")
def clip(tmp_path_factory):
    return tiny.clip(tmp_path_factory.mktemp("models") / "clip")


@pytest.fixture(scope="module")
def siglip(tmp_path_factory):
    return tiny.siglip(tmp_path_factory.mktemp("models") / "siglip")


def judged(folder, labels, template=TEMPLATES[0]):
    """What Transformers' pipeline says: [images, labels]."""
    transformers = tiny.library()
    asked = transformers.pipeline("zero-shot-image-classification", model=str(folder))
    answers = asked(tiny.pictures(PIXELS), candidate_labels=list(labels), hypothesis_template=template)
    scores = [{one["label"]: one["score"] for one in answer} for answer in answers]
    return np.array([[answer[label] for label in labels] for answer in scores])


def test_clip_answers_as_the_library_does(clip):
    target = resolve(f"hf:{clip}", labels=LABELS)
    assert (target.name, target.task, target.labels) == ("hf:clip", Task.MULTICLASS, LABELS)
    scores = target.predict(Images(PIXELS)).scores
    np.testing.assert_allclose(scores, judged(clip, LABELS), atol=1e-5)
    assert np.ptp(scores, axis=0).max() > 0.01  # the judge is of use: the images differ
    check_target(target)


def test_siglip_judges_each_label_alone(siglip):
    target = resolve(f"hf:{siglip}", labels=LABELS, task="multilabel")
    assert target.task is Task.MULTILABEL
    expected = judged(siglip, LABELS)
    np.testing.assert_allclose(target.predict(Images(PIXELS)).scores, expected, atol=1e-5)
    compared = resolve(f"hf:{siglip}", labels=LABELS).predict(Images(PIXELS)).scores
    odds = expected / (1 - expected)  # softmax of the logits
    np.testing.assert_allclose(compared, odds / odds.sum(axis=1, keepdims=True), atol=1e-5)
    alone = resolve(f"hf:{siglip}", labels=LABELS[:1])
    assert alone.task is Task.BINARY
    np.testing.assert_allclose(alone.predict(Images(PIXELS)).scores, expected[:, :1], atol=1e-5)


def test_scores_are_averaged_over_templates_and_each_is_a_target_of_its_own(clip):
    each = [judged(clip, LABELS, template) for template in TEMPLATES]
    target = resolve(f"hf:{clip}", labels=LABELS, templates=TEMPLATES)
    np.testing.assert_allclose(target.predict(Images(PIXELS)).scores, np.mean(each, axis=0), atol=1e-5)
    for number, expected in enumerate(each, start=1):
        alone = resolve(f"hf:{clip}#{number}", labels=LABELS, templates=TEMPLATES)
        assert alone.name == f"hf:clip#{number}"
        np.testing.assert_allclose(alone.predict(Images(PIXELS)).scores, expected, atol=1e-5)
    assert (describe(alone)["templates"], describe(alone)["template"]) == (list(TEMPLATES), 3)
    assert np.abs(each[0] - each[1]).max() > 0.01


def test_a_target_opens_again_from_its_description(clip):
    target = resolve(f"hf:{clip}#2", labels=LABELS[:2], templates=TEMPLATES, positive=LABELS[0], dtype="bfloat16")
    assert describe(reopen(describe(target), f"hf:{clip}#2")) == describe(target)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"labels": LABELS, "templates": ["a photo"]}, "template: expected one {} for the label, got 'a photo'"),
        ({"labels": ["a", "a"]}, "labels: expected unique, non-empty texts, got 'a'"),
        ({"labels": ["a face"]}, "this model compares texts: expected at least two labels"),
        ({"labels": LABELS, "task": "regression"}, "task: expected one that fits 3 labels in words, got regression"),
        ({"labels": ["a", "b" * 90]}, "expected at most 77 tokens, got 107"),
    ],
)
def test_what_is_refused(clip, options, message):
    with pytest.raises(BadInput, match=message.replace("{}", r"\{\}")) as error:
        resolve(f"hf:{clip}", **options)
    assert "\n" not in str(error.value)


def test_code_beside_a_tokenizer_is_refused(tmp_path):
    folder = tiny.clip(tmp_path / "clip")
    file = folder / "tokenizer_config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "auto_map": {"AutoTokenizer": ["own.Own", None]}}))
    with pytest.raises(BadInput, match="tokenizer_config.json: expected only settings, got custom code in auto_map"):
        resolve(f"hf:{folder}", labels=LABELS)


def test_scores_by_template_by_hand():
    logits = np.log([[1.0, 1.0, 3.0, 1.0]])
    np.testing.assert_allclose(by_template(logits, 2), [[[0.5, 0.5], [0.75, 0.25]]])
    np.testing.assert_allclose(by_template(logits, 2, alone=True), [[[0.5, 0.5], [0.75, 0.5]]])
