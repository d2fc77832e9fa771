"""Vectors of images: what each architecture's own network gives, in every batch, as embeddings of a target."""

import numpy as np
import pytest
import tiny_open_models as tiny

import transect
from transect.records import Images, Task
from transect.targets import describe, resolve
from transect.testing import check_target

PIXELS = tiny.photographs()


def expected(folder, what):
    """What the library's own class says of what its own processor makes."""
    import torch

    transformers = tiny.library()
    network = transformers.AutoModel.from_pretrained(folder)
    ready = transformers.AutoImageProcessor.from_pretrained(folder)(images=tiny.pictures(PIXELS), return_tensors="pt")
    with torch.inference_mode():
        return what(network.eval(), ready["pixel_values"]).numpy()


@pytest.mark.parametrize(
    ("make", "what", "vector"),
    [
        (tiny.clip, lambda net, x: net.get_image_features(pixel_values=x).pooler_output, "image features"),
        (tiny.dinov2, lambda net, x: net(pixel_values=x).pooler_output, "pooled output"),
    ],
)
def test_the_vector_of_each_architecture(tmp_path, make, what, vector):
    folder = make(tmp_path / "model")
    target = resolve(f"hf:{folder}")
    assert (target.task, describe(target)["vector"]) == (Task.EMBEDDING, vector)
    answers = target.predict(Images(PIXELS))
    np.testing.assert_allclose(answers.scores, expected(folder, what), atol=1e-4)
    single = np.concatenate([target.predict(Images(one[None])).scores for one in PIXELS])
    np.testing.assert_allclose(single, answers.scores, rtol=1e-4, atol=1e-4)
    check_target(target)


def test_a_classifier_embeds_by_its_class_token(tmp_path):
    """Its weights have no pooler, so that the pooled output would be random."""
    folder = tiny.vit_classifier(tmp_path / "vit", ["none", "weak", "broad"])
    target = resolve(f"hf:{folder}", task="embedding")
    assert describe(target)["vector"] == "class token"
    tokens = expected(folder, lambda net, x: net(pixel_values=x).last_hidden_state[:, 0])
    np.testing.assert_allclose(target.predict(Images(PIXELS)).scores, tokens, atol=1e-4)


def test_recognition_embeds_by_the_folder(tmp_path):
    from io import BytesIO

    folder, stored = tiny.clip(tmp_path / "clip"), []
    for one in tiny.pictures(tiny.photographs(8)):
        one.save(buffer := BytesIO(), "PNG")
        stored.append(buffer.getvalue())
    table = {"who": list("aabbccdd"), "tone": list("xxxxyyyy"), "picture": stored}
    result = transect.recognition(
        table, "who", "tone", target=f"hf:{folder}", pictures="picture", thresholds=0.1, metric="cosine", quiet=True
    )
    assert result.numbers.images == 8
    assert result.numbers.benchmark.embeddings.shape == (8, 8)
