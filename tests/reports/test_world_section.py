"""What a report says of the world: every varied attribute with its figure, or that none was measured."""

import pytest
from report_factory import make_results
from report_reader import plain_text

from transect.errors import BadInput
from transect.reports.document import Document
from transect.reports.records import Gallery
from transect.reports.results import complete, read
from transect.reports.summary import describe_world


def described(**changes):
    results = make_results()
    results["world"] |= changes
    return describe_world(Document(complete(read(results), Gallery(), Gallery())))


def test_readings_are_told_with_interval_number_and_what_shows_them():
    assert [plain_text(sentence) for sentence in described().readings] == [
        "skin tone: it explains a share of 0.973 of the variance (interval 0.963 to 0.983; 4,000 images; seen in every "
        "picture).",
        "light level: it explains a share of 0.401 of the variance (interval 0.391 to 0.411; 4,000 images; seen in every "
        "picture).",
        "glasses: it separates levels with an area under the ROC curve of 0.94 (interval 0.93 to 0.95; 4,000 images; "
        "seen in every picture), below the required 0.95.",
        "smile: not measured for renderer version 9",
    ]


def test_light_and_people():
    world = described()
    assert plain_text(world.light) == (
        "Lighting compared with photographs (5,000 subjects; luminances of parts of the face, by fifth of cheek luminance): 83 "
        "of 90 medians lie between the photographs’ quartiles, 0 beyond what nine in ten photographs show; the "
        "smallest share of faces within the latter is 0.713; the smallest fifth has 435 faces."
    )
    assert "the ROC curve of 0.961 (interval 0.951 to 0.97; 500 people)" in plain_text(world.people)


def test_what_was_not_measured_says_so():
    world = described(photometry=None, identity=None, readings=[])
    assert plain_text(world.light) == "Lighting compared with photographs: not measured."
    assert plain_text(world.people) == "How well its people can be distinguished: not measured."
    assert world.readings == ()
    few = make_results()["world"]["photometry"] | {"share_inside": None}
    assert "within the latter is not estimable" in plain_text(described(photometry=few).light)


def test_a_share_beyond_one_is_refused():
    with pytest.raises(BadInput, match=r"world\.photometry\.share_inside"):
        described(photometry=make_results()["world"]["photometry"] | {"share_inside": 1.2})


def figure(value, n=40):
    return {"value": value, "low": value, "high": value, "n": n}


def test_models_from_outside_stand_in_a_table_and_the_others_are_named():
    readings = make_results()["world"]["readings"]
    one = {"reader": "happy.toml", "unit": "", "image_size": 128}
    one |= {"auc": figure(0.91), "correlation": figure(0.62), "slope": figure(0.4)}
    seen = {"photographs": "celeba:data", "label": "Smiling", "photographs_auc": figure(0.98)}
    seen |= {"photographs_correlation": figure(0.8), "photographs_slope": figure(0.7)}
    readings[3]["outside"] = [one | seen]
    results = make_results()
    results["world"]["readings"] = readings
    document = Document(complete(read(results), Gallery(), Gallery()))
    world = describe_world(document)
    lines = [(line.attribute, plain_text(line.reader), plain_text(line.images)) for line in world.outside]
    assert lines == [
        ("smile", "happy.toml", "rendered, 128 pixels"),
        ("smile", "happy.toml", "celeba:data, Smiling"),
    ]
    assert [document.value(f"{line.figures[0]}/value") for line in world.outside] == [0.91, 0.98]
    assert world.only == "skin tone, light level, glasses"
