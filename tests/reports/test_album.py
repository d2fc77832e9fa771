"""Which pictures are shown, at what size, with which boxes and words."""

import io

import numpy as np
import pytest
from PIL import Image
from report_factory import HOG, example, make_gallery, make_results, noise_png
from report_reader import SVG, classes, parse, text_of

from transect.errors import BadInput
from transect.reports import Example, Gallery, Strip, build
from transect.reports.album import any_reduced, choose, reduced

CELL = {"skin_tone": 1.0, "light_level": 0.0, "glasses": 0.0}


def test_a_small_picture_is_shown_as_it_is():
    png = noise_png(1, 160, 120)
    assert reduced(png) == png


def test_a_large_picture_is_reduced_and_said_to_be():
    png = noise_png(1, 400, 200)
    with Image.open(io.BytesIO(reduced(png))) as small:
        assert small.size == (160, 80)
    gallery = Gallery((Strip("large", (example(1, CELL, png=png),)),))
    assert any_reduced(gallery)
    assert "Pictures are reduced in size" in build(make_results(), gallery)
    assert "Pictures are reduced in size" not in build(make_results(), make_gallery())


def test_boxes_are_in_pixels_of_the_image_that_the_target_saw():
    seen = example(
        1, CELL, png=noise_png(1, 400, 200), boxes=((100.0, 50.0, 200.0, 150.0),), expected_box=(90, 40, 210, 160)
    )
    tree = parse(build(make_results(), Gallery((Strip("large", (seen,)),))))
    overlay = next(svg for svg in tree.iter(f"{SVG}svg") if "overlay" in classes(svg))
    assert overlay.get("viewBox") == "0 0 400 200"
    drawn = {rect.get("class"): [float(rect.get(k)) for k in ("x", "y", "width", "height")] for rect in overlay}
    # x1 - x0 = 100 and y1 - y0 = 100; the expected one 120 by 120
    assert drawn["box"] == [100, 50, 100, 100]
    assert drawn["expected"] == [90, 40, 120, 120]


def test_words_under_and_instead_of_a_picture():
    tree = parse(build(make_results(), make_gallery()))
    shots = [figure for figure in tree.iter("figure") if "shot" in classes(figure)]
    words = [
        (next(shot.iter("img")).get("alt"), text_of(shot.find("figcaption")).split(), classes(shot)) for shot in shots
    ]
    alternative, under, _ = words[0]
    assert alternative == (
        "Face of subject 1005, skin tone 1, light level −2, glasses off. Answer of "
        "opencv:haarcascade_frontalface_default: found, score 3.2; the detected boxes are drawn."
    )
    # within the strip only the skin tone varies; the rest stands above it
    assert under == ["skin", "tone", "1", "found,", "score", "3.2"]
    assert ["wrong" in names for _, _, names in words[:5]] == [False, False, False, True, True]
    failed = [(alt, names) for alt, _, names in words if "failed" in names]
    assert len(failed) == 1
    assert f"Answer of {HOG}: timeout after 10 s (no valid answer)" in failed[0][0]


def test_choose_keeps_whole_strips_and_room_for_failures():
    strips = tuple(Strip(f"{i}", tuple(example(i, CELL) for _ in range(3))) for i in range(10))
    failures = tuple(example(i, CELL) for i in range(30))
    budget = 1_000_000
    shown = choose(Gallery(strips, failures, 77), budget)
    assert 0 < len(shown.strips) < 10
    assert 0 < len(shown.failures) < 30
    assert shown.total == 77
    size = sum(len(e.png) for s in shown.strips for e in s.examples) + sum(len(e.png) for e in shown.failures)
    assert size * 4 / 3 < budget
    # two fifths of the room are the failures'
    assert sum(len(e.png) for e in shown.failures) * 4 / 3 > 0.3 * budget


def test_records_refuse_what_is_not_an_image():
    with pytest.raises(BadInput, match="expected a PNG image"):
        example(1, CELL, png=b"GIF89a<script>")
    with pytest.raises(BadInput, match="at least one example"):
        Strip("empty", ())
    with pytest.raises(BadInput, match="one study and one target"):
        Strip("mixed", (example(1, CELL), example(1, CELL, HOG)))


def test_size_is_read_from_the_header():
    png = noise_png(0, 31, 17)
    assert Example("s", "t", 1, {}, png, "yes").size == (31, 17)
    assert np.asarray(Image.open(io.BytesIO(png))).shape == (17, 31, 3)
