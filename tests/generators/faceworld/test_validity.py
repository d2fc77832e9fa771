"""When is the photometry validated? Only where the shipped figures are of this renderer and every condition holds."""

from __future__ import annotations

import pytest

from transect.generators.faceworld.renderer import RENDERER_VERSION
from transect.generators.faceworld.validity import shipped_facts, shortcomings, validity_of
from transect.generators.faceworld.world import FaceWorld


def facts(version="7", **changes):
    """Figures that hold every condition exactly at its edge, with some of them changed."""
    photometry = {
        "subjects": 5000,
        "medians_inside": 81,
        "medians_outside": [],
        "share_inside": 0.70,
        "faces_per_fifth": [900, 1500, 1200, 1000, 200],
        "darkest_cheek": 0.16,
    }
    row = {"role": "attribute", "figure": "r2", "value": 0.97, "low": 0.96, "high": 0.98, "n": 4000}
    return {
        "renderer_version": version,
        "photometry": photometry | changes,
        "identity": {"value": 0.96, "low": 0.95, "high": 0.97, "n": 500, "gate": 0.95},
        "attributes": [
            {"attribute": "skin_tone", **row},
            {"attribute": "yaw", **row, "role": "nuisance"},
            {"attribute": "identity.nose_tip", **row, "role": "identity"},
        ],
    }


def test_matching_figures_that_hold_validate():
    validity = validity_of(facts(), "7")
    assert validity["photometry_validated"] is True
    assert (
        "is validated against photographs (renderer version 7, 5,000 subjects: 81 of 90 medians"
        in validity["statement"]
    )
    assert "\n" not in validity["statement"]
    assert validity["photometry"] == {
        "subjects": 5000,
        "medians": 90,
        "medians_inside": 81,
        "medians_outside": 0,
        "share_inside": 0.70,
        "fewest_of_a_fifth": 200,
    }
    assert validity["identity"] == {"value": 0.96, "low": 0.95, "high": 0.97, "n": 500}
    assert list(validity["readings"]) == ["skin_tone", "yaw"], "traits of identity are no attributes"


def test_figures_of_another_version_say_nothing():
    validity = validity_of(facts("6"), "7")
    assert validity["photometry_validated"] is False
    assert "figures are for renderer version 6, the pictures of version 7" in validity["statement"]
    assert (validity["photometry"], validity["identity"], validity["readings"]) == (None, None, {})
    assert validity["not_measured"] == "not measured for renderer version 7: figures are for renderer version 6"


@pytest.mark.parametrize(
    ("missed", "words"),
    [
        ({"subjects": 4999}, "4,999 subjects were measured (wanted 5,000)"),
        ({"medians_inside": 80}, "80 of 90 medians lie between the photographs' quartiles (wanted 81)"),
        ({"medians_outside": [[0, "chin"]]}, "1 medians lie beyond the photographs' 5 to 95 % (wanted 0)"),
        ({"share_inside": 0.6999}, "the smallest share of faces within their 5 to 95 % is 0.70 (wanted 0.70)"),
        ({"faces_per_fifth": [900, 199, 900, 900, 900]}, "a fifth has 199 measured faces (wanted 200)"),
        ({"darkest_cheek": 0.15}, "the median cheek luminance of the darkest tones is 0.15 (wanted 0.16)"),
    ],
)
def test_one_missed_condition_is_named(missed, words):
    validity = validity_of(facts(**missed), "7")
    assert validity["photometry_validated"] is False
    assert words in validity["statement"]
    assert shortcomings(facts(**missed)["photometry"])
    assert len(shortcomings(facts(**missed)["photometry"])) == 1
    assert validity["photometry"] is not None, "a figure that misses its condition is still told"


def test_the_world_says_what_its_shipped_figures_say():
    validity = FaceWorld(image_size=32).validity()
    assert validity == validity_of(shipped_facts(), RENDERER_VERSION)
    shipped = shipped_facts()
    if shipped.get("renderer_version") == RENDERER_VERSION:
        assert validity["photometry_validated"] == (not shortcomings(shipped["photometry"]))
