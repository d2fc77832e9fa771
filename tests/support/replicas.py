"""Tiny replicas of how data sets are laid out; the pictures are flat and drawn here, nobody is on them."""

import io
import json

import numpy as np
from PIL import Image


def flat(grey, size=(178, 218)):
    return Image.fromarray(np.full((size[1], size[0], 3), grey, np.uint8))


def png(grey, size=(8, 8)):
    sink = io.BytesIO()
    flat(grey, size).save(sink, "PNG")
    return sink.getvalue()


def put(path, grey=100, size=(8, 8)):
    path.parent.mkdir(parents=True, exist_ok=True)
    flat(grey, size).save(path)
    return path


CELEBA = """6
Smiling Male Young
000001.jpg  1 -1  1
000002.jpg -1 -1  1
000003.jpg  1  1  1
000004.jpg -1  1  1
000005.jpg  1  1  1
000006.jpg -1 -1  1
"""


def celeba(root, tables="Anno"):
    """Six rows; picture 6 is missing, picture 9 has no row; 1 and 3 are one person; 4 is valid, 5 and 6 are test.

    Picture k is grey 20 k.
    """
    for number in (1, 2, 3, 4, 5, 9):
        put(root / "img_align_celeba" / f"{number:06d}.png", 20 * number, (178, 218))
    folder = root / tables
    folder.mkdir(exist_ok=True)
    (folder / "list_attr_celeba.txt").write_text(CELEBA)
    people = {1: 77, 2: 5, 3: 77, 4: 8, 5: 9, 6: 10}
    (folder / "identity_CelebA.txt").write_text("".join(f"{k:06d}.jpg {who}\n" for k, who in people.items()))
    part = {1: 0, 2: 0, 3: 0, 4: 1, 5: 2, 6: 2}
    (folder / "list_eval_partition.txt").write_text("".join(f"{k:06d}.jpg {where}\n" for k, where in part.items()))
    return root


def celeba_hq(root):
    """Four pictures; 0 and 2 come from CelebA's 000001 and 000003, which are of one person."""
    for number in range(4):
        put(root / "CelebA-HQ-img" / f"{number}.png", 50 * number, (16, 16))
    rows = "".join(f"{number}.jpg {1 if number % 2 else -1} {1 if number > 1 else -1}\n" for number in range(4))
    (root / "CelebAMask-HQ-attribute-anno.txt").write_text(f"4\nSmiling Male\n{rows}")
    mapping = "idx orig_idx orig_file\n0 0 000001.jpg\n1 1 000002.jpg\n2 2 000003.jpg\n3 9 000010.jpg\n"
    (root / "CelebA-HQ-to-CelebA-mapping.txt").write_text(mapping)
    (root / "identity_CelebA.txt").write_text("000001.jpg 77\n000002.jpg 5\n000003.jpg 77\n")
    return root


def fairface(root, below="."):
    head = "file,age,gender,race,service_test\n"
    train = ["train/1.png,20-29,Male,Black,True", "train/2.png,3-9,Female,White,False", "train/3.png,,Male,Black,True"]
    (root / "fairface_label_train.csv").write_text(head + "\n".join(train) + "\n")
    (root / "fairface_label_val.csv").write_text(head + "val/1.png,more than 70,Female,Indian,True\n")
    for number, name in enumerate(("train/1.png", "train/2.png", "train/4.png", "val/1.png")):
        put(root / below / name, 30 * number)
    return root


def ppb(root, below="PPB-2017"):
    """Four rows, one without a picture; one picture without a row."""
    rows = ["1,South Africa,female,a.png,VI,darker", "2,Sweden,male,b.png,II,lighter"]
    rows += ["3,Sweden,female,c.png,,lighter", "4,Rwanda,male,gone.png,V,darker"]
    for number, name in enumerate("abcx"):
        put(root / below / "imgs" / f"{name}.png", 50 * number)
    head = "id,country,gender,filename,fitz,bi.fitz\n"
    (root / below / "PPB-2017-metadata.csv").write_text(head + "\n".join(rows) + "\n")
    return root


def utkface(root):
    names = (
        "25_0_2_20170116174525125.jpg.chip.jpg",
        "61_1_20170109142408075.jpg.chip.jpg",
        "1_1_0_20161219140623097.jpg",
    )
    for number, name in enumerate(names):
        put(root / "part1" / name, 60 * number)
    return root


def ffhq(root, labelled=True):
    for number in (0, 1, 2, 1000):
        put(root / "thumbnails128x128" / f"{number // 1000 * 1000:05d}" / f"{number:05d}.png", number % 251)
    if labelled:
        (root / "labels.csv").write_text("id,subject,glasses\n2,ada,1\n00000,ada,0\n1000.png,,1\n77,eve,0\n")
    return root


def coco(root, part="train2014", captions=True):
    """Six pictures of 24 x 16, of which 5 is missing; file 9 is in no table. Dogs on 1, 2, 4; a frisbee on 2; one cat each.

    Captions call people on 1 man, 2 woman, 3 both, 4 men, 6 nobody ("manner" and "mankind" are no man).
    """
    for number in (1, 2, 3, 4, 6, 9):
        put(root / part / f"COCO_{part}_{number:012d}.png", 20 * number, (24, 16))
    images = [{"id": number, "file_name": f"COCO_{part}_{number:012d}.png"} for number in range(1, 7)]
    kinds = [(1, "person"), (18, "dog"), (34, "frisbee"), (17, "cat"), (90, "dining table")]
    there = [(1, 1), (1, 18), (1, 18), (2, 18), (4, 18), (2, 34), (5, 90)] + [(number, 17) for number in range(1, 7)]
    content = {
        "images": images,
        "annotations": [{"image_id": image, "category_id": kind} for image, kind in there],
        "categories": [{"id": number, "name": name} for number, name in kinds],
    }
    (root / "annotations").mkdir(exist_ok=True)
    (root / "annotations" / f"instances_{part}.json").write_text(json.dumps(content))
    said = [(1, "A Man throws."), (1, "A person."), (2, "A WOMAN and a dog"), (3, "a man, a woman"), (4, "two men")]
    said += [(6, "in a manner of mankind"), (77, "a man")]
    if captions:
        rows = [{"image_id": image, "caption": text} for image, text in said]
        (root / "annotations" / f"captions_{part}.json").write_text(json.dumps({"annotations": rows}))
    return root


def imsitu(root):
    """Train: cooking_1 (man, man, man), cooking_2 (woman, empty, man), fixing_3 (woman); dev: fixing_4 (dog); test: 5.

    fixing_5 has no picture, and feeding_8 no row.
    """
    agents = {
        "train": {"cooking_1": ["n1", "n1", "n1"], "cooking_2": ["n2", "", "n1"], "fixing_3": ["n2", "n2", "n2"]},
        "dev": {"fixing_4": ["n3", "n3", "n3"]},
        "test": {"fixing_5": ["n1", "n1", "n1"]},
    }
    for part, pictures in agents.items():
        rows = {
            f"{name}.png": {"verb": name.split("_")[0], "frames": [{"agent": one, "place": "n4"} for one in said]}
            for name, said in pictures.items()
        }
        (root / f"{part}.json").write_text(json.dumps(rows))
    nouns = {"n1": ["man", "adult male"], "n2": ["woman", "adult female"], "n3": ["dog"], "n4": ["kitchen"]}
    (root / "imsitu_space.json").write_text(json.dumps({"nouns": {k: {"gloss": v} for k, v in nouns.items()}}))
    for number, name in enumerate(("cooking_1", "cooking_2", "fixing_3", "fixing_4", "feeding_8")):
        put(root / "of500_images_resized" / f"{name}.png", 30 * number)
    return root
