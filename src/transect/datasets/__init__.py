"""Readers of data sets: each knows one layout, and returns LabelledImages, a world whose attributes cannot be set."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import parse_qsl

from transect.datasets import coco, face_sets, folder, imsitu, parquet
from transect.datasets.files import Crop
from transect.datasets.labelled import LabelledImages, Request
from transect.errors import BadInput, UnknownName

__all__ = ["READERS", "Crop", "LabelledImages", "Reader", "is_dataset", "open_dataset", "options_of"]

OPTIONS: Final = ("crop", "split", "limit")


class Reader(NamedTuple):
    """How one kind of data set is read, its layout in a line, and the names of its parts."""

    read: Callable[[Path, Request], LabelledImages]
    layout: str
    parts: str = ""


READERS: Final = {
    "folder": Reader(folder.read, "images and one CSV or Parquet: file, subject, a column per attribute"),
    "celeba": Reader(
        face_sets.read_celeba, "img_align_celeba/, list_attr_celeba, identity_CelebA", "train, valid, test"
    ),
    "celeba-hq": Reader(face_sets.read_hq, "CelebA-HQ-img/, CelebAMask-HQ-attribute-anno.txt, mapping to CelebA"),
    "ffhq": Reader(
        face_sets.read_ffhq, "images1024x1024/ or thumbnails128x128/, labels.csv if any", "training, validation"
    ),
    "fairface": Reader(
        face_sets.read_fairface, "fairface_label_train.csv, fairface_label_val.csv, train/, val/", "train, val"
    ),
    "utkface": Reader(face_sets.read_utkface, "age_gender_race_date.jpg"),
    "ppb": Reader(face_sets.read_ppb, "imgs/, PPB-2017-metadata.csv: filename, country, gender, skin types"),
    "coco": Reader(coco.read, "train2014/, annotations/instances_train2014.json, captions_…", "train2014, val2014, …"),
    "imsitu": Reader(imsitu.read, "of500_images_resized/, train.json, imsitu_space.json", "train, dev, test"),
    "parquet": Reader(parquet.read, "image as struct {bytes, path}: Hugging Face, render --data-set", "names of files"),
}


def is_dataset(source: object) -> bool:
    """Whether it is the text of a data set, READER:PATH, and not the path of a file or folder.

    >>> is_dataset("coco:data"), is_dataset("labels.csv"), is_dataset("coco:")
    (True, False, False)
    """
    reader, colon, path = source.partition(":") if isinstance(source, str) else ("", "", "")
    return bool(colon and path) and reader in READERS and not Path(str(source)).exists()


def open_dataset(
    text: str,
    *,
    image_size: int | None = None,
    crop: Crop | str | None = None,
    split: str | None = None,
    limit: int | None = None,
    labelled: bool = True,
    max_unreadable: int | None = None,
    strict: bool = True,
) -> LabelledImages:
    """The data set that READER:PATH names, e.g. folder:faces or celeba:data?split=test&crop=148&limit=2000.

    image_size: side of the square that images are fitted into where they have several sizes (default 128). crop: what
    is cut out of each before: center, SIDE or SIDE@X,Y in pixels. split: a part, by the data set's own name. limit: at
    most this many rows, drawn by a fixed seed. labelled: refuse a data set without an attribute. max_unreadable: decode
    every image first, leave out those that cannot be read, and refuse more than this. strict: refuse the first whose
    header is broken, where a folder's table names it; else count it. Options after `?` in the text take precedence.
    See the how-to on auditing photographs and on data sets.
    """
    reader, colon, rest = text.partition(":")
    path, options = options_of(rest)
    if not colon or not path:
        raise BadInput(f"--dataset {text!r}: expected READER:PATH, for example folder:faces")
    if reader not in READERS:
        raise UnknownName("reader", reader, READERS, hint="a data set is READER:PATH; see: transect list datasets")
    cut = options.get("crop", crop)
    request = Request(
        image_size=image_size,
        labelled=labelled,
        max_unreadable=max_unreadable,
        crop=Crop.parse(cut) if isinstance(cut, str) else cut,
        split=options.get("split", split),
        limit=_whole(options["limit"]) if "limit" in options else limit,
        strict=strict,
    )
    return READERS[reader].read(Path(path), request)


def options_of(rest: str) -> tuple[str, dict[str, str]]:
    """The path, and the options after a question mark. Raises UnknownName for another option."""
    path, mark, query = rest.rpartition("?")
    if not mark or "=" not in query or Path(rest).exists():  # a folder may be called so
        return rest, {}
    options: dict[str, str] = {}
    for name, value in parse_qsl(query, keep_blank_values=True):
        if name not in OPTIONS:
            raise UnknownName("option of a data set", name, OPTIONS, "as in celeba:data?split=test")
        options[name] = value
    return path, options


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise BadInput(f"limit: expected a whole number of rows, got {text!r}") from None
