"""Which photographs are used: orientation, color modes and sizes as they should be, the rest counted by reason."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from photograph_folders import label, pictures, save
from PIL import Image

from transect.datasets.labelled import BROKEN
from transect.errors import BadInput
from transect.generators.photographs import subjects
from transect.generators.photographs.subjects import HUGE, TINY, Subjects


def test_corrupt_tiny_and_huge_photographs_are_counted_by_reason(tmp_path, monkeypatch):
    place = save(tmp_path / "faces", pictures(4))
    Image.fromarray(pictures(1)[0]).save(place / "whole.jpg")
    half = (place / "whole.jpg").read_bytes()
    (place / "whole.jpg").write_bytes(half[: len(half) // 2])
    (place / "text.png").write_text("no picture")
    Image.new("RGB", (31, 400)).save(place / "thin.png")
    Image.new("RGB", (120, 120)).save(place / "large.png")
    monkeypatch.setattr(subjects, "LARGEST", 10_000)
    found = Subjects.open(f"folder:{place}", 48)
    assert found.left_out == {BROKEN: 2, TINY: 1, HUGE: 1}
    assert len(found) == 4
    assert list(found.notes())[:3] == [
        f"Left out, {BROKEN}: 2 (text.png, whole.jpg).",
        f"Left out, {HUGE}: 1 (large.png).",
        f"Left out, {TINY}: 1 (thin.png).",
    ]
    with pytest.raises(BadInput, match=r"at most 4 photographs, all that are usable \(left out, unread"):
        found.check(5)


def test_nothing_usable_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"no images \(.avif.*\); check the path, or add images"):
        Subjects.open(f"folder:{tmp_path / 'empty'}")
    place = save(tmp_path / "small", pictures(2, 16))
    with pytest.raises(BadInput, match=rf"folder:small: no usable photographs \(2 {TINY}\)"):
        Subjects.open(f"folder:{place}")


def test_exif_rotation_is_undone(tmp_path):
    place = tmp_path / "turned"
    place.mkdir()
    upright = pictures(1, 64)[0][:, :48]
    exif = Image.Exif()
    exif[0x0112] = 6  # to be shown turned by a quarter clockwise
    Image.fromarray(np.ascontiguousarray(np.rot90(upright))).save(place / "a.png", exif=exif)
    found = Subjects.open(f"folder:{place}")
    assert (found.looks[0].width, found.looks[0].height) == (48, 64)
    assert np.array_equal(found.picture(0), upright)


def test_grey_cmyk_palettes_and_16_bits_become_srgb(tmp_path):
    place = tmp_path / "modes"
    place.mkdir()
    picture = Image.fromarray(pictures(1, 64)[0])
    picture.convert("L").save(place / "a-grey.png")
    picture.convert("CMYK").save(place / "b-cmyk.jpg", quality=95)
    picture.convert("P").save(place / "c-palette.png")
    Image.fromarray(np.asarray(picture.convert("L")).astype(np.uint16) * 257).save(place / "d-deep.png")
    found = Subjects.open(f"folder:{place}")
    shown = [found.picture(row) for row in range(4)]
    assert all(each.shape == (64, 64, 3) and each.dtype == np.uint8 for each in shown)
    assert (shown[0] == shown[0][:, :, :1]).all()
    assert np.abs(shown[1].astype(int) - np.asarray(picture)).mean() < 6
    assert np.array_equal(shown[3], shown[0])


def test_a_photograph_is_resized_once_by_area_means(tmp_path):
    whole = pictures(1, 200)[0][:, :150]
    place = save(tmp_path / "large", np.ascontiguousarray(whole[None]))
    small = Subjects.open(f"folder:{place}", 50).picture(0)
    assert small.shape == (50, 38, 3)
    assert np.array_equal(small, cv2.resize(whole, (38, 50), interpolation=cv2.INTER_AREA))
    cut = Subjects.open(f"folder:{place}?crop=center", 75).picture(0)
    blocks = whole[25:175].reshape(75, 2, 75, 2, 3).mean(axis=(1, 3))
    assert np.abs(cut - blocks).max() <= 0.51


def test_noise_comes_from_the_file_and_not_from_its_place(tmp_path):
    first, second = save(tmp_path / "a", pictures(3)), save(tmp_path / "b", pictures(3)[::-1])
    one, other = Subjects.open(f"folder:{first}"), Subjects.open(f"folder:{second}")
    assert [one.key(row) for row in range(3)] == [other.key(row) for row in (2, 1, 0)]
    assert len({one.key(row) for row in range(3)}) == 3


def test_copies_are_told_by_their_pixels_and_people_who_are_not_known_are_noted(tmp_path):
    shown = pictures(3)
    place = save(tmp_path / "faces", shown)
    Image.fromarray(shown[0]).save(place / "zz_copy.bmp")  # other bytes, the same pixels
    found = Subjects.open(f"folder:{place}", 48)
    assert found.copies() == ("zz_copy.bmp = p000.png",)
    assert "in a column subject of the table of labels" in " ".join(found.notes())
    told = label(save(tmp_path / "told", shown), [f"p{row:03d}.png,a{row // 2},1" for row in range(3)])
    known = Subjects.open(f"folder:{told}", 48)
    assert (known.copies(), list(known.notes())) == ((), [])
