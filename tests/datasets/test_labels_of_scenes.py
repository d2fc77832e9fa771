"""Labels of COCO and imSitu as tables: official parts, gender by annotators' words, what has none is counted."""

import json

import pyarrow as pa
import pytest
import replicas

from transect.attacks.outputs import predictions
from transect.attacks.tables import labelled_data
from transect.datasets.label_tables import NO_GENDER, label_table


def test_coco_with_both_parts_and_pictures_that_are_not_there(tmp_path):
    """Captions call people on 1 man, on 2 woman, on 4 men; 3 has both, 5 and 6 nobody. Pictures are not needed."""
    for part in ("train2014", "val2014"):
        replicas.coco(tmp_path, part)
    for picture in tmp_path.glob("*/*.png"):
        picture.unlink()
    read = label_table(f"coco:{tmp_path}")
    assert read.table["split"].to_pylist() == ["train"] * 3 + ["val"] * 3
    assert read.table["gender"].to_pylist() == ["man", "woman", "man"] * 2
    assert read.table["id"].to_pylist()[0] == "COCO_train2014_000000000001"
    assert read.labels == ("dog", "frisbee", "cat", "dining table")
    assert [read.table[name].to_pylist()[:3] for name in read.labels] == [[1, 1, 1], [0, 1, 0], [1, 1, 1], [0, 0, 0]]
    assert read.left_out == {NO_GENDER: 6}
    assert len(label_table(f"coco:{tmp_path}?split=val2014").table) == 3


def test_imsitu_in_its_official_parts(tmp_path):
    """cooking_2 has both genders, fixing_4 is a dog."""
    read = label_table(f"imsitu:{replicas.imsitu(tmp_path)}")
    assert read.table.to_pylist() == [
        {"id": "cooking_1", "split": "train", "gender": "man", "verb": "cooking"},
        {"id": "fixing_3", "split": "train", "gender": "woman", "verb": "fixing"},
        {"id": "fixing_5", "split": "test", "gender": "man", "verb": "fixing"},
    ]
    assert (read.labels, read.protected, read.split, read.left_out) == (("verb",), "gender", "split", {NO_GENDER: 2})


def test_leakage_from_coco_and_imsitu_needs_no_column(tmp_path):
    """120 pictures each part: cooking is of women, fixing of men, so that leakage is 100 %."""
    import transect
    from transect import LeakageOptions

    quick = LeakageOptions(permutations=0, curve=False, f1=(90,))
    nouns = {"m": {"gloss": ["adult male"]}, "w": {"gloss": ["adult female"]}}
    (tmp_path / "imsitu_space.json").write_text(json.dumps({"nouns": nouns}))
    for part in ("train", "dev", "test"):
        rows = {
            f"{verb}_{part}{number}.jpg": {"verb": verb, "frames": [{"agent": agent}]}
            for verb, agent in (("cooking", "w"), ("fixing", "m"))
            for number in range(20)
        }
        (tmp_path / f"{part}.json").write_text(json.dumps(rows))
    result = transect.leakage(f"imsitu:{tmp_path}", attacker="bayes", quiet=True, options=quick)
    assert result.numbers.dataset_leakage.estimate == 100
    assert (result.numbers.protected, result.numbers.n, result.numbers.splits) == ("gender", 40, True)
    assert "not who the people are" in " ".join(result.numbers.notes)


@pytest.mark.parametrize(
    ("column", "named"),
    [
        ("id", "COCO_train2014_{:012}"),
        ("id", "train2014/COCO_train2014_{:012}.jpg"),
        ("image_name", "COCO_train2014_{:012}.jpg"),
        ("id", "{:012}"),
        ("image_id", "{}"),  # the number of COCO's annotations
    ],
)
def test_predictions_name_cocos_pictures_in_each_way_that_people_write_them(tmp_path, column, named):
    """Captions name a gender on 1, 2 and 4; dog is true on all, predicted on 2 alone, in another order of rows."""
    replicas.coco(tmp_path, "train2014")
    read = label_table(f"coco:{tmp_path}?split=train2014")
    data = labelled_data(read.table, ["dog", "frisbee"], "gender")
    numbers = [named.format(number) for number in (4, 2, 1)]
    ids = [int(number) for number in numbers] if column == "image_id" else numbers
    answers = pa.table({column: ids, "dog": [0, 1, 0], "frisbee": [0, 0, 0]})
    covered, outputs = predictions(answers, data, ["dog", "frisbee"])
    assert covered.ids == tuple(f"COCO_train2014_{number:012}" for number in (1, 2, 4))
    assert outputs.hard.values[:, 0].tolist() == [False, True, False]


def test_predictions_name_imsitus_pictures_with_their_suffix(tmp_path):
    read = label_table(f"imsitu:{replicas.imsitu(tmp_path)}")
    data = labelled_data(read.table, ["verb"], "gender")
    names = ["fixing_5.jpg", "cooking_1.jpg", "fixing_3.jpg"]
    answers = pa.table({"image_name": names, "verb": ["fixing", "cooking", "cooking"]})
    covered, outputs = predictions(answers, data, ["verb"])
    assert covered.ids == ("cooking_1", "fixing_3", "fixing_5")
    assert [covered.labels.names[verb] for verb in outputs.hard.category] == ["cooking", "cooking", "fixing"]
    assert "cooking_1 is cooking_1.jpg" in outputs.matched.id_column
