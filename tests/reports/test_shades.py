"""Maps and bars lie where their numbers put them, and say in words what they show."""

import re

from transect.reports.drawing.maps import DEEPEST, MAP_HEIGHT, Field, Frame, heat_map


def attributes(text, pattern):
    return [dict(re.findall(r'([\w-]+)="([^"]*)"', tag)) for tag in re.findall(pattern, text)]


def test_rows_of_a_map_go_upwards_and_shades_follow_the_share():
    fields = [[Field("0/4", 0.0), Field("–", None)], [Field("1/4", 0.25), Field("4/4", 1.0)]]
    text = str(heat_map("m", "Failures <of> calls", fields, [Frame(0.5, 1.0, 0.5, 1.0)], (), ()))
    boxes = attributes(text, r'<rect class="map-field[^>]*>')
    assert [(box["x"], float(box["y"])) for box in boxes] == [
        ("0%", MAP_HEIGHT / 2),
        ("50%", MAP_HEIGHT / 2),
        ("0%", 0.0),
        ("50%", 0.0),
    ]
    assert [float(box["fill-opacity"]) for box in boxes] == [0.0, 0.0, DEEPEST / 4, DEEPEST]
    (frame,) = attributes(text, r'<rect class="map-frame[^>]*>')
    assert (frame["x"], frame["width"], float(frame["y"]), float(frame["height"])) == (
        "50%",
        "50%",
        0.0,
        MAP_HEIGHT / 2,
    )
    assert "Failures &lt;of&gt; calls</title>" in text
    assert "The deepest shade lies in the upper right quarter.</desc>" in text
