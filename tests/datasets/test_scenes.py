"""COCO and imSitu on tiny replicas: objects and verbs as labels, gender as captions and frames say, everything counted."""

import json

import numpy as np
import pytest
import replicas

from transect.datasets import open_dataset
from transect.errors import BadInput, UnknownName


def refusal(text, kind=BadInput, **options):
    with pytest.raises(kind) as error:
        open_dataset(text, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_coco(tmp_path):
    made = open_dataset(f"coco:{replicas.coco(tmp_path)}")
    assert [name[-2:] for name in made.ids] == ["01", "02", "03", "04", "06"]
    assert [one.name for one in made.attributes] == ["gender", "dog", "frisbee"]
    assert made.column("dog").tolist() == [1, 1, 0, 1, 0]
    assert made.column("frisbee").tolist() == [0, 1, 0, 0, 0]
    np.testing.assert_equal(made.column("gender"), [0, 1, np.nan, 0, np.nan])  # 3 has both, 6 neither
    assert made.skipped["cat"] == made.skipped["dining table"] == "one value only"  # the table stands on 5, not there
    assert "person" in made.skipped
    assert made.left_out == {"rows of labels without an image": 1, "images without a row of labels": 1}
    assert made.pixels([3])[0, 8, 12, 0] == 80


def test_coco_by_part_and_without_captions(tmp_path):
    replicas.coco(tmp_path)
    made = open_dataset(f"coco:{replicas.coco(tmp_path, 'val2014', captions=False)}?split=val2014")
    assert [one.name for one in made.attributes] == ["dog", "frisbee"]
    assert made.ids[0] == "COCO_val2014_000000000001"
    assert "no instances_val2017.json" in refusal(f"coco:{tmp_path}?split=val2017")
    assert "expected one of COCO's parts" in refusal(f"coco:{tmp_path}?split=../val")
    both = open_dataset(f"coco:{tmp_path}?split=train2014,val2014")
    assert both.parts == ("train",) * 5 + ("val",) * 5
    assert both.ids[5:] == made.ids
    assert [one.name for one in both.attributes] == ["dog", "frisbee"]  # gender only where all parts have captions
    assert both.column("dog").tolist() == [1, 1, 0, 1, 0] * 2
    assert both.left_out == {"rows of labels without an image": 2, "images without a row of labels": 2}
    table = tmp_path / "annotations" / "instances_val2014.json"
    table.write_text(table.read_text().replace('"cat"', '"lynx"'))
    assert "the kinds of objects differ" in refusal(f"coco:{tmp_path}?split=train2014,val2014")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "expected JSON"),
        (json.dumps({"images": [], "annotations": [], "categories": [{"id": 1}]}), "expected records with id, name"),
    ],
)
def test_a_damaged_coco_file_is_refused(tmp_path, content, said):
    replicas.coco(tmp_path)
    (tmp_path / "annotations" / "instances_train2014.json").write_text(content)
    assert said in refusal(f"coco:{tmp_path}")


def test_imsitu(tmp_path):
    made = open_dataset(f"imsitu:{replicas.imsitu(tmp_path)}")
    assert made.ids == ("cooking_1", "cooking_2", "fixing_3", "fixing_4")
    assert made.attributes[0].levels == ("cooking", "fixing")
    assert made.column("verb").tolist() == [0, 0, 1, 1]
    np.testing.assert_equal(made.column("gender"), [0, np.nan, 1, np.nan])  # 2 has both; a dog is neither
    assert made.left_out == {"rows of labels without an image": 1, "images without a row of labels": 1}
    assert made.parts == ("train", "train", "train", "dev")
    train = open_dataset(f"imsitu:{tmp_path}?split=train")
    assert (len(train), train.left_out["rows of other parts"]) == (3, 2)
    assert "of imSitu" in refusal(f"imsitu:{tmp_path}?split=val", UnknownName)
