"""What the user writes after --vary becomes levels, or one line that says why not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from transect.designs.levels import levels_from, parse_vary
from transect.errors import BadInput, UnknownName
from transect.records import Attribute

TONE = Attribute("skin_tone", "continuous", "tone of the skin", unit="Monk", low=1, high=10)
GLASSES = Attribute("glasses", "binary", "wears glasses", levels=("off", "on"))
STYLE = Attribute("hair_style", "categorical", "style", levels=("straight", "bun", "bald"))
WORLD = (TONE, GLASSES, STYLE)


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("skin_tone=1:10:4", (1.0, 4.0, 7.0, 10.0)),  # steps of (10 - 1) / 3 = 3
        ("skin_tone=7,2", (2.0, 7.0)),  # a continuous attribute is walked upward
        ("skin_tone", (1.0, 3.25, 5.5, 7.75, 10.0)),  # five over the range: steps of 9 / 4
        ("glasses", (0.0, 1.0)),
        ("glasses=on,off", (1.0, 0.0)),  # the order given: the first level is the reference
        ("hair_style=bun,bald", (1.0, 2.0)),
        ("hair_style", (0.0, 1.0, 2.0)),
    ],
)
def test_levels(text, levels):
    (values,) = parse_vary([text], WORLD).values()
    assert values == levels


@pytest.mark.parametrize(
    ("text", "levels"),
    [
        ("skin_tone=little,much", (2.5, 7.0)),  # the ends of the usual levels
        ("skin_tone=little:much:4", (2.5, 4.0, 5.5, 7.0)),
        ("skin_tone=1,much", (1.0, 7.0)),
    ],
)
def test_words_name_the_ends_of_the_usual_levels(text, levels):
    assert parse_vary([text], WORLD, defaults={"skin_tone": (2.5, 3.0, 7.0)})["skin_tone"] == levels


def test_without_usual_levels_the_words_name_the_ends_of_the_range():
    assert parse_vary(["skin_tone=little,much"], WORLD)["skin_tone"] == (1.0, 10.0)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["skin_tone=1-10"], "--vary 'skin_tone=1-10': did you mean skin_tone=1:10:3, three values from 1 to 10?"),
        (["skin_ton"], "unknown attribute 'skin_ton': did you mean skin_tone? See: transect list attributes"),
        (["skin_tone=0:10:3"], "skin_tone: expected between 1 and 10 Monk, got 0; see: transect list attributes"),
        (["skin_tone=1:10:3:4"], "--vary 'skin_tone=1:10:3:4': expected NAME, NAME=LOW:HIGH:COUNT or NAME=A,B,…"),
        (["skin_tone=1:10:1"], "--vary 'skin_tone=1:10:1': expected LOW < HIGH and a COUNT of at least 2"),
        (
            ["skin_tone=1:10:1000000000"],
            "--vary 'skin_tone=1:10:1000000000': expected a COUNT of at most 100,000, got 1,000,000,000; give fewer levels",
        ),
        (["skin_tone=3"], "skin_tone: a comparison needs at least two levels, got 1"),
        (["skin_tone=3,3"], "skin_tone: a level is given twice in 3, 3"),
        (["glasses=0:1:2"], "--vary 'glasses=0:1:2': glasses has levels off, on, not a range"),
        (["glasses=of,on"], "glasses: expected one of off, on, got 'of'"),
        (["glasses", "glasses"], "--vary glasses is repeated: give it once, with all its levels"),
    ],
)
def test_errors_say_what_to_do(texts, message):
    with pytest.raises(BadInput) as error:
        parse_vary(texts, WORLD)
    assert str(error.value) == message


FACES = (
    *WORLD,
    Attribute("face_shape", "continuous", "shape of face"),
    Attribute("facial_hair", "continuous", "beard"),
)
NONE = "does not exist: Transect varies appearance, not identity"


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        *[(name, "face_shape or facial_hair") for name in ("gender", "Gender", "sex", "male")],
        *[(name, "skin_tone or hair_style") for name in ("race", "ethnicity", "ethnic group")],
    ],
)
def test_an_identity_is_answered_by_what_onlookers_see(name, instead):
    for ask in (lambda: parse_vary([name], FACES), lambda: levels_from({name: None}, FACES)):
        with pytest.raises(BadInput) as error:
            ask()
        assert str(error.value) == f"attribute {name!r} {NONE}. Vary {instead} instead; see: transect list attributes"


def test_a_mapping_gives_the_same_levels():
    assert levels_from({"skin_tone": (10, 1), "glasses": None}, WORLD) == {
        "skin_tone": (1.0, 10.0),
        "glasses": (0.0, 1.0),
    }
    with pytest.raises(UnknownName, match="did you mean glasses"):
        levels_from({"glases": None}, WORLD)


@given(st.floats(1, 10), st.floats(1, 10), st.integers(2, 30))
def test_a_range_keeps_its_ends_and_count(low, high, count):
    if not low < high or (high - low) / count < 1e-9:
        return
    (values,) = parse_vary([f"skin_tone={low!r}:{high!r}:{count}"], WORLD).values()
    assert values[0] == low
    assert values[-1] == high
    assert len(values) == count
