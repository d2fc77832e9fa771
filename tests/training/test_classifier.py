"""Classifiers: published schedules, balanced classes, the same end after a kill, safe files."""

import shutil

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

from transect.datasets import open_dataset
from transect.errors import BadInput, RunFolderError
from transect.records import Attribute, Images, Task
from transect.runs.model_files import CARD
from transect.targets import resolve
from transect.testing import check_target
from transect.training import classifier
from transect.training.classifier import Examples, Plan, ResNet, balanced, train
from transect.training.pictures import Label, Pictures
from transect.training.schedules import SCHEDULES, Schedule, schedule_named

TINY = Schedule("resnet18", 32, ((1, 1e-3), (1, 1e-4)), batch=16)
LABEL = Label("bright", "bright", ("no", "yes"))


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    """48 pictures of noise, a quarter of them bright; two of each person, three labels missing."""
    folder = tmp_path_factory.mktemp("pictures")
    lines = ["file,subject,bright,hair"]
    for row in range(48):
        bright = row % 4 == 0
        noise = np.random.default_rng(row).integers(0, 60, (32, 32, 3)) + 190 * bright
        Image.fromarray(noise.astype(np.uint8)).save(folder / f"{row}.png")
        lines.append(f"{row}.png,{row // 2},{'' if row in (5, 6, 7) else int(bright)},{'abc'[row % 3]}")
    (folder / "labels.csv").write_text("\n".join(lines) + "\n")
    opened = open_dataset(f"folder:{folder}", image_size=32)
    return Pictures(opened, len(opened), folder / "kept", quiet=True)


@pytest.fixture(scope="module")
def trained(pictures, shallow, tmp_path_factory):
    out = tmp_path_factory.mktemp("trained")
    train(pictures, Plan(TINY, LABEL, held_out=0.3), out, quiet=True)
    return out


def test_published_schedules_say_what_is_the_papers():
    balakrishnan, denton = SCHEDULES["balakrishnan-2020"], SCHEDULES["denton-2019"]
    assert (balakrishnan.architecture, balakrishnan.epochs, balakrishnan.balanced) == ("resnet50", 20, True)
    assert [balakrishnan.rate(epoch) for epoch in range(20)] == [1e-4] * 10 + [1e-5] * 10
    assert denton.size == 128
    with pytest.raises(BadInput, match="epochs: expected at least 2, one for each rate, got 1"):
        schedule_named("balakrishnan-2020", epochs=1)


def test_a_label_is_an_attribute_or_a_side_of_a_cut():
    smile = Attribute("smile", "continuous", "smile", low=0, high=1)
    hair = Attribute("hair", "categorical", "hair", levels=("a", "b", "c"))
    values = np.array([0.2, 0.5, 0.9, np.nan])
    assert Label.parse("smile > 0.5", [smile]).of(values).tolist() == [0, 0, 1, -1]
    assert Label.parse("smile<0.5", [smile]).of(values).tolist() == [1, 0, 0, -1]
    assert Label.parse("hair", [hair]).of(np.array([2.0, np.nan])).tolist() == [2, -1]
    for text, message in (
        ("smile", "expected a cut of its range 0 to 1: smile>X"),
        ("hair>1", "expected only hair"),
        ("smile=>1", "expected NAME, NAME!=none, NAME>X or NAME<X"),
    ):
        with pytest.raises(BadInput, match=message):
            Label.parse(text, [smile, hair])


def test_subjects_are_on_one_side_and_classes_are_balanced(pictures):
    examples = Examples.of(pictures, Plan(TINY, LABEL, held_out=0.3))
    people = np.array(pictures.source.subjects)
    assert not set(people[examples.learned]) & set(people[examples.measured])
    assert len(set(people[examples.measured])) <= 7  # 0.3 of 24 people, less those without labels
    assert (examples.classes < 0).sum() == 3
    drawn = balanced(examples, np.random.default_rng(0))
    counts = np.bincount(examples.classes[drawn])
    assert len(drawn) == len(examples.learned)
    assert abs(counts[0] - counts[1]) <= 1
    assert set(examples.learned[examples.classes[examples.learned] == 1]) <= set(drawn)  # none of the rare is left out
    with pytest.raises(BadInput, match="expected at least 10 pictures of class 'yes', got 0"):
        Label("bright", "bright", ("no", "yes")).check(np.zeros(20, dtype=np.int64))


@pytest.mark.integration
def test_a_stopped_training_ends_as_one_that_was_not(pictures, trained, tmp_path, monkeypatch):
    """Stopped in the middle of the second epoch, after two steps of it that are lost."""
    whole = classifier._batches

    def stopping(examples, plan, epoch):
        for place, batch in enumerate(whole(examples, plan, epoch)):
            if epoch == 1 and place == 1:
                raise KeyboardInterrupt
            yield batch

    plan = Plan(TINY, LABEL, held_out=0.3)
    monkeypatch.setattr(classifier, "_batches", stopping)
    with pytest.raises(KeyboardInterrupt):
        train(pictures, plan, tmp_path, quiet=True)
    assert not (tmp_path / classifier.WEIGHTS).exists()
    monkeypatch.undo()
    train(pictures, plan, tmp_path, quiet=True)
    train(pictures, plan, tmp_path, quiet=True)  # finds everything done
    for name in (classifier.WEIGHTS, CARD, classifier.METRICS):
        assert (tmp_path / name).read_bytes() == (trained / name).read_bytes(), name
    with pytest.raises(RunFolderError, match="a run with different settings"):
        train(pictures, Plan(TINY, LABEL, seed=1, held_out=0.3), tmp_path, quiet=True)


def test_metrics_are_a_row_an_epoch(trained):
    rows = [line.split(",") for line in (trained / classifier.METRICS).read_text().splitlines()]
    assert [row[:2] for row in rows[1:]] == [["1", "0.001"], ["2", "0.0001"]]
    assert float(rows[2][4]) >= 0.9  # bright pictures are at least 130 of 255 brighter than dark ones: an easy task


def test_what_was_trained_is_a_target(pictures, trained):
    target = resolve(f"classifier:{trained}")
    assert (target.task, target.name, target.threshold) == (Task.BINARY, f"classifier:{trained.name}", 0.5)
    check_target(target)
    assert resolve(f"classifier:{trained / 'classifier.toml'}", threshold=0.7).threshold == 0.7
    # The same answers as the network gives in training, since pictures of its own size are not resized.
    rows = np.arange(6)
    network = ResNet("resnet18", 1)
    network.load_state_dict(load_file(trained / classifier.WEIGHTS))
    logits = classifier.scores(network, pictures, rows, Plan(TINY, LABEL))
    answers = target.predict(Images(pictures.pixels(rows))).scores
    np.testing.assert_allclose(answers, torch.sigmoid(logits).numpy(), atol=1e-5)
    assert target.describe()["training"]["stated"] == ""


def test_a_changed_file_or_card_is_refused(trained, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(trained, folder, ignore=shutil.ignore_patterns("state-*"))
    card = (folder / "classifier.toml").read_text()
    for changed, message in (
        (card.replace('"classifier.safetensors"', '"../classifier.safetensors"'), "next to the card|found none"),
        (card.replace('["no", "yes"]', '["a", "b", "c"]'), "expected a last layer of 3 classes"),
    ):
        (folder / "classifier.toml").write_text(changed)
        with pytest.raises(BadInput, match=message):
            resolve(f"classifier:{folder}")
    (folder / "classifier.toml").write_text(card)
    weights = load_file(folder / classifier.WEIGHTS)
    save_file({**weights, "fc.bias": weights["fc.bias"] + 1}, folder / classifier.WEIGHTS)
    with pytest.raises(BadInput, match=r"expected the weights that classifier\.toml names, found different ones"):
        resolve(f"classifier:{folder}")


def test_three_classes_in_mixed_precision(pictures, shallow, tmp_path):
    label = Label("hair", "hair", ("a", "b", "c"))
    short = Schedule("resnet18", 32, ((1, 1e-3),), batch=16, mirror=True)
    train(pictures, Plan(short, label, held_out=0.3, precision="mixed"), tmp_path / "hair", quiet=True)
    target = resolve(f"classifier:{tmp_path / 'hair'}")
    assert (target.task, target.labels) == (Task.MULTICLASS, ("a", "b", "c"))
    scores = target.predict(Images(pictures.pixels(np.arange(4)))).scores
    np.testing.assert_allclose(scores.sum(axis=1), 1)
