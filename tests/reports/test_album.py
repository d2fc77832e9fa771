"""Which pictures are shown, at what size, with which boxes and words."""

import io

from PIL import Image
from report_factory import example, make_gallery, make_results, noise_png
from report_reader import SVG, classes, parse

from transect.reports import Gallery, Strip, build
from transect.reports.album import any_reduced, choose, reduced

CELL = {"skin_tone": 1.0, "light_level": 0.0, "glasses": 0.0}


def test_a_large_picture_is_reduced_and_said_to_be():
    png = noise_png(1, 400, 200)
    with Image.open(io.BytesIO(reduced(png))) as small:
        assert small.size == (160, 80)
    gallery = Gallery((Strip("large", (example(1, CELL, png=png),)),))
    assert any_reduced(gallery)
    assert not any_reduced(make_gallery())


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
