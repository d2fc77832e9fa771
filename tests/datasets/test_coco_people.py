"""People on COCO's pictures: outlines, boxes and runs in the picture's frame, cut and sized as the picture is."""

import json

import numpy as np
import pytest
import replicas

from transect.datasets import open_dataset
from transect.datasets.coco import people_on, pixels_of_runs, unpacked
from transect.errors import BadInput, UnknownName
from transect.mitigation.testbed import ChosenRows


def annotated(root, people, part="train2014"):
    """The replica, whose pictures are 24 wide and 16 high, with these annotations of persons by picture."""
    replicas.coco(root, part)
    table = root / "annotations" / f"instances_{part}.json"
    content = json.loads(table.read_text())
    content["images"] = [{**row, "width": 24, "height": 16} for row in content["images"]]
    others = [row for row in content["annotations"] if row["category_id"] != 1]
    persons = [{"image_id": number, "category_id": 1, **person} for number, person in people]
    content["annotations"] = others + persons
    table.write_text(json.dumps(content))
    return root


SQUARE = {"segmentation": [[4, 2, 7, 2, 7, 5, 4, 5]], "bbox": [4, 2, 4, 4]}
CROWD = {"segmentation": {"counts": [16, 16, 352], "size": [16, 24]}, "bbox": [1, 0, 1, 16]}


def test_outlines_boxes_and_runs_of_all_people_on_a_picture(tmp_path):
    """The square of columns 4 to 7 and rows 2 to 5, and the whole of column 1; nobody on picture 2."""
    images = open_dataset(f"coco:{annotated(tmp_path, [(1, SQUARE), (1, CROWD)])}", image_size=24, crop="center")
    whole = open_dataset(f"coco:{tmp_path}", crop="16@12,8")
    expected = np.zeros((16, 24), dtype=bool)
    expected[2:6, 4:8] = expected[:, 1] = True
    np.testing.assert_array_equal(people_on(whole).of("mask", np.array([0]))[0], expected[:, 4:20])
    np.testing.assert_array_equal(people_on(whole).of("box", np.array([0]))[0], expected[:, 4:20])
    assert not people_on(whole).of("mask", np.array([1])).any()
    larger = people_on(images).of("mask", np.array([0, 1]))
    assert larger.shape == (2, 24, 24)
    assert larger[0, 3:9, 0:6].all()  # enlarged by 1.5, from column 4
    assert not larger[0, 12:].any()


def test_margins_are_nobody_and_pixels_that_a_person_touches_are(tmp_path):
    """Fitted into 12: half the size, eight rows in the middle of twelve; the square becomes columns 2 and 3."""
    everything = {"segmentation": [[0, 0, 24, 0, 24, 16, 0, 16]], "bbox": [0, 0, 24, 16]}
    images = open_dataset(f"coco:{annotated(tmp_path, [(1, SQUARE), (2, everything)])}", image_size=12)
    masks = people_on(images).of("mask", np.array([0, 1]))
    assert masks[1].any(axis=1).tolist() == [False] * 2 + [True] * 8 + [False] * 2
    assert masks[0, 3:5, 2:4].all()
    assert masks[0].sum() <= 16


def test_chosen_rows_have_the_regions_of_their_own_pictures(tmp_path):
    images = open_dataset(f"coco:{annotated(tmp_path, [(4, SQUARE)])}")
    regions = ChosenRows(images, np.array([0, 3])).regions()
    assert regions is not None
    assert regions.of("mask", np.array([0, 1])).any(axis=(1, 2)).tolist() == [False, True]
    with pytest.raises(UnknownName, match="unknown region of COCO's annotations 'face'"):
        regions.of("face", np.array([0]))


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("231N", [2, 3, 1, 1]),  # the format's first example: 0011101; the fourth is 1 - 3 = -2, as 30
        ("061", [0, 6, 1]),  # its second: 1111110
        ("X1", [40]),  # 40 = 1 * 32 + 8: 8 and more to come, then 1
        ("`0", [16]),  # 16 alone would be read as -16
    ],
)
def test_packed_numbers_by_hand(text, runs):
    assert unpacked(text) == runs


def test_a_packed_ellipse_as_the_reference_tools_pack_it():
    """(x - 30) / 22 and (y - 20) / 15 within a circle of radius 1, on 60 x 40 pixels."""
    text = "h;9m04M2N2N2N2O0O2N2O000O2O000O2O0000000000000000000000000001N10001N10001N2N101N2N2N2N3Lb9"
    down, across = np.mgrid[:40, :60]
    ellipse = ((down - 20) / 15) ** 2 + ((across - 30) / 22) ** 2 < 1
    np.testing.assert_array_equal(pixels_of_runs({"counts": text}, 60, 40, "a"), ellipse)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ("2 31", "a: expected an outline's packed counts, got ' ' at position 2"),
        ("23X", "a: expected an outline's packed counts, got one that is cut short after 2 numbers"),
        ([1.5, 4.5], "a: expected an outline's counts as a list of whole numbers"),
        ("23", "sum to 6 pixels, got 5"),
    ],
)
def test_faulty_runs_are_refused(counts, message):
    with pytest.raises(BadInput, match=message):
        pixels_of_runs({"counts": counts}, 3, 2, "a")
