"""What a page says responds to what was set: a camera's exposure only where it meters."""

import pytest
from report_factory import make_results

from transect.reports.results import read
from transect.reports.summary import what_responds

PHOTOGRAPHS = {"name": "photographs:folder:faces", "pictures_sha256": "0", "camera": {"version": 1}}
FACEWORLD = {"name": "faceworld", "camera": {"maximum_gain": 4.0}}
PAINTED = {"name": "diffusers:a.toml", "pictures_sha256": "0"}


def entry(generator, **levels):
    study = read(make_results()).studies[0]
    known = study.attributes[0]
    varied = [known.model_copy(update={"name": name, "levels": values}) for name, values in levels.items()]
    return study.model_copy(update={"attributes": varied, "spec": {**study.spec, "generator": generator}})


@pytest.mark.parametrize(
    ("generator", "levels", "said"),
    [
        (PHOTOGRAPHS, {"exposure": [0.0, 1.0]}, "nothing responds to what is set on a photograph"),
        (PHOTOGRAPHS, {"skin_tone": [2.0, 8.0]}, "the camera's exposure is held"),
        (PHOTOGRAPHS, {"skin_tone": [2.0, 8.0], "metering": [0.0]}, "the camera's exposure is held"),
        (PHOTOGRAPHS, {"skin_tone": [2.0, 8.0], "metering": [0.0, 1.0]}, "where it meters, the camera's exposure"),
        (FACEWORLD, {"skin_tone": [2.0, 8.0]}, "as the camera's exposure does"),
        (FACEWORLD, {"glasses": [0.0, 1.0]}, "model responds; all else"),
        (PAINTED, {"skin_tone": [2.0, 8.0]}, "model responds; all else"),
    ],
)
def test_the_camera_is_named_only_where_it_responds(generator, levels, said):
    assert said in what_responds(entry(generator, **levels))
