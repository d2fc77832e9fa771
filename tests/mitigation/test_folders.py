"""The same mitigations on folders of photographs: rows with answers, subjects apart, labels by pattern."""

import json

import numpy as np
import pytest
import replicas

from transect.datasets import open_dataset
from transect.errors import BadInput
from transect.jobs.mitigate import run
from transect.jobs.mitigate.command import _show
from transect.jobs.mitigate.page import build
from transect.mitigation.photographs import UNANSWERED, chosen_rows
from transect.mitigation.questions import questions_of
from transect.mitigation.settings import parse_config
from transect.mitigation.testbed import open_bench
from transect.records import Attribute
from transect.runs.plain_json import plain


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


def test_patterns_are_labels():
    attributes = [Attribute(name, "binary", name, levels=("no", "yes")) for name in ("dog", "dot", "gender")]
    attributes.append(Attribute("verb", "categorical", "verb", levels=("cooking", "fixing")))
    assert questions_of({"all": "*"}, attributes, "gender") == {"dog": "dog", "dot": "dot"}
    assert questions_of({"d": "do[g]*", "x": "dot"}, attributes, "gender") == {"dog": "dog", "x": "dot"}
    assert list(questions_of({"v": "verb = *"}, attributes, "gender")) == ["cooking", "fixing"]
    with pytest.raises(BadInput, match="matches none"):
        questions_of({"v": "cat*"}, attributes, "gender")
    with pytest.raises(BadInput, match="'dog' twice"):
        questions_of({"v": "*", "dog": "dog"}, attributes, "gender")


@pytest.mark.parametrize(
    ("make", "source", "labels", "protected", "names"),
    [
        (replicas.coco, "coco:{}", {"objects": "*"}, "gender=woman", ("dog", "frisbee")),
        (replicas.imsitu, "imsitu:{}", {"verbs": "verb=*"}, "gender=woman", ("cooking", "fixing")),
    ],
)
def test_a_bench_of_a_scene_data_set(tmp_path, make, source, labels, protected, names):
    """So few rows have a gender that no bench of three parts fits; the questions and the count are what is asked here."""
    make(tmp_path)
    with pytest.raises(BadInput, match=r"pictures lack an answer") as error:
        open_bench(source.format(tmp_path), 32, "", (2, 2, 2), labels, protected, tmp_path / "p", quiet=True)
    assert "(2 pictures lack an answer)" in str(error.value)
    found = open_dataset(source.format(tmp_path))
    assert tuple(questions_of(labels, found.attributes, protected)) == names


def test_the_same_code_on_a_folder(tmp_path, capsys):
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
    numbers = run.run(parse_config(content, "x"), tmp_path / "out", lambda _: None)
    found = plain(numbers)
    assert [one["name"] for one in found["labels"]] == ["smile", "young"]
    assert found["left_out"][UNANSWERED] == 12
    assert found["protocol"] is None
    assert len(found["mitigations"]) == 3
    assert all(row["f1"]["estimate"] is not None for row in found["mitigations"])
    assert json.loads((tmp_path / "out" / "mitigate.json").read_text())["left_out"] == found["left_out"]
    page = build(numbers)
    assert "pictures without an answer to a question" in page
    assert "none: it needs a generator" in page
    _show(run.MitigateResult(numbers, tmp_path / "out"))
    said = capsys.readouterr().out
    assert "left out: 12 pictures without an answer to a question" in said
    assert "no audit by transects" in said
    assert "not estimable" not in said
    content["mitigations"] = [{"kind": "hide", "name": "black", "region": "face"}]
    with pytest.raises(BadInput, match="black: expected pictures whose regions are known"):
        run.run(parse_config(content, "x"), tmp_path / "out", lambda _: None)
