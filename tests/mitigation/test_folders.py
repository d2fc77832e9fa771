"""The same mitigations on folders of photographs: rows with answers, subjects apart, labels by pattern."""

import json
from dataclasses import replace

import numpy as np
import pytest
import replicas
from drawn_face import pictures

from transect.datasets import open_dataset
from transect.errors import BadInput
from transect.mitigation import running
from transect.mitigation.settings import Hide, parse_config
from transect.mitigation.testbed import (
    FACELESS,
    NO_PART,
    SPARE,
    UNANSWERED,
    FoundFaces,
    chosen_rows,
    hidden_by,
    questions_of,
)
from transect.records import Attribute, Images
from transect.runs.json_records import plain
from transect.targets import resolve


def people(root, n=96):
    """Pictures of 32 people, three each, sorted by sex; red says the sex, green a smile, and every eighth has no label."""
    rng = np.random.default_rng(0)
    rows = []
    for number in range(n):
        male, smile = int(number >= n // 2), int(rng.random() < 0.5)
        color = (80 + 120 * male, 60 + 130 * smile, int(rng.integers(256)))
        replicas.Image.new("RGB", (32, 32), color).save(root / f"{number:02d}.png")
        rows.append(f"{number:02d}.png,{number // 3},{male},{'' if number % 8 == 7 else smile},{number % 2}")
    (root / "labels.csv").write_text("file,subject,male,smile,young\n" + "\n".join(rows) + "\n")
    return root


def test_rows_have_answers_and_no_subject_is_in_two_parts(tmp_path):
    images = open_dataset(f"folder:{people(tmp_path)}", image_size=32)
    source, left = chosen_rows(images, (20, 8, 10), ("smile", "male"))
    taken = np.asarray(source.read(source.sample(np.arange(38)))["subject"])
    parts = [set(taken[:20]), set(taken[20:28]), set(taken[28:])]
    assert len(set.union(*parts)) == sum(len(part) for part in parts)
    assert left[UNANSWERED] == 12  # 7, 15, ... 95
    assert sum(left.values()) == 96 - 38
    assert len(set(taken[:20] < 16)) == 2  # the file is sorted by sex, the draw is not
    again, _ = chosen_rows(images, (20, 8, 10), ("smile", "male"))
    assert again.describe() == source.describe()
    assert source.describe() != chosen_rows(images, (20, 8, 10), ("smile", "male"), seed=1)[0].describe()
    with pytest.raises(BadInput, match=r"expected \[80, 8, 10\] of 96 pictures, got .* \(12 pictures lack an answer\)"):
        chosen_rows(images, (80, 8, 10), ("smile",))


def in_parts(root, part_of):
    """Those pictures, each in the part that `part_of` gives for its row and subject."""
    images = open_dataset(f"folder:{people(root)}", image_size=32)
    return replace(images, parts=tuple(part_of(row, who) for row, who in enumerate(images.subjects)))


def test_rows_come_from_their_official_parts(tmp_path):
    """Sixteen people to learn from, eight each to stop by and to measure on: 48, 24 and 24 pictures."""
    names = ("training", "training", "valid", "test")
    images = in_parts(tmp_path, lambda _, who: names[who % 4])
    source, left = chosen_rows(images, (30, 12, 15), ("male",))
    parts = np.array([images.parts[row] for row in source._rows])
    assert parts.tolist() == ["training"] * 30 + ["valid"] * 12 + ["test"] * 15
    assert source.split == "official: training, valid, test"
    assert (left[SPARE], left[NO_PART], left[UNANSWERED]) == (96 - 57, 0, 0)
    assert chosen_rows(images, (48, 24, 24), ("male",))[1][SPARE] == 0
    with pytest.raises(BadInput, match=r"got \[30, 24, 15\] from the official parts; ask for fewer"):
        chosen_rows(images, (30, 25, 15), ("male",))
    drawn, left = chosen_rows(images, (30, 25, 15), ("male",), official=False)
    assert (drawn.split, left[NO_PART], left[SPARE]) == ("drawn by a fixed seed", 0, 96 - 70)


def test_two_official_parts_and_pictures_of_none(tmp_path):
    """Without a third part, pictures to stop by and to measure on are the second's, and nobody is in both."""
    images = in_parts(tmp_path, lambda _, who: ("train", "val", "")[who % 3])
    source, left = chosen_rows(images, (20, 10, 10), ("male",))
    parts = np.array([images.parts[row] for row in source._rows])
    assert parts.tolist() == ["train"] * 20 + ["val"] * 20
    people = np.asarray(images.subjects)[source._rows]
    assert not set(people[20:30]) & set(people[30:])
    assert left[NO_PART] == 30  # people 2, 5, ... 29, three pictures each
    assert source.split == "official: train to learn from; stop by and measure on pictures of val"


def test_faces_that_a_detector_finds_are_hidden():
    """Two of the drawn faces and noise: the box of each found face covers its eyes and mouth, and nothing else is hidden."""
    pixels = pictures()[[0, 1, 3]]
    stored = type("Stored", (), {"pixels": lambda _, rows: pixels[rows]})()
    hidden = hidden_by(Hide(name="black", kind="hide", region="face"), stored, None)
    assert isinstance(hidden.regions, FoundFaces)
    masks = hidden.regions.of("face", np.array([0, 1, 2]))
    assert (hidden.pixels(np.array([2])) == pixels[2]).all()
    assert not masks[2].any()
    found = resolve("opencv:haarcascade_frontalface_default", enlarge=256).predict(Images(pixels)).boxes
    for mask, boxes in zip(masks[:2], found, strict=False):
        left, top, right, bottom = boxes[0, :4].astype(int)
        assert mask[
            top + 5 : bottom, (left + right) // 2
        ].all()  # from hairline to chin the face is higher than the box
        assert mask[: max(0, top - (bottom - top) // 2)].sum() == 0
    assert hidden.regions.faceless(np.arange(3)) == 1


def test_patterns_are_labels():
    attributes = [Attribute(name, "binary", name, levels=("no", "yes")) for name in ("dog", "dot", "gender")]
    attributes.append(Attribute("verb", "categorical", "verb", levels=("cooking", "fixing")))
    assert questions_of({"all": "*"}, attributes, "gender") == {"dog": "dog", "dot": "dot"}
    assert questions_of({"d": "do[g]*", "x": "dot"}, attributes, "gender") == {"dog": "dog", "x": "dot"}
    assert list(questions_of({"v": "verb = *"}, attributes, "gender")) == ["cooking", "fixing"]
    with pytest.raises(BadInput, match="'dog' is selected twice"):
        questions_of({"v": "*", "dog": "dog"}, attributes, "gender")


@pytest.mark.integration
def test_the_same_code_on_a_folder(tmp_path):
    """Plain, adversary and LEACE on a folder; one label is constant in the drawn rows' question and is left out."""
    root = tmp_path / "photographs"
    root.mkdir()
    people(root)
    content = {
        "seeds": [0],
        "attackers": ["logistic"],
        "rounds": 1,
        "data": {
            "source": f"folder:{root}",
            "size": 32,
            "train": 20,
            "check": 8,
            "test": 40,
            "protected": "male",
            "labels": {"any": "*"},
        },
        "network": {"widths": [4]},
        "training": {"epochs": 1, "batch": 10},
        "mitigations": [
            {"kind": "adversarial", "name": "critic", "module": "blocks.0", "epochs": 1, "critic_epochs": 1},
            {"kind": "erasure", "name": "leace"},
        ],
    }
    numbers = running.run(parse_config(content, "x"), tmp_path / "out", lambda _: None)
    found = plain(numbers)
    assert [one["name"] for one in found["labels"]] == ["smile", "young"]
    assert found["left_out"][UNANSWERED] == 12
    assert found["protocol"] is None
    assert len(found["mitigations"]) == 3
    assert all(row["f1"]["estimate"] is not None for row in found["mitigations"])
    assert json.loads((tmp_path / "out" / "mitigate.json").read_text())["left_out"] == found["left_out"]
    content["mitigations"] = [{"kind": "hide", "name": "black", "region": "face"}]
    numbers = running.run(parse_config(content, "x"), tmp_path / "out", lambda _: None)
    assert numbers.mitigations[1].seeds[0].notes[FACELESS] == 68  # squares of one color
