"""CelebA as it is distributed, with a backbone of transformers' whose weights lie in a folder."""

import numpy as np
import pytest
from PIL import Image

from transect.mitigation import running
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


@pytest.mark.integration
def test_from_the_files_as_distributed_to_the_table(tmp_path):
    transformers = pytest.importorskip("transformers")
    sizes = {"embedding_size": 8, "hidden_sizes": [8, 12, 16], "depths": [1, 1, 1], "layer_type": "basic"}
    transformers.ResNetModel(transformers.ResNetConfig(**sizes)).save_pretrained(tmp_path / "resnet")
    root = tmp_path / "data"
    root.mkdir()
    celeba(root, np.random.default_rng(0))
    data = {"source": f"celeba:{root}?crop=64", "size": 64, "train": 48, "check": 20, "test": 40, "protected": "Male"}
    content = {
        "seeds": [0],
        "attackers": ["logistic"],
        "rounds": 1,
        "data": data | {"labels": {"every": "*"}},
        "network": {"backbone": f"transformers:{tmp_path / 'resnet'}"},
        "training": {"epochs": 1, "batch": 12, "head": "head"},
        "mitigations": [
            {**ADVERSARY, "module": "body.encoder.stages.2", "critic": "map"},
            {"kind": "erasure", "name": "leace"},
        ],
    }
    found = plain(running.run(parse_config(content, "x"), tmp_path / "out", lambda _: None))
    assert [one["name"] for one in found["labels"]] == ["Smiling", "Wearing_Hat"]
    assert [row["name"] for row in found["mitigations"]] == ["plain", "critic", "leace"]
    assert all(row["model_leakage"]["estimate"] is not None for row in found["mitigations"])
    units = sorted((tmp_path / "out" / "units").iterdir())
    transformers.ResNetModel(transformers.ResNetConfig(**sizes)).save_pretrained(tmp_path / "resnet")
    running.run(parse_config(content, "x"), tmp_path / "out", lambda _: None)
    assert len(list((tmp_path / "out" / "units").iterdir())) == 2 * len(units), "no model is taken for one of others"
