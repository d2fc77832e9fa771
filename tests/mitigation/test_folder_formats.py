"""CelebA and imSitu as they are distributed, with a backbone of transformers' whose weights lie in a folder."""

import json

import numpy as np
import pytest
from PIL import Image

from transect.jobs.mitigate import run
from transect.mitigation.settings import parse_config
from transect.runs.json_records import plain

N = 120
ADVERSARY = {"kind": "adversarial", "name": "critic", "epochs": 1, "critic_epochs": 1, "critic_width": 8}


def drawn(path, male, label, rng):
    """A picture whose red says the sex and whose green says a label."""
    path.parent.mkdir(parents=True, exist_ok=True)
    color = (60 + 120 * male, 60 + 120 * label, int(rng.integers(256)))
    Image.new("RGB", (64, 80), color).save(path, quality=90)


def celeba(root, rng):
    """list_attr_celeba.txt with its number, its padded names and its 1 and -1; two pictures a person."""
    rows, people = [], []
    of_person = rng.random(N // 2 + 1) < 0.5
    for number in range(1, N + 1):
        male, smile, hat = int(of_person[number // 2]), int(rng.random() < 0.5), int(rng.random() < 0.3)
        drawn(root / "img_align_celeba" / f"{number:06d}.jpg", male, smile, rng)
        rows.append(f"{number:06d}.jpg " + " ".join(f"{2 * bit - 1:2d}" for bit in (male, smile, hat)))
        people.append(f"{number:06d}.jpg {number // 2}")
    (root / "list_attr_celeba.txt").write_text(f"{N}\nMale Smiling Wearing_Hat \n" + "\n".join(rows) + "\n")
    (root / "identity_CelebA.txt").write_text("\n".join(people) + "\n")


def imsitu(root, rng):
    """Three frames a picture, nouns by their number in WordNet."""
    nouns = {"n10287213": "man", "n10787470": "woman"}
    frames = {}
    for number in range(1, N + 1):
        male, verb = int(rng.random() < 0.5), ("cooking", "fixing")[int(rng.random() < 0.5)]
        drawn(root / "of500_images_resized" / f"{verb}_{number}.jpg", male, int(verb == "cooking"), rng)
        agent = "n10287213" if male else "n10787470"
        frames[f"{verb}_{number}.jpg"] = {"verb": verb, "frames": [{"agent": agent, "place": ""}] * 3}
    (root / "train.json").write_text(json.dumps(frames))
    space = {
        name: {"gloss": [word, f"adult {'fe' * (word == 'woman')}male"], "def": ""} for name, word in nouns.items()
    }
    (root / "imsitu_space.json").write_text(json.dumps({"nouns": space, "verbs": {}}))


@pytest.fixture(scope="module")
def backbones(tmp_path_factory):
    """Random weights of a small ResNet and a small ViT, as `save_pretrained` writes them."""
    transformers = pytest.importorskip("transformers")
    root = tmp_path_factory.mktemp("backbones")
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 12, 16], "depths": [1, 1, 1], "layer_type": "basic"}
    transformers.ResNetModel(transformers.ResNetConfig(**sizes)).save_pretrained(root / "resnet")
    sizes = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 8}
    transformers.ViTModel(transformers.ViTConfig(image_size=32, patch_size=16, **sizes)).save_pretrained(root / "vit")
    return root


@pytest.mark.parametrize(
    ("make", "source", "protected", "labels", "names", "body", "module", "critic"),
    [
        (
            celeba,
            "celeba:{}?crop=64",
            "Male",
            "*",
            ["Smiling", "Wearing_Hat"],
            "resnet",
            "body.encoder.stages.2",
            "map",
        ),
        (imsitu, "imsitu:{}", "gender=woman", "verb=*", ["cooking", "fixing"], "vit", "body.layers.1", "map"),
    ],
)
def test_from_the_files_as_distributed_to_the_table(
    tmp_path, backbones, make, source, protected, labels, names, body, module, critic
):
    root = tmp_path / "data"
    root.mkdir()
    make(root, np.random.default_rng(0))
    data = {"source": source.format(root), "size": 64, "train": 48, "check": 20, "test": 40, "protected": protected}
    content = {
        "seeds": [0],
        "attackers": ["logistic"],
        "rounds": 1,
        "data": data | {"labels": {"every": labels}},
        "network": {"backbone": f"transformers:{backbones / body}"},
        "training": {"epochs": 1, "batch": 12, "head": "head"},
        "mitigations": [{**ADVERSARY, "module": module, "critic": critic}, {"kind": "erasure", "name": "leace"}],
    }
    found = plain(run.run(parse_config(content, "x"), tmp_path / "out", lambda _: None))
    assert [one["name"] for one in found["labels"]] == names
    assert [row["name"] for row in found["mitigations"]] == ["plain", "critic", "leace"]
    assert all(row["model_leakage"]["estimate"] is not None for row in found["mitigations"])
