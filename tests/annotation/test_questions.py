"""Questions as TOML: what ships, and what is said of a file that is wrong."""

import pytest

from transect.annotation.questions import SHIPPED, load, parse
from transect.errors import BadInput, UnknownName
from transect.generators.faceworld.attributes import attribute

ONE = '[[question]]\nname = "q"\ntext = "What?"\nlevels = ["a", "b"]\n'


def test_the_eight_questions_of_the_paper_ship():
    paper = load()
    assert [one.name for one in paper.question] == [
        "gender", "facial_hair", "skin_color", "age", "makeup", "smile", "hair_length", "fakeness",
    ]  # fmt: skip
    # Section 4.3: three to six levels; skin type and age have six. 5 ratings per image and question.
    assert [len(one.levels) for one in paper.question] == [5, 5, 6, 6, 4, 4, 5, 5]
    assert paper.plan.ratings == 5


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_values_and_examples_are_of_the_world(name):
    for one in load([name]).question:
        assert [level.key for level in one.levels if level.key], "the keyboard comes first"
        for level in one.levels:
            for setting, value in level.example.items():
                attribute(setting).check(value)
            # A child is younger than anybody in the world, and a GAN's conditions are levels, 0 and 1.
            if one.attribute and one.attribute != "age":
                attribute(one.attribute).check(level.value)


def test_levels_get_the_digits_and_a_scale_from_0_to_1():
    (one,) = parse('[[question]]\nname = "q"\ntext = "t"\nlevels = ["a", "b", "c", "d", "e"]', "f").question
    assert [level.key for level in one.levels] == ["1", "2", "3", "4", "5"]
    assert one.places == one.values == (0.0, 0.25, 0.5, 0.75, 1.0)
    assert one.record.levels == ("a", "b", "c", "d", "e")


def test_several_files_are_asked_together_with_the_first_plan(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text("[plan]\nratings = 3\n" + ONE)
    made = load(["monk", path])
    assert [one.name for one in made.question] == ["skin_tone", "q"]
    assert made.plan.ratings == 3
    with pytest.raises(BadInput, match="expected unique question names, got 'skin_tone' twice"):
        load(["monk", "monk"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title =", "q.toml: expected TOML: Invalid value"),
        (ONE + 'scal = "nominal"', "line 5: question 1.scal: unknown key: did you mean scale?"),
        ("[plan]\nratings = 0\n" + ONE, "line 2: plan.ratings: expected 1 or more, got 0"),
        (ONE + ONE, "question: expected unique question names, got 'q' twice"),
        (ONE.replace('"b"', '"a"'), "line 4: question 1.levels: expected a different name for every level, got 'a'"),
        (ONE.replace('"b"', '{ name = "b", key = "X" }'), "that the page does not use, got 'x' (cannot tell)"),
        (ONE.replace('"b"', '{ name = "b", value = 1 }'), "expected a value for every level or for none"),
        ('[[question]]\nname = "q"\nlevels = ["a", "b"]', "line 1: question 1.text is missing"),
        (ONE + "sided = true", "sided = true needs pairs"),
        (
            ONE.replace(
                '["a", "b"]', '[{ name = "a", value = 0 }, { name = "b", value = 0.2 }, { name = "c", value = 1 }]'
            )
            + 'pairs = "ends"\nsided = true',
            "symmetric values from the left image to the right one, such as 0, 0.5, 1, got 0, 0.2, 1",
        ),
        (ONE + '[[question.gold]]\nimage = "1-0"\nanswer = "c"', "expected a gold answer among a, b, got 'c'"),
    ],
)
def test_an_error_names_line_and_key(text, message, tmp_path):
    path = tmp_path / "q.toml"
    path.write_text(text)
    with pytest.raises(BadInput) as error:
        load([path])
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_neither_shipped_nor_a_file():
    with pytest.raises(UnknownName, match="did you mean paper"):
        load(["papper"])
