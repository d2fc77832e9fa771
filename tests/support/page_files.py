"""What documentation pages say that the reader has, made small: models, pictures, tables, labels."""

import csv
import json
import os
import re
import sys
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import hostile_server
import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import replicas
import served
import small_network
import tiny_vlm as tiny_vlms
from onnx import TensorProto, helper
from places import ROOT

import transect
from transect.annotation.exchange.incoming import Incoming, take_in
from transect.annotation.project import open_project


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


def tiny_vlm() -> None:
    """models/tiny: a vision-language model of random weights."""
    tiny_vlms.tiny_vlm(Path("models/tiny"))


def scorer() -> None:
    """mine.py, the page's function of texts."""
    Path("mine.py").write_text(
        "def exclamation(texts):\n    return [text.count('!') / max(len(text), 1) for text in texts]\n"
    )


def signing_keys() -> None:
    """auditor and auditor.pub, as ssh-keygen makes them."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    key = Ed25519PrivateKey.generate()
    private = key.private_bytes(form.Encoding.PEM, form.PrivateFormat.OpenSSH, form.NoEncryption())
    public = key.public_key().public_bytes(form.Encoding.OpenSSH, form.PublicFormat.OpenSSH)
    Path("auditor").write_bytes(private)
    Path("auditor.pub").write_bytes(public)


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
        (Path("faces") / f"{row['id']}.png").write_bytes(row["image"])


def faces_table() -> None:
    """attributes.parquet about the pictures in faces/, by other names of the same photographs."""
    stems = sorted(path.stem for path in Path("faces").iterdir())
    columns = {"id": [f"photos/{stem}.jpg" for stem in stems], "Male": [row % 2 for row in range(len(stems))]}
    pq.write_table(pa.table(columns), "attributes.parquet")


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


def latents_and_people(images: int = 12) -> None:
    """data/latents.npy, and data/people.csv with a row per latent."""
    Path("data").mkdir()
    ages = np.linspace(20, 60, images)
    np.save("data/latents.npy", np.stack([ages, np.sin(ages)], axis=1))
    Path("data/people.csv").write_text("\n".join(["age", *(f"{age:.2f}" for age in ages)]) + "\n")


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


@contextmanager
def detection_server() -> Iterator[dict[str, str]]:
    """The service of acme.toml: finds a face in every picture. Gives what its address is here."""

    def answer(number: int, body: bytes) -> dict:
        box = {"left": 0.2, "top": 0.2, "width": 0.6, "height": 0.6}
        return {"body": {"result": {"faces": [{"box": box, "confidence": 90.0}]}}}

    with hostile_server.serving(answer) as server:
        yield {"https://api.acme.example/v1/detect": server.url}


@contextmanager
def object_storage() -> Iterator[dict[str, str]]:
    """The reader's bucket, on a server of our own."""
    from object_storage import Bucket, s3_server

    from transect.runs import working_folders

    with s3_server() as port, mock.patch.dict(os.environ, AWS_REGION="us-east-1"):
        os.environ |= {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}"}
        os.environ |= {"AWS_ACCESS_KEY_ID": "reader", "AWS_SECRET_ACCESS_KEY": "reader"}
        try:
            yield {"my-bucket": Bucket(port).name}
        finally:
            working_folders.close_all()


def face_api_files(url: str) -> None:
    """The example's target files, for a server at this address."""
    folder = Path("examples/face_api")
    folder.mkdir(parents=True)
    for file in (ROOT / folder).glob("*.toml"):
        (folder / file.name).write_text(file.read_text().replace("http://127.0.0.1:8422/analyze", url))


@contextmanager
def face_api() -> Iterator[dict[str, str]]:
    """A server that answers as examples/face_api does: a face in every picture, with its scores."""

    def answer(number: int, body: bytes) -> dict:
        score = zlib.crc32(body) % 1000 / 1000  # of the picture alone, so that canaries do not change
        face = {"box": [30, 30, 130, 130], "score": 0.9, "age": 40.0, "female": score, "expressions": {"happy": score}}
        return {"body": {"faces": [face]}}

    with hostile_server.serving(answer) as server:
        face_api_files(server.url.replace("/detect", "/analyze"))
        yield {}


def raters_answer(printed: str) -> None:
    """Everybody who was invited follows the link and gives the first answer to every task."""
    links = re.findall(r"(http://\S+)/invite/(\S+)", printed)
    assert links, printed
    raters = [served.HttpRater(base, token, lambda task: 0, threading.Event()) for base, token in links]
    for rater in raters:
        rater.start()
    for rater in raters:
        rater.join()
        assert not rater.failure, rater.failure
    assert all(rater.acknowledged for rater in raters)


def quality_answers(printed: str) -> None:
    """Five raters see the condition that was set on every image of runs/faces, and good pictures."""
    table = pq.read_table("runs/faces/images", columns=["id", "cell"]).to_pylist()
    project = open_project(Path("runs/faces"), None, ("quality",))
    given = []
    for row in table:
        for rater in range(5):
            given.append(Incoming("test", "", row["id"], "", "condition", f"r{rater}", row["cell"]))
            given.append(Incoming("test", "", row["id"], "", "quality", f"r{rater}", 3 + (rater + row["cell"]) % 2))
    take_in(project, given, 1.0)
    project.database.close()


def people() -> None:
    """people/, four pictures of the reference generator, two of each of two people, with a table of who is on each."""
    transect.render("drawn", generator="reference", subjects=4, data_set=True, quiet=True)
    Path("people").mkdir()
    rows = pq.read_table("drawn/images").to_pylist()
    for row in rows:
        (Path("people") / f"{row['id']}.png").write_bytes(row["image"])
    lines = [f"{row['id']}.png,{'ab'[place // 2]}" for place, row in enumerate(rows)]
    Path("people/labels.csv").write_text("\n".join(["file,subject", *lines, ""]))


def pair_answers(printed: str) -> None:
    """Three raters have answered about the pairs of runs/inverted."""
    project = open_project(Path("runs/inverted"))
    given = [
        Incoming("test", study, pair.first, pair.second, "same_person", f"r{rater}", rater % 2, 0)
        for study, pair in project.pictures.pairs
        for rater in range(3)
    ]
    take_in(project, given, 1.0)
    project.database.close()


def crowd_results(printed: str) -> None:
    """results.csv: a worker of the market has ticked the first answer of every task of the batch."""
    batch = next(Path("runs/smile").rglob("batch.csv"))
    with batch.open(newline="") as file:
        rows = list(csv.DictReader(file))
    ticked = json.dumps([{"answer": {"0": True}}])
    with Path("results.csv").open("w", newline="") as file:
        names = [*(f"Input.{name}" for name in rows[0]), "AssignmentStatus", "WorkerId", "Answer.taskAnswers"]
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([[*row.values(), "Submitted", "A1SECRET", ticked] for row in rows])


def diffusion_pipeline() -> None:
    """The folder stable-diffusion: a pipeline of 16 x 16 pixels."""
    import small_pipelines

    small_pipelines.save_text(Path("stable-diffusion").absolute())


def inpainting_pipeline() -> None:
    """The folder stable-diffusion-inpainting: one that paints inside a mask."""
    import small_pipelines

    small_pipelines.save_inpaint(Path("stable-diffusion-inpainting").absolute())


def face_weights() -> None:
    """A function embeds pictures, where a page has dlib's weights."""
    Path("thumbnail.py").write_text(
        "def embed(pixels):\n    return pixels[:, ::16, ::16].reshape(len(pixels), -1) / 255\n"
    )
    sys.path.insert(0, str(Path.cwd()))


def verbs() -> None:
    """imsitu_verb_gender.parquet in the layout of the release: verbs that go with gender."""
    rng = np.random.default_rng(0)
    rows = 66_000
    gender = rng.integers(0, 2, rows)
    columns = {
        "split": [("train", "dev", "test")[k % 3] for k in range(rows)],
        "image_name": [f"{k}.jpg" for k in range(rows)],
        "verb_id": np.where(rng.random(rows) < 0.5, gender, rng.integers(0, 6, rows)),
        "gender": gender,
        **{f"in_alpha{k}": rng.random(rows) < 0.8 for k in (1, 2, 3)},
    }
    pq.write_table(pa.table(columns), "imsitu_verb_gender.parquet")


def leaky_tables() -> None:
    """Labels of 400 items, predictions of three models, layers and captions."""
    rng = np.random.default_rng(0)
    n, kinds = 400, [f"v{number}" for number in range(4)]
    gender, verb = rng.integers(0, 2, n), rng.integers(0, 4, n)
    known = {"id": np.arange(n), "gender": np.array(["man", "woman"])[gender]}
    split = [("train", "val", "test")[number % 3] for number in range(n)]
    age = np.array(["old", "young"])[rng.integers(0, 2, n)]
    pq.write_table(pa.table({**known, "verb": [kinds[v] for v in verb], "age": age, "split": split}), "labels.parquet")
    for name, push in (("plain", 1.0), ("fair", 0.2), ("balanced", 0.5)):
        scores = rng.normal(size=(n, 4)) + 2 * np.eye(4)[verb] + push * gender[:, None] * np.array([1, -1, 0, 0])
        columns = {f"score_{kind}": scores[:, place] for place, kind in enumerate(kinds)}
        pq.write_table(pa.table({"id": np.arange(n), **columns}), f"{name}.parquet")
    layers = {name: rng.normal(size=(n, 3)).tolist() for name in ("conv4", "conv5")}
    pq.write_table(pa.table({"id": np.arange(n), **layers}), "layers.parquet")
    dog, cup = (verb == 0).astype(int), (verb == 1).astype(int)
    pq.write_table(pa.table({**known, "dog": dog, "cup": cup}), "objects.parquet")
    lines = [f"{row},a person smiles with {'a dog' if there else 'nobody'}" for row, there in enumerate(dog)]
    Path("captions.csv").write_text("\n".join(["id,caption", *lines]) + "\n")


def photographs_have_every_section(printed: str) -> None:
    """The report on photographs has what its page lists."""
    results = json.loads(Path("runs/photographs/results.json").read_text())
    keys = {section["key"] for section in results["sections"]}
    assert {"adjustment", "confounding", "people", "balance"} <= keys
