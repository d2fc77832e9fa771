"""What documentation pages say that the reader has, made small: models, pictures, tables, labels."""

import json
import sys
from pathlib import Path

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import replicas
import small_network
from onnx import TensorProto, helper
from PIL import Image

import transect


def onnx_model(name: str, outputs: int = 1) -> None:
    """An ONNX file whose scores are the mean of the image, once for each output; any size, float NCHW."""
    graph = helper.make_graph(
        [
            helper.make_node("ReduceMean", ["image"], ["mean"], axes=[1, 2, 3], keepdims=0),
            helper.make_node("Unsqueeze", ["mean", "axis"], ["column"]),
            helper.make_node("Mul", ["column", "weights"], ["score"]),
        ],
        "mean",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 3, "h", "w"])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n", outputs])],
        [
            helper.make_tensor("axis", TensorProto.INT64, [1], [1]),
            helper.make_tensor("weights", TensorProto.FLOAT, [1, outputs], [1.0 / (1 + k) for k in range(outputs)]),
        ],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), name)


def package() -> None:
    """mypackage.models:SmileNet, importable from this folder, and its weights."""
    from safetensors.torch import save_file

    folder = Path("mypackage")
    folder.mkdir()
    (folder / "__init__.py").touch()
    (folder / "models.py").write_text(
        "import torch\n\n\nclass SmileNet(torch.nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.last = torch.nn.Linear(3, 1)\n\n"
        "    def forward(self, images):\n        return self.last(images.mean(dim=(2, 3)))\n"
    )
    import torch

    save_file({"last.weight": torch.ones(1, 3), "last.bias": torch.zeros(1)}, "smile.safetensors")
    sys.path.insert(0, str(Path.cwd()))


def stylegan2(name: str = "ffhq.safetensors") -> None:
    from safetensors.torch import save_file

    save_file(small_network.weights(), name)


def faces(count: int = 4, size: int = 64) -> None:
    """A folder of rendered faces."""
    folder = Path("rendered")
    transect.render(folder, subjects=count, seed=3, image_size=size, data_set=True, quiet=True)
    Path("faces").mkdir()
    for row in pq.read_table(folder / "images").to_pylist():
        (Path("faces") / f"{row['id']}.png").write_bytes(row["image"]["bytes"])


def seed_labels(name: str = "ratings.csv", subjects: int = 240) -> None:
    """Labels by seed: a coin for smile, a number for age."""
    rng = np.random.default_rng(0)
    lines = ["seed,rater,smile,age"]
    lines += [f"{seed},ada,{rng.integers(2)},{rng.integers(20, 70)}" for seed in range(subjects)]
    Path(name).write_text("\n".join(lines) + "\n")


def attributes_table(images: int = 160) -> None:
    """attributes.parquet, w.npy and face.npy: two groups whose ages differ, two images of each person."""
    rng = np.random.default_rng(0)
    person = np.arange(images) // 2
    male = (rng.random(images // 2) < 0.5).astype(int)[person]
    young = (rng.random(images // 2) < 0.4 + 0.2 * male[::2]).astype(float)[person]
    w = rng.normal(size=(images // 2, 8))[person] + young[:, None] + 0.1 * rng.normal(size=(images, 8))
    np.save("w.npy", w)
    np.save("face.npy", w[:, :4] * 0.1)
    columns = {
        "id": [str(row) for row in range(images)],
        "Male": male,
        "Young": young,
        "person": [f"p{number}" for number in person],
        "error": (rng.random(images) < 0.1 + 0.1 * male).astype(float),
    }
    pq.write_table(pa.table(columns), "attributes.parquet")


def rated_images(subjects: int = 4) -> None:
    """seen.csv and answers.csv: what was seen of the images of runs/smile, by an attribute model and by two raters."""
    ids = [
        (f"{subject}-{cell:04d}", study) for study in ("steps-age",) for subject in range(subjects) for cell in range(5)
    ]
    Path("seen.csv").write_text("id,study,smile,age\n" + "".join(f"{name},{study},0.5,40\n" for name, study in ids))
    rows = [f"{name},{study},{rater},1\n" for name, study in ids for rater in ("ada", "ben")]
    Path("answers.csv").write_text("id,study,rater,smile\n" + "".join(rows))


def celeba() -> None:
    """CelebA's layout with enough flat pictures of the test split."""
    root = Path("data/celeba")
    root.mkdir(parents=True)
    replicas.celeba(root)
    names = [f"{number:06d}" for number in range(10, 60)]
    rows = [
        f"{name}.jpg {1 if k % 2 else -1} {1 if k % 3 else -1} {1 if k % 5 else -1}" for k, name in enumerate(names)
    ]
    (root / "Anno" / "list_attr_celeba.txt").write_text(f"{len(rows)}\nSmiling Male Young\n" + "\n".join(rows) + "\n")
    (root / "Anno" / "identity_CelebA.txt").write_text("".join(f"{name}.jpg {k}\n" for k, name in enumerate(names)))
    (root / "Anno" / "list_eval_partition.txt").write_text("".join(f"{name}.jpg 2\n" for name in names))
    for k, name in enumerate(names):
        replicas.put(root / "img_align_celeba" / f"{name}.png", 4 * k, (178, 218))


def picture(name: str, size: int = 160) -> None:
    Image.fromarray(np.full((size, size, 3), 120, np.uint8)).save(name)


def run_ids(run: str) -> list[str]:
    """The ids of a run's images."""
    return pq.read_table(Path(run) / "images", columns=["id"])["id"].to_pylist()


def results(run: str) -> dict:
    return json.loads((Path(run) / "results.json").read_text())
