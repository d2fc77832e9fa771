import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transect.effects import Truth
from transect.effects.outcomes import truths_of
from transect.errors import BadInput
from transect.records import Attribute

SMILE = Attribute("smile", "continuous", "smiles")
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
KNOWN = {"smile": SMILE, "glasses": GLASSES}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("smile>0.5", [0, 0, 1]),
        ("smile >= 0.5", [0, 1, 1]),
        ("smile<0.5", [1, 0, 0]),
        ("smile<=.5", [1, 1, 0]),
        ("smile==0.5", [0, 1, 0]),
        ("smile!=0.5", [1, 0, 1]),
        ("smile<5e-1", [1, 0, 0]),
        (" smile ", [0.2, 0.5, 0.9]),
        ("face", [1, 1, 1]),
    ],
)
def test_every_comparison(text, expected):
    np.testing.assert_array_equal(Truth.parse(text, KNOWN).of({"smile": [0.2, 0.5, 0.9]}), expected)


HAT = Attribute("hat", "categorical", "hat", levels=("none", "cap", "brimmed hat"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("hat", [0, 1, 1]), ("hat==brimmed hat", [0, 0, 1]), ("hat != none ", [0, 1, 1]), ("hat==1", [0, 1, 0])],
)
def test_of_levels_that_begin_with_none_any_other_is_yes(text, expected):
    truth = Truth.parse(text, {"hat": HAT})
    np.testing.assert_array_equal(truth.of({"hat": [0.0, 1.0, 2.0]}), expected)
    assert truth.text == text.strip()


@pytest.mark.parametrize("text", ["", "smile>", ">0.5", "smile=0.5", "smile>0.5>1", "0.5<smile", "smile 0.5", "a b"])
def test_malformed(text):
    with pytest.raises(
        BadInput, match=r"expected an attribute, or an attribute compared with a value; write for example"
    ):
        Truth.parse(text, KNOWN)


@pytest.mark.parametrize("value", ["high", "nan", "inf", "__import__('os')", "1+1"])
def test_the_value_must_be_a_finite_number_and_is_never_evaluated(value):
    with pytest.raises(BadInput, match="expected a finite number"):
        Truth.parse(f"smile>{value}", KNOWN)


@settings(deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1), st.floats(-5, 5))
def test_a_comparison_and_its_opposite_add_up_to_one(values, threshold):
    above, below = Truth.parse(f"smile>{threshold!r}"), Truth.parse(f"smile<={threshold!r}")
    np.testing.assert_array_equal(above.of({"smile": values}) + below.of({"smile": values}), 1.0)


AGE = Attribute("age", "continuous", "apparent age", low=20, high=80)
HAIR = Attribute("hair", "categorical", "hair style", levels=("bald", "bun", "long"))


@pytest.mark.parametrize(
    ("text", "attribute", "means", "label"),
    [
        ("smile>0.5", SMILE, [0.2, 0.8], [0, 1]),
        # at 32 the label of age < 30 is no, though it lies low on the scale
        ("smile>0.5", None, [0.2, np.nan], [0, np.nan]),
        ("age<30", AGE, [20, 32, 65], [1, 0, 0]),
        # the majority of an image's raters; a tie is no label
        ("glasses", GLASSES, [0.25, 0.5, 1], [0, np.nan, 1]),
        ("glasses", None, [0.25, 0.75], [0, 1]),
        ("glasses==on", GLASSES, [0.25, 0.75], [0, 1]),
        ("glasses==off", GLASSES, [0.25, 0.75], [1, 0]),
        ("glasses!=off", GLASSES, [0.25, 0.75], [0, 1]),
        ("glasses!=on", GLASSES, [0.25, 0.75], [1, 0]),
        # the level seen
        ("hair==bun", HAIR, [1, 2, np.nan], [1, 0, np.nan]),
        ("hair!=bun", HAIR, [1, 2], [0, 1]),
        # no label: a number as the truth, ratings beyond two levels
        ("age", AGE, [30], []),
        ("smile>0.5", SMILE, [4], [1]),
        ("glasses", GLASSES, [3], []),
    ],
)
def test_the_truth_as_raters_saw_it(text, attribute, means, label):
    known = None if attribute is None else {attribute.name: attribute}
    found = Truth.parse(text, known).as_rated(np.array(means, dtype=float), attribute)
    np.testing.assert_allclose(found, label)


NAMED = ["a:b", "a:b=c", "m<0.1>"]


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        ([], {}),
        (["face"], dict.fromkeys(NAMED, "face")),
        (["a:b=glasses==1"], {"a:b": "glasses==1"}),
        (["a:b=c=face"], {"a:b=c": "face"}),
        (["m<0.1>=smile>=0.5", "face"], {"a:b": "face", "a:b=c": "face", "m<0.1>": "smile>=0.5"}),
    ],
)
def test_a_truth_is_of_all_targets_or_of_one(texts, expected):
    assert {name: truth.text for name, truth in truths_of(texts, NAMED).items()} == expected


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["face", "smile>0.5"], "expected one truth for all targets, got 'face' and 'smile>0.5'"),
        (["a:b=face", "a:b=smile"], "expected one truth for target a:b, got 'face' and 'smile'"),
        (["glasses=1"], "unknown target 'glasses': .*; to compare, write ==, as 'glasses==1'"),
    ],
)
def test_truths_that_contradict_each_other_or_are_of_no_target(texts, message):
    with pytest.raises(BadInput, match=message):
        truths_of(texts, NAMED)
