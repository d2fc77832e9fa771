"""What a folder of other settings says: each setting by its option, what it was and is, and what to do."""

import pytest

from transect.runs.spec_changes import in_plain_words

SPEC = {
    "design": {"seed": 0, "subjects": 5, "levels": [{"attribute": "glasses", "values": [0.0, 1.0]}]},
    "generator": {"name": "faceworld", "image_size": 32},
    "limits": {"timeout": 10.0, "batch": 16},
    "targets": [
        {
            "name": "m:ok",
            "slug": "m-ok",
            "outcomes": ["answer", "score"],
            "truth": None,
            "description": {"code_sha256": "a" * 64, "threshold": 0.5, "library": "ONNX 1", "files": {"w": "b" * 64}},
        }
    ],
    "subjects_per_part": 128,
    "readings": [{"attribute": "glasses"}],
    "versions": {"numpy": "2.1"},
}


def changed(**places):
    """The spec with values at places: a name with __ between."""
    import copy

    spec = copy.deepcopy(SPEC)
    for place, value in places.items():
        *path, last = place.split("__")
        inner = spec
        for key in path:
            inner = inner[int(key) if key.isdigit() else key]
        inner[last] = value
    return spec


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"design__seed": 4}, "--seed was 0 and is 4"),
        ({"design__levels": [], "readings": []}, "--vary was glasses=0,1 and is not given"),
        ({"targets": []}, "the models was m:ok and is not given"),
    ],
)  # fmt: skip
def test_a_setting_that_was_another(places, words):
    assert in_plain_words(SPEC, changed(**places)) == f"{words}: choose another --out, or give what was given before"


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"targets__0__description__code_sha256": "c" * 64}, "the code of m:ok has changed"),
        ({"targets__0__description__library": "ONNX 2"}, "the library of m:ok was 'ONNX 1' and is 'ONNX 2'"),
    ],
)
def test_a_model_that_changed(places, words):
    assert in_plain_words(SPEC, changed(**places)) == f"{words}: choose another --out, or put the model back"
