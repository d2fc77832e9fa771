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
        ({"design__subjects": 6, "subjects_per_part": 99}, "--subjects or --images was 5 and is 6"),
        ({"design__levels": [], "readings": []}, "--vary was glasses=0,1 and is not given"),
        ({"generator__image_size": 64}, "--size was 32 and is 64"),
        ({"limits__timeout": 2.5}, "--timeout was 10 and is 2.5"),
        ({"versions__numpy": "2.2"}, "the version of numpy was '2.1' and is '2.2'"),
        ({"targets__0__truth": {"text": "smile>0.5"}}, "--truth of m:ok was not given and is 'smile>0.5'"),
        ({"targets__0__outcomes": ["miss"]}, "--outcome of m:ok was answer, score and is miss"),
        ({"targets__0__description__threshold": 0.7}, "--threshold of m:ok was 0.5 and is 0.7"),
        ({"targets": []}, "the models was m:ok and is not given"),
        ({"other": {"some_thing": 3}}, "other was not given and is {'some_thing': 3}"),
        ({"subjects_per_part": 99}, "subjects per part was 128 and is 99"),  # nothing else differs
    ],
)  # fmt: skip
def test_a_setting_that_was_another(places, words):
    assert in_plain_words(SPEC, changed(**places)) == f"{words}: choose another --out, or give what was given before"


@pytest.mark.parametrize(
    ("places", "words"),
    [
        (
            {"design__subjects": 4, "generator__images": 4, "generator__subjects": 3, "generator__left_out": {"rows beyond the limit": 1}},
            "the number of photographs was 5 and is 4; the number of rows beyond the limit left out was 0 and is 1",
        ),
        ({"generator__name": "folder:b", "design__population": "folder:b"}, "--dataset was 'folder:a' and is 'folder:b'"),
    ],
)  # fmt: skip
def test_photographs_are_called_so(places, words):
    facts = {"generator__name": "folder:a", "generator__labels_sha256": "c" * 64, "generator__left_out": {}}
    stored = changed(**facts, design__population="folder:a")
    told = in_plain_words(stored, changed(**{**facts, "design__population": "folder:a", **places}))
    assert told == f"{words}: choose another --out, or give what was given before"


@pytest.mark.parametrize(
    ("places", "words"),
    [
        ({"targets__0__description__code_sha256": "c" * 64}, "the code of m:ok has changed"),
        ({"targets__0__description__files__w": "c" * 64}, "a file of m:ok has changed"),
        ({"targets__0__description__library": "ONNX 2"}, "the library of m:ok was 'ONNX 1' and is 'ONNX 2'"),
    ],
)
def test_a_model_that_changed(places, words):
    assert in_plain_words(SPEC, changed(**places)) == f"{words}: choose another --out, or put the model back"


def test_nothing_differs_where_a_setting_is_none_and_was_not_there():
    assert in_plain_words(SPEC, changed(edits=None)) == ""


def test_at_most_six_are_named_and_the_others_counted():
    told = in_plain_words({f"k{n}": 0 for n in range(9)}, {f"k{n}": 1 for n in range(9)})
    assert told.count(" was 0 and is 1") == 6
    assert "; 3 more settings differ: choose" in told
