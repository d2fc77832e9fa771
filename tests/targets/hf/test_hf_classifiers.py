"""Folders that Hugging Face Transformers saved: recognised without a prefix, read without code of theirs."""

import json
import shutil
import sys

import numpy as np
import pytest

from transect.errors import BadInput
from transect.records import Images, Task
from transect.targets import describe, resolve
from transect.testing import check_target

IMAGES = Images(np.random.default_rng(0).integers(0, 256, (3, 20, 24, 3), dtype=np.uint8))


def saved(folder, labels, **settings):
    """A tiny vision transformer and its processor."""
    transformers = pytest.importorskip("transformers")
    import torch

    torch.manual_seed(0)
    transformers.utils.logging.disable_progress_bar()
    config = transformers.ViTConfig(
        hidden_size=8,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=8,
        image_size=16,
        patch_size=8,
        initializer_range=0.5,
        id2label=dict(enumerate(labels)),
        label2id={label: number for number, label in enumerate(labels)},
        **settings,
    )
    network = transformers.ViTForImageClassification(config).eval()
    network.save_pretrained(folder)
    # Transformers takes Pillow where torchvision is absent.
    processor = transformers.ViTImageProcessorPil(size={"height": 16, "width": 16}, image_mean=[0.4] * 3)
    processor.save_pretrained(folder)
    return network, processor


def expected_logits(network, processor):
    import torch
    from PIL import Image

    inputs = processor(images=[Image.fromarray(pixels) for pixels in IMAGES.pixels], return_tensors="pt")
    with torch.inference_mode():
        return network(**inputs).logits


def test_a_bare_folder_is_a_target(tmp_path):
    network, processor = saved(tmp_path / "smiles", ["none", "weak", "broad"])
    target = resolve(str(tmp_path / "smiles"))
    assert (target.name, target.task, target.labels) == (
        "hf:smiles",
        Task.MULTICLASS,
        ("none", "weak", "broad"),
    )
    expected = expected_logits(network, processor).softmax(dim=1).numpy()
    np.testing.assert_allclose(target.predict(IMAGES).scores, expected, atol=1e-6)
    facts = describe(target)
    assert facts["architecture"] == "ViTForImageClassification"
    assert sorted(facts["files"]) == ["config.json", "model.safetensors", "preprocessor_config.json"]
    assert facts["preprocess"]["processor"]["image_mean"] == [0.4] * 3
    assert describe(resolve(f"hf:{tmp_path / 'smiles'}")) == facts
    check_target(target)


def test_every_file_that_the_library_may_read_is_part_of_the_target(tmp_path):
    """A run with the folder before is not resumed, since the target describes itself otherwise."""
    folder = tmp_path / "smiles"
    saved(folder, ["none", "broad"])
    plain = describe(resolve(str(folder)))
    for file in (folder / name for name in ("preprocessor_config.json", "config.json", "processor_config.json")):
        before = file.read_bytes() if file.exists() else None
        file.write_text(json.dumps({**json.loads(before or "{}"), "comment": "another"}))
        assert describe(resolve(str(folder))) != plain, file.name
        file.unlink() if before is None else file.write_bytes(before)
    assert describe(resolve(str(folder))) == plain


def test_weights_that_are_overwritten_in_place_are_not_those_of_a_running_audit(tmp_path):
    """The library maps the file into memory."""
    saved(tmp_path / "smiles", ["none", "broad"])
    target = resolve(str(tmp_path / "smiles"))
    before = target.predict(IMAGES).scores
    file = tmp_path / "smiles" / "model.safetensors"
    content = file.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    with file.open("r+b") as stream:
        stream.seek(start)
        stream.write(np.full((len(content) - start) // 4, 0.5, np.float32).tobytes())
    np.testing.assert_array_equal(target.predict(IMAGES).scores, before)


def test_two_classes_are_binary_and_the_second_is_yes(tmp_path):
    network, processor = saved(tmp_path, ["smile", "no smile"])
    expected = expected_logits(network, processor).softmax(dim=1).numpy()
    target = resolve(str(tmp_path))
    assert (target.task, describe(target)["positive_class"]) == (Task.BINARY, "no smile")
    np.testing.assert_allclose(target.predict(IMAGES).scores[:, 0], expected[:, 1], atol=1e-6)
    target = resolve(str(tmp_path), positive="smile", threshold=0.4)
    assert (target.threshold, describe(target)["positive_class"]) == (0.4, "smile")
    np.testing.assert_allclose(target.predict(IMAGES).scores[:, 0], expected[:, 0], atol=1e-6)


@pytest.mark.parametrize(
    ("labels", "settings", "task"),
    [
        (["smile"], {}, Task.BINARY),
        (["age"], {"problem_type": "regression"}, Task.REGRESSION),
        (["hat", "beard", "smile"], {"problem_type": "multi_label_classification"}, Task.MULTILABEL),
    ],
)
def test_the_config_states_the_task(tmp_path, labels, settings, task):
    network, processor = saved(tmp_path, labels, **settings)
    target = resolve(str(tmp_path))
    assert target.task is task
    logits = expected_logits(network, processor)
    expected = logits if task is Task.REGRESSION else logits.sigmoid()
    np.testing.assert_allclose(target.predict(IMAGES).scores, expected.numpy(), atol=1e-6)


def test_folders_that_are_refused(tmp_path):
    with pytest.raises(BadInput, match=r"expected the files of hf:folder .* or of classifier:folder .*, found neither"):
        resolve(str(tmp_path))
    saved(tmp_path, ["none", "weak", "broad"])
    config = json.loads((tmp_path / "config.json").read_text())
    for change, message in (
        ({"auto_map": {"AutoConfig": "own.Config"}}, "expected only settings, got custom code in auto_map"),
        ({"model_type": "no-such-model"}, "unknown model type 'no-such-model'"),
        (
            {"architectures": ["ViTForMaskedImageModeling"]},
            "expected a classifier, detector or embedder of images, CLIP or",
        ),
    ):
        (tmp_path / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(BadInput, match=message):
            resolve(str(tmp_path))
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    with pytest.raises(BadInput, match=r"found no \*\.safetensors"):
        resolve(f"hf:{tmp_path}")


def cached(folder, home, monkeypatch):
    """The folder as the hub's client keeps it for the id own/smiles."""
    commit = "0" * 40
    place = home / "models--own--smiles"
    (place / "refs").mkdir(parents=True)
    (place / "refs" / "main").write_text(commit)
    shutil.copytree(folder, place / "snapshots" / commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(home))


def no_network(*_, **__):
    raise AssertionError("the network was used")


def test_an_id_is_looked_up_in_the_cache_without_the_network(tmp_path, monkeypatch):
    saved(tmp_path / "smiles", ["none", "weak", "broad"])
    cached(tmp_path / "smiles", tmp_path / "cache", monkeypatch)
    monkeypatch.setattr("socket.socket.connect", no_network)
    target = resolve("hf:own/smiles")
    assert target.name == "hf:own/smiles"
    by_folder = resolve(f"hf:{tmp_path / 'smiles'}")
    assert describe(target)["files"] == describe(by_folder)["files"]
    np.testing.assert_array_equal(target.predict(IMAGES).scores, by_folder.predict(IMAGES).scores)
    with pytest.raises(BadInput, match="hf:own/frowns: expected a folder, or the id of a model in the local cache"):
        resolve("hf:own/frowns")


def test_a_download_is_only_tried_where_it_is_allowed(tmp_path, monkeypatch):
    pytest.importorskip("transformers")
    asked = []

    def download(name, *, local_files_only, allow_patterns):
        asked.append((name, local_files_only, sorted(allow_patterns)))
        raise ConnectionError("no network\nat all")

    monkeypatch.setattr("huggingface_hub.snapshot_download", download)
    with pytest.raises(BadInput, match="download it with --allow-download"):
        resolve("hf:own/smiles")
    with pytest.raises(BadInput, match=r"hf:own/smiles: cannot be downloaded: no network") as error:
        resolve("hf:own/smiles", allow_download=True)
    assert "\n" not in str(error.value)
    files = ["*.jinja", "*.json", "*.model", "*.safetensors", "*.spm", "*.txt"]  # no pickles and no code
    assert asked == [("own/smiles", True, files), ("own/smiles", False, files)]


def sharded(folder, shard):
    """The folder's weights in one shard of that name, and a decoy that makes it look whole."""
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").unlink()
    for name in ("decoy.safetensors", shard):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(weights)
    size = int.from_bytes(weights[:8], "little")
    names = [name for name in json.loads(weights[8 : 8 + size]) if name != "__metadata__"]
    index = {"metadata": {}, "weight_map": dict.fromkeys(names, shard)}
    (folder / "model.safetensors.index.json").write_text(json.dumps(index))


@pytest.mark.parametrize("shard", ["../other.safetensors", "sub/model.safetensors"])
def test_weights_that_the_digest_would_not_cover_are_not_opened(tmp_path, shard):
    folder = tmp_path / "smiles"
    saved(folder, ["none", "broad"])
    sharded(folder, shard)
    with pytest.raises(BadInput, match="expected weights named .safetensors next to it"):
        resolve(str(folder))


def test_shards_are_read_and_each_is_part_of_the_target(tmp_path):
    network, processor = saved(tmp_path / "smiles", ["none", "broad"])
    sharded(tmp_path / "smiles", "model-00001-of-00001.safetensors")
    target = resolve(str(tmp_path / "smiles"))
    assert "model-00001-of-00001.safetensors" in describe(target)["files"]
    expected = expected_logits(network, processor).softmax(dim=1).numpy()[:, 1:]
    np.testing.assert_allclose(target.predict(IMAGES).scores, expected, atol=1e-6)


def test_a_torchvision_that_does_not_fit_is_named_and_no_folder_is_blamed(tmp_path, monkeypatch):
    saved(tmp_path / "smiles", ["none", "broad"])
    (tmp_path / "torchvision").mkdir()
    (tmp_path / "torchvision" / "__init__.py").write_text("raise RuntimeError('operator torchvision::nms is missing')")
    monkeypatch.delitem(sys.modules, "torchvision", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(BadInput, match="torchvision does not fit PyTorch .*nms is missing; install one"):
        resolve(str(tmp_path / "smiles"))
